"""params.yaml: reads it as YAML 1.2 (as DVC does), validates it strictly, and suggests the nearest name.

The classes of its sections are in adaptbert.config.schema. Nothing heavy is imported here: a bad value is reported in
milliseconds, before torch is loaded.
"""

import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from adaptbert.codes import Code
from adaptbert.config import strict_yaml
from adaptbert.config.schema.section import CHANGE, Contradiction, Section
from adaptbert.errors import BadParams, closest, nearest, raise_all, shortened

MAX_BYTES = 1_000_000


C = TypeVar("C", bound=Section)


_BELOW = "write its keys below it, each line indented alike, as in presets/demo.yaml"


def read(path: Path) -> dict[str, Any]:
    """The whole file as plain dicts and lists.

    Raises:
        BadParams: not UTF-8, not YAML 1.2, a key twice, a tag, too large, too deep, or not a mapping.
    """
    if not path.is_file():
        raise BadParams(Code.PARAMS_FILE, path, *_no_file(path))
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise BadParams(Code.PARAMS_FILE, path, f"cannot be read: {error.strerror}", "check its permissions") from None
    if len(raw) > MAX_BYTES:
        problem = f"{len(raw):,} bytes, more than 1 MB"
        raise BadParams(Code.PARAMS_FILE, path, problem, "keep data out of the parameters")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadParams(Code.PARAMS_FILE, path, f"byte {error.start} is not UTF-8", "save the file as UTF-8") from None
    document = strict_yaml.load(text, path)
    if not isinstance(document, dict):
        problem = f"expected a mapping, found {_type_name(document)}"
        raise BadParams(Code.PARAMS_FILE, path, problem, "begin with a section such as `pretrain:`")
    return document


def _no_file(path: Path) -> tuple[str, str]:
    """What is in place of the file, and the remedy."""
    write = "run `adaptbert use demo` to write one"
    if path.is_symlink() and not path.exists():
        return f"a link to {shortened(str(path.readlink()))}, which is not there", f"remove it, then {write}"
    if path.exists():
        what = "a folder" if path.is_dir() else "a pipe, a socket or a device"
        return f"{what}, not a file", f"move it away, then {write}"
    return "file not found", write


def parse(cls: type[C], values: object, key: str, file: Path) -> C:
    """`values` as a `cls`, or one clear error for every value that does not fit.

    Args:
        key: where the values stand in the file, e.g. `domain_transfer`.
    """
    if not isinstance(values, Mapping):
        raise no_mapping(f"{file}: {key}" if key else str(file), values)
    try:
        return cls.model_validate(values)
    except ValidationError as error:
        raise_all([_translate(details, cls, key, file) for details in _merge_alternatives(error.errors(), values)])
        raise


def no_mapping(place: str, value: object) -> BadParams:
    """The error of a value that should have keys."""
    return BadParams(Code.BAD_OPTION, place, f"expected a mapping, found {_type_name(value)}", _BELOW)


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as dotted keys, the form of MLflow parameters and of `dvc exp run -S`."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        key = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(value, Mapping):
            flat.update(flatten(value, key))
        else:
            flat[key] = value
    return flat


def _merge_alternatives(errors: list[ErrorDetails], values: Mapping[str, Any]) -> list[ErrorDetails]:
    """One error for a value of a union, where pydantic has one for each alternative.

    pydantic inserts the name of the alternative into `loc`, where the file has no key.
    """
    merged: list[ErrorDetails] = []
    shallow: dict[tuple[int | str, ...], list[ErrorDetails]] = {}
    for error in errors:
        at = _alternative(error, values)
        if at is None:
            merged.append(error)
        elif error["type"] == "value_error":  # a word where a list of words can stand: its place is that of the list
            merged.append({**error, "loc": error["loc"][:at]})
        elif len(error["loc"]) > at + 1:  # this alternative was meant: something in it is wrong
            merged.append({**error, "loc": (*error["loc"][:at], *error["loc"][at + 1 :])})
        else:
            shallow.setdefault(error["loc"][:at], []).append(error)
    for place, alternatives in shallow.items():
        if not any(error["loc"][: len(place)] == place for error in merged):
            merged.append(
                {**alternatives[0], "loc": place, "ctx": {"expected": " or ".join(map(_expected, alternatives))}}
            )
    return merged


def _alternative(error: ErrorDetails, values: Any) -> int | None:
    """The index in `loc` of the name of an alternative, if there is one."""
    here = values
    for number, part in enumerate(error["loc"]):
        is_there = part in here if isinstance(here, Mapping) else isinstance(here, list) and isinstance(part, int)
        if not is_there:
            return None if error["type"] == "missing" or part == "[key]" else number
        here = here[part]
    return None


def _translate(details: ErrorDetails, cls: type[Section], key: str, file: Path) -> BadParams:
    path = [str(part) for part in details["loc"] if part != "[key]"]  # pydantic marks an error in a key so
    place = f"{file}: {'.'.join([*([key] if key else []), *map(shortened, path)])}".removesuffix(": ")
    kind, value = details["type"], details.get("input")
    if kind == "extra_forbidden":
        known = _fields(cls, path[:-1])
        problem = f"unknown key '{shortened(path[-1])}'{nearest(path[-1], known)}"
        return BadParams(Code.UNKNOWN_KEY, place, problem, f"known: {', '.join(known)}")
    if kind == "missing":
        return BadParams(Code.UNKNOWN_KEY, place, "is missing", "add it")
    if kind == "value_error":
        error = details["ctx"]["error"]
        if isinstance(error, Contradiction):
            return BadParams(error.code, place, str(error), error.remedy)
        return BadParams(Code.CONTRADICTION, place, str(error), CHANGE)
    if kind == "finite_number":
        return BadParams(Code.BAD_OPTION, place, f"{value} is not finite", "write a number")
    if kind in _BOUNDS and isinstance(value, int | float):
        remedy = f"it should be {_expected(details)}"
        return BadParams(Code.BAD_OPTION, place, f"{value} is out of range", remedy)
    if kind == "too_long":
        limits = details["ctx"]
        problem = f"{limits['actual_length']} values are too many"
        return BadParams(Code.BAD_OPTION, place, problem, f"write at most {limits['max_length']}")
    expected = _expected(details)
    remedy = _remedy(kind, value, expected, _fields(cls, path))
    return BadParams(Code.BAD_OPTION, place, f"expected {expected}, found {_shown(value)}", remedy)


_REMEDIES = {
    "bool": "write true or false, without quotes",
    "float": "write a number, without quotes and units",
    "int": "write a whole number, without quotes and units",
    "list": "write a list: [a, b]",
    "string": "write it in quotes",
}
"""First word of an error type of pydantic -> what to do about it."""


def _remedy(kind: str, value: object, expected: str, known: list[str]) -> str:
    """What to write in place of a value of another type.

    Args:
        known: the keys, where a mapping is expected.
    """
    if isinstance(value, str) and (remedy := strict_yaml.look_alike(value)):
        return remedy
    choices = re.findall(r"'([^']+)'", expected)
    if choices:
        meant = closest(value, choices) if isinstance(value, str) else None
        return f"write {meant}" if meant else f"write {choices[0]}" if len(choices) == 1 else "write one of them"
    if value is None:
        return "write a value behind the colon"
    if known:
        return f"its keys are {', '.join(known)}"
    if kind.startswith("list") and isinstance(value, int | float | str):
        more = "" if isinstance(value, str) else ", ..."  # a name can stand alone, a list of numbers may need two
        return f"write it in brackets: [{shortened(str(value))}{more}]"
    return _REMEDIES.get(kind.partition("_")[0], "see docs/parameters.md")


_BOUNDS = {
    "greater_than": "greater than",
    "greater_than_equal": "greater than or equal to",
    "less_than": "less than",
    "less_than_equal": "less than or equal to",
}
"""Error type of pydantic -> the words before the bound, which is the one value of its `ctx`."""

_TYPES = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "float_type": "a number",
    "int_type": "an integer",
    "list_type": "a list",
    "model_type": "a mapping",
    "string_type": "text",
}
"""Error type of pydantic -> the expected type, for users."""

_TOO_SHORT = {"string_too_short": "{} or more characters", "too_short": "a list of {} or more"}


def _expected(details: ErrorDetails) -> str:
    """What the value should be: one of several choices, in quotes; within its bound; of its type."""
    kind, context = details["type"], details.get("ctx", {})
    if "expected" in context:
        return str(context["expected"])
    if kind in _BOUNDS:
        (bound,) = context.values()
        return f"{_BOUNDS[kind]} {int(bound) if bound == int(bound) else bound}"
    if kind in _TOO_SHORT:
        return _TOO_SHORT[kind].format(context["min_length"])
    return _TYPES.get(kind, details["msg"])


def _fields(cls: type[Section], path: list[str]) -> list[str]:
    """The field names at `path` inside `cls`."""
    here: Any = cls
    for part in path:
        if get_origin(here) in (dict, list):  # a key that the user chose, or a place in a list
            here = get_args(here)[-1]
        else:
            field = _by_key(here).get(part) if _is_model(here) else None
            here = field.annotation if field is not None else None
        here = _holding(here)
    if not _is_model(here):
        return []
    return sorted(_by_key(here))


def _by_key(cls: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields as the file calls them."""
    return {field.alias or name: field for name, field in cls.model_fields.items()}


def _holding(annotation: Any) -> Any:
    """The class, mapping or list in an annotation, without what is said of it or may stand in its place."""
    if get_origin(annotation) in (dict, list) or _is_model(annotation):
        return annotation
    return next((inside for part in get_args(annotation) if (inside := _holding(part)) is not None), None)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _shown(value: object) -> str:
    """The type of a value, and the value."""
    if value is None:
        return "nothing"
    return f"{_type_name(value)} {shortened(str(value) if isinstance(value, date) else repr(value))}"


def _type_name(value: object) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", int: "an integer", float: "a number", bool: "a boolean"}
    names |= {date: "a date", datetime: "a date"}
    if isinstance(value, float) and not math.isfinite(value):
        return "not-a-number"
    return "nothing" if value is None else names.get(type(value), type(value).__name__)
