"""Pieces hold every token of a document once, between its [CLS] and [SEP]; the schedule is a function of k."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.mlm.batch_schedule import ScheduledBatches
from adaptbert.mlm.length_schedule import ShortDocuments
from adaptbert.mlm.masked_lm import MaskedBatches
from adaptbert.text.corpus_writer import write
from adaptbert.text.token_store import Flat, TokenizedCorpus
from adaptbert.training.document_stream import DocumentStream
from tests.support import tiny, tiny_params


class InMemory:
    """Documents given as lists of word starts; the id of a token is its place among all tokens."""

    def __init__(self, starts: list[list[bool]]) -> None:
        self._starts = [np.array([True, *inner, True]) for inner in starts]
        self.lengths = np.array([len(inner) for inner in self._starts])
        self._first = np.cumsum(self.lengths) - self.lengths

    def read(self, documents: np.ndarray) -> Flat:
        ids = [self._first[d] + np.arange(self.lengths[d]) for d in documents]
        return Flat(np.concatenate(ids), np.concatenate([self._starts[d] for d in documents]), self.lengths[documents])


@settings(deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=60), min_size=1, max_size=8), st.integers(8, 70))
def test_every_token_once_and_cut_between_words(starts: list[list[bool]], longest: int) -> None:
    corpus = InMemory(starts)
    short = ShortDocuments(corpus, longest)
    assert short.lengths.max() <= longest
    flat = short.read(np.arange(len(short.lengths)))
    assert flat.lengths.tolist() == short.lengths.tolist()
    whole = corpus.read(np.arange(len(starts)))
    borders = np.cumsum(whole.lengths)
    ids, ends = [], np.cumsum(flat.lengths)
    for end, length in zip(ends, flat.lengths, strict=True):
        piece = flat.ids[end - length : end]
        document = int(np.searchsorted(borders, piece[0], side="right"))
        assert piece[0] == borders[document] - whole.lengths[document], "its [CLS]"
        assert piece[-1] == borders[document] - 1, "its [SEP]"
        ids += piece[1:-1].tolist()
        begins = int(piece[1])
        room = longest - 2
        if not whole.word_starts[begins] and begins != piece[0] + 1:
            before = whole.word_starts[begins - room + room // 2 + 1 : begins + 1]
            assert not before.any(), "no word began in the second half of the piece before"
    inner = np.ones(len(whole.ids), bool)
    inner[borders - 1] = inner[borders - whole.lengths] = False
    assert ids == np.flatnonzero(inner).tolist()
    assert flat.word_starts.tolist() == whole.word_starts[flat.ids].tolist()


def test_a_chunk_equals_its_own_tokenisation(tmp_path: Path) -> None:
    """Cut from documents of 64 tokens, or tokenised with max_length 16: the same documents, but for the cuts at 64."""
    rows = tiny.rows("domain", 80)
    for name, longest in (("long", 4_000), ("short", 16)):
        write(tmp_path / name, rows, tiny.tokenizer(), longest)
    long, short = (TokenizedCorpus.load(tmp_path / name) for name in ("long", "short"))
    view = ShortDocuments(long, 16)
    assert view.lengths.tolist() == short.lengths.tolist()
    everything = np.arange(len(view.lengths))
    for mine, theirs in zip(vars(view.read(everything)).values(), vars(short.read(everything)).values(), strict=True):
        assert mine.tolist() == theirs.tolist()


def test_short_first_then_whole_as_a_function_of_k(tmp_path: Path) -> None:
    corpus = tiny.corpus(tmp_path / "domain", "domain", 60)

    def batches(documents: Any, block: int, seed: int) -> MaskedBatches:
        return MaskedBatches(documents, DocumentStream(documents.lengths, seed, 200), tiny_params.masker(seed), block)

    short, whole = batches(ShortDocuments(corpus, 16), 16, 7), batches(corpus, 64, 0)
    batch = ScheduledBatches(whole, short, 5)
    shapes = [batch(k).rows.documents.shape[1] for k in range(9)]
    assert shapes == [16] * 5 + [64] * 4
    assert batch(5).ids.tolist() == whole(0).ids.tolist()
    assert batch(8).ids.tolist() == whole(3).ids.tolist()
    assert [batch(k).ids.tolist() for k in (6, 2)] == [batch(k).ids.tolist() for k in (6, 2)]
    tokens = sum(batch(k).counts["tokens"] for k in range(5))
    assert tokens == pytest.approx(1_000, rel=0.05), "a step costs as many tokens as before"
