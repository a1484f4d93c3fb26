"""A lexicon of two languages: pairs of words in a file, and how well the layers of a rung find the translations."""

from dataclasses import dataclass
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.errors import BadData
from adaptbert.project.probes.layer_vectors import LayerVectors
from adaptbert.project.probes.measures import reciprocal_rank, without_mean

FEWEST, MOST = 10, 5_000
"""Pairs: fewer order nothing, and more take memory by their square."""


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
    """Two words a line, with a tab between them; a word that comes twice is taken once, with its first translation.

    Raises:
        BadData: a line of another kind, or too few or too many pairs.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise BadData(Code.BAD_LEXICON, path, str(reason), "name a text file in UTF-8, two words a line") from None
    pairs: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        words = [word.strip() for word in line.split("\t")]
        if len(words) != 2 or not all(words):
            problem = f"line {number}: {line[:60]!r} has {len(words)} columns"
            raise BadData(Code.BAD_LEXICON, path, problem, "write a word, a tab and its translation")
        if words[1] not in pairs.values():
            pairs.setdefault(*words)
    if not FEWEST <= len(pairs) <= MOST:
        problem = f"{len(pairs)} different pairs"
        raise BadData(Code.BAD_LEXICON, path, problem, f"give {FEWEST} to {MOST:,}")
    return list(pairs.items())


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
