"""`adaptbert plan`, `adaptbert check` and `dvc repro` in one call, for a notebook."""

import os
import subprocess
import sys
from pathlib import Path


def run(*stages: str, folder: str | Path = ".") -> None:
    """Plan and check the recipe, and train what is out of date: `adaptbert plan`, `adaptbert check`, `dvc repro`.

    What the commands say is printed. Interrupting ends the stage that runs; the next call goes on from there.

    Args:
        stages: as DVC names them, such as `finetune` or `finetune@mood-general-base`, with all that they need; none:
            all.
        folder: of the project.

    Raises:
        subprocess.CalledProcessError: a command failed; what it printed says why.
    """
    # `python` in the commands of dvc.yaml is this interpreter.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    for command in (["adaptbert.cli", "plan"], ["adaptbert.cli", "check"], ["dvc", "repro", *stages]):
        with subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=Path(folder).expanduser(),
            env={**os.environ, "PATH": path},
            encoding="utf-8",
            errors="replace",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    print(line, end="")
            except BaseException:
                process.terminate()
                raise
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
