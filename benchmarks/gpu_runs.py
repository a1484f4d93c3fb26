"""What the parts of benchmarks.gpu_check share: how large everything is, and runs that are compared bit by bit."""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import BertForMaskedLM

from adaptbert.mlm.masked_lm import MaskedBatches, MaskedLM
from adaptbert.mlm.masking import Masker
from adaptbert.model.device import chosen
from adaptbert.runtime.mlflow import Run
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.document_stream import DocumentStream
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from benchmarks import masked_lm
from benchmarks.rounds import BUDGETS, Budget
from benchmarks.workload import OPTIM, SETTINGS, Documents, Setting, tokenizer

Values = dict[str, Any]


@dataclass(frozen=True)
class Scale:
    """How large everything is.

    Attributes:
        settings: of masked LM, by name.
        short: of fine-tuning.
        steps: of the runs that are compared bit by bit.
        repeats: of an operation that is timed.
        tests: options of pytest.
        compiled: whether the compiled peer runs, which takes a minute.
    """

    settings: Mapping[str, Setting]
    short: Setting
    budget: Budget
    steps: int
    repeats: int
    tests: tuple[str, ...]
    compiled: bool


_DROPPING = {name: setting for name, setting in SETTINGS["gpu"].items() if setting.dropout}
_TINY = Setting(1, 16, 2, 61, 0, 4)
FULL = Scale(_DROPPING, replace(SETTINGS["gpu"]["base-short-30k"], documents=32), BUDGETS["gpu"], 20, 50, (), True)
SMOKE = Scale({"tiny": _TINY}, _TINY, Budget(1, 1, 2, 1, apart=False), 4, 2, ("--collect-only",), False)


class _Stopped(Exception):
    """In place of a kill."""


def documents_of(setting: Setting, steps: int) -> Documents:
    """Enough for so many steps."""
    return Documents(setting, (steps + 1) * setting.documents)


def batches_of(setting: Setting, steps: int) -> MaskedBatches:
    """Micro-batches of masked LM."""
    documents = documents_of(setting, steps)
    tokens = max(setting.block, round(float(documents.lengths.mean()) * setting.documents))
    masker = Masker(masked_lm.MASKING, 0, Tokenizer(tokenizer(setting)))
    return MaskedBatches(documents, DocumentStream(documents.lengths, 0, tokens), masker, setting.block)


def trained(setting: Setting, steps: int, folder: Path | None = None, stop_at: int = -1) -> str:
    """A digest of the weights after some steps; with a folder from its savepoint on."""
    batches = batches_of(setting, steps)

    def read(k: int) -> Any:
        if k == stop_at:
            raise _Stopped
        return batches(k)

    os.environ["ADAPTBERT_SAVE_SECONDS"], os.environ["ADAPTBERT_BATCH_WORKERS"] = "0", "0"
    torch.manual_seed(0)
    module = MaskedLM(BertForMaskedLM(setting.config()), OPTIM, steps)
    plan = TrainingArguments(steps, 1, OPTIM.clip_norm, chosen("auto"), 0, "train/mlm_loss")
    fit(module, read, plan, Run(), savepoints=None if folder is None else Savepoints(folder))
    digest = hashlib.sha256()
    for parameter in module.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    return digest.hexdigest()


def same_bits(setting: Setting, steps: int) -> dict[str, bool]:
    """Whether two equal runs have equal bits, and one that was stopped and goes on."""
    first, second = trained(setting, steps), trained(setting, steps)
    with tempfile.TemporaryDirectory() as folder:
        try:
            trained(setting, steps, Path(folder), stop_at=steps // 2)
        except _Stopped:
            resumed = trained(setting, steps, Path(folder))
    return {"two runs are equal": first == second, "a resumed run is equal": resumed == first}
