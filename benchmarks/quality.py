"""Quality at equal tokens, and time to the same held-out loss: ours beside the stock trainer, seed by seed.

Every run of a seed starts from the same weights and has the same optimizer, schedule, number of steps and mean number
of tokens a step, 15 % masks and dropout 0.1. One function measures the held-out loss, on the same masks. Two peers:

    stock   transformers' Trainer with its own sampler and collator, at its best flags (bf16, batches by length)
    paired  its Trainer in fp32 on exactly our micro-batches: the same documents in the same order with the same masks,
            padded. What differs is the engine: bf16, packing, how dropout is drawn

    python -m benchmarks.quality                          # docstrings of installed packages
    python -m benchmarks.quality --text posts.txt         # one document a line

After each seed benchmarks/results/quality.json holds the seeds so far.
"""

import argparse
import logging
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BertForMaskedLM, DataCollatorForLanguageModeling

from adaptbert.config.schema.sources import Corpus
from adaptbert.config.schema.text import Measure as Measured
from adaptbert.config.schema.text import Vocabulary
from adaptbert.config.schema.training import Training
from adaptbert.data.files import Files
from adaptbert.mlm.heldout_evaluation import HeldOut, sets_in
from adaptbert.mlm.masked_lm import MaskedBatch, MaskedBatches, MaskedLM
from adaptbert.model.optimizer import Optimization, adamw, rate
from adaptbert.runtime.mlflow import Run
from adaptbert.statistics.intervals import ANYWHERE
from adaptbert.statistics.spread import MADE_ONCE
from adaptbert.statistics.study import ArmRuns, Study
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.token_writer import is_heldout, write
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.training.arguments import Measure, TrainingArguments
from adaptbert.training.loop import fit
from benchmarks.machine import keep
from benchmarks.masked_lm import MASKING, batches_of, stock_rows
from benchmarks.peer import BF16, train_stock
from benchmarks.rounds import OURS, spread
from benchmarks.workload import ROW, Setting
from examples.docstrings import SETS, corpus, sentences

CONFIDENCE = 0.95
SIZES = {"tiny": (2, 128, 2), "mini": (4, 256, 4)}
MAX_LENGTH = 64
HELDOUT = 0.05
"""Share of the texts."""


@dataclass(frozen=True)
class Text:
    """What is trained on and what is measured on."""

    tokenizer: Tokenizer
    corpus: TokenizedCorpus
    heldout: HeldOut


def read(path: Path | None, most: int | None) -> list[tuple[str, str]]:
    """Ids and texts; of a file one document a line (or row: any format that `collect` reads), the first `most`."""

    def rows() -> Iterator[tuple[str, str]]:
        if path is None:
            yield from ((row["id"], row["text"]) for row in corpus(sentences(SETS["demo"].domain)))
            return
        for row in Files(path, Corpus(path=str(path))).rows():
            if row.problem is None and row.values["text"].strip():
                yield row.id, row.values["text"]

    return list(islice(rows(), most))


def prepare(rows: list[tuple[str, str]], folder: Path, vocabulary: int, heldout_tokens: int) -> Text:
    """A vocabulary for the texts, and their documents in `folder`; the hash of its id says whether one is held out."""
    config = Vocabulary(vocabulary_size=vocabulary, lowercase=True, min_frequency=2)
    tokenizer = Tokenizer.train(lambda: [text for _, text in rows], config)
    parts: dict[str, list[tuple[str, str]]] = {"train": [], "heldout/text": []}
    for text_id, text in rows:
        parts["heldout/text" if is_heldout(text_id, HELDOUT) else "train"].append((text_id, text))
    for name, part in parts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        write(folder / name, part, tokenizer, MAX_LENGTH)
    measured = Measured(probability=0.15, max_tokens=heldout_tokens, seed=0)
    corpus = TokenizedCorpus.load(folder / "train")
    return Text(tokenizer, corpus, HeldOut(sets_in(folder / "heldout"), measured, tokenizer, ROW))


@dataclass(frozen=True)
class Course:
    """How all contenders train."""

    text: Text
    setting: Setting
    optim: Training
    steps: int
    points: int
    """Measurements, evenly spread; one more before the first step."""

    @property
    def measured(self) -> list[int]:
        return sorted({max(1, round(self.steps * (point + 1) / self.points)) for point in range(self.points)})

    def model(self, seed: int, attention: str = "sdpa") -> BertForMaskedLM:
        """The same weights for the same seed."""
        torch.manual_seed(seed)
        return BertForMaskedLM(self.setting.config(attention))

    def batches(self, seed: int) -> MaskedBatches:
        """Ours."""
        return batches_of(self.text.corpus, self.text.tokenizer, self.setting, seed)


@dataclass(frozen=True)
class Point:
    """Point of a curve; the seconds of measuring are not counted."""

    step: int
    seconds: float
    loss: float


class Curve:
    """Measures a model while it is trained."""

    def __init__(self, model: BertForMaskedLM, course: Course) -> None:
        self._model, self._course = model, course
        self.points: list[Point] = []
        self._began = time.perf_counter()
        self._measure(0)

    def look(self, step: int) -> Mapping[str, float]:
        """Measures after a step; a `training.Measure`."""
        if step in self._course.measured:
            self._measure(step)
        return {}

    def _measure(self, step: int) -> None:
        at = time.perf_counter()
        loss = self._course.text.heldout.measure(self._model, "32-true")["text"]["mlm_loss"]
        self.points.append(Point(step, round(at - self._began, 3), loss))
        self._began += time.perf_counter() - at


def ours(course: Course, seed: int) -> list[Point]:
    """`fit`, as every step calls it."""
    model = course.model(seed)
    curve = Curve(model, course)
    module = MaskedLM(model, Optimization(course.optim, course.steps))
    plan = TrainingArguments(course.steps, 1, course.optim.clip_norm, "bf16-mixed", seed, "train/mlm_loss")
    points: dict[int, Measure] = dict.fromkeys(course.measured, curve.look)
    fit(module, course.batches(seed), plan, Run(), points)
    return curve.points


def stock(course: Course, seed: int) -> list[Point]:
    """The Trainer with its own sampler and collator, at its best flags."""
    corpus, tokenizer = course.text.corpus, course.text.tokenizer.hugging_face
    collator = DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm_probability=MASKING.probability)
    everything = corpus.read(np.arange(len(corpus.lengths)))
    rows = stock_rows(np.split(everything.ids, np.cumsum(everything.lengths)[:-1]))

    def collate(examples: list[dict[str, Any]]) -> Any:
        return collator([{name: value for name, value in row.items() if name != "length"} for row in examples])

    grouped = {"train_sampling_strategy": "group_by_length", "length_column_name": "length"}
    model = course.model(seed, "sdpa" if torch.cuda.is_available() else "eager")
    return _by_the_trainer(model, rows, collate, course, seed, course.setting.documents, **grouped, **BF16)


def paired(course: Course, seed: int) -> list[Point]:
    """The Trainer in fp32 on our micro-batches, padded."""
    rows = Padded(course.batches(seed), course.steps, course.text.tokenizer.pad)
    in_order = {"train_sampling_strategy": "sequential"}
    return _by_the_trainer(course.model(seed), rows, lambda batches: batches[0], course, seed, 1, **in_order)


def _by_the_trainer(
    model: Any, rows: Any, collate: Any, course: Course, seed: int, rows_a_step: int, **arguments: Any
) -> list[Point]:
    optimizer = adamw(model, course.optim)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(course.optim, step, course.steps))
    curve = Curve(model, course)
    train_stock(
        model,
        rows,
        collate,
        curve.look,
        optimizers=(optimizer, schedule),
        max_steps=course.steps,
        max_grad_norm=course.optim.clip_norm,
        per_device_train_batch_size=rows_a_step,
        seed=seed,
        **arguments,
    )
    return curve.points


class Padded(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Micro-batches in the form that the stock model reads: one padded row a document, all its inputs by name."""

    def __init__(self, batches: MaskedBatches, count: int, pad: int) -> None:
        self._batches, self._count, self._pad = batches, count, pad

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, k: int) -> dict[str, torch.Tensor]:
        return padded(self._batches(k), self._pad)


def padded(batch: MaskedBatch, pad: int) -> dict[str, torch.Tensor]:
    """Flat documents as rows, (documents, longest)."""
    position = torch.from_numpy(batch.rows.positions)
    document = (position == 0).cumsum(0) - 1
    shape = (int(document[-1]) + 1, int(position.max()) + 1)
    tensors = {
        "input_ids": torch.full(shape, pad),
        "attention_mask": torch.zeros(shape, dtype=torch.int64),
        "labels": torch.full(shape, -100),
    }
    tensors["input_ids"][document, position] = batch.ids
    tensors["attention_mask"][document, position] = 1
    tensors["labels"][document[batch.chosen], position[batch.chosen]] = batch.expected
    return tensors


PEERS = {"stock": stock, "paired": paired}


def seconds_to(curve: list[Point], loss: float) -> float:
    """Seconds after which a curve first reaches a loss, on straight lines between its points."""
    for before, after in pairwise(curve):
        if after.loss <= loss:
            share = (before.loss - loss) / (before.loss - after.loss)
            return before.seconds + max(0.0, share) * (after.seconds - before.seconds)
    raise ValueError(f"the curve ends above {loss}")


def time_ratio(curve: list[Point], peer: list[Point]) -> float:
    """Seconds of the peer over ours to the lowest loss that both reach."""
    loss = max(min(point.loss for point in points) for points in (curve, peer))
    return seconds_to(peer, loss) / seconds_to(curve, loss)


def compared(curves: Mapping[int, Mapping[str, list[Point]]]) -> dict[str, Any]:
    """For each peer over the seeds: final losses, their paired difference with its interval, time to the same loss."""
    by_peer: dict[str, Any] = {}
    for peer in next(iter(curves.values())):
        if peer == OURS:
            continue
        finals = {name: {seed: runs[name][-1].loss for seed, runs in curves.items()} for name in (OURS, peer)}
        sides = {name: ArmRuns({MADE_ONCE: losses}) for name, losses in finals.items()}
        study = Study(sides, 0, CONFIDENCE, ANYWHERE)
        difference = study.difference(OURS, peer)
        assert difference is not None
        power = study.power(OURS, peer, 1 - CONFIDENCE) if difference.testable else None
        by_peer[peer] = {
            "loss_ours": statistics.mean(finals[OURS].values()),
            "loss_peer": statistics.mean(finals[peer].values()),
            "difference": {
                "mean": difference.mean,
                "low": difference.low,
                "high": difference.high,
                "n": difference.seeds,
                "p": difference.p,
                "detectable": power and power.detectable,
            },
            "time_to_same_loss": spread([time_ratio(runs[OURS], runs[peer]) for runs in curves.values()]),
        }
    return by_peer


def run(course: Course, seeds: int, peers: list[str], name: str) -> dict[str, Any]:
    """All seeds, each contender in turn; what is known after each seed is kept and printed at once.

    Args:
        name: of the text.
    """
    contenders = {OURS: ours, **{name: PEERS[name] for name in peers}}
    curves: dict[int, dict[str, list[Point]]] = {}
    result: dict[str, Any] = {}
    for seed in range(seeds):
        curves[seed] = {name: contender(course, seed) for name, contender in contenders.items()}
        losses = [f"{name} {curve[-1].loss:.4f} in {curve[-1].seconds:.1f} s" for name, curve in curves[seed].items()]
        print(f"seed {seed}: {', '.join(losses)}", flush=True)
        result = {
            "text": name,
            "corpus": course.text.corpus.texts[0],
            "setting": asdict(course.setting),
            "optim": course.optim.model_dump(exclude={"block_size", "dropout", "precision"}),
            "steps": course.steps,
            "seeds": seed + 1,
            "comparison": compared(curves),
            "curves": {
                seed: {name: [asdict(point) for point in curve] for name, curve in runs.items()}
                for seed, runs in curves.items()
            },
        }
        keep("quality", result)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, help="a file, one document a line; otherwise docstrings")
    parser.add_argument("--max-lines", type=int, help="of the file")
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--vocabulary", type=int, default=8192)
    parser.add_argument("--documents", type=int, default=32, help="a step")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--heldout-tokens", type=int, default=40_000)
    arguments = parser.parse_args()
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    optim = Training(
        learning_rate=arguments.learning_rate, warmup_fraction=0.1, betas=[0.9, 0.98], epsilon=1e-6, dropout=0.0
    )
    with tempfile.TemporaryDirectory() as folder:
        text = prepare(
            read(arguments.text, arguments.max_lines), Path(folder), arguments.vocabulary, arguments.heldout_tokens
        )
        setting = Setting(*SIZES[arguments.size], text.tokenizer.size, 0, arguments.documents)
        name = arguments.text.name if arguments.text else "docstrings"
        result = run(Course(text, setting, optim, arguments.steps, 10), arguments.seeds, arguments.peers, name)
    for peer, results in result["comparison"].items():
        print(peer, results)


if __name__ == "__main__":
    main()
