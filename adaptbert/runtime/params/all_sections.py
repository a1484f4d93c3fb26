"""Checks params.yaml as a whole: every section by the stages that read it, then what sections say of one another.

Stages and rules are imported by name, so that the `deps` of a stage need not list the others: a check cannot change a
result.
"""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from adaptbert.base.plan import Plan
from adaptbert.codes import Code
from adaptbert.errors import BadParams, UserError, nearest, raise_all
from adaptbert.runtime.params import plan_file

STAGES = Path("stages")


def check_all(document: Mapping[str, Any], file: Path) -> None:
    """Raise all errors within single sections; where there is none, all contradictions between sections."""
    errors: dict[str, UserError] = {}  # by message: cells share blocks, and so errors
    known: set[str] = set()
    try:
        once = {**document["ladder"], "draws": 1}  # whose number, right or wrong, changes no value
        plan = plan_file.names({**document, "ladder": once}, file)
    except (UserError, LookupError, TypeError, AttributeError, ValueError):  # which the stage `plan` reports
        plan = Plan()
    for module in sorted(path.stem for path in STAGES.glob("*.py") if path.stem != "__init__"):
        stage = importlib.import_module(f"stages.{module}").STAGE
        errors |= {str(error): error for error in stage.check(document, file, plan)}
        known |= {stage.own, *(name for name in stage.sections() if name not in stage.at)}
    raise_all([*errors.values(), *(_unknown(name, sorted(known), file) for name in sorted(set(document) - known))])
    importlib.import_module("adaptbert.project.section_rules").check(document, file)


def _unknown(name: str, known: list[str], file: Path) -> BadParams:
    problem = f"unknown section '{name}'{nearest(name, known)}"
    return BadParams(Code.UNKNOWN_KEY, f"{file}: {name}", problem, f"known: {', '.join(known)}")


def collect(errors: list[UserError], check: Callable[[], object]) -> None:
    """Add the errors that a check raises."""
    try:
        check()
    except UserError as error:
        errors.extend(getattr(error, "failures", [error]))
