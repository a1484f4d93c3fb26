"""Vocabulary extension: adds whole words of a domain to the vocabulary of a checkpoint.

A tokenizer and text in, a tokenizer with more words out: an ordinary WordPiece vocabulary in which old tokens keep
their ids. No input is split into more subword tokens than before. WordPiece takes the longest match, so a new word
could make longer ones worse: with `gluco` as a word, `glucose` might become `gluco ##s ##e` instead of `glu ##cose`. So
each longer word in which an old token crosses the end of the new word is added too (`family`). Where a new word is the
longest match, the old tokens then have a boundary at its end, and the rest is split as before.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.config.schema.text import Extension
from adaptbert.errors import BadParams, Place
from adaptbert.text.tokenizer import RULES, Tokenizer

LONGEST_WORD = 100  # characters; WordPiece makes a longer word unknown


def check_rules(tokenizer: Tokenizer) -> None:
    """Raises BadParams where the vocabulary is not WordPiece: a new word needs merges in BPE and a score in Unigram, by
    which old words may be split in another way; a token that is added beside the rules is found within words, too."""
    if not tokenizer.is_word_piece:
        kind = type(tokenizer.backend.model).__name__
        problem = f"words can be added to WordPiece alone, and the tokenizer of this base is {kind}"
        remedy = "leave `extend` out: a new word would need merges or scores of its own, and old words may change"
        raise BadParams(Code.CONTRADICTION, Place("params.yaml", ("tokenizer", "extend")), problem, remedy)


def extend_vocabulary(
    tokenizer: Tokenizer, texts: Iterable[str], config: Extension
) -> tuple[Tokenizer, dict[str, float]]:
    """Add the words of `texts` that save most subword tokens for each added token, with their families.

    A word saves its frequency times (its subword tokens - 1); an unknown word counts as its characters + 1.

    Returns:
        The tokenizer with the new words, and metrics of the text by both tokenizers; an unknown word is one token.

    Raises:
        BadParams: see `check_rules`.
    """
    check_rules(tokenizer)
    word_pieces = WordPieces(tokenizer)
    words, characters = Counter[str](), 0
    for text in texts:
        characters += len(text)
        normalised = tokenizer.backend.normalizer.normalize_str(text)
        words.update(word for word, _ in tokenizer.backend.pre_tokenizer.pre_tokenize_str(normalised))
    saved = {
        word: count * (word_pieces.cost(word) - 1)
        for word, count in words.items()
        if count >= config.min_frequency and len(word) <= LONGEST_WORD and word not in word_pieces.vocabulary
    }
    families = {word: word_pieces.family(word) for word, gain in saved.items() if gain > 0}
    worth = {word: sum(saved.get(member, 0) for member in family) / len(family) for word, family in families.items()}
    chosen: dict[str, None] = {}
    for word in sorted(families, key=lambda word: (-worth[word], word)):
        missing = [member for member in families[word] if member not in chosen]
        if len(chosen) + len(missing) <= config.num_new_tokens:
            chosen |= dict.fromkeys(missing)
    extended = with_words(tokenizer, list(chosen))
    (before, unknown_before), (after, unknown_after) = _count(tokenizer, words), _count(extended, words)
    metrics = {
        "new_tokens": len(chosen),
        "tokens_per_character_before": before / max(1, characters),
        "tokens_per_character_after": after / max(1, characters),
        "tokens_saved": 1 - after / max(1, before),
        "unknown_rate_before": unknown_before / max(1, before),
        "unknown_rate_after": unknown_after / max(1, after),
    }
    return extended, metrics


class WordPieces:
    """Splits a word by the vocabulary of a tokenizer: longest match first (Wu et al. 2016, as BERT uses it)."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.vocabulary = set(tokenizer.tokens)
        self._longest = max(map(len, self.vocabulary))
        continuing = sorted(token[2:] for token in self.vocabulary if token.startswith("##") and len(token) > 3)
        self._endings: dict[str, list[str]] = {}
        for token in continuing:
            for end in range(1, len(token)):
                self._endings.setdefault(token[:end], []).append(token[end:])

    def borders(self, word: str) -> list[int]:
        """The starts of its subword tokens, and its end; for an unknown word, up to the last match."""
        borders = [0]
        while borders[-1] < len(word):
            start = borders[-1]
            ends = range(min(len(word), start + self._longest), start, -1)
            end = next((end for end in ends if ("##" if start else "") + word[start:end] in self.vocabulary), None)
            if end is None:
                break
            borders.append(end)
        return borders

    def cost(self, word: str) -> int:
        """Subword tokens; for an unknown word its characters + 1, so that any split costs less."""
        borders = self.borders(word)
        return len(borders) - 1 if borders[-1] == len(word) else len(word) + 1

    def family(self, word: str) -> list[str]:
        """A word, and every longer one in which an old token, as the longest match, crosses the end of the word."""
        borders, members = self.borders(word), [word]
        for number, border in enumerate(borders):
            if 0 < border < len(word):
                longer = (word + ending for ending in self._endings.get(word[border:], ()))
                members += [o for o in longer if self.borders(o) == [*borders[: number + 1], len(o)]]
        return [member for member in members if member not in self.vocabulary]


def with_words(tokenizer: Tokenizer, words: list[str]) -> Tokenizer:
    """The same tokenizer with more whole words after its last id."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save(Path(folder))
        file = Path(folder) / RULES
        content = json.loads(file.read_text(encoding="utf-8"))
        content["model"]["vocab"] |= {word: tokenizer.size + number for number, word in enumerate(words)}
        file.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        return Tokenizer.load(Path(folder))


def _count(tokenizer: Tokenizer, words: Counter[str]) -> tuple[int, int]:
    """Tokens of all words and how many of them are unknown."""
    tokens = unknown = 0
    for encoding, count in zip(tokenizer.encode(list(words)), words.values(), strict=True):
        tokens += count * len(encoding.ids)
        unknown += count * encoding.ids.count(tokenizer.unknown)
    return tokens, unknown
