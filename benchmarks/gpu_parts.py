"""The parts of benchmarks.gpu_check, the most telling first: each takes a scale and tells its figures so far.

`right` in what a part tells holds what must be true.
"""

import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import Any

import numpy as np
import torch

from adaptbert.core.processes import cores
from adaptbert.model.attention import Attention, flash_fits
from adaptbert.model.device import BF16, chosen
from adaptbert.model.packing import pack
from adaptbert.runtime.variables import DETERMINISTIC
from adaptbert.training.savepoints import Savepoints
from benchmarks import finetuning, masked_lm
from benchmarks.machine import matmul_peak, wait
from benchmarks.peer import peers_on_a_device
from benchmarks.profile import digest, observed
from benchmarks.rounds import EAGER, GRAPH, STATIC, Batches, Budget, Make, Results, Tell, ours, train
from benchmarks.table import EIGHT, SHORT, TUNED, WIDE_128, WIDE_512
from benchmarks.workload import Documents, Setting

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@dataclass(frozen=True)
class Work:
    """What is trained, by one of the benchmarks.

    Attributes:
        unit: of its speed, a field of `Speed`.
    """

    setting: Setting
    make: Make = masked_lm.made
    measure: Callable[..., Results] = masked_lm.measure
    flop_per_token: Callable[[Setting, Documents], float] = masked_lm.flop_per_token
    unit: str = "tokens"

    def documents(self, steps: int) -> Documents:
        """Documents for so many steps."""
        return Documents(self.setting, (steps + 1) * self.setting.documents)


@dataclass(frozen=True)
class Scale:
    """How large everything is.

    Attributes:
        works: by name, the most telling first.
        budget: of contenders in turn.
        short: of runs of ours alone.
        killed: what is trained while it is killed, whose savepoints are small, and for so many steps.
        steps: of the other runs that are compared bit by bit.
        repeats: of an operation that is timed.
        tests: options of pytest.
        processes: side by side.
        compiled: whether the compiled peers are compiled, which takes a minute.
    """

    works: Mapping[str, Work]
    budget: Budget
    short: Budget
    killed: tuple[Work, int]
    steps: int
    repeats: int
    tests: tuple[str, ...]
    processes: tuple[int, ...]
    compiled: bool


def _tuned(setting: Setting) -> Work:
    return Work(setting, finetuning.made, finetuning.measure, finetuning.flop_per_token, "examples")


_WORKS = {
    TUNED: _tuned(Setting(12, 768, 12, 30522, 0, 32)),
    WIDE_128: Work(Setting(12, 768, 12, 30522, 128, 256)),
    SHORT: Work(Setting(12, 768, 12, 30522, 0, 512)),
    WIDE_512: Work(Setting(12, 768, 12, 30522, 512, 64)),
    EIGHT: Work(Setting(8, 512, 8, 21128, 0, 512)),
}
_SMALL = Setting(1, 16, 2, 61, 0, 4)
_TINY = {TUNED: _tuned(_SMALL), SHORT: Work(_SMALL)}
_ALONE = Budget(1, 1, 2, 1, apart=False)
FULL = Scale(_WORKS, Budget(1, 20, 40, 1), Budget(1, 10, 20, 1), (_WORKS[EIGHT], 100), 24, 50, (), (1, 2, 4, 8), True)
SMOKE = Scale(_TINY, _ALONE, _ALONE, (_TINY[SHORT], 60), 6, 2, ("--collect-only",), (1, 2), False)


class _Stopped(Exception):
    """An exception in place of a kill."""


def environment(scale: Scale, tell: Tell) -> None:
    """What there is: the device, which attention it gets, how fast it multiplies and copies, what a launch costs."""
    here = torch.empty(2**20 * (64 if DEVICE.type == "cuda" else 1), device=DEVICE)
    there = torch.empty(here.shape, pin_memory=DEVICE.type == "cuda")
    copied = _seconds(lambda: here.copy_(there, non_blocking=True), scale.repeats)
    one, many = torch.zeros(1, device=DEVICE), 20 * scale.repeats

    def launches() -> None:
        for _ in range(many):
            one.add_(1)

    values = {
        "name": torch.cuda.get_device_name() if DEVICE.type == "cuda" else "cpu",
        "devices": torch.cuda.device_count(),
        "cuda": torch.version.cuda,
        "flash attention": flash_fits(DEVICE, _dtype(), 64),
        "peak_tflop_per_second": round(matmul_peak(_dtype()) / 1e12, 1),
        "copied_gib_per_second": round(4 * here.numel() / 2**30 / copied, 1),
        "microseconds of a launch": round(1e6 * _seconds(launches, 3) / many, 2),
    }
    tell(values)
    if DEVICE.type == "cuda":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            launches()
        tell(values | {"microseconds of a replayed launch": round(1e6 * _seconds(graph.replay, 3) / many, 2)})


def tests(scale: Scale, tell: Tell) -> None:
    """`pytest -m gpu`."""
    options = ["-m", "gpu", "-q", "-p", "no:cacheprovider", "tests/training/test_cuda.py", *scale.tests]
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    tell({"right": {"pytest -m gpu": done.returncode == 0}, "last lines": done.stdout.splitlines()[-5:]})


def graphs(scale: Scale, tell: Tell) -> None:
    """Speed, share of the peak, memory and where the time goes, eager and as graphs, with dropout and without; whether
    graphs have the bits of the same shapes without them."""
    peak, right = matmul_peak(_dtype()), dict[str, bool]()
    figures: dict[str, Results] = {}
    for dropout in (0.1, 0.0):
        for name, work in scale.works.items():
            if not dropout and work.unit != "tokens":
                continue
            setting, key = replace(work.setting, dropout=dropout), name if dropout else f"{name}, dropout 0"
            documents = work.documents(scale.short.warm + 2 * scale.short.steps)
            flop, bits = work.flop_per_token(setting, documents), {}
            figures[key] = {}
            for mode in (EAGER, GRAPH, STATIC):
                try:
                    speed, bits[mode], where = observed(work.make, setting, documents, scale.short, mode)
                except Exception:  # the others go on
                    traceback.print_exc()
                    bits[mode] = f"{mode} failed"
                    continue
                figures[key][mode] = {
                    f"{work.unit}_per_second": round(getattr(speed, work.unit) / speed.seconds),
                    "share_of_peak": round(speed.tokens / speed.seconds * flop / peak, 3),
                    "gib": round(speed.memory / 2**30, 2),
                    **where,
                }
                tell({"right": right, "works": figures})
            right[f"{key}: graphs have the bits of eager"] = bits[GRAPH] == bits[STATIC]
            warm = [figures[key].get(mode, {}).get("seconds_of_warm_steps", math.nan) for mode in (GRAPH, STATIC)]
            figures[key]["seconds to capture"] = round(warm[0] - warm[1], 2)
            tell({"right": right, "works": figures})


def bits(scale: Scale, tell: Tell) -> None:
    """Two equal runs have equal bits; so has a run that was stopped and goes on; and what that costs."""
    equal: dict[str, bool] = {}
    longer: dict[str, float] = {}
    kinds = {"fine-tuning": scale.works[TUNED], "masked LM": scale.killed[0]}
    for mode in (EAGER, GRAPH):
        for name, work in kinds.items():
            equal |= {
                f"{name}, {mode}: {what}": is_equal for what, is_equal in same_bits(work, scale.steps, mode).items()
            }
            tell({"right": equal})
    budget = scale.short  # time steps alone, both kinds in turn
    for name, work in list(scale.works.items())[:2]:
        documents, ratios = work.documents(budget.warm + budget.steps), []
        for number in range(2):
            seconds = []
            for kind in ("true", "false"):
                os.environ[DETERMINISTIC] = kind
                torch.use_deterministic_algorithms(False)  # until a run asks for it
                seconds.append(ours(work.make, work.setting, documents, budget, "auto", EAGER, number).seconds)
            ratios.append(seconds[0] / seconds[1])
        longer[name] = round(median(ratios), 3)
        tell({"right": equal, "times as long with the same bits": longer})


def attention(scale: Scale, tell: Tell) -> None:
    """Milliseconds of forward and backward, flat documents and rows, by length and dropout."""
    setting = scale.works[SHORT].setting
    heads, size = setting.heads, setting.hidden // setting.heads
    figures = {}
    for length in (28, 64, 128, 512):
        count = max(1, (32768 if DEVICE.type == "cuda" else 1024) // length)
        rows = pack(np.full(count, length), max(length, 128)).to(DEVICE)
        for rate in (0.0, 0.1):
            for kind in ("flat", "rows") if flash_fits(DEVICE, _dtype(), size) else ("rows",):
                made = Attention(rows, DEVICE, _dtype(), kind == "flat")
                positions = count * length if kind == "flat" else int(np.prod(rows.documents.shape))
                projected = torch.randn(positions, 3 * heads * size, device=DEVICE, dtype=_dtype(), requires_grad=True)

                def pass_(made: Attention = made, projected: torch.Tensor = projected, rate: float = rate) -> None:
                    torch.autograd.backward(made.attend(projected, heads, rate).sum())

                figures[f"{kind}, {length} tokens, dropout {rate}"] = round(1e3 * _seconds(pass_, scale.repeats), 3)
                tell({"milliseconds": figures})


def several(scale: Scale, tell: Tell) -> None:
    """Texts a second of fine-tuning in several processes at the same time, in sum."""
    work, context = scale.works[TUNED], multiprocessing.get_context("spawn")
    documents = work.documents(scale.short.warm + scale.short.steps)
    barriers = {count: context.Barrier(count) for count in scale.processes}
    figures: dict[str, dict[str, int]] = {EAGER: {}, GRAPH: {}}
    with ProcessPoolExecutor(max(scale.processes), context, _meet_at, (barriers,)) as pool:
        for count in scale.processes:
            for mode, rates in figures.items():
                runs = [pool.submit(_side_by_side, work, documents, scale.short, mode, count) for _ in range(count)]
                moments = [run.result() for run in runs]
                taken = max(ended for _, ended in moments) - min(began for began, _ in moments)
                rates[str(count)] = round(count * scale.short.steps * work.setting.documents / taken)
                tell({"texts a second in sum, by processes": figures})


_barriers: dict[int, Barrier] = {}


def _meet_at(barriers: dict[int, Barrier]) -> None:
    _barriers.update(barriers)


def _side_by_side(work: Work, documents: Documents, budget: Budget, mode: str, count: int) -> tuple[float, float]:
    """When the steps that count began, after the others had trained their warm ones too, and ended."""
    first, last, moments = budget.warm, budget.warm + budget.steps, []

    def look(step: int) -> Mapping[str, float]:
        wait()
        if step == first:
            _barriers[count].wait(120)
        moments.append(time.monotonic())  # one clock for all processes
        return {}

    torch.set_num_threads(max(1, cores() // count))
    train(work.make, work.setting, documents, last, 0, {first: look, last: look}, mode=mode)
    return moments[0], moments[1]


STAGES = {"finetune": "adaptbert.tasks.finetune", "pretrain": "adaptbert.mlm.step", "nothing but torch": "torch"}
"""Stage -> what it imports when its parameters are checked."""


def start(scale: Scale, tell: Tell) -> None:
    """Seconds until a stage has imported everything and the device has answered: of the processor, and by the clock."""
    figures = {}
    for stage, module in STAGES.items():
        code = (
            f"from adaptbert.runtime import libraries, mlflow; libraries.prepare_libraries(); "
            f"libraries.collect_seldom(); import {module}, torch; torch.zeros(1, device={DEVICE.type!r}).item()"
        )
        processor, clock = [], []
        for _ in range(max(1, scale.repeats // 16)):
            before, began = getrusage(RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            after = getrusage(RUSAGE_CHILDREN)
            clock.append(time.perf_counter() - began)
            processor.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        figures[stage] = {"processor": round(median(processor), 2), "clock": round(median(clock), 2)}
        tell({"seconds": figures})


def beside_peers(scale: Scale, tell: Tell, first: int = 0, last: int | None = None) -> None:
    """Ours beside the stock trainer, at its defaults, its best flags, and compiled; works from `first` to `last`."""
    figures: Results = {}
    for name, work in list(scale.works.items())[first:last]:
        contenders = peers_on_a_device(work.setting.length)
        for peer, flags in contenders.items() if not scale.compiled else ():
            plain = {key: value for key, value in flags.arguments.items() if "compile" not in key}
            contenders[peer] = replace(flags, arguments=plain)

        def tell_of(results: Results, name: str = name) -> None:
            figures[name] = results
            tell({"works": figures})

        tell_of(work.measure(work.setting, scale.budget, contenders, tell_of))


def kill(scale: Scale, tell: Tell) -> None:
    """Two processes side by side have the bits of one alone; so has one that is killed and goes on, as graphs."""
    context, arguments = multiprocessing.get_context("spawn"), (*scale.killed, GRAPH)
    with tempfile.TemporaryDirectory() as name, ProcessPoolExecutor(2, context) as pool:
        beside, folder = [pool.submit(trained, *arguments) for _ in range(2)], Path(name)
        killed = context.Process(target=trained, args=(*arguments, folder))
        killed.start()
        while killed.is_alive() and not any(folder.glob("0*.safetensors")):
            time.sleep(0.01)
        was_alive = killed.is_alive()
        killed.kill()
        killed.join()
        digests = [run.result() for run in beside]
        resumed = pool.submit(trained, *arguments, folder).result()
    alone = trained(*arguments)
    right = {
        "two processes at once have the bits of one": digests == [alone, alone],
        "it was killed before its end": was_alive,
        "a run that is killed and resumed has the bits of one that is not": resumed == alone,
    }
    tell({"right": right})


Part = Callable[[Scale, Tell], None]
PARTS: dict[str, tuple[Part, float]] = {
    "env": (environment, 20),
    "tests": (tests, 60),
    "graphs": (graphs, 150),
    "bits": (bits, 110),
    "attention": (attention, 15),
    "several": (several, 70),
    "start": (start, 40),
    "peers": (partial(beside_peers, last=1), 150),
    "kill": (kill, 60),
    "peers_128": (partial(beside_peers, first=1, last=2), 150),
    "peers_others": (partial(beside_peers, first=2), 450),
}
"""Name -> what is measured, in about so many seconds on a device; the peers: fine-tuning, rows of 128, the others."""
RIGHT = ("tests", "graphs", "bits", "kill")
"""Parts that say whether something is right."""


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


# ---- runs that are compared bit by bit


def trained(work: Work, steps: int, mode: str, folder: Path | None = None, stop_at: int = -1) -> str:
    """A digest of the weights after some steps; with a folder from its savepoint on."""
    os.environ["ADAPTBERT_SAVE_SECONDS"] = "0"  # after the first step; later ones seldom, where that takes long
    os.environ["ADAPTBERT_BATCH_WORKERS"] = "0"

    def around(batches: Batches) -> Batches:
        def read(k: int) -> Any:
            if k == stop_at:
                raise _Stopped
            return batches(k)

        return read

    saved = None if folder is None else Savepoints(folder)
    documents = work.documents(steps)
    module, _ = train(work.make, work.setting, documents, steps, 0, {}, around, mode=mode, savepoints=saved)
    return digest(module)


def same_bits(work: Work, steps: int, mode: str) -> dict[str, bool]:
    """Whether two equal runs have equal bits, and one that was stopped and goes on."""
    first, second = trained(work, steps, mode), trained(work, steps, mode)
    with tempfile.TemporaryDirectory() as folder:
        try:
            trained(work, steps, mode, Path(folder), stop_at=steps // 2)
        except _Stopped:
            goes_on = Savepoints(Path(folder)).latest() is not None
            resumed = trained(work, steps, mode, Path(folder))
    return {"two runs are equal": first == second, "a resumed run is equal": goes_on and resumed == first}
