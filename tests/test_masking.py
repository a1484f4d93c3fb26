"""Masks by their statistics, with the special ids of a real tokenizer; every draw can be drawn again."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from adaptbert.masking import Masker, audit, audit_metrics
from tests import tiny

COUNT, LENGTH = 4_000, 24
ALPHA = 1e-6  # of each two-sided bound: a sound draw fails once in half a million runs, and the seeds are fixed anyway


def draw(masker: Masker, ids: np.ndarray, starts: np.ndarray, lengths: np.ndarray, number: int = 0) -> tuple:
    documents = np.arange(len(lengths))
    return masker.mask(ids, starts, lengths, documents, np.full(len(lengths), number))


def assert_share(hits: int, of: int, share: float) -> None:
    """Within the exact bounds of a binomial."""
    low, high = binom.ppf(ALPHA / 2, of, share), binom.ppf(1 - ALPHA / 2, of, share)
    assert low <= hits <= high, f"{hits} of {of} is {hits / of:.4f}, expected {share}"


@pytest.mark.parametrize("seed", [0, 1, 2**63])
@pytest.mark.parametrize("unit", ["token", "word"])
@pytest.mark.parametrize("probability", [0.15, 0.3])
def test_rates(seed: int, unit: str, probability: float) -> None:
    pieces = tiny.tokenizer()
    ids, starts, lengths = tiny.documents(COUNT, LENGTH, 3)
    if unit == "word":  # the bounds hold for independent draws: let every token be a word
        starts = np.ones_like(starts)
    corrupted, chosen = draw(tiny.masker(seed, unit=unit, probability=probability), ids, starts, lengths)

    assert (np.diff(chosen) > 0).all()
    assert_share(len(chosen), int(pieces.maskable[ids].sum()), probability)
    became_mask = corrupted[chosen] == pieces.mask
    assert_share(int(became_mask.sum()), len(chosen), 0.8)
    # A random replacement is the old token once in as many draws as there are replacements.
    stayed = corrupted[chosen] == ids[chosen]
    assert_share(int(stayed.sum()), len(chosen), 0.1 + 0.1 / len(pieces.replacements))

    untouched = np.ones(len(ids), bool)
    untouched[chosen] = False
    assert np.array_equal(corrupted[untouched], ids[untouched])


@pytest.mark.parametrize("shares", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.8, 0.2, 0.0)])
def test_ablations(shares: tuple[float, float, float]) -> None:
    pieces = tiny.tokenizer()
    names = ("mask_share", "random_share", "keep_share")
    ids, starts, lengths = tiny.documents(COUNT, LENGTH)
    corrupted, chosen = draw(tiny.masker(**dict(zip(names, shares, strict=True))), ids, starts, lengths)
    masked = corrupted[chosen] == pieces.mask
    kept = corrupted[chosen] == ids[chosen]
    assert_share(int(masked.sum()), len(chosen), shares[0])
    if shares[2] == 1:
        assert kept.all()
    if shares[1] == 0:
        assert np.array_equal(corrupted[chosen][~masked], ids[chosen][~masked])


def test_special_tokens_are_never_chosen_and_never_drawn() -> None:
    pieces = tiny.tokenizer()
    specials = [pieces.pad, pieces.unknown, pieces.cls, pieces.sep, pieces.mask]
    ids = np.random.default_rng(0).integers(0, pieces.size, 60_000)  # special tokens wherever, as user text might be
    lengths = np.full(3_000, 20)
    all_random = tiny.masker(probability=0.5, mask_share=0.0, random_share=1.0, keep_share=0.0)
    corrupted, chosen = draw(all_random, ids, np.ones(len(ids), bool), lengths)
    assert not np.isin(ids[chosen], specials).any()
    assert not np.isin(corrupted[chosen], specials).any()
    assert set(corrupted[chosen].tolist()) == set(pieces.replacements.tolist()), "every other token is drawn"


def test_an_unused_token_never_stands_in_for_another() -> None:
    vocabulary = [*(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]", "[unused99]"]), "a", "b"]
    from transformers import BertTokenizer

    from adaptbert.tokenization import Tokenizer

    pieces = Tokenizer(BertTokenizer(vocab={token: number for number, token in enumerate(vocabulary)}))
    assert pieces.replacements.tolist() == [7, 8]
    ids = np.full(2_000, 7)
    masker = tiny.masker(pieces=pieces, mask_share=0.0, random_share=1.0, keep_share=0.0)
    corrupted, chosen = draw(masker, ids, np.ones(len(ids), bool), np.full(100, 20))
    assert set(corrupted[chosen].tolist()) == {7, 8}


def test_a_draw_can_be_drawn_again_and_does_not_depend_on_its_batch() -> None:
    ids, starts, lengths = tiny.documents(50, LENGTH)
    masker = tiny.masker(7)
    together = draw(masker, ids, starts, lengths)
    for mine, theirs in zip(together, draw(tiny.masker(7), ids, starts, lengths), strict=True):
        assert np.array_equal(mine, theirs)
    for document in (0, 17, 49):
        span = slice(document * LENGTH, (document + 1) * LENGTH)
        corrupted, chosen = masker.mask(
            ids[span], starts[span], lengths[:1], np.array([document]), np.zeros(1, np.int64)
        )
        assert np.array_equal(corrupted, together[0][span])
        within = (together[1] >= span.start) & (together[1] < span.stop)
        assert np.array_equal(chosen + span.start, together[1][within])


@pytest.mark.parametrize("other", ["pass", "seed", "document"])
def test_another_pass_seed_or_document_draws_independently(other: str) -> None:
    """Two independent draws agree on p^2 of the tokens."""
    ids, starts, lengths = tiny.documents(COUNT, LENGTH)
    maskable = tiny.tokenizer().maskable[ids]
    first = draw(tiny.masker(1, probability=0.3), ids, starts, lengths)[1]
    if other == "document":
        documents = np.arange(COUNT) + COUNT
        second = tiny.masker(1, probability=0.3).mask(ids, starts, lengths, documents, np.zeros(COUNT, np.int64))[1]
    else:
        second = draw(tiny.masker(2 if other == "seed" else 1, probability=0.3), ids, starts, lengths, other == "pass")[
            1
        ]
    assert_share(len(np.intersect1d(first, second)), int(maskable.sum()), 0.09)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1_000), st.integers(0, 5))
def test_words_are_masked_whole(seed: int, number: int) -> None:
    ids, starts, lengths = tiny.documents(40, LENGTH, seed)
    _, chosen = draw(tiny.masker(seed, unit="word", probability=0.4), ids, starts, lengths, number)
    hit = np.zeros(len(ids), bool)
    hit[chosen] = True
    word = np.cumsum(starts) - 1
    for members in np.split(np.arange(len(ids)), np.flatnonzero(np.diff(word)) + 1):
        assert hit[members].all() or not hit[members].any()


def test_the_share_of_whole_words_is_the_probability() -> None:
    ids, starts, lengths = tiny.documents(COUNT, LENGTH)
    _, chosen = draw(tiny.masker(5, unit="word", probability=0.15), ids, starts, lengths)
    first = np.flatnonzero(starts)
    words = first[tiny.tokenizer().maskable[ids[first]]]
    assert_share(int(np.isin(words, chosen).sum()), len(words), 0.15)


def test_the_audit_equals_a_naive_count() -> None:
    pieces = tiny.tokenizer()
    counts: Counter[str] = Counter()
    maskable = chosen_total = documents = without = whole = 0
    generator = np.random.default_rng(1)
    for number in range(5):
        lengths = generator.integers(2, 7, 200)  # from [CLS] [SEP] alone to four tokens, so that all kinds occur
        ids = np.concatenate(
            [[pieces.cls, *generator.choice(pieces.replacements, length - 2), pieces.sep] for length in lengths]
        )
        _, chosen = draw(tiny.masker(3, probability=0.5), ids, np.ones(len(ids), bool), lengths, number)
        counts.update(audit(ids, lengths, chosen, pieces.maskable))
        hit = set(chosen.tolist())
        place = 0
        for length in lengths.tolist():
            inner = [i for i in range(place, place + length) if pieces.maskable[ids[i]]]
            hits = sum(i in hit for i in inner)
            maskable, chosen_total = maskable + len(inner), chosen_total + hits
            if inner:
                documents += 1
                without += hits == 0
                whole += hits == len(inner) and len(inner) > 1
            place += length
    assert without > 0
    assert whole > 0
    assert audit_metrics(counts) == {
        "rate": chosen_total / maskable,
        "specials": 0,
        "documents_without": without / documents,
        "documents_whole": whole / documents,
    }


def test_the_audit_sees_a_masked_special_token() -> None:
    pieces = tiny.tokenizer()
    ids, _, lengths = tiny.documents(2, 5)
    assert audit(ids, lengths, np.array([0, 2]), pieces.maskable)["specials"] == 1


@pytest.mark.parametrize("length", [3, 6, 24])
def test_the_share_of_documents_without_a_mask_is_what_the_length_makes_it(length: int) -> None:
    ids, starts, lengths = tiny.documents(COUNT, length)
    _, chosen = draw(tiny.masker(11), ids, starts, lengths)
    hits = np.bincount(chosen // length, minlength=COUNT)
    assert_share(int((hits == 0).sum()), COUNT, 0.85 ** (length - 2))


def test_shares_must_add_up() -> None:
    with pytest.raises(ValueError, match=r"mask_share 0.8 \+ random_share 0.1 \+ keep_share 0.2 is 1.1, not 1"):
        tiny.masking(keep_share=0.2)
