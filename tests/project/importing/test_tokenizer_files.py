"""The tokenizer of an import: one for `check` and the stages, and lower-casing as its source says."""

import json
from pathlib import Path

import pytest
import tokenizers

from adaptbert.tokenization.store.tokenizer import Tokenizer
from tests.support import tiny
from tests.support.public_checkpoints import (
    INIT,
    brought,
    save_source,
)


def test_check_and_the_stages_read_one_tokenizer(project: Path) -> None:
    """`check` reads tokenizer.json, the stage `tokenizer` hands on what it loads, and `pretrain` compares."""
    brought(str(save_source(project / "source")))
    loaded = Tokenizer.load(INIT)
    loaded.save(project / "tokenizer")
    assert Tokenizer.load(project / "tokenizer").fingerprint == loaded.fingerprint == tiny.tokenizer().fingerprint
    known = tokenizers.Tokenizer.from_file(str(INIT / "tokenizer.json"))
    for text in tiny.sentences("general", 50):
        ids = known.encode(text, add_special_tokens=False).ids
        assert ids == loaded.encode([text])[0].ids


def cased(folder: Path) -> None:
    """Exchange the tokenizer for one with capitals, in tokenizer.json alone."""
    (folder / "vocab.txt").unlink()
    tiny.tokenizer(lowercase=False).save(folder)
    (folder / "tokenizer_config.json").unlink()


def test_rules_of_tokenizer_json_hold(project: Path) -> None:
    """transformers would lower-case: it reads the rules of tokenizer_config.json only."""
    source = save_source(project / "source")
    cased(source)
    assert Tokenizer.load(source).fingerprint != tiny.tokenizer(lowercase=False).fingerprint
    said = brought(str(source))
    assert "notice: assumed: Latin letters are kept as they are (tokenizer.json says so)." in said
    assert Tokenizer.load(INIT).fingerprint == tiny.tokenizer(lowercase=False).fingerprint


def test_a_vocabulary_of_capitals_keeps_them(project: Path) -> None:
    source = save_source(project / "source")
    tokens = tiny.tokenizer().tokens
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    (source / "vocab.txt").write_text("\n".join([*tokens[: -len(letters)], *letters]) + "\n", encoding="utf-8")
    said = brought(str(source))
    assert "kept as they are (no file says so; the vocabulary has 26 of the 26 capital letters)" in said
    assert Tokenizer.load(INIT).backend.normalizer.normalize_str("A") == "A"


@pytest.mark.parametrize("lowercase", [True, False])
def test_what_the_source_says_is_not_changed(project: Path, lowercase: bool) -> None:
    source = save_source(project / "source")
    text = json.dumps({"do_lower_case": lowercase})
    (source / "tokenizer_config.json").write_text(text)
    said = brought(str(source))
    assert (INIT / "tokenizer_config.json").read_text() == text
    assert "assumed" not in said
    assert ("words with capitals become [UNK]" in said) == (not lowercase)
