"""Metrics, predictions, labelled sets and manifests -> the `Comparison`, built from the outputs of all stages."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from adaptbert.comparison.cells import Cells, cells_of, read_arm
from adaptbert.comparison.evaluation.baselines import on_the_labels_of
from adaptbert.comparison.evaluation.embeddings import Embeddings
from adaptbert.comparison.evaluation.inspection import inspect_cells
from adaptbert.comparison.judging import Studies, judged, on_several, steps_of
from adaptbert.comparison.questions import (
    Arms,
    advice_of,
    again_pairs,
    named_pairs,
    pairs,
    role,
    without_variants,
)
from adaptbert.comparison.read_rungs import on_checkpoints, public_checkpoints, read_rungs
from adaptbert.comparison.records import Comparison, Ranking, Source, Task
from adaptbert.comparison.rungs import Cost, Rung
from adaptbert.comparison.starts import ranking, study_key
from adaptbert.comparison.task_studies import BaselineRuns, ResampledRows, task_study
from adaptbert.config.plan import Plan
from adaptbert.config.schema.bases import GENERAL
from adaptbert.core.files import read_json
from adaptbert.data import labelled_set
from adaptbert.data.task_description import TaskDescription
from adaptbert.statistics.intervals import Difference
from adaptbert.statistics.study import Study, TaskStudy, of_arms
from adaptbert.tasks.metrics.cell_metrics import CellMetrics
from adaptbert.tasks.metrics.scoring import COMPARED_BY, limits


@dataclass(frozen=True)
class StageOutputs:
    """The folders that the stages wrote.

    Attributes:
        data: data/validated/tasks.
        manifests: data/raw.
        cells: the metrics of rungs and cells.
        predictions: of the cells.
        bases: models/pretrain: for each start the checkpoint that all its arms begin with.
    """

    data: Path
    manifests: Path
    cells: Path
    predictions: Path
    bases: Path


@dataclass(frozen=True)
class Options:
    """The section `compare` of params.yaml.

    Attributes:
        worth: the smallest gain worth having, as a difference of scores.
        primary: questions for which verdicts are given.
        pairs: further questions -> the arm and the other.
        baseline_seed: of the linear models.
        again: A/A arm -> the arm whose rungs it trains once more; of the section `ladder`.
    """

    confidence: float
    worth: float
    primary: Collection[str]
    pairs: Mapping[str, Sequence[str]]
    baseline_seed: int
    again: Mapping[str, str] = field(default_factory=dict)


def compare_all(plan: Plan, outputs: StageOutputs, options: Options) -> Comparison:
    """Read the outputs of every planned rung and cell, and compare the arms of each task within each start."""
    cells, rungs = outputs.cells, read_rungs(plan, outputs.cells)
    several = len(plan.pretrain) > 1
    arms = {cell.arm: rungs[cell.checkpoint].climb for cell in plan.finetune.values() if cell.arm not in options.again}
    tasks, studies, trained = [], dict[tuple[str, str], TaskStudy](), dict[str, CellMetrics]()
    rows: dict[str, ResampledRows] = {}
    for task, start in dict.fromkeys((cell.task, cell.base) for cell in plan.finetune.values()):
        own = cells_of(plan, outputs.cells, task, start)
        trained |= own.trained
        if task not in rows:
            mapped = labelled_set.test_groups(outputs.manifests / "tasks" / task)
            rows[task] = ResampledRows(TaskDescription.read(outputs.data / task), outputs.data / task, mapped)
        studies[task, start] = task_study(
            own, COMPARED_BY[rows[task].target], rows[task], outputs.predictions, options.confidence
        )
        name = f"{task}/{start}" if several else task
        tasks.append(_task(name, own, studies[task, start], rows[task], arms, outputs, rungs, options))
    first_draw = _first_draw(plan, rungs, trained)
    tasks = judged(tasks, studies, options.worth, options.confidence, first_draw)
    sources = _sources(outputs.manifests, read_json(cells / "validate.json"))
    measured = {name for rung in rungs.values() for name in rung.after}
    corpora = [source.name for source in sources if source.kind == "corpus"]
    return Comparison(
        confidence=options.confidence,
        worth=options.worth,
        tasks=tasks,
        rungs=list(rungs.values()),
        heldout=sorted(measured, key=lambda name: (name != GENERAL, name not in corpora, name)),
        sources=sources,
        began_from=public_checkpoints(plan, cells),
        rankings=_rankings(tasks, studies, on_checkpoints(plan, rungs, cells), options),
        spent=_spent(rungs.values(), trained.values()),
        one_more_draw=first_draw,
        on_several=on_several(tasks, 1 - options.confidence),
    )


def _rankings(tasks: Sequence[Task], studies: Studies, published: Collection[str], options: Options) -> list[Ranking]:
    rankings = []
    for name in dict.fromkeys(task.task for task in tasks):
        own = [task for task in tasks if task.task == name]
        starts = {task.start: {arm.name: arm for arm in task.arms if not arm.again_of} for task in own}
        of_starts = {task.start: studies[name, task.start] for task in own}
        runs = {study_key(arm, start): each for start, one in of_starts.items() for arm, each in one.arms.items()}
        groups = of_starts[own[0].start].groups
        together = of_arms(runs, groups, options.confidence, limits(own[0].metric))
        rankings.append(ranking(name, own[0].metric, starts, published, together, options.worth))
    return [each for each in rankings if each is not None]


def _spent(rungs: Collection[Rung], cells: Collection[CellMetrics]) -> Cost:
    """What all of these took."""
    costs = [cell.cost for cell in cells]
    tokens = sum(rung.tokens for rung in rungs) + sum(cost.tokens for cost in costs)
    return Cost(tokens, sum(rung.tflop for rung in rungs) + sum(cost.tflop for cost in costs))


def _first_draw(plan: Plan, rungs: Mapping[str, Rung], trained: Mapping[str, CellMetrics]) -> Cost | None:
    """What the first draw of every arm cost: the rungs above general pre-training and the fine-tuning of their cells.

    An A/A arm begins with a later draw of a rung than the arm that it repeats.
    """
    of_arms: dict[tuple[str, str, str], int] = {}
    for cell in plan.finetune.values():
        of_arms.setdefault((cell.task, cell.base, cell.arm), cell.replicate)
    firsts = set(of_arms.values()) - {0} or {1}
    cells = [key for key, cell in plan.finetune.items() if cell.replicate in firsts]
    first = [rung for rung in rungs.values() if rung.draw in firsts]
    if not first or any(rung.missing for rung in first) or any(key not in trained for key in cells):
        return None
    return _spent(first, [trained[key] for key in cells])


def _task(
    name: str,
    cells: Cells,
    of_task: TaskStudy,
    rows: ResampledRows,
    ladder: Arms,
    outputs: StageOutputs,
    rungs: Mapping[str, Rung],
    options: Options,
) -> Task:
    """The arms of a task from one start; its steps have no verdict yet.

    Args:
        name: in tables; with the start where there are several.
        ladder: the arms of all tasks and starts.
    """
    data, trained = outputs.data / cells.task, cells.trained
    described = TaskDescription.read(data)
    metric = COMPARED_BY[described.target]
    labels = next((cell.labels for cell in trained.values()), 0) or described.rows["train"]
    climbs = {cell.arm: rungs[cell.checkpoint].climb for cell in cells.planned.values()}
    arms = [replace(read_arm(arm, cells, rungs, metric, of_task), again_of=options.again.get(arm)) for arm in climbs]
    variants = {arm.name for arm in arms if arm.has_own_values}
    compared = without_variants(climbs, variants, options.again)
    tried = [arm for arm in arms if arm.dev and arm.again_of is None]
    chosen = max(tried, key=lambda arm: sum(arm.dev.values()) / len(arm.dev)).name if tried else None
    of_chosen = {draw: key for draw, key in cells.of(chosen).items() if key in trained} if chosen is not None else {}
    predicted = [outputs.predictions / f"{key}.parquet" for key in of_chosen.values()]
    seeds = sorted({seed.seed for cell in trained.values() for seed in cell.seeds}) or [0]
    embeddings = Embeddings(outputs.bases / cells.start)
    fitted = on_the_labels_of(described, data, labels, seeds, options.baseline_seed, embeddings)
    baselines = rows.of_baselines(fitted)
    named = named_pairs(climbs, options.pairs)
    every = [*pairs(compared), *again_pairs(climbs, options.again), *named]
    steps = steps_of(every, climbs, arms, of_task, options.primary)
    return Task(
        name=name,
        task=cells.task,
        start=cells.start,
        task_type=described.task_type,
        target=described.target,
        metric=metric,
        labels=labels,
        rows=described.rows,
        test_groups=of_task.groups if rows.are_grouped else None,
        test_texts=of_task.groups if not rows.are_grouped and of_task.groups < described.rows["test"] else None,
        arms=arms,
        baselines={each: of_task.study.of_baseline(own.scores, own.resampled) for each, own in baselines.items()},
        beside_baselines=_beside_baselines(chosen, baselines, of_task.study),
        baseline_rows=fitted.rows,
        steps=steps,
        chosen=chosen,
        inspection=inspect_cells(predicted, described.target)
        if predicted and all(path.is_file() for path in predicted)
        else None,
        scattered=[arm for arm in climbs if arm in of_task.study.scattered],
        advice=advice_of(compared, {role(climbs[arm]) for arm in variants}, named, ladder),
    )


def _beside_baselines(
    chosen: str | None, baselines: Mapping[str, BaselineRuns], of_task: Study
) -> dict[str, Difference]:
    if chosen is None:
        return {}
    differences = {name: of_task.beside_baseline(chosen, own.scores, own.resampled) for name, own in baselines.items()}
    return {name: difference for name, difference in differences.items() if difference is not None}


def _sources(manifests: Path, validation: dict[str, Any]) -> list[Source]:
    """The sources that were validated; a folder left over from other parameters is none of them."""
    corpora = [
        _source("corpus", name, manifests / "corpora", [row_counts])
        for name, row_counts in validation["corpora"].items()
    ]
    tasks = [
        _source("task", name, manifests / "tasks", list(splits.values()))
        for name, splits in validation["tasks"].items()
    ]
    return [*corpora, *tasks]


def _source(kind: Literal["corpus", "task"], name: str, folder: Path, row_counts: Sequence[dict[str, Any]]) -> Source:
    manifest = read_json(folder / name / "manifest.json")
    rejected: Counter[str] = Counter()
    for counts in row_counts:
        rejected.update(counts["rejected"])
    return Source(
        name=name,
        kind=kind,
        origin=manifest["source"],
        demonstration=bool(manifest["demonstration"]),
        rows=sum(counts["rows_in"] for counts in row_counts),
        kept=sum(counts["kept"] for counts in row_counts),
        rejected=dict(sorted(rejected.items())),
    )
