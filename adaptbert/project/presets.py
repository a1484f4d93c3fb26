"""Ready params.yaml files; one for the user's own text names its files below data/own, where own_data brings them."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from adaptbert.codes import Code
from adaptbert.config import load
from adaptbert.config.plan import PLAN
from adaptbert.config.recipe import PARAMS, Recipe
from adaptbert.config.schema.sources import maker
from adaptbert.errors import BadParams, nearest
from adaptbert.project import editing, named_files, own_data, rules

FOLDER = Path("presets")


def names() -> list[str]:
    """Every preset."""
    if not FOLDER.is_dir():
        raise BadParams(Code.PARAMS_FILE, FOLDER, "no such folder", "run adaptbert in the folder of the project")
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def use(name: str, data: Path | None, *, force: bool) -> Iterator[str]:
    """Bring the user's files, and write params.yaml and plan.json: nothing of it where one of them fails.

    Args:
        data: folder of the user's files.
        force: overwrite what exists nowhere else.

    Yields:
        What the user is told.

    Raises:
        BadParams: no such preset, or params.yaml would be lost.
        UserError: the files cannot be brought, see `own_data.bring_folder`.
    """
    preset = text(name, data)
    if not force:
        check_replaceable(PARAMS, data)
    recipe = Recipe(load.document(preset, PARAMS))
    rules.check(recipe)
    brought = own_data.bring_folder(data, force=force) if data is not None else None
    editing.write_recipe(recipe, preset.encode())
    yield f"{PARAMS} is now the preset '{name}', and {PLAN} has its checkpoints and cells"
    if brought is not None:
        yield str(brought)
    if any(maker(path) for _, path in named_files.paths(recipe)):
        subprocess.run([sys.executable, "-m", "examples.docstrings"])  # else its files are still missing
    for _, error in named_files.check(recipe):
        yield f"still missing: {error}"
    if brought is not None and (unnamed := named_files.unnamed(recipe, brought.files)):
        yield f"not named in {PARAMS}: {', '.join(map(str, unnamed))}"


def text(name: str, data: Path | None) -> str:
    """The preset as it will stand in params.yaml.

    Args:
        data: folder of the user's files.
    """
    if name not in names():
        problem = f"no preset '{name}'{nearest(name, names())}"
        raise BadParams(Code.UNKNOWN_KEY, FOLDER, problem, f"known: {', '.join(names())}")
    preset = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    if data is not None and (" data/own/" not in preset or f" data/own/{name}/" in preset):
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
    here = target.read_bytes()
    if here not in [path.read_bytes() for path in FOLDER.glob("*.yaml")] and here != editing.committed(target):
        problem = "holds changes that are neither committed nor a preset"
        files = "" if data is None else f"; to keep it and bring the files alone: {_bring_alone(data)}"
        raise BadParams(Code.CONTRADICTION, target, problem, f"commit it (git commit {target}), or say --force{files}")


def _bring_alone(data: Path) -> str:
    return f"adaptbert use --data {quote(str(data))}"
