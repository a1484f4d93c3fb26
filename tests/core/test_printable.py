"""What a terminal would execute or show in another order has escapes."""

import pytest

from adaptbert.codes import Code
from adaptbert.core.printable import printable
from adaptbert.errors import BadData


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\n", "a\tb\n"),
        ("好 é שלום \u200d", "好 é שלום \u200d"),
        ("\x1b[2J\x07\x9b", r"\x1b[2J\x07\x9b"),
        ("a\udc80", r"a\x80"),
        ("a\u202egnp.exe", r"a\u202egnp.exe"),
        ("\u061c\u200e\u200f\u2066a\u2069", r"\u061c\u200e\u200f\u2066a\u2069"),
        ("\ufeffid\u2028", r"\ufeffid\u2028"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_message() -> None:
    """File, problem and remedy."""
    message = str(BadData(Code.FILE, "a\u202e.csv", "label 'x\u2067y'", "rename \u200fz"))
    assert message == "AB-050 a\\u202e.csv: label 'x\\u2067y'\n  rename \\u200fz"
