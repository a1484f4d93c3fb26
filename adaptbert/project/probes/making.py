"""`adaptbert probe`: measures the layers of every trained rung of a start, and writes reports/probes-<start>.csv."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from adaptbert.base.expansion import TASK_TRANSFER
from adaptbert.base.files import atomic_write
from adaptbert.codes import Code
from adaptbert.errors import BadData
from adaptbert.finetuning.metrics.targets import COMPARED_BY
from adaptbert.finetuning.tasks.examples import whole
from adaptbert.finetuning.tasks.shapes import shape_of
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.project.one_start import VALIDATED, OneStart
from adaptbert.project.probes import lexicon, measures
from adaptbert.project.probes.layer_vectors import LayerVectors, layer_vectors
from adaptbert.rows import labelled_set
from adaptbert.rows.task_description import TaskDescription

FOLDER, MODELS = Path("reports"), Path("models")
MOST_ROWS = 1_000
"""Dev rows on which two rungs are compared: CKA takes memory by their square."""
MEAN, FIRST, STATIC, CKA = "mean", "[CLS]", "static", "cka"


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
    """

    start: str
    rungs: list[str]
    below: dict[str, str]
    untrained: list[str]
    metrics: dict[str, str] = field(default_factory=dict)
    figures: list[Measured] = field(default_factory=list)
    pairs: int = 0


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
        BadData: nothing is trained, no task has classes and there is no lexicon, or the lexicon is of another kind.
    """
    pairs = lexicon.read(words) if words is not None else []
    tasks = {task: rows for task in read.tasks() if (rows := _rows(read, task)) is not None}
    found = _planned(read)
    if not found.rungs or not (tasks or pairs):
        problem = "no rung of it is trained yet" if not found.rungs else "no task with one class a row, and no lexicon"
        remedy = "run `dvc repro` first" if not found.rungs else "give one: --lexicon FILE"
        raise BadData(Code.NOTHING_TO_PROBE, f"start {read.start}", problem, remedy)
    found.metrics |= {task: COMPARED_BY[rows.described.target] for task, rows in tasks.items()}
    found.pairs = len(pairs)
    kept: dict[tuple[str, str], LayerVectors] = {}
    for number, rung in enumerate(found.rungs, 1):
        print(f"{rung} ({number} of {len(found.rungs)})", flush=True)
        checkpoint = Checkpoint.load(MODELS / rung)
        model = _encoder(checkpoint, read.seed)
        for task, rows in tasks.items():
            if not rung.startswith(f"{TASK_TRANSFER}/{task}-") and rung.startswith(f"{TASK_TRANSFER}/"):
                continue
            dev, figures = _of_task(checkpoint, model, rows)
            found.figures += [Measured(task, rung, *figure) for figure in figures]
            kept[task, rung] = dev
            below = kept.get((task, found.below.get(rung, "")))
            if below is not None:
                found.figures += [
                    Measured(task, rung, CKA, layer, measures.likeness(one[:MOST_ROWS], two[:MOST_ROWS]))
                    for layer, (one, two) in enumerate(zip(below.mean, dev.mean, strict=True))
                ]
        found.figures += [Measured("", rung, *figure) for figure in _of_lexicon(checkpoint, model, pairs)]
    _write(FOLDER / f"probes-{read.start}.csv", found.figures)
    return found


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


def _rows(read: OneStart, task: str) -> _Rows | None:
    """None for a task whose rows have not one class each."""
    folder = VALIDATED / "tasks" / task
    if not folder.is_dir():
        return None
    described = TaskDescription.read(folder)
    if described.target != "class":
        return None
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
    checkpoint: Checkpoint, model: Any, pairs: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, int, float]]:
    """Each word is encoded alone, as [CLS] word [SEP]."""
    if not pairs:
        return
    tokenizer = checkpoint.tokenizer
    sides = []
    for side in zip(*pairs, strict=True):
        ids = [[tokenizer.cls, *encoding.ids, tokenizer.sep] for encoding in tokenizer.encode(list(side))]
        sides.append(layer_vectors(model, tokenizer, whole(ids, list(np.arange(len(ids))), 0)))
    of_layers = lexicon.alignments(*sides)
    for place, each in enumerate(of_layers):
        layer = place if place < len(of_layers) - 1 else -1
        yield "mrr", layer, each.plain
        yield "mrr_centred", layer, each.centred
        yield "mrr_shifted", layer, each.shifted


def _write(path: Path, figures: Sequence[Measured]) -> None:
    with atomic_write(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["task", "rung", "kind", "layer", "value"])
        lines.writerows([each.task, each.rung, each.kind, each.layer, round(each.value, 6)] for each in figures)
