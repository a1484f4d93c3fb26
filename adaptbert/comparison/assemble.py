"""The outputs of all stages -> the `Comparison`."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from scipy.stats import fisher_exact

from adaptbert.comparison.arms import Results, StageOutputs, TaskResults
from adaptbert.comparison.baselines import baselines_of
from adaptbert.comparison.checkpoints import published, read_checkpoints, together
from adaptbert.comparison.inspection import inspect_runs
from adaptbert.comparison.judging import answers_of, judged, ranking, study_key, task_means
from adaptbert.comparison.questions import answered
from adaptbert.comparison.records import Arm, Checkpoint, Comparison, Ranking, Source, Task
from adaptbert.comparison.scores import ResampledRows
from adaptbert.config.plan import Plan
from adaptbert.config.schema.bases import GENERAL
from adaptbert.config.schema.comparison import Compare
from adaptbert.core.files import read_json
from adaptbert.core.record import Cost
from adaptbert.data import labelled_set
from adaptbert.tasks.metrics.cell_metrics import CellMetrics
from adaptbert.tasks.metrics.scoring import most_frequent


def compare_all(plan: Plan, outputs: StageOutputs, params: Compare) -> Comparison:
    """Read the results of every planned arm and checkpoint, and compare the arms of each task within each base."""
    checkpoints, min_gain = read_checkpoints(plan, outputs.metrics), params.min_gain / 100
    rows: dict[str, ResampledRows] = {}
    results: dict[str, TaskResults] = {}
    for task, base in dict.fromkeys((entry.task, entry.base) for entry in plan.finetune.values()):
        if task not in rows:
            mapped = labelled_set.test_groups(outputs.manifests / "tasks" / task)
            rows[task] = ResampledRows(outputs.data / task, mapped, params.metric)
        own = TaskResults(plan, outputs, task, base, rows[task], params.confidence, checkpoints)
        results[f"{task}/{base}" if len(plan.pretrain) > 1 else task] = own
    tasks = [_task(name, own, checkpoints, params) for name, own in results.items()]
    one_more = _one_more_replicate(plan, checkpoints, results)
    studied = [*task_means(tasks, results, params.order)]
    general = _spent([each for each in checkpoints.values() if each.first.number == 0], [])
    tasks, means = judged(tasks, studied, results, min_gain, params.confidence, one_more, general)
    sources = list(_sources(outputs.manifests, read_json(outputs.metrics / "validate.json")))
    corpora = [source.name for source in sources if source.kind == "corpus"]
    measured = {name for each in checkpoints.values() for name in each.after}
    return Comparison(
        confidence=params.confidence,
        min_gain=min_gain,
        tasks=tasks,
        checkpoints=together(checkpoints.values()),
        heldout=sorted(measured, key=lambda name: (name != GENERAL, name not in corpora, name)),
        sources=sources,
        rankings=list(_rankings(tasks, results, published(checkpoints), min_gain)),
        spent=_spent(checkpoints.values(), [each for own in results.values() for each in own.trained.values()]),
        one_more_replicate=one_more,
        means=means,
    )


def _task(name: str, results: TaskResults, checkpoints: Mapping[str, Checkpoint], params: Compare) -> Task:
    """The arms of a task from one base; its questions have no verdict yet."""
    rows, described, study, arms = results.rows, results.rows.task, results.study, results.arms
    labels = next((each.labels for each in results.trained.values()), 0) or described.rows["train"]
    shortest = min(results.trained.values(), key=lambda each: each.steps, default=None)
    dev = {arm.name: score for arm in arms if (score := arm.dev) is not None}
    luck = {arm.name for arm in arms if arm.mostly_failed}
    chosen = max(dev, key=lambda name: (name not in luck, dev[name]), default=None)
    predicted = next((results.predictions(arm) for arm in arms if arm.name == chosen), {})
    seeds = tuple(sorted({seed.seed for each in results.trained.values() for seed in each.seeds}))
    baselines = baselines_of(rows, labels, seeds or (0,), params.baseline_seed)
    beside = {
        each: difference
        for each, own in baselines.items()
        if chosen is not None and (difference := study.beside_baseline(chosen, own.scores, own.resampled, len(dev)))
    }
    scored = {each: study.of_baseline(own.scores, own.resampled) for each, own in baselines.items()}
    by_arm = {entry.arm: checkpoints[entry.checkpoint].trained_on for entry in results.planned.values()}
    comparisons = answered(by_arm, {arm.name for arm in arms if arm.has_own_values}, params)
    task = Task(
        name=name,
        task=results.task,
        base=results.base,
        task_type=described.task_type,
        target=described.target,
        metric=results.metric,
        steps=shortest.steps if shortest is not None else 0,
        epochs=shortest.epochs if shortest is not None else 0,
        classes=len(described.labels),
        labels=labels,
        rows=described.rows,
        test_groups=rows.groups if rows.are_grouped else None,
        test_texts=rows.groups if not rows.are_grouped and rows.groups < described.rows["test"] else None,
        arms=arms,
        baselines=scored,
        beside_baselines=beside,
        baseline_rows=next(iter(baselines.values())).rows,
        answers=answers_of(comparisons, by_arm, arms, scored, study, params.order),
        chosen=chosen,
        inspection=inspect_runs(predicted, described.target) if predicted else None,
        scattered=[arm for arm in by_arm if arm in study.scattered],
        classes_unseen=_unseen(rows, labels, seeds),
        most_frequent=_most_frequent(rows),
    )
    return replace(task, failed_p=_failed_p(task.sides(task.first))) if task.first is not None else task


def _failed_p(arms: tuple[Arm, Arm]) -> float | None:
    """Fisher's exact test of the runs that failed, as if those of one replicate were independent."""
    (failed, runs), (of_other, other_runs) = (arm.first_failed for arm in arms)
    if failed * other_runs == of_other * runs:
        return None
    return float(fisher_exact([[failed, runs - failed], [of_other, other_runs - of_other]]).pvalue)


def _most_frequent(test: ResampledRows) -> float | None:
    """The share of test rows that have the label of most training rows."""
    if test.task.target != "class":
        return None
    label = most_frequent([row["label"] for row in labelled_set.split(test.data, "train")])
    return [row["label"] for row in test.rows].count(label) / len(test.rows)


def _unseen(test: ResampledRows, labels: int, seeds: Sequence[int]) -> int:
    """Classes of which the subsets of the seeds have no row, on average."""
    task = test.task
    if not task.labels or not seeds or labels >= task.rows["train"]:
        return 0
    output, rows = task.spec.output, labelled_set.split(test.data, "train")
    subsets = [labelled_set.subset(rows, labels, seed) for seed in seeds]
    shown = [{label for row in subset for label in output.labels(row[output.column])} for subset in subsets]
    return round(sum(len({*task.labels} - each) for each in shown) / len(seeds))


def _rankings(tasks: Sequence[Task], results: Results, public: Collection[str], min_gain: float) -> Iterator[Ranking]:
    for name in dict.fromkeys(task.task for task in tasks):
        own = [task for task in tasks if task.task == name]
        runs = {study_key(arm, each.base): of_arm for each in own for arm, of_arm in results[each.name].runs.items()}
        if (each := ranking(own, public, results[own[0].name].study.of(runs), min_gain)) is not None:
            yield each


# ---- costs


def _spent(checkpoints: Iterable[Checkpoint], trained: Iterable[CellMetrics]) -> Cost:
    steps = Cost.total(each.first.cost for each in checkpoints if each.first.cost is not None)
    arms = Cost.total(each.cost for each in trained)
    return Cost.total([steps, arms])


def _one_more_replicate(plan: Plan, checkpoints: Mapping[str, Checkpoint], results: Results) -> Cost | None:
    """What the first replicate of every arm cost: the steps above general pre-training, and fine-tuning on them."""
    first = [each for each in checkpoints.values() if each.first.number == 1]
    keys = [key for key, entry in plan.finetune.items() if entry.replicate == 1]
    trained = {key: each for own in results.values() for key, each in own.trained.items()}
    if not first or any(each.missing for each in first) or any(key not in trained for key in keys):
        return None
    return _spent(first, [trained[key] for key in keys])


# ---- sources


def _sources(manifests: Path, validation: dict[str, Any]) -> Iterator[Source]:
    """The sources that were validated; a folder left over from other parameters is none of them."""
    for name, counts in validation["corpora"].items():
        yield _source("corpus", manifests / "corpora" / name, [counts])
    for name, splits in validation["tasks"].items():
        sharing = splits["train"]["warnings"].get("rows_sharing_a_text_with_test", 0)
        yield _source("task", manifests / "tasks" / name, splits.values(), sharing)


def _source(
    kind: Literal["corpus", "task"], folder: Path, row_counts: Collection[dict[str, Any]], sharing: int = 0
) -> Source:
    rejected = sum((Counter(counts["rejected"]) for counts in row_counts), Counter[str]())
    return Source(
        name=folder.name,
        kind=kind,
        demonstration=bool(read_json(folder / "manifest.json")["demonstration"]),
        rows=sum(counts["rows_in"] for counts in row_counts),
        kept=sum(counts["kept"] for counts in row_counts),
        rejected=dict(sorted(rejected.items())),
        sharing=sharing,
    )
