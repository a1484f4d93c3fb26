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
import importlib
import io
import logging
import os
import sys
import typing
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, ParamSpec

from adaptbert.config import load, plan_file
from adaptbert.config import plan as planning
from adaptbert.config import recipe as recipes
from adaptbert.config.code_digest import code_digest
from adaptbert.config.plan import Plan
from adaptbert.config.recipe import PARAMS, Recipe
from adaptbert.core.files import full_disk
from adaptbert.errors import UserError
from adaptbert.runtime import signals
from adaptbert.runtime.libraries import collect_seldom, prepare_libraries, prepare_process
from adaptbert.runtime.locks import remove_finished, stage_lock
from adaptbert.runtime.mlflow import open_run
from adaptbert.runtime.redaction import guard_streams
from adaptbert.runtime.signals import Interrupted
from adaptbert.runtime.worker_pool import lost_worker

Arguments = ParamSpec("Arguments")
UNDER_DVC = "DVC_STAGE"
"""Variable that DVC sets: `finetune@section-domain-small-1`."""


def checked(path: Path = PARAMS) -> Recipe:
    """params.yaml, valid as a whole.

    Rules between sections are imported by name, so that no stage depends on them: a check cannot change a result.

    Raises:
        BadParams: all that is wrong.
    """
    recipe = recipes.read(path)
    importlib.import_module("adaptbert.project.rules").check(recipe)
    return recipe


@dataclass(frozen=True)
class Stage(Generic[Arguments]):
    """A stage function, named like its module and its DVC stage."""

    function: Callable[Arguments, None]

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        """The function itself, without params.yaml and DVC."""
        self.function(*args, **kwargs)

    @property
    def name(self) -> str:
        return self.function.__name__

    def hints(self) -> dict[str, Any]:
        """Argument name -> type; those of `**common: Unpack[...]` one by one."""
        hints = typing.get_type_hints(self.function)
        hints.pop("return", None)
        if (common := hints.pop("common", None)) is not None:
            hints |= typing.get_type_hints(*typing.get_args(common))
        return hints

    def run(self, argv: Sequence[str] | None = None) -> None:
        """Run the stage as a process; exits with a code of adaptbert.errors."""
        prepare_process()
        collect_seldom()
        guard_streams()
        signals.raise_at_once()
        sys.exit(_exit_code(lambda: self._run(argv)))

    def _run(self, argv: Sequence[str] | None) -> None:
        is_under_dvc = UNDER_DVC in os.environ
        if is_under_dvc:
            signals.die_with_parent()
        quieten()
        if isinstance(sys.stdout, io.TextIOWrapper):  # under DVC a pipe; progress must not wait in its buffer
            sys.stdout.reconfigure(line_buffering=True)
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
        hints = self.hints()
        what_it_does = (sys.modules[self.function.__module__].__doc__ or "").partition("\n")[0]
        parser = argparse.ArgumentParser(prog=f"python -m stages.{self.name}", description=what_it_does)
        for name, kind in hints.items():
            if kind in (Path, str):
                parser.add_argument(f"--{name.replace('_', '-')}", required=True)
        words = vars(parser.parse_args(argv))

        remove_finished()
        recipe = checked()
        if is_under_dvc:  # in all stages: one of them alone (`dvc repro -s`) does not pass the stage `plan`
            plan_file.check(recipe, [self.name] if "work" in hints else [])
        arguments = {name: hints[name](word) for name, word in words.items()}
        names = {name: word for name, word in words.items() if hints[name] is str}
        with ExitStack() as stack:
            # Locked by output: two stages of one name (task_transfer from two checkpoints) may run at the same time.
            written = arguments.get("out", Path(self.name))
            folder = stack.enter_context(stage_lock("-".join(part for part in written.parts if part != "/")))
            if "work" in hints:
                arguments["work"] = hints["work"](folder, code_digest(self.name))
            values = self._values(recipe, names)
            if "run" in hints:
                logged = load.flatten(self._logged(values)) | _tokens_below(recipe, names)
                arguments["run"] = stack.enter_context(open_run(self.name, names, logged, params_path=PARAMS))
            typing.cast(Callable[..., None], self.function)(**values, **arguments)

    def _values(self, recipe: Recipe, names: Mapping[str, str]) -> dict[str, Any]:
        """The arguments that come from params.yaml."""
        known: dict[str, Callable[[], Any]] = {
            "collect": lambda: recipe.corpora[names["corpus"]],
            "collect_task": lambda: recipe.tasks[names["task"]],
            "validate": lambda: recipe.limits,
            "compare": lambda: recipe.compare,
        }
        known |= {
            "params": known.get(self.name, lambda: recipe.values(self.name, names)),
            "seed": lambda: recipe.seed,
            "measure": lambda: recipe.values("measure", names),
            "weights": lambda: recipe.bases[names["base"]],
            "recipe": lambda: recipe,
        }
        return {name: known[name]() for name in self.hints() if name in known}

    def _logged(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values in force, by the section that they stand in."""
        places = {"params": self.name, "measure": "measure", "weights": "base", "seed": "seed"}
        return {
            places[name]: value if isinstance(value, int) else value.model_dump(exclude_none=True)
            for name, value in values.items()
            if name in places
        }


def _tokens_below(recipe: Recipe, names: Mapping[str, str]) -> dict[str, Any]:
    """For a fine-tuning: the tokens that its checkpoint and those below it are trained on, where budgets say so."""
    if "arm" not in names:
        return {}
    plan = planning.read() if planning.PLAN.is_file() else Plan()  # a stage run by hand needs none
    here = next((cell.checkpoint for cell in plan.finetune.values() if cell.names() == names), "")
    total, parents = 0, plan.parents()
    while here and not here.startswith(f"{planning.SCRATCH}/"):
        stage, _, key = here.partition("/")
        tokens = recipe.values(stage, plan.table(stage)[key].names()).tokens
        if tokens is None:
            return {}
        total, here = total + tokens, parents[here] or ""
    return {"pretraining_tokens": total} if here else {}


def _exit_code(body: Callable[[], None]) -> int:
    try:
        body()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except Interrupted as interrupted:
        print(f"{interrupted}; the same command goes on from here", file=sys.stderr)
        return interrupted.exit_code
    except Exception as error:
        if (known := full_disk(error) or lost_worker(error)) is None:
            raise
        print(f"error: {known}", file=sys.stderr)
        return known.exit_code
    return 0


def quieten() -> None:
    """Set up libraries, switch their telemetry off, hide adverts and progress bars; other warnings stay."""
    prepare_libraries()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message=".*litlogger.*")
    # Lightning 2.6 uses a name of torch that a later torch will drop; a user cannot change that.
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")
