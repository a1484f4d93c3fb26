"""A project of three stages that a real DVC has run, without git."""

import subprocess
import sys
from pathlib import Path

from tests.support.project import environment

GRAPH = """
stages:
  words:
    cmd: date +%N >> ran.txt; mkdir -p out/words; echo a > out/words/a; echo '{"a":1}' > out/words.json
    deps: [in.txt]
    outs: [out/words]
    metrics: [{out/words.json: {cache: false}}]
  count:
    foreach: {one: {n: 1}, two: {n: 2}}
    do:
      cmd: date +%N >> ran.txt; mkdir -p out; echo ${item.n} > out/${key}
      deps: [out/words]
      outs: ["out/${key}"]
"""


def dvc(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Not checked."""
    command = [sys.executable, "-m", "dvc", *arguments]
    return subprocess.run(command, env=environment(Path.cwd()), capture_output=True, text=True, timeout=120)


def reproduce(root: Path) -> Path:
    """Make a project in this folder that is up to date; the tests work on copies."""
    (root / ".dvc").mkdir()
    (root / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    (root / "dvc.yaml").write_text(GRAPH)
    (root / "in.txt").write_text("text")
    command = [sys.executable, "-m", "dvc", "repro"]
    subprocess.run(command, cwd=root, env=environment(root), check=True, capture_output=True)
    return root
