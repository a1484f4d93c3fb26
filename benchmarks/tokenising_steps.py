"""The two ways of tokenising that `benchmarks.tokenising` compares, in processes that import no more than they need.

    python -m benchmarks.tokenising_steps ours|stock FOLDER PROCESSES

FOLDER has text.parquet and tokenizer/. Seconds, processor seconds and bytes written are printed as JSON.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adaptbert.data.parquet import texts
from adaptbert.text.token_writer import write
from adaptbert.text.tokenizer import Tokenizer

MAX_LENGTH = 128


def clocks() -> tuple[float, float]:
    """Wall clock; processor time of this process and those that it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(usage.ru_utime + usage.ru_stime for usage in usages)


def ours(folder: Path, processes: int) -> Callable[[], int]:
    tokenizer = Tokenizer.load(folder / "tokenizer")

    def run() -> int:
        write(folder / "ours", texts(folder / "text.parquet"), tokenizer, MAX_LENGTH, processes)
        return sum(path.stat().st_size for path in (folder / "ours").iterdir())

    return run


def stock(folder: Path, processes: int) -> Callable[[], int]:
    import datasets
    from transformers import AutoTokenizer

    datasets.disable_progress_bars()
    loaded = AutoTokenizer.from_pretrained(str(folder / "tokenizer"))
    rows = datasets.load_dataset("parquet", data_files=str(folder / "text.parquet"), cache_dir=str(folder / "cache"))
    before = set((folder / "cache").rglob("*.arrow"))

    def tokenise(examples: dict[str, list[str]]) -> Any:
        examples["text"] = [line for line in examples["text"] if len(line) > 0 and not line.isspace()]
        return loaded(
            examples["text"], padding=False, truncation=True, max_length=MAX_LENGTH, return_special_tokens_mask=True
        )

    def run() -> int:
        rows.map(
            tokenise,
            batched=True,
            num_proc=processes or None,
            remove_columns=["id", "text"],
            load_from_cache_file=False,
        )
        made = set((folder / "cache").rglob("*.arrow")) - before
        size = sum(path.stat().st_size for path in made)
        for path in made:
            path.unlink()
        return size

    return run


WAYS = {"ours": ours, "stock": stock}


def main() -> None:
    way, folder, processes = sys.argv[1:]
    run = WAYS[way](Path(folder), int(processes))
    began, cpu_began = clocks()
    size = run()
    ended, cpu_ended = clocks()
    print(json.dumps({"seconds": ended - began, "cpu_seconds": cpu_ended - cpu_began, "bytes": size}))


if __name__ == "__main__":
    main()
