"""Changes single entries of params.yaml as text, so that comments, blank lines and the user's way of writing stay.

Each function returns a new text. Whoever writes it compares what it says with what is meant: `check_means`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.errors import BadParams
from adaptbert.runtime.params import strict_yaml

Keys = Sequence[str]
"""Names of a key, from the outermost one."""

_PLAIN = re.compile(r"[\w./](?:[\w./ -]*[\w./-])?")
"""Text that may be written without quotes, if YAML does not read it as something else."""
_COMMENT = re.compile(r"(?P<before>[^\n#]*?)(?P<blanks> {2,})#")
"""The rest of a line up to its comment."""


def read(file: Path) -> str:
    """The text of a file that `adaptbert.runtime.params.params_file.read` has read, with `\\n` at the end of lines."""
    return file.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")


@contextmanager
def changing(document: Mapping[str, Any], file: Path, remedy: str) -> Iterator["Draft"]:
    """A text of the file that the block changes; what it says at the end must be what is meant.

    Args:
        document: what it should say.
        remedy: what the user can do where the file cannot be changed so.

    Raises:
        BadParams: it cannot.
    """
    from ruamel.yaml.error import YAMLError

    draft = Draft(read(file))
    try:
        yield draft
    except (YAMLError, ValueError, StopIteration):
        draft.text = ""  # an anchor went with what was replaced: what is left is no YAML
    check_means(draft.text, document, file, remedy)


@dataclass
class Draft:
    """A text while it is changed."""

    text: str


def check_means(text: str, document: Mapping[str, Any], file: Path, remedy: str) -> None:
    """Raise where a changed text does not say what is meant, as with anchors that stand for several places.

    Args:
        document: what it should say.
        remedy: what the user can do instead.
    """
    try:
        means = strict_yaml.load(text, file)
    except BadParams:
        means = None
    if means != document:
        problem = "written in a way that this command cannot change (anchors, or values over several lines)"
        raise BadParams(Code.NOT_EDITABLE, file, problem, remedy)


def flow(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(key)}: {flow(inside)}" for key, inside in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return value if _PLAIN.fullmatch(value) and _is_text(value) else json.dumps(value, ensure_ascii=False)


def _is_text(value: str) -> bool:
    """Whether YAML reads it as text also without quotes; `2021-99-99` is neither text nor a date."""
    try:
        return bool(strict_yaml.load(value, Path("value")) == value)
    except BadParams:
        return False


def block(values: Mapping[str, Any], indent: int) -> str:
    """Lines of a mapping, each of its values in one line."""
    return "".join(f"{' ' * indent}{flow(key)}: {flow(value)}\n" for key, value in values.items())


def removed(text: str, path: Keys) -> str:
    """Without an entry, its comment, and the comments directly above it. A mapping that held nothing else is `{}`."""
    parent, key, value = _entry(text, path)
    if parent.flow_style:
        return _removed_from_flow(text, parent, key, value)
    begin, end = _begin(text, key.start_mark), _line_end(text, _end(text, value))
    column = key.start_mark.column
    end = _past_comments(text, end, column)
    if len(parent.value) > 1:
        return text[:begin] + text[end:]
    _, above, _ = _entry(text, path[:-1])
    colon = text.index(":", above.end_mark.index) + 1
    return text[:colon] + " {}" + text[colon:begin] + text[end:]


def renamed(text: str, path: Keys, name: str) -> str:
    """With another name of a key."""
    _, key, _ = _entry(text, path)
    return _spliced(text, key.start_mark.index, key.end_mark.index, flow(name))


def replaced(text: str, path: Keys, value: str | Sequence[str]) -> str:
    """With another value in place of one that is a scalar, or a list of them.

    A list stays as it is but for its items, as far as there are as many, or fewer in a block with a line for each;
    else it is written in one line.
    """
    _, _, node = _entry(text, path)
    if isinstance(value, str):
        return _spliced(text, node.start_mark.index, _end(text, node), flow(value))
    items = node.value if isinstance(node.value, list) else []
    if value and not node.flow_style and [item.value for item in items if item.value in value] == [*value]:
        for item in reversed(items):
            text = text if item.value in value else _without_item(text, item)
        return text
    if len(items) != len(value):
        return _spliced(text, node.start_mark.index, _end(text, node), flow(value))
    for item, other in reversed([*zip(items, value, strict=True)]):
        if item.value != other:
            text = _spliced(text, item.start_mark.index, item.end_mark.index, flow(other))
    return text


def added(text: str, path: Keys, name: str, values: Mapping[str, Any], *, in_one_line: bool = False) -> str:
    """With one more entry at the end of a mapping.

    Args:
        path: of the mapping.
        in_one_line: whether the entry is one line, not a line for each of its values.
    """
    _, key, node = _entry(text, path)
    end = _end(text, node)
    if node.flow_style and node.value:
        return _added_to_flow(text, end - 1, f"{flow(name)}: {flow(values)}")
    if node.value:
        column = node.value[0][0].start_mark.column
        place = _line_end(text, end)
    elif text[node.start_mark.index : end] != "{}" or _flow_above(text, path):
        return text[: node.start_mark.index] + f"{{{flow(name)}: {flow(values)}}}" + text[end:]
    else:
        text = text[: node.start_mark.index].rstrip(" ") + text[end:]
        column, place = key.start_mark.column + 2, _line_end(text, node.start_mark.index - 1)
    begin = "" if text[:place].endswith("\n") else "\n"
    margin = " " * column
    entry = f"{margin}{flow(name)}: {flow(values)}\n" if in_one_line else f"{margin}{flow(name)}:\n"
    return text[:place] + begin + entry + ("" if in_one_line else block(values, column + 2)) + text[place:]


def source(text: str, path: Keys) -> str:
    """A value as it is written."""
    _, _, node = _entry(text, path)
    return text[node.start_mark.index : _end(text, node)]


def has(text: str, path: Keys) -> bool:
    """Whether there is such an entry."""
    return path[-1] in keys(text, path[:-1])


def keys(text: str, path: Keys) -> list[str]:
    """The keys of a mapping, in their order; none of what is no mapping."""
    from ruamel.yaml.nodes import MappingNode

    _, _, node = _entry(text, path)
    return [str(key.value) for key, _ in node.value] if isinstance(node, MappingNode) else []


def line_of(text: str, path: Keys) -> slice:
    """The line of a key, however it is written; a comment above it may name it as well."""
    _, key, _ = _entry(text, path)
    begin = text.rfind("\n", 0, key.start_mark.index) + 1
    return slice(begin, _line_end(text, begin))


def lines(text: str, path: Keys) -> tuple[int, int]:
    """Where the lines of an entry begin, with the comments directly above it, and end."""
    _, key, node = _entry(text, path)
    return _begin(text, key.start_mark), _line_end(text, _end(text, node))


def entries(text: str, path: Keys) -> dict[str, str]:
    """The lines of each entry of a block mapping; none where it is no block."""
    _, _, node = _entry(text, path)
    if node.flow_style or not keys(text, path):
        return {}
    return {str(key.value): text[slice(*lines(text, [*path, str(key.value)]))] for key, _ in node.value}


def sections(text: str) -> dict[str, str]:
    """The text of each top-level section, with the comments directly above it; '' holds what stands before the first.

    Joined, they are the text. Empty where the file is one flow mapping, as JSON is.
    """
    root = _compose(text)
    if root.flow_style:
        return {}
    places = [("", 0), *((str(key.value), _begin(text, key.start_mark)) for key, _ in root.value), ("", len(text))]
    return {name: text[begin:end] for (name, begin), (_, end) in pairwise(places)}


def _compose(text: str) -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="safe", pure=True).compose(text)


def _entry(text: str, path: Keys) -> tuple[Any, Any, Any]:
    """The mapping, the key and the value of an entry."""
    parent = key = None
    node: Any = _compose(text)
    for name in path:
        parent = node
        key, node = next((key, value) for key, value in parent.value if key.value == name)
    return parent, key, node


def _flow_above(text: str, path: Keys) -> bool:
    return any(bool(_entry(text, path[:depth])[2].flow_style) for depth in range(len(path)))


def _spliced(text: str, begin: int, end: int, words: str) -> str:
    """With other words in one place; a comment behind them stays in its column, where there is room."""
    rest, more = text[end:], len(words) - (end - begin)
    if comment := _COMMENT.match(rest):
        blanks = max(1, len(comment["blanks"]) - more)
        rest = f"{comment['before']}{' ' * blanks}{rest[comment.end('blanks') :]}"
    return text[:begin] + words + rest


def _end(text: str, node: Any) -> int:
    """Behind the last character of a value; a block ends, for YAML, only where the next one begins."""
    while isinstance(node.value, list) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    index: int = node.end_mark.index
    return len(text[:index].rstrip())


def _line_end(text: str, index: int) -> int:
    """Behind the end of the line."""
    return (text.find("\n", index) + 1) or len(text)


def _begin(text: str, mark: Any) -> int:
    """The first line of an entry: of the comments directly above it that begin in its column, or of itself."""
    begin = text.rfind("\n", 0, mark.index) + 1
    for line in reversed(text[:begin].splitlines(keepends=True)):
        if not line.startswith(" " * mark.column + "#"):
            break
        begin -= len(line)
    return begin


def _without_item(text: str, item: Any) -> str:
    """Without the line of an item of a block; comments above the item are perhaps of all, and stay."""
    begin = text.rfind("\n", 0, item.start_mark.index) + 1
    return text[:begin] + text[_line_end(text, item.end_mark.index) :]


def _past_comments(text: str, end: int, column: int) -> int:
    """Behind comments that are indented more than the key of their entry."""
    for line in text[end:].splitlines(keepends=True):
        if not re.match(rf" {{{column + 1},}}#", line):
            break
        end += len(line)
    return end


def _removed_from_flow(text: str, parent: Any, key: Any, value: Any) -> str:
    index = next(number for number, (each, _) in enumerate(parent.value) if each is key)
    if index + 1 < len(parent.value):
        return text[: key.start_mark.index] + text[parent.value[index + 1][0].start_mark.index :]
    begin = parent.value[index - 1][1].end_mark.index if index else key.start_mark.index
    return text[:begin] + text[value.end_mark.index :]


def _added_to_flow(text: str, brace: int, entry: str) -> str:
    before = text[:brace].rstrip()
    return before + ("" if before.endswith(",") else ",") + " " + entry + text[len(before) : brace] + text[brace:]
