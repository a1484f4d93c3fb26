"""Static word vectors of the unlabelled text, for a baseline: what contextual pre-training adds to them.

CBOW with negative sampling (Mikolov et al. 2013, arXiv 1301.3781 and 1310.4546) as gensim trains it. Its values are the
usual ones; skip-gram scored alike on the dev rows of the demonstration and took 3.5 times as long
(docs/decisions/0023).
"""

import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adaptbert.base.files import atomic_write
from adaptbert.base.seeds import seed_of
from adaptbert.rows.scripts import CHINESE, KANA, MYANMAR_KHMER, THAI_LAO

MOST_WORDS = 2_000_000
"""Running words that vectors are trained on, shared equally by the corpora: about ten seconds on one core."""
DIMENSIONS, WINDOW, NEGATIVES, PASSES, MIN_FREQUENCY = 100, 5, 5, 5, 5
LONGEST = 10_000
"""Words of a document that gensim reads at once; it drops the rest without a word."""

_ALONE = CHINESE + KANA + THAI_LAO + MYANMAR_KHMER
_WORD = re.compile(rf"[{_ALONE}]|[^\W{_ALONE}]+")

Floats = NDArray[np.float32]


def words_of(text: str) -> list[str]:
    """Runs of letters and digits, in small letters; each character of a script without spaces by itself."""
    return _WORD.findall(text.lower())


class WordVectors:
    """A vector for each word.

    Args:
        words: each once.
        vectors: (words, dimensions).
    """

    def __init__(self, words: Sequence[str], vectors: Floats) -> None:
        self._place = {word: place for place, word in enumerate(words)}
        self._vectors = vectors

    def __len__(self) -> int:
        return len(self._place)

    @classmethod
    def trained_on(cls, documents: Sequence[Sequence[str]], seed: int) -> "WordVectors":
        """Equal documents and seeds give equal vectors, on one machine; none where no word is frequent enough.

        Args:
            documents: the words of each, as `words_of` gives them.
        """
        from gensim.models import Word2Vec

        logging.getLogger("gensim").setLevel(logging.ERROR)  # it reports its progress as information
        pieces = [words[place : place + LONGEST] for words in documents for place in range(0, len(words), LONGEST)]
        # Several workers would share the vectors without locks, so that no two runs were alike.
        model = Word2Vec(
            vector_size=DIMENSIONS,
            window=WINDOW,
            negative=NEGATIVES,
            min_count=MIN_FREQUENCY,
            seed=seed_of(seed) % 2**32,
            workers=1,
        )
        model.build_vocab(pieces)
        if not len(model.wv):
            return cls([], np.zeros((0, DIMENSIONS), np.float32))
        model.train(pieces, total_examples=len(pieces), epochs=PASSES)
        return cls(model.wv.index_to_key, model.wv.vectors)

    def mean(self, texts: Sequence[str]) -> Floats:
        """The mean vector of the words of each text, of length 1, (texts, dimensions); 0 for a text without a word that
        has a vector."""
        means = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
        for row, text in enumerate(texts):
            places = [self._place[word] for word in words_of(text) if word in self._place]
            if places:
                mean = self._vectors[places].mean(0)
                means[row] = mean / max(float(np.linalg.norm(mean)), np.finfo(np.float32).tiny)
        return means

    def features(self, columns: Sequence[Sequence[str]]) -> Floats:
        """Of one column of texts its means; of two both, their distances and products, as for pairs of sentences
        (Conneau et al. 2017, arXiv 1705.02364).

        Args:
            columns: (columns, rows).
        """
        means = [self.mean(column) for column in columns]
        if len(means) == 1:
            return means[0]
        first, second = means
        return np.hstack([first, second, np.abs(first - second), first * second])

    def write(self, path: Path) -> None:
        """As a Parquet table of words and vectors, the most frequent word first."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        vectors = pa.FixedSizeListArray.from_arrays(pa.array(self._vectors.reshape(-1)), self._vectors.shape[1])
        with atomic_write(path) as part:
            pq.write_table(pa.table({"word": pa.array(self._place, pa.string()), "vector": vectors}), part)

    @classmethod
    def read(cls, path: Path) -> "WordVectors":
        """What `write` has written."""
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        vectors = table["vector"].combine_chunks()
        values = vectors.flatten().to_numpy(zero_copy_only=False)
        return cls(table["word"].to_pylist(), values.reshape(-1, vectors.type.list_size))


def documents(corpora: Sequence[Path], most: int, seed: int) -> list[list[str]]:
    """The words of each document, of each corpus at most an equal share of `most`.

    A longer corpus is read in row groups of random order, so that not its beginning alone is read.

    Args:
        corpora: tables of validated rows.
    """
    share = most // max(1, len(corpora))
    return [words for path in corpora for words in _first(share, _documents(path, seed))]


def _first(most: int, documents: Iterator[list[str]]) -> Iterator[list[str]]:
    """Documents of so many words together; the last one is cut."""
    left = most
    for words in documents:
        yield words[:left]
        left -= len(words)
        if left <= 0:
            return


def _documents(path: Path, seed: int) -> Iterator[list[str]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        order = np.random.default_rng(seed_of(seed, path.stem)).permutation(file.num_row_groups)
        for group in order.tolist():
            for text in file.read_row_group(group, columns=["text"])["text"].to_pylist():
                yield words_of(text)
