"""What is taken out of a text, and which texts count as the same."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptbert.data.cleaning import clean, digest, key, letters, origins

BREAKS = "\x0b\x0c\r\x85\u2028\u2029"


@pytest.mark.parametrize(
    ("text", "left", "counts"),
    [
        pytest.param("plain", "plain", {}, id="nothing hidden"),
        pytest.param("a\x00b\x00", "ab", {"nul": 2}, id="NUL (10)"),
        pytest.param("a\x07b\x9fc\x7f", "abc", {"control": 3}, id="control characters (11)"),
        pytest.param("\x1b[1;31mred\x1b[0m", "red", {"ansi": 2}, id="terminal colours (12)"),
        pytest.param("a\tb\nc", "a\tb\nc", {}, id="tab and newline stay"),
        pytest.param(
            "a\x0bb\x0cc\x85d\u2028e\r\nf", "a b c d e \nf", {}, id="other line breaks do not glue words (14)"
        ),
        pytest.param("abc\u202edef\u2069", "abcdef", {"bidi_override": 2}, id="direction overrides (26)"),
        pytest.param("שלום עולם", "שלום עולם", {}, id="right-to-left text stays"),
        pytest.param("\ufeffzero\u200bwidth\u00ad", "zerowidth", {"zero_width": 3}, id="zero width (28)"),
        pytest.param(
            "👩\u200d👩\u200d👧 می\u200cخواهم", "👩\u200d👩\u200d👧 می\u200cخواهم", {}, id="joiners stay (27, 28)"
        ),
        pytest.param("ｆｕｌｌ ﬁ раураl", "ｆｕｌｌ ﬁ раураl", {}, id="forms and homoglyphs stay (29)"),
        pytest.param("  both ends \n", "both ends", {}, id="white space at the ends"),
    ],
)
def test_clean(text: str, left: str, counts: dict[str, int]) -> None:
    assert clean(text) == (left, counts)


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once, _ = clean(text)
    assert clean(once) == (once, {})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The  end", " the\tEND "),
        ("ＦＵＬＬ　width", "full width"),
        ("ﬁn", "FIN"),
        ("café", "cafe\u0301"),
        ("Straße", "STRASSE"),
    ],
)
def test_same_key(one: str, other: str) -> None:
    assert key(one) == key(other)
    assert digest(key(one)) == digest(key(other))


def test_keys_keep_texts_apart() -> None:
    assert key("a b") != key("ab")
    assert key("good!") != key("good")
    assert letters("Good, 2nd!") == letters("good 2 ND") == "good2nd"
    assert letters("很好！！") == letters("很 好")
    assert letters("कि") != letters("का"), "vowel signs are marks and tell words apart"
    assert letters("😀") != letters("😡"), "a text without letters is compared as it is"


def test_lower_case_does_not_follow_the_locale() -> None:
    assert key("ISTANBUL") == "istanbul"
    assert key("ı") != key("i")


@given(st.text(st.one_of(st.sampled_from("ab \n\x00\x1b[31m\u200b\u2028\x85\r\u202e"), st.characters()), max_size=30))
def test_origins_of_what_clean_keeps(text: str) -> None:
    """Each character kept is the one at its origin, but for line breaks that became a space."""
    cleaned, places = clean(text)[0], origins(text)
    assert len(places) == len(cleaned)
    assert all(first < second for first, second in pairwise(places))
    assert [text[place] for place in places if text[place] not in BREAKS] == [
        character for character, place in zip(cleaned, places, strict=True) if text[place] not in BREAKS
    ]
    assert {character for character, place in zip(cleaned, places, strict=True) if text[place] in BREAKS} <= {" "}


def test_origins_of_a_colour_code() -> None:
    assert origins(" \x1b[31mred\u200b\r\nhat ") == [6, 7, 8, 10, 11, 12, 13, 14]
