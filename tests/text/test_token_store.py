"""What is written is what a loop over single tokens makes of a text, whatever batches, workers and files; memory does
not grow with the text; replay has its share of it; who is held out stays so."""

import json
import random
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from adaptbert.errors import BadData
from adaptbert.text import token_writer
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.token_writer import Cutter, is_heldout, write
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.text.words import Segmenter
from tests.support import tiny
from tests.support.imports import ROOT

# ---- documents


def plainly(text: str, pieces: Tokenizer, max_length: int) -> list[tuple[list[int], list[bool], int]]:
    """Ids, word starts and characters of the documents of a text, token by token."""
    encoding = pieces.encode([text])[0]
    ids, words, offsets = encoding.ids, encoding.word_ids, encoding.offsets
    begins = [number == 0 or words[number] != words[number - 1] for number in range(len(ids))]
    room, start, documents = max_length - 2, 0, []
    while start < len(ids):
        end = min(start + room, len(ids))
        if end < len(ids):
            between = [cut for cut in range(start + room // 2 + 1, end + 1) if begins[cut]]
            end = between[-1] if between else end
        inner = ids[start:end]
        characters = offsets[end - 1][1] - offsets[start][0]
        documents.append(
            ([pieces.one.before[0], *inner, pieces.one.after[0]], [True, *begins[start:end], True], characters)
        )
        start = end
    return documents


def odd_texts(count: int, seed: int) -> list[str]:
    """Sentences, long texts, endless words, Chinese, what no vocabulary knows, and nothing at all."""
    draw = random.Random(seed)
    sentences = tiny.sentences("domain", 40, seed)
    drawn = []
    for _ in range(count):
        parts = [
            draw.choice(sentences),
            " ".join(draw.choices(sentences, k=draw.randint(2, 12))),
            "".join(draw.choices("abcdefghij", k=draw.randint(1, 90))),
            "天气很好，今天。" * draw.randint(1, 9),
            draw.choice(["", "   ", "\u200b", "\n"]),
            draw.choice(["[MASK] [CLS]", "É́e\u0301 ﬁ ①", "🙂🙂", "ⴰⵎⴰ", "1999.5-a_b"]),
        ]
        drawn.append(" ".join(draw.sample(parts, draw.randint(1, 3))))
    return drawn


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("max_length", [8, 9, 17, 64])
def test_documents_are_those_of_the_plain_way(max_length: int, lowercase: bool) -> None:
    tokenizer = tiny.tokenizer(lowercase)
    cutter = Cutter(tokenizer, max_length, Segmenter())
    for count in (0, 1, 2, 150):
        batch = odd_texts(count, seed=max_length + count)
        expected = [document for text in batch for document in plainly(text, tokenizer, max_length)]
        cut = cutter(batch)
        assert cut.ids.dtype == np.uint16
        assert cut.ids.tolist() == [token for ids, *_ in expected for token in ids]
        assert cut.word_starts.tolist() == [start for _, starts, _ in expected for start in starts]
        assert cut.lengths.tolist() == [len(ids) for ids, *_ in expected]
        assert cut.characters.tolist() == [characters for *_, characters in expected]
        assert cut.unknown == cut.ids.tolist().count(tokenizer.unknown)
    assert max_length == 64 or len(expected) > 150, "some are cut"


def test_round_trip(tmp_path: Path) -> None:
    pieces, rows = tiny.tokenizer(), tiny.rows("general", 80)
    facts = write(tmp_path / "general", rows, pieces, 128)
    corpus = TokenizedCorpus.load(tmp_path / "general")
    order = np.random.default_rng(0).permutation(80)
    flat = corpus.read(order)
    expected = [
        [pieces.one.before[0], *pieces.encode([rows[number][1]])[0].ids, pieces.one.after[0]] for number in order
    ]
    assert flat.ids.tolist() == [token for document in expected for token in document]
    assert flat.lengths.tolist() == [len(document) for document in expected]
    assert corpus.tokens == facts["tokens"] == len(flat.ids)
    assert corpus.fingerprint == pieces.fingerprint
    assert corpus.characters.tolist() == [len(text) for _, text in rows]
    assert corpus.texts == [{"name": "general", "digest": facts["digest"], "tokens": facts["tokens"]}]


@pytest.mark.parametrize("rows", [[], [("a", ""), ("b", " \u200b")]])
def test_no_text(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    state = f"0 of {len(rows)} texts have a token" if rows else "no text"
    with pytest.raises(BadData, match=f"AB-018 .*/nothing: {state}\n"):
        write(tmp_path / "nothing", rows, tiny.tokenizer(), 32)
    assert list(tmp_path.iterdir()) == []


# ---- the same bytes


def test_any_number_of_workers_and_any_batches_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*tiny.rows("general", 300), ("empty", ""), ("long", " ".join(tiny.sentences("domain", 50)))]
    write(tmp_path / "plain" / "text", rows, tiny.tokenizer(), 24)
    expected = tiny.folder_bytes(tmp_path / "plain")
    for limit, value, workers in (("BATCH_TEXTS", 7, 3), ("BATCH_TEXTS", 1, 0), ("BATCH_CHARACTERS", 900, 1)):
        with monkeypatch.context() as batches:
            batches.setattr(token_writer, limit, value)
            write(tmp_path / "again" / "text", rows, tiny.tokenizer(), 24, workers)
            assert tiny.folder_bytes(tmp_path / "again") == expected


def test_another_id_or_text_is_another_digest(tmp_path: Path) -> None:
    texts = [[("a", "the house")], [("b", "the house")], [("a", "the river")]]
    assert len({write(tmp_path / "text", rows, tiny.tokenizer(), 32)["digest"] for rows in texts}) == 3


# ---- held out, and replayed


def test_who_is_held_out() -> None:
    """A share of the texts, chosen by the id alone; a larger share holds out the same texts and more."""
    ids = [f"text-{number}" for number in range(50_000)]
    fractions = (0.0, 0.02, 0.1, 0.5)
    held = [{text_id for text_id in ids if is_heldout(text_id, fraction)} for fraction in fractions]
    for fraction, some in zip(fractions, held, strict=True):
        low, high = binom.ppf([1e-6, 1 - 1e-6], len(ids), fraction)
        assert low <= len(some) <= high
    assert held[0] < held[1] < held[2] < held[3]
    first = sorted(text_id for text_id in held[1] if len(text_id) == len("text-1020"))[:3]
    assert first == ["text-1020", "text-1048", "text-1066"], "on every machine and in every version"


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_replay_has_its_share_of_the_tokens(tmp_path: Path, share: float) -> None:
    domain = tiny.corpus(tmp_path / "domain", "domain", 200)
    general = tiny.corpus(tmp_path / "general", "general", 400)
    mixed = domain.mixed_with(general, share, seed=3)
    assert (mixed.tokens - domain.tokens) / mixed.tokens == pytest.approx(share, abs=tiny.MAX_LENGTH / domain.tokens)
    count = len(domain.lengths)
    everything = mixed.read(np.arange(len(mixed.lengths)))
    own = domain.read(np.arange(count))
    assert np.array_equal(everything.ids[: len(own.ids)], own.ids), "all of the domain is there"
    assert [text["name"] for text in mixed.texts] == ["domain", "general"]

    replayed = [tuple(mixed.read(np.array([number])).ids) for number in range(count, len(mixed.lengths))]
    known = {tuple(general.read(np.array([number])).ids) for number in range(len(general.lengths))}
    assert set(replayed) <= known
    assert len(set(replayed)) == len(replayed), "no document twice"

    again, other = domain.mixed_with(general, share, seed=3), domain.mixed_with(general, share, seed=4)
    assert np.array_equal(again.read(np.arange(len(again.lengths))).ids, everything.ids)
    assert not np.array_equal(other.read(np.arange(len(other.lengths))).ids, everything.ids)
    assert domain.mixed_with(general, 0.0, seed=3) is domain


def test_corpora_of_different_tokenizers_are_not_mixed(tmp_path: Path) -> None:
    domain = tiny.corpus(tmp_path / "domain", "domain", 20)
    general = tiny.corpus(tmp_path / "general", "general", 20, pieces=tiny.tokenizer(lowercase=False))
    with pytest.raises(BadData, match="AB-129 replay: the two corpora were made with different tokenizers"):
        domain.mixed_with(general, 0.1, seed=1)


# ---- memory


@pytest.mark.parametrize("workers", [0, 2])
def test_memory_does_not_grow_with_the_text_that_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """4,000 lines more, as text, as tokens or as two numbers each in a list, would take more than 0.1 MB.

    Of the process that reads and writes: a worker has one batch at a time.
    """
    monkeypatch.setattr(token_writer, "BATCH_TEXTS", 50)
    write(tmp_path / "text", tiny.rows("general", 9), tiny.tokenizer(), 64)  # what is imported stays
    draw, peaks = random.Random(0), []
    for count in (1_000, 5_000):
        rows = ((str(number), " ".join(draw.choices(tiny.WORDS["general"], k=16))) for number in range(count))
        tracemalloc.start()
        write(tmp_path / "text", rows, tiny.tokenizer(), 64, workers)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 100_000


READING = """
import resource, sys
from pathlib import Path
from adaptbert.training.document_stream import DocumentStream
from adaptbert.text.token_store import TokenizedCorpus

limit = 300 * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
corpus = TokenizedCorpus.load(Path(sys.argv[1]))
stream = DocumentStream(corpus.lengths, 1, 8 * 65_536)
tokens = sum(len(corpus.read(stream.batch(k)[0]).ids) for k in range(0, 12_500, 625))
print(2 * corpus.tokens // limit, tokens // 65_536)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to RLIMIT_DATA")
def test_a_corpus_many_times_larger_than_memory_is_read(tmp_path: Path) -> None:
    """13 GB of ids (holes of a file, which take no room on disk) are read by a process that may have 300 MB."""
    documents, length = 100_000, 65_536
    for name, width in (("ids", 2), ("word_starts", 1)):
        with (tmp_path / f"{name}.bin").open("wb") as file:
            file.truncate(documents * length * width)
    np.arange(0, (documents + 1) * length, length).tofile(tmp_path / "offsets.bin")
    np.full(documents, length).tofile(tmp_path / "characters.bin")
    (tmp_path / "corpus.json").write_text(json.dumps({"dtype": "uint16"}), encoding="utf-8")
    alone = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", READING, str(tmp_path)]
    done = subprocess.run(command, env=alone, capture_output=True, text=True)
    assert done.stdout.split() == ["41", f"{20 * 8}"], done.stderr
