"""What is taken out of a text, and which texts count as the same."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from adaptbert.data.cleaning import clean, digest, key, letters, name_key, origins, seen, spelled

BREAKS = "\x0b\x0c\r\x85\u2028\u2029"


@pytest.mark.parametrize(
    ("text", "left", "counts"),
    [
        ("a\x00b\x00", "ab", {"nul": 2}),
        ("a\x07b\x9fc\x7f", "abc", {"control": 3}),
        ("\x1b[1;31mred\x1b[0m", "red", {"ansi": 2}),
        ("a\tb\nc", "a\tb\nc", {}),
        ("a\x0bb\x0cc\x85d\u2028e\r\nf", "a b c d e \nf", {}),  # words are not joined
        ("abc\u202edef\u2069", "abcdef", {"bidi_override": 2}),
        ("שלום עולם", "שלום עולם", {}),
        ("\ufeffzero\u200bwidth\u00ad", "zerowidth", {"zero_width": 3}),
        ("👩\u200d👧 می\u200cخواهم", "👩\u200d👧 می\u200cخواهم", {}),  # joiners stay
        ("ｆｕｌｌ ﬁ раураl", "ｆｕｌｌ ﬁ раураl", {}),  # and so do forms and homoglyphs
        ("  both ends \n", "both ends", {}),
    ],
)
def test_clean(text: str, left: str, counts: dict[str, int]) -> None:
    assert clean(text) == (left, counts)


SAME = [("The  end", " the\tEND "), ("ＦＵＬＬ　width", "full width"), ("ﬁn", "FIN"), ("café", "cafe\u0301"),
        ("Straße", "STRASSE"), ("ISTANBUL", "istanbul")]  # fmt: skip
OTHERS = [("a b", "ab"), ("good!", "good"), ("ı", "i")]


def test_keys() -> None:
    assert all(key(one) == key(other) and digest(key(one)) == digest(key(other)) for one, other in SAME)
    assert not any(key(one) == key(other) for one, other in OTHERS)
    assert letters("Good, 2nd!") == letters("good 2 ND") == "good2nd"
    assert letters("很好！！") == letters("很 好")
    assert letters("कि") != letters("का"), "vowel signs are marks and tell words apart"
    assert letters("😀") != letters("😡"), "a text without letters is compared as it is"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_names_that_look_equal_and_how_they_are_shown(name: str) -> None:
    """Whatever the form; what is shown can be pasted into YAML."""
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert name_key(unicodedata.normalize(form, name)) == name_key(name)
    assert name_key(f" \u200b{name}\u2060 ") == name_key(name)
    assert YAML(typ="safe", pure=True).load(spelled(name)) == name


def test_a_name_is_shown_as_it_reads_too() -> None:
    assert [seen(name) for name in ("neg", "正面（好）", "neg\u200b", "\u200b", "it's")] == [
        "'neg'", "'正面（好）' (\"正面\\uff08好\\uff09\")", "'neg' (\"neg\\u200b\")", '"\\u200b"', "\"it's\"",
    ]  # fmt: skip


@given(st.text(st.one_of(st.sampled_from("ab \n\x00\x1b[31m\u200b\u2028\x85\r\u202e"), st.characters()), max_size=30))
def test_origins_of_what_clean_keeps(text: str) -> None:
    """Each character kept is the one at its origin, but for line breaks that became a space; nothing more is hidden."""
    cleaned, places = clean(text)[0], origins(text)
    assert clean(cleaned) == (cleaned, {})
    assert len(places) == len(cleaned)
    assert all(first < second for first, second in pairwise(places))
    assert [text[place] for place in places if text[place] not in BREAKS] == [
        character for character, place in zip(cleaned, places, strict=True) if text[place] not in BREAKS
    ]
    assert {character for character, place in zip(cleaned, places, strict=True) if text[place] in BREAKS} <= {" "}
