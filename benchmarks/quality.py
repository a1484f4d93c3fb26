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
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BertForMaskedLM, DataCollatorForLanguageModeling, TrainerCallback

from adaptbert.config.schema.training import Training
from adaptbert.mlm.masked_lm import MaskedBatch, MaskedBatches, MaskedLM
from adaptbert.mlm.masking import Masker
from adaptbert.model.optimizer import adamw, rate
from adaptbert.runtime.mlflow import Run
from adaptbert.statistics.intervals import ANYWHERE
from adaptbert.statistics.spread import MADE_ONCE
from adaptbert.statistics.study import ArmRuns, Study
from adaptbert.training.arguments import Measure, TrainingArguments
from adaptbert.training.document_stream import DocumentStream
from adaptbert.training.loop import fit
from benchmarks.machine import keep
from benchmarks.masked_lm import MASKING, stock_rows
from benchmarks.peer import BF16, trainer
from benchmarks.real_text import Text, prepare, read
from benchmarks.rounds import OURS
from benchmarks.workload import Setting

CONFIDENCE = 0.95
SIZES = {"tiny": (2, 128, 2), "mini": (4, 256, 4)}


@dataclass(frozen=True)
class Course:
    """How all contenders train."""

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


@dataclass(frozen=True)
class Point:
    """Of a curve; the seconds of measuring are not counted."""

    step: int
    seconds: float
    loss: float


class Curve:
    """Measures a model while it is trained."""

    def __init__(self, model: BertForMaskedLM, text: Text) -> None:
        self._model, self._heldout = model, text.heldout
        self.points: list[Point] = []
        self._began = time.perf_counter()
        self.look(0)

    def look(self, step: int) -> Mapping[str, float]:
        """A `training.Measure`."""
        at = time.perf_counter()
        loss = self._heldout.measure(self._model, "32-true")["text"]["mlm_loss"]
        self.points.append(Point(step, round(at - self._began, 3), loss))
        self._began += time.perf_counter() - at
        return {}


def our_batches(course: Course, text: Text, seed: int) -> MaskedBatches:
    """As a step makes them."""
    tokenizer = text.tokenizer
    masker = Masker(MASKING, seed, tokenizer)
    tokens = max(int(text.corpus.lengths.max()), round(float(text.corpus.lengths.mean()) * course.setting.documents))
    stream = DocumentStream(text.corpus.lengths, seed, tokens)
    return MaskedBatches(text.corpus, stream, masker, course.setting.block)


def ours(course: Course, text: Text, seed: int) -> list[Point]:
    """`fit`, as every step calls it."""
    model = course.model(seed)
    curve = Curve(model, text)
    module = MaskedLM(model, course.optim, course.steps)
    plan = TrainingArguments(course.steps, 1, course.optim.clip_norm, "bf16-mixed", seed, "train/mlm_loss")
    points: dict[int, Measure] = dict.fromkeys(course.measured, curve.look)
    fit(module, our_batches(course, text, seed), plan, Run(), points)
    return curve.points


def stock(course: Course, text: Text, seed: int) -> list[Point]:
    """The Trainer with its own sampler and collator, at its best flags."""
    cuda = torch.cuda.is_available()
    model = course.model(seed, "sdpa" if cuda else "eager")
    collator = DataCollatorForLanguageModeling(
        tokenizer=text.tokenizer.hugging_face, mlm_probability=MASKING.probability
    )
    everything = text.corpus.read(np.arange(len(text.corpus.lengths)))
    rows = stock_rows(np.split(everything.ids, np.cumsum(everything.lengths)[:-1]))

    def collate(examples: list[dict[str, Any]]) -> Any:
        return collator([{name: value for name, value in row.items() if name != "length"} for row in examples])

    return _stock_curve(
        model,
        rows,
        collate,
        course,
        text,
        seed,
        per_device_train_batch_size=course.setting.documents,
        train_sampling_strategy="group_by_length",
        length_column_name="length",
        **BF16,
    )


def paired(course: Course, text: Text, seed: int) -> list[Point]:
    """The Trainer in fp32 on our micro-batches, padded."""
    return _stock_curve(
        course.model(seed),
        Padded(our_batches(course, text, seed), course.steps, text.tokenizer.pad),
        lambda batches: batches[0],
        course,
        text,
        seed,
        per_device_train_batch_size=1,
        train_sampling_strategy="sequential",
    )


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


def _stock_curve(
    model: Any, rows: Any, collate: Any, course: Course, text: Text, seed: int, **arguments: Any
) -> list[Point]:
    optimizer = adamw(model, course.optim)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(course.optim, step, course.steps))
    curve = Curve(model, text)

    class Watch(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step in course.measured:
                curve.look(state.global_step)

    with tempfile.TemporaryDirectory() as folder:
        trainer(
            model,
            rows,
            collate,
            Watch(),
            folder,
            optimizers=(optimizer, schedule),
            max_steps=course.steps,
            max_grad_norm=course.optim.clip_norm,
            seed=seed,
            **arguments,
        ).train()
    return curve.points


PEERS = {"stock": stock, "paired": paired}


def seconds_to(curve: list[Point], loss: float) -> float:
    """When a curve first reaches a loss, on straight lines between its points."""
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
        ratios = [time_ratio(runs[OURS], runs[peer]) for runs in curves.values()]
        by_peer[peer] = {
            "loss_ours": statistics.mean(finals[OURS].values()),
            "loss_peer": statistics.mean(finals[peer].values()),
            "difference": {
                "mean": difference.mean,
                "low": difference.low,
                "high": difference.high,
                "n": difference.seeds,
                "p": difference.p,
                "detectable": study.question(OURS, peer, 1 - CONFIDENCE).power.detectable
                if difference.testable
                else None,
            },
            "time_to_same_loss": {
                "median": round(statistics.median(ratios), 2),
                "lowest": round(min(ratios), 2),
                "highest": round(max(ratios), 2),
            },
        }
    return by_peer


def run(course: Course, text: Text, seeds: int, peers: list[str], name: str) -> dict[str, Any]:
    """All seeds, each contender in turn; what is known after each seed is kept and printed at once.

    Args:
        name: of the text.
    """
    contenders = {OURS: ours, **{name: PEERS[name] for name in peers}}
    curves: dict[int, dict[str, list[Point]]] = {}
    result: dict[str, Any] = {}
    for seed in range(seeds):
        curves[seed] = {name: contender(course, text, seed) for name, contender in contenders.items()}
        losses = [f"{name} {curve[-1].loss:.4f} in {curve[-1].seconds:.1f} s" for name, curve in curves[seed].items()]
        print(f"seed {seed}: {', '.join(losses)}", flush=True)
        result = {
            "text": name,
            "corpus": text.corpus.texts[0],
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
        result = run(Course(setting, optim, arguments.steps, 10), text, arguments.seeds, arguments.peers, name)
    for peer, results in result["comparison"].items():
        print(peer, results)


if __name__ == "__main__":
    main()
