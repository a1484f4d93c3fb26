"""Comparison -> the HTML of reports/index.html in one string, with its style, script and figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from adaptbert.comparison.amounts import amount, at_least
from adaptbert.comparison.class_scores import Confusion
from adaptbert.comparison.records import Arm, Comparison, Rung, Step, Task
from adaptbert.comparison.report import captions, charts, curves, overview
from adaptbert.comparison.report import rung_sentences as rungs
from adaptbert.comparison.report import step_sentences as sentences
from adaptbert.comparison.report import terms as words
from adaptbert.comparison.report import trust_sentences as trust
from adaptbert.comparison.report.terms import Words

MOST_CLASSES = 30
"""The most classes that a figure shows."""


@dataclass(frozen=True)
class TaskView:
    """What the template shows of one task."""

    task: Task
    metric: Words
    headline: Words
    lift: list[Words]
    without_gain: Words
    baseline: trust.Baseline | None
    against_baselines: Words
    degenerate: Words | None
    troubles: list[Words]
    arms_are: Words
    best_on_dev: Words
    arms: Markup
    differences_are: Words
    differences: Markup | None
    learning_is: Words
    learning: Markup | None
    steps: list[tuple[Step, Words]]
    classes: Markup | None
    confusion: Confusion | None
    calibration: Words | None
    reliability: Markup | None


def render(comparison: Comparison) -> str:
    """The page. Equal comparisons give equal bytes: there is no date in it."""
    environment = Environment(
        loader=PackageLoader("adaptbert.comparison.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"t": Words, "same": words.same, "words": words, "price": overview.price}
    environment.filters |= {
        "plain": words.plain,
        "points": words.points,
        "change": words.change,
        "bits_change": words.bits_change,
        "millions": words.millions,
        "amount": amount,
        "at_least": at_least,
        "shares": shares,
        "role": lambda rung: comparison.rung(rung).role,
    }
    page = environment.get_template("page.html.j2").render(
        comparison=comparison,
        level=words.percent(comparison.confidence),
        tasks=[_view(task, comparison) for task in comparison.tasks],
        verdict=overview.verdict(comparison),
        matrix=overview.matrix(comparison),
        questions={step.question for task in comparison.tasks for step in task.steps},
        demonstration=captions.demonstration(comparison),
        suite=sentences.suite(comparison),
        reading=rungs.reading(comparison),
        masking=rungs.masking(comparison),
        token_classes=_token_classes(comparison),
        curves=[(name, _curves(comparison, name, f"curve-{name}")) for name in comparison.heldout],
        forgetting=_forgetting(comparison),
        css=_asset("page.css"),
        js=_asset("page.js"),
    )
    return page + "\n"


def _token_classes(comparison: Comparison) -> list[str]:
    """The token classes that a rung's masks cover, in the order of their columns."""
    audits = [rung.masks.audit for rung in comparison.rungs if rung.masks is not None]
    return [name for name in words.TOKEN_CLASSES if any(f"rate_{name}" in audit for audit in audits)]


def _asset(name: str) -> Markup:
    return Markup(files("adaptbert.comparison.report").joinpath(name).read_text(encoding="utf-8"))


def _view(task: Task, comparison: Comparison) -> TaskView:
    confidence = comparison.confidence
    marks = [charts.Mark(words.baseline_name(name, task.target), score) for name, score in task.baselines.items()]
    whiskers = [_whisker(step) for step in task.steps]
    bars = [_bar(arm, comparison.rung(arm.rung), arm.name in task.best_on_dev) for arm in task.arms]
    return TaskView(
        task=task,
        metric=words.METRICS[task.metric],
        headline=sentences.best(task, confidence),
        lift=sentences.lift(task, confidence),
        without_gain=sentences.without_gain(task),
        baseline=trust.baseline(task),
        against_baselines=trust.against_baselines(task, confidence),
        degenerate=trust.degenerate(task),
        troubles=trust.troubles(task),
        arms_are=captions.arms(task, confidence),
        best_on_dev=captions.best_on_dev(task),
        arms=charts.bars(bars, marks, f"arms-{task.name}"),
        differences_are=captions.differences(task),
        differences=charts.whiskers(whiskers, f"differences-{task.name}") if whiskers else None,
        learning_is=captions.learning(task, confidence),
        learning=_learning(task, comparison),
        steps=[(step, sentences.step(step, task, confidence)) for step in task.steps],
        classes=_classes(task),
        confusion=_confusion(task),
        calibration=trust.calibration(task),
        reliability=_reliability(task),
    )


def _bar(arm: Arm, rung: Rung, is_best_on_dev: bool) -> charts.Bar:
    if arm.interval is None:
        return charts.Bar(arm.name, rung.role, None, None, None, [])
    interval = arm.interval
    return charts.Bar(
        arm.name, rung.role, interval.mean, interval.low, interval.high, list(arm.scores.values()), is_best_on_dev
    )


def _learning(task: Task, comparison: Comparison) -> Markup | None:
    lines = [
        curves.LearningCurve(
            arm.name,
            comparison.rung(arm.rung).role,
            [(p.labels, p.interval.mean, p.interval.low, p.interval.high) for p in arm.learning_curve],
        )
        for arm in task.arms
        if arm.learning_curve
    ]
    return curves.learning(lines, f"learning-{task.name}") if lines else None


def _whisker(step: Step) -> charts.Whisker:
    label = words.step_name(step.question, step.name)
    if step.difference is None:
        return charts.Whisker(label, step.verdict, None, None, None, None)
    interval = step.difference.interval
    detectable = step.difference.detectable
    return charts.Whisker(label, step.verdict, interval.mean, interval.low, interval.high, detectable)


def _classes(task: Task) -> Markup | None:
    """None without classes, and where they are too many for bars: all of them are in the table."""
    if task.inspection is None or not 0 < len(task.inspection.classes) <= MOST_CLASSES:
        return None
    rows = [
        charts.Bar(scores.label, "class", scores.means[2], None, None, scores.f1) for scores in task.inspection.classes
    ]
    return charts.bars(rows, [], f"classes-{task.name}")


def _confusion(task: Task) -> Confusion | None:
    """None where a row has no single label, and where the labels are too many; reports/plots has them all."""
    matrix = task.inspection.confusion if task.inspection is not None else None
    return matrix if matrix is not None and len(matrix.labels) <= MOST_CLASSES else None


def _reliability(task: Task) -> Markup | None:
    calibration = task.inspection.calibration if task.inspection is not None else None
    if calibration is None:
        return None
    return curves.reliability(
        [(part.confidence, part.accuracy) for part in calibration.curve], f"reliability-{task.name}"
    )


def _curves(comparison: Comparison, heldout: str, described_by: str) -> Markup:
    """A task's own rungs are drawn on its own text and on the corpora, not on other tasks' text."""
    tasks = {task.name for task in comparison.tasks}
    others = tasks - {heldout} if heldout in tasks else set()
    lines = []
    for rung in comparison.rungs:
        key = rung.name.removeprefix("task_transfer/")
        if rung.total is None or rung.start is None or any(key.startswith(f"{other}-") for other in others):
            continue
        below = rung.total.tokens - rung.tokens
        points = [(below + tokens, bits[heldout]) for tokens, bits in rung.curve if heldout in bits]
        if points:
            lines.append(curves.Curve(rung.name, rung.role, points, dashed=rung.name.startswith("task_transfer/")))
    return curves.curves(lines, described_by)


def _forgetting(comparison: Comparison) -> Markup | None:
    """General held-out text before and after every rung above general pre-training; None without such a rung."""
    moves = [
        charts.Move(rung.name, rung.role, rung.before["general"], rung.after["general"])
        for rung in comparison.rungs
        if rung.name not in ("scratch", "pretrain") and "general" in rung.after
    ]
    return charts.moves(moves, "forgetting") if moves else None


def shares(row: dict[str, float], labels: Sequence[str]) -> list[tuple[float, float]]:
    """A row of a confusion matrix as (count, share of the row)."""
    total = sum(row.values()) or 1.0
    return [(row[label], row[label] / total) for label in labels]
