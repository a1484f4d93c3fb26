"""Text in YAML 1.2 -> plain dicts and lists, or errors with the line and a remedy.

Stricter than YAML: keys are text, a key comes once, tags are those of plain values, depth and number of values are
bounded. For any text the result is a document or a BadParams.
"""

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.constructor import DuplicateKeyError, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from adaptbert.codes import Code
from adaptbert.errors import BadParams, raise_all, shortened

MAX_NODES = 10_000
MAX_BITS = 128
"""Of an integer: no value needs more than 64, and Python refuses to print one of many thousands."""

_YAML = "tag:yaml.org,2002:"
_READ_AS = {"int": "a number", "float": "a number", "bool": "a boolean", "null": "nothing", "timestamp": "a date"}
_TAGS = {*_READ_AS, "str", "seq", "map", "merge"}
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
"""Characters that escapes can produce and that neither a path nor UTF-8 can contain."""
_LOOK_ALIKE = re.compile("[：“”„‘’]")
_UNHOLDABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions of ruamel's constructors for values that match a type and cannot be converted."""
_REMEDIES = {
    r"'\\t'": "write blanks in place of the tab",
    r"'[@`%&*]' that cannot start": "put the value in quotes",
    r"mapping values are not allowed": "put a blank behind a colon, begin the lines of a section alike, and put a "
    "value that holds a colon in quotes",
    r"expected <block end>": "begin all lines of a section in the same column",
    r"could not find expected ':'": "put a colon and a blank behind the key",
    r"while scanning a quoted scalar": "close the quote",
    r"expected ',' or '[\]}]'": "close the bracket, and put commas between its values",
    r"undefined alias": "put a value that begins with * in quotes",
    r"another document": "write one document, without ---",
    r"incompatible YAML": "write YAML 1.2",
}
"""What the parser says -> what to do about it."""


def load(text: str, path: Path) -> Any:
    """The document; None where there is none.

    Args:
        path: for the messages.

    Raises:
        BadParams: not YAML 1.2, a tag that is not allowed, a key twice or one that is not text, too deep, too many
            values once aliases are expanded, or a value that Python cannot hold.
    """

    class Checked(SafeConstructor):
        def construct_document(self, node: Node) -> Any:
            if _size(node, {}) > MAX_NODES:
                raise _TooManyValues
            raise_all([*_faults(node, self, path, set())])
            return super().construct_document(node)

    yaml = YAML(typ="safe", pure=True)
    yaml.Composer, yaml.Constructor = _Bounded, Checked
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedAnchorWarning)  # YAML allows it (section 3.2.2.2)
            return yaml.load(text)
    except _TooManyValues:
        problem = f"more than {MAX_NODES:,} values"
        remedy = "remove the anchors, and keep data out of the file"
        raise BadParams(Code.PARAMS_FILE, path, problem, remedy) from None
    except RecursionError:
        raise BadParams(Code.PARAMS_FILE, path, "nested too deep", "flatten the file") from None
    except MarkedYAMLError as error:
        raise _stumbled(error, text, path) from None
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


class _TooManyValues(Exception):
    pass


class _Bounded(Composer):
    nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.nodes += 1
        if self.nodes > 2 * MAX_NODES:  # keys and values; before a megabyte of them is read
            raise _TooManyValues
        return super().compose_node(parent, index)


def _size(node: Node, sizes: dict[int, int]) -> int:
    """The number of values once aliases are expanded; one inside itself has no end."""
    if id(node) not in sizes:
        sizes[id(node)] = MAX_NODES
        sizes[id(node)] = 1 + sum(_size(each, sizes) for each in _inside(node))
    return sizes[id(node)]


def _inside(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [value for _, value in node.value]
    return [] if isinstance(node, ScalarNode) else node.value


def _faults(node: Node, constructor: SafeConstructor, path: Path, seen: set[int]) -> Iterator[BadParams]:
    """All errors of a node and of those inside it, each once."""
    if id(node) in seen:
        return
    seen.add(id(node))
    place = f"{path}:{node.start_mark.line + 1}"
    if (tag := _tag(node)) not in _TAGS:
        problem = f"tag not allowed ({shortened(tag)})"
        yield BadParams(Code.PARAMS_FILE, place, problem, "write a plain value, text in quotes")
    elif isinstance(node, ScalarNode):
        yield from _wrong_value(node, constructor, place)
    for key, _ in node.value if isinstance(node, MappingNode) else ():
        yield from _wrong_key(key, f"{path}:{key.start_mark.line + 1}")
    for each in _inside(node):
        yield from _faults(each, constructor, path, seen)


def _wrong_value(node: ScalarNode, constructor: SafeConstructor, place: str) -> Iterator[BadParams]:
    shown, tag = f"'{shortened(str(node.value))}'", _tag(node)
    if match := _NOT_TEXT.search(node.value):
        name = "NUL" if match[0] == "\0" else "half of a character"
        yield BadParams(Code.PARAMS_FILE, place, f"a text holds {name} (U+{ord(match[0]):04X})", "take it out")
        return
    try:
        value = constructor.construct_object(node)
        too_large = isinstance(value, int) and value.bit_length() > MAX_BITS
    except _UNHOLDABLE:
        too_large = tag == "int" and len(node.value) > MAX_BITS
        if not too_large:
            problem = f"{shown} is written like {_READ_AS.get(tag, 'a value')} and is none"
            yield BadParams(Code.BAD_OPTION, place, problem, "mend it, or put text in quotes")
    if too_large:
        remedy = f"write one below 2^{MAX_BITS // 2}"
        yield BadParams(Code.BAD_OPTION, place, f"{shown} is a number that no value takes", remedy)


def _wrong_key(key: Node, place: str) -> Iterator[BadParams]:
    if not isinstance(key, ScalarNode):
        remedy = "write a name; put [ and { in quotes"
        yield BadParams(Code.BAD_OPTION, place, "a key is a list or a mapping", remedy)
        return
    tag, shown = _tag(key), shortened(key.value)
    if tag not in ("str", "merge"):
        what = f"the key {shown}" if shown else "an empty key"
        problem = f"YAML reads {what} as {_READ_AS.get(tag, 'something else')}"
        yield BadParams(Code.BAD_OPTION, place, problem, f'write "{shown or "name"}"')
    elif key.style is None and (hint := look_alike(key.value)):  # in quotes it is meant
        yield BadParams(Code.PARAMS_FILE, place, f"the key '{shown}'", f"{hint}, or put the key in quotes")
    elif _NOT_TEXT.search(key.value):
        yield BadParams(Code.PARAMS_FILE, place, "a key holds NUL or half of a character", "take it out")


def _tag(node: Node) -> str:
    """Short name of a standard tag (str, int, map); others as in the file."""
    tag = str(node.tag)
    plain = tag.removeprefix(_YAML)
    return plain if plain in _TAGS else tag.replace(_YAML, "!!")


def _stumbled(error: MarkedYAMLError, text: str, path: Path) -> BadParams:
    """The error of the parser; a full-width colon shows only there or in the line of text above."""
    message, problem = f"{error.context} {error.problem}", str(error.problem)
    mark = error.context_mark if "quoted scalar" in message else error.problem_mark  # where it was opened
    place = f"{path}:{mark.line + 1}" if mark is not None else str(path)
    if isinstance(error, DuplicateKeyError):
        first = error.context_mark.line + 1 if error.context_mark is not None else "?"
        key = problem.split('"')[1] if '"' in problem else "?"
        shown = f"key '{shortened(key)}' twice (its mapping begins in line {first})"
        return BadParams(Code.PARAMS_FILE, place, shown, "keep one of the two")
    remedy = next((remedy for pattern, remedy in _REMEDIES.items() if re.search(pattern, message)), "check this line")
    if mark is not None:
        lines = [re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines()[: mark.line + 1]]  # comments may have one
        remedy = look_alike("\n".join([line for line in lines if line.strip()][-2:])) or remedy
    return BadParams(Code.PARAMS_FILE, place, f"not YAML: {shortened(problem)}", remedy)
