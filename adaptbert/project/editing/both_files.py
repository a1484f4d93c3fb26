"""params.yaml and ladder.yaml written by one command: both, or none where something fails."""

from codecs import BOM_UTF8
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptbert.base.expansion import LADDER, Expansion
from adaptbert.project.editing import replacing
from adaptbert.runtime.params import expanded_ladder
from adaptbert.runtime.params.all_sections import check_all


def check(document: Mapping[str, Any], file: Path) -> Expansion:
    """What ladder.yaml would hold; raises every error that a stage would report of the values."""
    check_all(document, file)
    return expanded_ladder.expanded(document, file)


def write(text: str, document: Mapping[str, Any], file: Path, ladder: Path = LADDER) -> Expansion:
    """Replace both files.

    A kill between the two leaves an older ladder.yaml, which the first stage refuses with the remedy.

    Args:
        text: of params.yaml.
        document: what it says, valid.
    """
    expansion = check(document, file)
    before = file.read_bytes()
    if b"\r\n" in before:
        text = text.replace("\n", "\r\n")
    if before.startswith(BOM_UTF8):
        text = f"{BOM_UTF8.decode()}{text}"
    with replacing.replaced(file, text):
        replacing.write(ladder, expanded_ladder.text(expansion).encode())
    return expansion
