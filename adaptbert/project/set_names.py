"""Names of corpora and tasks: they become names of files, of stages and of blocks."""

from collections.abc import Iterator
from pathlib import Path

from adaptbert.base.ladder import is_name, why_no_name
from adaptbert.codes import Code
from adaptbert.errors import BadParams, UserError, shortened
from adaptbert.runtime.params.sound_parts import Sound


def check(document: Sound, file: Path) -> Iterator[UserError]:
    """Every name of a set that cannot be one."""
    for section in ("collect", "collect_task"):
        names = document.names(section)
        for name in names:
            if not is_name(name):
                place = f"{file}: {shortened(f'{section}.{name}')}"
                yield BadParams(Code.BAD_NAME, place, *why_no_name(name, names))
