"""Sentences say what the figures carry and what was repeated, and no more: a case for each thing there is to say.

That Chinese has the same numbers follows from the same names of values: test_language.py.
"""

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, get_args

import pytest

from adaptbert.comparison.records import Comparison, Cost, Detectable, Needed, Ranking, Run, Step, Task
from adaptbert.report import overview
from adaptbert.report.language import Text
from adaptbert.report.sentences import captions, first_screen, repetition, rungs, starts, steps, tasks, trust
from adaptbert.report.terms import STANDS
from adaptbert.statistics.intervals import Difference, Interval
from adaptbert.statistics.power import Design
from adaptbert.statistics.verdicts import GAINS, Verdict
from tests.support.judged_steps import answered, difference, retrained, untested
from tests.support.known import known

WORTH = 0.01
ROWS = "300 test rows"


def undecided(task: Task, **changes: Any) -> Step:
    return replace(answered(task, "task_transfer_after_domain", -0.004, 0.02, "undecided", 1.0), **changes)


def without(task: Task, *arms: str) -> Task:
    """Arms that were planned and have no result."""
    bare: dict[str, Any] = {"runs": [], "interval": None}
    return replace(task, arms=[replace(arm, **bare) if arm.name in arms else arm for arm in task.arms])


STEPS: dict[str, tuple[Callable[[Task], Step], str]] = {
    "decided": (lambda task: answered(task, "domain_text", 0.06, 0.01, "worth_it", 0.012), "adjusted p = 0.012)."),
    "could have shown": (undecided, " Four of five such studies show a true difference of 3.0 points (2.4 to 4.0)."),
    "of unknown spread": (
        lambda task: undecided(task, detectable=Detectable(0.078, 0.04, 1.116)),
        "a true difference of 7.8 points (at least 4.0).",
    ),
    "hopeless": (
        lambda task: undecided(task, detectable=Detectable(1.2, 0.6, 15.0)),
        "Four of five such studies would show no difference that is possible.",
    ),
    "a design would settle it": (
        lambda task: undecided(task, needed=Needed(Design(6, 8, 1234.5), None)),
        "To show a gain of 1.0, the cheapest design has 6 draws and 8 seeds: 1,234 TFLOP more.",
    ),
    "rows would": (
        lambda task: undecided(task, needed=Needed(None, 4_321)),
        "To show a gain of 1.0, it takes more than 4,321 test rows.",
    ),
    "nothing would": (
        lambda task: undecided(task, needed=Needed(None, None)),
        "No number of draws and seeds within reason would show a gain of 1.0.",
    ),
    "too small for its digits": (
        lambda task: answered(task, "domain_text", 3e-4, 1e-4, "descriptive"),
        "between 0 and +0.1 points (95 % interval within 0.1 of 0; 3 draws, 3 seeds, ",
    ),
    "own values": (
        lambda task: undecided(task, own_values=["domain"]),
        "Fine-tuning differs as well: `overrides.domain.finetune` in params.yaml. One run of it takes: domain",
    ),
    "no seed in common": (
        lambda task: undecided(task, difference=None),
        "Not testable: the two arms share no seed.",
    ),
    "one seed": (
        lambda task: undecided(task, difference=untested(0.02, seeds=1)),
        "Not testable: +2.0 points on 1 seed; an interval needs three seeds.",
    ),
    "two seeds": (
        lambda task: undecided(task, difference=untested(0.02, seeds=2)),
        "Not testable: +2.0 points on 2 seeds; an interval needs three seeds.",
    ),
    "alike": (
        lambda task: undecided(task, difference=difference(0.0, 0.0)),
        "The answers of both arms score alike: 0.0 points for each of 3 seeds and on all test rows.",
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_of_a_step(comparison: Comparison, case: str) -> None:
    task = comparison.tasks[0]
    make, sentence = STEPS[case]
    text = steps.step(make(task), task, 0.95, WORTH)
    assert sentence in text.en
    assert not re.search(r"111\.6|120\.0|1500\.0", text.en), "no difference beyond the range of scores is written"
    for silent in ("no_difference", "gain", "descriptive"):
        decided = steps.step(replace(make(task), verdict=silent, needed=None), task, 0.95, WORTH).en
        assert "such studies" not in decided
        assert "To show" not in decided


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_a_step_has_size_interval_and_what_was_repeated(comparison: Comparison, verdict: Verdict) -> None:
    """The verdict stands beside it."""
    draws = 1 if verdict == "one_draw" else 3
    p = None if verdict in ("one_draw", "descriptive") else 0.012
    text = steps.step(
        answered(comparison.tasks[0], "domain_text", 0.06, 0.01, verdict, p, draws), comparison.tasks[0], 0.95, WORTH
    )
    adjusted = "" if p is None else ", Holm-adjusted p = 0.012"
    repeated = f"{draws} draw{'s' * (draws > 1)}, 3 seeds, {ROWS}"
    assert text.en.startswith(f"+6.0 points (95 % interval +5.0 to +7.0; {repeated}{adjusted}).")


def test_of_a_step_without_a_result(comparison: Comparison) -> None:
    task = without(comparison.tasks[0], "domain", "general_long")
    text = steps.step(replace(known(task.step("domain_text")), difference=None), task, 0.95, WORTH)
    assert text.en == "Not testable, without a result: section-domain and section-general_long."


def beside(task: Task, score: float, gap: Difference, **changes: Any) -> Task:
    """With one baseline of this score; `gap`: the chosen arm minus the baseline."""
    baselines = {"tfidf_logistic": Interval(score, None, None, None, 3)}
    return replace(task, baselines=baselines, beside_baselines=dict.fromkeys(baselines, gap), **changes)


def rowless(gap: Difference) -> Difference:
    return replace(gap, variance={"seeds": 1e-4})


BASELINES: dict[str, tuple[Difference, str, str]] = {
    "wins": (
        difference(-0.35, 0.05),
        "domain scores lower, −35.0 (95 % interval −40.0 to −30.0). At this budget that baseline is the better choice.",
        ">baseline better<",
    ),
    "loses": (difference(0.4, 0.05), "domain scores higher, +40.0 (95 % interval +35.0 to +45.0).", ">arm better<"),
    "ties": (
        rowless(difference(0.01, 0.05)),
        "differs from it by +1.0 (95 % interval −4.0 to +6.0, which leaves out the test rows), so neither is clearly",
        ">no clear difference<",
    ),
    "wins_once": (
        difference(-0.35, 0.05, draws=1),
        "on these weights, domain scores lower, −35.0 (95 % interval −40.0 to −30.0).",
        ">on these weights, baseline higher<",
    ),
    "ties_once": (
        difference(0.01, 0.05, draws=0),
        "on these weights, domain differs from it",
        ">on these weights, no clear difference<",
    ),
    "loses_once": (
        difference(0.4, 0.05, draws=1),
        "on these weights, domain scores higher",
        ">on these weights, arm higher<",
    ),
    "higher": (untested(-0.75, seeds=2), "; the gap is not testable.", "baseline higher, not testable"),
    "lower": (untested(0.3, seeds=1), "; the gap is not testable.", "arm higher, not testable"),
}


@pytest.mark.parametrize("standing", BASELINES)
def test_of_the_best_baseline(comparison: Comparison, standing: str) -> None:
    """Training the rungs again may turn round what holds of one draw."""
    from adaptbert.report.page import render

    gap, sentence, chip = BASELINES[standing]
    task = beside(comparison.tasks[0], 0.437, gap, chosen="domain")
    text = trust.against_baselines(task, 0.95)
    assert text.en.startswith("The only baseline on the test split (TF-IDF + logistic regression) scores 43.7: ")
    assert sentence in text.en
    assert ("better choice" in text.en) == (standing == "wins")
    assert known(trust.baseline(task)).standing == standing
    page = render(replace(comparison, tasks=[task]))
    card = page[page.index('class="card"') :].partition("</article>")[0]
    assert "<b>43.7</b>" in card
    assert chip in card


def test_of_several_baselines_the_best_counts_and_its_rows_are_said(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    best = known(trust.baseline(task))
    assert (best.name, best.beside) == ("tfidf_logistic", task.beside_baselines["tfidf_logistic"])
    text = trust.against_baselines(replace(task, baseline_rows=120), 0.95).en
    assert text.startswith(
        "The best baseline on the test split (TF-IDF + logistic regression, trained on the first 120 of the 250 rows)"
    )
    assert "trained on" not in trust.against_baselines(task, 0.95).en


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"ece": 0.05, "ece_by_chance": 0.04}, "No miscalibration is detectable on these rows."),
        ({"ece": 0.12, "ece_by_chance": 0.04, "confidence": 0.8, "accuracy": 0.7}, "The model is overconfident."),
        ({"ece": 0.12, "ece_by_chance": 0.04, "confidence": 0.6, "accuracy": 0.7}, "The model is underconfident."),
        ({"ece": 0.0, "ece_by_chance": 0.0, "confidence": 1.0, "accuracy": 1.0}, "No miscalibration"),
        # Bins say little, and the means differ by three standard errors, or hardly.
        ({"ece": 0.12, "ece_by_chance": 0.1, "confidence": 0.4, "accuracy": 0.3}, "The model is overconfident."),
        ({"ece": 0.05, "ece_by_chance": 0.1, "confidence": 0.4, "accuracy": 0.35}, "No miscalibration"),
    ],
)
def test_confidence_is_judged_by_more_than_chance(
    comparison: Comparison, changes: Mapping[str, Any], verdict: str
) -> None:
    task = comparison.tasks[0]
    inspection = known(task.inspection)
    inspection = replace(inspection, calibration=replace(known(inspection.calibration), **changes))
    text = known(trust.calibration(replace(task, inspection=inspection))).en
    assert text.startswith(verdict)
    if "confidence" in changes:
        shares = f"{100 * changes['confidence']:.1f} %; accuracy: {100 * changes['accuracy']:.1f} %"
        assert f"Mean confidence: {shares}; a row is correct when its label is correct." in text


def test_of_the_best_arm(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert re.fullmatch(
        r"domain_task scores highest on the dev split; on the test split it scores [\d.]+ \(macro-F1, 95 % interval "
        rf"[\d.]+ to [\d.]+; 1 draw, 3 seeds, {ROWS}\)\.",
        tasks.best(task, 0.95).en,
    )
    equal = [replace(arm, runs=[replace(run, dev=0.3) for run in arm.runs]) for arm in task.arms[:2]]
    tied = tasks.best(replace(task, arms=equal, chosen="scratch"), 0.95).en
    assert tied.startswith("scratch and general score equally on the dev split; scratch is the first of them; on the")
    alone = tasks.best(replace(task, arms=task.arms[:1], chosen="scratch"), 0.95).en
    assert alone.startswith("The only arm with a result is scratch; on the test split it scores ")
    assert tasks.best(replace(task, chosen=None), 0.95).en == "No arm of this task has a result yet."


def test_of_test_rows(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert repetition.test_rows(task).en == "300 test rows with 235 different texts"
    assert repetition.test_rows(replace(task, test_texts=None)).en == ROWS
    assert repetition.test_rows(replace(task, test_groups=80)).en == "300 test rows in 80 groups"


def test_of_draws_that_were_not_repeated(comparison: Comparison, repeated: Comparison) -> None:
    once = "Each step before fine-tuning was trained once (one draw); another draw may give another result."
    price = (
        "Verdicts need at least two draws (`compare.replicates: 2` in params.yaml): 4.50 M tokens and 143 TFLOP more."
    )
    assert repetition.once(replace(comparison, one_more_replicate=Cost(4_500_000, 143.0))).en == f"{once} {price}"
    assert repetition.once(replace(comparison, one_more_replicate=None)).en == once
    assert repetition.once(repeated).en.startswith("Each rung above general pre-training was trained 3 times (draws)")


def test_judging_again_is_warned_of_where_a_design_is_advised(repeated: Comparison) -> None:
    def needing(needed: Needed | None) -> Text | None:
        of_tasks = [
            replace(task, steps=[replace(step, needed=needed) for step in task.steps]) for task in repeated.tasks
        ]
        return repetition.looking_again(replace(repeated, tasks=of_tasks, confidence=0.9))

    said = known(needing(Needed(Design(6, 8, 1234.5), None)))
    assert "raise `compare.confidence` to 1 − 0.1/looks" in said.en
    for other in (None, Needed(None, None), Needed(None, 4_321)):
        assert needing(other) is None, "no draws or seeds are advised"


def test_what_stands_before_the_answers(comparison: Comparison) -> None:
    """Leaks, gaps, failures and the price."""
    fine = [fact.en for fact in first_screen.facts(comparison)]
    assert fine[:-1] == ["No training text was found that equals or contains a dev or test text."]
    rejected = {"domain": {"duplicate": 800, "dev_or_test_text": 1_012}, "section": {"in_test": 3}}
    sources = [replace(source, rejected=rejected.get(source.name, {})) for source in comparison.sources]
    first, second = comparison.tasks
    failed = [Run(1, seed, 0.1, 0.1, degenerate=seed == 1) for seed in (1, 2, 3)]
    arms = [replace(arm, runs=failed) if arm.name == "task" else arm for arm in first.arms]
    first = replace(first, arms=arms, scattered=["scratch", "task"])
    spent = Cost(12_300_000, 456.78)
    troubled = replace(comparison, tasks=[first, without(second, "scratch")], sources=sources, spent=spent)
    assert [fact.en for fact in first_screen.facts(troubled)] == [
        "1,015 rows with dev or test text were left out of training: domain 1,012 and section 3.",
        "Planned and without a result: mention-scratch.",
        "section: Runs that predict one class only, included in the mean: task (1 of 3).",
        "section: Runs of scratch and task lie clearly further apart than those of the other arms: judged by their "
        "own spread.",
        "All training of the arms on this page: 12.3 M tokens, 457 TFLOP; hours are in MLflow.",
    ]
    assert "give every row the same answer" in known(trust.degenerate(replace(first, target="number"))).en


@pytest.mark.parametrize("name", first_screen.TRIVIAL)
def test_a_verdict_between_arms_that_learned_nothing_is_marked(name: str, comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert first_screen.nothing_learned(task) is None
    scores = {arm.name: known(arm.interval).mean for arm in task.arms}
    primary = {name for step in task.steps if step.primary for name in (step.arm, step.other)}

    def beside(mean: float) -> Text | None:
        trivial = replace(task.baselines["majority"], mean=mean)
        baselines = {"tfidf_logistic": replace(trivial, mean=1.0), name: trivial}
        return first_screen.nothing_learned(replace(task, baselines=baselines))

    assert beside(min(scores[name] for name in primary) - 1e-6) is None
    said = known(beside(max(scores.values()))).en
    assert all(name in said for name in primary)
    assert said.endswith("; a verdict between such arms says nothing of the step.")


def judged(comparison: Comparison, *verdicts: Mapping[str, Verdict]) -> Comparison:
    """The comparison with one task for each mapping from primary questions to verdicts; every difference is 4.7."""
    first = comparison.tasks[0]
    of_tasks = []
    for place, chosen in enumerate(verdicts):
        own = [replace(answered(first, name, 0.047, 0.02, verdict), primary=True) for name, verdict in chosen.items()]
        of_tasks.append(replace(first, name=f"task{place}", steps=own))
    return replace(comparison, tasks=of_tasks)


def test_every_primary_question_is_answered_on_all_tasks(comparison: Comparison) -> None:
    several = judged(
        comparison,
        {"domain_text": "worth_it", "task_transfer_after_domain": "undecided", "climb": "one_draw"},
        {"domain_text": "no_worse", "task_transfer_after_domain": "undecided", "climb": "one_draw"},
        {"domain_text": "worth_it", "climb": "untested"},
    )
    texts, size = overview.verdict(several), "+4.7 points, +2.7 to +6.7"
    assert [text.en for text in texts[:-1]] == [
        f"The domain text itself: worth it (task0 {size}; task2 {size}); no gain shown; a loss of 1.0 or more "
        f"excluded (task1 {size}).",
        f"Task transfer after domain: undecided (task0 {size}; task1 {size}).",
        f"Pre-training with domain transfer: one draw, no verdict (task0 {size}; task1 {size}); not testable (task2 "
        f"{size}).",
    ]
    assert texts[-1] == repetition.once(several)


def test_what_is_only_described_is_no_answer(comparison: Comparison) -> None:
    own = [replace(step, primary=False, verdict="descriptive") for step in comparison.tasks[0].steps]
    described = replace(comparison, tasks=[replace(comparison.tasks[0], steps=own)])
    assert overview.verdict(described)[0].en == "No primary question was asked, so there is no verdict."
    assert tasks.uncompared(described.tasks[0]).en == "No primary question is asked on this task."
    none = overview.verdict(replace(comparison, tasks=[]))
    assert none[0].en == "No task was fine-tuned, so no step was compared."


def test_the_heading_claims_no_help_where_none_is_shown(comparison: Comparison) -> None:
    for verdict in get_args(Verdict):
        own = [answered(comparison.tasks[0], "domain_text", 0.047, 0.02, verdict)]
        one = replace(comparison, tasks=[replace(comparison.tasks[0], steps=own), comparison.tasks[1]])
        once = "No verdict yet: each step was trained once"
        shown = once if verdict == "one_draw" else "No step is shown to help"
        assert overview.heading(one).en == ("Which steps helped?" if verdict in GAINS else shown)


MASKS: list[tuple[dict[str, float], str]] = [
    ({"specials": 3}, "pretrain: 3 special tokens were masked; none should be."),
    ({"rate": 0.171}, "pretrain: 17.1 % of the tokens were masked (configured: 15.0 %)."),
    ({"documents_without": 0.84}, "pretrain: 84.0 % of the documents have no mask; 1.1 % are expected from"),
    ({"documents_whole": 0.009}, "pretrain: 0.9 % of the documents are masked completely; 0.0 % are expected"),
    (
        {"documents_whole": 0.16, "documents_whole_expected": 0.16},
        "pretrain: 16.0 % of the documents are masked completely: use shorter masking units or ",
    ),
]


@pytest.mark.parametrize(("changes", "sentence"), MASKS)
def test_masks_that_differ_from_the_configuration_are_named(
    comparison: Comparison, changes: dict[str, float], sentence: str
) -> None:
    assert rungs.masking(comparison) == []
    masks = known(next(each.masks for each in comparison.checkpoints if each.name == "pretrain"))
    other = replace(masks, audit={**masks.audit, **changes})
    (trouble,) = rungs.masking(retrained(comparison, {"pretrain": {"masks": other}}))
    assert trouble.en.startswith(sentence)


def test_of_rungs_that_mean_nothing(comparison: Comparison) -> None:
    assert rungs.reading(comparison) == []
    changes: dict[str, dict[str, Any]] = {
        "pretrain": {"random_head": True},
        "domain_transfer/domain": {"cost": None},
    }
    spoilt = replace(retrained(comparison, changes), began_from={"small": "bert-base"})
    assert [text.en for text in rungs.reading(spoilt)] == [
        "General pre-training started from bert-base, whose earlier training is not counted here.",
        "The masked-LM head of pretrain was never trained: its bits per character mean nothing.",
        "domain_transfer/domain has no measurements.",
    ]


def ranked(several: Comparison, **changes: Any) -> Ranking:
    """The ranking of the first task, with changes to its second start in the arm that orders them."""
    ranking = several.rankings[0]
    first, second = ranking.arms[0].standings
    arm = replace(ranking.arms[0], standings=[first, replace(second, **changes)])
    return replace(ranking, arms=[arm])


def test_of_starts(several: Comparison) -> None:
    ranking = several.rankings[0]
    second = ranking.arms[0].standings[1]
    dev = [f"{start} {100 * ranking.dev[start]:.1f}" for start in ranking.order]
    text = starts.order(ranking, 0.95).en
    assert text.startswith(
        f"In the order of their macro-F1 on the dev split, in the arm domain: {dev[0]} and {dev[1]}."
    )
    assert f"differs from base by {100 * known(second.difference).mean:+.1f}".replace("-", "−") in text
    assert text.endswith(f": {STANDS[known(second.verdict)].en}.")
    assert "share no seed" in starts.order(ranked(several, difference=None), 0.95).en
    stands = STANDS[known(second.verdict)].en
    ahead = f"On section, base is ahead of small on the dev split (arm domain); on the test split, small: {stands}."
    assert starts.headline(ranking).en == ahead
    tied = replace(ranking, dev=dict.fromkeys(ranking.order, 0.5))
    assert starts.headline(tied).en == "On section, base and small are equal on the dev split (arm domain)."
    made_here = "base and small began with weights that were made here, once: differences from them have no verdict."
    assert known(starts.made_here(ranking)).en == made_here
    assert starts.made_here(replace(ranking, made_here=[])) is None


def test_budgets_of_starts_are_said_to_differ(several: Comparison) -> None:
    assert starts.budgets(several.rankings[0]) is None
    assert starts.budgets(ranked(several, cost=Cost(2_800_000, 560.0))) is None
    text = known(starts.budgets(ranked(several, cost=Cost(3_000_000, 90.0)))).en
    assert text == "A difference may be due to unequal budgets: domain (base 2.80 M and small 3.00 M tokens)."


def test_a_caption_mentions_only_what_its_figure_shows(comparison: Comparison, several: Comparison) -> None:
    task = comparison.tasks[0]
    assert captions.arms(task, 0.95).en == (
        "Mean over seeds, a dot for each seed. Whisker: 95 % interval. Dashed: baselines without pre-training. ✓: best "
        "on dev."
    )
    assert "Dashed" not in captions.arms(replace(task, baselines={}), 0.95).en
    assert captions.arms(several.tasks[0], 0.95).en.startswith(
        "Mean; a dot for each seed, a line of dots for each draw."
    )
    bare = replace(task, steps=[undecided(task, difference=None)])
    assert captions.differences(bare, 0.01).en == "Difference in points."
    for p, band in ((0.4, True), (None, False)):
        shown = replace(task, steps=[replace(undecided(task), p_holm=p)])
        assert ("Grey: " in captions.differences(shown, 0.01).en) == band
        assert "Dotted: ±1.0" in captions.differences(shown, 0.01).en
    own = [dataclasses.replace(source, demonstration=source.name == "general") for source in comparison.sources]
    assert known(captions.demonstration(replace(comparison, sources=own))).en.startswith("The text of general comes")
    assert captions.demonstration(replace(comparison, sources=[])) is None
