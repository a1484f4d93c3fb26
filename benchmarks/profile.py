"""Where the time of our step goes, by kind of work, from torch's profiler.

The device's own time of every operator is given to the first kind whose pattern its name matches; what the profiler
does not see (Python, Lightning, waiting) is the rest up to the clock's time. The profiler itself makes small steps
slower, so the shares are to be read, not the speed.
"""

import re
import time
from collections.abc import Mapping
from typing import Any

import torch
from torch.autograd.profiler import record_function

from adaptbert.training.arguments import Measure
from benchmarks.machine import wait
from benchmarks.peer import MEGABATCH
from benchmarks.rounds import Batches, Budget, Make, train
from benchmarks.workload import Documents, Setting

DATA = "benchmark: data"
KINDS = {
    "data (order, masks, packing)": DATA,
    "matrix products": r"aten::(mm|addmm|bmm|baddbmm|_?(scaled_dot_product|flash|efficient).*)"
    r"|.*(gemm|flash|attention).*",
    "attention softmax": r"aten::_softmax.*|.*softmax_warp.*",
    "dropout": r"aten::(random_|bitwise_right_shift|__i(and|xor)__|clamp_|sub_|addcmul|native_dropout.*)|.*dropout.*",
    "casts and copies": r"aten::(copy_|_to_copy|cat|clone|index_copy_?|index_select|index_add_?|masked_fill_?|fill_"
    r"|zero_|repeat_interleave|embedding.*)|Memcpy.*|Memset.*",
    "LayerNorm, GELU": r"aten::(native_layer_norm|gelu).*|.*(layer_norm|Gelu).*",
    "loss": r"aten::(_log_softmax|nll_loss).*",
    "optimizer": r"aten::(_fused_adamw_|_foreach_.*|linalg_vector_norm)|.*(adam|multi_tensor).*",
    "other elementwise": r"aten::(mul_?|add_?|div_?|sum|eq|bitwise_not).*|.*elementwise.*",
}
OTHER = "other operators"
REST = "rest (Python, Lightning, the profiler)"


def profiled(make: Make, setting: Setting, budget: Budget) -> dict[str, Any]:
    """Shares of our time in the steps of a run that count."""
    first, last = budget.warm, budget.warm + budget.ours * budget.steps
    on_gpu = torch.cuda.is_available()
    activities = [torch.profiler.ProfilerActivity.CPU]
    if on_gpu:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    profiler = torch.profiler.profile(activities=activities)
    moments: list[float] = []

    def look(step: int) -> Mapping[str, float]:
        wait()
        if step == first:
            profiler.start()
        moments.append(time.perf_counter())
        if step == last:
            profiler.stop()
        return {}

    def around(batches: Batches) -> Batches:
        def batch(k: int) -> Any:
            with record_function(DATA):
                return batches(k)

        return batch

    documents = Documents(setting, MEGABATCH * setting.documents)
    points: dict[int, Measure] = dict.fromkeys((first, last), look)
    train(make, setting, documents, last, 0, points, around)
    seconds = moments[1] - moments[0]
    spent = dict.fromkeys(KINDS, 0.0)
    spent[OTHER] = 0.0
    for event in profiler.key_averages():
        of_kernels = on_gpu and event.key != DATA
        own = (event.self_device_time_total if of_kernels else event.self_cpu_time_total) / 1e6
        kind = next((kind for kind, names in KINDS.items() if re.fullmatch(names, event.key)), None)
        if kind is not None:
            spent[kind] += own
        elif event.key.startswith("aten::"):
            spent[OTHER] += own
    spent[REST] = max(0.0, seconds - sum(spent.values()))
    return {
        "milliseconds_per_step": round(1e3 * seconds / (last - first), 2),
        "share": {kind: round(value / seconds, 3) for kind, value in spent.items()},
    }
