"""The audit says what the masks really were; it is counted here a second time, document by document."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from adaptbert.mlm.masking import Masker
from adaptbert.mlm.masking_audit import CLASSES, MaskingAudit, audit_metrics, token_classes
from adaptbert.text.corpus_writer import write
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.words import Segmenter
from tests.support import chinese, tiny, tiny_params


def documents(count: int, longest: int, dice: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From [CLS] [SEP] alone to so many tokens, so that all kinds occur."""
    pieces = tiny.tokenizer()
    lengths = dice.integers(2, longest + 3, count)
    ids = [[pieces.cls, *dice.choice(pieces.replacements, length - 2), pieces.sep] for length in lengths]
    starts = [[True, *(dice.random(length - 2) < 0.6), True] for length in lengths]
    return np.concatenate(ids), np.concatenate(starts), lengths


def counted(masker: Masker, audit: MaskingAudit, flat: tuple, number: int) -> tuple[dict[str, int], np.ndarray]:
    read = (*flat, np.arange(len(flat[2])), np.full(len(flat[2]), number))
    chosen = masker.mask(*read)[1]
    return audit.counts(flat[0], flat[2], masker.units(*read), chosen), chosen


@pytest.mark.parametrize("unit", tiny_params.UNITS)
def test_the_audit_equals_a_naive_count(unit: str) -> None:
    pieces, dice = tiny.tokenizer(), np.random.default_rng(1)
    classes = token_classes(pieces.tokens)
    masker = tiny_params.masker(3, unit=unit, probability=0.5, **tiny_params.UNITS[unit])
    audit = MaskingAudit(0.5, pieces.maskable, classes)
    counts: Counter[str] = Counter()
    rates, drawn, sizes, hit_classes, classes_seen = [], [], [], Counter[str](), Counter[str]()
    for number in range(5):
        flat = documents(200, 6, dice)
        ids, _, lengths = flat
        begins = masker.units(*flat, np.arange(200), np.full(200, number))
        batch_counts, chosen = counted(masker, audit, flat, number)
        counts.update(batch_counts)
        place = 0
        for length in lengths.tolist():
            inner = [i for i in range(place, place + length) if pieces.maskable[ids[i]]]
            units = {int(begins[: i + 1].sum()) for i in inner}
            if inner:
                rates.append(sum(i in chosen for i in inner) / len(inner))
                drawn.append(len(units))
                sizes.append(len(inner))
            for i in inner:
                classes_seen[CLASSES[classes[ids[i]]]] += 1
                hit_classes[CLASSES[classes[ids[i]]]] += i in chosen
            place += length
    several = [rate for rate, size in zip(rates, sizes, strict=True) if size > 1]
    metrics = audit_metrics(counts)
    for percent in (5, 50, 95):
        # A quantile lies in the bins of its neighbours in order.
        low, high = (
            np.quantile(rates, percent / 100, method="lower"),
            np.quantile(rates, percent / 100, method="higher"),
        )
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
    assert rates.count(0.0) > 0
    assert several.count(1.0) > 0
    assert len(classes_seen) > 3


def test_counts_add_up_whatever_the_batches() -> None:
    """So a run that was stopped, or shared among processes, has the same audit; every batch has the same names."""
    audit = MaskingAudit(0.15, tiny.tokenizer().maskable, token_classes(tiny.tokenizer().tokens))
    ids, starts, lengths = documents(60, 20, np.random.default_rng(3))
    masker = tiny_params.masker(5, unit="word")
    whole, _ = counted(masker, audit, (ids, starts, lengths), 0)
    parts: Counter[str] = Counter()
    ends = np.cumsum(lengths)
    for document in range(60):
        span = slice(int(ends[document] - lengths[document]), int(ends[document]))
        read = (ids[span], starts[span], lengths[document : document + 1], np.array([document]), np.zeros(1, np.int64))
        part = audit.counts(read[0], read[2], masker.units(*read), masker.mask(*read)[1])
        assert list(part) == list(whole)
        parts.update(part)
    assert dict(parts) == whole
    assert all(type(count) is int for count in whole.values())


def test_the_audit_sees_a_masked_special_token_and_a_document_masked_whole() -> None:
    pieces = tiny.tokenizer()
    ids, _, lengths = tiny.documents(2, 5)
    audit = MaskingAudit(0.15, pieces.maskable)
    assert audit.counts(ids, lengths, np.ones(10, bool), np.array([0, 2]))["specials"] == 1
    counts = audit.counts(ids, lengths, np.ones(10, bool), np.array([1, 2, 3]))
    assert (counts["documents_whole"], counts["documents_without"], counts["documents_several"]) == (1, 1, 2)
    third = audit_metrics(audit.counts(ids, lengths, np.ones(10, bool), np.array([2, 6])))
    assert 13 / 40 < third["rate_p05"] < third["rate_p95"] < 14 / 40, "one of three tokens in either document"


def test_chinese_posts_by_words(tmp_path: Path) -> None:
    """From raw text to the audit: words by the segmenter, no post masked whole but by chance, none of it by mistake."""
    pieces = chinese.tokenizer()
    posts = [(str(number), text) for number, text in enumerate(chinese.posts(6_000, seed=4))]
    write(tmp_path / "posts", posts, pieces, 64, segmenter=Segmenter("rjieba"))
    corpus = TokenizedCorpus.load(tmp_path / "posts")
    flat = corpus.read(np.arange(len(corpus.lengths)))
    audit = MaskingAudit(0.15, pieces.maskable, token_classes(pieces.tokens))
    masker = tiny_params.masker(1, pieces, unit="word")
    counts: Counter[str] = Counter()
    for number in range(4):
        counts.update(counted(masker, audit, (flat.ids, flat.word_starts, flat.lengths), number)[0])
    metrics = audit_metrics(counts)
    assert metrics["rate"] == pytest.approx(0.15, abs=0.002)
    assert metrics["rate_chinese"] == pytest.approx(0.15, abs=0.003)
    assert metrics["specials"] == 0
    assert metrics["unit_tokens"] > 1.3, "words of several characters"
    assert metrics["documents_without"] == pytest.approx(metrics["documents_without_expected"], abs=0.01)
    assert metrics["documents_whole"] == pytest.approx(metrics["documents_whole_expected"], abs=0.002)
    assert metrics["documents_whole"] < 0.01


def test_classes_go_by_the_writing() -> None:
    tokens = {
        "##ing": "continuation",
        "##的": "continuation",
        "的": "chinese",
        "㐀": "chinese",
        "house": "latin",
        "é": "latin",
        "2020": "digit",
        "½": "digit",
        "。": "punctuation",
        "$": "punctuation",
        "#": "punctuation",
        "##": "punctuation",
        "🙂": "other",
        "か": "other",
        "Ж": "other",
        "": "other",
    }
    assert [CLASSES[number] for number in token_classes(list(tokens))] == list(tokens.values())
