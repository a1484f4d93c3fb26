"""Which model is released, on the record of a simulated recipe; each refusal by one planted fault."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from adaptbert.comparison.records import Answer, Arm, Comparison, Source, Task
from adaptbert.errors import BadData, BadParams
from adaptbert.release.choice import Choice, choose
from adaptbert.report import answer
from adaptbert.report.answer import Baseline
from adaptbert.statistics.intervals import Interval
from tests.support.judged_answers import difference
from tests.support.known import known


def chosen(task: Task, comparison: Comparison, arm: str | None = None, reason: str = "") -> Choice:
    return choose(replace(comparison, tasks=[task]), task.task, arm, reason)


def with_first(task: Task, **changes: object) -> Task:
    """The first question has another answer, and no other one is asked."""
    return replace(task, answers=[replace(known(task.first), **changes)])


def with_arm(task: Task, change: Callable[[Arm], Arm], name: str) -> Task:
    return replace(task, arms=[change(arm) if arm.name == name else arm for arm in task.arms])


def taken(comparison: Comparison) -> str:
    """The arm of the answer of the first task."""
    arm = answer.recommended(comparison.tasks[0], comparison.min_gain)
    assert isinstance(arm, Arm)
    return arm.name


def test_the_arm_of_the_answer_whose_gain_is_shown(repeated: Comparison) -> None:
    """The folder is that which the report names first."""
    task = repeated.tasks[0]
    choice = chosen(task, repeated)
    assert (choice.is_supported, choice.reason) == (True, "")
    _, commands = answer.models(task, repeated)[0]
    assert f"adaptbert predict {choice.folder} " in commands["sh"]
    assert choice.name == taken(repeated)
    assert choice.folder.name == f"section-{choice.name}-small-{choice.replicate}"
    assert choice.run(2) is not None
    named = chosen(task, repeated, choice.name, "As the report says.")
    assert (named.is_supported, named.reason) == (True, "As the report says.")
    other = chosen(task, repeated, "general", "It is cheap.")
    assert (other.name, other.is_supported, other.doubt.en) == (
        "general",
        False,
        "It is not the model of the report's answer.",
    )


@pytest.mark.parametrize("verdict", ["undecided", "not_tested"])
def test_an_arm_without_a_gain_needs_a_reason(repeated: Comparison, verdict: str) -> None:
    name = taken(repeated)
    task = with_first(repeated.tasks[0], arm=name, verdict=verdict, at_least=False)
    with pytest.raises(
        BadData, match=f"AB-230 .*: section: undecided: `{name}` is the best on dev, and no gain"
    ) as said:
        chosen(task, repeated)
    assert "--arm scratch or general or general_long or domain or" in str(said.value)
    choice = chosen(task, repeated, name, "The next study may show it.")
    assert (choice.is_supported, choice.reason) == (False, "The next study may show it.")
    assert choice.doubt.zh == f"`{name}` 在开发集上最高，但没有证明它有提升。"


def test_the_other_side_of_a_question_claims_nothing(repeated: Comparison) -> None:
    """The step does not pay: the arm without it is the answer, and supported."""
    task, name = repeated.tasks[0], taken(repeated)
    equal = with_first(task, arm=name, verdict="equivalent", at_least=False, difference=difference(0.001, 0.004))
    choice = chosen(equal, repeated)
    assert (choice.name, choice.is_supported) == (known(task.first).other, True)


def beside(task: Task, score: float, gap: float) -> Task:
    """The linear model has this score, and the chosen arm lies so far from it."""
    least = task.baselines["majority"]
    baselines = {"majority": least, "tfidf_logistic": Interval(score, score - 0.02, score + 0.02)}
    return replace(task, baselines=baselines, beside_baselines={"tfidf_logistic": difference(gap, 0.05)})


@pytest.mark.parametrize(("gap", "is_linear"), [(-0.1, True), (-0.01, True), (0.01, False)])
def test_a_linear_model_that_no_arm_is_shown_to_beat(repeated: Comparison, gap: float, is_linear: bool) -> None:
    """It is released where the report says to take it; an arm that scores higher, and not surely so, needs a reason."""
    task = repeated.tasks[0]
    task = beside(task, known(task.arm(taken(repeated)).interval).mean - gap, gap)
    _, commands = answer.models(task, repeated)[0]
    assert ("models/linear/section" in commands["sh"]) == is_linear
    if not is_linear:
        with pytest.raises(BadData, match="undecided: No arm is shown to score higher than “TF-IDF"):
            chosen(task, repeated)
        return
    choice = chosen(task, repeated)
    assert isinstance(choice.model, Baseline)
    assert (str(choice.folder), choice.replicate, choice.is_supported) == ("models/linear/section", 0, True)
    assert choice.score == task.baselines["tfidf_logistic"]


def test_training_rows_that_share_text_with_test_rows(repeated: Comparison) -> None:
    """Sets of pairs and questions come so; the card of a model that is named begins with it."""
    leaky = [Source("section", "task", False, 10, 10, {}, sharing=3), Source("mention", "task", False, 10, 10, {})]
    shared = replace(repeated, sources=leaky)
    with pytest.raises(BadData, match=r"AB-230 .*: section: leaky: 3 training rows share a text") as said:
        choose(shared, "section", None, "")
    assert "--arm scratch or general or" in str(said.value)
    named = choose(shared, "section", taken(repeated), "The set is always split so.")
    assert not named.is_supported
    assert named.doubt.en.endswith("and were kept: all scores may be too high.")
    other = choose(shared, "section", "general", "It is cheap.")
    assert other.doubt.en.endswith("may be too high. It is not the model of the report's answer.")
    assert choose(replace(repeated, sources=leaky[1:]), "section", None, "").is_supported


# ---- refused whatever the reason


def test_a_replicate_or_a_seed_that_is_missing(repeated: Comparison) -> None:
    task = repeated.tasks[0]
    planned = with_arm(task, lambda arm: replace(arm, planned={**arm.planned, 4: "more"}), "domain")
    with pytest.raises(BadData, match=r"incomplete: without a result: section-domain \(4\)"):
        chosen(planned, repeated, "general", "Whatever.")
    cut = with_arm(
        task,
        lambda arm: replace(arm, runs=[run for run in arm.runs if (run.replicate, run.seed) != (2, 3)]),
        "domain",
    )
    with pytest.raises(BadData, match=r"incomplete: without a result: section-domain \(2\), seed 3"):
        chosen(cut, repeated, "general", "Whatever.")
    all_cut = with_arm(task, lambda arm: replace(arm, runs=[run for run in arm.runs if run.seed != 3]), "domain")
    with pytest.raises(BadData, match=r"incomplete: without a result: section-domain \(1\), seed 3"):
        chosen(all_cut, repeated, "general", "Whatever.")


def test_a_model_that_learned_nothing(repeated: Comparison) -> None:
    task = repeated.tasks[0]
    failed = with_arm(task, lambda arm: replace(arm, runs=[replace(run, failed=True) for run in arm.runs]), "domain")
    below = with_arm(task, lambda arm: replace(arm, interval=Interval(0.01, 0.0, 0.02)), "domain")
    for each in (failed, below):
        with pytest.raises(BadData, match="learned nothing: domain: half of its runs failed, or it scores no higher"):
            chosen(each, repeated, "domain", "Whatever.")
    none = replace(task, arms=[replace(arm, interval=Interval(0.01, 0.0, 0.02)) for arm in task.arms])
    with pytest.raises(BadData, match="learned nothing: scratch, general, general_long"):
        chosen(none, repeated)
    choice = chosen(none, repeated, "tfidf_logistic", "Until a model learns.")
    assert (choice.name, choice.doubt.en) == ("tfidf_logistic", "No arm learned anything.")


def test_a_trivial_baseline_is_no_model(repeated: Comparison) -> None:
    with pytest.raises(BadParams, match="AB-099 --arm: 'majority' is neither an arm of section nor its linear model"):
        chosen(repeated.tasks[0], repeated, "majority", "Whatever.")


def test_of_several_bases_one_is_named(several: Comparison) -> None:
    with pytest.raises(BadParams, match="'section' is compared from 2 bases\n  name one: section/small or"):
        choose(several, "section", "general", "Whatever.")
    choice = choose(several, "section/base", "general", "Whatever.")
    assert (choice.task.base, choice.folder.name) == ("base", "section-general-base")


def test_an_answer_is_known_by_its_first_question(repeated: Comparison) -> None:
    """Without any question of the order, several arms are undecided."""
    task = repeated.tasks[0]
    described: list[Answer] = [replace(each, why="described", verdict="not_tested") for each in task.answers]
    with pytest.raises(BadData, match="undecided: No question about its arms was asked"):
        chosen(replace(task, answers=described), repeated)
