"""A lexicon of two languages: pairs of words in a file, and how well the layers of a rung find the translations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.errors import BadData
from adaptbert.finetuning.tasks.examples import Examples, whole
from adaptbert.project.probes.layer_vectors import LayerVectors
from adaptbert.project.probes.measures import reciprocal_rank, without_mean
from adaptbert.tokenization.store.tokenizer import Tokenizer

FEWEST, MOST = 10, 5_000
"""Pairs: fewer order nothing, and more take memory by their square."""
MOST_UNKNOWN = 0.5
"""Share of the words of a language with [UNK]; where there are more, ranks say nothing of the languages."""


@dataclass(frozen=True)
class Alignment:
    """Mean reciprocal ranks of one layer.

    Attributes:
        plain: of the vectors as they are.
        centred: after the mean of each language is subtracted from its words.
        shifted: after the difference of the two means is added to the words of the first language alone.
    """

    plain: float
    centred: float
    shifted: float


def read(path: Path) -> list[tuple[str, str]]:
    """Two words a line, with a tab between them; every word counts once, with the first translation that is new.

    Raises:
        BadData: no text, a line of another kind, or too few or too many pairs.
    """
    pairs: dict[str, str] = {}
    translations: set[str] = set()
    for number, line in enumerate(_lines(path), 1):
        words = [word.strip() for word in line.split("\t")]
        if words == [""]:
            continue
        if len(words) != 2 or not all(words):
            instead = (
                f"{len(words)} columns" if len(words) != 2 else f"the {'second' if words[0] else 'first'} is empty"
            )
            problem = f"expected two words with a tab between them, found {instead}"
            raise BadData(Code.BAD_LEXICON, f"{path}:{number}", problem, "write a word, a tab and its translation")
        if words[0] not in pairs and words[1] not in translations:
            pairs[words[0]] = words[1]
            translations.add(words[1])
        if len(pairs) > MOST:
            raise BadData(Code.BAD_LEXICON, f"{path}:{number}", f"more than {MOST:,} pairs", "give the most frequent")
    if len(pairs) < FEWEST:
        problem = f"{len(pairs)} pairs of different words, which order nothing"
        raise BadData(Code.BAD_LEXICON, path, problem, f"give {FEWEST} to {MOST:,}")
    return list(pairs.items())


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            for line in file:
                yield line.rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise BadData(Code.BAD_LEXICON, path, str(reason), "name a text file in UTF-8, two words a line") from None


def encoded(words: Sequence[str], tokenizer: Tokenizer, most: int, place: Path) -> Examples:
    """Each word alone, as [CLS] word [SEP].

    Args:
        most: tokens that the encoder has positions for.

    Raises:
        BadData: a word is too long, or the vocabulary lacks half of the words.
    """
    ids = [[tokenizer.cls, *encoding.ids, tokenizer.sep] for encoding in tokenizer.encode(list(words))]
    longest = max(map(len, ids))
    if longest > most:
        problem = f"an entry of {longest - 2} tokens, and the encoder takes {most - 2}"
        raise BadData(Code.BAD_LEXICON, place, problem, "give words, not texts")
    unknown = sum(tokenizer.unknown in each or len(each) == 2 for each in ids)
    if unknown > MOST_UNKNOWN * len(ids):
        problem = f"{unknown} of {len(ids)} words of one language are not in the vocabulary"
        raise BadData(Code.BAD_LEXICON, place, problem, "give words that the checkpoint knows, or another checkpoint")
    return whole(ids, range(len(ids)), 0)


def alignments(words: LayerVectors, translations: LayerVectors) -> list[Alignment]:
    """Of every layer by the mean vectors of the words, the embeddings first; the static vectors last."""
    sets = [*zip(words.mean, translations.mean, strict=True), (words.static, translations.static)]
    return [
        Alignment(
            plain=reciprocal_rank(one, two),
            centred=reciprocal_rank(without_mean(one), without_mean(two)),
            shifted=reciprocal_rank(one + (two.mean(0) - one.mean(0)), two),
        )
        for one, two in sets
    ]
