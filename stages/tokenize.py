"""Tokenising: validated corpora and task texts -> flat token arrays for training, and the held-out sets of a base.

Words are segmented here once (adaptbert.text.words) and stored beside the tokens.

data/tokenized/corpora/<corpus>   what a corpus trains on
data/tokenized/tasks/<task>       the texts of a task's training split, for task transfer
data/tokenized/heldout/<name>     the held-out share of a corpus; the dev texts of a task
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.text import Tokenize
from adaptbert.core.files import atomic_write, write_json
from adaptbert.data.parquet import texts
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.worker_pool import workers
from adaptbert.stage import run_stage
from adaptbert.text.token_writer import is_heldout, unknown_notices, write
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.text.words import Segmenter


def tokenize(
    params: Tokenize, *, base: str, weights: Base, validated: Path, tokenizer: Path, out: Path, metrics: Path, run: Run
) -> None:
    # adaptbert.runtime.worker_pool uses processes; threads within each would compete for the same cores.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    vocabulary, segmenter = Tokenizer.load(tokenizer), Segmenter.load(params.words, Path(params.words.dictionary))
    facts: dict[str, dict[str, Any]] = {}

    def store(folder: Path, rows: Iterator[tuple[str, str]]) -> None:
        counts = write(folder, rows, vocabulary, params.max_length, workers(), segmenter)
        facts[f"{folder.parent.name}/{folder.name}"] = counts
        print(f"  {folder.parent.name}/{folder.name}: {counts['documents']:,} documents, {counts['tokens']:,} tokens")

    with atomic_write(out) as part:
        for path in sorted((validated / "corpora").glob("*.parquet")):
            for kind, heldout in (("corpora", False), ("heldout", True)):
                chosen = (row for row in texts(path) if is_heldout(row[0], params.heldout_fraction) is heldout)
                store(part / kind / path.stem, chosen)
        for folder in sorted(path for path in (validated / "tasks").iterdir() if path.is_dir()):
            store(part / "tasks" / folder.name, texts(folder / "train.parquet"))
            store(part / "heldout" / folder.name, texts(folder / "dev.parquet"))
        for notice in unknown_notices({name: counts["unknown_rate"] for name, counts in facts.items()}, weights):
            print(f"  notice: {notice}")

    write_json(metrics, facts)
    for name, counts in facts.items():
        run.log_input(name, counts["digest"], "tokenize")
        shown = {key: counts[key] for key in ("documents", "tokens", "unknown_rate")}
        shown["segmentation/misaligned"] = counts["segmentation"]["misaligned"]
        run.log_metrics({f"{name}/{key}": value for key, value in shown.items()})


if __name__ == "__main__":
    run_stage(tokenize)
