"""Where the time of our step goes, by kind of work, from torch's profiler.

On a processor the own time of every operator is given to the first kind whose pattern its name matches; what the
profiler does not see (Python, Lightning, waiting) is the rest up to the clock's time. On a device only what ran there
is counted, once: kernels and copies, not also the operators that started them; the rest is the time in which none ran.
The profiler itself makes small steps slower, so the shares are to be read, not the speed, which is that of the steps
before it starts.
"""

import re
import time
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

import torch
from torch.autograd.profiler import record_function

from adaptbert.training.arguments import Measure
from benchmarks.machine import wait
from benchmarks.peer import MEGABATCH
from benchmarks.rounds import EAGER, Batches, Budget, Make, Speed, Stopwatch, train
from benchmarks.workload import Documents, Setting

DATA = "benchmark: data"
KINDS = {
    "data (order, masks, packing)": DATA,
    "optimizer": r"aten::(_fused_adamw_|_foreach_.*|linalg_vector_norm)|.*(adam|multi_tensor).*",
    "matrix products": r"aten::(mm|addmm|bmm|baddbmm|_?(scaled_dot_product|flash|efficient).*)"
    r"|.*(gemm|gemv|nvjet|cutlass|flash|fmha|attention).*",
    "attention softmax": r"aten::_softmax.*",
    "dropout": r"aten::(random_|bitwise_right_shift|__i(and|xor)__|clamp_|sub_|addcmul|native_dropout.*)"
    r"|.*(dropout|masked_scale|distribution).*",
    "LayerNorm, GELU": r"aten::(native_layer_norm|gelu).*|.*(layer_norm|gammabeta|gelu).*",
    "loss": r"aten::(_log_softmax|nll_loss).*|.*(nll_loss|softmax).*",
    "casts and copies": r"aten::(copy_|_to_copy|cat|clone|index_copy_?|index_select|index_add_?|masked_fill_?|fill_"
    r"|zero_|repeat_interleave|embedding.*)|(?!aten::).*(copy|memcpy|memset|cat|index|gather|scatter|fill|embedding).*",
    "other elementwise": r"aten::(mul_?|add_?|div_?|sum|eq|bitwise_not).*|.*(elementwise|reduce_kernel|triton).*",
}
"""Kind -> names of operators on a processor, and of what runs on a device."""
OTHER = "other operators"
REST, IDLE = "rest (Python, Lightning, the profiler)", "nothing ran on the device"


def kind_of(name: str) -> str:
    """The first kind whose pattern matches."""
    return next((kind for kind, names in KINDS.items() if re.fullmatch(names, name, re.IGNORECASE)), OTHER)


def shares(spent: Mapping[str, float], busy: float, seconds: float, rest: str) -> dict[str, Any]:
    """Shares of the clock's `seconds`, whose sum is 1; where that is not the whole truth, a note says so.

    Args:
        spent: seconds by kind.
        busy: seconds in which any of it ran: less than their sum where kernels ran side by side.
        rest: the name of the other seconds.
    """
    total, notes = sum(spent.values()), []
    if total > 1.001 * busy:
        notes.append(f"kinds add up to {total / busy:.2f} times the busy time: side by side, or counted twice")
    if busy > 1.001 * seconds:
        notes.append(f"busy for {busy / seconds:.2f} times the clock's time: counted twice, or in several threads")
    scale = busy / total / seconds if total else 0.0
    share = {kind: round(value * scale, 3) for kind, value in spent.items()} | {rest: round(1 - busy / seconds, 3)}
    return {"share": share, **({"notes": notes} if notes else {})}


def of_operators(averages: Iterable[Any], seconds: float) -> dict[str, Any]:
    """Shares by the own times of operators on a processor, as `profile.key_averages` has them."""
    spent = dict.fromkeys((*KINDS, OTHER), 0.0)
    for event in averages:
        if event.key == DATA or event.key.startswith("aten::"):
            spent[kind_of(event.key)] += event.self_cpu_time_total / 1e6
    return shares(spent, sum(spent.values()), seconds, REST)


def of_kernels(events: Iterable[Any], seconds: float, steps: int) -> dict[str, Any]:
    """Shares by what ran on a device, as `profile.events` has it, and how much that was in a step."""
    spent, busy, end = dict.fromkeys((*KINDS, OTHER), 0.0), 0.0, 0.0
    ran = [each for each in events if each.device_type.name == "CUDA" and not each.is_user_annotation]
    for event in sorted(ran, key=lambda each: each.time_range.start):
        begin, over = event.time_range.start / 1e6, event.time_range.end / 1e6
        spent[kind_of(event.name)] += over - begin
        busy, end = busy + max(0.0, over - max(begin, end)), max(end, over)
    figures = shares(spent, busy, seconds, IDLE) if ran else {"notes": ["the profiler recorded nothing on the device"]}
    return {"device_operations": len(ran) // steps, "device_ms": round(1e3 * busy / steps, 3), **figures}


def observed(
    make: Make, setting: Setting, documents: Documents, budget: Budget, mode: str = EAGER
) -> tuple[Speed, str, dict[str, Any]]:
    """One run of ours: its speed, a digest of its last weights, and where the time of further steps goes.

    As many steps as count are profiled after them.
    """
    stopwatch, moments = Stopwatch(budget), [time.perf_counter()]
    first, last, end = stopwatch.first, stopwatch.last, stopwatch.last + budget.steps
    on_gpu = torch.cuda.is_available()
    activity = torch.profiler.ProfilerActivity.CUDA if on_gpu else torch.profiler.ProfilerActivity.CPU
    profiler = torch.profiler.profile(activities=[activity])  # of both, the slower: launches would be traced, too

    def look(step: int) -> Mapping[str, float]:
        stopwatch.look(step)
        wait()
        if step == last:
            profiler.start()
        moments.append(time.perf_counter())
        if step == end:
            profiler.stop()
        return {}

    def around(batches: Batches) -> Batches:
        def batch(k: int) -> Any:
            with record_function(DATA):
                return batches(k)

        return batch

    points: dict[int, Measure] = dict.fromkeys((first, last, end), look)
    module, curve = train(make, setting, documents, end, 0, points, around, mode=mode)
    began, warm, _, ended = moments
    seconds = ended - moments[2]
    seen: Any = profiler
    where = of_kernels(seen.events(), seconds, budget.steps) if on_gpu else of_operators(seen.key_averages(), seconds)
    where["seconds_of_warm_steps"] = round(warm - began, 2)
    where["milliseconds_per_step"] = round(1e3 * seconds / budget.steps, 2)
    tokens = int(curve[1]["tokens"] - curve[0]["tokens"])
    return stopwatch.speed(budget.steps * setting.documents, tokens), digest(module), where


def profiled(make: Make, setting: Setting, budget: Budget) -> dict[str, Any]:
    """Where our time goes."""
    return observed(make, setting, Documents(setting, MEGABATCH * setting.documents), budget)[2]


def digest(module: Any) -> str:
    """A digest of weights, which is equal only if all bits are."""
    return sha256(b"".join(each.detach().cpu().numpy().tobytes() for each in module.parameters())).hexdigest()
