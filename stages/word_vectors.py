"""Word vectors: all validated corpora -> a vector for each word, which baselines of `compare` read.

dvc repro word_vectors
"""

import logging
from pathlib import Path

from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run


def word_vectors(*, seed: int, corpora: Path, out: Path, run: Run) -> None:
    """Train static word vectors on all corpora."""
    from adaptbert.comparison.evaluation.word_vectors import MOST_WORDS, WordVectors, documents

    texts = documents(sorted(corpora.glob("*.parquet")), MOST_WORDS, seed)
    vectors = WordVectors.trained_on(texts, seed)
    vectors.write(out)
    read = sum(map(len, texts))
    logging.info(f"word vectors: {len(vectors):,} words, trained on {read:,} running words")
    run.log_metrics({"words": len(vectors), "running_words": read}, step=0)


STAGE = Stage(word_vectors)

if __name__ == "__main__":
    STAGE.run()
