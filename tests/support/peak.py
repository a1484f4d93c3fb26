"""How much memory Python and numpy take for a call, beyond what they held before."""

import tracemalloc
from collections.abc import Callable
from typing import Any


def peak(call: Callable[[], Any]) -> int:
    """Bytes, what the call returns included."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
