"""A model of the hub as a download leaves it, in Hugging Face's own cache; tests read it offline (conftest.py)."""

import os
import shutil
from pathlib import Path

REVISION = "0123456789abcdef0123456789abcdef01234567"


def in_cache(name: str, source: Path) -> Path:
    """The snapshot of `acme/<name>`: links to blobs, which are the files of `source`."""
    home = Path(os.environ["HF_HOME"]) / f"hub/models--acme--{name}"
    shutil.rmtree(home, ignore_errors=True)
    snapshot = home / "snapshots" / REVISION
    for folder in (snapshot, home / "refs", home / "blobs"):
        folder.mkdir(parents=True)
    (home / "refs/main").write_text(REVISION)
    for number, file in enumerate(sorted(source.iterdir())):
        shutil.copy(file, home / f"blobs/{number}")
        (snapshot / file.name).symlink_to(f"../../blobs/{number}")
    return snapshot
