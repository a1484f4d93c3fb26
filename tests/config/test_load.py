"""What a params.yaml may hold that is not YAML is an error with its line; any value anywhere is right or an error."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.config import load
from adaptbert.config.recipe import Recipe
from adaptbert.errors import BAD_PARAMS, BadParams, UserError
from adaptbert.project import rules
from tests.support.imports import ROOT

FILE = Path("params.yaml")
SMOKE_TEXT = (ROOT / "presets/smoke.yaml").read_text(encoding="utf-8")
SMOKE = load.document(SMOKE_TEXT, FILE)

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
    ("a: 2024-13-45\n", None, "month must be in 1..12", "or in quotes"),
    (f"a: {'9' * 5000}\n", None, "Exceeds the limit", ""),
    ("a: !!int x\n", None, "invalid literal", ""),
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
        (Path.mkdir, "file not found, or not a file"),
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
