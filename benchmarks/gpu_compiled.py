"""The parts of benchmarks.gpu_check about ADAPTBERT_COMPILE: what each of its values costs and brings.

Without a device nothing is compiled, and all values do the same.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import get_args
from unittest import mock

from adaptbert.model.compiled import VARIABLE, Mode
from benchmarks import finetuning, masked_lm
from benchmarks.gpu_runs import Scale, Values, documents_of, same_bits
from benchmarks.rounds import OURS, Speed, compared
from benchmarks.workload import Setting

CLOSE = 0.02
"""Of the training loss in bfloat16, without dropout, whose draws differ."""


def masked_lm_in_each_mode(scale: Scale) -> Values:
    """Masked LM: bits and loss, and tokens a second beside those of eager layers."""
    checks: dict[str, bool] = {}
    speeds = {}
    for name, setting in scale.settings.items():
        documents = documents_of(setting, scale.budget.warm + 2 * scale.budget.steps)
        work = partial(masked_lm.ours, setting, documents, scale.budget, "auto")
        speeds[name] = compared(_modes(work), scale.budget, ("tokens",))
    setting = next(iter(scale.settings.values()))
    eager = _loss("off", setting, scale.steps)
    for kind in get_args(Mode)[1:]:
        with mock.patch.dict(os.environ, {VARIABLE: kind}):
            checks |= {f"{kind}: {name}": right for name, right in same_bits(setting, scale.steps).items()}
        checks[f"{kind}: the loss of eager layers"] = abs(_loss(kind, setting, scale.steps) - eager) < CLOSE
    return {"right": checks, **speeds}


def fine_tuning_in_each_mode(scale: Scale) -> Values:
    """Fine-tuning on few short texts, where the processor is slower than the device."""
    documents = documents_of(scale.short, scale.budget.warm + 2 * scale.budget.steps)
    work = partial(finetuning.ours, scale.short, documents, scale.budget, "auto")
    return compared(_modes(work), scale.budget, ("examples",))


def _modes(work: Callable[[int], Speed]) -> dict[str, Callable[[int], Speed]]:
    """The same contender in each mode, the eager one first."""
    return {OURS if kind == "off" else f"{OURS}, {kind}": partial(_in_mode, kind, work) for kind in get_args(Mode)}


def _in_mode(kind: str, work: Callable[[int], Speed], number: int) -> Speed:
    with mock.patch.dict(os.environ, {VARIABLE: kind}):
        return work(number)


def _loss(kind: str, setting: Setting, steps: int) -> float:
    """Of training without dropout, the mean over some steps."""
    without = replace(setting, dropout=0.0)
    with mock.patch.dict(os.environ, {VARIABLE: kind}):
        curve = masked_lm.train(without, documents_of(without, steps), steps, 0, {steps: lambda _: {}})
    return curve[-1]["train/mlm_loss"]
