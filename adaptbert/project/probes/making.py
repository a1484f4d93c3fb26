"""`adaptbert probe`: measures the layers of every trained rung of a start.

Figures of tasks are written to reports/probes-<start>.csv, those of a lexicon to reports/lexicon-<start>.csv.
"""

import csv
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adaptbert.base.expansion import TASK_TRANSFER
from adaptbert.base.files import atomic_write, make_folder
from adaptbert.codes import Code
from adaptbert.errors import BadData
from adaptbert.finetuning.metrics.targets import COMPARED_BY
from adaptbert.finetuning.tasks.shapes import shape_of
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.project.one_start import VALIDATED, OneStart
from adaptbert.project.probes import lexicon, measures
from adaptbert.project.probes.layer_vectors import LayerVectors, layer_vectors
from adaptbert.rows import labelled_set
from adaptbert.rows.task_description import TaskDescription

FOLDER, MODELS = Path("reports"), Path("models")
FEWEST_ROWS, MOST_ROWS = 20, 1_000
"""Dev rows on which two rungs are compared: with fewer CKA is chance, and it takes memory by their square."""
MEAN, FIRST, STATIC, CKA = "mean", "[CLS]", "static", "cka"
TASKS, LEXICON = "probes", "lexicon"
"""What a file of figures is of; its name begins with it."""


@dataclass(frozen=True)
class Measured:
    """One figure of one layer.

    Attributes:
        task: empty for a lexicon.
        kind: `mean`, `[CLS]` or `static`, a score of the probe; `cka` with the rung below; `mrr`, `mrr_centred` or
            `mrr_shifted` of the lexicon.
        layer: 0 for the embeddings; of `static` vectors -1.
    """

    task: str
    rung: str
    kind: str
    layer: int
    value: float


@dataclass
class Probes:
    """All figures of a start.

    Attributes:
        rungs: folders below models/, the lower ones first; of rungs with draws the first.
        below: rung -> the measured rung that it starts from.
        untrained: planned rungs without a checkpoint.
        metrics: task -> the metric of its probes.
        pairs: of words in the lexicon.
        left_out: task -> why it has no probe.
    """

    start: str
    rungs: list[str]
    below: dict[str, str]
    untrained: list[str]
    metrics: dict[str, str] = field(default_factory=dict)
    figures: list[Measured] = field(default_factory=list)
    pairs: int = 0
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, Path]:
        """Where the figures of tasks and of a lexicon are written, each where there are such."""
        kinds = [TASKS] * bool(self.metrics) + [LEXICON] * bool(self.pairs)
        return {kind: FOLDER / f"{kind}-{self.start}.csv" for kind in kinds}


@dataclass(frozen=True)
class _Rows:
    """A task's rows: those that the first seed trains on, and the dev split."""

    described: TaskDescription
    values: Any
    train: list[dict[str, Any]]
    dev: list[dict[str, Any]]


def probe(read: OneStart, words: Path | None) -> Probes:
    """Measure all rungs, and write the figures.

    Train and dev rows are read, the test split is not.

    Args:
        words: file of a lexicon.

    Raises:
        BadData: nothing is trained, no task can be probed and there is no lexicon, the lexicon is of another kind, or
            there is no place for the file.
    """
    pairs = lexicon.read(words) if words is not None else []
    probes = _planned(read)
    if not probes.rungs:
        raise BadData(Code.NOTHING_TO_PROBE, f"start {read.start}", "no rung of it is trained yet", "run `dvc repro`")
    tasks = _tasks(read, probes)
    if not (tasks or pairs):
        problem = "no task with one class a row that can be probed, and no lexicon"
        raise BadData(Code.NOTHING_TO_PROBE, f"start {read.start}", problem, "give one: --lexicon FILE")
    probes.pairs = len(pairs)
    make_folder(FOLDER)
    with ExitStack() as stack:  # before the work: a place that cannot be written is known at once
        parts = {kind: stack.enter_context(atomic_write(file)) for kind, file in probes.files.items()}
        for part in parts.values():
            part.touch()
        below: dict[tuple[str, str], LayerVectors] = {}
        for number, rung in enumerate(probes.rungs, 1):
            print(f"{rung} ({number} of {len(probes.rungs)})", flush=True)
            checkpoint = Checkpoint.load(MODELS / rung)
            model = _encoder(checkpoint, read.seed)
            for task, rows in tasks.items():
                if rung.startswith(f"{TASK_TRANSFER}/{task}-") or not rung.startswith(f"{TASK_TRANSFER}/"):
                    below[task, rung], figures = _of_task(checkpoint, model, rows)
                    figures += _likeness(below.get((task, probes.below.get(rung, ""))), below[task, rung])
                    probes.figures += [Measured(task, rung, *figure) for figure in figures]
            if words is not None:
                figures = list(_of_lexicon(checkpoint, model, pairs, words))
                probes.figures += [Measured("", rung, *figure) for figure in figures]
        for kind, part in parts.items():
            _write(part, [each for each in probes.figures if bool(each.task) == (kind == TASKS)])
    return probes


def _tasks(read: OneStart, probes: Probes) -> dict[str, _Rows]:
    """The tasks that can be probed, with their metrics in `probes`; and why others cannot."""
    tasks = {}
    for task in read.tasks():
        folder = VALIDATED / "tasks" / task
        if not (folder / "train.parquet").is_file():
            problem = "the validated rows are not there"
            raise BadData(Code.NOTHING_TO_PROBE, folder, problem, "run `dvc repro validate`, or `dvc checkout`")
        described = TaskDescription.read(folder)
        if described.target != "class":
            continue
        rows = _rows(read, task, described)
        if len({row["label"] for row in rows.train}) < 2:
            probes.left_out[task] = "the labels of the first seed are all of one class"
            continue
        tasks[task] = rows
        probes.metrics[task] = COMPARED_BY[described.target]
    return tasks


def _likeness(below: LayerVectors | None, own: LayerVectors) -> list[tuple[str, int, float]]:
    if below is None or own.mean.shape[1] < FEWEST_ROWS:
        return []
    pairs = zip(below.mean[:, :MOST_ROWS], own.mean[:, :MOST_ROWS], strict=True)
    return [(CKA, layer, measures.likeness(*pair)) for layer, pair in enumerate(pairs)]


def _planned(read: OneStart) -> Probes:
    """The rungs that are there, of the first draw each, and what each of them starts from."""
    below = read.ladder.starts_of_rungs()
    trained = {**read.ladder.domain_transfer, **read.ladder.task_transfer}
    first = min((rung.draw for rung in trained.values()), default=0)
    of_start = [
        rung
        for rung in below
        if rung.endswith(f"/{read.start}") or _draw(trained, rung.partition("/")[2], read.start) == first
    ]
    there = [rung for rung in of_start if (MODELS / rung / "config.json").is_file()]
    return Probes(
        start=read.start,
        rungs=there,
        below={rung: name for rung in there if (name := below[rung]) is not None and name in there},
        untrained=[rung for rung in of_start if rung not in there],
    )


def _draw(trained: Any, key: str, start: str) -> int | None:
    rung = trained.get(key)
    return rung.draw if rung is not None and rung.start == start else None


def _encoder(checkpoint: Checkpoint, seed: int) -> Any:
    import torch
    from transformers import BertModel

    model = checkpoint.model(BertModel, seed)
    return model.to("cuda" if torch.cuda.is_available() else "cpu")


def _rows(read: OneStart, task: str, described: TaskDescription) -> _Rows:
    folder = VALIDATED / "tasks" / task
    cell = next(cell for cell in read.cells().values() if cell.task == task)
    values = read.values("finetune", **cell.names())
    pool = labelled_set.split(folder, "train")
    train = labelled_set.subset(pool, labelled_set.used(pool, values.labels), values.seeds[0])
    return _Rows(described, values, train, labelled_set.split(folder, "dev"))


def _of_task(checkpoint: Checkpoint, model: Any, rows: _Rows) -> tuple[LayerVectors, list[tuple[str, int, float]]]:
    shape = shape_of(rows.described, rows.values.options())
    train, dev = (
        layer_vectors(model, checkpoint.tokenizer, shape.examples(some, checkpoint.tokenizer, rows.values.max_length))
        for some in (rows.train, rows.dev)
    )
    gold, answers = ([row["label"] for row in some] for some in (rows.train, rows.dev))
    metric = COMPARED_BY[rows.described.target]

    def score(some: Any, others: Any) -> float:
        return measures.probe(some, gold, others, answers, metric)

    figures = [(STATIC, -1, score(train.static, dev.static))]
    for layer in range(train.layers + 1):
        figures.append((MEAN, layer, score(train.mean[layer], dev.mean[layer])))
        if layer:  # below the first layer [CLS] is the same for all texts
            figures.append((FIRST, layer, score(train.first[layer], dev.first[layer])))
    return dev, figures


def _of_lexicon(
    checkpoint: Checkpoint, model: Any, pairs: Sequence[tuple[str, str]], place: Path
) -> Iterator[tuple[str, int, float]]:
    most = model.config.max_position_embeddings
    sides = [
        layer_vectors(model, checkpoint.tokenizer, lexicon.encoded(side, checkpoint.tokenizer, most, place))
        for side in zip(*pairs, strict=True)
    ]
    of_layers = lexicon.alignments(*sides)
    for position, each in enumerate(of_layers):
        layer = position if position < len(of_layers) - 1 else -1
        yield "mrr", layer, each.plain
        yield "mrr_centred", layer, each.centred
        yield "mrr_shifted", layer, each.shifted


def _write(path: Path, figures: Sequence[Measured]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["task", "rung", "kind", "layer", "value"])
        lines.writerows([each.task, each.rung, each.kind, each.layer, round(each.value, 6)] for each in figures)
