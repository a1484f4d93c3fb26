"""Masks by their statistics, with the special ids of a real tokenizer; every draw can be drawn again. The audit says
what the masks really were; it is counted here a second time, document by document."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from transformers import BertTokenizer

from adaptbert.config.schema.mlm import Ngram
from adaptbert.mlm.masking import CLASSES, Masker, audit_metrics, run_shares, token_classes
from adaptbert.text.token_store import Flat
from adaptbert.text.tokenizer import Tokenizer
from tests.support import tiny, tiny_params

COUNT, LENGTH = 4_000, 24
ALPHA = 1e-6  # of each two-sided bound: a sound draw fails once in half a million runs, and the seeds are fixed anyway
ERNIE, SPANBERT = Ngram(longest=3, geometric=0), Ngram(longest=10, geometric=0.2)
UNITS: dict[str, dict[str, Any]] = {
    **{unit: {"unit": unit, **more} for unit, more in tiny_params.UNITS.items()},
    "spanbert": {"unit": "ngram", "ngram": SPANBERT},
}


def draw(masker: Masker, flat: Flat, number: int = 0, first: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corrupted ids, chosen positions, beginnings of units: of documents from `first` on in pass `number`."""
    return masker.mask(flat, np.arange(len(flat.lengths)) + first, np.full(len(flat.lengths), number))


def assert_share(hits: int, of: int, share: float) -> None:
    """Within the exact bounds of a binomial."""
    low, high = binom.ppf(ALPHA / 2, of, share), binom.ppf(1 - ALPHA / 2, of, share)
    assert low <= hits <= high, f"{hits} of {of} is {hits / of:.4f}, expected {share}"


def one_document(flat: Flat, number: int) -> Flat:
    end = int(flat.lengths[: number + 1].sum())
    span = slice(end - int(flat.lengths[number]), end)
    return Flat(flat.ids[span], flat.word_starts[span], flat.lengths[[number]])


def texts_with_specials(count: int, words: int, pieces_a_word: int, seed: int = 0, least: int = 1) -> Flat:
    """Documents of so many words at most, some with a [SEP] in the middle and [UNK] here and there."""
    pieces, dice = tiny.tokenizer(), np.random.default_rng(seed)
    ids, starts, lengths = [], [], []
    for number in range(count):
        made, begins = [pieces.one.before[0]], [True]
        for word in range(int(dice.integers(least, words + 1))):
            size = int(dice.integers(1, pieces_a_word + 1))
            if dice.random() < 0.05:
                made, begins = [*made, pieces.unknown], [*begins, True]
            made += dice.choice(pieces.replacements, size).tolist()
            begins += [True, *[False] * (size - 1)]
            if word == words // 2 and number % 2:
                made, begins = [*made, pieces.one.after[0]], [*begins, True]
        ids += [*made, pieces.one.after[0]]
        starts += [*begins, True]
        lengths.append(len(made) + 1)
    return Flat(np.array(ids), np.array(starts), np.array(lengths))


@pytest.mark.parametrize(
    "shares", [(0.8, 0.1, 0.1), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.8, 0.2, 0.0)]
)
@pytest.mark.parametrize(("seed", "probability"), [(0, 0.15), (2**63, 0.3)])
def test_rates(seed: int, probability: float, shares: tuple[float, float, float]) -> None:
    pieces, (ids, _, lengths) = tiny.tokenizer(), tiny.documents(COUNT, LENGTH, 3)
    how = dict(zip(("mask_share", "random_share", "keep_share"), shares, strict=True))
    flat = Flat(ids, np.ones(len(ids), bool), lengths)
    corrupted, chosen, _ = draw(tiny_params.masker(seed, probability=probability, **how), flat)
    assert (np.diff(chosen) > 0).all()
    assert_share(len(chosen), int(pieces.maskable[ids].sum()), probability)
    assert_share(int((corrupted[chosen] == pieces.mask).sum()), len(chosen), shares[0])
    # A random replacement is the old token once in as many draws as there are replacements.
    stayed = int((corrupted[chosen] == ids[chosen]).sum())
    assert_share(stayed, len(chosen), shares[2] + shares[1] / len(pieces.replacements))
    untouched = np.ones(len(ids), bool)
    untouched[chosen] = False
    assert np.array_equal(corrupted[untouched], ids[untouched])


def test_special_and_unused_tokens_are_never_chosen_and_never_drawn() -> None:
    pieces = tiny.tokenizer()
    specials = [pieces.pad, pieces.unknown, pieces.one.before[0], pieces.one.after[0], pieces.mask]
    ids = np.random.default_rng(0).integers(0, pieces.size, 60_000)  # special tokens wherever, as user text might be
    all_random = tiny_params.masker(probability=0.5, mask_share=0.0, random_share=1.0, keep_share=0.0)
    corrupted, chosen, _ = draw(all_random, Flat(ids, np.ones(len(ids), bool), np.full(3_000, 20)))
    assert not np.isin(ids[chosen], specials).any()
    assert set(corrupted[chosen].tolist()) == set(pieces.replacements.tolist()), "every other token is drawn"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]", "[unused99]", "a", "b"]
    unused = Tokenizer(BertTokenizer(vocab={token: number for number, token in enumerate(vocabulary)}))
    assert unused.replacements.tolist() == [7, 8]


@pytest.mark.parametrize("other", [{"number": 1}, {"seed": 2}, {"first": COUNT}])
def test_another_pass_seed_or_document_draws_independently(other: dict[str, int]) -> None:
    """Two independent draws agree on p^2 of the tokens."""
    flat = Flat(*tiny.documents(COUNT, LENGTH))
    first = draw(tiny_params.masker(1, probability=0.3), flat)[1]
    seed = other.pop("seed", 1)
    second = draw(tiny_params.masker(seed, probability=0.3), flat, **other)[1]
    assert_share(len(np.intersect1d(first, second)), int(tiny.tokenizer().maskable[flat.ids].sum()), 0.09)


@pytest.mark.parametrize(("unit", "longest"), [("word", 1), ("ngram", 3), ("spanbert", 10)])
def test_runs_are_whole_words_between_special_tokens(unit: str, longest: int) -> None:
    pieces, flat = tiny.tokenizer(), texts_with_specials(300, 20, 4)
    _, chosen, begins = draw(tiny_params.masker(1, probability=0.4, **UNITS[unit]), flat)
    hit = np.isin(np.arange(len(flat.ids)), chosen)
    document = np.repeat(np.arange(300), flat.lengths)
    seen = set()
    for members in np.split(np.arange(len(flat.ids)), np.flatnonzero(begins)[1:]):
        assert hit[members].all() or not hit[members].any(), "a run is masked whole"
        assert len(set(document[members])) == 1
        assert len(members) == 1 or pieces.maskable[flat.ids[members]].all(), "a run has no special token in it"
        assert flat.word_starts[members[0]], "a run begins with a word"
        seen.add(int(flat.word_starts[members].sum()))
    assert seen == set(range(1, longest + 1)), "words of a run"


@pytest.mark.parametrize(("ngram", "mean"), [(ERNIE, 2), (SPANBERT, 3.8)])
def test_lengths_of_runs_have_the_configured_shares(ngram: Ngram, mean: float) -> None:
    """Joshi et al. 2020, section 3.1, give SpanBERT's mean."""
    shares = run_shares(ngram)
    assert shares.sum() == pytest.approx(1)
    assert shares @ np.arange(1, ngram.longest + 1) == pytest.approx(mean, abs=0.01)
    ids, _, lengths = tiny.documents(400, 200)
    masker = tiny_params.masker(3, unit="ngram", ngram=ngram)
    _, _, begins = draw(masker, Flat(ids, np.ones(len(ids), bool), lengths))
    # What the end of a document cuts short is left out: the runs that begin well before it.
    by_document = [np.diff(np.flatnonzero(begins[number * 200 + 1 : number * 200 + 199])) for number in range(400)]
    sizes = np.concatenate([sizes[: len(sizes) // 2] for sizes in by_document])
    for size, share in enumerate(shares, 1):
        assert_share(int((sizes == size).sum()), len(sizes), float(share))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("words", [1, 2, 5, 40])
@pytest.mark.parametrize(("pieces_a_word", "probability"), [(1, 0.15), (5, 0.4)])
def test_the_share_of_chosen_tokens_is_the_probability_for_any_lengths(
    unit: str, words: int, pieces_a_word: int, probability: float
) -> None:
    """The same documents in many passes, so that the mean over draws is seen and not that over documents. Documents
    are independent: the error of the mean follows from the spread between them."""
    masker = tiny_params.masker(7, probability=probability, **UNITS[unit])
    once = texts_with_specials(60, words, pieces_a_word, seed=words)
    times = 12_000 // len(once.ids) + 40
    flat = Flat(*(np.tile(values, times) for values in (once.ids, once.word_starts, once.lengths)))
    _, chosen, _ = masker.mask(flat, np.tile(np.arange(60), times), np.repeat(np.arange(times), 60))
    maskable, document = tiny.tokenizer().maskable, np.repeat(np.arange(60 * times), flat.lengths)
    hits, candidates = np.bincount(document[chosen], minlength=60 * times), np.bincount(document, maskable[flat.ids])
    surplus = hits - probability * candidates
    assert abs(surplus.sum()) < 5 * surplus.std() * np.sqrt(len(surplus))
    # Every place of a document alike, the first and the last too: no token is favoured by where it stands.
    by_place = np.bincount(chosen % len(once.ids), minlength=len(once.ids))[maskable[once.ids]]
    low, high = (binom.ppf(q, times, probability) for q in (1e-7, 1 - 1e-7))
    assert (low <= by_place).all()
    assert (by_place <= high).all()


@settings(max_examples=60)
@given(st.sampled_from(list(UNITS)), st.integers(0, 1_000), st.integers(0, 5), st.integers(0, 39))
def test_a_draw_can_be_drawn_again_and_does_not_depend_on_its_batch(
    unit: str, seed: int, number: int, document: int
) -> None:
    flat = texts_with_specials(40, 12, 3, seed)
    together = draw(tiny_params.masker(seed, probability=0.3, **UNITS[unit]), flat, number)
    again = tiny_params.masker(seed, probability=0.3, **UNITS[unit])
    ids, chosen, begins = draw(again, one_document(flat, document), number, document)
    start = int(flat.lengths[:document].sum())
    assert np.array_equal(ids, together[0][start : start + len(ids)])
    within = (together[1] >= start) & (together[1] < start + len(ids))
    assert np.array_equal(chosen + start, together[1][within])
    assert np.array_equal(begins, together[2][start : start + len(ids)])


def test_each_pass_has_other_runs() -> None:
    flat, masker = texts_with_specials(50, 30, 2), tiny_params.masker(1, unit="ngram", ngram=ERNIE)
    assert not np.array_equal(draw(masker, flat, 0)[2], draw(masker, flat, 1)[2])


@pytest.mark.parametrize("unit", tiny_params.UNITS)
def test_the_audit_equals_a_naive_count_whatever_the_batches(unit: str) -> None:
    pieces = tiny.tokenizer()
    classes = token_classes(pieces.forms)
    masker = tiny_params.masker(3, unit=unit, probability=0.5, **tiny_params.UNITS[unit])
    counts, alone = Counter[str](), Counter[str]()
    rates, drawn, sizes, hit_classes, classes_seen = [], [], [], Counter[str](), Counter[str]()
    for number in range(5):
        flat = texts_with_specials(200, 3, 2, seed=number, least=0)
        _, chosen, begins = draw(masker, flat, number)
        of_batch = masker.counts(flat, chosen, begins)
        assert all(type(count) is int for count in of_batch.values())
        counts.update(of_batch)
        place = 0
        for document, length in enumerate(flat.lengths.tolist()):
            one = one_document(flat, document)
            of_one = masker.counts(one, *draw(masker, one, number, document)[1:])
            assert list(of_one) == list(of_batch)
            alone.update(of_one)
            inner = [i for i in range(place, place + length) if pieces.maskable[flat.ids[i]]]
            if inner:
                rates.append(sum(i in chosen for i in inner) / len(inner))
                drawn.append(len({int(begins[: i + 1].sum()) for i in inner}))
                sizes.append(len(inner))
            for i in inner:
                classes_seen[CLASSES[classes[flat.ids[i]]]] += 1
                hit_classes[CLASSES[classes[flat.ids[i]]]] += i in chosen
            place += length
    differ = [name for name in counts if counts[name] != alone[name]]
    assert all("expected" in name for name in differ), "the chances are rounded to millionths, batch by batch"
    several = [rate for rate, size in zip(rates, sizes, strict=True) if size > 1]
    metrics = audit_metrics(counts)
    for percent in (5, 50, 95):
        # A quantile lies in the bins of its neighbours in order.
        low, high = (np.quantile(rates, percent / 100, method=method) for method in ("lower", "higher"))
        assert np.ceil(40 * low) - 1 < 40 * metrics.pop(f"rate_p{percent:02}") <= np.ceil(40 * high)
    assert metrics.pop("documents_without_expected") == pytest.approx(np.mean([0.5**n for n in drawn]), abs=1e-6)
    expected_whole = np.mean([0.5**n for n, size in zip(drawn, sizes, strict=True) if size > 1])
    assert metrics.pop("documents_whole_expected") == pytest.approx(expected_whole, abs=1e-6)
    assert metrics == {
        "documents": len(rates),
        "rate": sum(hit_classes.values()) / sum(classes_seen.values()),
        "unit_tokens": sum(sizes) / sum(drawn),
        "specials": 0,
        "documents_without": rates.count(0.0) / len(rates),
        "documents_whole": several.count(1.0) / len(several),
        **{f"rate_{name}": hit_classes[name] / count for name, count in classes_seen.items()},
    }
    assert min(rates.count(0.0), several.count(1.0), len(classes_seen) - 3) > 0, "all kinds occur"


def test_the_audit_sees_a_masked_special_token_and_a_document_masked_whole() -> None:
    flat, masker = Flat(*tiny.documents(2, 5)), tiny_params.masker()

    def counts(*chosen: int) -> dict[str, int]:
        return masker.counts(flat, np.array(chosen), np.ones(10, bool))

    assert counts(0, 2)["specials"] == 1
    whole = counts(1, 2, 3)
    assert (whole["documents_whole"], whole["documents_without"], whole["documents_several"]) == (1, 1, 2)
    third = audit_metrics(counts(2, 6))
    assert 13 / 40 < third["rate_p05"] < third["rate_p95"] < 14 / 40, "one of three tokens in either document"


def test_classes_go_by_the_writing() -> None:
    texts = {"chinese": "的 㐀", "latin": "house é", "digit": "2020 ½", "punctuation": "。 $ # ##", "other": "🙂 か Ж"}
    for name, members in texts.items():
        assert {CLASSES[number] for number in token_classes([(False, text) for text in members.split()])} == {name}
    assert [CLASSES[number] for number in token_classes([(True, "ing"), (True, "的"), (False, "")])] == [
        "continuation",
        "continuation",
        "other",
    ]
