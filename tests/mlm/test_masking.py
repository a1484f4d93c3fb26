"""Masks by their statistics, with the special ids of a real tokenizer; every draw can be drawn again."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from transformers import BertTokenizer

from adaptbert.config.schema.mlm import Ngram
from adaptbert.mlm.masking import Masker, run_shares
from adaptbert.text.tokenizer import Tokenizer
from tests.support import tiny, tiny_params

COUNT, LENGTH = 4_000, 24
ALPHA = 1e-6  # of each two-sided bound: a sound draw fails once in half a million runs, and the seeds are fixed anyway


def draw(masker: Masker, ids: np.ndarray, starts: np.ndarray, lengths: np.ndarray, number: int = 0) -> tuple:
    documents = np.arange(len(lengths))
    return masker.mask(ids, starts, lengths, documents, np.full(len(lengths), number))


def assert_share(hits: int, of: int, share: float) -> None:
    """Within the exact bounds of a binomial."""
    low, high = binom.ppf(ALPHA / 2, of, share), binom.ppf(1 - ALPHA / 2, of, share)
    assert low <= hits <= high, f"{hits} of {of} is {hits / of:.4f}, expected {share}"


@pytest.mark.parametrize(
    "shares", [(0.8, 0.1, 0.1), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.8, 0.2, 0.0)]
)
@pytest.mark.parametrize("seed", [0, 1, 2**63])
@pytest.mark.parametrize("unit", ["token", "word"])
@pytest.mark.parametrize("probability", [0.15, 0.3])
def test_rates(seed: int, unit: str, probability: float, shares: tuple[float, float, float]) -> None:
    pieces = tiny.tokenizer()
    names = ("mask_share", "random_share", "keep_share")
    ids, starts, lengths = tiny.documents(COUNT, LENGTH, 3)
    if unit == "word":  # the bounds hold for independent draws: let every token be a word
        starts = np.ones_like(starts)
    how = {"unit": unit, "probability": probability, **dict(zip(names, shares, strict=True))}
    corrupted, chosen = draw(tiny_params.masker(seed, **how), ids, starts, lengths)

    assert (np.diff(chosen) > 0).all()
    assert_share(len(chosen), int(pieces.maskable[ids].sum()), probability)
    became_mask = corrupted[chosen] == pieces.mask
    assert_share(int(became_mask.sum()), len(chosen), shares[0])
    # A random replacement is the old token once in as many draws as there are replacements.
    stayed = corrupted[chosen] == ids[chosen]
    assert_share(int(stayed.sum()), len(chosen), shares[2] + shares[1] / len(pieces.replacements))

    untouched = np.ones(len(ids), bool)
    untouched[chosen] = False
    assert np.array_equal(corrupted[untouched], ids[untouched])


def test_special_tokens_are_never_chosen_and_never_drawn() -> None:
    pieces = tiny.tokenizer()
    specials = [pieces.pad, pieces.unknown, pieces.cls, pieces.sep, pieces.mask]
    ids = np.random.default_rng(0).integers(0, pieces.size, 60_000)  # special tokens wherever, as user text might be
    lengths = np.full(3_000, 20)
    all_random = tiny_params.masker(probability=0.5, mask_share=0.0, random_share=1.0, keep_share=0.0)
    corrupted, chosen = draw(all_random, ids, np.ones(len(ids), bool), lengths)
    assert not np.isin(ids[chosen], specials).any()
    assert not np.isin(corrupted[chosen], specials).any()
    assert set(corrupted[chosen].tolist()) == set(pieces.replacements.tolist()), "every other token is drawn"


def test_an_unused_token_is_never_a_replacement() -> None:
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]", "[unused99]", "a", "b"]
    pieces = Tokenizer(BertTokenizer(vocab={token: number for number, token in enumerate(vocabulary)}))
    assert pieces.replacements.tolist() == [7, 8], "the test above draws every replacement, and nothing else"


@pytest.mark.parametrize("other", ["pass", "seed", "document"])
def test_another_pass_seed_or_document_draws_independently(other: str) -> None:
    """Two independent draws agree on p^2 of the tokens."""
    ids, starts, lengths = tiny.documents(COUNT, LENGTH)
    maskable = tiny.tokenizer().maskable[ids]
    first = draw(tiny_params.masker(1, probability=0.3), ids, starts, lengths)[1]
    if other == "document":
        documents = np.arange(COUNT) + COUNT
        second = tiny_params.masker(1, probability=0.3).mask(
            ids, starts, lengths, documents, np.zeros(COUNT, np.int64)
        )[1]
    else:
        second = draw(
            tiny_params.masker(2 if other == "seed" else 1, probability=0.3), ids, starts, lengths, other == "pass"
        )[1]
    assert_share(len(np.intersect1d(first, second)), int(maskable.sum()), 0.09)


def flags(positions: np.ndarray, count: int) -> np.ndarray:
    flags = np.zeros(count, bool)
    flags[positions] = True
    return flags


ERNIE, SPANBERT = {"longest": 3, "geometric": 0}, {"longest": 10, "geometric": 0.2}
UNITS: dict[str, dict[str, Any]] = {
    **{unit: {"unit": unit, **more} for unit, more in tiny_params.UNITS.items()},
    "spanbert": {"unit": "ngram", "ngram": Ngram(**SPANBERT)},
}


def texts_with_specials(count: int, words: int, pieces_a_word: int, seed: int = 0) -> tuple:
    """Documents of so many words, some with a [SEP] in the middle and [UNK] here and there; ids, starts, lengths."""
    pieces, dice = tiny.tokenizer(), np.random.default_rng(seed)
    ids, starts, lengths = [], [], []
    for number in range(count):
        made, begins = [pieces.cls], [True]
        for word in range(int(dice.integers(1, words + 1))):
            size = int(dice.integers(1, pieces_a_word + 1))
            if dice.random() < 0.05:
                made, begins = [*made, pieces.unknown], [*begins, True]
            made += dice.choice(pieces.replacements, size).tolist()
            begins += [True, *[False] * (size - 1)]
            if word == words // 2 and number % 2:
                made, begins = [*made, pieces.sep], [*begins, True]
        ids += [*made, pieces.sep]
        starts += [*begins, True]
        lengths.append(len(made) + 1)
    return np.array(ids), np.array(starts), np.array(lengths)


@pytest.mark.parametrize(("unit", "longest"), [("word", 1), ("ngram", 3), ("spanbert", 10)])
def test_runs_are_whole_words_between_special_tokens(unit: str, longest: int) -> None:
    pieces = tiny.tokenizer()
    ids, starts, lengths = texts_with_specials(300, 20, 4)
    masker = tiny_params.masker(1, probability=0.4, **UNITS[unit])
    numbers, passes = np.arange(len(lengths)), np.zeros(len(lengths), np.int64)
    begins = masker.units(ids, starts, lengths, numbers, passes)
    hit = flags(draw(masker, ids, starts, lengths)[1], len(ids))
    document = np.repeat(numbers, lengths)
    seen = set()
    for members in np.split(np.arange(len(ids)), np.flatnonzero(begins)[1:]):
        assert hit[members].all() or not hit[members].any(), "a run is masked whole"
        assert len(set(document[members])) == 1
        assert len(members) == 1 or pieces.maskable[ids[members]].all(), "a run has no special token in it"
        assert starts[members[0]], "a run begins with a word"
        seen.add(int(starts[members].sum()))
    assert seen == set(range(1, longest + 1)), "words of a run"


@pytest.mark.parametrize("ngram", [ERNIE, SPANBERT])
def test_lengths_of_runs_have_the_configured_shares(ngram: dict[str, float]) -> None:
    config = Ngram(**ngram)
    ids, _, lengths = tiny.documents(400, 200)
    masker = tiny_params.masker(3, unit="ngram", ngram=config)
    begins = masker.units(ids, np.ones(len(ids), bool), lengths, np.arange(400), np.zeros(400, np.int64))
    # What the end of a document cuts short is left out: the runs that begin well before it.
    by_document = [np.diff(np.flatnonzero(begins[number * 200 + 1 : number * 200 + 199])) for number in range(400)]
    sizes = np.concatenate([sizes[: len(sizes) // 2] for sizes in by_document])
    for size, share in enumerate(run_shares(config), 1):
        assert_share(int((sizes == size).sum()), len(sizes), float(share))


def test_spanberts_runs_have_3_8_words_on_average() -> None:
    """Joshi et al. 2020, section 3.1, give the number."""
    shares = run_shares(Ngram(**SPANBERT))
    assert shares.sum() == pytest.approx(1)
    assert shares @ np.arange(1, 11) == pytest.approx(3.8, abs=0.01)
    assert run_shares(Ngram(**ERNIE)).tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("words", [1, 2, 5, 40])
@pytest.mark.parametrize("pieces_a_word", [1, 5])
@pytest.mark.parametrize("probability", [0.15, 0.4])
def test_the_share_of_chosen_tokens_is_the_probability_for_any_lengths(
    unit: str, words: int, pieces_a_word: int, probability: float
) -> None:
    """The same documents in many passes, so that the mean over draws is seen and not that over documents. Documents
    are independent: the error of the mean follows from the spread between them."""
    masker = tiny_params.masker(7, probability=probability, **UNITS[unit])
    ids, starts, lengths = texts_with_specials(60, words, pieces_a_word, seed=words)
    times = 12_000 // len(ids) + 40
    flat = (np.tile(ids, times), np.tile(starts, times), np.tile(lengths, times))
    numbers, passes = np.tile(np.arange(60), times), np.repeat(np.arange(times), 60)
    _, chosen = masker.mask(*flat, numbers, passes)
    document = np.repeat(np.arange(len(flat[2])), flat[2])
    surplus = np.bincount(document[chosen], minlength=len(flat[2])) - probability * np.bincount(
        document, tiny.tokenizer().maskable[flat[0]], minlength=len(flat[2])
    )
    error = surplus.std() * np.sqrt(len(surplus))
    assert abs(surplus.sum()) < 5 * error
    # Every place of a document alike, the first and the last too: no token is favoured by where it stands.
    hits = np.bincount(chosen % len(ids), minlength=len(ids))[tiny.tokenizer().maskable[ids]]
    low, high = (binom.ppf(q, times, probability) for q in (1e-7, 1 - 1e-7))
    assert (low <= hits).all()
    assert (hits <= high).all()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(UNITS)), st.integers(0, 1_000), st.integers(0, 5), st.integers(0, 39))
def test_a_draw_can_be_drawn_again_and_does_not_depend_on_its_batch(
    unit: str, seed: int, number: int, document: int
) -> None:
    ids, starts, lengths = texts_with_specials(40, 12, 3, seed)
    together = draw(tiny_params.masker(seed, probability=0.3, **UNITS[unit]), ids, starts, lengths, number)
    end = int(lengths[: document + 1].sum())
    span = slice(end - int(lengths[document]), end)
    again = tiny_params.masker(seed, probability=0.3, **UNITS[unit])
    alone = again.mask(ids[span], starts[span], lengths[[document]], np.array([document]), np.array([number]))
    assert np.array_equal(alone[0], together[0][span])
    within = (together[1] >= span.start) & (together[1] < span.stop)
    assert np.array_equal(alone[1] + span.start, together[1][within])


def test_each_pass_has_other_runs() -> None:
    ids, starts, lengths = texts_with_specials(50, 30, 2)
    masker = tiny_params.masker(1, unit="ngram", ngram=Ngram(**ERNIE))
    first, second = (masker.units(ids, starts, lengths, np.arange(50), np.full(50, number)) for number in (0, 1))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"unit": "ngram"}, "unit is ngram and ngram is missing"),
        ({"unit": "word", "ngram": Ngram(**ERNIE)}, "unit is word and ngram is given"),
    ],
)
def test_ngram_belongs_to_its_unit_only(changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny_params.masking(**changes)
