"""Tokenising: validated corpora and task texts -> flat token arrays for training, and the held-out sets of every rung.

Words are found here once, see adaptbert.tokenization.word_segmentation, and lie beside the tokens.

data/tokenized/corpora/<corpus>   what a corpus trains on
data/tokenized/tasks/<task>       the texts of a task's training split, for task transfer
data/tokenized/heldout/<name>     the held-out share of a corpus; the dev texts of a task
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptbert.base.files import atomic_write, write_json
from adaptbert.rows.parquet import texts
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run
from adaptbert.runtime.worker_pool import workers
from adaptbert.tokenization.corpus_writer import write
from adaptbert.tokenization.documents import DocumentConfig, is_heldout
from adaptbert.tokenization.store.tokenizer import Tokenizer
from adaptbert.tokenization.word_segmentation import Segmenter


class TokenizeParams(DocumentConfig):
    """How texts become documents, and which are held out."""


def tokenize(
    params: TokenizeParams,
    *,
    validated: Path,
    tokenizer: Path,
    dictionary: Path,
    out: Path,
    metrics: Path,
    run: Run,
) -> None:
    """Tokenise every corpus and every task's text once, for all rungs."""
    # Work is shared among processes, see adaptbert.runtime.worker_pool; threads within each would only be in the way.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    pieces, segmenter = Tokenizer.load(tokenizer), Segmenter.load(params.words, dictionary)
    facts: dict[str, dict[str, Any]] = {}

    def store(folder: Path, name: str, rows: Iterator[tuple[str, str]]) -> None:
        made = write(folder, name, rows, pieces, params.max_length, workers(), segmenter)
        facts[f"{folder.parent.name}/{name}"] = made
        print(f"  {folder.parent.name}/{name}: {made['documents']:,} documents, {made['tokens']:,} tokens")

    with atomic_write(out) as part:
        for path in sorted((validated / "corpora").glob("*.parquet")):
            for kind, wanted in (("corpora", False), ("heldout", True)):
                chosen = (row for row in texts(path) if is_heldout(row[0], params.heldout_fraction) is wanted)
                store(part / kind / path.stem, path.stem, chosen)
        for folder in sorted(path for path in (validated / "tasks").iterdir() if path.is_dir()):
            store(part / "tasks" / folder.name, folder.name, texts(folder / "train.parquet"))
            store(part / "heldout" / folder.name, folder.name, texts(folder / "dev.parquet"))

    write_json(metrics, facts)
    for name, made in facts.items():
        run.log_input(name, made["digest"], "tokenize")
        run.log_metrics({f"{name}/{key}": made[key] for key in ("documents", "tokens", "unknown_rate")})
        run.log_metrics({f"{name}/segmentation/misaligned": made["segmentation"]["misaligned"]})


STAGE = Stage(tokenize)

if __name__ == "__main__":
    STAGE.run()
