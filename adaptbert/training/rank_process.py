"""The process of a further device: `python -m adaptbert.training.rank_process MODULE:FUNCTION RANK WORLD STORE`.

adaptbert.training.launchers starts it; the function is called with the other three.
"""

import os
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name


def main(function: str, rank: str, world: str, store: str) -> None:
    """Call the function of that name; the process ends as the function does."""
    resolve_name(function)(int(rank), int(world), store)


def command(function: str, rank: int, world: int, store: str) -> list[str]:
    """The command line of a rank."""
    return [sys.executable, "-m", __name__, function, str(rank), str(world), store]


def run(folder: str, function: str, rank: int, world: int, store: str) -> int:
    """Run a rank on this machine to its end: the task that a cluster runs.

    Args:
        folder: of the stage.

    Returns:
        The exit status, negative for a signal.

    Raises:
        FileNotFoundError: the folder is not here.
    """
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"this machine has no folder {folder}: it must be on a file system of all machines")
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        command(function, rank, world, store), cwd=folder, env=os.environ | path, stdin=subprocess.DEVNULL
    ).returncode


if __name__ == "__main__":
    main(*sys.argv[1:])
