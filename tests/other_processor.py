"""The quick tests as on an older processor: `make test-other-processor`, or with a test file in place of all.

    python -m tests.other_processor tests/report

The last digits of a sum depend on the vector units; a test that holds on this processor alone fails here. Only units
that this processor has are switched off, under the names that each library knows; the others are left as they are.
"""

import os
import platform
import sys

import numpy as np

OLDEST = {
    "ATEN_CPU_CAPABILITY": "default",  # torch
    "ONEDNN_MAX_CPU_ISA": "SSE41",  # its matrix products
    "MKL_CBWR": "COMPATIBLE",
    "OPENBLAS_CORETYPE": "Nehalem",  # scipy
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA",  # exp, log
}
"""The oldest unit of each library on x86; other processors have no such choice."""


def variables() -> dict[str, str]:
    own = np.show_config("dicts")["SIMD Extensions"].get("found", [])
    of_numpy = {"NPY_DISABLE_CPU_FEATURES": " ".join(own)} if own else {}
    return of_numpy | (OLDEST if platform.machine() in ("x86_64", "AMD64") else {})


if __name__ == "__main__":
    for name, value in variables().items():
        print(f"{name}={value!r}", flush=True)
    options = sys.argv[1:] or ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]
    os.execve(sys.executable, [sys.executable, "-m", "pytest", *options], {**os.environ, **variables()})
