"""All cells and rungs -> one plain structure: what each step brought, what it cost, and what cannot be said.

Reads metrics, predictions, labelled sets and manifests; the table, the report, the plots and metrics.json are views of
the `Comparison`. Every planned cell is in it, a missing one too, and no seed is dropped.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from adaptbert.controls import controls
from adaptbert.inspection import Inspection, inspect_cell
from adaptbert.ladder import PRETRAIN, SCRATCH, LadderConfig
from adaptbert.metric_contract import COMPARED_BY
from adaptbert.outputs import read_json
from adaptbert.statistics import Difference, Interval, holm, mean_interval, paired_difference
from adaptbert.suite import SuiteAverage, suite_averages
from adaptbert.tasks import labelled

QUESTIONS = {
    "pretrain": ("general", "scratch"),
    "more_training": ("general_long", "general"),
    "domain_transfer": ("domain", "general"),
    "domain_text": ("domain", "general_long"),
    "task_transfer": ("task", "general"),
    "task_transfer_after_domain": ("domain_task", "domain"),
    "climb": ("domain", "scratch"),
}
"""Step -> the arm with it and the arm without it. `domain_transfer` = `more_training` + `domain_text`."""

Verdict = Literal["gain", "loss", "likely_gain", "likely_loss", "not_shown", "untested"]


@dataclass(frozen=True)
class Cost:
    """What was spent on weights before fine-tuning, summed over a rung and all the rungs below it."""

    tokens: int
    tflop: float


@dataclass(frozen=True)
class Masks:
    """What was asked of the masks of a rung, and what they really were.

    Attributes:
        audit: `adaptbert.masking_audit.audit_metrics`.
    """

    unit: str
    probability: float
    audit: dict[str, float]


@dataclass(frozen=True)
class Rung:
    """One checkpoint of the ladder; all figures are None or empty where its metrics are missing.

    Attributes:
        start: the rung whose weights it began with; None for `scratch`.
        tokens, tflop: of this rung alone.
        total: with the rungs below; None where one of them is missing.
        before, after: held-out set -> bits per character.
        curve: (tokens trained in this rung, held-out set -> bits per character), the beginning and the end included.
        masks: None where nothing was trained.
        random_head: whether the head that these figures were measured with was never trained.
    """

    name: str
    start: str | None
    missing: bool
    tokens: int
    tflop: float
    total: Cost | None
    before: dict[str, float]
    after: dict[str, float]
    curve: list[tuple[int, dict[str, float]]]
    masks: Masks | None = None
    random_head: bool = False


@dataclass(frozen=True)
class LearningPoint:
    """An arm trained on so many labels; seed -> score on test."""

    labels: int
    scores: dict[int, float]
    interval: Interval


@dataclass(frozen=True)
class Arm:
    """One cell: an arm of a task.

    Attributes:
        scores, dev: seed -> score. Empty for a planned cell that has no metrics.
        degenerate: seeds that predict one class only; they are counted in the mean like all others.
        learning_curve: by number of labels, all of them last; empty where no numbers were asked for.
    """

    name: str
    rung: str
    scores: dict[int, float]
    dev: dict[int, float]
    interval: Interval | None
    degenerate: list[int]
    cost: Cost | None
    learning_curve: list[LearningPoint] = field(default_factory=list)

    @property
    def missing(self) -> bool:
        return not self.scores


@dataclass(frozen=True)
class Step:
    """One question of `QUESTIONS`, answered for one task.

    Attributes:
        p_holm: p-value adjusted for all the questions that were asked of this task.
        verdict: `gain` and `loss` are shown (p_holm is small enough); `likely_` ones have an interval that excludes 0
            but do not survive the adjustment; `untested` has no interval.
    """

    name: str
    arm: str
    other: str
    difference: Difference | None
    p_holm: float | None
    verdict: Verdict


@dataclass(frozen=True)
class Task:
    """One task with all its arms.

    Attributes:
        labels: training rows used, by the arms and by the controls alike.
        controls: name -> score.
        chosen: the arm with the best mean score on the dev split; the test split has no say in it.
        inspection: of the chosen arm; None without its predictions.
    """

    name: str
    shape: str
    target: str
    metric: str
    labels: int
    rows: dict[str, int]
    arms: list[Arm]
    controls: dict[str, float]
    steps: list[Step]
    chosen: str | None
    inspection: Inspection | None

    def arm(self, name: str) -> Arm | None:
        return next((arm for arm in self.arms if arm.name == name), None)

    def step(self, name: str) -> Step | None:
        return next((step for step in self.steps if step.name == name), None)


@dataclass(frozen=True)
class Source:
    """A corpus or a labelled set, as it came in and as the gate let it pass.

    Attributes:
        rejected: reason -> rows.
    """

    name: str
    kind: Literal["corpus", "task"]
    origin: str
    demonstration: bool
    rows: int
    kept: int
    rejected: dict[str, int]


@dataclass(frozen=True)
class Comparison:
    """Everything that a view needs.

    Attributes:
        heldout: the held-out sets, general text first.
        began_from: `scratch`, or the checkpoint that general pre-training went on from; None where that is unknown.
        suite: the mean over tasks of every arm that all tasks have; empty below two tasks.
    """

    confidence: float
    tasks: list[Task]
    rungs: list[Rung]
    heldout: list[str]
    sources: list[Source]
    began_from: str | None
    suite: list[SuiteAverage]

    @property
    def demonstration(self) -> bool:
        return any(source.demonstration for source in self.sources)

    def rung(self, name: str) -> Rung:
        return next(rung for rung in self.rungs if rung.name == name)


def compare_all(
    ladder: LadderConfig,
    *,
    confidence: float,
    baseline_seed: int,
    data: Path,
    manifests: Path,
    cells: Path,
    predictions: Path,
) -> Comparison:
    """Read everything that the ladder plans and answer the questions.

    Args:
        data: data/validated/tasks.
        manifests: data/raw.
        cells: the folder of the metrics files.
    """
    starts, rungs = _starts(ladder), dict[str, Rung]()
    for name in starts:
        _add_rung(name, starts, cells, rungs)
    tasks = [
        _task(task, ladder, confidence, baseline_seed, data / task, cells / "finetune", predictions, rungs)
        for task in ladder.tasks()
    ]
    sources = _sources(manifests, read_json(cells / "validate.json"))
    measured = {name for rung in rungs.values() for name in rung.after}
    corpora = [source.name for source in sources if source.kind == "corpus"]
    heldout = sorted(measured, key=lambda name: (name != "general", name not in corpora, name))
    began_from = read_json(cells / f"{PRETRAIN}.json")["from"] if not rungs[PRETRAIN].missing else None
    scores = {task.name: {arm.name: arm.scores for arm in task.arms} for task in tasks}
    suite = suite_averages(scores, confidence)
    return Comparison(confidence, tasks, list(rungs.values()), heldout, sources, began_from, suite)


def _starts(ladder: LadderConfig) -> dict[str, str | None]:
    """Rung -> the rung that it starts from."""
    starts: dict[str, str | None] = {SCRATCH: None, PRETRAIN: SCRATCH}
    starts |= {f"domain_transfer/{corpus}": PRETRAIN for corpus in ladder.domain_transfer}
    return starts | {f"task_transfer/{key}": rung.start for key, rung in ladder.task_transfer.items()}


def _add_rung(name: str, starts: dict[str, str | None], cells: Path, rungs: dict[str, Rung]) -> None:
    """Put a rung into `rungs`, the one that it starts from before it."""
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
    found = read_json(path)
    before, after = _bits(found["before"]), _bits(found["after"])
    if name == SCRATCH:
        # Random weights were measured before the first step of general pre-training, unless that began from others.
        bits = before if found["from"] == SCRATCH else {}
        return Rung(name, None, False, 0, 0.0, Cost(0, 0.0), bits, bits, [(0, bits)])
    tokens, tflop, steps = int(found["tokens"]), float(found["tflop"]), max(1, int(found["steps"]))
    below = start.total if start is not None else None
    total = Cost(below.tokens + tokens, below.tflop + tflop) if below is not None else None
    suffix = "/bits_per_char"
    curve = [(0, before)]
    for point in found["curve"]:
        bits = {key.removesuffix(suffix): value for key, value in point.items() if key.endswith(suffix)}
        curve.append((round(tokens * point["step"] / steps), bits))
    if curve[-1][0] < tokens:
        curve.append((tokens, after))
    random = bool(found.get("random_head", False))  # written where one was found
    masks = _masks(found["masking"])
    return Rung(name, start_name, False, tokens, tflop, total, before, after, curve, masks, random)


def _masks(found: dict[str, Any]) -> Masks | None:
    audit = {name: value for name, value in found.items() if name not in ("unit", "probability")}
    return Masks(found["unit"], found["probability"], audit) if audit else None


def _bits(measured: dict[str, dict[str, float]]) -> dict[str, float]:
    return {name: values["bits_per_char"] for name, values in measured.items()}


def _task(
    name: str,
    ladder: LadderConfig,
    confidence: float,
    baseline_seed: int,
    data: Path,
    cells: Path,
    predictions: Path,
    rungs: dict[str, Rung],
) -> Task:
    described = labelled.description(data)
    planned = {key: cell for key, cell in ladder.finetune.items() if cell.task == name}
    found = {key: read_json(cells / f"{key}.json") for key in planned if (cells / f"{key}.json").is_file()}
    target: str = described["target"]
    metric = next((values["metric"] for values in found.values()), COMPARED_BY[target])
    labels = next((values["labels"] for values in found.values()), 0) or described["rows"]["train"]
    arms = [
        _arm(cell.arm, cell.start, found.get(key), metric, confidence, rungs[cell.start].total)
        for key, cell in planned.items()
    ]
    tried = [arm for arm in arms if arm.dev]
    chosen = max(tried, key=lambda arm: sum(arm.dev.values()) / len(arm.dev)).name if tried else None
    key = next((key for key, cell in planned.items() if cell.arm == chosen), None)
    predicted = predictions / f"{key}.parquet"
    train = labelled.subset(labelled.split(data, "train"), labels)
    dev, test = labelled.split(data, "dev"), labelled.split(data, "test")
    scored = controls(described, train, dev, test, baseline_seed)
    return Task(
        name=name,
        shape=described["shape"],
        target=target,
        metric=metric,
        labels=labels,
        rows=described["rows"],
        arms=arms,
        controls={control: values[metric] for control, values in scored.items()},
        steps=_steps(arms, confidence),
        chosen=chosen,
        inspection=inspect_cell(predicted, target) if key is not None and predicted.is_file() else None,
    )


def _arm(name: str, rung: str, found: dict[str, Any] | None, metric: str, confidence: float, cost: Cost | None) -> Arm:
    seeds = sorted(found["seeds"], key=lambda seed: int(seed["seed"])) if found is not None else []
    scores = _scores(seeds, metric)
    return Arm(
        name=name,
        rung=rung,
        scores=scores,
        dev={int(seed["seed"]): float(seed[f"dev/{metric}"]) for seed in seeds},
        interval=mean_interval(list(scores.values()), confidence) if scores else None,
        degenerate=[int(seed["seed"]) for seed in seeds if seed["degenerate"]],
        cost=cost,
        learning_curve=_learning_curve(found, metric, confidence) if found is not None else [],
    )


def _scores(seeds: Sequence[dict[str, Any]], metric: str) -> dict[int, float]:
    return {int(seed["seed"]): float(seed[f"test/{metric}"]) for seed in seeds}


def _learning_curve(found: dict[str, Any], metric: str, confidence: float) -> list[LearningPoint]:
    points = found.get("learning_curve", [])  # written where it was asked for
    whole = [{"labels": found["labels"], "seeds": found["seeds"]}] if points else []
    by_labels = {int(point["labels"]): _scores(point["seeds"], metric) for point in [*points, *whole]}
    return [
        LearningPoint(labels, scores, mean_interval(list(scores.values()), confidence))
        for labels, scores in by_labels.items()
    ]


def _steps(arms: Sequence[Arm], confidence: float) -> list[Step]:
    """The questions whose two arms are both planned; Holm's adjustment is over those that could be tested."""
    by_name = {arm.name: arm for arm in arms}
    asked = [(name, *pair) for name, pair in QUESTIONS.items() if by_name.keys() >= set(pair)]
    answers = [paired_difference(by_name[arm].scores, by_name[other].scores, confidence) for _, arm, other in asked]
    tested = [index for index, answer in enumerate(answers) if answer is not None and answer.p is not None]
    p_values = [answer.p for answer in answers if answer is not None and answer.p is not None]
    adjusted = dict(zip(tested, holm(p_values), strict=True))
    return [
        Step(name, arm, other, answer, adjusted.get(index), _verdict(answer, adjusted.get(index), confidence))
        for index, ((name, arm, other), answer) in enumerate(zip(asked, answers, strict=True))
    ]


def _verdict(answer: Difference | None, p_holm: float | None, confidence: float) -> Verdict:
    if answer is None or answer.p is None or p_holm is None:
        return "untested"
    up = answer.interval.mean > 0
    if p_holm < 1 - confidence:
        return "gain" if up else "loss"
    if answer.p < 1 - confidence:
        return "likely_gain" if up else "likely_loss"
    return "not_shown"


def _sources(manifests: Path, gate: dict[str, Any]) -> list[Source]:
    """What went through the gate; a folder left over from other parameters did not."""
    corpora = [_source("corpus", name, manifests / "corpora", [gate["corpora"][name]]) for name in gate["corpora"]]
    tasks = [_source("task", name, manifests / "tasks", list(gate["tasks"][name].values())) for name in gate["tasks"]]
    return [*corpora, *tasks]


def _source(kind: Literal["corpus", "task"], name: str, folder: Path, accounts: Sequence[dict[str, Any]]) -> Source:
    manifest = read_json(folder / name / "manifest.json")
    rejected: Counter[str] = Counter()
    for account in accounts:
        rejected.update(account["rejected"])
    return Source(
        name=name,
        kind=kind,
        origin=manifest["source"],
        demonstration=bool(manifest["demonstration"]),
        rows=sum(account["rows_in"] for account in accounts),
        kept=sum(account["kept"] for account in accounts),
        rejected=dict(sorted(rejected.items())),
    )
