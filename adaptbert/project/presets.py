"""Ready params.yaml files: a name and the folder of the user's data in; the text of a whole, valid file out.

A preset for the user's own text names its files below data/own, where adaptbert.project.own_data brings them. In place,
their folder stands there instead: where the preset says data/own/posts.jsonl.gz, the file written says
"/srv/text/posts.jsonl.gz".
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from adaptbert.codes import Code
from adaptbert.errors import BadParams, nearest

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node, ScalarNode

FOLDER = Path("presets")
OWN = "data/own/"


def names() -> list[str]:
    """Every preset."""
    if not FOLDER.is_dir():
        raise BadParams(Code.NO_PARAMS, FOLDER, "no such folder", "run adaptbert in the folder of the project")
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def text(name: str, data: Path | None, *, in_place: bool = False) -> str:
    """The preset as it will stand in params.yaml.

    Args:
        data: folder of the user's files, if they are not in data/own.
        in_place: name the files where they are, in `data`, and not in data/own.
    """
    if name not in names():
        problem = f"no preset '{name}'{nearest(name, names())}"
        raise BadParams(Code.UNKNOWN_KEY, FOLDER, problem, f"known: {', '.join(names())}")
    preset = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    if data is None:
        if in_place:
            problem = "without --data nothing is brought"
            raise BadParams(Code.CONTRADICTION, "--in-place", problem, "name the folder: --data FOLDER")
        return preset
    if not _own_files(preset):
        remedy = f"leave --data out, or the preset, to bring the files alone: {bring_alone(data)}"
        raise BadParams(Code.CONTRADICTION, f"--data {data}", f"preset '{name}' brings its own text", remedy)
    if not in_place:
        return preset
    return _moved(preset, data.resolve().as_posix())


def _own_files(preset: str) -> list["ScalarNode"]:
    """The values that name files below data/own, in the order of the text."""
    from ruamel.yaml import YAML

    return [node for node in _values(YAML(typ="safe", pure=True).compose(preset)) if node.value.startswith(OWN)]


def _values(node: "Node") -> Iterator["ScalarNode"]:
    from ruamel.yaml.nodes import MappingNode, ScalarNode

    if isinstance(node, ScalarNode):
        yield node
    else:
        for inside in node.value:
            yield from _values(inside[1] if isinstance(node, MappingNode) else inside)


def _moved(preset: str, folder: str) -> str:
    """The preset with `folder` in place of data/own; comments and the columns of its tables stay."""
    for node in reversed(_own_files(preset)):
        path = json.dumps(f"{folder}/{node.value.removeprefix(OWN)}", ensure_ascii=False)
        preset = preset[: node.start_mark.index] + path + preset[node.end_mark.index :]
    return preset


def _is_moved(text: str, preset: str) -> bool:
    """Whether the text is this preset after `_moved`, for any folder."""
    files = _own_files(preset)
    try:  # before the first of these values, both texts are alike
        path, _ = json.JSONDecoder().raw_decode(text, files[0].start_mark.index)
    except (IndexError, ValueError):
        return False
    return isinstance(path, str) and text == _moved(preset, path.removesuffix(files[0].value.removeprefix(OWN))[:-1])


def alone(data: Path | None, *, in_place: bool) -> Path:
    """The folder whose files are brought without a preset.

    Raises:
        BadParams: there is none, or it is to stay where it is.
    """
    if data is None:
        problem = "neither a preset nor --data was named"
        raise BadParams(Code.UNKNOWN_KEY, FOLDER, problem, f"known presets: {', '.join(names())}")
    if in_place:
        problem = "only with a preset, which names the files"
        raise BadParams(Code.CONTRADICTION, "--in-place", problem, f"leave it out, or name one of {', '.join(names())}")
    return data


def bring_alone(data: Path) -> str:
    """The command that copies files and leaves params.yaml unchanged."""
    return f"adaptbert use --data {quote(str(data))}"


def check_replaceable(target: Path, data: Path | None = None) -> None:
    """Refuse to overwrite a file that is neither a preset nor committed.

    Args:
        data: folder of files to be brought.
    """
    if not target.is_file():
        return
    here = target.read_text(encoding="utf-8", errors="replace")
    presets = [(FOLDER / f"{name}.yaml").read_text(encoding="utf-8") for name in names()]
    is_preset = any(here == preset or _is_moved(here, preset) for preset in presets)
    if not is_preset and here != _committed(target):
        problem = "holds changes that are neither committed nor a preset"
        files = "" if data is None else f"; to keep it and bring the files alone: {bring_alone(data)}"
        raise BadParams(Code.CONTRADICTION, target, problem, f"commit it (git commit {target}), or say --force{files}")


def _committed(target: Path) -> str | None:
    """The file as the last commit has it; None without git or a commit."""
    try:
        shown = subprocess.run(["git", "show", f"HEAD:./{target}"], capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return shown.stdout.decode("utf-8", "replace") if shown.returncode == 0 else None
