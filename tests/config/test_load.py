"""What a params.yaml may hold that is not YAML, or not plain: any text is a document or an error with its line."""

import copy
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from adaptbert.config import load
from adaptbert.config.recipe import Recipe
from adaptbert.errors import BAD_PARAMS, BadParams, UserError
from adaptbert.planning import rules
from tests.support.imports import ROOT

FILE = Path("params.yaml")
SMOKE_TEXT = (ROOT / "presets/smoke.yaml").read_text(encoding="utf-8")
SMOKE = load.document(SMOKE_TEXT, FILE)
BOMB = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in ("ab", "bc", "cd", "de")
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{new}: &{new} {{<<: [{', '.join([f'*{old}'] * 10)}]}}\n" for old, new in ("ab", "bc", "cd", "de", "ef")
)

# A text, and the line, problem and remedy that its error names.
REFUSED = [
    ("a: 1\n  b: 2\n", 2, "mapping values", "check this line"),
    ("a:\n  b: 1\n\tc: 2\n", 3, "", "check this line"),
    ("a: 1\na: 2\n", 2, "duplicate key", "each key once"),
    ("a:\n  2024: 1\n", 2, "'2024' a key is not text", "check this line"),
    ("true: 1\n", 1, "'true' a key is not text", ""),
    (": 3\n", 1, "a key is not text", ""),
    ("[a]: 4\n", 1, "a key is not text", ""),
    ("seed：1\nbases:\n  a: 1\n", 2, "mapping values", "a full-width colon (U+FF1A) stands in it: write ':' and a"),
    ("seed：1  # 种子：一\n\nbases:\n  a: 1\n", 3, "", "a full-width colon (U+FF1A)"),
    ("# 种子：一\na: [1\n", 3, "", "check this line"),
    ("a: “x\nb: ”: 1\n", 2, "", "a curly quote (U+201C)"),
    ('a: "\\0"\n', 1, "holds NUL", ""),
    ('"\\0": 1\n', 1, "holds NUL", ""),
    ('a: ["\\udc80"]\n', 1, "holds NUL or half of a character", ""),
    ("a: 2024-13-45\n", 1, "'2024-13-45' is no value", ""),
    (f"a: {'9' * 5000}\n", 1, "is no value", ""),
    (f"a: {'9' * 50}\n", 1, "is no plain value", ""),
    ("a: !!int x\n", 1, "'x' is no value", ""),
    ("a: !!set {x}\n", 1, "is no plain value", ""),
    ("a: !!python/object:os.system {}\n", 1, "", ""),
    ("a: =\n", 1, "", ""),
    ("a: @user\n", 1, "cannot start", "quotes"),
    ("a: *user\n", 1, "undefined alias", "quotes"),
    ("a:\n  b: 'x\nc: 1\n", None, "", "check this line"),
    ("a: 1\nb: x\0y\n", None, "unacceptable character #x0000", ""),
    ("a: \x1b[2J\n", None, "unacceptable character #x001b", ""),
    ('a: "\\UFFFFFFFF"\n', None, "", "write it as it is"),
    ("%YAML 3.1\n---\na: 1\n", 1, "incompatible YAML", ""),
    ("a: 1\n---\nb: 1\n", 2, "another document", ""),
    ("- " * 100_000, None, "nested too deep", "flatten the file"),
    ("? " * 100_000, None, "nested too deep", "flatten the file"),
    ("a: &a [*a]\n", None, "more than 10,000 values", ""),
    ("a: &a {<<: *a}\n", None, "more than 10,000 values", ""),
    (BOMB, None, "more than 10,000 values", "remove the anchors"),
    (MERGES, None, "more than 10,000 values", "remove the anchors"),
    (f"{{&a k: 1, x: [{'*a, ' * 20_000}]}}\n", None, "more than 10,000 values", ""),
    ("a: [" + "1," * 300_000, None, "more than 10,000 values", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "problem", "remedy"), REFUSED, ids=lambda each: repr(each)[:30])
def test_refused(text: str, line: int | None, problem: str, remedy: str) -> None:
    with pytest.raises(BadParams) as raised:
        load.document(text, FILE)
    error = raised.value
    assert (error.exit_code, error.code) == (BAD_PARAMS, 114)
    assert line is None or error.place.line == line, error
    assert problem in error.problem
    assert remedy in error.remedy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}),
        ("a: &a {x: 1}\nb: {<<: *a, '：': 1}\n", {"a": {"x": 1}, "b": {"x": 1, "：": 1}}),
        ('a:\n  "2024": 1e-5\n', {"a": {"2024": 1e-5}}),
        ("\ufeffa: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
        ("".join(f"k{n}: 1\n" for n in range(9_000)), {f"k{n}": 1 for n in range(9_000)}),
    ],
)
def test_read(tmp_path: Path, text: str, expected: dict[str, Any]) -> None:
    (tmp_path / "params.yaml").write_bytes(text.encode())
    assert load.read(tmp_path / "params.yaml") == expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "expected a mapping, found nothing"),
        (b"- a\n", "expected a mapping, found a list"),
        ("a: 1".encode("utf-16"), "byte 0 is not UTF-8"),
        (b"a: " + b"x" * 1_000_001, "1,000,004 bytes, more than 1 MB"),
        (Path.mkdir, "a folder, not a file"),
        (os.mkfifo, "something else, not a file"),
        (lambda path: path.symlink_to("there.yaml"), "something else, not a file"),
        (lambda _: None, "file not found"),
    ],
)
def test_what_is_no_such_file(tmp_path: Path, content: bytes | Callable[[Path], object], problem: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_bytes(content) if isinstance(content, bytes) else content(path)
    with pytest.raises(BadParams) as caught:
        load.read(path)
    assert str(caught.value).startswith(f"AB-114 {path}: {problem}")


# --- whatever the text is

SIGNS = "：，“”\t\n #&*!|>%@`'\"[]{}?:-,~=<.0\\"
FRAGMENTS = [*SIGNS, "  ", "- ", ": ", "? ", "<<: *a", "&a ", "*a", "!!int ", "1e999"]
TEXTS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=40).map("".join)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates() | st.just("general")
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.sampled_from(["section", "path"]), inner)
    ),
    max_leaves=8,
)


def message_of(check: Callable[[], object]) -> str:
    """What a user reads, which every stream can print; anything but a user's error is a fault."""
    try:
        check()
    except UserError as error:
        message = str(error)
    else:
        return ""
    assert message.encode()
    assert all(len(line) < 2000 for line in message.splitlines()), message
    return message


@given(TEXTS)
@settings(max_examples=150, deadline=None)
def test_any_text_is_a_document_or_an_error(text: str) -> None:
    """And a document says what ruamel's own loader says, which DVC has."""
    if not message_of(lambda: load.document(text, FILE)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert repr(load.document(text, FILE)) == repr(YAML(typ="safe", pure=True).load(text))


def places(values: Any, prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The path of every key."""
    inner = values.items() if isinstance(values, dict) else ()
    return [path for key, value in inner for path in [(*prefix, key), *places(value, (*prefix, key))]]


@given(st.sampled_from(places(SMOKE)), VALUES, st.booleans())
@settings(max_examples=40, deadline=None)
def test_any_value_anywhere_is_right_or_an_error(path: tuple[str, ...], value: Any, is_key: bool) -> None:
    document = copy.deepcopy(SMOKE)
    here = document
    for part in path[:-1]:
        here = here[part]
    here[str(value) if is_key else path[-1]] = here[path[-1]] if is_key else value
    message_of(lambda: rules.check(Recipe(document, FILE)))


@pytest.mark.nightly
@given(st.data())
@settings(max_examples=20_000, deadline=None)
def test_any_edit_of_a_good_file_is_right_or_an_error(data: st.DataObject) -> None:
    text = SMOKE_TEXT
    for _ in range(data.draw(st.integers(1, 4))):
        first = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(first, min(len(text), first + 30)))
        text = text[:first] + data.draw(TEXTS) + text[end:]
    message_of(lambda: rules.check(Recipe(load.document(text, FILE) or {}, FILE)))
