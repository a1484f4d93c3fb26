"""Text in YAML 1.2 -> plain dicts and lists, or errors with the line and a remedy.

Stricter than YAML: keys are text, a key comes once, tags are those of plain values, depth and number of values are
bounded. For any text the result is a document or a BadParams.
"""

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.errors import BadParams, raise_all, shortened
from adaptbert.runtime.params import look_alikes

if TYPE_CHECKING:
    from ruamel.yaml.composer import Composer
    from ruamel.yaml.constructor import SafeConstructor
    from ruamel.yaml.error import MarkedYAMLError
    from ruamel.yaml.nodes import Node, ScalarNode

MAX_NODES = 10_000
MAX_DEPTH = 50
MAX_BITS = 128
"""Of an integer: no value needs more than 64, and Python refuses to print one of many thousands."""

_YAML = "tag:yaml.org,2002:"
_READ_AS = {"int": "a number", "float": "a number", "bool": "a boolean", "null": "nothing", "timestamp": "a date"}
_TAGS = {*_READ_AS, "str", "seq", "map", "merge"}
_NOT_ALLOWED = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML does not allow in a file (section 5.1)."""
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
"""Characters that escapes can produce and that neither a path nor UTF-8 can contain."""
_DIGITS = re.compile(r"[-+]?[\d_]+|[-+]?0[xob][\da-fA-F_]+")
_UNHOLDABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions of ruamel's constructors for values that match a type and cannot be converted."""
_REMEDIES = {
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


class Fault(NamedTuple):
    """One error in the text.

    Attributes:
        place: `:line` or `:line:column`, to be put behind the name of the file; empty: the whole.
    """

    code: Code
    place: str
    problem: str
    remedy: str


_TOO_MANY = Fault(
    Code.TOO_MANY_VALUES, "", f"more than {MAX_NODES:,} values", "remove the anchors, and keep data out of the file"
)


def load(text: str, path: Path) -> Any:
    """The document; None where there is none.

    Args:
        path: for the messages.

    Raises:
        BadParams: not YAML 1.2, a character or a tag that is not allowed, a key twice or one that is not text, too
            deep, too many values once aliases are expanded, or a value that Python cannot hold.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError

    if match := _NOT_ALLOWED.search(text):
        raise _error(path, _bad_character(text, match.start()))
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer, yaml.Constructor = _classes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedAnchorWarning)  # YAML allows it (section 3.2.2.2)
            return yaml.load(text)
    except _Refused as refused:
        raise_all([_error(path, fault) for fault in refused.faults])
        raise
    except MarkedYAMLError as error:
        raise _error(path, _stumbled(error, text)) from None
    except (YAMLError, OverflowError, ValueError) as error:  # of an escape such as "\UFFFFFFFF"
        raise _error(
            path, Fault(Code.NOT_YAML, "", f"not YAML: {str(error).splitlines()[0]}", "write it as it is")
        ) from None


def _error(path: Path, fault: Fault) -> BadParams:
    return BadParams(fault.code, f"{path}{fault.place}", fault.problem, fault.remedy)


class _Refused(Exception):
    def __init__(self, *faults: Fault) -> None:
        super().__init__()
        self.faults = faults


def _classes() -> "tuple[type[Composer], type[SafeConstructor]]":
    """A composer with a maximum depth, and a constructor that checks the nodes before it converts them."""
    from ruamel.yaml.composer import Composer
    from ruamel.yaml.constructor import SafeConstructor

    class Bounded(Composer):
        level = nodes = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.level, self.nodes = self.level + 1, self.nodes + 1
            if self.nodes > 2 * MAX_NODES:  # keys and values; before a megabyte of them is read
                raise _Refused(_TOO_MANY)
            if self.level > MAX_DEPTH:
                line = self.parser.peek_event().start_mark.line + 1
                raise _Refused(Fault(Code.TOO_DEEP, f":{line}", f"nesting deeper than {MAX_DEPTH}", "flatten the file"))
            node = super().compose_node(parent, index)
            self.level -= 1
            return node

    class Checked(SafeConstructor):
        def construct_document(self, node: Any) -> Any:
            if faults := [*_faults(node)]:
                raise _Refused(*faults)
            return super().construct_document(node)

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            try:
                value = super().construct_object(node, deep)
                if isinstance(value, int) and value.bit_length() > MAX_BITS:
                    raise OverflowError
            except _UNHOLDABLE:
                raise _Refused(_unholdable(node)) from None
            return value

    return Bounded, Checked


def _unholdable(node: "Node") -> Fault:
    """The error of a scalar that cannot be converted."""
    shown, what = f"'{shortened(str(node.value))}'", _READ_AS.get(_tag(node), "a value")
    if _tag(node) == "int" and _DIGITS.fullmatch(str(node.value)):
        problem = f"{shown} is a number that no value takes"
        return Fault(Code.OUT_OF_RANGE, _line(node), problem, f"write one below 2^{MAX_BITS // 2}")
    problem = f"{shown} is written like {what} and is none"
    return Fault(Code.WRONG_TYPE, _line(node), problem, "mend it, or put text in quotes")


def _faults(document: "Node") -> Iterator[Fault]:
    """All errors of nodes, each once. Aliases count each time, so that an alias bomb is refused."""
    from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

    count, stack, seen = 0, [document], set()
    while stack:
        node = stack.pop()
        count += 1
        if count > MAX_NODES:
            yield _TOO_MANY
            return
        if isinstance(node, MappingNode):
            stack.extend(value for _, value in reversed(node.value))
        elif isinstance(node, SequenceNode):
            stack.extend(reversed(node.value))
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield from _wrong_value(node)
        if isinstance(node, ScalarNode) and node.style is None and (curly := look_alikes.quotes(node.value)):
            problem = f"{curly.name} around {shortened(node.value[1:-1])}"
            place = f"{_line(node)}:{node.start_mark.column + 1}"
            yield Fault(Code.LOOK_ALIKE, place, problem, f"{curly.remedy}, or put the whole in quotes")
        if isinstance(node, MappingNode):
            for key, _ in node.value:
                yield from (
                    _wrong_key(key)
                    if isinstance(key, ScalarNode)
                    else [
                        Fault(
                            Code.KEY_NOT_TEXT,
                            _line(key),
                            "a key is a list or a mapping",
                            "write a name; put [ and { in quotes",
                        )
                    ]
                )


def _wrong_value(node: "Node") -> Iterator[Fault]:
    tag = _tag(node)
    if tag not in _TAGS:
        yield Fault(
            Code.YAML_TAG, _line(node), f"tag not allowed ({shortened(tag)})", "write a plain value, text in quotes"
        )
    if isinstance(node.value, str) and (match := _NOT_TEXT.search(node.value)):
        name = "NUL" if match[0] == "\0" else "half of a character"
        yield Fault(Code.LOOK_ALIKE, _line(node), f"a text holds {name} (U+{ord(match[0]):04X})", "take it out")


def _wrong_key(key: "ScalarNode") -> Iterator[Fault]:
    tag, shown = _tag(key), shortened(key.value)
    if tag in _READ_AS:
        what = f"the key {shown}" if shown else "an empty key"
        yield Fault(
            Code.KEY_NOT_TEXT, _line(key), f"YAML reads {what} as {_READ_AS[tag]}", f'write "{shown or "name"}"'
        )
        return
    yield from _wrong_value(key)
    look_alike = look_alikes.find(key.value) if key.style is None else None  # in quotes it is meant
    if look_alike is not None:
        column = key.start_mark.column + look_alike.place + 1
        problem = f"{look_alike.name} in the key '{shown}'"
        yield Fault(
            Code.LOOK_ALIKE, f"{_line(key)}:{column}", problem, f"{look_alike.remedy}, or put the key in quotes"
        )


def _tag(node: "Node") -> str:
    """Short name of a standard tag (str, int, map); others as in the file."""
    tag = str(node.tag)
    plain = tag.removeprefix(_YAML)
    return plain if plain in _TAGS else tag.replace(_YAML, "!!")


def _line(node: "Node") -> str:
    return f":{node.start_mark.line + 1}"


def _bad_character(text: str, place: int) -> Fault:
    code = ord(text[place])
    problem = f"{'NUL' if code == 0 else 'a hidden character'} (U+{code:04X})"
    return Fault(Code.LOOK_ALIKE, _at(text, place), problem, "delete it")


def _at(text: str, place: int) -> str:
    """Line and column; a line ends in one of three ways."""
    lines = re.split(r"\r\n|\n|\r", text[:place])
    return f":{len(lines)}:{len(lines[-1]) + 1}"


def _stumbled(error: "MarkedYAMLError", text: str) -> Fault:
    """The error of the parser; if a look-alike character may be the cause, that character is reported instead."""
    from ruamel.yaml.constructor import DuplicateKeyError

    message, problem = f"{error.context} {error.problem}", str(error.problem)
    mark = error.context_mark if "quoted scalar" in message else error.problem_mark  # where it was opened
    line = f":{mark.line + 1}" if mark is not None else ""
    if isinstance(error, DuplicateKeyError):
        first = error.context_mark.line + 1 if error.context_mark is not None else "?"
        key = problem.split('"')[1] if '"' in problem else "?"
        shown = f"key '{shortened(key)}' twice (its mapping begins in line {first})"
        return Fault(Code.KEY_TWICE, line, shown, "keep one of the two")
    if mark is not None and "'\\t'" in problem:
        return Fault(Code.LOOK_ALIKE, f"{line}:{mark.column + 1}", "a tab (U+0009)", "write blanks")
    if mark is not None and (look_alike := look_alikes.before(text, mark.line)):
        return Fault(Code.LOOK_ALIKE, _at(text, look_alike.place), look_alike.name, look_alike.remedy)
    remedy = next((remedy for pattern, remedy in _REMEDIES.items() if re.search(pattern, message)), "check this line")
    return Fault(Code.NOT_YAML, line, f"not YAML: {shortened(problem)}", remedy)
