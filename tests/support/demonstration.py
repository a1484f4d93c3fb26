"""The files of `presets/smoke.yaml`, made once for all tests; those of the demonstration have the same names."""

import shutil
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir

from adaptbert.config.schema.sources import DEMONSTRATIONS
from adaptbert.core.files import write_json
from examples.docstrings import RECORD, SETS, made_of, write


def own_run() -> bool:
    """Whether metrics/comparison.json is another than the committed one: the user's, not the demonstration's."""
    done = subprocess.run(["git", "show", "HEAD:./metrics/comparison.json"], capture_output=True)
    return done.returncode != 0 or done.stdout != Path("metrics/comparison.json").read_bytes()


def copy(root: Path, most: int | None = None) -> None:
    """Both folders in a project, as if they had just been made.

    Args:
        most: lines of a corpus; None: all.
    """
    for folder, packages in zip(DEMONSTRATIONS, SETS.values(), strict=True):
        shutil.copytree(_made(), root / folder)
        for corpus in ("general", "domain"):
            file = root / folder / f"{corpus}.jsonl"
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            file.write_text("".join(lines[:most]), encoding="utf-8")
        write_json(root / folder / RECORD, made_of(packages))


@cache
def _made() -> Path:
    packages = SETS["smoke"]
    folder = Path(gettempdir(), f"adaptbert-smoke-{sha256(str(made_of(packages)).encode()).hexdigest()[:16]}")
    if not folder.is_dir():
        write(folder, packages)
    return folder
