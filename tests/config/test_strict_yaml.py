"""What a params.yaml may hold that is not YAML, or not what it looks like: the line, the name and how to write it."""

import copy
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from adaptbert.codes import Code
from adaptbert.config import load as params
from adaptbert.config.recipe import Recipe
from adaptbert.config.strict_yaml import load
from adaptbert.errors import BAD_PARAMS, UserError
from adaptbert.project import rules
from tests.support.imports import ROOT
from tests.support.messages import messages_in

FILE = Path("params.yaml")
SMOKE_TEXT = (ROOT / "presets/smoke.yaml").read_text(encoding="utf-8")
SMOKE = load(SMOKE_TEXT, FILE)


def messages(text: str) -> list[str]:
    with pytest.raises(UserError) as raised:
        load(text, FILE)
    assert raised.value.exit_code == BAD_PARAMS
    return messages_in(str(raised.value))


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("2024", "a number"),
        ("1.5", "a number"),
        ("2024-01-01", "a date"),
        ("true", "a boolean"),
        ("null", "nothing"),
    ],
)
def test_a_key_that_yaml_reads_as_something_else(key: str, kind: str) -> None:
    expected = f'AB-109 params.yaml:3: YAML reads the key {key} as {kind}\n  write "{key}"'
    assert messages(f"corpora:\n  a: 1\n  {key}: {{source: files}}\n") == [expected]
    assert load(f'corpora:\n  a: 1\n  "{key}": 2\n', FILE) == {"corpora": {"a": 1, key: 2}}


def test_all_such_keys_are_reported_together() -> None:
    assert messages("2024: 1\ntrue: 2\n: 3\n[a]: 4\n") == [
        'AB-109 params.yaml:1: YAML reads the key 2024 as a number\n  write "2024"',
        'AB-109 params.yaml:2: YAML reads the key true as a boolean\n  write "true"',
        'AB-109 params.yaml:3: YAML reads an empty key as nothing\n  write "name"',
        "AB-109 params.yaml:4: a key is a list or a mapping\n  write a name; put [ and { in quotes",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "seed：1\nbases:\n  a: 1\n",
            "AB-114 params.yaml:2: not YAML: mapping values are not allowed here\n  a full-width colon \\(U\\+FF1A\\) "
            "stands in it: write ':' and a blank",
            id="a full-width colon in the line above",
        ),
        pytest.param(
            "seed：1  # 种子：一\n\nbases:\n  a: 1\n",
            "AB-114 params.yaml:3: not YAML: .*\n  a full-width colon \\(U\\+FF1A\\) "
            "stands in it: write ':' and a blank",
            id="a full-width colon above a blank line and a comment",
        ),
        pytest.param(
            "optim: {rate: 1, decay：2, clip: 3}\n",
            "AB-114 params.yaml:1: the key 'decay：2'\n  a full-width colon .*, or put the key in quotes",
            id="in a key",
        ),
        pytest.param(
            "“seed”: 1\n",
            "AB-114 params.yaml:1: the key '“seed”'\n  a curly quote .* straight one, or put the key in quotes",
            id="curly quotes",
        ),
        pytest.param(
            "a:\n  b: 1\n\tc: 2\n", "AB-114 params.yaml:3: not YAML: .*\n  write blanks in place of the tab", id="tab"
        ),
        pytest.param("a: 1\nb: x\0y\n", "AB-114 params.yaml: not YAML: unacceptable character #x0000.*", id="NUL"),
        pytest.param("a: \x1b[2J\n", "AB-114 params.yaml: not YAML: unacceptable character #x001b.*", id="escape"),
        pytest.param('a: "\\0"\n', "AB-114 params.yaml:1: a text holds NUL .*\n  take it out", id="NUL as an escape"),
        pytest.param('"\\0": 1\n', "AB-114 params.yaml:1: a key holds NUL .*\n  take it out", id="NUL in a key"),
        pytest.param('a: ["\\udc80"]\n', "AB-114 .*:1: a text holds half of a character .*", id="surrogate"),
        pytest.param(
            "a: 2024-13-45\n",
            "AB-109 params.yaml:1: '2024-13-45' is written like a date and is none\n  mend it, or put text in quotes",
            id="no such month",
        ),
        pytest.param(
            f"a: {'9' * 5000}\n",
            r"AB-109 params.yaml:1: '9{80}... \(5,000 characters\)' is a number that no value takes\n  "
            r"write one below 2\^64",
            id="an integer that Python does not print",
        ),
        pytest.param("a: !!int x\n", "AB-109 params.yaml:1: 'x' is written like a number and is none\n.*", id="a lie"),
        pytest.param("a: =\n", r"AB-114 params.yaml:1: tag not allowed \(!!value\)\n  write a plain .*", id="="),
        pytest.param("a: @user\n", "AB-114 params.yaml:1: .*\n  put the value in quotes", id="begins with @"),
        pytest.param("a:\n  b: 'x\nc: 1\n", "AB-114 params.yaml:2: .*\n  close the quote", id="where it was opened"),
        pytest.param("a: [1, 2\nb: 3\n", "AB-114 params.yaml:2: .*\n  close the bracket.*", id="an open bracket"),
        pytest.param('a: "\\UFFFFFFFF"\n', "AB-114 params.yaml: not YAML: .*\n  write it as it is", id="an escape"),
        pytest.param("%YAML 3.1\n---\na: 1\n", "AB-114 .*\n  write YAML 1.2", id="another version"),
        pytest.param("- " * 100_000, "AB-114 params.yaml: nested too deep\n  flatten the file", id="dashes"),
        pytest.param("? " * 100_000, "AB-114 params.yaml: nested too deep\n  flatten the file", id="marks"),
        pytest.param("".join(f"{' ' * level}a:\n" for level in range(1000)), "AB-114 .*", id="indentation"),
        pytest.param("a: &a [*a]\n", "AB-114 params.yaml: more than 10,000 values\n.*", id="itself"),
        pytest.param("a: &a {<<: *a}\n", "AB-114 params.yaml: more than 10,000 values\n.*", id="itself merged"),
        pytest.param("a: [" + "1," * 300_000, "AB-114 params.yaml: more than 10,000 values\n.*", id="a long list"),
    ],
)
def test_the_message(text: str, expected: str) -> None:
    (line,) = messages(text)
    assert re.fullmatch(expected, line, re.DOTALL), line


FRAGMENTS = [
    *"：，“”\t\n #&*!|>%@`'\"[]{}?:-,~=<.0\\",
    "  ",
    "- ",
    ": ",
    "? ",
    "<<: *a",
    "&a ",
    "*a",
    "!!int ",
    "1e999",
    "0x",
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=40).map("".join)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.dates()
    | st.sampled_from(["general", "x-y"]),
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
    if not message_of(lambda: load(text, FILE)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert repr(load(text, FILE)) == repr(YAML(typ="safe", pure=True).load(text))


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
    message_of(lambda: rules.check(Recipe(load(text, FILE) or {}, FILE)))


def test_a_name_that_is_not_utf8_is_printed_as_bytes() -> None:
    error = UserError(Code.FILE, Path("data/caf\udce9.csv"), "x\udcff\x1b[2J", "y")
    assert str(error) == r"AB-050 data/caf\xe9.csv: x\xff\x1b[2J" "\n  y"


def test_read_accepts_quoted_look_alikes_and_anchors(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text("a: &a {x: 1}\nb: {<<: *a, ：: 1}\n".replace("：", "'：'"), encoding="utf-8")
    assert params.read(path) == {"a": {"x": 1}, "b": {"x": 1, "：": 1}}


def test_an_anchor_may_be_used_anew() -> None:
    assert load("a: &x 1\nb: &x 2\nc: *x\n", FILE) == {"a": 1, "b": 2, "c": 2}
