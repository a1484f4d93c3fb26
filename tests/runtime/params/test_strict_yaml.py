"""What a params.yaml may hold that is not YAML, or not what it looks like: the line, the name and how to write it."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adaptbert.codes import Code
from adaptbert.errors import BAD_PARAMS, UserError
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.all_sections import check_all
from adaptbert.runtime.params.strict_yaml import load
from tests.support.imports import ROOT
from tests.support.messages import messages_in

FILE = Path("params.yaml")
SMOKE_TEXT = (ROOT / "presets/smoke.yaml").read_text(encoding="utf-8")
SMOKE = load(SMOKE_TEXT, FILE)


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


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
        ("1e3", "a number"),
        ("0x10", "a number"),
        (".nan", "a number"),
        ("2024-01-01", "a date"),
        ("2024-01-01T10:00:00", "a date"),
        ("true", "a boolean"),
        ("null", "nothing"),
        ("~", "nothing"),
    ],
)
def test_a_key_that_yaml_reads_as_something_else(key: str, kind: str) -> None:
    expected = f'AB-187 params.yaml:3: YAML reads the key {key} as {kind}\n  write "{key}"'
    assert messages(f"collect:\n  a: 1\n  {key}: {{source: files}}\n") == [expected]
    assert load(f'collect:\n  a: 1\n  "{key}": 2\n', FILE) == {"collect": {"a": 1, key: 2}}


def test_all_such_keys_are_reported_together() -> None:
    assert messages("2024: 1\ntrue: 2\n: 3\n[a]: 4\n") == [
        'AB-187 params.yaml:1: YAML reads the key 2024 as a number\n  write "2024"',
        'AB-187 params.yaml:2: YAML reads the key true as a boolean\n  write "true"',
        'AB-187 params.yaml:3: YAML reads an empty key as nothing\n  write "name"',
        "AB-187 params.yaml:4: a key is a list or a mapping\n  write a name; put [ and { in quotes",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "seed：1\nladder:\n  a: 1\n",
            "AB-188 params.yaml:1:5: a full-width colon (U+FF1A)\n  write a colon ':' and a blank",
            id="colon, and the next key is where YAML fails",
        ),
        pytest.param(
            'a: "：fine"  # ：fine\nb:\n  c： 1\n  d: 2\n',
            "AB-188 params.yaml:3:4: a full-width colon (U+FF1A)\n  write a colon ':' and a blank",
            id="not the one in quotes or in a comment",
        ),
        pytest.param(
            "optim: {rate: 1, decay：2, clip: 3}\n",
            "AB-188 params.yaml:1:23: a full-width colon (U+FF1A) in the key 'decay：2'\n  write a colon ':' and a "
            "blank, or put the key in quotes",
            id="colon in braces, where YAML finds a key without a value",
        ),
        pytest.param(
            "a:\n\u00a0\u00a0b: 1\n",
            "AB-188 params.yaml:2:1: a no-break space (U+00A0) in the key '\u00a0\u00a0b'\n  write a blank, "
            "or put the key in quotes",
            id="no-break space",
        ),
        pytest.param(
            "“seed”: 1\n",
            "AB-188 params.yaml:1:1: a curly quote (U+201C) in the key '“seed”'\n  "
            "write '\"', or put the key in quotes",
            id="curly quotes",
        ),
        pytest.param(
            "a:\n  b: ‘x y’\n",
            'AB-188 params.yaml:2:6: a curly quote (U+2018) around x y\n  write "\'", or put the whole in quotes',
            id="curly quotes around a value",
        ),
        pytest.param(
            "a: {b: 1， c: 2}\n", "AB-188 params.yaml:1:9: a full-width comma (U+FF0C)\n  write ','", id="comma"
        ),
        pytest.param("a:\n  b: 1\n\tc: 2\n", "AB-188 params.yaml:3:1: a tab (U+0009)\n  write blanks", id="tab"),
        pytest.param("a: 1\nb: x\0y\n", "AB-188 params.yaml:2:5: NUL (U+0000)\n  delete it", id="NUL"),
        pytest.param(
            "a: 1\r\nb: \x1b[2J\n", "AB-188 params.yaml:2:4: a hidden character (U+001B)\n  delete it", id="escape"
        ),
        pytest.param(
            'a: "\\0"\n', "AB-188 params.yaml:1: a text holds NUL (U+0000)\n  take it out", id="NUL as an escape"
        ),
        pytest.param(
            'a: ["\\udc80"]\n',
            "AB-188 params.yaml:1: a text holds half of a character (U+DC80)\n  take it out",
            id="surrogate",
        ),
        pytest.param(
            "a: 2024-13-45\n",
            "AB-100 params.yaml:1: '2024-13-45' is written like a date and is none\n  mend it, or put text in quotes",
            id="no such month",
        ),
        pytest.param(
            f"a: {'9' * 5000}\n",
            f"AB-109 params.yaml:1: '{'9' * 80}... (5,000 characters)' is a number that no value takes\n  "
            "write one below 2^64",
            id="an integer that Python does not print",
        ),
        pytest.param(
            "a: !!int x\n",
            "AB-100 params.yaml:1: 'x' is written like a number and is none\n  mend it, or put text in quotes",
            id="a tag that lies",
        ),
        pytest.param(
            "a: =\n", "AB-106 params.yaml:1: tag not allowed (!!value)\n  write a plain value, text in quotes", id="="
        ),
        pytest.param(
            "a: @user\n",
            "AB-114 params.yaml:1: not YAML: found character '@' that cannot start any token\n  "
            "put the value in quotes",
            id="a value that begins with @",
        ),
        pytest.param(
            "a:\n  b: 'x\nc: 1\n",
            "AB-114 params.yaml:2: not YAML: found unexpected end of stream\n  close the quote",
            id="the line where the quote was opened",
        ),
        pytest.param(
            "a: [1, 2\nb: 3\n",
            "AB-114 params.yaml:2: not YAML: expected ',' or ']', but got ':'\n  close the bracket, and put commas "
            "between its values",
            id="an open bracket",
        ),
        pytest.param('a: "\\UFFFFFFFF"\n', "AB-114 params.yaml: not YAML: .*\n  write it as it is", id="an escape"),
        pytest.param("- " * 100_000, "AB-105 params.yaml:1: nesting deeper than 50\n  flatten the file", id="dashes"),
        pytest.param("? " * 100_000, "AB-105 params.yaml:1: nesting deeper than 50\n  flatten the file", id="marks"),
        pytest.param(
            "".join(f"{' ' * level}a:\n" for level in range(1000)),
            "AB-105 params.yaml:50: nesting deeper than 50\n  flatten the file",
            id="indentation",
        ),
        pytest.param("a: &a [*a]\n", "AB-104 params.yaml: more than 10,000 values\n.*", id="itself"),
        pytest.param("a: &a {<<: *a}\n", "AB-104 params.yaml: more than 10,000 values\n.*", id="itself merged"),
        pytest.param("a: [" + "1," * 300_000, "AB-104 params.yaml: more than 10,000 values\n.*", id="a long list"),
    ],
)
def test_the_message(text: str, expected: str) -> None:
    (line,) = messages(text)
    assert line == expected or re.fullmatch(expected, line), line


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "confidence: 0.95",
            "confidence: 0．95",
            "AB-100 params.yaml: compare.confidence: expected a number, found text '0．95'\n  write 0.95",
        ),
        (
            "betas: [0.9, 0.98]",
            "betas: [0.9，0.98]",
            "AB-100 params.yaml: pretrain.all.optim.betas.0: expected a number, found text '0.9，0.98'\n  "
            "a full-width comma (U+FF0C) stands in it: write ','",
        ),
        (
            "dictionary: data/sources/words.txt",
            "dictionary: 2024",
            'AB-100 params.yaml: tokenize.all.words.dictionary: expected text, found an integer 2024\n  write "2024"',
        ),
        (
            "dictionary: data/sources/words.txt",
            "dictionary:",
            "AB-100 params.yaml: tokenize.all.words.dictionary: expected text, found nothing\n  write a text",
        ),
        (
            "confidence: 0.95",
            f"confidence: {'x' * 900_000}",
            f"AB-100 params.yaml: compare.confidence: expected a number, found text '{'x' * 79}... (900,002 "
            "characters)\n  write a plain number without quotes, such as 0.5",
        ),
    ],
)
def test_a_value_is_shown_short_and_with_how_to_write_it(old: str, new: str, expected: str) -> None:
    assert old in SMOKE_TEXT
    with pytest.raises(UserError) as raised:
        check_all(load(SMOKE_TEXT.replace(old, new, 1), FILE), FILE)
    assert str(raised.value) == expected


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
    message_of(lambda: load(text, FILE))


def places(values: Any, prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The path of every key."""
    inner = values.items() if isinstance(values, dict) else ()
    return [path for key, value in inner for path in [(*prefix, key), *places(value, (*prefix, key))]]


@given(st.sampled_from(places(SMOKE)), VALUES, st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_anywhere_is_right_or_an_error(path: tuple[str, ...], value: Any, is_key: bool) -> None:
    document = copy.deepcopy(SMOKE)
    here = document
    for part in path[:-1]:
        here = here[part]
    here[str(value) if is_key else path[-1]] = here[path[-1]] if is_key else value
    message_of(lambda: check_all(document, FILE))


@pytest.mark.nightly
@given(st.data())
@settings(max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_edit_of_a_good_file_is_right_or_an_error(data: st.DataObject) -> None:
    text = SMOKE_TEXT
    for _ in range(data.draw(st.integers(1, 4))):
        first = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(first, min(len(text), first + 30)))
        text = text[:first] + data.draw(TEXTS) + text[end:]
    message_of(lambda: check_all(load(text, FILE) or {}, FILE))


def test_a_name_that_is_not_utf8_is_printed_as_bytes() -> None:
    error = UserError(Code.NO_SUCH_FILE, Path("data/caf\udce9.csv"), "x\udcff\x1b[2J", "y")
    assert str(error) == r"AB-050 data/caf\xe9.csv: x\xff\x1b[2J" "\n  y"


def test_read_accepts_quoted_look_alikes_and_anchors(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text("a: &a {x: 1}\nb: {<<: *a, ：: 1}\n".replace("：", "'：'"), encoding="utf-8")
    assert params.read(path) == {"a": {"x": 1}, "b": {"x": 1, "：": 1}}


def test_an_anchor_may_be_used_anew() -> None:
    assert load("a: &x 1\nb: &x 2\nc: *x\n", FILE) == {"a": 1, "b": 2, "c": 2}
