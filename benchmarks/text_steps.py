"""Steps that `benchmarks.scale` and `benchmarks.tokenising` measure, each in a process of its own that imports no more
than the steps need.

    python -m benchmarks.text_steps tokenise|read|ours|stock FOLDER [PROCESSES]

FOLDER has text.parquet and tokenizer/. What was measured is printed as JSON.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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

Measured = dict[str, float]

# ---- of benchmarks.scale


def tokenise(folder: Path) -> Measured:
    """What the stage `tokenize` does with a corpus, held-out texts apart; writes tokenized/."""
    tokenizer = Tokenizer.load(folder / "tokenizer")
    began = time.perf_counter()
    rows = (row for row in texts(folder / "text.parquet") if not is_heldout(row[0], HELD_OUT))
    facts = write(folder / "tokenized", rows, tokenizer, MAX_LENGTH, workers())
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "texts": facts["texts"], "tokens": facts["tokens"], "workers": workers()}


def read(folder: Path) -> Measured:
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


# ---- of benchmarks.tokenising


def ours(folder: Path, processes: int) -> Measured:
    tokenizer, target = Tokenizer.load(folder / "tokenizer"), folder / "ours"
    return timed(
        lambda: write(target, texts(folder / "text.parquet"), tokenizer, MAX_LENGTH, processes),
        lambda: [*target.iterdir()],
    )


def stock(folder: Path, processes: int) -> Measured:
    import datasets
    from transformers import AutoTokenizer

    datasets.disable_progress_bars()
    loaded, cache = AutoTokenizer.from_pretrained(str(folder / "tokenizer")), folder / "cache"
    rows = datasets.load_dataset("parquet", data_files=str(folder / "text.parquet"), cache_dir=str(cache))
    before = set(cache.rglob("*.arrow"))

    def tokenised(examples: dict[str, list[str]]) -> Any:
        lines = [line for line in examples["text"] if len(line) > 0 and not line.isspace()]
        return loaded(lines, padding=False, truncation=True, max_length=MAX_LENGTH, return_special_tokens_mask=True)

    def made() -> list[Path]:
        return [path for path in cache.rglob("*.arrow") if path not in before]

    how = {"batched": True, "num_proc": processes or None, "load_from_cache_file": False}
    measured = timed(lambda: rows.map(tokenised, remove_columns=["id", "text"], **how), made)
    for path in made():
        path.unlink()
    return measured


def timed(run: Callable[[], object], made: Callable[[], list[Path]]) -> Measured:
    """Seconds, processor seconds and the bytes of what was made."""
    began, cpu_began = clocks()
    run()
    ended, cpu_ended = clocks()
    size = sum(path.stat().st_size for path in made())
    return {"seconds": ended - began, "cpu_seconds": cpu_ended - cpu_began, "bytes": size}


def clocks() -> tuple[float, float]:
    """Wall clock; processor time of this process and those that it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(usage.ru_utime + usage.ru_stime for usage in usages)


SCALED: dict[str, Callable[..., Measured]] = {"tokenise": tokenise, "read": read}
WAYS: dict[str, Callable[..., Measured]] = {"ours": ours, "stock": stock}


def main() -> None:
    step, folder, *processes = sys.argv[1:]
    print(json.dumps((SCALED | WAYS)[step](Path(folder), *map(int, processes))))


if __name__ == "__main__":
    main()
