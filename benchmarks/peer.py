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
from benchmarks.rounds import Budget, Make, Results, Speed, Stopwatch, Tell, compared, ignore, of_ours, ours
from benchmarks.workload import ROW, Documents, Setting

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
        unmasked: attention gets no mask of padding, where there is none: it takes a faster kernel, and need not look.
        arguments: others of TrainingArguments.
    """

    attention: str = "sdpa"
    grouped: bool = False
    multiple: int | None = None
    forward: int | None = None
    at_masks: bool = False
    unmasked: bool = False
    arguments: dict[str, Any] = field(default_factory=dict)


DEFAULTS = Flags()
LONG = 512
"""Tokens of a document, from which on the scores of all pairs leave the cache."""
BF16 = {"bf16": True, "use_cpu": not torch.cuda.is_available()}

ON_A_DEVICE = {
    **BF16,
    "optim": "adamw_torch_fused",  # the default of new versions
    "dataloader_num_workers": min(4, cores()),
    "dataloader_persistent_workers": True,
    "dataloader_drop_last": True,
    "logging_nan_inf_filter": False,  # or every step waits for its loss
}
DYNAMIC_PEER, STATIC_PEER = "stock compiled, dynamic shapes", "stock static shapes, CUDA graphs"
FEW_SHAPES_PEER = "stock four shapes, CUDA graphs"


def peers(length: int = 0) -> dict[str, Flags]:
    """The Trainer at its defaults and with the flags that a careful user finds on a processor.

    Args:
        length: of the documents; 0: as of short texts.
    """
    # SDPA is slower than eager attention in bfloat16, and faster in float32, and on long documents.
    is_float = chosen("auto") == FLOAT32
    attention = "sdpa" if is_float or length > LONG else "eager"
    best = Flags(attention, True, None, 32, True, arguments={} if is_float else BF16)
    return {"stock defaults": DEFAULTS, "stock best flags": best}


def peers_on_a_device(length: int = 0) -> dict[str, Flags]:
    """The Trainer likewise on a device, the best peers first.

    Compiled, it either has the batches of the best flags, of many lengths, or runs as CUDA graphs: every text is padded
    to as many tokens, short ones also in groups of similar lengths to a multiple of 32. Graphs score all positions: a
    number of masked ones that varies is a shape that varies, and for a fixed number a user would have to write another
    model class than BertForMaskedLM; a collator alone cannot.
    """
    best = Flags("sdpa", True, 8, None, True, length > 0, ON_A_DEVICE)
    compiled = {**ON_A_DEVICE, "torch_compile": True}
    graphs = {**compiled, "torch_compile_mode": "reduce-overhead"}
    return {
        STATIC_PEER: Flags("sdpa", multiple=length or ROW, unmasked=length > 0, arguments=graphs),
        "stock best flags": best,
        **({} if length else {FEW_SHAPES_PEER: Flags("sdpa", True, ROW // 4, arguments=graphs)}),
        DYNAMIC_PEER: replace(best, arguments=compiled),
        "stock defaults": DEFAULTS,
    }


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


def unmasked(collate: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """A collator whose batches say nothing of padding."""

    def collated(examples: list[Any]) -> Any:
        batch = collate(examples)
        batch.pop("attention_mask")
        return batch

    return collated


def timed(
    model: Any, rows: Any, collate: Callable[[list[Any]], Any], documents: int, budget: Budget, seed: int, flags: Flags
) -> Speed:
    """A run of the Trainer, `documents` rows a step, in the order of its groups, or as they were drawn."""
    stopwatch = Stopwatch(budget)
    forward = min(documents, flags.forward or documents)
    passes = documents // forward

    if flags.grouped:
        rows = rows.select(sample_of_groups(np.asarray(rows["length"]), forward, budget, seed, passes))
    train_stock(
        model,
        rows.remove_columns("length"),
        unmasked(collate) if flags.unmasked else collate,
        stopwatch.look,
        max_steps=stopwatch.last,
        per_device_train_batch_size=forward,
        gradient_accumulation_steps=passes,
        seed=seed,
        train_sampling_strategy="sequential",
        **flags.arguments,
    )
    step = forward * passes
    # Counted by their order, whichever process collates them.
    tokens = int(np.sum(rows["length"][step * stopwatch.first : step * stopwatch.last]))
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
    longest, draw = lengths[grouped].max(1), np.random.default_rng(seed)
    # Every shape before what counts, more than once: it is compiled then, or captured as a graph.
    of_length = np.linspace(longest.min(), longest.max(), passes * budget.warm)
    warm = np.abs(longest[:, None] - of_length).argmin(0)
    counted = passes * budget.steps
    spread = ((np.arange(counted) + 0.5) * len(grouped) / counted).astype(np.int64)
    batches = np.concatenate([warm, draw.permutation(spread)])
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
    tell: Tell = ignore,
) -> Results:
    """Our runs, each in its precision and mode, and those of the peers, as `compared` has them.

    Args:
        stock: the run of a peer: setting, documents, budget, flags, seed.
    """
    documents = documents_of(setting, budget)
    contenders: dict[str, Callable[[int], Speed]] = {
        name: partial(ours, make, setting, documents, budget, *how) for name, how in of_ours().items()
    }
    contenders |= {name: partial(stock, setting, documents, budget, flags) for name, flags in peers.items()}
    return compared(contenders, budget, units, tell)
