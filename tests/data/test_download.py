"""Data sets of the hub as files, with folders in place of the hub."""

import io
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adaptbert.data.download import download
from adaptbert.errors import BadData, UserError
from tests.support import commands
from tests.support.reading import ANSWER, CLASS, LABELS, read, texts, write


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two splits with named classes, alone and in lists, answers and a null."""
    text, names = datasets.Value("string"), datasets.ClassLabel(names=["neg", "pos"])
    answers = {"text": datasets.List(text), "answer_start": datasets.List(datasets.Value("int32"))}
    kinds = {"text": text, "label": names, "labels": datasets.List(names), "question": text, "answers": answers}
    (tmp_path / "reviews").mkdir()
    for split in ("train", "test"):
        rows = [
            {"text": f"{split} one", "label": 0, "labels": [1, 0], "question": "who?",
             "answers": {"text": ["one"], "answer_start": [len(split) + 1]}},
            {"text": None, "label": 1, "labels": [], "question": "?", "answers": {"text": [], "answer_start": []}},
        ]  # fmt: skip
        rows.append({**rows[0], "text": f"{split} -1", "label": -1})
        written = datasets.Dataset.from_list(rows, features=datasets.Features(kinds))
        written.to_parquet(tmp_path / f"reviews/{split}-00000-of-00001.parquet")
    return tmp_path / "reviews"


def test_a_set_that_is_read_by_a_script(tmp_path: Path) -> None:
    """It is not run."""
    (tmp_path / "old").mkdir()
    (tmp_path / "old/old.py").write_text("raise SystemExit(1)\n")
    with pytest.raises(
        BadData, match=r"AB-050 .*old: it is read by a script of its authors, and no such code is run\n"
    ):
        download(str(tmp_path / "old"), None, None, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_files_are_read_like_any_others(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out"
    download(str(source), None, None, out)
    rows, bad, _ = read(out / "test.parquet", CLASS, "test")
    assert [row.values for row in rows] == [{"text": "test one", "label": "neg"}]
    assert [(row.line, row.problem and row.problem.code) for row in bad] == [(2, 41), (3, 62)], "-1 is a hidden label"
    rows, _, _ = read(out / "train.parquet", LABELS, "train")
    assert rows[0].values["labels"] == ["neg", "pos"]
    (row, *_), _, _ = read(out / "train.parquet", ANSWER, "train", columns={"context": "text"})
    assert row.values["answers"] == [{"text": "one", "start": 6}]
    assert texts(out) == ["test one", "test -1", "train one", "train -1"], "as a folder"
    download(str(source), None, None, tmp_path / "again")
    assert (tmp_path / "again/train.parquet").read_bytes() == (out / "train.parquet").read_bytes()


def test_the_numbers_of_classes_without_names_stay(tmp_path: Path) -> None:
    kinds = datasets.Features({"label": datasets.ClassLabel(names=[])}).arrow_schema
    write(tmp_path / "posts/train.parquet", parquet(pa.Table.from_pylist([{"label": 7}], kinds)))
    download(str(tmp_path / "posts"), None, None, tmp_path / "out")
    assert pq.read_table(tmp_path / "out/train.parquet").to_pylist() == [{"label": 7}]


@pytest.mark.parametrize(
    ("name", "config", "code", "words"),
    [
        ("org/elsewhere", None, 75, "AB-156 org/elsewhere: the hub does not answer"),
        ("reviews", "french", 65, "AB-050 reviews: BuilderConfig 'french' not found.*\n  check --config"),
    ],
)
def test_what_cannot_be_downloaded(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, name: str, config: str | None, code: int, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=words) as raised:
        download(name, None, config, Path("out"))
    assert raised.value.exit_code == code
    assert {path.name for path in tmp_path.iterdir()} == {source.name}


def test_a_data_set_that_is_not_there_or_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: Any, **__: Any) -> None:
        raise datasets.exceptions.DatasetNotFoundError("Dataset 'org/name' is a gated dataset")

    monkeypatch.setattr(datasets, "load_dataset_builder", load)
    with pytest.raises(BadData, match=r"AB-050 org/name: no such data set or revision .*private or gated\n.*hf auth"):
        download("org/name", None, None, tmp_path / "out")


def parquet(rows: pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(rows, stream)
    return stream.getvalue()


CLASSES = datasets.Features({"label": datasets.ClassLabel(names=["O", "B-X"])}).arrow_schema
ROWS = parquet(pa.table({"text": [f"row {n}" for n in range(1000)]}))
DAMAGED = "038 .*posts: a file of it cannot be read"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train.jsonl", b'{"text": "a"}\n{"text": "secret"\n', DAMAGED),
        ("train.jsonl", b"", DAMAGED),
        ("train.parquet", b"PAR1", DAMAGED),
        ("train.parquet", ROWS[:4] + bytes(36) + ROWS[40:], DAMAGED),
        (
            "train.parquet", parquet(pa.Table.from_pylist([{"label": 2}], CLASSES)),
            "059 .*posts: train: label 2, and the data set names 2 classes",
        ),
        (  # `datasets` would make a null of `NA`, and 7 of `007`
            "train.csv", b"text,label\nnull,NA\nNone,007\n",
            r"050 .*posts: its files are CSV.*\n.*hf download .*posts --repo-type dataset",
        ),
    ],
)  # fmt: skip
def test_files_that_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    write(tmp_path / "posts" / name, content)
    with pytest.raises(BadData, match=f"AB-{message}") as raised:
        download(str(tmp_path / "posts"), None, None, tmp_path / "out")
    assert "secret" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_the_command_says_the_lines_and_overwrites_nothing(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = commands.run("download", str(source), "--out", "mine")
    assert done.exit_code == 0, done.output
    assert "mine: {path: mine/train.parquet, columns: {text: COLUMN}}" in done.stdout
    assert "adaptbert add-task --train mine/train.parquet --test mine/test.parquet" in done.stdout
    done = commands.run("download", str(source), "--out", "mine")
    assert (done.exit_code, "AB-197 mine: is there already" in done.stderr) == (65, True)
