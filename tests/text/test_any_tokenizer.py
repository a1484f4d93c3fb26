"""Tokenizers of all families beside the stock tokenizer of the saved folder, and the words of their tokens."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rjieba
import tokenizers
from tokenizers import normalizers, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from adaptbert.config.schema.mlm import Masking
from adaptbert.config.schema.text import Extension
from adaptbert.errors import BadData, BadParams
from adaptbert.mlm.masking import CLASSES, Masker, token_classes
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.token_writer import write
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.text.vocabulary_extension import extend_vocabulary
from adaptbert.text.words import Segmenter, trimmed
from tests.support import tiny
from tests.support.family_tokenizers import family_tokenizer
from tests.support.imports import ROOT
from tests.support.shared import made_once

FAMILIES = [
    *("bert", "mpnet", "roberta", "deberta", "modernbert", "eurobert"),
    *("xlm-roberta", "camembert", "albert", "deberta-v2", "mmbert", "gemma"),
]
OTHERS = FAMILIES[2:]  # no WordPiece
TEXTS = [
    "The patient's insulin fell.",
    "  the house   stood ",
    "今天天气很好，我们去公园散步。",
    "ship it 🚀👨‍👩‍👧 café nai\u0308ve",
    "a\tb\n\nc\u3000d\u200be",
    "x" * 130,
    "walked-along axis=0 [unused3] <table> $5",
    "\ue000 안녕하세요 1999年",
    " ",
    "",
    *tiny.sentences("domain", 40),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tokenizer of each family as it is saved here."""

    def make(made: Path) -> Path:
        for family in FAMILIES:
            Tokenizer(family_tokenizer(family)).save(made / family)
        return made

    return made_once(tmp_path_factory, "any_tokenizer", make)


@pytest.mark.parametrize("family", FAMILIES)
def test_special_tokens_and_segments_are_those_of_the_stock_tokenizer(folder: Path, family: str) -> None:
    loaded, stock = Tokenizer.load(folder / family), AutoTokenizer.from_pretrained(str(folder / family))
    assert loaded.hugging_face.backend_tokenizer.to_str() == stock.backend_tokenizer.to_str()
    encoded = [each.ids for each in loaded.encode(TEXTS)]
    assert [loaded.single(ids) for ids in encoded] == stock(TEXTS)["input_ids"]
    assert [loaded.extra(1), loaded.extra(2)] == [stock.num_special_tokens_to_add(pair=pair) for pair in (False, True)]
    for first, a in zip(TEXTS, encoded, strict=True):
        for second, b in zip(TEXTS[:4], encoded, strict=False):
            expected = stock(first, second)
            ids, segments = loaded.pair(a, b)
            assert ids == expected["input_ids"]
            assert loaded.has_segments == ("token_type_ids" in expected)
            assert not loaded.has_segments or segments == expected["token_type_ids"]


def test_separators_are_as_many_as_the_family_has() -> None:
    counts = {family: len(Tokenizer(family_tokenizer(family)).two.between) for family in FAMILIES}
    assert {family for family, count in counts.items() if count == 2} == {
        *("roberta", "xlm-roberta", "camembert", "mpnet", "deberta")
    }
    assert {*counts.values()} == {1, 2}


# ---- words

LINE = "The patient's house"
WORDS = [
    *[(family, LINE, "none", ["The", "patient", "'", "s", "house"]) for family in ("xlm-roberta", "deberta-v2")],
    *[(family, "the house stood", "none", ["the", "house", "stood"]) for family in ("mmbert", "gemma")],
    *[(family, " the  🙂\n\nx", "none", ["the", "🙂", "x"]) for family in ("mmbert", "gemma")],
    *[(family, "the <table> by", "none", ["the", "<table>", "by"]) for family in ("mmbert", "gemma")],
    ("modernbert", "the    house", "none", ["the", "house"]),
    ("modernbert", "a [unused3] b", "none", ["a", "[unused3]", "b"]),
    *[(family, "好气气", "none", ["好", "气", "气"]) for family in ("xlm-roberta", "mmbert", "gemma", "albert")],
    *[(family, "个体ab！c", "none", ["个", "体", "ab", "！", "c"]) for family in ("roberta", "modernbert", "eurobert")],
    *[
        (family, "我们去公园 ab", "rjieba", ["我们", "去", "公园", "ab"])
        for family in ("xlm-roberta", "deberta-v2", "mmbert", "gemma")
    ],
    *[(family, "你个体 ab", "rjieba", ["你", "个体", "ab"]) for family in ("roberta", "modernbert", "eurobert")],
]


def pieces_of(text: str, begins: Any, offsets: Any) -> list[str]:
    firsts = [start for (start, _), begin in zip(offsets, begins, strict=True) if begin]
    return [text[start:end].strip() for start, end in zip(firsts, [*firsts[1:], len(text)], strict=True)]


@pytest.mark.parametrize(("family", "text", "segmenter", "expected"), WORDS)
def test_words(family: str, text: str, segmenter: Any, expected: list[str]) -> None:
    tokenizer = Tokenizer(family_tokenizer(family))
    (encoding,) = tokenizer.encode([text])
    begins, misaligned = Segmenter(segmenter).word_starts([text], [encoding], tokenizer.splits_words)
    assert pieces_of(text, begins, encoding.offsets) == expected
    assert misaligned == 0


def rule() -> tokenizers.Tokenizer:
    """BERT's rule in the tokenizers library: the words of a raw text are its tokens."""
    made = tokenizers.Tokenizer(WordLevel({"?": 0}, unk_token="?"))
    made.normalizer = normalizers.BertNormalizer(
        clean_text=False, handle_chinese_chars=True, strip_accents=False, lowercase=False
    )
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


@pytest.mark.parametrize("segmenter", ["none", "rjieba"])
@pytest.mark.parametrize("family", FAMILIES)
def test_each_token_once_by_a_naive_reading(family: str, segmenter: Any) -> None:
    """A token begins a word where its first character is in another word than the last of the token before it, and the
    segmenter has a boundary between them, unless it cuts a word within a token of the text."""
    tokenizer = Tokenizer(family_tokenizer(family))
    texts = [*TEXTS, "今天 éé", "我们喜欢 café ", "们我"]
    encodings = tokenizer.encode(texts)
    begins, misaligned = Segmenter(segmenter).word_starts(texts, encodings, tokenizer.splits_words)
    expected, failed = [], 0
    for text, encoding in zip(texts, encodings, strict=True):
        words = [*rule().encode(text).offsets, (len(text), len(text) + 1)]
        inside = {place for start, end in words for place in range(start + 1, end)}
        cuts = {start for _, start, _ in rjieba.tokenize(text)}
        cut = segmenter != "none" and any({*range(start + 1, end)} & cuts & inside for start, end in encoding.offsets)
        failed += cut

        def word(character: int, words: list[tuple[int, int]] = words) -> int:
            return next(number for number, (_, end) in enumerate(words) if end > character)

        before, last = -1, -1
        for at, (begin, end) in enumerate(encoding.offsets):
            (content,) = trimmed(text, [(begin, end)])
            between = cut or segmenter == "none" or bool(cuts & {*range(last + 1, begin + 1)})
            expected.append(at == 0 or (word(begin) != before and between))
            before = word(content[1] - 1) if content[0] < content[1] else word(begin)
            last = max(begin, end - 1)
    assert begins.tolist() == expected
    assert misaligned == failed
    assert not all(expected)


@pytest.mark.parametrize("family", ["xlm-roberta", "mmbert", "gemma", "modernbert"])
def test_a_latin_word_that_the_segmenter_cuts_stays_whole(family: str) -> None:
    tokenizer, texts = Tokenizer(family_tokenizer(family)), ["今天 éé", "今天 masked"]
    encodings = tokenizer.encode(texts)
    begins, _ = Segmenter("rjieba").word_starts(texts, encodings, tokenizer.splits_words)
    first, last = np.split(begins, [len(encodings[0])])
    assert pieces_of(texts[0], first, encodings[0].offsets)[-1] == "éé"
    assert pieces_of(texts[1], last, encodings[1].offsets) == ["今天", "masked"]


@pytest.mark.parametrize("family", OTHERS)
def test_documents(tmp_path: Path, family: str) -> None:
    """Every token of the texts in its order, between the special tokens, and whole words."""
    tokenizer = Tokenizer(family_tokenizer(family))
    facts = write(tmp_path / "texts", [(str(n), text) for n, text in enumerate(TEXTS)], tokenizer, 16)
    corpus = TokenizedCorpus.load(tmp_path / "texts")
    flat = corpus.read(np.arange(len(corpus.lengths)))
    inner, begins = [], []
    ends = np.cumsum(flat.lengths)[:-1]
    for ids, starts in zip(np.split(flat.ids, ends), np.split(flat.word_starts, ends), strict=True):
        assert len(ids) <= 16
        left, right = len(tokenizer.one.before), len(ids) - len(tokenizer.one.after)
        assert [*ids[:left], *ids[right:]] == tokenizer.single([])
        assert starts[:left].all()
        assert starts[right:].all()
        inner += ids[left:right].tolist()
        begins += starts[left:right].tolist()
    encodings = tokenizer.encode(TEXTS)
    assert inner == [number for encoding in encodings for number in encoding.ids]
    assert begins == Segmenter().word_starts(TEXTS, encodings, tokenizer.splits_words)[0].tolist()
    assert len(corpus.lengths) > len(TEXTS)
    unknown = inner.count(tokenizer.unknown) if tokenizer.unknown is not None else 0
    assert facts["unknown_rate"] == unknown / len(inner)


# ---- masking


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_special_added_or_unused_is_drawn(tmp_path: Path, family: str) -> None:
    tokenizer = Tokenizer(family_tokenizer(family))
    added = {str(token) for token in family_tokenizer(family).added_tokens_decoder.values()}
    drawn = {tokenizer.tokens[number] for number in tokenizer.replacements}
    assert not drawn & added
    assert not [token for token in drawn if "unused" in token or "reserved" in token]
    ordinary = family_tokenizer(family).backend_tokenizer.get_vocab(with_added_tokens=False)
    assert {token for token in ordinary if token not in added and "unused" not in token} == drawn

    write(tmp_path / "texts", [(str(n), text) for n, text in enumerate(TEXTS)], tokenizer, 64)
    corpus = TokenizedCorpus.load(tmp_path / "texts")
    documents = np.arange(len(corpus.lengths))
    flat = corpus.read(documents)
    masker = Masker(Masking(probability=0.9, mask_share=0.5, random_share=0.5, keep_share=0), 1, tokenizer)
    corrupted, chosen, _ = masker.mask(flat, documents, documents * 0)
    assert not {*tokenizer.specials} & {*flat.ids[chosen].tolist()}
    assert {*corrupted[chosen].tolist()} <= {tokenizer.mask, *tokenizer.replacements.tolist()}


def test_classes_by_the_form_of_a_token() -> None:
    expected = {
        "bert": {"continuation": "##s", "latin": "the", "chinese": "好", "punctuation": "。"},
        "modernbert": {"latin": "Ġthe", "continuation": "he", "punctuation": "ãĢĤ", "other": "ðŁ", "digit": "Ġ0"},
        "roberta": {"latin": "Ġthe", "continuation": "he", "chinese": "å¥½"},
        "xlm-roberta": {"latin": "▁the", "continuation": "s", "chinese": "好", "punctuation": "，", "other": "▁"},
        "mmbert": {"latin": "▁the", "continuation": "<0x41>", "chinese": "好", "other": "<0xE4>", "digit": "▁0"},
    }
    for family, tokens in expected.items():
        tokenizer = Tokenizer(family_tokenizer(family))
        classes = token_classes(tokenizer.forms)
        assert {name: CLASSES[classes[tokenizer.tokens.index(token)]] for name, token in tokens.items()} == {
            name: name for name in tokens
        }, family


# ---- what is text, what is alike, what is refused


@pytest.mark.parametrize("family", FAMILIES)
def test_special_tokens_in_a_text_are_text(folder: Path, family: str) -> None:
    """Of Unigram, too, which takes any token of its vocabulary for a text; `</s>` is found on the web."""
    for tokenizer in (Tokenizer(family_tokenizer(family)), Tokenizer.load(folder / family)):
        specials = {*tokenizer.specials} - {tokenizer.unknown}
        for number in specials:
            for text in ("before {} after", "before{}after", "{}"):
                assert not specials & {*tokenizer.encode([text.format(tokenizer.tokens[number])])[0].ids}


@pytest.mark.parametrize("family", OTHERS)
def test_the_fingerprint_is_that_of_all_rules(folder: Path, tmp_path: Path, family: str) -> None:
    same = Tokenizer.load(folder / family)
    assert same.fingerprint == Tokenizer.load(folder / family).fingerprint
    same.save(tmp_path / "again")
    assert same.fingerprint == Tokenizer.load(tmp_path / "again").fingerprint
    rules = json.loads(same.hugging_face.backend_tokenizer.to_str())
    changed = [{**rules, "normalizer": {"type": "Lowercase"}}, {**rules, "pre_tokenizer": {"type": "Whitespace"}}]
    if "merges" in rules["model"]:
        changed.append({**rules, "model": {**rules["model"], "merges": rules["model"]["merges"][:-1]}})
    else:
        vocabulary = [*rules["model"]["vocab"][:-1], [rules["model"]["vocab"][-1][0], -3.0]]
        changed.append({**rules, "model": {**rules["model"], "vocab": vocabulary}})
    roles = same.hugging_face.special_tokens_map
    prints = {
        Tokenizer(
            PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer.from_str(json.dumps(each)), **roles)
        ).fingerprint
        for each in changed
    }
    assert len({same.fingerprint, *prints}) == 4


def test_saved_tokenizers_load_without_torch(folder: Path) -> None:
    code = """
import sys
from pathlib import Path
from adaptbert.text.tokenizer import Tokenizer
for folder in Path(sys.argv[1]).iterdir():
    Tokenizer.load(folder)
assert "torch" not in sys.modules
"""
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


ROLES = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({**ROLES}, "mask"),
        ({"unk_token": "[UNK]", "eos_token": "[SEP]"}, "padding, mask"),
        ({"unk_token": "[UNK]", "pad_token": "[PAD]", "mask_token": "[UNK]"}, "separator"),
        ({**ROLES, "mask_token": "<mask>"}, r"mask \(<mask>\)"),
    ],
)
def test_a_role_without_a_token(tmp_path: Path, roles: dict[str, str], message: str) -> None:
    """Also one that is named and in no file: transformers gives it a new id, which the weights do not know."""
    rules = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "[UNK]": 1, "[PAD]!": 2}, [], unk_token="[UNK]"))
    rules.add_special_tokens(sorted({*roles.values()} - {"<mask>"}))
    rules.save(str(tmp_path / "tokenizer.json"))
    about = {"tokenizer_class": "PreTrainedTokenizerFast", **roles}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(BadData, match=rf"AB-129 .*: the tokenizer has no token for: {message}\n"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"config.json": {"model_type": "esm"}}, "EsmTokenizer"),
        ({"tokenizer_config.json": {"tokenizer_class": "BertJapaneseTokenizer"}}, "BertJapaneseTokenizer"),
        ({"tokenizer_config.json": {"auto_map": {"AutoTokenizer": ["a.B", None]}}}, "auto_map"),
    ],
)
def test_a_tokenizer_that_is_code(tmp_path: Path, files: dict[str, Any], code: str) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(["<cls>", "<pad>", "<eos>", "<unk>", "<mask>", "a"]))
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(BadData, match=rf"AB-129 .*: text is split by code \({code}\)"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize("family", OTHERS)
def test_words_are_added_to_word_piece_alone(family: str) -> None:
    config = Extension(corpora=["domain"], num_new_tokens=5, min_frequency=1)
    with pytest.raises(BadParams, match=r"AB-111 params.yaml: tokenizer.extend: .*WordPiece.* is (BPE|Unigram)\n"):
        extend_vocabulary(Tokenizer(family_tokenizer(family)), ["gluco"], config)
    other = Tokenizer(family_tokenizer(family))
    assert not other.extends(Tokenizer(family_tokenizer("bert")))
