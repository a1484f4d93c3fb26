"""Records of the comparison -> the figures of the page, each with its title and caption, and the data of `dvc plots`.

reports/plots has small CSV files:

scores/<task>.csv            task, base, arm, replicate, seed, score; replicate 0: its checkpoint is trained once a base
learning_curve/<task>.csv    base, arm, labels, seed, score, which is the mean over replicates; a point an arm where
                             there are no `label_counts`, because DVC reports a plot without data as an error
bits_per_char/<heldout>.csv  base, replicate, checkpoint, tokens (trained so far, the steps below included),
                             bits_per_char
confusion/<task>.csv         actual, predicted: a row for each test row (word) of the chosen arm, the mean of its runs;
                             words outside of any span that were predicted so are not listed. With several bases a file
                             for each: <task>-<base>.csv

A label that a spreadsheet would run as a formula begins with an apostrophe.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from adaptbert.comparison.records import Arm, Comparison, Confusion, Replicate, Task
from adaptbert.core.english import token_count
from adaptbert.core.files import atomic_write
from adaptbert.core.printable import printable
from adaptbert.data.spreadsheet import Table
from adaptbert.data.tag_schemes import OUTSIDE
from adaptbert.report.drawing import Figure, Line, Picture, Row, draw_lines, draw_rows, nice_ticks
from adaptbert.report.language import EMPTY, Text, plain, points, same, t
from adaptbert.report.terms import answer_name, baseline_name
from adaptbert.statistics.intervals import Interval


def all_figures(comparison: Comparison) -> list[Figure]:
    of_tasks = [figure for task in comparison.tasks for figure in of_task(task, comparison).values()]
    return [*of_tasks, *bits_per_char(comparison)]


def of_task(task: Task, comparison: Comparison) -> dict[str, Figure]:
    """Figures that a task has, by kind: `arms`, `differences`, `learning`."""
    shown = {"arms": scores(task, comparison)}
    if task.answers:
        shown["differences"] = _differences(task, comparison)
    if learned := [arm for arm in task.arms if arm.learning_curve]:
        caption = t("Mean over seeds by number of labelled rows.") + _intervals(
            (point.interval for arm in learned for point in arm.learning_curve), t("Band, over seeds"), comparison
        )
        legend = {arm.name: f"role-{arm.role}" for arm in learned}
        name = f"learning-{task.anchor}"
        shown["learning"] = Figure(name, t("Learning curves"), caption, _learning(learned), task.name, legend)
    return shown


def scores(task: Task, comparison: Comparison) -> Figure:
    """The arms as bars, the baselines as lines."""
    caption = t("Mean over seeds, a dot for each seed.")
    if task.replicates > 1:
        caption = t("Mean; a dot for each seed, a line of dots for each replicate.")
    caption += _intervals((arm.interval for arm in task.arms), t("Whisker"), comparison)
    if task.baselines:
        caption += t("Dashed: baselines without pre-training.")
    if task.best_on_dev:
        caption += t("✓: {mark}.", mark=best_on_dev(task))
    rows = [
        Row(same(arm.name), f"role-{arm.role}", arm.interval, arm.by_replicate, is_best=arm.name in task.best_on_dev)
        for arm in task.arms
    ]
    for name, score in task.baselines.items():
        rows.append(Row(baseline_name(name, task.target), "", Interval(score.mean, None, None), is_line=True))
    return Figure(f"arms-{task.anchor}", t("Arms"), caption, draw_rows(rows), task.name)


def _intervals(intervals: Iterable[Interval | None], drawn: Text, comparison: Comparison) -> Text:
    if all(interval is None or interval.low is None for interval in intervals):
        return EMPTY
    return t("{drawn}: {level:percent} % interval.", drawn=drawn, level=comparison.confidence)


def best_on_dev(task: Task) -> Text:
    """Meaning of the mark beside an arm."""
    return t("equal best on dev") if len(task.best_on_dev) > 1 else t("best on dev")


def _differences(task: Task, comparison: Comparison) -> Figure:
    """The grey band of a row is what the question could well have missed; one that is not tested has none."""
    caption, min_gain, rows = t("Difference in points."), comparison.min_gain, []
    for each in task.answers:
        row = Row(answer_name(each), f"verdict-{each.verdict}", each.difference if task.says_something(each) else None)
        if row.shown is not None and each.verdict != "not_tested" and each.detectable is not None:
            row = replace(row, unseen=each.detectable.value)
        rows.append(row)
    if any(each.difference is not None and each.difference.testable for each in task.answers):
        caption += t(
            "Whisker: its interval. Dotted: ±{min_gain:points}, the smallest gain worth having.", min_gain=min_gain
        )
    if any(row.unseen is not None for row in rows):
        caption += t("Grey: effects that fewer than four of five such studies show, by estimate.")
    return Figure(f"differences-{task.anchor}", t("Comparisons"), caption, draw_rows(rows, min_gain), task.name)


def _learning(arms: Sequence[Arm]) -> Picture:
    """Score over number of labelled rows, which grow by factors; the band is the interval of the mean over seeds."""
    lines = []
    for arm in arms:
        own = [(point.labels, point.interval) for point in arm.learning_curve]
        dots = [(math.log(n), each, f"{arm.name}, {n:,}: {points(each.mean)}") for n, each in own]
        lines.append(Line(f"role-{arm.role}", dots))
    counts = sorted({point.labels for arm in arms for point in arm.learning_curve})
    across = math.log(counts[0]) - 0.05, math.log(counts[-1]) + 0.05
    return draw_lines(lines, across, {math.log(count): f"{count:,}" for count in counts}, times=100)


def bits_per_char(comparison: Comparison) -> list[Figure]:
    """A panel for each base and held-out text."""
    return [_panel(base, heldout, comparison) for base in comparison.bases for heldout in comparison.heldout]


def _panel(base: str, heldout: str, comparison: Comparison) -> Figure:
    """A line for each replicate of a step, which begins where the step below it ended."""
    caption = t("bits per character by cumulative training tokens")
    if comparison.replicates > 1:
        caption = t("bits per character by cumulative training tokens, a line for each replicate")
    lines, legend, of_task = [], {}, heldout in {task.task for task in comparison.tasks}
    for checkpoint, replicate in comparison.trained():
        # A task's own checkpoints are drawn on its own text and on the corpora, not on other tasks'.
        is_other = of_task and checkpoint.task not in (None, heldout)
        own = _bits(replicate, heldout) if checkpoint.base == base and checkpoint.below is not None else []
        if own and not is_other:
            tokens, bits = own[-1]
            said = f"{replicate.name}: {bits:.2f}, {token_count(tokens)}"
            legend[checkpoint.path] = css = f"role-{checkpoint.role}"
            dots = [(n, Interval(each, None, None), said if n == tokens else "") for n, each in own]
            lines.append(Line(css, dots, dashed=checkpoint.trained_on.with_task_text))
    last = float(max((x for line in lines for x, *_ in line.points), default=0) or 1)
    numbers = {at: f"{plain(at / 1e6)} M" if at else "0" for at in nice_ticks(0.0, last) if at <= last * 1.02}
    picture = draw_lines(lines, (0.0, last * 1.02), numbers)
    title = same(f"{heldout} · {base}" if len(comparison.bases) > 1 else heldout)
    return Figure(f"curve-{base}-{heldout}", title, caption, picture, legend=legend)


def _bits(replicate: Replicate, heldout: str) -> list[tuple[int, float]]:
    """(tokens trained so far, bits per character); none where the cost of a step below is not known."""
    if replicate.total is None or replicate.cost is None:
        return []
    below = replicate.total.tokens - replicate.cost.tokens
    return [(below + tokens, bits[heldout]) for tokens, bits in replicate.curve if heldout in bits]


def write_plots(comparison: Comparison, folder: Path) -> None:
    with atomic_write(folder) as part:
        part.mkdir()
        for name, header, rows in _plots(comparison):
            path = part / f"{name}.csv"
            path.parent.mkdir(exist_ok=True)
            with path.open("w", encoding="utf-8", newline="") as file:
                table = Table(file, header.split(","))
                for row in rows:
                    table.write(row)


def _plots(comparison: Comparison) -> Iterator[tuple[str, str, Iterable[Sequence[object]]]]:
    """File, header and rows."""
    for name in dict.fromkeys(task.task for task in comparison.tasks):
        arms = [(task, arm) for task in comparison.tasks if task.task == name for arm in task.arms]
        runs = (
            (name, task.base, arm.name, run.replicate, run.seed, run.score) for task, arm in arms for run in arm.counted
        )
        yield f"scores/{name}", "task,base,arm,replicate,seed,score", runs
        learned = (
            (task.base, arm.name, labels, seed, score)
            for task, arm in arms
            for labels, scores in [(point.labels, point.scores) for point in arm.learning_curve]
            or [(task.labels, arm.scores)]
            for seed, score in scores.items()
        )
        yield f"learning_curve/{name}", "base,arm,labels,seed,score", learned
    for task in comparison.tasks:
        if task.inspection is not None and task.inspection.confusion is not None:
            yield f"confusion/{task.anchor}", "actual,predicted", _answers(task.inspection.confusion)
    for heldout in comparison.heldout:
        bits = (
            (checkpoint.base, replicate.number, checkpoint.name, tokens, round(bits, 6))
            for checkpoint, replicate in comparison.trained()
            for tokens, bits in _bits(replicate, heldout)
        )
        yield f"bits_per_char/{heldout}", "base,replicate,checkpoint,tokens,bits_per_char", bits


def _answers(confusion: Confusion) -> list[tuple[str, str]]:
    return [
        (printable(actual), printable(predicted))
        for actual in confusion.labels
        for predicted in confusion.labels
        if (actual, predicted) != (OUTSIDE, OUTSIDE)
        for _ in range(round(confusion.counts[actual].get(predicted, 0.0)))
    ]
