"""A first look at several bases before any training: what each makes of the user's texts, and how far its vectors go.

A linear probe on frozen vectors (Alain and Bengio 2017) is no forecast of fine-tuning: it orders bases that differ
much, in minutes on a processor. Rows are those that the stages would keep, the first of each split.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptbert.comparison.baselines import probe
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.data import labelled_set
from adaptbert.data.collect import collect_task
from adaptbert.data.task_description import TaskDescription
from adaptbert.data.validate_set import validate_labelled_set
from adaptbert.errors import raise_all
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.device import evaluating
from adaptbert.model.encoder import WORDS, Tokens, encode, way_of
from adaptbert.model.flops import training_flop
from adaptbert.project.preflight import SPLITS
from adaptbert.tasks.batches import batch_of
from adaptbert.tasks.heads import head_of
from adaptbert.tasks.module import passes
from adaptbert.text.words import Segmenter

ROWS = {"train": 1_000, "dev": 500}
"""Most rows of a split that are looked at."""
TAGGED_WORDS = 5_000
"""Most tagged words that a probe is fitted on."""
MILLION, TINY = 1_000_000, 1e-6
TRAINED_BYTES = 16
"""Bytes that training keeps of a weight in float32: itself, its gradient and two moments."""


class Task(NamedTuple):
    """A labelled set, as its stage would validate it, and how it would be fine-tuned."""

    name: str
    described: TaskDescription
    values: Finetune
    rows: Mapping[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Look:
    """What was seen of one base.

    Attributes:
        figures: heading -> figure.
        scores: task -> score of the probe on dev; None where the answers are parts of a text.
    """

    name: str
    figures: dict[str, str]
    scores: dict[str, float | None]


def tasks_of(recipe: Recipe) -> Iterator[Task]:
    """The tasks of a recipe, whose rows are read from the user's files.

    Raises:
        BadData: rows that `adaptbert check` refuses.
    """
    values = {cell["task"]: recipe.values("finetune", cell) for cell in recipe.cells()}
    for name, task in recipe.tasks.items():
        with TemporaryDirectory() as folder:
            raw, kept = Path(folder, name), Path(folder, "kept")
            raw.mkdir()
            collect_task(task, {split: Path(getattr(task, split)) for split in SPLITS}, raw)
            validated = validate_labelled_set(raw, kept, Path(folder, "rejected.parquet"), recipe.limits)
            raise_all([error.at(recipe.at(task.key)) for error in validated.errors])
            rows = {
                split: labelled_set.subset(labelled_set.split(kept, split), most, 0) for split, most in ROWS.items()
            }
            yield Task(name, TaskDescription.read(kept), values[name], rows)


def look_at(name: str, base: Base, tasks: Sequence[Task]) -> Look:
    """One base and the texts of all tasks.

    Raises:
        BadData: it is no checkpoint, or damaged.
    """
    checkpoint = Checkpoint.of(base)
    encoder, config, tokenizer = checkpoint.encoder(), checkpoint.config(), checkpoint.tokenizer
    texts = [row[column] for task in tasks for row in task.rows["train"] for column in task.described.spec.rows.inputs]
    texts = [" ".join(text) if isinstance(text, list) else text for text in texts]
    encodings = tokenizer.encode(texts)
    lengths = np.array([len(encoding.ids) for encoding in encodings])
    unknown = sum(encoding.ids.count(tokenizer.unknown) for encoding in encodings)  # None: no token is
    starts, _ = Segmenter().word_starts(texts, encodings, tokenizer.splits_words)
    tokens, began = max(1, int(lengths.sum())), time.perf_counter()
    probes = {task.name: _probe(task, checkpoint, encoder) for task in tasks}
    read = sum(count for _, count in probes.values())
    parameters = encoder.num_parameters()
    figures = {
        "kind": config.model_type,
        "documents are": WORDS[way_of(encoder)],
        "parameters": f"{parameters / MILLION:,.0f} M",
        "positions": f"{checkpoint.longest:,}",
        "vocabulary": f"{tokenizer.size:,}",
        "tokens a character": f"{tokens / max(1, sum(map(len, texts))):.2f}",
        "unknown": f"{unknown / tokens:.2%}",
        "tokens a word": f"{tokens / max(1, int(starts.sum())):.2f}",
        "texts cut off": f"{np.mean(lengths > checkpoint.longest - tokenizer.extra(1)):.1%}",
        "TFLOP a million tokens": f"{training_flop(config, MILLION, 128, 0, 150_000) / 1e12:,.0f}",
        "GB to train": f"{TRAINED_BYTES * parameters / 1e9:.1f}",
        "tokens read a second": f"{read / (time.perf_counter() - began):,.0f}",
    }
    return Look(name, figures, {task: score for task, (score, _) in probes.items()})


def _probe(task: Task, checkpoint: Checkpoint, encoder: Any) -> tuple[float | None, int]:
    """Score on dev, and the tokens that were read."""
    if task.described.target == "answer":
        return None, 0
    values = task.values.model_copy(update={"max_length": min(task.values.max_length, checkpoint.longest)})
    vectors = Vectors(task, values, checkpoint, encoder)
    train = task.rows["train"]
    if task.described.task_type == "sequence_labelling":
        train = train[: max(1, int(np.searchsorted(np.cumsum([len(row["tokens"]) for row in train]), TAGGED_WORDS)))]
    return probe(task.described, vectors, train, task.rows["dev"]), vectors.tokens


class Vectors:
    """Vectors of an encoder as the features of a linear model: of a row the mean over its tokens, of a word its first.

    Attributes:
        tokens: that were read.
    """

    def __init__(self, task: Task, values: Finetune, checkpoint: Checkpoint, encoder: Any) -> None:
        self._task, self._values, self._checkpoint, self._encoder = task, values, checkpoint, encoder
        self._head = head_of(task.described, task.described.spec.options(values))
        self._usual: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self.tokens = 0

    def features(self, rows: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
        """A line for each row, or for each of its words; 0 for a word without a token. Values have the mean 0 and the
        variance 1 over the training rows, which come first."""
        examples = self._head.examples(rows, self._checkpoint.tokenizer, self._values.max_length)
        self.tokens += len(examples.ids)
        block, states = max(self._values.block_size, int(examples.lengths.max())), []
        with evaluating(self._encoder, self._values.precision):
            for chosen in passes(examples):
                batch = batch_of(examples.take(chosen), block).to(self._encoder.device)
                hidden = encode(self._encoder, batch.rows, Tokens(batch.ids, batch.segments))
                states.append(hidden.double().cpu().numpy())
        vectors = np.concatenate(states)
        if self._usual is None:  # these are the training rows
            self._usual = vectors.mean(0), vectors.std(0) + TINY
        vectors = (vectors - self._usual[0]) / self._usual[1]
        if self._task.described.task_type != "sequence_labelling":
            owners = np.repeat(examples.rows, examples.lengths)
            sums = np.zeros((len(rows), vectors.shape[1]))
            np.add.at(sums, owners, vectors)
            return sums / np.bincount(owners, minlength=len(rows))[:, None]
        counts = np.array([len(row["tokens"]) for row in rows])
        places = (np.cumsum(counts) - counts)[examples.rows[examples.owners()]] + examples.spans[:, 0]
        of_words = np.zeros((int(counts.sum()), vectors.shape[1]))
        of_words[places] = vectors[examples.flat_places()]
        return of_words
