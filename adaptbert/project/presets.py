"""Ready params.yaml files: a name and the folder of the user's data in; the text of a whole, valid file out.

A preset for the user's own text names its files below data/own, where adaptbert.project.own_data brings them. In place,
their folder stands there instead: where the preset says data/own/posts.jsonl.gz, the file written says
"/srv/text/posts.jsonl.gz".
"""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from adaptbert.base.files import whole
from adaptbert.codes import Code
from adaptbert.errors import BadParams, nearest

FOLDER = Path("presets")

_OWN = re.compile(r"(?<=: )data/own/(\S+)")
_MOVED = re.compile(r'(?<=: )"/(?:[^"\\\n]|\\.)*?/([^"/\\\n]+)"')


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
    if not _OWN.search(preset):
        remedy = f"leave --data out, or the preset, to bring the files alone: {bring_alone(data)}"
        raise BadParams(Code.CONTRADICTION, f"--data {data}", f"preset '{name}' brings its own text", remedy)
    if not in_place:
        return preset
    folder = data.resolve().as_posix()
    return _OWN.sub(lambda found: json.dumps(f"{folder}/{found[1]}", ensure_ascii=False), preset)


@contextmanager
def replaced(target: Path, content: str) -> Iterator[None]:
    """The file holds `content`; as it was before where the block fails."""
    before = target.read_bytes() if target.is_file() else None
    _write(target, content.encode())
    try:
        yield
    except BaseException:
        if before is None:
            target.unlink()
        else:
            _write(target, before)
        raise


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
    """The command that leaves params.yaml as it is."""
    return f"adaptbert use --data {quote(str(data))}"


def check_replaceable(target: Path, data: Path | None = None) -> None:
    """Refuse to overwrite what exists nowhere else: neither a preset nor what git has.

    Args:
        data: folder of files to be brought.
    """
    if not target.is_file():
        return
    here = target.read_text(encoding="utf-8", errors="replace")
    presets = {(FOLDER / f"{name}.yaml").read_text(encoding="utf-8") for name in names()}
    if not {here, _MOVED.sub(r"data/own/\1", here)} & presets and here != _committed(target):
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


def _write(target: Path, content: bytes) -> None:
    with whole(target) as path:
        path.write_bytes(content)
