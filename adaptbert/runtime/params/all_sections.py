"""Checks params.yaml as a whole: every section by the stages that read it, then what sections say of one another.

Stages and rules are imported by name, so that the `deps` of a stage need not list the others: a check cannot change a
result.
"""

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from adaptbert.base.expansion import Expansion
from adaptbert.codes import Code
from adaptbert.errors import BadParams, UserError, closest, nearest, raise_all
from adaptbert.runtime.params import expanded_ladder, sound_parts

STAGES = Path("stages")


class SectionReader(Protocol):
    """What a check needs of a stage (adaptbert.runtime.stage)."""

    at: Mapping[str, str]

    @property
    def name(self) -> str: ...
    @property
    def has_section(self) -> bool: ...
    def sections(self) -> Iterable[str]: ...
    def check(self, document: Mapping[str, Any], file: Path, ladder: Expansion) -> list[UserError]: ...


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
    collect(errors, lambda: importlib.import_module("adaptbert.project.section_rules").check(document, file, wrong))
    return errors


def value_errors(document: Mapping[str, Any], file: Path) -> list[UserError]:
    """All errors within single sections.

    Raises:
        BadParams: the file is of the older schema, in which every key would be an error.
    """
    importlib.import_module("adaptbert.project.migration.older").refuse(document, file)
    errors: dict[str, UserError] = {}  # by message: cells share blocks, and so errors
    known: set[str] = set()
    try:
        once = {**document["ladder"], "draws": 1}  # whose number, right or wrong, changes no value
        ladder = expanded_ladder.expanded({**document, "ladder": once}, file)
    except (UserError, LookupError, TypeError, AttributeError):  # which the stage `ladder` reports
        ladder = Expansion()
    for module in sorted(path.stem for path in STAGES.glob("*.py") if path.stem != "__init__"):
        stage: SectionReader = importlib.import_module(f"stages.{module}").STAGE
        errors |= {str(error): error for error in stage.check(document, file, ladder)}
        known |= {stage.name} if stage.has_section else set()
        known |= {name for name in stage.sections() if name not in stage.at}
    return [*errors.values(), *(UnknownSection(name, sorted(known), file) for name in sorted(set(document) - known))]


def collect(errors: list[UserError], check: Callable[[], object]) -> None:
    """Add the errors that a check raises."""
    try:
        check()
    except UserError as error:
        errors.extend(getattr(error, "failures", [error]))
