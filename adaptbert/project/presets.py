"""Ready params.yaml files; one for the user's own text names its files in data/own."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.config import load
from adaptbert.config.plan import PLAN
from adaptbert.config.recipe import PARAMS, Recipe
from adaptbert.config.schema.sources import maker
from adaptbert.errors import BadParams, nearest
from adaptbert.project import editing, own_data, rules

FOLDER = Path("presets")


def use(name: str, *, force: bool) -> Iterator[str]:
    """Write params.yaml and plan.json: both, or neither.

    Args:
        force: overwrite a params.yaml that exists nowhere else.

    Yields:
        What the user is told.

    Raises:
        BadParams: no such preset, or params.yaml would be lost.
        BadData: DVC refuses files in data/own.
    """
    preset = text(name)
    if not force:
        check_replaceable(PARAMS)
    recipe = Recipe(load.document(preset, PARAMS))
    rules.check(recipe)
    editing.write_recipe(recipe, preset.encode())
    yield f"{PARAMS} is now the preset '{name}', and {PLAN} has its checkpoints and cells"
    if any(maker(path) for _, path in own_data.paths(recipe)):
        subprocess.run([sys.executable, "-m", "examples.docstrings"])  # else its files are still missing
    if any(own_data.OWN in Path(path).parents for _, path in own_data.paths(recipe)):
        files = [path for path in sorted(own_data.OWN.glob("[!.]*")) if path.suffix != ".dvc"]
        if new := own_data.unrecorded(files):
            own_data.record(new)
            yield f"recorded by DVC: {', '.join(map(str, new))}"
    for _, error in own_data.check(recipe):
        yield f"still missing: {error}"


def text(name: str) -> str:
    """The preset as it will stand in params.yaml."""
    if not FOLDER.is_dir():
        raise BadParams(Code.PARAMS_FILE, FOLDER, "no such folder", "run adaptbert in the folder of the project")
    names = sorted(path.stem for path in FOLDER.glob("*.yaml"))
    if name not in names:
        raise BadParams(
            Code.UNKNOWN_KEY, FOLDER, f"no preset '{name}'{nearest(name, names)}", f"known: {', '.join(names)}"
        )
    return (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


def check_replaceable(target: Path) -> None:
    """Refuse to overwrite a file that is neither a preset nor committed."""
    if not target.is_file():
        return
    here = target.read_bytes()
    if here not in [path.read_bytes() for path in FOLDER.glob("*.yaml")] and here != editing.committed(target):
        problem = "holds changes that are neither committed nor a preset"
        raise BadParams(Code.CONTRADICTION, target, problem, f"commit it (git commit {target}), or say --force")
