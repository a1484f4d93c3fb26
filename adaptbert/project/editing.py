"""Changes params.yaml and plan.json in the place where the user keeps them: an entry is added as lines of text, and no
other line changes; a file is written through a link, and with its mode."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from os.path import realpath
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.config import load, plan_file
from adaptbert.config.plan import PLAN
from adaptbert.config.recipe import PARAMS, Recipe
from adaptbert.core.files import atomic_write
from adaptbert.errors import BadParams
from adaptbert.runtime.locks import ROOT

PRESETS = Path("presets")
AS_NEW = ROOT / "new.yaml"
"""A copy of the params.yaml that `adaptbert new` wrote last, by which it knows that nobody changed it."""
_BY_HAND = "write the block of docs/how-to/own-task.md into it by hand, then run `adaptbert plan`"
_COMMENTS = 31
"""The column at which comments behind values begin."""
Entries = Mapping[str, Mapping[str, Any]]


def write(target: Path, content: bytes) -> None:
    """Replace what a file says, at once or not at all. The file behind a link is replaced, not the link, and what only
    its owner could read stays so."""
    file = Path(realpath(target))
    with atomic_write(file) as part:
        part.write_bytes(content)
        if file.is_file():
            shutil.copymode(file, part)


def committed(file: Path) -> bytes | None:
    """The content that git's last commit has; None without git, or where the file is not committed."""
    try:
        return subprocess.run(["git", "show", f"HEAD:./{file}"], capture_output=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return None


def check_replaceable(file: Path) -> None:
    """Refuse to overwrite a file that exists nowhere else: it is neither committed, nor a preset, nor as `new` wrote
    it."""
    if not file.is_file():
        return
    here = file.read_bytes()
    kept = [path.read_bytes() for path in (*PRESETS.glob("*.yaml"), *AS_NEW.parent.glob(AS_NEW.name))]
    if here not in [*kept, committed(file)]:
        problem = "holds changes that are neither committed nor a preset"
        raise BadParams(Code.CONTRADICTION, file, problem, f"commit it (git commit {file}), or say --force")


def write_recipe(recipe: Recipe, content: bytes) -> None:
    """Write params.yaml with this content, and the plan.json that belongs to it: both, or neither.

    A kill between the two files leaves an older plan.json, which the first stage refuses with the remedy.
    """
    plan = plan_file.text(plan_file.plan(recipe)).encode()
    before = recipe.file.read_bytes() if recipe.file.is_file() else None
    write(recipe.file, content)
    try:
        write(PLAN, plan)
    except BaseException:
        if before is None:
            Path(realpath(recipe.file)).unlink()
        else:
            write(recipe.file, before)
        raise


def added(section: str, entries: Entries, document: Mapping[str, Any]) -> bytes:
    """The content of params.yaml with further entries at the end of a section, which says what the document does then.

    Raises:
        BadParams: it would say something else, as with a section in one line, or an anchor for several places.
    """
    before = PARAMS.read_bytes().decode()
    end = "\r\n" if "\r\n" in before else "\n"
    lines, last, indent = before.split(end), -1, ""
    for number, line in enumerate(lines):
        if line.lstrip("\ufeff").startswith(f"{section}:"):
            last = number
        elif last >= 0 and line.startswith(" ") and line.strip():
            last, indent = number, indent or " " * (len(line) - len(line.lstrip()))
        elif last >= 0 and line and not line.startswith("#"):  # the next section
            break
    lines[last + 1 : last + 1] = _block(entries, indent) if last >= 0 else []
    text = end.join(lines)
    try:
        means = load.document(text.removeprefix("\ufeff"), PARAMS)
    except BadParams:
        means = None
    if means != document:
        problem = f"{section} are written in a way that this command cannot change (in one line, or with anchors)"
        raise BadParams(Code.NOT_EDITABLE, PARAMS, problem, _BY_HAND)
    return text.encode()


def shown(section: str, entries: Entries, comment: str = "") -> str:
    """A section as it will stand in the file, with a comment behind its name."""
    title = f"{section}:" if entries else f"{section}: {{}}"
    title = f"{title:{_COMMENTS}}# {comment}" if comment else title
    return "".join(f"{line}\n" for line in [title, *_block(entries, "  ")])


def _block(entries: Entries, indent: str) -> list[str]:
    lines: list[str] = []
    for name, values in entries.items():
        below = [f"{indent}{indent}{in_a_line(key)}: {in_a_line(value)}" for key, value in values.items()]
        lines += [f"{indent}{in_a_line(name)}:", *below]
    return lines


def in_a_line(value: Any) -> str:
    """Numbers as people write them: 6_000_000, 3.0e-4; text in quotes where it would be read as something else."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{in_a_line(key)}: {in_a_line(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(in_a_line, value))}]"
    if isinstance(value, str):
        quoted, escaped = value.replace("'", "''"), value.encode("unicode_escape").decode().replace('"', '\\"')
        ways = value, f"'{quoted}'", f'"{escaped}"'
        return next((text for text in ways if _is_read_as(text, value)), value)  # else no YAML can hold it
    if isinstance(value, float) and 0 < value < 0.01:
        return f"{value:.1e}".replace("e-0", "e-")
    is_long = isinstance(value, int) and value >= 10_000
    return f"{value:_}" if is_long else json.dumps(value)


def _is_read_as(text: str, value: str) -> bool:
    try:
        return bool(load.document(f"x: {text}\ny: [{text}]", Path()) == {"x": value, "y": [value]})
    except BadParams:
        return False
