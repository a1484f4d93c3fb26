"""A first look at several bases before any training: what each makes of the user's texts, and how far its vectors go.

A linear probe on frozen vectors (Alain and Bengio 2017) is no forecast of fine-tuning: it orders bases that differ
much, in minutes on a processor. Rows are those that the stages would keep, the first of each split.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from adaptbert.comparison.baselines import probe
from adaptbert.comparison.records import TRAINED_BYTES
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.config.schema.sources import SPLITS
from adaptbert.data import labelled_set
from adaptbert.data.collect import collect_task
from adaptbert.data.layout import as_text
from adaptbert.data.task_description import TaskDescription
from adaptbert.data.validate_set import validate_labelled_set
from adaptbert.errors import raise_all
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.encoder import WORDS, Tokens, encode, way_of
from adaptbert.model.flops import training_flop
from adaptbert.tasks.batches import LabelledBatch
from adaptbert.tasks.heads import head_of
from adaptbert.tasks.outputs import outputs
from adaptbert.text.words import Segmenter

ROWS = {"train": 1_000, "dev": 500}
"""Most rows of a split that are looked at."""
TAGGED_WORDS = 5_000
"""Most tagged words that a probe is fitted on."""
MILLION = 1_000_000


class Task(NamedTuple):
    """A labelled set, as its stage would validate it, and how it would be fine-tuned."""

    name: str
    described: TaskDescription
    values: Finetune
    rows: Mapping[str, list[dict[str, Any]]]


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


def look_at(base: Base, tasks: Sequence[Task]) -> dict[str, str]:
    """Figures of one base on the texts of all tasks, by their headings, and the scores of its probes.

    Raises:
        BadData: it is no checkpoint, or damaged.
    """
    checkpoint = Checkpoint.of(base)
    encoder, config, tokenizer = checkpoint.encoder(), checkpoint.config(), checkpoint.tokenizer
    cells = [row[column] for task in tasks for row in task.rows["train"] for column in task.described.spec.rows.inputs]
    texts = [*map(as_text, cells)]
    encodings = tokenizer.encode(texts)
    lengths = np.array([len(encoding.ids) for encoding in encodings])
    unknown = sum(encoding.ids.count(tokenizer.unknown) for encoding in encodings)  # None: no token is
    starts, _ = Segmenter().word_starts(texts, encodings, tokenizer.splits_words)
    tokens, began = max(1, int(lengths.sum())), time.perf_counter()
    probes = {
        f"probe: {task.name}, dev/{task.described.spec.output.metrics[0]}": _probe(task, checkpoint, encoder)
        for task in tasks
    }
    read = sum(count for _, count in probes.values())
    parameters = encoder.num_parameters()
    return {
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
        **{heading: score for heading, (score, _) in probes.items()},
    }


def _probe(task: Task, checkpoint: Checkpoint, encoder: Any) -> tuple[str, int]:
    """Score on dev, none where the answers are parts of a text; and the tokens that were read."""
    if task.described.target == "answer":
        return "", 0
    train, dev = task.rows["train"], task.rows["dev"]
    if task.described.task_type == "sequence_labelling":
        train = train[: max(1, int(np.searchsorted(np.cumsum([len(row["tokens"]) for row in train]), TAGGED_WORDS)))]
    (of_train, read), (of_dev, more) = (_vectors(task, checkpoint, encoder, rows) for rows in (train, dev))
    return f"{probe(task.described, train, of_train, dev, of_dev):.3f}", read + more


def _vectors(
    task: Task, checkpoint: Checkpoint, encoder: Any, rows: Sequence[Mapping[str, Any]]
) -> tuple[NDArray[np.float64], int]:
    """The mean over the tokens of each row, or the first token of each of its words, 0 for one without; and the tokens
    that were read."""
    values, described = task.values, task.described
    head = head_of(described, described.spec.options(values))
    examples = head.examples(rows, checkpoint.tokenizer, min(values.max_length, checkpoint.longest))
    block, read = max(values.block_size, int(examples.lengths.max())), len(examples.ids)
    vectors = outputs(encoder, _hidden_states, examples, block, values.precision)
    if described.task_type != "sequence_labelling":
        owners = np.repeat(examples.rows, examples.lengths)
        sums = np.zeros((len(rows), vectors.shape[1]))
        np.add.at(sums, owners, vectors)
        return sums / np.bincount(owners, minlength=len(rows))[:, None], read
    counts = np.array([len(row["tokens"]) for row in rows])
    places = (np.cumsum(counts) - counts)[examples.rows[examples.owners()]] + examples.spans[:, 0]
    of_words = np.zeros((int(counts.sum()), vectors.shape[1]))
    of_words[places] = vectors[examples.flat_places()]
    return of_words, read


def _hidden_states(encoder: Any, batch: LabelledBatch) -> Tensor:
    return encode(encoder, batch.rows, Tokens(batch.ids, batch.segments))
