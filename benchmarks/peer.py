"""The peer: transformers' Trainer, wired as its examples wire it, at its defaults or with the best of its flags.

Rows are a `datasets.Dataset` with a column `length` (tokens without padding) beside what the model reads.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_pt_utils import get_length_grouped_indices

from adaptbert.core.processes import cores
from adaptbert.model.device import FLOAT32, chosen
from benchmarks.rounds import Budget, Make, Speed, Stopwatch, compared, of_ours, ours
from benchmarks.workload import Documents, Setting

MEGABATCH = 50
"""Batches among which the Trainer groups by length."""


@dataclass(frozen=True)
class Flags:
    """What a user may set.

    Attributes:
        attention: as transformers names it.
        grouped: batches of similar lengths, padded to the longest of a batch.
        multiple: tokens to a multiple of which a batch is padded.
        forward: documents of a forward pass, if a step has more: larger logits leave the cache, and are slower.
        at_masks: scores at masked positions alone, in the classes that can.
        arguments: others of TrainingArguments.
    """

    attention: str = "sdpa"
    grouped: bool = False
    multiple: int | None = None
    forward: int | None = None
    at_masks: bool = False
    arguments: dict[str, Any] = field(default_factory=dict)


DEFAULTS = Flags()
LONG = 512
"""Tokens of a document, from which on the scores of all pairs leave the cache."""
BF16 = {"bf16": True, "use_cpu": not torch.cuda.is_available()}

ON_A_DEVICE = {
    **BF16,
    "dataloader_num_workers": min(4, cores()),
    "dataloader_persistent_workers": True,
    "logging_nan_inf_filter": False,  # or every step waits for its loss
}


def peers(group: str, length: int = 0) -> dict[str, Flags]:
    """The Trainer at its defaults and with the flags that a careful user finds on this machine.

    Args:
        group: name of the set.
        length: of its documents.
    """
    if group == "gpu":
        best = Flags("sdpa", True, 8, None, True, ON_A_DEVICE)
        compiled = replace(best, arguments={**ON_A_DEVICE, "torch_compile": True})
        return {"stock defaults": DEFAULTS, "stock best flags": best, "stock best flags, compiled": compiled}
    # On a processor SDPA is slower than eager attention in bfloat16, and faster in float32, and on long documents.
    is_float = chosen("auto") == FLOAT32
    attention = "sdpa" if is_float or length > LONG else "eager"
    best = Flags(attention, True, None, 32, True, {} if is_float else BF16)
    return {"stock defaults": DEFAULTS, "stock best flags": best}


class Watch(TrainerCallback):  # type: ignore[misc]
    def __init__(self, look: Callable[[int], object]) -> None:
        self._look = look

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._look(state.global_step)


def train_stock(
    model: Any,
    rows: Any,
    collate: Callable[[list[Any]], Any],
    look: Callable[[int], object],
    optimizers: tuple[Any, Any] = (None, None),
    **arguments: Any,
) -> None:
    """Train by a Trainer that saves and logs nothing.

    Args:
        look: called with the number of every step after it.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            output_dir=folder,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            remove_unused_columns=False,  # `collate` takes them away
            dataloader_pin_memory=torch.cuda.is_available(),
            **arguments,
        )
        made = Trainer(
            model=model,
            args=settings,
            train_dataset=rows,
            data_collator=collate,
            callbacks=[Watch(look)],
            optimizers=optimizers,
        )
        made.remove_callback(PrinterCallback)
        made.train()


class Counted:
    """A collator that takes the column `length` away and keeps its sum for each batch; in the process that calls it."""

    def __init__(self, collate: Callable[[list[Any]], Any]) -> None:
        self._collate = collate
        self.tokens: list[int] = []

    def __call__(self, examples: list[dict[str, Any]]) -> Any:
        self.tokens.append(sum(example.pop("length") for example in examples))
        return self._collate(examples)


def timed(
    model: Any, rows: Any, collate: Callable[[list[Any]], Any], documents: int, budget: Budget, seed: int, flags: Flags
) -> Speed:
    """A run of the Trainer, `documents` rows a step."""
    stopwatch, counted = Stopwatch(budget), Counted(collate)
    forward = min(documents, flags.forward or documents)
    passes = documents // forward

    if flags.grouped:
        rows = rows.select(sample_of_groups(np.asarray(rows["length"]), forward, budget, seed, passes))
    train_stock(
        model,
        rows,
        counted,
        stopwatch.look,
        max_steps=stopwatch.last,
        per_device_train_batch_size=forward,
        gradient_accumulation_steps=passes,
        seed=seed,
        train_sampling_strategy="sequential" if flags.grouped else "random",
        **flags.arguments,
    )
    if flags.grouped:  # in this order, whichever process collates them
        step = forward * passes
        tokens = int(np.sum(rows["length"][step * stopwatch.first : step * stopwatch.last]))
    else:
        tokens = sum(counted.tokens[passes * stopwatch.first : passes * stopwatch.last])
    return stopwatch.speed(budget.steps * documents, tokens)


def sample_of_groups(
    lengths: NDArray[np.int64], documents: int, budget: Budget, seed: int, passes: int = 1
) -> NDArray[np.int64]:
    """Rows of some of the batches that the Trainer's grouping by length makes; those that count cover all lengths.

    Its sampler sorts 50 batches by length and gives the longest first, so the first steps of a run would tell of long
    documents only.

    Args:
        documents: a batch.
        passes: batches a step.
    """
    generator = torch.Generator().manual_seed(seed)
    order = np.array(get_length_grouped_indices(lengths, documents, generator=generator))
    grouped = order[: len(order) // documents * documents].reshape(-1, documents)
    draw = np.random.default_rng(seed)
    counted = passes * budget.steps
    spread = ((np.arange(counted) + 0.5) * len(grouped) / counted).astype(np.int64)
    batches = np.concatenate([draw.integers(0, len(grouped), passes * budget.warm), draw.permutation(spread)])
    chosen: NDArray[np.int64] = grouped[batches].reshape(-1)
    return chosen


def documents_of(setting: Setting, budget: Budget) -> Documents:
    """Documents for a run of the peer and its groups."""
    return Documents(setting, max(MEGABATCH, budget.warm + budget.steps) * setting.documents)


def beside(
    peers: Mapping[str, Flags],
    make: Make,
    stock: Callable[..., Speed],
    setting: Setting,
    budget: Budget,
    units: Sequence[str],
) -> dict[str, Any]:
    """Our runs in both precisions and those of the peers, as `compared` has them.

    Args:
        stock: the run of a peer: setting, documents, budget, flags, seed.
    """
    documents = documents_of(setting, budget)
    contenders: dict[str, Callable[[int], Speed]] = {
        name: partial(ours, make, setting, documents, budget, precision) for name, precision in of_ours().items()
    }
    contenders |= {name: partial(stock, setting, documents, budget, flags) for name, flags in peers.items()}
    return compared(contenders, budget, units)
