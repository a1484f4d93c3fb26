"""How to write a value that params.yaml has in another form: what pydantic found wrong in, a remedy out."""

import re
from collections.abc import Mapping, Sequence

from adaptbert.errors import closest, shortened
from adaptbert.runtime.params import look_alikes, written_numbers
from adaptbert.runtime.params.written_numbers import ANY, Range

_MOST_SEEDS = 10
"""A larger number is hardly how many of them are meant."""
_RANGE = re.compile(r"(\d{1,3}) *(?:-|\.\.|to) *(\d{1,3})")


def spelling(
    kind: str,
    value: object,
    expected: str,
    keys: tuple[Sequence[str], Sequence[str]],
    allowed: Range = ANY,
    name: str = "",
) -> str:
    """What to write.

    Args:
        kind: of the error, as pydantic calls it.
        expected: what the value should be; of a choice all of them, in quotes.
        keys: of a mapping that is wanted: those that must be there, and all.
        allowed: of a number that is wanted.
        name: the last part of the key.
    """
    if " or '" in expected or "' or " in expected:
        meant = closest(value, re.findall(r"'([^']+)'", expected)) if isinstance(value, str) else None
        return f"write {meant}" if meant else "write one of them"
    if value is None:
        return "write a text" if kind.startswith("string") else "write a value behind the colon"
    if kind.startswith(("float", "int")):
        found = look_alikes.find(value) if isinstance(value, str) else None
        usual = written_numbers.remedy(value, allowed, whole=kind.startswith("int"))
        return f"{found.name} stands in it: {found.remedy}" if found and "such as" in usual else usual
    if isinstance(value, str) and (found := look_alikes.find(value)):
        return f"{found.name} stands in it: {found.remedy}"
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
    """What belongs between the brackets; 1-5 are five numbers."""
    if isinstance(value, str) and (found := _RANGE.fullmatch(value.strip())):
        return ", ".join(map(str, range(int(found[1]), int(found[2]) + 1)))
    return str(value)
