"""Which preset a params.yaml is, regardless of comments and the folders of the user's data."""

import re
from pathlib import Path

FOLDER = Path("presets")
OWN = "own"

_FOLDER_OF_DATA = re.compile(r"((?:path|train|dev|test): )['\"]?(?:[^\s'\"]*/)?([^\s'\"/]+)['\"]?$")


def preset_name(params_path: Path, folder: Path = FOLDER) -> str:
    """`own` where it is none of those in `folder`."""
    here = _essence(params_path)
    return next((path.stem for path in sorted(folder.glob("*.yaml")) if _essence(path) == here), OWN)


def _essence(path: Path) -> list[str]:
    lines = (line.partition(" #")[0].rstrip() for line in path.read_text(encoding="utf-8").splitlines())
    return [_FOLDER_OF_DATA.sub(r"\1\2", line) for line in lines if line and not line.startswith("#")]
