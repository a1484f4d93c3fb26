"""Do two languages lie together in the layers of a checkpoint?

    python -m examples.cross_lingual words.tsv models/pretrain/small models/domain_transfer/domain-small-1

The first argument is a file of word pairs, a word, a tab and its translation in each line; the others are checkpoints.
Words are encoded alone, without context. For each layer all translations are ordered by their cosine with a word, and
back; the figure is the mean reciprocal rank of the right one (Liu et al. 2020, arXiv 2004.09205), in three tables:

- the vectors as they are;
- without the mean of each language: what is left when each language has no place of its own (Libovický et al. 2020,
  arXiv 2004.05160);
- the words of the first language moved by the difference of the two means. If this finds as much as the second table,
  the languages differ by one direction.

`static` is the baseline of the word embeddings alone; a checkpoint with random weights is the other one.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from adaptbert import Checkpoint
from adaptbert.codes import Code
from adaptbert.errors import BadData
from examples import command, lines, run
from examples.probes import Floats, layer_vectors

AS_THEY_ARE, CENTRED, MOVED = "as they are", "without the mean of each language", "moved by the difference of the means"


def read(path: Path) -> list[tuple[str, str]]:
    """The pairs; every word counts once, with the first translation that is new."""
    pairs: dict[str, str] = {}
    for number, line in enumerate(lines(path, 2), 1):
        words = [word.strip() for word in line.split("\t")]
        if words == [""]:
            continue
        if len(words) != 2 or not all(words):
            problem = "expected two words with a tab between them"
            raise BadData(Code.COLUMNS, f"{path}:{number}", problem, "write a pair in each line")
        if words[0] not in pairs and words[1] not in pairs.values():
            pairs[words[0]] = words[1]
    return list(pairs.items())


def reciprocal_rank(words: Floats, translations: Floats) -> float:
    """Mean over both directions.

    Args:
        words, translations: (pairs, hidden); row i of one translates row i of the other.
    """
    one, two = (
        vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        for vectors in (np.asarray(words, np.float64), np.asarray(translations, np.float64))
    )
    cosines = one @ two.T
    right = np.diag(cosines)
    # Ties count against the right one, so that equal vectors of all words find nothing.
    ranks = [(cosines >= right[:, None]).sum(1), (cosines >= right[None, :]).sum(0)]
    return float(np.mean([(1.0 / rank).mean() for rank in ranks]))


def alignments(words: Floats, translations: Floats) -> dict[str, float]:
    """The figures of one layer."""
    shift = translations.mean(0) - words.mean(0)
    return {
        AS_THEY_ARE: reciprocal_rank(words, translations),
        CENTRED: reciprocal_rank(words - words.mean(0), translations - translations.mean(0)),
        MOVED: reciprocal_rank(words + shift, translations),
    }


def main(lexicon: Path, folders: Sequence[Path]) -> list[dict[str, dict[str, float]]]:
    """Print the three tables; returns checkpoint by checkpoint layer -> its figures."""
    pairs = read(lexicon)
    figures = []
    for folder in folders:
        checkpoint = Checkpoint.load(folder)
        words, translations = (layer_vectors(checkpoint, side) for side in zip(*pairs, strict=True))
        figures.append({layer: alignments(words[layer], translations[layer]) for layer in words})
    chance = float((1.0 / np.arange(1, len(pairs) + 1)).mean())
    for kind in (AS_THEY_ARE, CENTRED, MOVED):
        title = f"translations of {len(pairs)} words, {kind}: mean reciprocal rank (by chance {chance:.3f})"
        table = Table("checkpoint", *figures[0], title=title)
        for folder, layers in zip(folders, figures, strict=True):
            table.add_row(str(folder), *(f"{layer[kind]:.3f}" for layer in layers.values()))
        Console().print(table)
    return figures


if __name__ == "__main__":
    parser = command("cross_lingual", __doc__)
    parser.add_argument("lexicon", metavar="WORDS", type=Path)
    parser.add_argument("folders", metavar="CHECKPOINT", type=Path, nargs="+")
    run(parser, main)
