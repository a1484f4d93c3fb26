"""params.yaml: YAML 1.2, as DVC reads it -> plain dicts and lists -> typed values, or an error for each that is wrong.

Stricter than YAML: keys are text, a key comes once, values are plain, their number and depth are bounded. For any text
the result is a document or a BadParams. The classes of the sections are in adaptbert.config.schema. Nothing heavy is
imported here: a bad value is reported in milliseconds, before torch is loaded.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.constructor import ConstructorError, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from adaptbert.codes import Code
from adaptbert.config.schema.section import Contradiction, Section
from adaptbert.errors import BadParams, Place, closest, nearest, raise_all, shortened

MAX_BYTES = 1_000_000
MAX_VALUES = 10_000
MAX_BITS = 128
"""Longest integer: no value needs more than 64, and Python refuses to print one of many thousands."""
_TEXT, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"
_PLAIN = (str, int, float, type(None), date, list, dict)
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
"""Characters that escapes can produce and that neither a path nor UTF-8 can contain."""
_LOOK_ALIKE = re.compile("[：“”„‘’]")
_UNHOLDABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions of ruamel's constructors for values that match a type and cannot be converted."""
_WRITE = (
    "check this line and the one above: blanks in place of tabs, a blank behind a colon, each key once, all lines of a"
    " section in one column, brackets and quotes closed, text with other signs in quotes"
)

C = TypeVar("C", bound=Section)


def read(path: Path) -> dict[str, Any]:
    """The whole file as plain dicts and lists.

    Raises:
        BadParams: not a file, not UTF-8, too large, not YAML as `document` reads it, or not a mapping.
    """
    if not path.is_file():
        what = "a folder" if path.is_dir() else "something else"
        there = path.exists() or path.is_symlink()
        remedy = f"{'move it away, then ' if there else ''}write one: `adaptbert new .`"
        raise BadParams(Code.PARAMS_FILE, path, f"{what}, not a file" if there else "file not found", remedy)
    if (size := path.stat().st_size) > MAX_BYTES:
        problem = f"{size:,} bytes, more than 1 MB"
        raise BadParams(Code.PARAMS_FILE, path, problem, "keep data out of the parameters")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise BadParams(Code.PARAMS_FILE, path, f"cannot be read: {error.strerror}", "check its permissions") from None
    except UnicodeDecodeError as error:
        raise BadParams(Code.PARAMS_FILE, path, f"byte {error.start} is not UTF-8", "save the file as UTF-8") from None
    values = document(text, path)
    if not isinstance(values, dict):
        problem = f"expected a mapping, found {_shown(values)}"
        raise BadParams(Code.PARAMS_FILE, path, problem, "begin with a section such as `pretrain:`")
    return values


# ---- text -> plain values


class _TooManyValues(Exception):
    pass


class _Composer(Composer):
    """Counts the values, as many as they are once aliases are expanded, before a megabyte of them is read."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader)
        self.values, self.sizes = 0, dict[int, int]()

    def compose_node(self, parent: Any, index: Any) -> Any:
        is_alias, before = self.parser.check_event(AliasEvent), self.values
        node = super().compose_node(parent, index)
        if is_alias:
            self.values += self.sizes.get(id(node), MAX_VALUES)  # one inside itself has no size yet, and no end
        else:
            is_key = isinstance(parent, MappingNode) and index is None
            self.values += not is_key
            self.sizes[id(node)] = max(1, self.values - before)  # a key as well, which an alias makes a value
        if self.values > MAX_VALUES:
            raise _TooManyValues
        return node


class _Constructor(SafeConstructor):
    def construct_mapping(self, node: Node, deep: bool = False) -> Any:
        for key, _ in node.value if isinstance(node, MappingNode) else ():
            if str(key.tag) not in (_TEXT, _MERGE):
                raise _wrong(key, "a key is not text: it needs quotes")
        return super().construct_mapping(node, deep)

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
        except _UNHOLDABLE:
            raise _wrong(node, "is no value") from None
        if not isinstance(value, _PLAIN) or (isinstance(value, int) and value.bit_length() > MAX_BITS):
            raise _wrong(node, "is no plain value")
        if isinstance(value, str) and _NOT_TEXT.search(value):
            raise _wrong(node, "holds NUL or half of a character")
        return value


def _wrong(node: Node, problem: str) -> ConstructorError:
    shown = f"'{shortened(repr(node.value)[1:-1], 30)}' " if isinstance(node, ScalarNode) else ""
    return ConstructorError(problem=f"{shown}{problem}", problem_mark=node.start_mark)


def document(text: str, path: Path) -> Any:
    """The values that a text in YAML 1.2 says; None where there are none.

    Args:
        path: for the messages.

    Raises:
        BadParams: not YAML 1.2, a key twice or one that is not text, a value that is not plain, too deep, too many
            values once aliases are expanded.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer, yaml.Constructor = _Composer, _Constructor
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedAnchorWarning)  # YAML allows it (section 3.2.2.2)
            return yaml.load(text)
    except _TooManyValues:
        problem, remedy = f"more than {MAX_VALUES:,} values", "remove the anchors, and keep data out of the file"
        raise BadParams(Code.PARAMS_FILE, path, problem, remedy) from None
    except RecursionError:
        raise BadParams(Code.PARAMS_FILE, path, "nested too deep", "flatten the file") from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(str(path), line=None if mark is None else mark.line + 1)
        lines = [re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines()[: place.line or 0]]
        hint = look_alike("\n".join([line for line in lines if line.strip()][-2:]))  # it shows only in the next line
        problem = f"not YAML: {shortened(str(error.problem).splitlines()[0])}"
        raise BadParams(Code.PARAMS_FILE, place, problem, hint or _WRITE) from None
    except (YAMLError, OverflowError, ValueError) as error:  # of an escape such as "\UFFFFFFFF"
        problem = f"not YAML: {str(error).splitlines()[0]}"
        raise BadParams(Code.PARAMS_FILE, path, problem, "write it as it is") from None


def look_alike(text: str) -> str | None:
    """How to write the first full-width colon or curly quote, which input methods and word processors insert."""
    match = _LOOK_ALIKE.search(text)
    if match is None:
        return None
    is_colon = match[0] == "："
    what, plain = ("a full-width colon", "':' and a blank") if is_colon else ("a curly quote", "a straight one")
    return f"{what} (U+{ord(match[0]):04X}) stands in it: write {plain}"


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as dotted keys, the form of MLflow parameters and of `dvc exp run -S`."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        key = f"{prefix}.{name}" if prefix else str(name)
        flat |= flatten(value, key) if isinstance(value, Mapping) else {key: value}
    return flat


# ---- plain values -> typed ones


def parse(cls: type[C], values: object, key: str, file: Path) -> C:
    """`values` as a `cls`, or one clear error for every value that does not fit.

    Args:
        key: where the values stand in the file, e.g. `domain_transfer`; empty: they are the file.
    """
    at = (key,) if key else ()
    if not isinstance(values, Mapping):
        remedy = "write its keys below it, each line indented alike, as in docs/parameters.md"
        problem = f"expected a mapping, found {_shown(values)}"
        raise BadParams(Code.BAD_OPTION, Place(str(file), at), problem, remedy)
    try:
        return cls.model_validate(values)
    except ValidationError as error:
        found: dict[tuple[str, ...], list[ErrorDetails]] = {}
        for details in error.errors():
            found.setdefault(_keys(details, values), []).append(details)
        # Of a value that may be of several kinds, an error inside it says which kind was meant.
        outer = {keys[:length] for keys in found for length in range(len(keys))}
        raise_all(
            [_error(found[keys], cls, keys, Place(str(file), (*at, *keys))) for keys in found if keys not in outer]
        )
        raise


def _keys(details: ErrorDetails, values: Any) -> tuple[str, ...]:
    """Keys as in the file: pydantic adds the name of a kind where a value may be of several, and marks for keys."""
    keys, here = [], values
    for part in details["loc"]:
        if isinstance(here, list) and isinstance(part, str):  # that may hold mappings, as that of arms
            here = next((each for each in here if isinstance(each, Mapping) and part in each), None)
        if part in here if isinstance(here, Mapping) else isinstance(here, list) and isinstance(part, int):
            here = here[part]
            keys.append(str(part))
        elif details["type"] == "missing":
            keys.append(str(part))
    return tuple(keys)


def _error(alternatives: Sequence[ErrorDetails], cls: type[Section], keys: Sequence[str], place: Place) -> BadParams:
    """One error of a value.

    Args:
        alternatives: what pydantic says of it, once for each kind that the value may be of.
    """
    details = alternatives[0]
    kind, value = details["type"], details["input"]
    if kind == "extra_forbidden":
        *above, name = map(str, details["loc"])
        known = _known(cls, above)
        problem = f"unknown key '{shortened(name)}'{nearest(name, known)}"
        return BadParams(Code.UNKNOWN_KEY, place, problem, look_alike(name) or f"known: {', '.join(known)}")
    if kind == "missing":
        return BadParams(Code.UNKNOWN_KEY, place, "is missing", "add it")
    if kind == "value_error":  # no validator of the schema raises anything else
        contradiction: Contradiction = details["ctx"]["error"]
        return contradiction.at(place)
    expected = " or ".join(dict.fromkeys(map(_expected, alternatives)))
    problem, remedy = f"expected {expected}, found {_shown(value)}", "see docs/parameters.md"
    if expected == details["msg"]:  # how long a list or text should be
        problem = f"{expected[0].lower()}{expected[1:]}"
    choices = re.findall(r"'([^']+)'", expected)
    if isinstance(value, str) and (hint := look_alike(value)):
        remedy = hint
    elif choices:
        meant = closest(value, choices) if isinstance(value, str) else None
        remedy = f"write {meant or ' or '.join(choices)}"
    elif value is None:
        remedy = "write a value behind the colon"
    elif known := _known(cls, keys):
        remedy = f"its keys are {', '.join(known)}"
    elif kind in _REMEDIES:
        remedy = _REMEDIES[kind]
    return BadParams(Code.BAD_OPTION, place, problem, remedy)


_EXPECTED = {"model_type": "a mapping", "dict_type": "a mapping", "string_type": "text", "bool_type": "true or false"}
_REMEDIES = {
    "bool_type": "write true or false, without quotes",
    "float_type": "write a number, without quotes and units",
    "int_type": "write a whole number, without quotes and units",
    "list_type": "write a list: [a, b]",
    "string_type": "write it in quotes",
}
"""Error type of pydantic -> what to do about it."""


def _expected(details: ErrorDetails) -> str:
    return _EXPECTED.get(details["type"]) or details["msg"].removeprefix("Input should be ")


def _known(kind: Any, keys: Sequence[str]) -> list[str]:
    """The keys that a mapping at this place inside a class can have."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = {field.alias or name: field.annotation for name, field in kind.model_fields.items()}
        return _known(fields.get(keys[0]), keys[1:]) if keys else sorted(fields)
    if get_origin(kind) in (dict, list):  # below it, a name that the user chose, or a place in the list
        return _known(get_args(kind)[-1], keys[1:]) if keys else []
    return next((known for part in get_args(kind) if (known := _known(part, keys))), [])


def _shown(value: object) -> str:
    """The type of a value, and the value."""
    if value is None:
        return "nothing"
    names = {dict: "a mapping", list: "a list", str: "text", int: "an integer", float: "a number", bool: "a boolean"}
    return f"{names.get(type(value), 'a date')} {shortened(str(value) if isinstance(value, date) else repr(value))}"
