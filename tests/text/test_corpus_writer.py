"""The bytes that are written depend on nothing but ids, texts and tokenizer, and memory does not grow with the text."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adaptbert.config.schema.sources import Corpus
from adaptbert.data.collect import collect_corpus
from adaptbert.data.parquet import texts
from adaptbert.text import corpus_writer
from adaptbert.text.corpus_writer import write
from tests.support import tiny
from tests.support.imports import ROOT


def test_any_number_of_workers_and_any_batches_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*tiny.rows("general", 300), ("empty", ""), ("long", " ".join(tiny.sentences("domain", 50)))]
    write(tmp_path / "plain" / "text", rows, tiny.tokenizer(), 24)
    expected = tiny.folder_bytes(tmp_path / "plain")
    for limit, value in (("BATCH_TEXTS", 7), ("BATCH_TEXTS", 1), ("BATCH_CHARACTERS", 900)):
        with monkeypatch.context() as batches:
            batches.setattr(corpus_writer, limit, value)
            for workers in (0, 1, 3):
                write(tmp_path / "again" / "text", rows, tiny.tokenizer(), 24, workers)
                assert tiny.folder_bytes(tmp_path / "again") == expected


def one_file(folder: Path, rows: list[dict[str, str]]) -> Path:
    (folder / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder / "all.jsonl"


def files_of_many_kinds(folder: Path, rows: list[dict[str, str]]) -> Path:
    (folder / "parts").mkdir()
    with gzip.open(folder / "parts/1.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows[:7])
    pq.write_table(pa.Table.from_pylist(rows[7:90]), folder / "parts/2.parquet", row_group_size=10)
    one_file(folder / "parts", rows[90:]).rename(folder / "parts/3.jsonl")
    return folder / "parts"


def a_file_each(folder: Path, rows: list[dict[str, str]]) -> Path:
    (folder / "single").mkdir()
    for number, row in enumerate(rows):
        one_file(folder / "single", [row]).rename(folder / f"single/{number:03}.jsonl")
    return folder / "single"


def test_any_layout_of_files_gives_the_same_bytes(tmp_path: Path) -> None:
    """Where rows have ids of their own; else they are named after their file, and ids decide who is held out."""
    rows = [{"id": text_id, "text": text} for text_id, text in tiny.rows("general", 120)]
    layouts: list[Callable[[Path, list[dict[str, str]]], Path]] = [one_file, files_of_many_kinds, a_file_each]
    contents = []
    for layout in layouts:
        corpus = Corpus(path=str(layout(tmp_path, rows)), columns={"id": "id"})
        raw = tmp_path / f"raw-{layout.__name__}"
        raw.mkdir()
        collect_corpus(corpus, raw)
        write(tmp_path / "tokenized" / "general", texts(raw / "text.parquet"), tiny.tokenizer(), 32)
        contents.append(tiny.folder_bytes(tmp_path / "tokenized"))
    assert contents[0] == contents[1] == contents[2]


MEMORY = """
import random, resource, sys
from pathlib import Path
from adaptbert.text.corpus_writer import write
from tests.support import tiny

def rows(count):
    draw = random.Random(count)
    for number in range(count):
        yield str(number), " ".join(draw.choices(tiny.WORDS["general"], k=16))

if __name__ == "__main__":
    pieces = tiny.tokenizer()
    for count in (20_000, 20_000, 80_000):
        write(Path(sys.argv[1]) / "text", rows(count), pieces, 64, int(sys.argv[2]))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.parametrize("workers", [0, 2])
def test_memory_does_not_grow_with_the_text(tmp_path: Path, workers: int) -> None:
    """60,000 lines more, as text or as tokens, would take more than 3 MB; two numbers a document, as a list, 4 MB.

    Of the process that reads and writes: a worker has one batch at a time.
    """
    (tmp_path / "program.py").write_text(MEMORY)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), str(tmp_path / "out"), str(workers)],
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
        capture_output=True,
        text=True,
        check=True,
    )
    _, small, large = (int(kilobytes) for kilobytes in done.stdout.split())
    assert large - small < 3 * 1024
