"""What is written is what the tokenizer says; replay has its share of it; who is held out stays so."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from adaptbert.errors import BadData
from adaptbert.text.corpus_writer import write
from adaptbert.text.documents import is_heldout
from adaptbert.text.token_store import TokenizedCorpus
from tests.support import tiny
from tests.support.imports import ROOT


def test_round_trip(tmp_path: Path) -> None:
    pieces = tiny.tokenizer()
    rows = tiny.rows("general", 80)
    facts = write(tmp_path / "general", rows, pieces, 128)
    corpus = TokenizedCorpus.load(tmp_path / "general")
    order = np.random.default_rng(0).permutation(80)
    flat = corpus.read(order)
    expected = [[pieces.cls, *pieces.encode([rows[number][1]])[0].ids, pieces.sep] for number in order]
    assert np.split(flat.ids, np.cumsum(flat.lengths)[:-1])[3].tolist() == expected[3]
    assert flat.ids.tolist() == [token for document in expected for token in document]
    assert flat.lengths.tolist() == [len(document) for document in expected]
    assert corpus.tokens == facts["tokens"] == len(flat.ids)
    assert corpus.fingerprint == pieces.fingerprint
    assert corpus.characters.tolist() == [len(text) for _, text in rows]
    assert corpus.texts == [{"name": "general", "digest": facts["digest"], "tokens": facts["tokens"]}]


def test_equal_text_gives_equal_bytes_and_another_id_another_digest(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name / "text", tiny.rows("general", 30), tiny.tokenizer(), 32)
    assert tiny.folder_bytes(tmp_path / "one") == tiny.folder_bytes(tmp_path / "two")
    ids = {
        write(tmp_path / "three" / "text", rows, tiny.tokenizer(), 32)["digest"]
        for rows in ([("a", "the house")], [("b", "the house")], [("a", "the river")])
    }
    assert len(ids) == 3


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


def test_no_replay_is_the_corpus_itself(tmp_path: Path) -> None:
    domain = tiny.corpus(tmp_path / "domain", "domain", 20)
    assert domain.mixed_with(tiny.corpus(tmp_path / "general", "general", 20), 0.0, seed=1) is domain


def test_corpora_of_different_tokenizers_are_not_mixed(tmp_path: Path) -> None:
    domain = tiny.corpus(tmp_path / "domain", "domain", 20)
    general = tiny.corpus(tmp_path / "general", "general", 20, pieces=tiny.tokenizer(lowercase=False))
    with pytest.raises(BadData, match="AB-129 replay: the two corpora were made with different tokenizers"):
        domain.mixed_with(general, 0.1, seed=1)


@pytest.mark.parametrize("fraction", [0.0, 0.02, 0.5])
def test_the_held_out_share(fraction: float) -> None:
    held = [number for number in range(50_000) if is_heldout(f"text-{number}", fraction)]
    low, high = binom.ppf([1e-6, 1 - 1e-6], 50_000, fraction)
    assert low <= len(held) <= high


def test_who_is_held_out_does_not_depend_on_the_rest() -> None:
    """Chosen by the id alone; a larger share holds out the same texts and more."""
    ids = [f"text-{number}" for number in range(2_000)]
    small, large = ({text for text in ids if is_heldout(text, fraction)} for fraction in (0.02, 0.1))
    assert small < large
    assert sorted(small)[:3] == ["text-1020", "text-1048", "text-1066"], "on every machine and in every version"


@pytest.mark.parametrize("rows", [[], [("a", ""), ("b", " \u200b")]])
def test_no_text(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    with pytest.raises(
        BadData, match=f"AB-018 .*/nothing: {f'0 of {len(rows)} texts have a token' if rows else 'no text'}\n"
    ):
        write(tmp_path / "nothing", rows, tiny.tokenizer(), 32)
    assert list(tmp_path.iterdir()) == []


LARGE = """
import json, resource, sys
from pathlib import Path
import numpy as np
from adaptbert.training.document_stream import DocumentStream
from adaptbert.text.token_store import TokenizedCorpus

limit = 300 * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
corpus = TokenizedCorpus.load(Path(sys.argv[1]))
stream = DocumentStream(corpus.lengths, 1, 8 * 8192)
tokens = sum(len(corpus.read(stream.batch(k)[0]).ids) for k in range(0, 100_000, 2_500))
print(corpus.tokens * corpus._parts[0].ids.itemsize // limit, tokens // 8192)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to RLIMIT_DATA")
def test_a_corpus_many_times_larger_than_memory(tmp_path: Path) -> None:
    """13 GB of ids (holes of a file, which take no room on disk) are read by a process that may have 300 MB."""
    documents, length = 800_000, 8192
    for name, width in (("ids", 2), ("word_starts", 1)):
        with (tmp_path / f"{name}.bin").open("wb") as file:
            file.truncate(documents * length * width)
    np.arange(0, (documents + 1) * length, length).tofile(tmp_path / "offsets.bin")
    np.full(documents, length).tofile(tmp_path / "characters.bin")
    (tmp_path / "corpus.json").write_text(json.dumps({"dtype": "uint16"}), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", LARGE, str(tmp_path)],
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["41", str(40 * 8)], done.stderr
