"""Masked-LM training against the stock trainer: real tokens a second, as ratios.

The peer is transformers' Trainer with DataCollatorForLanguageModeling, wired as its run_mlm example wires them: once at
its defaults, once with the flags that a careful user finds (bf16, eager attention, batches of similar lengths). All
train the same architecture on the same documents, with as many documents a step, 15 % masks and dropout 0.1. Ids are
random, for speed does not depend on them; the lengths are drawn like those of posts, or all equal.

    python -m benchmarks.masked_lm [--settings mini-short mini-packed128 ...] [--rounds 5] [--steps 15]
"""

import argparse
import logging
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertTokenizer,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from adaptbert.architecture import training_flop
from adaptbert.machine_peak import matmul_peak
from adaptbert.masked_lm import MaskedBatches, MaskedLM
from adaptbert.masking import Masker, MaskingConfig
from adaptbert.optim import OptimConfig
from adaptbert.stream import DocumentStream
from adaptbert.token_store import Flat
from adaptbert.tracking import Run
from adaptbert.training import Plan, fit
from benchmarks.machine import keep

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WARM = 5  # steps that are not counted


@dataclass(frozen=True)
class Setting:
    """One column of the table; `length` 0 draws lengths like those of short posts."""

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    length: int
    documents: int
    """A step."""

    @property
    def block(self) -> int:
        return self.length or 128

    def config(self, attention: str = "sdpa") -> BertConfig:
        return BertConfig(
            vocab_size=self.vocabulary,
            hidden_size=self.hidden,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=4 * self.hidden,
            max_position_embeddings=512,
            attn_implementation=attention,
        )

    def lengths(self, count: int) -> NDArray[np.int64]:
        draw = np.random.default_rng(0)
        if self.length:
            return np.full(count, self.length)
        return np.clip(draw.lognormal(3.13, 0.62, count).round().astype(np.int64), 4, 128)  # mean about 28


SETTINGS = {
    "mini-short": Setting(4, 256, 4, 30522, 0, 32),
    "mini-packed128": Setting(4, 256, 4, 30522, 128, 16),
    "mini-packed512": Setting(4, 256, 4, 30522, 512, 4),
    "tiny-short": Setting(2, 128, 2, 30522, 0, 32),
    "small-short": Setting(4, 512, 8, 30522, 0, 32),
    "mini-short-8k": Setting(4, 256, 4, 8192, 0, 32),
}


@dataclass(frozen=True)
class Speed:
    """Of the steps after the first few."""

    tokens: int
    seconds: float
    cpu_seconds: float


class Documents:
    """Random ids, in the form of a `TokenizedCorpus`."""

    def __init__(self, setting: Setting, count: int) -> None:
        self.lengths = setting.lengths(count)
        draw = np.random.default_rng(1)
        self.documents = [
            np.concatenate([[2], draw.integers(5, setting.vocabulary, length - 2), [3]]) for length in self.lengths
        ]

    def read(self, documents: NDArray[np.int64]) -> Flat:
        ids = np.concatenate([self.documents[number] for number in documents])
        return Flat(ids, np.ones(len(ids), np.bool_), self.lengths[documents])


def clocks() -> tuple[float, float]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), usage.ru_utime + usage.ru_stime


def ours(setting: Setting, documents: Documents, steps: int, seed: int) -> Speed:
    """`fit`, as every rung calls it."""
    torch.manual_seed(seed)
    optim = OptimConfig(
        learning_rate=1e-4,
        weight_decay=0.01,
        warmup_fraction=0.06,
        betas=[0.9, 0.98],
        epsilon=1e-6,
        clip_norm=1.0,
    )
    total = WARM + steps
    module = MaskedLM(BertForMaskedLM(setting.config()), optim, total)
    masking = MaskingConfig(unit="token", probability=0.15, mask_share=0.8, random_share=0.1, keep_share=0.1)
    maskable = np.arange(setting.vocabulary) >= len(SPECIALS)
    masker = Masker(masking, seed, 4, np.flatnonzero(maskable), maskable)
    tokens = max(setting.block, round(float(documents.lengths.mean()) * setting.documents))
    stream = DocumentStream(documents.lengths, seed, tokens)
    batches = MaskedBatches(documents, stream, masker, setting.block)  # type: ignore[arg-type]
    moments: dict[int, tuple[float, float]] = {}

    def look(step: int) -> Mapping[str, float]:
        moments[step] = clocks()
        return {}

    plan = Plan(total, 1, 1.0, "bf16-mixed", seed, "train/mlm_loss")
    curve = fit(module, batches, plan, Run(), {WARM: look, total: look}).curve
    (began, cpu_began), (ended, cpu_ended) = moments[WARM], moments[total]
    return Speed(int(curve[1]["tokens"] - curve[0]["tokens"]), ended - began, cpu_ended - cpu_began)


class Watch(TrainerCallback):
    """Clocks after the first steps and after the last, and the tokens between."""

    def __init__(self) -> None:
        self.moments: list[tuple[float, float]] = []

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step in (WARM, state.max_steps):
            self.moments.append(clocks())


def stock(setting: Setting, documents: Documents, steps: int, seed: int, careful: bool) -> Speed:
    """The Trainer, at its defaults or with the flags that a careful user finds."""
    import datasets

    datasets.disable_progress_bars()
    vocabulary = {token: number for number, token in enumerate(SPECIALS)}
    vocabulary |= {f"t{number}": number for number in range(len(SPECIALS), setting.vocabulary)}
    tokenizer = BertTokenizer(vocab=vocabulary)
    rows = datasets.Dataset.from_list(
        [
            {"input_ids": ids.tolist(), "length": len(ids)}
            for ids in documents.documents[: 4 * steps * setting.documents]
        ]
    )
    seen: list[int] = []

    class Collator(DataCollatorForLanguageModeling):  # type: ignore[misc]
        def torch_call(self, examples: list[Any]) -> Any:
            seen.append(sum(len(example["input_ids"]) for example in examples))
            return super().torch_call([{"input_ids": example["input_ids"]} for example in examples])

    watch = Watch()
    flags: dict[str, Any] = {}
    if careful:
        flags = {
            "bf16": True,
            "use_cpu": not torch.cuda.is_available(),
            "train_sampling_strategy": "group_by_length",
            "length_column_name": "length",
        }
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=WARM + steps,
            per_device_train_batch_size=setting.documents,
            seed=seed,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            logging_strategy="no",
            remove_unused_columns=False,
            **flags,
        )
        trainer = Trainer(
            model=BertForMaskedLM(setting.config("eager" if careful else "sdpa")),
            args=arguments,
            train_dataset=rows,
            data_collator=Collator(tokenizer=tokenizer, mlm_probability=0.15),
            callbacks=[watch],
        )
        trainer.train()
    (began, cpu_began), (ended, cpu_ended) = watch.moments
    return Speed(sum(seen[WARM : WARM + steps]), ended - began, cpu_ended - cpu_began)


CONTENDERS: dict[str, Callable[..., Speed]] = {
    "ours": ours,
    "stock defaults": partial(stock, careful=False),
    "stock best flags": partial(stock, careful=True),
}


def measure(setting: Setting, rounds: int, steps: int) -> dict[str, Any]:
    """All contenders in turn, `rounds` times."""
    documents = Documents(setting, 4 * (WARM + steps) * setting.documents)
    speeds: dict[str, list[Speed]] = {name: [] for name in CONTENDERS}
    for seed in range(rounds):
        for name, run in CONTENDERS.items():
            speeds[name].append(run(setting, documents, steps, seed))
    wall = {name: [speed.tokens / speed.seconds for speed in found] for name, found in speeds.items()}
    cpu = {name: [speed.tokens / speed.cpu_seconds for speed in found] for name, found in speeds.items()}
    mean = round(float(documents.lengths.mean()))
    chosen = round(0.15 * (mean - 2) / mean * 1e6)
    flop = training_flop(setting.config(), 10**6, setting.block, chosen, chosen) / 1e6
    found: dict[str, Any] = {
        "tokens_per_second": {name: round(statistics.median(values)) for name, values in wall.items()},
        "flop_per_token": round(flop),
        "share_of_peak": round(statistics.median(wall["ours"]) * flop / matmul_peak(torch.bfloat16), 3),
    }
    for peer in ("stock defaults", "stock best flags"):
        for clock, values in (("wall", wall), ("cpu", cpu)):
            ratios = [mine / theirs for mine, theirs in zip(values["ours"], values[peer], strict=True)]
            found[f"ratio to {peer}, {clock}"] = {
                "median": round(statistics.median(ratios), 2),
                "lowest": round(min(ratios), 2),
                "highest": round(max(ratios), 2),
            }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--name", default="masked_lm")
    arguments = parser.parse_args()
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    table = {}
    for name in arguments.settings:
        table[name] = measure(SETTINGS[name], arguments.rounds, arguments.steps)
        print(name, table[name], flush=True)
    keep(arguments.name, {"rounds": arguments.rounds, "steps": arguments.steps, "settings": table})


if __name__ == "__main__":
    main()
