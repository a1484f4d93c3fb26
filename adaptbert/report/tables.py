"""A comparison -> the tables that a reader sees, in both languages: rounded and worded here, and nowhere else.

The page shows all but `summary`, which a terminal shows; reports/index.md those of arms, comparisons, bases and
checkpoints.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adaptbert.comparison.questions import DIFFERENCES, QUESTIONS
from adaptbert.comparison.records import TRAINED_BYTES, Answer, Arm, Checkpoint, Comparison, Ranking, Task, TaskMean
from adaptbert.config.schema.bases import TrainedOn
from adaptbert.core.english import amount, token_count
from adaptbert.core.record import Cost
from adaptbert.report.answer import interval_inside
from adaptbert.report.figures import best_on_dev
from adaptbert.report.language import Text, change, ends, listed, p_value, plain, points, quoted, same, signed, t
from adaptbert.report.prose import behind, ranked
from adaptbert.report.terms import STANDS, answer_name, arm_is, baseline_name, metric_name, verdict
from adaptbert.statistics.intervals import FEWEST_SEEDS, Difference, Interval

NONE = same("–")
DOCUMENTS = {"packed": t("packed"), "packed by masks": t("packed by masks"), "padded": t("padded")}
"""How documents are computed, in the words of metrics/pretrain/*.json."""


@dataclass(frozen=True)
class Cell:
    """One place of a table.

    Attributes:
        value: what its column sorts by, unrounded; None: it comes last. A column without numbers is set left.
        notes: smaller, below it.
        key: what the colour before it stands for.
        chip: what the colour around it stands for.
    """

    text: Text
    value: float | str | None = None
    notes: Sequence[Text] = ()
    key: str = ""
    chip: str = ""


@dataclass(frozen=True)
class Table:
    """Rows below their columns.

    Attributes:
        name: an id on the page.
        notes: sentences below it.
    """

    name: str
    title: Text
    columns: Sequence[Text]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[Text] = ()

    def is_name(self, column: int) -> bool:
        return not any(isinstance(row[column].value, int | float) for row in self.rows)


def summary(comparison: Comparison) -> Table:
    """The scores of all tasks side by side, below them the best baseline of each."""
    columns = [t("{name} ({of})", name=task.name, of=metric_name(task.metric)) for task in comparison.tasks]
    by_task = [{arm.name: _short(arm.interval) for arm in task.arms} for task in comparison.tasks]
    names = dict.fromkeys(name for own in by_task for name in own)
    rows = [[Cell(same(name)), *(own.get(name, Cell(NONE)) for own in by_task)] for name in names]
    best = [max(task.baselines.values(), key=lambda each: each.mean, default=None) for task in comparison.tasks]
    rows.append([Cell(t("best baseline")), *(_short(each) if each is not None else Cell(NONE) for each in best)])
    return Table("table-summary", t("Arms"), [t("Arm"), *columns], rows)


def _short(interval: Interval | None) -> Cell:
    """A score and its interval in one cell."""
    score, between = _score(interval)
    return score if between.text == NONE else Cell(t("{name} ({of})", name=score.text, of=between.text))


def arms(task: Task) -> Table:
    """Every score of a task."""
    seeds = t("Seeds; replicates separated by |") if task.replicates > 1 else t("Seeds")
    columns = [t("Arm"), metric_name(task.metric), t("Interval"), seeds, *_COST]
    rows = [_arm(arm, task) for arm in task.arms]
    fewer = task.baseline_rows < task.labels
    fitted = t("fitted on the first {n:,} rows", n=task.baseline_rows) if fewer else NONE
    for name, score in task.baselines.items():
        named = Cell(baseline_name(name, task.target), name, [t("baseline")], key="line")
        rows.append([named, *_score(score), Cell(fitted), *_cost(None)])
    few = any(0 < len(each.scores) < FEWEST_SEEDS for each in task.arms)
    notes = [t("An interval needs three seeds.")] if few else []
    own = [arm.name for arm in task.arms if arm.has_own_values]
    notes += [t("Fine-tuned with values of its own: {names}.", names=listed(own))] if own else []
    return Table(f"table-{task.anchor}", t("Arms of {task}", task=task.name), columns, rows, notes)


def _arm(arm: Arm, task: Task) -> list[Cell]:
    notes = [arm_is(arm), *([best_on_dev(task)] if arm.name in task.best_on_dev else [])]
    name = Cell(_code(arm.name), arm.name, notes, key=f"role-{arm.role}")
    seeds = same(" | ".join(" ".join(map(points, scores.values())) for scores in arm.by_replicate.values()))
    if arm.first_failed[0]:
        seeds = t("{seeds} ({of[0]} of {of[1]} first runs failed)", seeds=seeds, of=arm.first_failed)
    return [name, *_score(arm.interval), Cell(NONE if arm.missing else seeds), *_cost(arm.cost)]


def answers(comparison: Comparison, tasks: Sequence[Task]) -> Table:
    """Every difference between two arms of these tasks; those that several tasks have stand side by side."""
    of_task = [t("Task")] if len(tasks) > 1 else []
    columns = [t("Comparison"), *of_task, *_DIFFERENCE, t("Verdict"), t("tokens")]
    compared: list[tuple[Answer, Task | TaskMean]] = [(answer, task) for task in tasks for answer in task.answers]
    order = [*QUESTIONS, *(answer.question for answer, _ in compared)]  # those that params.yaml names come last
    compared.sort(key=lambda each: order.index(each[0].question))
    compared[:0] = [(mean.answer, mean) for mean in comparison.means if len(tasks) > 1]
    rows = []
    for answer, of in compared:
        name = t("{name} ({of})", name=answer_name(answer), of=f"`{answer.arm} − {answer.other}`")
        cells = [Cell(name, answer.name), *([Cell(same(of.name), of.name)] if len(tasks) > 1 else [])]
        tokens = of.price(answer) if isinstance(of, Task) else None
        gap, rests_on = answer.difference, []
        if gap is not None and gap.testable and answer.verdict == "equivalent":
            rests_on.append(t("two one-sided tests: {interval}", interval=interval_inside(gap, comparison)))
        rests_on += [t("not in `compare.order`")] if answer.why == "described" else []
        rests_on += [behind(gap, answer, of)] if gap is not None else []
        judged = Cell(verdict(answer, comparison.min_gain), answer.verdict, rests_on, chip=f"verdict-{answer.verdict}")
        mean, interval, p = _difference(gap, answer.p_adjusted)
        if answer.chance is not None and not answer.at_least:  # else the verdict says it
            likely = t("≥ {least:limit}: {it.chance:hundred} in 100", least=comparison.min_gain, it=answer)
            interval = replace(interval, notes=[likely])
        rows.append([*cells, mean, interval, p, judged, _number(tokens, token_count)])
    if len(tasks) > 1:
        return Table("table-answers", t("All comparisons"), columns, rows)
    return Table(f"table-answers-{tasks[0].anchor}", t("Comparisons of {task}", task=tasks[0].name), columns, rows)


def bases(ranking: Ranking) -> Table:
    """Every arm from every base, in the order of the arm that ranks them, beside the first base."""
    columns = [t("Arm"), t("Base"), metric_name(ranking.metric), t("Interval")]
    columns += [t("minus {base}", base=ranking.order[0]), *_DIFFERENCE[1:], t("Verdict")]
    rows = []
    for arm, standings in ranking.arms.items():
        for each in standings:
            cells = [Cell(_code(arm), arm), Cell(same(each.base), each.base), *_score(each.interval)]
            stands = STANDS[each.verdict] if each.verdict is not None else NONE
            verdict = Cell(stands, each.verdict, chip=f"verdict-{each.verdict}" if each.verdict is not None else "")
            cells += [*_difference(each.difference, each.p_adjusted), verdict]
            rows.append(cells)
    title = t("Bases of {task} by arm", task=ranking.task)
    return Table(f"table-bases-{ranking.task}", title, columns, rows, list(ranked(ranking)))


def prices(ranking: Ranking, comparison: Comparison) -> Table:
    """What each base costs in the arm that ranks them; what depends on the machine is in MLflow."""
    columns = [t("Base"), t("Documents"), t("GB to train"), *_COST, t("TFLOP a run")]
    general = [each for each in comparison.checkpoints if each.trained_on == TrainedOn() and not each.missing]
    weights = {each.base: each.first for each in general}
    tasks = {task.base: task for task in comparison.tasks if task.task == ranking.task}
    rows = []
    for base in [base for base in ranking.order if base in ranking.dev.keys() & weights.keys()]:
        arm, documents = tasks[base].arm(ranking.arm), DOCUMENTS[weights[base].documents]
        memory = _number(TRAINED_BYTES * weights[base].parameters, lambda size: amount(size / 1e9))
        names = [Cell(same(base), base), Cell(documents, documents.en)]
        rows.append([*names, memory, *_cost(arm.cost), _number(arm.run_tflop or 0.0, amount)])
    note = t(
        "GB hold weights, gradients and moments; a batch comes on top. Tokens and TFLOP are of the steps before "
        "fine-tuning, a run fine-tunes once. MLflow has what was measured: `train/tokens_per_second` and, for memory, "
        "`system/process_memory_megabytes` or `system/gpu_0_memory_usage_megabytes`."
    )
    title = t("What each base of {task} costs, in the arm {arm}", task=ranking.task, arm=ranking.arm)
    return Table(f"table-prices-{ranking.task}", title, columns, rows, [note])


def checkpoints(comparison: Comparison) -> Table:
    """Bits per character of every checkpoint on every held-out text, and its cost."""
    columns = [t("Checkpoint"), *map(same, comparison.heldout), t("tokens of this step"), *_COST]
    rows = []
    # Random weights are not measured where pre-training began from others and no arm begins with them.
    for each in [each for each in comparison.checkpoints if each.missing or each.after]:
        note = [t("from {name}", name=each.below)] if each.below else []
        name, first = Cell(_code(each.name), each.name, note, key=f"role-{each.role}"), each.first
        own = _number(first.cost.tokens if first.cost is not None else None, token_count)
        bits = [_bits(each, heldout) for heldout in comparison.heldout]
        rows.append([name, *bits, own, *_cost(first.total)])
    note = [t("Per character and not per token, so bases with different tokenizers can be compared.")]
    title = t("Bits per character on held-out text")
    return Table("table-bits", title, columns, rows, note if len(comparison.bases) > 1 else [])


def _bits(checkpoint: Checkpoint, heldout: str) -> Cell:
    if heldout not in checkpoint.after:
        return Cell(t("missing") if checkpoint.missing else NONE)
    measured = [each.after[heldout] for each in checkpoint.replicates if heldout in each.after]
    bits, notes = checkpoint.after[heldout], []
    if checkpoint.below and heldout in checkpoint.before:
        notes.append(same(signed(bits - checkpoint.before[heldout], 3)))
    if len(checkpoint.replicates) > 1:
        notes.append(same(f"{min(measured):.3f}–{max(measured):.3f}"))
    return Cell(same(f"{bits:.3f}"), bits, notes)


def search(task: Task) -> Table:
    columns = [t("Arm"), t("Learning rate"), t("Batch"), t("Epochs"), t("Trials"), *_COST]
    rows = []
    for arm in task.arms:
        for search in arm.searches:
            notes = [t("replicate {n}", n=search.replicate)] if len(arm.searches) > 1 else []
            values = (search.learning_rate, search.global_batch_size, search.epochs, search.trials)
            cells = [Cell(_code(arm.name), arm.name, notes, key=f"role-{arm.role}")]
            rows.append([*cells, *(_number(value, plain) for value in values), *_cost(search.cost)])
    title = t("Hyper-parameter search of each replicate on dev; the cost of all trials, which no other table includes")
    return Table(f"table-search-{task.anchor}", title, columns, rows)


def classes(task: Task) -> Table:
    columns = [t("Class"), t("Precision"), t("Recall"), same("F1"), t("Support")]
    rows = []
    for each in task.inspection.classes if task.inspection is not None else []:
        scores = [_number(mean, points) for mean in each.means]
        rows.append([Cell(same(quoted(each.label)), each.label), *scores, _number(each.support)])
    title = t("All classes: means over runs; support is how often the class is the right answer")
    return Table(f"table-classes-{task.anchor}", title, columns, rows)


def errors(task: Task) -> Table:
    columns = [t("Line of the file, or id"), t("runs wrong"), t("confidence")]
    rows = []
    for error in task.inspection.errors if task.inspection is not None else []:
        notes = [same(f"{quoted(error.gold)} → {quoted(error.predicted)}")] if error.gold and error.predicted else []
        name = Cell(same(quoted(error.id)), error.id, notes)
        rows.append([name, _number(error.runs), _number(error.confidence, points)])
    title = t("Most confident errors: where all runs disagree with the label, check the label first")
    return Table(f"table-errors-{task.anchor}", title, columns, rows)


def data(comparison: Comparison) -> Table:
    columns = [t("Name"), t("Kind"), t("rows in"), t("kept"), t("rejected")]
    rows = []
    for source in comparison.sources:
        kind = t("corpus") if source.kind == "corpus" else t("labelled set")
        reasons = [same(f"{reason}: {count:,}") for reason, count in source.rejected.items()]
        name = Cell(_code(source.name), source.name, [t("demonstration corpus")] if source.demonstration else [])
        rejected = replace(_number(source.rows - source.kept), notes=reasons)
        rows.append([name, Cell(kind, source.kind), _number(source.rows), _number(source.kept), rejected])
    return Table("table-data", t("Data"), columns, rows)


def _code(name: str) -> Text:
    return same(f"`{name}`")


def _number(value: float | None, written: Callable[[Any], str] = "{:,}".format) -> Cell:
    return Cell(NONE) if value is None else Cell(same(written(value)), value)


def _score(interval: Interval | None) -> list[Cell]:
    if interval is None:
        return [Cell(t("missing")), Cell(NONE)]
    between = t("{it.low:points} to {it.high:points}", it=interval) if interval.low is not None else NONE
    return [_number(interval.mean, points), Cell(between, interval.low)]


def _difference(difference: Difference | None, p: float | None) -> list[Cell]:
    if difference is None:
        return [Cell(NONE)] * 3
    interval = Cell(NONE) if difference.low is None else Cell(ends(difference), difference.low)
    return [_number(difference.mean, change), interval, _number(p, p_value)]


def _cost(cost: Cost | None) -> list[Cell]:
    if cost is None:
        return [Cell(NONE)] * 2
    return [_number(cost.tokens, token_count), _number(cost.tflop, amount)]


_COST = [t("tokens"), same("TFLOP")]
_DIFFERENCE = [t("Difference"), t("Interval"), t("adjusted p")]


# ---- metrics/metrics.json


IN_THE_MEAN = "mean-of-tasks"
"""Stands beside the tasks, of which none can have this name: names of params.yaml have no `-`."""


def headlines(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """Task -> base -> arm or baseline -> mean score; `differences` -> question -> difference of means. All times 100.

    For `dvc metrics show`, `dvc metrics diff`, `dvc exp show` and the recipe's run in MLflow. What has no result is
    left out. A task stands under its base, even where there is one base, so that no key changes when a second one is
    added. The mean over tasks stands beside them: base -> metric -> question -> difference.
    """
    by_task: dict[str, dict[str, Any]] = {}
    for task in comparison.tasks:
        scores = {arm.name: _rounded(arm.interval.mean) for arm in task.arms if arm.interval is not None}
        scores |= {name: _rounded(score.mean) for name, score in task.baselines.items()}
        gaps = {each.name: _rounded(each.difference.mean) for each in task.answers if each.difference is not None}
        by_task.setdefault(task.task, {})[task.base] = {**scores, **({DIFFERENCES: gaps} if gaps else {})}
    for mean in comparison.means:
        if (gap := mean.answer.difference) is not None:
            of_base = by_task.setdefault(IN_THE_MEAN, {}).setdefault(mean.base, {})
            of_base[mean.metric] = {mean.answer.name: _rounded(gap.mean)}
    return by_task


def _rounded(score: float) -> float:
    return round(100 * score, 2) + 0.0  # + 0.0 turns -0.0 into 0.0
