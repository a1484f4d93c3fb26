"""The classes of the tokens of a text: by form, by place, by how often they occur."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from adaptbert.pretraining.metrics.fill_in_classes import FILL_IN_CLASSES, RARE, TERM_LEAST, FillInClasses

TOKENS = [
    *("[CLS]", "[SEP]", "[", "]", "#", "##ing", "like", "the", "7", ",", "我", "的", "猫", "哈", "doge", "🙂", "ok"),
    *(f"w{number}" for number in range(30)),
]
SPECIALS = 2
MASKABLE = np.arange(len(TOKENS)) >= SPECIALS


def ids_of(text: str) -> list[int]:
    return [TOKENS.index(token) for token in ("[CLS] " + text + " [SEP]").split()]


def classes_of(*texts: str) -> dict[str, list[list[str]]]:
    """The tokens of each class, document by document."""
    documents = [ids_of(text) for text in texts]
    flat = np.array([number for document in documents for number in document])
    counts = np.bincount(flat, minlength=len(TOKENS))
    lengths = np.array([len(document) for document in documents])
    members = FillInClasses(TOKENS, MASKABLE, counts, counts).of(flat, lengths)
    ends = np.cumsum(lengths)
    return {
        name: [
            [TOKENS[number] for number, inside in zip(flat[a:b], member[a:b], strict=True) if inside]
            for a, b in zip(ends - lengths, ends, strict=True)
        ]
        for name, member in members.items()
    }


def test_every_class_has_a_name() -> None:
    assert set(classes_of("the")) == set(FILL_IN_CLASSES)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("all", "the 7 ,", ["the", "7", ","]),
        ("function_word", "the like 我 的 猫 ok", ["the", "我", "的"]),
        ("continuation", "like ##ing 7", ["##ing"]),
        ("digit", "7 like", ["7"]),
        ("punctuation", "[ the ] , #", ["[", "]", ",", "#"]),
        ("emoji", "🙂 like", ["🙂"]),
        ("bracketed", "我 [ 哈 哈 ] 7 [ doge ] 猫", ["哈", "哈", "doge"]),
        ("bracketed", "the [ 7 ] like [ the", []),
        ("bracketed", "[ [ 哈 ] ]", ["哈"]),
        ("bracketed", "[ " + "哈 " * 9 + "]", []),
        ("hashtag", "# 猫 猫 # 我 # 哈 # 的", ["猫", "猫", "哈"]),
        ("hashtag", "# 猫 我", []),
        ("hashtag", "the # like ##ing the # ok", ["like", "##ing", "ok"]),
        ("latin_in_chinese", "我 的 猫 ok", ["ok"]),
        ("latin_in_chinese", "the like 猫", []),
    ],
)
def test_by_form_and_place(name: str, text: str, expected: list[str]) -> None:
    assert classes_of(text)[name] == [expected]


def test_no_place_extends_across_documents() -> None:
    """An open bracket or hash sign ends with its document."""
    classes = classes_of("我 [ 哈", "哈 ] 我", "我 # 猫", "猫 # 我")
    assert classes["bracketed"] == classes["hashtag"] == [[], [], [], []]
    assert classes_of("the #", "like the")["hashtag"] == [[], []]


@settings(max_examples=60)
@given(st.lists(st.integers(0, 50), min_size=len(TOKENS), max_size=len(TOKENS)))
def test_each_token_has_one_frequency(numbers: list[int]) -> None:
    """A more frequent token is in no rarer band, and bands end where they should."""
    counts = np.array(numbers)
    members = FillInClasses(TOKENS, MASKABLE, counts, None).of(np.arange(len(TOKENS)), np.array([len(TOKENS)]))
    band = sum(place * members[name].astype(int) for place, name in enumerate(("frequent", "middle", "rare")))
    assert (sum(members[name].astype(int) for name in ("frequent", "middle", "rare")) == MASKABLE).all()
    inside = counts[SPECIALS:]
    for rarer in range(1, 3):
        above, below = inside[band[SPECIALS:] < rarer], inside[band[SPECIALS:] >= rarer]
        assert not len(above) or not len(below) or above.min() >= below.max()
    total = inside.sum()
    if total:
        assert inside[band[SPECIALS:] == 0].sum() >= 0.5 * total
        assert inside[band[SPECIALS:] <= 1].sum() >= RARE * total - 1e-9


def terms(own: dict[str, int], general: dict[str, int]) -> set[str]:
    def counts(of: dict[str, int]) -> NDArray[np.int64]:
        return np.array([of.get(token, 0) for token in TOKENS])

    classes = FillInClasses(TOKENS, MASKABLE, counts(own), counts(general))
    member = classes.of(np.arange(len(TOKENS)), np.array([len(TOKENS)]))["domain_term"]
    return {token for token, inside in zip(TOKENS, member, strict=True) if inside}


def test_domain_terms_are_much_more_frequent_than_in_general_text() -> None:
    common = {"the": 500, "like": 400}
    own = common | {"w1": 20, "w2": TERM_LEAST - 1, "w3": 20, ",": 50, "[CLS]": 99}
    assert terms(own, common | {"w3": 18}) == {"w1"}, "a word, often enough, and five times as often"
    assert terms(own, common) == {"w1", "w3"}
    assert terms(common, own) == set()


def test_general_text_has_no_domain_terms() -> None:
    counts = np.ones(len(TOKENS), np.int64)
    assert "domain_term" not in FillInClasses(TOKENS, MASKABLE, counts, None).of(np.arange(3), np.array([3]))
