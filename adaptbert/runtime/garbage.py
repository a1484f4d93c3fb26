"""Python's garbage collector looks for circles of objects; what libraries bring stays to the end and needs no looking.

Importing torch, Lightning and MLflow makes 700,000 objects. With the usual thresholds a quarter of that time, and a
second at the end of the process, goes into looking through all of them for garbage.
"""

import atexit
import gc

THRESHOLDS = (50_000, 10, 100)
"""Objects made and not freed before the youngest are looked through; so many times before the next older ones are."""


def collect_seldom() -> None:
    """From here on in this process; at its end not at all, for the memory goes back as a whole."""
    gc.set_threshold(*THRESHOLDS)
    atexit.register(gc.freeze)
