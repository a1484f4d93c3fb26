"""The tokenizer of an import: lower-casing as its source says."""

import json
from pathlib import Path

import pytest

from adaptbert.text.tokenizer import Tokenizer
from tests.support import tiny
from tests.support.public_checkpoints import INIT, brought


def test_a_vocabulary_alone_is_lower_cased(source: Path) -> None:
    assert "notice: assumed: Latin letters are lower-cased (no file says so; BERT lower" in brought(str(source))
    assert Tokenizer.load(INIT).fingerprint == tiny.tokenizer().fingerprint


def test_rules_of_tokenizer_json_hold(source: Path) -> None:
    """transformers would lower-case: it reads the rules of tokenizer_config.json only."""
    (source / "vocab.txt").unlink()
    tiny.tokenizer(lowercase=False).save(source)
    (source / "tokenizer_config.json").unlink()
    assert Tokenizer.load(source).fingerprint != tiny.tokenizer(lowercase=False).fingerprint
    said = brought(str(source))
    assert "notice: assumed: Latin letters are kept as they are (tokenizer.json says so)." in said
    assert Tokenizer.load(INIT).fingerprint == tiny.tokenizer(lowercase=False).fingerprint


def test_a_vocabulary_of_capitals_keeps_them(source: Path) -> None:
    tokens = tiny.tokenizer().tokens
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    (source / "vocab.txt").write_text("\n".join([*tokens[: -len(letters)], *letters]) + "\n", encoding="utf-8")
    said = brought(str(source))
    assert "kept as they are (no file says so; the vocabulary has 26 of the 26 capital letters)" in said
    assert Tokenizer.load(INIT).backend.normalizer.normalize_str("A") == "A"


@pytest.mark.parametrize("lowercase", [True, False])
def test_what_the_source_says_is_not_changed(source: Path, lowercase: bool) -> None:
    text = json.dumps({"do_lower_case": lowercase})
    (source / "tokenizer_config.json").write_text(text)
    assert "assumed" not in brought(str(source))
    assert (INIT / "tokenizer_config.json").read_text() == text
