"""Raises the thresholds of Python's garbage collector.

Importing torch, Lightning and MLflow creates 700,000 objects that live until the process ends. With the default
thresholds, the collector takes a quarter of the import time, and a second at the end, to traverse them.
"""

import atexit
import gc

THRESHOLDS = (50_000, 10, 100)
"""Of `gc.set_threshold`: allocations before the youngest generation is collected, collections before the next is."""


def collect_seldom() -> None:
    """Applies to this process from now on; at its end nothing is collected, because the system frees all memory."""
    gc.set_threshold(*THRESHOLDS)
    atexit.register(gc.freeze)
