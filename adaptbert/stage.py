"""From a command line in dvc.yaml to a call of a stage function.

Paths of outputs and names travel by argv (`--out models/pretrain`), values and paths of the user's files by
params.yaml; the signature of a stage function says which is which:

    def domain_transfer(params: DomainTransfer, *, corpus: str, base: str, seed: int, measure: Measure, init: Path,
                        out: Path, metrics: Path, run: Run) -> None:

- `params`: the values in force of the stage's section for these names (adaptbert.config.recipe);
- `seed`, `measure`, `weights`, `recipe`: the seed, the section `measure`, the base, params.yaml as a whole;
- `Path` and `str`: required options; `run`: the stage's MLflow run; `work`: its work folder.
"""

import argparse
import io
import logging
import os
import sys
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from adaptbert.config import load, plan, plan_file
from adaptbert.config.code_digest import code_digest
from adaptbert.config.recipe import PARAMS, Recipe
from adaptbert.project.template import check_version
from adaptbert.runtime import signals
from adaptbert.runtime.libraries import collect_seldom, prepare_process, quieten
from adaptbert.runtime.locks import remove_finished, stage_lock
from adaptbert.runtime.mlflow import open_run
from adaptbert.runtime.redaction import guard_streams
from adaptbert.runtime.user_errors import user_errors

UNDER_DVC = "DVC_STAGE"
"""Variable that DVC sets: `finetune@section-domain-small-1`."""


def hints_of(function: Callable[..., None]) -> dict[str, Any]:
    """Argument name of a stage function -> type; those of `**common: Unpack[...]` one by one."""
    hints = typing.get_type_hints(function)
    hints.pop("return", None)
    if (common := hints.pop("common", None)) is not None:
        hints |= typing.get_type_hints(*typing.get_args(common))
    return hints


def run_stage(function: Callable[..., None], argv: Sequence[str] | None = None) -> None:
    """Run a stage function as a process; where it fails, it exits with a code of adaptbert.errors.

    Args:
        function: named like its module and its DVC stage.
        argv: its options; None: those of the process.
    """
    prepare_process()
    collect_seldom()
    guard_streams()
    signals.raise_at_once()
    with user_errors("the same command goes on from here"):
        _run(function, argv)


def _run(function: Callable[..., None], argv: Sequence[str] | None) -> None:
    name = function.__name__
    is_under_dvc = UNDER_DVC in os.environ
    if is_under_dvc:
        signals.die_with_parent()
    quieten()
    if isinstance(sys.stdout, io.TextIOWrapper):  # under DVC a pipe; progress must not wait in its buffer
        sys.stdout.reconfigure(line_buffering=True)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    hints = hints_of(function)
    what_it_does = (sys.modules[function.__module__].__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog=f"python -m stages.{name}", description=what_it_does)
    for option, kind in hints.items():
        if kind in (Path, str):
            parser.add_argument(f"--{option.replace('_', '-')}", required=True)
    words = vars(parser.parse_args(argv))

    # Imported here, as it loads numpy, whose threads are set above.
    from adaptbert.planning.rules import checked

    remove_finished()
    check_version()
    recipe = checked()
    if is_under_dvc:  # in all stages: one of them alone (`dvc repro -s`) does not pass the stage `plan`
        plan_file.check(recipe, [name] if "work" in hints else [])
    arguments = {option: hints[option](word) for option, word in words.items()}
    names = {option: word for option, word in words.items() if hints[option] is str}
    with ExitStack() as stack:
        # Locked by output: two stages of one name (task_transfer from two checkpoints) may run at the same time.
        written = arguments.get("out", Path(name))
        folder = stack.enter_context(stage_lock("-".join(part for part in written.parts if part != "/")))
        if "work" in hints:
            arguments["work"] = hints["work"](folder, code_digest(name))
        values = _values(name, recipe, names, hints)
        if "run" in hints:
            logged = _logged(name, recipe, names, values)
            arguments["run"] = stack.enter_context(open_run(name, names, logged, params_path=PARAMS))
        function(**values, **arguments)


def _values(stage: str, recipe: Recipe, names: Mapping[str, str], wanted: Collection[str]) -> dict[str, Any]:
    """The arguments that come from params.yaml."""
    known: dict[str, Callable[[], Any]] = {
        "params": lambda: recipe.params(stage, names),
        "seed": lambda: recipe.seed,
        "measure": lambda: recipe.values("measure", names),
        "weights": lambda: recipe.bases[names["base"]],
        "recipe": lambda: recipe,
    }
    return {name: known[name]() for name in wanted if name in known}


def _logged(stage: str, recipe: Recipe, names: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values in force, by the section that they stand in; and the tokens below a fine-tuning, if there is a plan: a
    stage that is run by hand needs none."""
    places = {"params": stage, "measure": "measure", "weights": "base", "seed": "seed"}
    logged = {
        places[name]: value if isinstance(value, int) else value.model_dump(exclude_none=True)
        for name, value in values.items()
        if name in places
    }
    tokens = plan_file.tokens_below(recipe, plan.read(), names) if plan.PLAN.is_file() else None
    return load.flatten(logged) | ({} if tokens is None else {"pretraining_tokens": tokens})
