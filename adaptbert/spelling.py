"""How to write a value that params.yaml has in another form: what pydantic found wrong in, a remedy out."""

import re
from collections.abc import Mapping, Sequence
from unicodedata import normalize

from adaptbert import look_alikes
from adaptbert.errors import closest, shortened

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_RANGE = re.compile(r"(\d{1,3}) *(?:-|\.\.|to) *(\d{1,3})")


def spelling(kind: str, value: object, message: str, keys: tuple[Sequence[str], Sequence[str]]) -> str:
    """What to write.

    Args:
        kind: of the error, as pydantic calls it.
        message: of pydantic; of a choice it names all.
        keys: of a mapping that is wanted: those that must be there, and all.
    """
    if " or '" in message or "' or " in message:
        meant = closest(value, re.findall(r"'([^']+)'", message)) if isinstance(value, str) else None
        return f"write {meant}" if meant else "write one of them"
    if value is None:
        return "write a text" if kind.startswith("string") else "write a value behind the colon"
    if kind.startswith(("float", "int")):
        return _number(value, whole=kind.startswith("int"))
    if isinstance(value, str) and (found := look_alikes.find(value)):
        return f"{found.name} stands in it: {found.remedy}"
    if isinstance(value, str) and kind.startswith("bool"):
        return f"write {'true' if value.lower() in ('true', 'yes', 'on') else 'false'} without quotes"
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


def _number(value: object, *, whole: bool) -> str:
    """A number that stands in quotes, with a percent sign, commas between thousands or full-width digits."""
    if isinstance(value, float) and whole:
        return f"write {value:.0f}" if value.is_integer() else "write a whole number"
    text = normalize("NFKC", value).strip() if isinstance(value, str) else ""
    plain = _THOUSANDS.sub("", text.removesuffix("%").strip())
    if _NUMBER.fullmatch(plain):
        if text.endswith("%"):
            return f"write {float(plain) / 100:g}"
        return f"write {plain} without quotes" if plain == value else f"write {plain}"
    if isinstance(value, str) and (found := look_alikes.find(value)):
        return f"{found.name} stands in it: {found.remedy}"
    return "write a whole number, such as 8" if whole else "write a plain number without quotes, such as 1.0e-5"


def _listed(value: float | str) -> str:
    """What belongs between the brackets; 1-5 are five numbers."""
    if isinstance(value, str) and (found := _RANGE.fullmatch(value.strip())):
        return ", ".join(map(str, range(int(found[1]), int(found[2]) + 1)))
    return str(value)
