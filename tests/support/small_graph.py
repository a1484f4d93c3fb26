"""Small projects in which a real DVC runs, without git."""

import subprocess
import sys
from pathlib import Path

from tests.support.project import environment


def dvc(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Not checked."""
    command = [sys.executable, "-m", "dvc", *arguments]
    return subprocess.run(command, env=environment(Path.cwd()), capture_output=True, text=True, timeout=120)


def write_graph(graph: str) -> None:
    """The current folder becomes a project with this dvc.yaml."""
    Path(".dvc").mkdir()
    Path(".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    Path("dvc.yaml").write_text(graph)
