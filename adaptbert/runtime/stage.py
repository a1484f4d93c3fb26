"""From a command line in dvc.yaml to a call of a stage function.

Paths and names travel by argv (`--out models/pretrain`, with placeholders for what differs from key to key, see
adaptbert.runtime.params.placeholders), values by params.yaml; the signature of a stage function says which is which:

    def domain_transfer(params: DomainTransferParams, *, corpus: str, seed: int, measure: MeasureConfig,
                        init: Path, out: Path, metrics: Path, run: Run) -> None:

- `params`: the section of the stage's own name (below `keyed_by`: the sub-section that this argument names);
- `seed` and every other `Config`: the top-level section of that name;
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
from typing import Any

from adaptbert.base.config import Config
from adaptbert.base.full_disk import full_disk
from adaptbert.codes import Code
from adaptbert.errors import BadParams, UserError, closest, nearest, raise_all, shortened
from adaptbert.runtime import signals
from adaptbert.runtime.garbage import collect_seldom
from adaptbert.runtime.locks import remove_finished, stage_lock
from adaptbert.runtime.params import params_file, placeholders, sound_parts, written_numbers
from adaptbert.runtime.params.written_numbers import Range
from adaptbert.runtime.redaction import hide_in_tracebacks, redacted
from adaptbert.runtime.signals import Interrupted
from adaptbert.runtime.tracking.run import open_run

_SEED = Range(least=0, most=2**64 - 1)
PARAMS = Path("params.yaml")
STAGES = Path("stages")

QUIET = {
    "DO_NOT_TRACK": "true",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DVC_NO_ANALYTICS": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
}


@dataclass(frozen=True)
class Stage:
    """A stage function and where its parameters come from.

    Attributes:
        function: named like its module, its DVC stage and its section.
        keyed_by: the argument that picks a sub-section, e.g. `corpus` for `collect.general`.
        foreach: the part of params.yaml of which dvc.yaml makes a stage each, e.g. `ladder.finetune`.
        code: the folders and files of code that dvc.yaml has among its deps. A stage with a work folder names them,
            because an unfinished run goes on only with the code that it began with (adaptbert.training.resume).
    """

    function: Callable[..., None]
    keyed_by: str | None = None
    foreach: str | None = None
    code: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.function.__name__

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

    def check(self, document: Mapping[str, Any], file: Path) -> list[UserError]:
        """Every error in the sections that this stage reads; rungs that are not in the ladder need none."""
        errors: list[UserError] = []
        ladder = document.get("ladder")
        if self.name not in document and isinstance(ladder, Mapping) and ladder.get(self.name) in ([], {}):
            return errors
        own = self.hints()["params"]
        if self.keyed_by is not None and isinstance(document.get(self.name), Mapping):
            for key, values in document[
                self.name
            ].items():  # a key with a dot cannot be addressed; section_rules refuses it
                place = f"{self.name}.{key}"
                _collect(errors, lambda values=values, place=place: params_file.parse(own, values, place, file))  # type: ignore[misc]
        else:
            _collect(errors, lambda: self._parse(document, self.name, own, file))
        for name, kind in self.sections().items():
            _collect(errors, lambda name=name, kind=kind: self._parse(document, name, kind, file))  # type: ignore[misc]
        return errors

    def run(self, argv: Sequence[str] | None = None) -> None:
        """Run the stage as a process; exits with a code of adaptbert.errors."""
        collect_seldom()
        hide_in_tracebacks()
        signals.raise_at_once()
        sys.exit(_exit_code(lambda: self._run(argv)))

    def _run(self, argv: Sequence[str] | None) -> None:
        if placeholders.STAGE in os.environ:
            signals.die_with_parent()
        os.environ.update({name: os.environ.get(name, value) for name, value in QUIET.items()})
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(
                line_buffering=True
            )  # under DVC stdout is a pipe; progress must not wait in its buffer
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
        _silence_libraries()
        hints = self.hints()
        parser = argparse.ArgumentParser(prog=f"python -m stages.{self.name}", description=self.function.__doc__)
        for name, kind in hints.items():
            if kind in (Path, str):
                parser.add_argument(f"--{name.replace('_', '-')}", required=True)
        words = vars(parser.parse_args(argv))

        remove_finished()
        document = params_file.read(PARAMS)
        check_all(document, PARAMS)
        words = placeholders.fill(words, document, self.name, self.foreach, PARAMS)
        arguments = {name: hints[name](word) for name, word in words.items()}
        key = self.name if self.keyed_by is None else f"{self.name}.{arguments[self.keyed_by]}"
        values = {name: self._parse(document, name, kind, PARAMS) for name, kind in self.sections().items()}
        values["params"] = self._parse(document, key, hints["params"], PARAMS)
        labels = {name: str(value) for name, value in arguments.items() if hints[name] is str}
        with ExitStack() as stack:
            # Locked by output: two stages of one name (task_transfer from two rungs) may run at the same time.
            written = arguments.get("out", Path(self.name))
            folder = stack.enter_context(stage_lock("-".join(part for part in written.parts if part != "/")))
            if "work" in hints:
                values["work"] = hints["work"](folder, self.code)
            if "run" in hints:
                logged = {key: params_file.section(document, key, PARAMS)}
                logged.update({name: document[name] for name in self.sections()})
                values["run"] = stack.enter_context(
                    open_run(self.name, labels, params_file.flatten(logged), params_path=PARAMS)
                )
            self.function(**values, **arguments)

    @staticmethod
    def _parse(document: Mapping[str, Any], key: str, kind: type, file: Path) -> Any:
        value = params_file.section(document, key, file)
        if kind is int:
            if not isinstance(value, int) or isinstance(value, bool):
                shown = f"expected an integer, found {shortened(repr(value))}"
                raise BadParams(
                    Code.WRONG_TYPE, f"{file}: {key}", shown, written_numbers.remedy(value, _SEED, whole=True)
                )
            if not 0 <= value < 2**64:
                problem = f"{value} is out of range"
                raise BadParams(Code.SEED_OUT_OF_RANGE, f"{file}: {key}", problem, "choose one from 0 to 2^64 - 1")
            return value
        return params_file.parse(kind, value, key, file)


def check_all(document: Mapping[str, Any], file: Path) -> None:
    """Raise all errors of `value_errors` and `rule_errors`, of all stages."""
    values = value_errors(document, file)
    raise_all(without_consequences([*values, *rule_errors(document, file, values)], file))


class UnknownSection(BadParams):
    """A top-level section that no stage reads.

    Attributes:
        meant: the most similar known section, if one is similar.
    """

    def __init__(self, name: str, known: Sequence[str], file: Path) -> None:
        self.meant = closest(name, known)
        problem = f"unknown section '{name}'{nearest(name, known)}"
        super().__init__(Code.UNKNOWN_KEY, f"{file}: {name}", problem, f"known: {', '.join(known)}")


def without_consequences(errors: Sequence[UserError], file: Path) -> list[UserError]:
    """Without errors that follow from another: a section counts as missing where its name is mistyped."""
    mistyped = {f"{file}: {error.meant}" for error in errors if isinstance(error, UnknownSection)}
    return [error for error in errors if error.code != Code.UNKNOWN_KEY or error.place not in mistyped]


def rule_errors(document: Mapping[str, Any], file: Path, values: Sequence[UserError]) -> list[UserError]:
    """Contradictions between sections; sections with errors in single values are left out."""
    errors: list[UserError] = []
    wrong = sound_parts.wrong_sections(values, file)
    _collect(errors, lambda: importlib.import_module("adaptbert.project.section_rules").check(document, file, wrong))
    return errors


def value_errors(document: Mapping[str, Any], file: Path) -> list[UserError]:
    """All errors within single sections.

    Imports by name, so that the `deps` of a stage need not list the other stages: a check cannot change a result.
    """
    errors: list[UserError] = []
    known: set[str] = set()
    for module in sorted(path.stem for path in STAGES.glob("*.py") if path.stem != "__init__"):
        stage: Stage = importlib.import_module(f"stages.{module}").STAGE
        errors += [error for error in stage.check(document, file) if str(error) not in map(str, errors)]
        known |= {stage.name, *stage.sections()}
    return errors + [UnknownSection(name, sorted(known), file) for name in sorted(set(document) - known)]


def _collect(errors: list[UserError], check: Callable[[], object]) -> None:
    try:
        check()
    except UserError as error:
        errors.extend(getattr(error, "failures", [error]))


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


def _silence_libraries() -> None:
    """Hide adverts and progress bars of libraries; other warnings stay."""
    logging.getLogger("httpx").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message=".*litlogger.*")
    # Lightning 2.6 uses a name of torch that a later torch will drop; a user cannot change that.
    warnings.filterwarnings("ignore", message=".*LeafSpec.*")
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
