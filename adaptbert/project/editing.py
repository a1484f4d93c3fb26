"""Changes params.yaml and plan.json in the place where the user keeps them: an entry is added by ruamel's round trip,
which keeps comments and the order of keys; a file is written through a link, and with its mode."""

import shutil
import subprocess
import sys
from codecs import BOM_UTF8
from collections.abc import Mapping
from io import StringIO
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptbert.codes import Code
from adaptbert.config import load, plan_file
from adaptbert.config.plan import PLAN
from adaptbert.config.recipe import Recipe
from adaptbert.core.files import atomic_write
from adaptbert.errors import BadParams
from adaptbert.runtime.locks import ROOT

PRESETS = Path("presets")
AS_NEW = ROOT / "new.yaml"
"""A copy of the params.yaml that `adaptbert new` wrote last, by which it knows that nobody changed it."""
_COMMENTS = 31
"""The column at which comments behind values begin."""

if TYPE_CHECKING:
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap


def write(target: Path, content: bytes) -> None:
    """Replace what a file says, at once or not at all.

    The file behind a link is replaced, not the link. The new file has the permissions of the old one, so that what
    only its owner could read stays so.
    """
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
    if here not in [path.read_bytes() for path in (*PRESETS.glob("*.yaml"), *AS_NEW.parent.glob(AS_NEW.name))] and (
        here != committed(file)
    ):
        problem = "holds changes that are neither committed nor a preset"
        raise BadParams(Code.CONTRADICTION, file, problem, f"commit it (git commit {file}), or say --force")


def write_recipe(recipe: Recipe, content: bytes) -> None:
    """Write params.yaml, and the plan.json that belongs to it: both, or neither.

    A kill between the two files leaves an older plan.json, which the first stage refuses with the remedy.

    Args:
        recipe: what the content says.
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


def added(
    keys: tuple[str, ...], values: Mapping[str, Any], document: Mapping[str, Any], file: Path, remedy: str
) -> bytes:
    """The content of the file with a further entry, at the end of its mapping.

    Args:
        keys: of the entry, from the outermost on.
        document: what the file should say then.
        remedy: what the user can do where the file cannot be changed so.

    Raises:
        BadParams: the file would say something else, as with an anchor that stands for several places.
    """
    yaml, before = _round_trip(), file.read_bytes()
    content = mapping = yaml.load(before.decode("utf-8-sig").replace("\r\n", "\n"))
    for key in keys[:-1]:
        mapping = mapping[key]
    _append(mapping, keys[-1], _laid_out(values))
    text = _dumped(yaml, content)
    try:
        means = load.document(text, file)
    except BadParams:
        means = None
    if means != document:
        problem = "written in a way that this command cannot change (anchors)"
        raise BadParams(Code.NOT_EDITABLE, file, problem, remedy)
    mark = BOM_UTF8 if before.startswith(BOM_UTF8) else b""
    return mark + (text.replace("\n", "\r\n") if b"\r\n" in before else text).encode()


def shown(section: str, entries: Mapping[str, Mapping[str, Any]], comment: str = "") -> str:
    """A section as it will stand in the file, with a comment behind its name."""
    from ruamel.yaml.comments import CommentedMap

    laid_out = CommentedMap({section: CommentedMap({name: _laid_out(values) for name, values in entries.items()})})
    if comment:
        laid_out.yaml_add_eol_comment(comment, section, column=_COMMENTS)
    return _dumped(_round_trip(), laid_out)


def in_a_line(values: Mapping[str, Any]) -> str:
    """A mapping in one line; numbers as people write them: 6_000_000, 3.0e-4."""

    def shown(value: Any) -> str:
        if isinstance(value, Mapping):
            return in_a_line(value)
        if isinstance(value, float):
            return f"{value:.1e}".replace("e-0", "e-")
        return f"{value:_}" if isinstance(value, int) and value >= 10_000 else str(value)

    return f"{{{', '.join(f'{key}: {shown(value)}' for key, value in values.items())}}}"


def _round_trip() -> "YAML":
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, sys.maxsize
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _dumped(yaml: "YAML", content: Any) -> str:
    text = StringIO()
    yaml.dump(content, text)
    return text.getvalue()


def _laid_out(values: Any, *, is_entry: bool = True) -> Any:
    """An entry with a line for each of its values, which have one line each."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq
    from ruamel.yaml.scalarstring import SingleQuotedScalarString

    if isinstance(values, Mapping):
        laid_out: Any = CommentedMap({key: _laid_out(value, is_entry=False) for key, value in values.items()})
    elif isinstance(values, list):
        laid_out = CommentedSeq([_laid_out(value, is_entry=False) for value in values])
    elif isinstance(values, str) and values.startswith("?"):  # ruamel writes it without quotes, and reads it as a key
        return SingleQuotedScalarString(values)
    else:
        return values
    if not is_entry or not values:
        laid_out.fa.set_flow_style()
    return laid_out


def _append(mapping: "CommentedMap", name: str, entry: "CommentedMap") -> None:
    """Add an entry. ruamel keeps the comments above the next key with the value before it, so they move on."""
    from ruamel.yaml.tokens import CommentToken

    holder, last = mapping, next(reversed(mapping), None)
    while last is not None and isinstance(holder[last], list | Mapping) and not holder[last].fa.flow_style():
        holder = holder[last]
        last = len(holder) - 1 if isinstance(holder, list) else next(reversed(holder), None)
    if not mapping:
        mapping.fa.set_flow_style()
    mapping[name] = entry
    slot = 0 if isinstance(holder, list) else 2
    token = holder.ca.items[last][slot] if last in holder.ca.items else None
    if token is None:
        return
    own, *rest = token.value.splitlines(keepends=True)
    while rest and len(rest[0]) - len(rest[0].lstrip(" ")) > mapping.lc.col and rest[0].strip():
        own += rest.pop(0)
    token.value = own
    if rest:
        leaf, key = (mapping, name) if entry.fa.flow_style() else (entry, next(reversed(entry)))
        leaf.ca.items[key] = [None, None, CommentToken("\n" + "".join(rest), token.start_mark), None]
