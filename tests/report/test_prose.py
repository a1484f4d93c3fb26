"""Sentences say what the figures carry and what was repeated, and no more: a case for each thing there is to say.

That Chinese has the same numbers follows from the same names of values: test_language.py.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, get_args

import pytest

from adaptbert.comparison.records import Comparison, Cost, Detectable, Needed, Ranking, Replicated, Step, Task
from adaptbert.report import prose
from adaptbert.report.language import Text
from adaptbert.report.terms import STANDS
from adaptbert.statistics.intervals import Difference, Interval
from adaptbert.statistics.power import Design
from adaptbert.statistics.verdicts import GAINS, Verdict
from tests.support.judged_steps import answered, difference, retrained
from tests.support.known import known

WORTH = 0.01


def english(sentences: Iterable[Text]) -> list[str]:
    return [sentence.en for sentence in sentences]


def undecided(task: Task, **changes: Any) -> Step:
    return replace(answered(task, "task_transfer_after_domain", -0.004, 0.02, "undecided", 1.0), **changes)


def without(task: Task, *arms: str) -> Task:
    """Arms that were planned and have no result."""
    bare: dict[str, Any] = {"runs": [], "interval": None}
    return replace(task, arms=[replace(arm, **bare) if arm.name in arms else arm for arm in task.arms])


STEPS: dict[str, tuple[Callable[[Task], Step], str]] = {
    "could have shown": (undecided, "Four of five such studies show a true difference of 3.0 points (2.4 to 4.0)."),
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
        "To show a gain of 1.0, the cheapest design has 6 replicates and 8 seeds: 1,234 TFLOP more.",
    ),
    "rows would": (
        lambda task: undecided(task, needed=Needed(None, 4_321)),
        "To show a gain of 1.0, it takes more than 4,321 test rows.",
    ),
    "nothing would": (
        lambda task: undecided(task, needed=Needed(None, None)),
        "No number of replicates and seeds within reason would show a gain of 1.0.",
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
        lambda task: undecided(task, difference=difference(0.02, None, seeds=1)),
        "Not testable on 1 seed: an interval needs three.",
    ),
    "two seeds": (
        lambda task: undecided(task, difference=difference(0.02, None, seeds=2)),
        "Not testable on 2 seeds: an interval needs three.",
    ),
    "alike": (
        lambda task: undecided(task, difference=difference(0.0, 0.0)),
        "The answers of both arms score alike for each of 3 seeds and on all test rows.",
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_what_the_numbers_of_a_step_leave_open(comparison: Comparison, case: str) -> None:
    task = comparison.tasks[0]
    make, sentence = STEPS[case]
    text = prose.left_open(make(task), task, WORTH).en
    assert sentence in text
    assert not re.search(r"111\.6|120\.0|1500\.0", text), "no difference beyond the range of scores is written"
    for silent in ("no_difference", "gain", "descriptive"):
        decided = prose.left_open(replace(make(task), verdict=silent, needed=None), task, WORTH).en
        assert "such studies" not in decided
        assert "To show" not in decided


def test_of_a_step_without_a_result_and_what_a_difference_rests_on(comparison: Comparison) -> None:
    task = without(comparison.tasks[0], "domain", "general_long")
    step = replace(known(task.step("domain_text")), difference=None)
    said = "Not testable, without a result: section-domain and section-general_long."
    assert prose.left_open(step, task, WORTH).en == said
    for replicates, words in ((1, "1 replicate, 3 seeds, 300 test rows"), (None, "3 seeds, 300 test rows")):
        step = replace(undecided(task), replicates=replicates)
        assert prose.behind(known(step.difference), step, task).en == words


def beside(task: Task, score: float, gap: Difference) -> Task:
    """With one baseline of this score; `gap`: the chosen arm, `domain`, minus the baseline."""
    baselines = {"tfidf_logistic": Interval(score, None, None, None, 3)}
    return replace(task, baselines=baselines, beside_baselines=dict.fromkeys(baselines, gap), chosen="domain")


BASELINES: list[tuple[Difference, str]] = [
    (
        difference(-0.35, 0.05),
        "domain scores lower, −35.0 (95 % interval −40.0 to −30.0). At this budget that baseline is the better choice.",
    ),
    (difference(0.4, 0.05), "domain scores higher, +40.0 (95 % interval +35.0 to +45.0)."),
    (
        replace(difference(0.01, 0.05), variance={"seeds": 1e-4}),
        "domain differs from it by +1.0 (95 % interval −4.0 to +6.0, which leaves out the test rows), so neither is "
        "clearly better.",
    ),
    (
        difference(-0.35, 0.05, replicates=1),
        "on these weights, domain scores lower, −35.0 (95 % interval −40.0 to −30.0).",
    ),
    (difference(0.01, 0.05, replicates=0), "on these weights, domain differs from it by +1.0 (95 % interval −4.0 to"),
    (difference(0.4, 0.05, replicates=1), "on these weights, domain scores higher, +40.0"),
    (difference(-0.75, None, seeds=2), "the gap is not testable."),
]


@pytest.mark.parametrize(("gap", "sentence"), BASELINES)
def test_of_the_best_baseline(comparison: Comparison, gap: Difference, sentence: str) -> None:
    """Training the steps again may turn round what holds of one replicate."""
    text = prose.against_baselines(beside(comparison.tasks[0], 0.437, gap), 0.95).en
    assert text.startswith("The only baseline on the test split (TF-IDF + logistic regression) scores 43.7: ")
    assert sentence in text
    assert text.endswith(sentence) or "better choice" not in text


def test_of_several_baselines_the_best_counts_and_its_rows_are_said(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    text = prose.against_baselines(replace(task, baseline_rows=120), 0.95).en
    best = "The best baseline on the test split (TF-IDF + logistic regression"
    assert text.startswith(f"{best}, trained on the first 120 of the 250 rows)")
    assert prose.against_baselines(task, 0.95).en.startswith(f"{best}) scores")


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
    text = known(prose.calibration(replace(task, inspection=inspection))).en
    assert text.startswith(verdict)
    if "confidence" in changes:
        shares = f"{100 * changes['confidence']:.1f} %; accuracy: {100 * changes['accuracy']:.1f} %"
        assert f"Mean confidence: {shares}; a row is correct when its label is correct." in text


def test_of_the_best_arm(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    chosen = r"domain_task scores highest on the dev split; on the test split it scores [\d.]+ \(macro-F1\)\."
    assert re.fullmatch(chosen, prose.best(task).en)
    equal = [replace(arm, runs=[replace(run, dev=0.3) for run in arm.runs]) for arm in task.arms[:2]]
    tied = prose.best(replace(task, arms=equal, chosen="scratch")).en
    assert tied.startswith("scratch and general score equally on the dev split; scratch is the first of them; on the")
    alone = prose.best(replace(task, arms=task.arms[:1], chosen="scratch")).en
    assert alone.startswith("The only arm with a result is scratch; on the test split it scores ")
    assert prose.best(replace(task, chosen=None)).en == "No arm of this task has a result yet."


def test_of_test_rows(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert prose.test_rows(task).en == "300 test rows with 235 different texts"
    assert prose.test_rows(replace(task, test_texts=None)).en == "300 test rows"
    assert prose.test_rows(replace(task, test_groups=80)).en == "300 test rows in 80 groups"


def test_of_steps_that_were_not_repeated(comparison: Comparison, repeated: Comparison) -> None:
    """A second replicate is advised only where it brings a verdict: general pre-training is done once whatever is
    asked for."""
    once = "Each step before fine-tuning was trained once (one replicate); another replicate may give another result."
    price = (
        "Verdicts need at least two replicates (`compare.replicates: 2` in params.yaml): 4.50 M tokens and 143 TFLOP "
        "more."
    )
    cost = Cost(4_500_000, 143.0)
    assert prose.repeated(replace(comparison, one_more_replicate=cost)).en == f"{once} {price}"
    assert prose.repeated(replace(comparison, one_more_replicate=None)).en == once
    climb = [replace(step, primary=step.question == "climb") for step in comparison.tasks[0].steps]
    tasks = [replace(comparison.tasks[0], steps=climb)]
    assert prose.repeated(replace(comparison, one_more_replicate=cost, tasks=tasks)).en == once
    assert prose.repeated(repeated).en.startswith(
        "Each step above general pre-training was trained 3 times (replicates)"
    )


def test_judging_again_is_warned_of_where_a_design_is_advised(repeated: Comparison) -> None:
    def warns(needed: Needed | None) -> bool:
        tasks = [replace(task, steps=[replace(each, needed=needed) for each in task.steps]) for task in repeated.tasks]
        facts = english(prose.facts(replace(repeated, tasks=tasks, confidence=0.9)))
        return any("raise `compare.confidence` to 1 − 0.1/looks" in fact for fact in facts)

    assert warns(Needed(Design(6, 8, 1234.5), None))
    assert not any(map(warns, (None, Needed(None, None), Needed(None, 4_321)))), "no replicates or seeds are advised"


def test_what_stands_before_the_answers(comparison: Comparison) -> None:
    """Leaks, gaps, failures and the price."""
    fine = english(prose.facts(comparison))
    assert fine[:-1] == ["No training text was found that equals or contains a dev or test text."]
    rejected = {"domain": {"duplicate": 800, "dev_or_test_text": 1_012}, "section": {"in_test": 3}}
    sources = [replace(source, rejected=rejected.get(source.name, {})) for source in comparison.sources]
    first, second = comparison.tasks
    failed = known(first.arm("task"))
    failed = replace(failed, runs=[replace(failed.runs[0], degenerate=True), *failed.runs[1:]], planned=[0, 1])
    arms = [failed if arm.name == "task" else arm for arm in first.arms]
    first = replace(first, arms=arms, scattered=["scratch", "task"])
    tasks = [first, without(second, "scratch")]
    assert english(prose.facts(replace(comparison, tasks=tasks, sources=sources, spent=Cost(12_300_000, 456.78)))) == [
        "1,015 rows with dev or test text were left out of training: domain 1,012 and section 3.",
        "Planned and without a result: section-task (0) and mention-scratch.",
        "section: Runs that predict one class only, included in the mean: task (1 of 3).",
        "section: Runs of scratch and task lie clearly further apart than those of the other arms: judged by their "
        "own spread.",
        "All training of the arms on this page: 12.3 M tokens, 457 TFLOP; hours are in MLflow.",
    ]
    assert "give every row the same answer" in known(prose.degenerate(replace(first, target="number"))).en


@pytest.mark.parametrize("name", prose.TRIVIAL)
def test_a_verdict_between_arms_that_learned_nothing_is_marked(name: str, comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert prose.nothing_learned(task) is None
    scores = {arm.name: known(arm.interval).mean for arm in task.arms}
    primary = {name for step in task.steps if step.primary for name in (step.arm, step.other)}

    def beside(mean: float) -> Text | None:
        trivial = replace(task.baselines["majority"], mean=mean)
        baselines = {"tfidf_logistic": replace(trivial, mean=1.0), name: trivial}
        return prose.nothing_learned(replace(task, baselines=baselines))

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
    texts, size = english(prose.answers(several)), "+4.7 points, +2.7 to +6.7"
    assert texts == [
        f"The domain text itself: worth it (task0 {size}; task2 {size}); no gain shown; a loss of 1.0 or more "
        f"excluded (task1 {size}).",
        f"Task transfer after domain: undecided (task0 {size}; task1 {size}).",
        f"Pre-training with domain transfer: one replicate, no verdict (task0 {size}; task1 {size}); not testable "
        f"(task2 {size}).",
        prose.repeated(several).en,
    ]


def test_what_is_only_described_is_no_answer(comparison: Comparison) -> None:
    own = [replace(step, primary=False, verdict="descriptive") for step in comparison.tasks[0].steps]
    described = replace(comparison, tasks=[replace(comparison.tasks[0], steps=own)])
    assert english(prose.answers(described))[0] == "No primary question was asked, so there is no verdict."
    assert prose.uncompared(described.tasks[0]).en == "No primary question is asked on this task."
    assert english(prose.answers(replace(comparison, tasks=[]))) == ["No task was fine-tuned, so no step was compared."]


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_the_heading_claims_no_help_where_none_is_shown(comparison: Comparison, verdict: Verdict) -> None:
    own = [answered(comparison.tasks[0], "domain_text", 0.047, 0.02, verdict)]
    one = replace(comparison, tasks=[replace(comparison.tasks[0], steps=own), comparison.tasks[1]])
    once = "No verdict yet: each step was trained once"
    shown = once if verdict == "one_draw" else "No step is shown to help"
    assert prose.heading(one).en == ("Which steps helped?" if verdict in GAINS else shown)


def test_an_effect_on_several_tasks_is_a_sentence_of_its_own(repeated: Comparison, several: Comparison) -> None:
    mixed = [
        Replicated("domain_text/news", "domain_text", "news", "small", 4, 2, 1),
        Replicated("task_transfer_after_domain", "task_transfer_after_domain", None, "small", 4, 0, 0),
    ]
    texts = english(prose.answers(replace(repeated, replicated=mixed)))
    assert [text for text in texts if text.startswith("On at least")] == [
        "On at least 2 of these 4 tasks, the domain text itself (news) brings a gain.",
        "On at least 1 of these 4 tasks, the domain text itself (news) brings a loss.",
    ]
    of_bases = [text for text in english(prose.answers(several)) if text.startswith("On at least")]
    assert of_bases
    assert all("(small)" in text or "(base)" in text for text in of_bases)


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
    assert english(prose.of_checkpoints(comparison)) == []
    masks = known(next(each.masks for each in comparison.checkpoints if each.name == "pretrain"))
    spoilt = retrained(comparison, {"pretrain": {"masks": replace(masks, audit={**masks.audit, **changes})}})
    (trouble,) = english(prose.of_checkpoints(spoilt))
    assert trouble.startswith(sentence)


def test_of_checkpoints_that_mean_nothing(comparison: Comparison) -> None:
    assert english(prose.of_checkpoints(comparison)) == []
    spoilt = retrained(comparison, {"pretrain": {"random_head": True}, "domain_transfer/domain": {"cost": None}})
    assert english(prose.of_checkpoints(replace(spoilt, began_from={"small": "bert-base"}))) == [
        "General pre-training started from bert-base, whose earlier training is not counted here.",
        "The masked-LM head of pretrain was never trained: its bits per character mean nothing.",
        "domain_transfer/domain has no measurements.",
    ]


def test_of_bases(several: Comparison) -> None:
    ranking = several.rankings[0]
    dev = [f"{base} {100 * ranking.dev[base]:.1f}" for base in ranking.order]
    order = f"In the order of their macro-F1 on the dev split, in the arm domain: {dev[0]} and {dev[1]}."
    made_here = "base and small began with weights that were made here, once: differences from them have no verdict."
    assert english(prose.ranked(ranking)) == [order, made_here]
    assert english(prose.ranked(replace(ranking, made_here=[]))) == [order]
    stands = STANDS[known(ranking.arms[0].standings[1].verdict)].en
    ahead = f"On section, base is ahead of small on the dev split (arm domain); on the test split, small: {stands}."

    def headline(ranking: Ranking) -> str:
        return prose.answers(replace(several, rankings=[ranking]))[0].en

    assert headline(ranking) == ahead
    tied = replace(ranking, dev=dict.fromkeys(ranking.order, 0.5))
    assert headline(tied) == "On section, base and small are equal on the dev split (arm domain)."
    first, second = ranking.arms[0].standings
    more = replace(ranking.arms[0], standings=[first, replace(second, cost=Cost(3_000_000, 90.0))])
    unequal = "A difference may be due to unequal budgets: domain (base 2.80 M and small 3.00 M tokens)."
    assert unequal in english(prose.ranked(replace(ranking, arms=[more])))


def test_demonstration_text_is_said_to_be_so(comparison: Comparison) -> None:
    own = [replace(source, demonstration=source.name == "general") for source in comparison.sources]
    assert known(prose.demonstration(replace(comparison, sources=own))).en.startswith("The text of general comes")
    assert prose.demonstration(replace(comparison, sources=[])) is None
