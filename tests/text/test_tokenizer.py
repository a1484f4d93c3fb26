"""A tokenizer repeats, survives the disk, keeps text text, and is known by its fingerprint."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer, BertTokenizer

from adaptbert.config.schema.text import Vocabulary
from adaptbert.errors import BadData
from adaptbert.text.tokenizer import SPECIALS, Tokenizer, folding
from tests.support import tiny
from tests.support.imports import ROOT

TEXTS = [
    "The matrix is returned.",
    "微博上的人们说：好的，今天天气不错！",
    "ship it 🚀👨‍👩‍👧 café naïve ÀÉÎ",
    "a_b.c(d) [MASK] and [SEP] are written here",
    "x" * 300,
    "\u200b\u00ad zero width",
    "",
]


def train(lowercase: bool = True, size: int = 220) -> Tokenizer:
    texts = [*tiny.sentences("general", 200), *tiny.sentences("domain", 200), *TEXTS]
    return Tokenizer.train(lambda: texts, Vocabulary(vocabulary_size=size, lowercase=lowercase, min_frequency=1))


def test_the_vocabulary() -> None:
    """The specials first, at most the configured size; the same whether letters are large or small."""
    trained, cased = train(size=200), train(lowercase=False)
    assert trained.tokens[:5] == SPECIALS
    assert (trained.pad, trained.unknown, trained.one.before[0], trained.one.after[0], trained.mask) == (0, 1, 2, 3, 4)
    assert trained.size <= 200
    assert len(trained.replacements) == trained.size - 5
    for upper in ("SHAPE", "ISTANBUL"):  # independent of the locale
        assert trained.encode([upper])[0].ids == trained.encode([upper.lower()])[0].ids
        assert cased.encode([upper])[0].ids != cased.encode([upper.lower()])[0].ids


@pytest.mark.parametrize("lowercase", [True, False])
def test_saved_tokenizers_give_equal_ids(tmp_path: Path, lowercase: bool) -> None:
    trained = train(lowercase)
    trained.save(tmp_path)
    loaded, stock = Tokenizer.load(tmp_path), AutoTokenizer.from_pretrained(str(tmp_path))
    assert loaded.fingerprint == trained.fingerprint
    for text in TEXTS:
        ids = trained.encode([text])[0].ids
        assert loaded.encode([text])[0].ids == ids, text
        if "[MASK]" not in text:
            assert stock(text)["input_ids"] == [trained.one.before[0], *ids, trained.one.after[0]], text


MARKED = {
    "Japanese": ["きょうばしとかきを見ました", "きょうはしとがきを見ました"],
    "Vietnamese": ["tôi thấy mã ở đây", "tôi thấy má ở đây", "tôi thấy mạ ở đây"],
    "Korean": ["안녕하세요 세계", "아녕하세요 세계"],
    "Hindi": ["दिन का काम", "दुन का काम", "सूखा दिन", "सुखा दिन"],
    "Arabic": ["سأل الرجل", "سال الرجل"],
    "Thai": ["ป่าไม้", "ป้าไม้", "ปาไม้"],
    "Italian": ["e la città è qui", "e la citta e qui"],
}


def trained_on(texts: list[str], **options: Any) -> Tokenizer:
    return Tokenizer.train(lambda: texts * 20, Vocabulary(vocabulary_size=300, min_frequency=1, **options))


@pytest.mark.parametrize("language", MARKED)
def test_marks_that_decide_the_meaning_are_kept(tmp_path: Path, language: str) -> None:
    """Words that differ in a mark alone have other ids, here and in transformers; not where stripping is asked for."""
    texts = MARKED[language]
    trained, stripping = trained_on(texts), trained_on(texts, strip_accents=True)
    trained.save(tmp_path)
    loaded, stock = Tokenizer.load(tmp_path), AutoTokenizer.from_pretrained(str(tmp_path))
    assert loaded.fingerprint == trained.fingerprint != stripping.fingerprint
    ids = [tuple(trained.encode([text])[0].ids) for text in texts]
    assert len({*ids}) == len(texts)
    assert trained.unknown not in {each for text in ids for each in text}
    assert [tuple(stock(text)["input_ids"][1:-1]) for text in texts] == ids
    assert [tuple(loaded.encode([text])[0].ids) for text in texts] == ids
    stripped = {tuple(stripping.encode([text])[0].ids) for text in texts}
    assert len(stripped) < len(texts) or language == "Korean", "whose syllables are taken apart"
    assert trained.encode(["A"])[0].ids == trained.encode(["a"])[0].ids


def test_text_with_few_marks_is_read_as_by_bert() -> None:
    """English and Chinese have few, and emoji none: their vocabularies are those of BERT's own rules."""
    few = [*tiny.sentences("general", 300), "naïve ❤️", "好的" * 50, "\u2764\ufe0f " * 100]
    usual = trained_on(few)
    assert usual.fingerprint == trained_on(few, strip_accents=None, lowercase=True).fingerprint
    assert usual.backend.normalizer.strip_accents is None
    assert usual.encode(["naïve"])[0].ids == usual.encode(["Naive"])[0].ids
    plain = [text for text in few if text.isascii()]
    assert trained_on(plain, strip_accents=False).tokens == trained_on(plain).tokens
    assert trained_on(few, strip_accents=False).encode(["naïve"])[0].ids != usual.encode(["naïve"])[0].ids
    assert list(folding(usual.backend.normalizer, few))[1:] == ["accents and other marks: are stripped (é becomes e)"]
    assert list(folding(trained_on(few, lowercase=False).backend.normalizer, MARKED["Vietnamese"])) == [
        "capital letters: are kept",
        "accents and other marks: are kept",
    ]
    *_, notice = folding(usual.backend.normalizer, MARKED["Japanese"])
    assert notice.startswith("notice: stripping changes 7.7% of the characters of these texts, most often ば to は, ")


def test_a_saved_tokenizer_loads_without_torch_and_equals_that_of_auto_tokenizer(tmp_path: Path) -> None:
    """Tokenising a million lines would else hold 130 MB that it does not need."""
    tiny.tokenizer().save(tmp_path)
    code = """
import sys
from pathlib import Path
from adaptbert.text.tokenizer import Tokenizer
Tokenizer.load(Path(sys.argv[1]))
assert "torch" not in sys.modules
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    opened, auto = Tokenizer.load(tmp_path).hugging_face, AutoTokenizer.from_pretrained(str(tmp_path))
    assert type(opened) is type(auto)
    assert opened.backend_tokenizer.to_str() == auto.backend_tokenizer.to_str()
    assert opened.init_kwargs.keys() == auto.init_kwargs.keys(), (opened.init_kwargs, auto.init_kwargs)


@pytest.mark.parametrize("source", ["made", "loaded"])
def test_special_tokens_in_a_text_are_text(tmp_path: Path, source: str) -> None:
    trained = train()
    trained.save(tmp_path)
    pieces = trained if source == "made" else Tokenizer.load(tmp_path)
    for literal in ("[MASK]", "[SEP]", "[CLS]", "[PAD]"):
        ids = pieces.encode([f"before {literal} after"])[0].ids
        assert not {*pieces.specials} & {*ids}


def test_the_fingerprint_is_that_of_the_vocabulary_and_the_case_rule() -> None:
    trained = train()
    vocabulary = {token: number for number, token in enumerate(trained.tokens)}
    swapped = vocabulary | {trained.tokens[10]: 11, trained.tokens[11]: 10}
    made = [(vocabulary, True), (swapped, True), (vocabulary, False)]
    same, *others = (Tokenizer(BertTokenizer(vocab=tokens, do_lower_case=lower)) for tokens, lower in made)
    assert same.fingerprint == trained.fingerprint
    assert len({each.fingerprint for each in (trained, train(size=180), *others)}) == 4


def test_tokens_that_no_text_has_are_not_drawn() -> None:
    unused = ["[unused12]", "<unused3>", "<|reserved_special_token_4|>", "[unused", "<reserved_200>"]
    words = ["the", "unused", "##reserved", "<", "[", "[the]"]
    vocabulary = {token: number for number, token in enumerate([*SPECIALS, *unused, *words])}
    made = Tokenizer(BertTokenizer(vocab=vocabulary))
    assert [made.tokens[number] for number in made.replacements] == words
    with_a_hole = Tokenizer(BertTokenizer(vocab=vocabulary | {"later": len(vocabulary) + 1}))
    assert [with_a_hole.tokens[number] for number in with_a_hole.replacements] == [*words, "later"]


OTHER_KIND = """{"version": "1.0", "model": {"type": "BPE", "vocab": {"<unk>": 0, "a": 1}, "merges": []}, \
"added_tokens": [], "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null, \
"truncation": null, "padding": null}"""


def test_the_general_class_leaves_it_to_the_rules(tmp_path: Path) -> None:
    tiny.tokenizer().save(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizer"}')
    loaded = Tokenizer.load(tmp_path)
    assert [each.ids for each in loaded.encode(TEXTS)] == [each.ids for each in tiny.tokenizer().encode(TEXTS)]
    (tmp_path / "tokenizer.json").rename(tmp_path / "vocab.txt")
    with pytest.raises(BadData, match=r"by code \(PreTrainedTokenizer\)"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, r"AB-128 .*: no tokenizer in this folder\n  copy tokenizer.json or vocab.txt"),
        ({"tokenizer.json": '{"version": "1.0", "trunc'}, r"AB-128 .*: tokenizer cannot be loaded: .*"),
        (
            {"tokenizer.json": OTHER_KIND, "tokenizer_config.json": '{"tokenizer_class": "PreTrainedTokenizerFast"}'},
            r"AB-129 .*: the tokenizer has no token for: padding, separator, mask\n",
        ),
        *(
            (
                {
                    "vocab.txt": "\n".join(token for token in [*SPECIALS, "a", "b"] if token != missing) + "\n",
                    "config.json": '{"model_type": "bert"}',
                },
                rf"AB-129 .*: the tokenizer has no token for: [a-z]+ \(\[{missing[1:-1]}\]\)\n.*",
            )
            for missing in SPECIALS
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, files: dict[str, str], message: str) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(BadData, match=message):
        Tokenizer.load(tmp_path)


def test_a_name_that_is_not_on_the_hub() -> None:
    with pytest.raises(BadData, match=r"AB-128 nobody/no-such-model: tokenizer cannot be loaded: .*\n  check the name"):
        Tokenizer.load("nobody/no-such-model", "main")


def test_rules_that_were_kept_have_segments_though_no_file_says_so(tmp_path: Path) -> None:
    """A base that was imported before `model_input_names` was written: its pairs stay what they were."""
    tiny.tokenizer().save(tmp_path)
    file = tmp_path / "tokenizer_config.json"
    about = json.loads(file.read_text()) | {"tokenizer_class": "PreTrainedTokenizerFast"}
    about.pop("model_input_names", None)
    file.write_text(json.dumps(about))
    kept = Tokenizer.load(tmp_path)
    assert "token_type_ids" not in kept.hugging_face.model_input_names
    assert kept.has_segments
    assert kept.pair([7], [8]) == tiny.tokenizer().pair([7], [8])
