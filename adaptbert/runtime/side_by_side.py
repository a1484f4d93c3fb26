"""How many stages run side by side, and the threads of each: `make recipe` and its price have one rule."""

import os

from adaptbert.core.processes import cores

JOBS = 2
"""Stages side by side, where nobody says otherwise."""


def threads(jobs: int = JOBS) -> str:
    """Threads of each stage, unless OMP_NUM_THREADS is set: several stages with one a core would mostly wait for each
    other."""
    return os.environ.get("OMP_NUM_THREADS") or str(max(1, cores() // jobs))


def as_one_of_them() -> None:
    """Let this process calculate with the threads of a stage; before torch is loaded, and takes all cores."""
    os.environ["OMP_NUM_THREADS"] = threads()
