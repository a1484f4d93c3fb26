"""The values in force: those of the block `all` of a section, with what its other blocks say differently.

    domain_transfer:
      all: {budget: {tokens: 26_000_000}, optim: {learning_rate: 5.0e-5, weight_decay: 0.01}}
      small: {optim: {learning_rate: 1.0e-3}}

A block has the name of a start, a corpus, a task or an arm. Later blocks win; mappings are merged key by key.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from adaptbert.base.config import Config
from adaptbert.base.ladder import ALL
from adaptbert.errors import BadParams, UserError, raise_all
from adaptbert.runtime.params import params_file

C = TypeVar("C", bound=Config)

WHOLE = frozenset({"budget"})
"""Mappings of which one key alone has a value, so that another block replaces them."""


def in_force(section: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The values of a stage for these names, in the order in which they win; names without a block change nothing."""
    values: dict[str, Any] = dict(section.get(ALL, {}))
    for name in names:
        if name != ALL and name in section:
            values = _merged(values, section[name])
    return values


def _merged(values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(values)
    for key, other in others.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(other, Mapping) and key not in WHOLE:
            merged[key] = _merged(below, other)
        else:
            merged[key] = other
    return merged


def parse(cls: type[C], section: Mapping[str, Any], names: Sequence[str], key: str, file: Path) -> C:
    """The values in force as a `cls`; an error names the block in which its value stands.

    Args:
        key: of the section, e.g. `domain_transfer`.
    """
    raise_all(no_mappings(section, f"{file}: {key}"))
    try:
        return params_file.parse(cls, in_force(section, names), key, file)
    except UserError as error:
        prefix = f"{file}: {key}"
        failures: list[UserError] = []
        for failure in getattr(error, "failures", [error]):
            path = failure.place.removeprefix(prefix).removeprefix(".")
            parts = path.split(".") if path else []
            place = ".".join([prefix, owner(section, names, parts), *parts])
            failures.append(BadParams(failure.code, place, failure.problem, failure.remedy))
        raise_all(failures)
        raise


def no_mappings(section: Any, place: str) -> list[UserError]:
    """An error for the section, or for each of its blocks, that holds no values."""
    if not isinstance(section, Mapping):
        return [params_file.no_mapping(place, section)]
    wrong = {name: block for name, block in section.items() if not isinstance(block, Mapping)}
    return [params_file.no_mapping(f"{place}.{name}", block) for name, block in wrong.items()]


def owner(section: Mapping[str, Any], names: Sequence[str], path: Sequence[str]) -> str:
    """The last of the blocks that have this value, else `all`; of values that contradict each other, the last block."""
    return next((name for name in reversed(names) if name in section and _has(section[name], path)), ALL)


def _has(values: Any, path: Sequence[str]) -> bool:
    for part in path:
        if not isinstance(values, Mapping) or part not in values:
            return False
        values = values[part]
    return True
