"""From a command line in dvc.yaml to a call of a stage function.

Paths of outputs and names travel by argv (`--out models/pretrain`), values and paths of the user's files by
params.yaml; the signature of a stage function says which is which:

    def domain_transfer(params: DomainTransferParams, *, corpus: str, seed: int, measure: MeasureConfig,
                        init: Path, out: Path, metrics: Path, run: Run) -> None:

- `params`: the section of the stage's own name, or `section`: below `keyed_by`, the sub-section that this argument
  names; with `blocks`, the values in force for these arguments (adaptbert.runtime.params.blocks);
- `seed` and every other `Config`: the top-level section of that name, or the place in `at`;
- `Path` and `str`: required options; `run`: the stage's MLflow run; `work`: its work folder.
"""

import argparse
import io
import logging
import os
import sys
import typing
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adaptbert.base import plan as planning
from adaptbert.base.config import Config
from adaptbert.base.plan import Plan
from adaptbert.codes import Code
from adaptbert.core.full_disk import full_disk
from adaptbert.errors import BadParams, UserError, shortened
from adaptbert.runtime import signals
from adaptbert.runtime.code_digest import code_digest
from adaptbert.runtime.garbage import collect_seldom
from adaptbert.runtime.libraries import prepare_libraries
from adaptbert.runtime.locks import remove_finished, stage_lock
from adaptbert.runtime.params import blocks, params_file, plan_file
from adaptbert.runtime.params.all_sections import check_all, collect
from adaptbert.runtime.params.planned_tokens import planned_tokens
from adaptbert.runtime.redaction import hide_in_tracebacks, redacted
from adaptbert.runtime.signals import Interrupted
from adaptbert.runtime.tracking.run import open_run

PARAMS = Path("params.yaml")
UNDER_DVC = "DVC_STAGE"
"""Which DVC sets: `finetune@section-domain-small-1`."""


@dataclass(frozen=True)
class Stage:
    """A stage function and where its parameters come from.

    Attributes:
        function: named like its module, its DVC stage and its section.
        section: of params.yaml; left out, the one of its name.
        keyed_by: the argument that picks a sub-section, e.g. `corpus` for `collect.general`.
        blocks: arguments whose values name blocks of the section that differ from `all`; later ones win.
        at: argument -> its place in params.yaml, with `{name}` for the value of another argument.
    """

    function: Callable[..., None]
    section: str = ""
    keyed_by: str | None = None
    blocks: tuple[str, ...] = ()
    at: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def own(self) -> str:
        """The section of `params`."""
        return self.section or self.name

    def hints(self) -> dict[str, Any]:
        """Argument name -> type."""
        hints = typing.get_type_hints(self.function)
        hints.pop("return", None)
        return hints

    def sections(self) -> dict[str, type]:
        """The other top-level sections that the function reads: name -> type."""
        return {
            name: kind
            for name, kind in self.hints().items()
            if name != "params" and (kind is int or (isinstance(kind, type) and issubclass(kind, Config)))
        }

    def check(self, document: Mapping[str, Any], file: Path, plan: Plan) -> list[UserError]:
        """Every error in the sections that this stage reads; a stage without an entry needs none.

        Args:
            plan: all entries; empty where their names are wrong.
        """
        errors: list[UserError] = []
        for names in self._all_names(document, plan):
            collect(errors, lambda names=names: self.params_of(document, names, file))  # type: ignore[misc]
            for name in self.sections():
                collect(errors, lambda name=name, names=names: self._section(document, name, names, file))  # type: ignore[misc]
        return errors

    def _all_names(self, document: Mapping[str, Any], plan: Plan) -> list[dict[str, str]]:
        """The names of each entry of the plan, by argument; of a stage without entries no names, once."""
        if self.keyed_by is not None:
            # A key with a dot cannot be addressed; section_rules refuses it.
            section = document.get(self.name)
            return [{self.keyed_by: str(key)} for key in section] if isinstance(section, Mapping) else [{}]
        entries = dict(plan).get(self.name)
        return [{}] if entries is None else [entry.names() for entry in entries.values()]

    def params_of(self, document: Mapping[str, Any], names: Mapping[str, str], file: Path) -> Any:
        """The values of the section that are in force for these names.

        Raises:
            BadParams: values that are wrong.
        """
        kind = self.hints()["params"]
        section = params_file.section(document, self.own, file)
        if self.blocks:
            return blocks.parse(kind, section, [names[name] for name in self.blocks], self.own, file)
        if self.keyed_by is not None and isinstance(section, Mapping):
            key = names[self.keyed_by]
            place = f"{self.name}.{key}"
            values = section[key] if key in section else params_file.section(document, place, file)
            return params_file.parse(kind, values, place, file)
        return params_file.parse(kind, section, self.own, file)

    def _section(self, document: Mapping[str, Any], name: str, names: Mapping[str, str], file: Path) -> Any:
        return self._parse(document, self._place(name, names), self.sections()[name], file)

    def _place(self, name: str, names: Mapping[str, str]) -> str:
        """Where the values of an argument stand in params.yaml."""
        return self.at.get(name, name).format(**names)

    def run(self, argv: Sequence[str] | None = None) -> None:
        """Run the stage as a process; exits with a code of adaptbert.errors."""
        collect_seldom()
        hide_in_tracebacks()
        signals.raise_at_once()
        sys.exit(_exit_code(lambda: self._run(argv)))

    def _run(self, argv: Sequence[str] | None) -> None:
        is_under_dvc = UNDER_DVC in os.environ
        if is_under_dvc:
            signals.die_with_parent()
        quieten()
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(
                line_buffering=True
            )  # under DVC stdout is a pipe; progress must not wait in its buffer
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
        hints = self.hints()
        parser = argparse.ArgumentParser(prog=f"python -m stages.{self.name}", description=self.function.__doc__)
        for name, kind in hints.items():
            if kind in (Path, str):
                parser.add_argument(f"--{name.replace('_', '-')}", required=True)
        words = vars(parser.parse_args(argv))

        remove_finished()
        document = params_file.read(PARAMS)
        check_all(document, PARAMS)
        if is_under_dvc:  # in all stages: one of them alone (`dvc repro -s`) does not pass the stage `plan`
            plan_file.check(document, PARAMS, [self.name] if "work" in hints else [])
        arguments = {name: hints[name](word) for name, word in words.items()}
        names = {name: word for name, word in words.items() if hints[name] is str}
        values = {name: self._section(document, name, names, PARAMS) for name in self.sections()}
        values["params"] = self.params_of(document, names, PARAMS)
        with ExitStack() as stack:
            # Locked by output: two stages of one name (task_transfer from two rungs) may run at the same time.
            written = arguments.get("out", Path(self.name))
            folder = stack.enter_context(stage_lock("-".join(part for part in written.parts if part != "/")))
            if "work" in hints:
                values["work"] = hints["work"](folder, code_digest(self.name))
            if "run" in hints:
                logged = self._logged(document, names)
                values["run"] = stack.enter_context(open_run(self.name, names, logged, params_path=PARAMS))
            self.function(**values, **arguments)

    def _logged(self, document: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
        """The values in force, by dotted key."""
        own = {self.own: document[self.own]}
        if self.blocks:
            own[self.name] = blocks.in_force(own[self.name], [names[name] for name in self.blocks])
        elif self.keyed_by is not None:
            own[self.name] = {names[self.keyed_by]: own[self.name][names[self.keyed_by]]}
        others = {
            self._place(name, names): params_file.section(document, self._place(name, names), PARAMS)
            for name in self.sections()
        }
        return {**params_file.flatten({**own, **others}), **self._of_its_rungs(document, names)}

    def _of_its_rungs(self, document: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
        """Of a cell: the tokens that its rung and those below it are trained on, where their budgets say so."""
        if "arm" not in names:
            return {}
        plan = planning.read() if planning.PLAN.is_file() else Plan()  # a stage run by hand needs none
        cell = next((cell for cell in plan.finetune.values() if cell.names() == names), None)
        tokens = None if cell is None else planned_tokens(document, plan, cell.rung)
        return {} if tokens is None else {"pretraining_tokens": tokens}

    @staticmethod
    def _parse(document: Mapping[str, Any], key: str, kind: type, file: Path) -> Any:
        value = params_file.section(document, key, file)
        if kind is int:
            if not isinstance(value, int) or isinstance(value, bool):
                shown = f"expected an integer, found {shortened(repr(value))}"
                raise BadParams(Code.WRONG_TYPE, f"{file}: {key}", shown, "write one from 0 to 2^64 - 1")
            if not 0 <= value < 2**64:
                problem = f"{value} is out of range"
                raise BadParams(Code.SEED_OUT_OF_RANGE, f"{file}: {key}", problem, "choose one from 0 to 2^64 - 1")
            return value
        return params_file.parse(kind, value, key, file)


def _exit_code(body: Callable[[], None]) -> int:
    try:
        body()
    except UserError as error:
        print(redacted(f"error: {error}"), file=sys.stderr)
        return error.exit_code
    except Interrupted as interrupted:
        print(f"{interrupted}; the same command goes on from here", file=sys.stderr)
        return interrupted.exit_code
    except Exception as error:
        full = full_disk(error)
        if full is None:
            raise
        print(f"error: {full}", file=sys.stderr)
        return full.exit_code
    return 0


def quieten() -> None:
    """Set up libraries, switch their telemetry off, hide adverts and progress bars; other warnings stay."""
    prepare_libraries()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message=".*litlogger.*")
    # Lightning 2.6 uses a name of torch that a later torch will drop; a user cannot change that.
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")
