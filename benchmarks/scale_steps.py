"""The steps that `benchmarks.scale` measures, each in a process of its own that imports no more than the step needs.

    python -m benchmarks.scale_steps tokenise|read FOLDER

FOLDER has text.parquet and tokenizer/; `tokenise` writes tokenized/. What was measured is printed as JSON.
"""

import json
import sys
import time
from pathlib import Path

from adaptbert.data.parquet import texts
from adaptbert.runtime.worker_pool import workers
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.token_writer import is_heldout, write
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.training.document_stream import DocumentStream

BATCH_TOKENS = 1024
BATCHES = 2_000
MAX_LENGTH = 128
HELD_OUT = 0.02


def tokenise(folder: Path) -> dict[str, float]:
    """What the stage `tokenize` does with a corpus, held-out texts apart."""
    tokenizer = Tokenizer.load(folder / "tokenizer")
    began = time.perf_counter()
    rows = (row for row in texts(folder / "text.parquet") if not is_heldout(row[0], HELD_OUT))
    facts = write(folder / "tokenized", rows, tokenizer, MAX_LENGTH, workers())
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "texts": facts["texts"], "tokens": facts["tokens"], "workers": workers()}


def read(folder: Path) -> dict[str, float]:
    """Micro-batches from everywhere in the order of training."""
    began = time.perf_counter()
    corpus = TokenizedCorpus.load(folder / "tokenized")
    stream = DocumentStream(corpus.lengths, 1, BATCH_TOKENS)
    corpus.read(stream.batch(0)[0])
    opened = time.perf_counter()
    tokens = sum(len(corpus.read(stream.batch(k)[0]).ids) for k in range(1, BATCHES + 1))
    read = time.perf_counter()
    return {
        "seconds_to_first_batch": opened - began,
        "microseconds_per_batch": (read - opened) / BATCHES * 1e6,
        "tokens_per_second": tokens / (read - opened),
    }


if __name__ == "__main__":
    step = {"tokenise": tokenise, "read": read}[sys.argv[1]]
    print(json.dumps(step(Path(sys.argv[2]))))
