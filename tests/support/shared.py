"""What costs seconds to make and what tests only look at: made once for all processes of a run of pytest."""

import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from filelock import FileLock

Made = TypeVar("Made")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Made]) -> Made:
    """What `make` returns, and wrote into the folder that it was given; the first process that asks makes it."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    result = folder.with_suffix(".pickle")
    with FileLock(folder.with_suffix(".lock")):
        if not result.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a process whose test failed in here
            folder.mkdir()
            result.write_bytes(pickle.dumps(make(folder)))
        made: Made = pickle.loads(result.read_bytes())  # noqa: S301 - of this run
    return made
