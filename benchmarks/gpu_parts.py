"""The parts of benchmarks.gpu_check, the most telling first: each takes a scale and yields its figures so far.

`right` in what a part yields holds what must be true.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch

from adaptbert.model.attention import Attention, flash_fits
from adaptbert.model.device import BF16, chosen
from adaptbert.model.packing import pack
from adaptbert.runtime.libraries import DETERMINISTIC
from adaptbert.runtime.mlflow import Run
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from benchmarks import finetuning, masked_lm
from benchmarks.machine import matmul_peak, wait
from benchmarks.peer import peers
from benchmarks.profile import profiled
from benchmarks.rounds import BUDGETS, OURS, Budget, compared, ours
from benchmarks.workload import OPTIM, SETTINGS, Documents, Setting

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
    """An exception in place of a kill."""


def environment(scale: Scale) -> Iterator[Values]:
    """What there is: the device, which attention it gets, and how fast it multiplies and copies."""
    device, dtype = _device(), _dtype()
    here = torch.empty(2**20 * (64 if device.type == "cuda" else 1), device=device)
    there = torch.empty(here.shape, pin_memory=device.type == "cuda")
    copied = _seconds(lambda: here.copy_(there, non_blocking=True), scale.repeats)
    yield {
        "name": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "devices": torch.cuda.device_count(),
        "cuda": torch.version.cuda,
        "flash attention": flash_fits(device, dtype, 64),
        "peak_tflop_per_second": round(matmul_peak(dtype) / 1e12, 1),
        "copied_gib_per_second": round(4 * here.numel() / 2**30 / copied, 1),
    }


def tests(scale: Scale) -> Iterator[Values]:
    """`pytest -m gpu`."""
    options = ["-m", "gpu", "-q", "-p", "no:cacheprovider", "tests/training/test_cuda.py", *scale.tests]
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    yield {"right": {"pytest -m gpu": done.returncode == 0}, "last lines": done.stdout.splitlines()[-5:]}


def right(scale: Scale) -> Iterator[Values]:
    """Two equal runs have equal bits; so has a run that was stopped and goes on; and what that costs."""
    equal: dict[str, bool] = {}
    longer: dict[str, float] = {}
    for name, setting in scale.settings.items():
        equal |= {f"{name}: {what}": found for what, found in same_bits(setting, scale.steps).items()}
        seconds = {}
        for kind in ("true", "false"):
            os.environ[DETERMINISTIC] = kind
            torch.use_deterministic_algorithms(False)
            began = time.perf_counter()
            trained(setting, 2 * scale.steps)
            seconds[kind] = time.perf_counter() - began
        os.environ[DETERMINISTIC] = "true"
        longer[name] = round(seconds["true"] / seconds["false"], 3)
        yield {"right": equal, "times as long with the same bits": longer}


def attention(scale: Scale) -> Iterator[Values]:
    """Milliseconds of forward and backward, flat documents and rows, by length and dropout."""
    device, dtype, heads, size = _device(), _dtype(), scale.short.heads, scale.short.hidden // scale.short.heads
    figures = {}
    for length in (28, 128, 512):
        count = max(1, (32768 if device.type == "cuda" else 1024) // length)
        rows = pack(np.full(count, length), max(length, 128)).to(device)
        for rate in (0.0, 0.1):
            for kind in ("flat", "rows") if flash_fits(device, dtype, size) else ("rows",):
                made = Attention(rows, device, dtype, kind == "flat")
                positions = count * length if kind == "flat" else int(np.prod(rows.documents.shape))
                projected = torch.randn(positions, 3 * heads * size, device=device, dtype=dtype, requires_grad=True)

                def pass_(made: Attention = made, projected: torch.Tensor = projected, rate: float = rate) -> None:
                    torch.autograd.backward(made.attend(projected, heads, rate).sum())

                figures[f"{kind}, {length} tokens, dropout {rate}"] = round(1e3 * _seconds(pass_, scale.repeats), 3)
    yield {"milliseconds": figures}


def host(scale: Scale) -> Iterator[Values]:
    """Where the time of a step goes, and how long a micro-batch takes to be made."""
    name, setting = next(iter(scale.settings.items()))
    _, batches, _ = masked_lm.made(setting, documents_of(setting, 20), 20, 0)
    made = _seconds(iter(map(batches, range(20))).__next__, 10)
    shares = profiled(masked_lm.made, setting, replace(scale.budget, ours=1))
    yield {"setting": name, "milliseconds to make a micro-batch": round(1e3 * made, 2), **shares}


def speed(scale: Scale) -> Iterator[Values]:
    """Tokens a second of masked LM, with dropout and without, and the share of the peak."""
    peak, figures = matmul_peak(_dtype()), {}
    for name, with_dropout in scale.settings.items():
        for setting in (with_dropout, replace(with_dropout, dropout=0.0)):
            documents = documents_of(setting, scale.budget.warm + 2 * scale.budget.steps)
            work = partial(ours, masked_lm.made, setting, documents, scale.budget, "auto")
            tokens = compared({OURS: work}, scale.budget, ("tokens",))["tokens_per_second"][OURS]
            share = round(tokens * masked_lm.flop_per_token(setting, documents) / peak, 3)
            figures[f"{name}, dropout {setting.dropout}"] = {"tokens a second": tokens, "share of peak": share}
            yield figures


def short_fine_tuning(scale: Scale) -> Iterator[Values]:
    """Examples a second beside the stock trainer, 32 short texts a step."""
    yield finetuning.measure(scale.short, scale.budget, _peers(scale))


def beside_peers(scale: Scale, dropout: float = 0.1) -> Iterator[Values]:
    """Masked LM beside the stock trainer, at its defaults and its best flags."""
    figures = {}
    for name, setting in scale.settings.items():
        figures[name] = masked_lm.measure(replace(setting, dropout=dropout), scale.budget, _peers(scale))
        yield figures


@dataclass(frozen=True)
class Part:
    """What is measured, in about so many minutes, and the goals of design for it."""

    title: str
    work: Callable[[Scale], Iterator[Values]]
    minutes: float
    goals: tuple[str, ...] = ()


PARTS = {
    "env": Part("what there is", environment, 0.5),
    "tests": Part("pytest -m gpu", tests, 2),
    "right": Part("bits", right, 4),
    "speed": Part("masked LM", speed, 7, ("share of peak at least .50 packed, .45 on short texts",)),
    "finetune": Part("fine-tuning beside the peer", short_fine_tuning, 9, ("at least 4 times the stock trainer",)),
    "attention": Part("kernels", attention, 1),
    "host": Part("where the time goes", host, 1),
    "peers": Part("masked LM beside the peer", beside_peers, 9, ("1.2 to 1.7 times the peer compiled",)),
    "peers0": Part("masked LM beside the peer, dropout 0", partial(beside_peers, dropout=0.0), 9),
}
RIGHT = ("tests", "right")
"""Parts that say whether something is right."""


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _dtype() -> torch.dtype:
    return torch.bfloat16 if chosen("auto") == BF16 else torch.float32


def _seconds(work: Callable[[], object], repeats: int) -> float:
    """Seconds of one call, the mean of several after one that is not counted."""
    work()
    wait()
    began = time.perf_counter()
    for _ in range(repeats):
        work()
    wait()
    return (time.perf_counter() - began) / repeats


def _peers(scale: Scale) -> Mapping[str, Any]:
    group = "gpu" if torch.cuda.is_available() else "cpu"
    return {
        name: flags
        for name, flags in peers(group).items()
        if scale.compiled or not flags.arguments.get("torch_compile")
    }


# ---- runs that are compared bit by bit


def documents_of(setting: Setting, steps: int) -> Documents:
    """Documents for so many steps."""
    return Documents(setting, (steps + 1) * setting.documents)


def trained(setting: Setting, steps: int, folder: Path | None = None, stop_at: int = -1) -> str:
    """A digest of the weights after some steps; with a folder from its savepoint on."""
    os.environ["ADAPTBERT_SAVE_SECONDS"], os.environ["ADAPTBERT_BATCH_WORKERS"] = "0", "0"
    torch.manual_seed(0)
    module, batches, loss = masked_lm.made(setting, documents_of(setting, steps), steps, 0)

    def read(k: int) -> Any:
        if k == stop_at:
            raise _Stopped
        return batches(k)

    plan = TrainingArguments(steps, 1, OPTIM.clip_norm, chosen("auto"), 0, loss)
    fit(module, read, plan, Run(), savepoints=None if folder is None else Savepoints(folder))
    return sha256(b"".join(each.detach().cpu().numpy().tobytes() for each in module.parameters())).hexdigest()


def same_bits(setting: Setting, steps: int) -> dict[str, bool]:
    """Whether two equal runs have equal bits, and one that was stopped and goes on."""
    first, second = trained(setting, steps), trained(setting, steps)
    with tempfile.TemporaryDirectory() as folder:
        try:
            trained(setting, steps, Path(folder), stop_at=steps // 2)
        except _Stopped:
            resumed = trained(setting, steps, Path(folder))
    return {"two runs are equal": first == second, "a resumed run is equal": resumed == first}
