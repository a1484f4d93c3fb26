"""Words of Chinese on tokens: where they begin, what does not go together, and words of the user's."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import rjieba

from adaptbert.config.schema.text import Segmentation
from adaptbert.errors import BadData, Several
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.token_writer import write
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.text.words import Entry, Segmenter, read_dictionary
from tests.support import chinese


def units(text: str, segmenter: Segmenter, pieces: Tokenizer) -> list[str]:
    """A text cut where a token begins a word; white space is dropped."""
    encoding = pieces.encode([text])[0]
    begins, _ = segmenter.word_starts([text], [encoding])
    firsts = [start for (start, _), begin in zip(encoding.offsets, begins, strict=True) if begin]
    return [text[start:end].strip() for start, end in zip(firsts, [*firsts[1:], len(text)], strict=True)]


def test_words_of_chinese_and_of_latin() -> None:
    text = "我们今天去北京大学 playinggames，真的！"
    pieces = chinese.tokenizer()
    assert units(text, Segmenter("rjieba"), pieces) == [
        "我们", "今天", "去", "北京大学", "playinggames", "，", "真的", "！",
    ]  # fmt: skip
    assert units(text, Segmenter(), pieces) == [*"我们今天去北京大学", "playinggames", *"，真的！"]
    assert len(pieces.encode(["playinggames"])[0].ids) > 1, "a word of several pieces, else this says little"


def test_each_token_once_by_a_naive_reading() -> None:
    """Character by character, with the segmenter's own positions; words reach neither from text to text nor into one of
    the tokenizer's, such as éé, which the segmenter cuts: such a text keeps the tokenizer's words, and is counted."""
    odd = ["", "我们喜欢 café 今天", "我们", "们我", " 今", "天 ", "今天 éé"]
    pieces, texts = chinese.tokenizer(), [*chinese.posts(400), *odd]
    assert "cafe" in pieces.tokens, "the accent is inside a token, where the segmenter has a boundary"
    encodings = pieces.encode(texts)
    begins, misaligned = Segmenter("rjieba").word_starts(texts, encodings)
    expected = []
    failed = 0
    for text, encoding in zip(texts, encodings, strict=True):
        boundaries = {start for _, start, _ in rjieba.tokenize(text)}
        own = [at == 0 or word != encoding.word_ids[at - 1] for at, word in enumerate(encoding.word_ids)]
        cut = any(boundaries & set(range(start + 1, end)) for start, end in encoding.offsets)
        failed += cut
        for at, (start, _) in enumerate(encoding.offsets):
            gap = range(encoding.offsets[at - 1][1], start + 1)
            expected.append(own[at] and (cut or at == 0 or bool(boundaries & set(gap))))
    assert begins.tolist() == expected
    assert misaligned == failed
    assert 0 < failed < 200, "both kinds of text occur"
    assert begins[-4:].tolist() == [True, False, True, False]


def test_a_word_of_the_users(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("\ufeff# 说明 1\n绝绝子怪\n\n石墨烯飞 5 n\n", encoding="utf-8")
    entries = read_dictionary(path)
    assert entries == (Entry("绝绝子怪"), Entry("石墨烯飞", 5, "n"))
    config = Segmentation(segmenter="rjieba", dictionary=str(path))
    text, pieces = "我们今天绝绝子怪真的", chinese.tokenizer("绝子怪")
    assert units(text, Segmenter.load(config, path), pieces) == ["我们", "今天", "绝绝子怪", "真的"]
    assert "绝绝子怪" not in units(text, Segmenter("rjieba"), pieces)
    none = Segmentation(segmenter="none", dictionary=str(path))
    assert Segmenter.load(none, path) == Segmenter(), "not read"


@pytest.mark.parametrize("line", ["词 x", "词 -1", "词 1 n 2", "词 ²"])
def test_a_line_that_is_no_entry(tmp_path: Path, line: str) -> None:
    path = tmp_path / "words.txt"
    path.write_text(f"好\n{line}\n", encoding="utf-8")
    with pytest.raises(BadData, match=r"AB-044 .*words.txt:2: \d parts") as raised:
        read_dictionary(path)
    assert "词" not in str(raised.value)
    path.write_text(f"{line}\n{line}\n", encoding="utf-8")
    with pytest.raises(Several):
        read_dictionary(path)
    path.write_bytes("词".encode("gb18030"))
    with pytest.raises(BadData, match=r"AB-001 .* is not UTF-8"):
        read_dictionary(path)
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(BadData, match=r"AB-050 .*pipe\.txt: not a readable regular file"):
        read_dictionary(tmp_path / "pipe.txt")


def test_what_is_stored(tmp_path: Path) -> None:
    """Word starts are stored with the tokens, documents are cut between words, and the facts name the segmenter."""
    pieces, segmenter = chinese.tokenizer(), Segmenter("rjieba", (Entry("今天北京"),))
    rows = [(str(number), text) for number, text in enumerate(chinese.posts(300))]
    sent = pickle.loads(pickle.dumps(segmenter))  # noqa: S301 - as to a worker process
    facts = write(tmp_path / "posts", rows, pieces, 24, segmenter=sent)
    again = write(tmp_path / "again" / "posts", rows, pieces, 24, segmenter=segmenter)
    assert facts == again
    assert facts["segmentation"]["segmenter"].startswith("rjieba 0.")
    encodings = pieces.encode([text for _, text in rows])
    begins, misaligned = segmenter.word_starts([text for _, text in rows], encodings)
    assert facts["segmentation"]["misaligned"] == misaligned
    corpus = TokenizedCorpus.load(tmp_path / "posts")
    assert corpus.segmentation == [facts["segmentation"]]
    flat = corpus.read(np.arange(len(corpus.lengths)))
    inner = ~np.isin(flat.ids, [pieces.one.before[0], pieces.one.after[0]])
    assert flat.word_starts[~inner].all()
    assert flat.word_starts[inner].tolist() == begins.tolist(), "every token is in one document"
    assert len(corpus.lengths) > 300, "some texts are cut"
    assert (~begins).sum() > 1_000, "words have several characters"

    other = write(tmp_path / "other" / "posts", rows, pieces, 24, segmenter=Segmenter("rjieba"))
    assert other["segmentation"]["dictionary"] != facts["segmentation"]["dictionary"], "a savepoint is not taken for it"
    assert write(tmp_path / "none" / "posts", rows, pieces, 24)["segmentation"] == {
        "segmenter": "none",
        "dictionary": None,
        "misaligned": 0,
    }
