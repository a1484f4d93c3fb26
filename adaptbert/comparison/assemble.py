"""Metrics, predictions, labelled sets and manifests -> the `Comparison`, built from the outputs of all stages."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from adaptbert.base.files import read_json
from adaptbert.base.ladder import PRETRAIN, SCRATCH, Cell, LadderConfig
from adaptbert.comparison.baselines import baseline_scores, fitted_on
from adaptbert.comparison.inspection import inspect_cell
from adaptbert.comparison.questions import Advice, Pair, advice, pairs, uncompared
from adaptbert.comparison.records import (
    Arm,
    Comparison,
    Cost,
    LearningPoint,
    Masks,
    Rung,
    Search,
    SearchPoint,
    Source,
    Step,
    Task,
    Tempered,
)
from adaptbert.comparison.statistics import Range, adjusted_p, mean_interval, paired_difference, verdict
from adaptbert.comparison.suite_average import suite_averages
from adaptbert.finetuning.metrics.cell_metrics import CellMetrics, FewerLabelsSeed, SearchMetrics, SeedMetrics
from adaptbert.finetuning.metrics.targets import COMPARED_BY, limits
from adaptbert.pretraining.metrics.rung_metrics import HeldOutMeasures, MaskingMetrics, RungMetrics
from adaptbert.rows import labelled_set as labelled
from adaptbert.rows.task_description import TaskDescription


@dataclass(frozen=True)
class StageOutputs:
    """The folders that the stages wrote.

    Attributes:
        data: data/validated/tasks.
        manifests: data/raw.
        cells: the metrics of rungs and cells.
        predictions: of the cells.
    """

    data: Path
    manifests: Path
    cells: Path
    predictions: Path


def compare_all(ladder: LadderConfig, outputs: StageOutputs, *, confidence: float, baseline_seed: int) -> Comparison:
    """Read the outputs of every planned rung and cell, and compare the arms of each task."""
    cells = outputs.cells
    starts, rungs = ladder.starts(), dict[str, Rung]()
    for name in starts:
        _add_rung(name, starts, cells, rungs)
    tasks = [_task(task, ladder, outputs, rungs, confidence, baseline_seed) for task in ladder.tasks()]
    sources = _sources(outputs.manifests, read_json(cells / "validate.json"))
    measured = {name for rung in rungs.values() for name in rung.after}
    corpora = [source.name for source in sources if source.kind == "corpus"]
    heldout = sorted(measured, key=lambda name: (name != "general", name not in corpora, name))
    began_from = RungMetrics.read(cells / f"{PRETRAIN}.json").start if not rungs[PRETRAIN].missing else None
    scores = {task.name: {arm.name: arm.scores for arm in task.arms} for task in tasks}
    suite = suite_averages(scores, confidence, {task.name: limits(task.metric) for task in tasks})
    return Comparison(confidence, tasks, list(rungs.values()), heldout, sources, began_from, suite)


def _add_rung(name: str, starts: dict[str, str | None], cells: Path, rungs: dict[str, Rung]) -> None:
    """Add a rung to `rungs`, after the rung that it starts from."""
    start = starts[name]
    if name not in rungs:
        if start is not None:
            _add_rung(start, starts, cells, rungs)
        rungs[name] = _rung(name, rungs[start] if start is not None else None, cells)


def _rung(name: str, start: Rung | None, cells: Path) -> Rung:
    path = cells / f"{PRETRAIN if name == SCRATCH else name}.json"
    start_name = start.name if start is not None else None
    if not path.is_file():
        return Rung(name, start_name, True, 0, 0.0, None, {}, {}, [])
    metrics = RungMetrics.read(path)
    before, after = _bits(metrics.before), _bits(metrics.after)
    if name == SCRATCH:
        # Random weights were measured before the first step of general pre-training, unless that began from others.
        bits = before if metrics.start == SCRATCH else {}
        return Rung(name, None, False, 0, 0.0, Cost(0, 0.0), bits, bits, [(0, bits)])
    below = start.total if start is not None else None
    return Rung(
        name=name,
        start=start_name,
        missing=False,
        tokens=metrics.tokens,
        tflop=metrics.tflop,
        total=Cost(below.tokens + metrics.tokens, below.tflop + metrics.tflop) if below is not None else None,
        before=before,
        after=after,
        curve=_curve(metrics),
        masks=_masks(metrics.masking),
        random_head=bool(metrics.random_head),
    )


def _curve(metrics: RungMetrics) -> list[tuple[int, dict[str, float]]]:
    suffix = "/bits_per_char"
    curve = [(0, _bits(metrics.before))]
    for point in metrics.curve:
        bits = {name.removesuffix(suffix): bits for name, bits in point.measures.items() if name.endswith(suffix)}
        curve.append((round(metrics.tokens * point.step / max(1, metrics.steps)), bits))
    if curve[-1][0] < metrics.tokens:
        curve.append((metrics.tokens, _bits(metrics.after)))
    return curve


def _masks(masking: MaskingMetrics) -> Masks | None:
    return Masks(masking.unit, masking.probability, masking.measures) if masking.measures else None


def _bits(measured: Mapping[str, HeldOutMeasures]) -> dict[str, float]:
    return {name: measures.bits_per_char for name, measures in measured.items()}


def _task(
    name: str,
    ladder: LadderConfig,
    outputs: StageOutputs,
    rungs: dict[str, Rung],
    confidence: float,
    baseline_seed: int,
) -> Task:
    data, cells, predictions = outputs.data / name, outputs.cells / "finetune", outputs.predictions
    described = TaskDescription.read(data)
    planned = {key: cell for key, cell in ladder.finetune.items() if cell.task == name}
    trained = {key: CellMetrics.read(cells / f"{key}.json") for key in planned if (cells / f"{key}.json").is_file()}
    metric = next((cell.metric for cell in trained.values()), COMPARED_BY[described.target])
    labels = next((cell.labels for cell in trained.values()), 0) or described.rows["train"]
    arms = [_arm(cell, trained.get(key), metric, confidence, rungs[cell.start].total) for key, cell in planned.items()]
    tried = [arm for arm in arms if arm.dev]
    chosen = max(tried, key=lambda arm: sum(arm.dev.values()) / len(arm.dev)).name if tried else None
    key = next((key for key, cell in planned.items() if cell.arm == chosen), None)
    predicted = predictions / f"{key}.parquet"
    train = labelled.subset(labelled.split(data, "train"), labels)
    dev, test = labelled.split(data, "dev"), labelled.split(data, "test")
    fitting = fitted_on(described, train)
    scored = baseline_scores(described, fitting, fitted_on(described, dev), test, baseline_seed)
    return Task(
        name=name,
        task_type=described.task_type,
        target=described.target,
        metric=metric,
        labels=labels,
        rows=described.rows,
        arms=arms,
        baselines={baseline: values[metric] for baseline, values in scored.items()},
        baseline_rows=len(fitting),
        steps=_steps(arms, pairs(ladder, name), confidence, limits(metric)),
        chosen=chosen,
        inspection=inspect_cell(predicted, described.target) if key is not None and predicted.is_file() else None,
        tempered=_tempered(trained[key].seeds) if key is not None else None,
        advice=_advice(ladder, name),
    )


def _advice(ladder: LadderConfig, task: str) -> list[Advice]:
    """One piece of advice for the whole task where no arm is in a step, else one for each arm that is in none."""
    arms = uncompared(ladder, task)
    groups = [arms] if len(arms) == len(ladder.arms_of(task)) else [[arm] for arm in arms]
    return [advice(ladder, task, group) for group in groups]


def _tempered(seeds: Sequence[SeedMetrics]) -> Tempered | None:
    errors = [seed.ece_tempered for seed in seeds if seed.ece_tempered is not None]
    if len(errors) < len(seeds):  # only classified rows have one
        return None
    temperatures = {seed.seed: float(seed.tuned["temperature"]) for seed in seeds}
    return Tempered(temperatures, sum(errors) / len(errors))


def _arm(cell: Cell, trained: CellMetrics | None, metric: str, confidence: float, cost: Cost | None) -> Arm:
    seeds = sorted(trained.seeds, key=lambda seed: seed.seed) if trained is not None else []
    scores = _scores(seeds, metric)
    return Arm(
        name=cell.arm,
        rung=cell.start,
        scores=scores,
        dev={seed.seed: seed.dev[metric] for seed in seeds},
        interval=mean_interval(list(scores.values()), confidence, limits(metric)) if scores else None,
        degenerate=[seed.seed for seed in seeds if seed.degenerate],
        cost=cost,
        learning_curve=_learning_curve(trained, metric, confidence) if trained is not None else [],
        search=_search(trained.search) if trained is not None and trained.search is not None else None,
    )


def _search(search: SearchMetrics) -> Search:
    trial = search.trials[search.chosen - 1]
    chosen = SearchPoint(trial.learning_rate, trial.global_batch_size, trial.epochs)
    return Search(len(search.trials), chosen, Cost(search.tokens, search.tflop))


def _scores(seeds: Iterable[SeedMetrics | FewerLabelsSeed], metric: str) -> dict[int, float]:
    return {seed.seed: seed.test[metric] for seed in seeds}


def _learning_curve(trained: CellMetrics, metric: str, confidence: float) -> list[LearningPoint]:
    if trained.learning_curve is None:
        return []
    by_labels = {point.labels: _scores(point.seeds, metric) for point in trained.learning_curve}
    by_labels[trained.labels] = _scores(trained.seeds, metric)
    return [
        LearningPoint(labels, scores, mean_interval(list(scores.values()), confidence, limits(metric)))
        for labels, scores in by_labels.items()
    ]


def _steps(arms: Sequence[Arm], compared: Sequence[Pair], confidence: float, within: Range) -> list[Step]:
    """The answer to each question. The adjustment is over those that could be tested."""
    scores = {arm.name: arm.scores for arm in arms}
    answers = [paired_difference(scores[pair.arm], scores[pair.other], confidence, within) for pair in compared]
    tested = [index for index, answer in enumerate(answers) if answer is not None and answer.p is not None]
    p_values = [answer.p for answer in answers if answer is not None and answer.p is not None]
    adjusted = dict(zip(tested, adjusted_p(p_values), strict=True))
    steps = []
    for index, (pair, answer) in enumerate(zip(compared, answers, strict=True)):
        p_holm = adjusted.get(index)
        decided = verdict(answer, p_holm, confidence)
        steps.append(Step(pair.step, pair.question, pair.arm, pair.other, answer, p_holm, decided))
    return steps


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
