"""The files of the tokenizer, with one thing added where it is not said: whether capitals become small letters.

transformers 5 builds the tokenizer of a BERT from the vocabulary and tokenizer_config.json alone, and lower-cases where
that file is silent, whatever the rules in tokenizer.json are.
"""

import json
import shutil
import string
from pathlib import Path
from typing import Any

from adaptbert.base.files import write_json
from adaptbert.model.checkpoint_files import read_object
from adaptbert.project.importing.source import Source
from adaptbert.tokenization.store.tokenizer import Tokenizer

ABOUT, WHOLE = "tokenizer_config.json", "tokenizer.json"
LOWER = "do_lower_case"
_RULES = {"lowercase": LOWER, "strip_accents": "strip_accents", "handle_chinese_chars": "tokenize_chinese_chars"}
"""Rules in tokenizer.json -> keys of tokenizer_config.json."""


def write(source: Source, folder: Path) -> list[str]:
    """Copy the files into a folder that has config.json already.

    Returns:
        Notes: what was assumed, and what looks wrong.

    Raises:
        BadData: they cannot be loaded, or lack a special token.
    """
    for file in source.tokenizer:
        shutil.copyfile(file, folder / file.name)
    about = read_object(folder / ABOUT) if (folder / ABOUT).is_file() else {}
    capitals = len(set(string.ascii_uppercase) & set(Tokenizer.load(folder).tokens))
    notes = []
    if not isinstance(about.get(LOWER), bool):
        rules = _rules(folder / WHOLE)
        if LOWER in rules:
            reason = "tokenizer.json says so"
        else:
            rules = {LOWER: capitals < len(string.ascii_uppercase) // 2}
            reason = f"no file says so; {_default(capitals)}"
        write_json(folder / ABOUT, {**rules, **about, LOWER: rules[LOWER]})
        does = "lower-cased" if rules[LOWER] else "kept as they are"
        notes.append(f"assumed: Latin letters are {does} ({reason}). Chinese characters have no case")
    elif not about[LOWER] and not capitals:
        notes.append(
            f"{ABOUT} says that capitals are kept, and the vocabulary has no capital letter: words with capitals "
            f'become [UNK]. Write "{LOWER}": true into that file of the source and import again, if you need them'
        )
    if not (folder / WHOLE).is_file():
        _build(folder)
    return notes


def _build(folder: Path) -> None:
    """Write tokenizer.json, from which `adaptbert check` learns what words are known, for a vocabulary alone."""
    built = folder / "built"
    Tokenizer.load(folder).save(built)
    (built / WHOLE).rename(folder / WHOLE)
    shutil.rmtree(built)


def _default(capitals: int) -> str:
    if capitals < len(string.ascii_uppercase) // 2:
        return f"BERT lower-cases by default, and the vocabulary has {capitals} of the 26 capital letters"
    return f"the vocabulary has {capitals} of the 26 capital letters"


def _rules(file: Path) -> dict[str, Any]:
    """Those of BERT's normaliser in tokenizer.json, as tokenizer_config.json has them."""
    try:
        normalizer = json.loads(file.read_text(encoding="utf-8"))["normalizer"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    if not isinstance(normalizer, dict) or normalizer.get("type") != "BertNormalizer":
        return {}
    return {key: normalizer[rule] for rule, key in _RULES.items() if isinstance(normalizer.get(rule), bool)}
