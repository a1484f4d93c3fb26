"""Tokenising and masking beside what the stock example does: seconds, processor seconds and bytes on disk, as ratios.

Tokenising: generated lines, the same tokenizer, the same number of processes. The peer is `datasets.Dataset.map` as
transformers' run_mlm calls it line by line (batched, truncated, special tokens marked), without its loading of the
text, which ours includes. Each in a process of its own, in turn.

Masking: `Masker.mask` on flat documents beside DataCollatorForLanguageModeling on lists of ids, 32 documents a batch,
once for tokens and once for whole words. The collator needs offsets for words; they are padded for it beforehand.

    python -m benchmarks.tokenising [--lines 200000] [--rounds 5] [--processes 2]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from adaptbert.config.schema.mlm import Masking
from adaptbert.mlm.masking import Masker
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.tokenizer import Tokenizer
from benchmarks.machine import keep
from benchmarks.rounds import ratios_of
from benchmarks.text import table, tokenizer
from benchmarks.text_steps import WAYS

DOCUMENTS = 32  # a batch
BATCHES = 200


def tokenising(folder: Path, rounds: int, processes: int) -> dict[str, Any]:
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in WAYS}
    for _ in range(rounds):
        for name in WAYS:
            command = [sys.executable, "-m", "benchmarks.text_steps", name, str(folder), str(processes)]
            done = subprocess.run(
                command,
                env=os.environ | {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            measured[name].append(json.loads(done.stdout))
    medians = {
        name: {key: round(statistics.median(each[key] for each in runs), 3) for key in runs[0]}
        for name, runs in measured.items()
    }
    ratios = {
        key: ratios_of([each[key] for each in measured["stock"]], [each[key] for each in measured["ours"]])
        for key in ("seconds", "cpu_seconds", "bytes")
    }
    return {**medians, "stock to ours": ratios}


def masking(folder: Path, rounds: int) -> dict[str, Any]:
    """Tokens a second of either, padding not counted."""
    from transformers import AutoTokenizer, DataCollatorForLanguageModeling

    warnings.filterwarnings("ignore", message="Random token replacement is not supported")
    our_tokenizer = Tokenizer.load(folder / "tokenizer")
    loaded = AutoTokenizer.from_pretrained(str(folder / "tokenizer"))
    corpus = TokenizedCorpus.load(folder / "ours")
    numbers = np.random.default_rng(0).permutation(len(corpus.lengths))[: DOCUMENTS * BATCHES].reshape(-1, DOCUMENTS)
    flats = [corpus.read(batch) for batch in numbers]
    passes = np.zeros(DOCUMENTS, np.int64)
    table: dict[str, Any] = {}
    for unit in ("token", "word"):
        config = Masking(unit=unit, probability=0.15, mask_share=0.8, random_share=0.1, keep_share=0.1)
        masker = Masker(config, 0, our_tokenizer)
        collator = DataCollatorForLanguageModeling(loaded, whole_word_mask=unit == "word", mlm_probability=0.15)
        speeds: dict[str, list[float]] = {name: [] for name in WAYS}
        for _ in range(rounds):
            tokens = sum(len(flat.ids) for flat in flats)
            began = time.perf_counter()
            for batch, flat in zip(numbers, flats, strict=True):
                masker.mask(flat, batch, passes)
            speeds["ours"].append(tokens / (time.perf_counter() - began))
            batches = [examples(flat.ids, flat.word_starts, flat.lengths, unit == "word") for flat in flats]
            began = time.perf_counter()
            for batch_of_examples in batches:
                collator(batch_of_examples)
            speeds["stock"].append(tokens / (time.perf_counter() - began))
        table[unit] = {
            "tokens_per_second": {name: round(statistics.median(rates)) for name, rates in speeds.items()},
            "ours to stock": ratios_of(speeds["ours"], speeds["stock"]),
        }
    return table


def examples(ids: np.ndarray, word_starts: np.ndarray, lengths: np.ndarray, offsets: bool) -> list[dict[str, Any]]:
    """Rows as `map` leaves them; two tokens are one word where the second begins at the end of the first."""
    rows = []
    width = int(lengths.max())
    for document, starts in zip(*(np.split(each, np.cumsum(lengths)[:-1]) for each in (ids, word_starts)), strict=True):
        special = [1, *[0] * (len(document) - 2), 1]
        row: dict[str, Any] = {"input_ids": document.tolist(), "special_tokens_mask": special}
        if offsets:
            begins = np.cumsum(1 + starts).tolist()
            row["offset_mapping"] = [(begin, begin + 1) for begin in begins] + [(0, 0)] * (width - len(begins))
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--name", default="tokenising")
    parser.add_argument("--folder", type=Path, help="where text and tokens lie meanwhile; by default a temporary one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as temporary:
        folder = Path(temporary)
        tokenizer().save(folder / "tokenizer")
        table(folder / "text.parquet", arguments.lines)
        results = {
            "tokenising": tokenising(folder, arguments.rounds, arguments.processes),
            "masking": masking(folder, arguments.rounds),
        }
    print(json.dumps(results, indent=2))
    how = {"lines": arguments.lines, "rounds": arguments.rounds, "processes": arguments.processes}
    keep(arguments.name, {**how, **results})


if __name__ == "__main__":
    main()
