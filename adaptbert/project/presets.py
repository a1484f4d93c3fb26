"""Ready params.yaml files; one for the user's own text names its files below data/own, where own_data brings them."""

import subprocess
from pathlib import Path
from shlex import quote

from adaptbert.codes import Code
from adaptbert.errors import BadParams, nearest

FOLDER = Path("presets")


def names() -> list[str]:
    """Every preset."""
    if not FOLDER.is_dir():
        raise BadParams(Code.PARAMS_FILE, FOLDER, "no such folder", "run adaptbert in the folder of the project")
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def text(name: str, data: Path | None) -> str:
    """The preset as it will stand in params.yaml.

    Args:
        data: folder of the user's files.
    """
    if name not in names():
        problem = f"no preset '{name}'{nearest(name, names())}"
        raise BadParams(Code.UNKNOWN_KEY, FOLDER, problem, f"known: {', '.join(names())}")
    preset = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    if data is not None and " data/own/" not in preset:
        remedy = f"leave --data out, or the preset, to bring the files alone: {_bring_alone(data)}"
        raise BadParams(Code.CONTRADICTION, f"--data {data}", f"preset '{name}' brings its own text", remedy)
    return preset


def check_replaceable(target: Path, data: Path | None = None) -> None:
    """Refuse to overwrite a file that is neither a preset nor committed.

    Args:
        data: folder of files to be brought.
    """
    if not target.is_file():
        return
    here = target.read_text(encoding="utf-8", errors="replace")
    presets = [(FOLDER / f"{name}.yaml").read_text(encoding="utf-8") for name in names()]
    if here not in presets and here != _committed(target):
        problem = "holds changes that are neither committed nor a preset"
        files = "" if data is None else f"; to keep it and bring the files alone: {_bring_alone(data)}"
        raise BadParams(Code.CONTRADICTION, target, problem, f"commit it (git commit {target}), or say --force{files}")


def _bring_alone(data: Path) -> str:
    return f"adaptbert use --data {quote(str(data))}"


def _committed(target: Path) -> str | None:
    """The file as the last commit has it; None without git or a commit."""
    try:
        shown = subprocess.run(["git", "show", f"HEAD:./{target}"], capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return shown.stdout.decode("utf-8", "replace") if shown.returncode == 0 else None
