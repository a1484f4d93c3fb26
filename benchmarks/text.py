"""Generated text: lines as long as posts, of words as frequent as words are, any number of them in flat memory."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from adaptbert.config.schema.text import Vocabulary
from adaptbert.text.tokenizer import Tokenizer

WORDS = 30_000
BLOCK = 10_000  # lines drawn at once


def lines(count: int) -> Iterator[str]:
    """The first lines are the same for every count. On average about 18 words or 110 characters."""
    draw = np.random.default_rng(0)
    letters = draw.choice(list("etaoinshrdlucmfwypvbgkqjxz"), (WORDS, 11), p=_rates(26, 0.5))
    words = np.array(["".join(row[: 1 + draw.binomial(10, 0.42)]) for row in letters])
    for first in range(0, count, BLOCK):
        sizes = np.clip(draw.lognormal(2.7, 0.62, BLOCK), 2, 100).astype(np.int64)
        drawn = words[draw.choice(WORDS, sizes.sum(), p=_rates(WORDS, 1.0))].tolist()
        ends = np.cumsum(sizes).tolist()
        for start, end in list(zip([0, *ends], ends, strict=False))[: count - first]:
            yield " ".join(drawn[start:end]) + "."


def _rates(count: int, exponent: float) -> NDArray[np.float64]:
    """The rates of the first, the second, ... word by Zipf's law."""
    rates = np.arange(1, count + 1) ** -exponent
    shares: NDArray[np.float64] = rates / rates.sum()
    return shares


def table(path: Path, count: int) -> None:
    """Lines as after validation: id and text, a thousand rows a group."""
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([("id", pa.string()), ("text", pa.string())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        rows: list[dict[str, str]] = []
        for number, line in enumerate(lines(count), 1):
            rows.append({"id": f"line-{number}", "text": line})
            if len(rows) == 1_000 or number == count:
                writer.write_table(pa.Table.from_pylist(rows, schema))
                rows = []


def tokenizer() -> Tokenizer:
    """A tokenizer of 8,000 subword tokens, trained on the first lines."""
    texts = list(lines(20_000))
    return Tokenizer.train(lambda: texts, Vocabulary(vocabulary_size=8_000, lowercase=True, min_frequency=2))
