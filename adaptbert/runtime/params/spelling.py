"""How to write a value of params.yaml that has a wrong type: an error of pydantic in, a remedy out."""

import re
from collections.abc import Mapping, Sequence

from adaptbert.errors import closest, shortened
from adaptbert.runtime.params import look_alikes, written_numbers
from adaptbert.runtime.params.written_numbers import ANY, Range

_MOST_SEEDS = 10
"""Up to this, `seeds: 5` is taken for a count; a larger number is probably a seed."""
_RANGE = re.compile(r"(\d{1,3}) *(?:-|\.\.|to) *(\d{1,3})")


def spelling(
    kind: str,
    value: object,
    expected: str,
    keys: tuple[Sequence[str], Sequence[str]],
    allowed: Range = ANY,
    name: str = "",
) -> str:
    """The remedy.

    Args:
        kind: of the error, as pydantic calls it.
        expected: what the value should be; of a choice all of them, in quotes.
        keys: where a mapping is expected: its required keys, and all its keys.
        allowed: where a number is expected: its range.
        name: the last part of the key.
    """
    if " or '" in expected or "' or " in expected:
        meant = closest(value, re.findall(r"'([^']+)'", expected)) if isinstance(value, str) else None
        return f"write {meant}" if meant else "write one of them"
    if value is None:
        none = {"dict": "; {} for none", "list": "; [] for none"}.get(kind.partition("_")[0], "")
        return "write a text" if kind.startswith("string") else f"write a value behind the colon{none}"
    if kind.startswith(("float", "int")):
        look_alike = look_alikes.find(value) if isinstance(value, str) else None
        usual = written_numbers.remedy(value, allowed, whole=kind.startswith("int"))
        return f"{look_alike.name} stands in it: {look_alike.remedy}" if look_alike and "such as" in usual else usual
    if isinstance(value, str) and (look_alike := look_alikes.find(value)):
        return f"{look_alike.name} stands in it: {look_alike.remedy}"
    if isinstance(value, str) and kind.startswith("bool"):
        return f"write {'true' if value.lower() in ('true', 'yes', 'on') else 'false'} without quotes"
    if kind.startswith("list") and name == "seeds" and str(value) in map(str, range(1, _MOST_SEEDS + 1)):
        return f"write [{', '.join(map(str, range(1, int(str(value)) + 1)))}]"
    if kind.startswith("list") and isinstance(value, int | float | str):
        return f"write it in brackets: [{_listed(value)}]"
    if kind.startswith(("model", "dict")):
        required, known = keys
        if required:
            return f"write {{{', '.join(f'{name}: ...' for name in required)}}}"
        return f"its keys are {', '.join(known)}" if known else "write {name: value}"
    if kind.startswith("string") and not isinstance(value, list | Mapping):
        return f'write "{shortened(str(value).lower() if isinstance(value, bool) else str(value))}"'
    return "see docs/parameters.md"


def _listed(value: float | str) -> str:
    """The content of the brackets; 1-5 becomes five numbers."""
    if isinstance(value, str) and (match := _RANGE.fullmatch(value.strip())):
        return ", ".join(map(str, range(int(match[1]), int(match[2]) + 1)))
    return str(value)
