"""Pairs are what the question says, half of each kind; the answer shows in nothing but the text; heads learn it."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModel, AutoModelForPreTraining, BertForMaskedLM, BertForPreTraining

from adaptbert.errors import BadData
from adaptbert.model import checkpoint
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.pretraining.length_schedule import ConcatenatedBatches, ShortDocuments
from adaptbert.pretraining.masked_lm import PAIR_PARTS, MaskedBatches, MaskedLM
from adaptbert.pretraining.sentence_pairs import (
    SHORTEST,
    NextSentenceHead,
    SentenceObjective,
    SentenceOrderHead,
    SentencePairs,
    head_of,
)
from adaptbert.tokenization.store.tokenized_corpus import Documents, Flat
from adaptbert.training.document_stream import DocumentStream
from adaptbert.training.loop import fit
from adaptbert.training.plan import Plan
from adaptbert.training.savepoints import Savepoints
from tests.support import tiny

CLS, SEP = 2, 3
LONGEST = 40


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
    """Ids, segments and label of each document."""
    flat, segments, labels = pairs.read(np.array(documents), np.full(len(documents), number))
    assert len(flat.ids) == len(flat.word_starts) == len(segments) == flat.lengths.sum()
    borders = np.cumsum(flat.lengths)[:-1]
    return list(zip(np.split(flat.ids, borders), np.split(segments, borders), labels.tolist(), strict=True))


def halves(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two segments of [CLS] a [SEP] b [SEP]."""
    first, last = np.flatnonzero(ids == SEP)
    assert ids[0] == CLS
    assert last == len(ids) - 1
    assert 1 < first < last - 1, "neither is empty"
    return ids[1:first], ids[first + 1 : last]


def enough(lengths: list[int]) -> bool:
    return sum(length >= SHORTEST for length in lengths) > 1


lengths = st.lists(st.integers(3, LONGEST), min_size=3, max_size=20).filter(
    lambda ls: sum(n >= SHORTEST for n in ls) > 1
)


@settings(deadline=None)
@given(lengths, st.sampled_from([NextSentenceHead(), SentenceOrderHead()]), st.integers(0, 9))
def test_a_pair_is_what_its_label_says(lengths: list[int], head: Any, seed: int) -> None:
    corpus = Numbered(lengths)
    pairs = SentencePairs(corpus, head, seed, LONGEST)
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
        elif isinstance(head, SentenceOrderHead):
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
    pairs = SentencePairs(Numbered([30] * 10), SentenceOrderHead(), 0, LONGEST)
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
    for head in (NextSentenceHead(), SentenceOrderHead()):
        pairs = SentencePairs(Numbered(draw.integers(SHORTEST, LONGEST + 1, count).tolist()), head, 1, LONGEST)
        lengths_and_labels = [(*map(len, halves(ids)), label) for ids, _, label in made(pairs, list(range(count)))]
        a, b, labels = np.array(lengths_and_labels).T
        assert labels.mean() == pytest.approx(0.5, abs=4 * 0.5 / count**0.5)
        for value in (a, b, a - b):
            assert abs(np.corrcoef(value, labels)[0, 1]) < 4 / count**0.5


def test_partners_are_drawn_from_the_whole_corpus_alike() -> None:
    pairs = SentencePairs(Numbered([20] * 40), NextSentenceHead(), 0, LONGEST)
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
        pairs = SentencePairs(Numbered([25] * 30), NextSentenceHead(), seed, LONGEST)
        return [ids.tolist() for ids, _, _ in made(pairs, documents, number)]

    together = text(1, [4, 9, 2])
    assert [text(1, [4])[0], text(1, [9])[0], text(1, [2])[0]] == together
    assert text(1, [4, 9, 2], 1) != together
    assert text(2, [4, 9, 2]) != together


def test_a_document_of_one_word_has_no_label() -> None:
    pairs = SentencePairs(Numbered([20, 20, 20], {1}), NextSentenceHead(), 0, LONGEST)
    assert [label >= 0 for _, _, label in made(pairs, [0, 1, 2])] == [True, False, True]


def test_a_corpus_of_short_texts_is_refused() -> None:
    with pytest.raises(BadData, match=r"AB-160 .*: 1 of 200 documents have 8 tokens, .*\n.*objective: none"):
        SentencePairs(Numbered([5] * 199 + [30]), NextSentenceHead(), 0, LONGEST)


def test_no_separator_is_masked_and_no_word_extends_across_one(tmp_path: Path) -> None:
    corpus = tiny.corpus(tmp_path / "domain", "domain", 60)
    pieces = tiny.tokenizer()
    pairs = SentencePairs(corpus, NextSentenceHead(), 0, 64)
    batches = MaskedBatches(
        corpus, DocumentStream(pairs.lengths, 0, 400), tiny.masker(unit="word", probability=0.5), 64, pairs=pairs
    )
    counts = {"pairs": 0, "unpaired": 0, "specials": 0}
    for k in range(20):
        batch = batches(k)
        assert batch.pairs is not None
        first = batch.pairs.first
        assert (batch.ids[first] == pieces.cls).all()
        assert int((batch.ids == pieces.sep).sum()) == batch.counts["documents"] + batch.counts["pairs"]
        assert len(batch.pairs.segments) == len(batch.ids)
        for name in counts:
            counts[name] += batch.counts[name]
    assert counts["specials"] == 0
    assert counts["pairs"] > 10 * counts["unpaired"] > 0
    flat, _, labels = pairs.read(np.arange(60), np.zeros(60, np.int64))
    after = np.flatnonzero(flat.ids[:-1] == pieces.sep) + 1
    assert flat.word_starts[after].all()
    assert flat.word_starts[flat.ids == pieces.sep].all()
    assert (labels >= 0).sum() > 50


def test_the_loss_is_the_stock_models_loss(tmp_path: Path) -> None:
    """Both parts against a padded batch of BertForPreTraining; gradients, those of the pooler and [CLS] too."""
    corpus = tiny.corpus(tmp_path / "domain", "domain", 60)
    pieces = tiny.tokenizer()
    torch.manual_seed(0)
    config = tiny.config()
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    ours, stock = BertForPreTraining(config), BertForPreTraining(config)
    stock.load_state_dict(ours.state_dict())
    pairs = SentencePairs(corpus, NextSentenceHead(), 0, 64)
    stream = DocumentStream(pairs.lengths, 0, 300)
    batch = MaskedBatches(corpus, stream, tiny.masker(), 64, pairs=pairs)(0)
    losses = MaskedLM(ours, tiny.optim(), 10).training_step(batch, 0)
    assert isinstance(losses, dict)

    documents, passes = stream.batch(0)
    flat, segments, labels = pairs.read(documents, passes)
    corrupted, chosen = tiny.masker().mask(flat.ids, flat.word_starts, flat.lengths, documents, passes)
    expected = np.full(len(flat.ids), -100)
    expected[chosen] = flat.ids[chosen]
    shape = (len(documents), int(flat.lengths.max()))
    there = np.arange(shape[1])[None] < flat.lengths[:, None]
    padded = {name: np.full(shape, fill) for name, fill in (("ids", pieces.pad), ("types", 0), ("labels", -100))}
    padded["ids"][there], padded["types"][there], padded["labels"][there] = corrupted, segments, expected
    theirs = stock(
        input_ids=torch.as_tensor(padded["ids"]),
        token_type_ids=torch.as_tensor(padded["types"]),
        labels=torch.as_tensor(padded["labels"]),
        next_sentence_label=torch.as_tensor(np.where(labels < 0, -100, labels)),
        attention_mask=torch.as_tensor(there).long(),
    ).loss
    losses["loss"].backward()
    theirs.backward()
    assert losses["loss"].item() == pytest.approx(theirs.item(), abs=2e-6)
    assert losses["train/mlm_loss"].item() + losses["train/sentence_loss"].item() == pytest.approx(
        theirs.item(), abs=2e-6
    )
    assert 0 <= losses["train/sentence_accuracy"].item() <= 1
    for (name, mine), other in zip(ours.named_parameters(), stock.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, other.grad, atol=2e-6, rtol=0, msg=name)


class Telling(Numbered):
    """Texts from which each question can be answered: all of one kind of token, or tokens that tell their place."""

    def __init__(self, objective: str) -> None:
        super().__init__([14] * 200)
        self._objective = objective

    def read(self, documents: np.ndarray) -> Flat:
        flat = super().read(documents)
        place, kind = flat.ids % 1000, flat.ids // 1000 % 2
        inner = 10 + (place if self._objective == "sop" else 10 * kind + place % 3)
        return replace(flat, ids=np.where(flat.ids >= 1000, inner, flat.ids))


@pytest.mark.parametrize(("objective", "best"), [("sop", 1.0), ("nsp", 0.75)])
def test_the_head_learns_what_the_text_tells(objective: SentenceObjective, best: float) -> None:
    """Of two kinds of documents a random partner is of the same kind half of the time: NSP cannot pass 3 of 4."""
    steps, corpus, head = 300, Telling(objective), head_of(objective)
    assert head is not None
    torch.manual_seed(0)
    config = tiny.config()
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    pairs = SentencePairs(corpus, head, 0, 64)
    batches = MaskedBatches(corpus, DocumentStream(pairs.lengths, 0, 512), tiny.masker(), 64, pairs=pairs)
    module = MaskedLM(BertForPreTraining(config), tiny.optim(), steps)
    plan = Plan(steps, 1, 1.0, "32-true", 0, "train/loss", PAIR_PARTS)
    curve = fit(module, batches, plan, tiny.no_record(), {step: lambda _: {} for step in (50, 250, steps)}).curve
    assert curve[0]["train/sentence_accuracy"] == pytest.approx(0.5, abs=0.06)
    assert curve[-1]["train/sentence_accuracy"] == pytest.approx(best, abs=0.06)
    for point in curve:
        assert point["train/loss"] == pytest.approx(point["train/mlm_loss"] + point["train/sentence_loss"], abs=1e-5)


@pytest.mark.usefixtures("save_every_step")
def test_a_stopped_run_goes_on_with_equal_bits(tmp_path: Path) -> None:
    """Weights and the parts of the loss on the curve, over short pieces first and whole documents then."""
    corpus = tiny.corpus(tmp_path / "domain", "domain", 60)

    def batches(documents: Documents, block: int) -> MaskedBatches:
        pairs = SentencePairs(documents, NextSentenceHead(), 0, block)
        return MaskedBatches(documents, DocumentStream(pairs.lengths, 0, 150), tiny.masker(), block, pairs=pairs)

    both = ConcatenatedBatches(batches(ShortDocuments(corpus, 16), 16), 6, batches(corpus, 64))
    sent = pickle.dumps(both)  # to the process of another device
    assert len(sent) < 10_000
    for k in (0, 5, 6, 9):
        assert torch.equal(pickle.loads(sent)(k).ids, both(k).ids)  # noqa: S301

    def run(folder: Path, stop: int = 0) -> tuple[list[dict[str, float]], dict[str, torch.Tensor]]:
        def look(step: int) -> dict[str, float]:
            if step == stop:
                raise KeyboardInterrupt
            return {}

        torch.manual_seed(0)
        module = MaskedLM(BertForPreTraining(tiny.config()), tiny.optim(), 6)
        plan = Plan(6, 2, 1.0, "32-true", 0, "train/loss", PAIR_PARTS)
        points = dict.fromkeys([4, 6, *([stop] if stop else [])], look)
        curve = fit(module, both, plan, tiny.no_record(), points, Savepoints(folder)).curve
        return curve, {name: value.detach() for name, value in module.named_parameters()}

    curve, weights = run(tmp_path / "whole")
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        run(tmp_path / "cut", stop=3)
    savepoint = Savepoints(tmp_path / "cut").latest()
    assert savepoint is not None
    assert savepoint.step == 2
    again, others = run(tmp_path / "cut")
    assert again == curve
    assert set(PAIR_PARTS) < set(curve[0])
    assert all(torch.equal(weights[name], others[name]) for name in weights)


def test_what_is_saved_opens_as_bert_with_both_heads(tmp_path: Path) -> None:
    start = tiny.pretrained(tmp_path / "plain")
    model = start.model(BertForPreTraining, 7)
    again = start.model(BertForPreTraining, 7)
    assert torch.equal(model.cls.seq_relationship.weight, again.cls.seq_relationship.weight), "drawn with the seed"
    checkpoint.save(tmp_path / "pairs", model, tiny.tokenizer(), tiny.card("pretrain"))
    opened, info = AutoModelForPreTraining.from_pretrained(str(tmp_path / "pairs"), output_loading_info=True)
    assert isinstance(opened, BertForPreTraining)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert torch.equal(opened.cls.seq_relationship.weight, model.cls.seq_relationship.weight)
    bert = AutoModel.from_pretrained(str(tmp_path / "pairs"))
    assert torch.equal(bert.pooler.dense.weight, model.bert.pooler.dense.weight)
    without = Checkpoint.load(tmp_path / "pairs").model(BertForMaskedLM, 7)
    assert torch.equal(without.cls.predictions.bias, model.cls.predictions.bias)
