"""The user's files in data/own, with DVC's records, by which a second clone gets them.

Each has a record of its own, data/own/<file>.dvc, which is committed: of a folder DVC would report a missing file as a
change.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from filecmp import cmp
from pathlib import Path
from shlex import quote

from adaptbert.codes import Code
from adaptbert.core.files import atomic_write
from adaptbert.errors import BadData
from adaptbert.planning.input_files import record_of
from adaptbert.project.dvc_files import record

OWN = Path("data/own")


def homes(files: Iterable[Path]) -> dict[Path, Path]:
    """Given file -> its path from the folder of the project: its own where DVC can record it there, else in data/own.
    Raises BadData where another file has the name there."""
    found: dict[Path, Path] = {}
    for file in files:
        named = Path(os.path.normpath(file.absolute()))
        if Path.cwd() in named.parents and named.parent.resolve() == named.parent:
            found[file] = named.relative_to(Path.cwd())
            continue
        home = OWN / named.name
        others = [other for other in found if found[other] == home] + ([home] if home.exists() else [])
        if file.is_file() and not all(cmp(file, other, shallow=False) for other in others):
            problem = f"{file} would be copied there, and {others[0]} is another file"
            raise BadData(Code.ALREADY_THERE, home, problem, "rename one of the two")
        found[file] = home
    return found


def take(homes: Mapping[Path, Path]) -> list[str]:
    """Copy the files that are not in the project yet, and let DVC record those in data/own; lines for the user."""
    for file, home in homes.items():
        if not home.exists():
            with atomic_write(home) as part:
                shutil.copyfile(file, part)
    if new := [home for home in dict.fromkeys(homes.values()) if OWN in home.parents and record_of(home) is None]:
        record(new)
    return [f"recorded by DVC: {', '.join(map(str, new))}"] if new else []


def left_over(before: Iterable[object], now: Iterable[Path]) -> Iterator[str]:
    """What is said of files in data/own that an earlier params.yaml named in its values: DVC may have the only copy."""
    named = {path for path in map(Path, map(str, before)) if OWN in path.parents and record_of(path)} - {*now}
    if named:
        records = " ".join(quote(f"{record_of(path)}.dvc") for path in sorted(named))
        files = ", ".join(map(str, sorted(named)))
        yield f"of the last `adaptbert new` there is still {files}; to remove it: dvc remove --outs {records}"
