"""Pairs are what the question says, half of each kind; the answer shows in nothing but the text."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.errors import BadData
from adaptbert.mlm.sentence_pairs import SHORTEST, SentencePairs
from adaptbert.text.token_store import Flat
from tests.support import tiny
from tests.support.short_runs import masked_batches

LONGEST = 40
CLS, SEP = 2, 3


class Numbered:
    """Document d holds the tokens 1000 (d + 1) + position, so that each token says where it is from."""

    def __init__(self, lengths: list[int], wordless: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        self.lengths, self._wordless = np.array(lengths), wordless

    def read(self, documents: np.ndarray) -> Flat:
        ids, starts = [], []
        for document in documents.tolist():
            inner = np.arange(self.lengths[document] - 2)
            ids.append(np.concatenate([[CLS], 1000 * (document + 1) + inner, [SEP]]))
            begins = (inner == 0) if document in self._wordless else (inner % 2 == 0)
            starts.append(np.concatenate([[True], begins, [True]]))
        return Flat(np.concatenate(ids), np.concatenate(starts), self.lengths[documents])


def made(pairs: SentencePairs, documents: list[int], number: int = 0) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Ids, segments and label of each document, -1 for none."""
    flat, read = pairs.read(np.array(documents), np.full(len(documents), number))
    assert len(flat.ids) == len(flat.word_starts) == len(read.segments) == flat.lengths.sum()
    borders = np.cumsum(flat.lengths)
    labels = np.full(len(documents), -1)
    labels[np.searchsorted(borders, read.first.numpy(), side="right")] = read.labels.numpy()
    parts = (np.split(values, borders[:-1]) for values in (flat.ids, read.segments.numpy()))
    return list(zip(*parts, labels.tolist(), strict=True))


def halves(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two segments of [CLS] a [SEP] b [SEP]."""
    first, last = np.flatnonzero(ids == SEP)
    assert ids[0] == CLS
    assert last == len(ids) - 1
    assert 1 < first < last - 1, "neither is empty"
    return ids[1:first], ids[first + 1 : last]


def enough(lengths: list[int]) -> bool:
    return sum(length >= SHORTEST for length in lengths) > 1


lengths = st.lists(st.integers(3, LONGEST), min_size=3, max_size=20).filter(enough)


@settings(deadline=None)
@given(lengths, st.sampled_from(["nsp", "sop"]), st.integers(0, 9))
def test_a_pair_is_what_its_label_says(lengths: list[int], objective: Any, seed: int) -> None:
    corpus = Numbered(lengths)
    pairs = SentencePairs(corpus, objective, seed, LONGEST)
    for document, (ids, segments, label) in enumerate(made(pairs, list(range(len(lengths))))):
        whole = corpus.read(np.array([document])).ids
        if lengths[document] < SHORTEST:
            assert label == -1
            assert ids.tolist() == whole.tolist()
            assert not segments.any()
            continue
        a, b = halves(ids)
        assert segments.tolist() == [0] * (len(a) + 2) + [1] * (len(b) + 1)
        assert len(ids) <= LONGEST
        content = whole[1 : min(len(whole) - 1, LONGEST - 2)]
        if label == 0:
            assert [*a, *b] == content.tolist()
            assert len(ids) == pairs.lengths[document]
        elif objective == "sop":
            assert [*b, *a] == content.tolist()
        else:
            assert a.tolist() == content[: len(a)].tolist()
            other = b[0] // 1000 - 1
            assert other != document, "another document"
            theirs = corpus.read(np.array([other])).ids
            theirs = theirs[1 : min(len(theirs) - 1, LONGEST - 2)]
            assert b.tolist() == theirs[-len(b) :].tolist(), "its end"
            assert len(b) <= max(1, len(content) - len(a)) or len(b) == 1


def test_cuts_are_at_words_in_the_middle_half_and_differ_between_passes() -> None:
    pairs = SentencePairs(Numbered([30] * 10), "sop", 0, LONGEST)
    places = set()
    for number in range(200):
        for ids, _, label in made(pairs, [3], number):
            a, b = halves(ids)
            begins = b if label == 0 else a
            places.add(int(begins[0] % 1000))
    assert places == set(range(8, 22, 2)), "28 tokens, a word every second one"


def test_labels_are_balanced_and_lengths_do_not_predict_them() -> None:
    """Neither the lengths of the halves nor which document it is goes with the label."""
    draw = np.random.default_rng(0)
    count = 4_000
    for objective in ("nsp", "sop"):
        pairs = SentencePairs(Numbered(draw.integers(SHORTEST, LONGEST + 1, count).tolist()), objective, 1, LONGEST)
        lengths_and_labels = [(*map(len, halves(ids)), label) for ids, _, label in made(pairs, list(range(count)))]
        a, b, labels = np.array(lengths_and_labels).T
        assert labels.mean() == pytest.approx(0.5, abs=4 * 0.5 / count**0.5)
        for value in (a, b, a - b):
            assert abs(np.corrcoef(value, labels)[0, 1]) < 4 / count**0.5


def test_partners_are_drawn_from_the_whole_corpus_alike() -> None:
    pairs = SentencePairs(Numbered([20] * 40), "nsp", 0, LONGEST)
    seen = [0] * 40
    for number in range(400):
        for ids, _, label in made(pairs, list(range(0, 40, 4)), number):
            if label == 1:
                seen[halves(ids)[1][0] // 1000 - 1] += 1
    expected = sum(seen) / 40
    assert expected > 40
    assert min(seen) > expected / 2
    assert max(seen) < expected * 1.6


def test_draws_depend_on_seed_pass_and_document_alone() -> None:
    def text(seed: int, documents: list[int], number: int = 0) -> list[list[int]]:
        pairs = SentencePairs(Numbered([25] * 30), "nsp", seed, LONGEST)
        return [ids.tolist() for ids, _, _ in made(pairs, documents, number)]

    together = text(1, [4, 9, 2])
    assert [text(1, [4])[0], text(1, [9])[0], text(1, [2])[0]] == together
    assert text(1, [4, 9, 2], 1) != together
    assert text(2, [4, 9, 2]) != together


def test_a_document_of_one_word_has_no_label() -> None:
    pairs = SentencePairs(Numbered([20, 20, 20], {1}), "nsp", 0, LONGEST)
    assert [label >= 0 for _, _, label in made(pairs, [0, 1, 2])] == [True, False, True]


def test_a_corpus_of_short_texts_is_refused() -> None:
    with pytest.raises(BadData, match=r"AB-019 .*: 1 of 200 documents have 8 tokens, .*\n.*objective: none"):
        SentencePairs(Numbered([5] * 199 + [30]), "nsp", 0, LONGEST)


def test_no_separator_is_masked_and_no_word_extends_across_one(tmp_path: Path) -> None:
    corpus = tiny.corpus(tmp_path / "domain", "domain", 60)
    pieces = tiny.tokenizer()
    pairs = SentencePairs(corpus, "nsp", 0, 64)
    batches = masked_batches(corpus, 400, "nsp", unit="word", probability=0.5)
    counts = {"pairs": 0, "unpaired": 0, "specials": 0}
    for k in range(20):
        batch = batches(k)
        assert batch.pairs is not None
        first = batch.pairs.first
        assert (batch.ids[first] == pieces.one.before[0]).all()
        assert int((batch.ids == pieces.one.after[0]).sum()) == batch.counts["documents"] + batch.counts["pairs"]
        assert len(batch.pairs.segments) == len(batch.ids)
        for name in counts:
            counts[name] += batch.counts[name]
    assert counts["specials"] == 0
    assert counts["pairs"] > 10 * counts["unpaired"] > 0
    flat, _ = pairs.read(np.arange(60), np.zeros(60, np.int64))
    assert flat.word_starts[np.flatnonzero(flat.ids[:-1] == pieces.one.after[0]) + 1].all()
    assert flat.word_starts[flat.ids == pieces.one.after[0]].all()
