"""The files of `adaptbert use smoke`, made once for all tests; those of the demonstration have the same names."""

from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir

from adaptbert.config.schema.sources import DEMONSTRATIONS
from adaptbert.core.files import write_json
from examples.docstrings import RECORD, SETS, made_of, write


def link(root: Path) -> None:
    """Both folders in a project, as if they had just been made."""
    for folder, packages in zip(DEMONSTRATIONS, SETS.values(), strict=True):
        (root / folder).mkdir(parents=True)
        for file in _made().glob("*.jsonl"):
            (root / folder / file.name).symlink_to(file)
        write_json(root / folder / RECORD, made_of(packages))


@cache
def _made() -> Path:
    packages = SETS["smoke"]
    folder = Path(gettempdir(), f"adaptbert-smoke-{sha256(str(made_of(packages)).encode()).hexdigest()[:16]}")
    if not folder.is_dir():
        write(folder, packages)
    return folder
