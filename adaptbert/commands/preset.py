"""`adaptbert use`."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from adaptbert.codes import Code
from adaptbert.commands.errors import user_errors
from adaptbert.errors import BadParams

CHECK = "now run: adaptbert check"
CHECK_NAMES = "now correct the names of files and columns in params.yaml, and run: adaptbert check"


def use(
    preset: Annotated[
        str | None,
        typer.Argument(
            metavar="[PRESET]",
            help="zh-public, en-public, tapt-only, gpu-base, weibo, biomed, demo or smoke; without it, "
            "only copy the files of --data.",
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with your files, copied into data/own and tracked by DVC.")
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite params.yaml or files in data/own even if they exist nowhere else."),
    ] = False,
) -> None:
    """Write params.yaml from a preset.

    plan.json is written with it. With --data, your files are copied into the project first. Without a preset, only
    the files are copied.
    """
    from adaptbert.project import own_data, presets

    with user_errors():
        if data is not None:
            own_data.check_folder(data)
        if preset is not None:
            _use_preset(preset, data, force=force)
        elif data is None:
            problem = "neither a preset nor --data was named"
            raise BadParams(Code.UNKNOWN_KEY, presets.FOLDER, problem, f"known presets: {', '.join(presets.names())}")
        else:
            summary = own_data.bring(data, force=force)
            own_data.record(summary.files)
            print(summary)
            print("params.yaml is unchanged")
    print(CHECK if data is None else CHECK_NAMES)


def _use_preset(name: str, data: Path | None, *, force: bool) -> None:
    from adaptbert.config import plan_file
    from adaptbert.config.plan import PLAN
    from adaptbert.config.recipe import PARAMS
    from adaptbert.config.schema.sources import maker
    from adaptbert.project import named_files, own_data, presets
    from adaptbert.project.editing import replacing
    from adaptbert.runtime.stage import checked

    text = presets.text(name, data)
    if not force:
        presets.check_replaceable(PARAMS, data)
    summary = None if data is None else own_data.bring(data, force=force)
    with replacing.replaced(PARAMS, text):
        recipe = checked()
        with replacing.replaced(PLAN, plan_file.text(plan_file.plan(recipe))):
            if summary is not None:
                own_data.record(summary.files)
    print(f"{PARAMS} is now the preset '{name}', and {PLAN} has its checkpoints and cells")
    if summary is not None:
        print(summary)
    if any(maker(path) for _, path in named_files.paths(recipe)):
        subprocess.run([sys.executable, "-m", "examples.docstrings"])  # else its files are still missing
    for _, error in named_files.check(recipe):
        print(f"still missing: {error}")
    if summary is not None and (unnamed := named_files.unnamed(recipe, summary.files)):
        print(f"not named in {PARAMS}: {', '.join(map(str, unnamed))}")
