"""Data sets by name and revision, with folders in place of the hub."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adaptbert.config.schema.sources import Source
from adaptbert.data.hub import HubDataset
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.readers.records import Row
from adaptbert.errors import BadData, BadParams, UserError
from tests.support.labelled_files import ANSWER, CLASS, LABELS, NUMBER, PAIR, SPANS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two splits of parquet, with named classes, a null and an unknown column."""
    names = datasets.ClassLabel(names=["neg", "pos"])
    features = datasets.Features({"body": datasets.Value("string"), "mood": names, "nr": datasets.Value("int64")})
    reviews = tmp_path / "reviews"
    reviews.mkdir()
    for split in ("train", "test"):
        rows = {"body": [f"{split} one", None, f"{split} three"], "mood": [0, 1, 1], "nr": [1, 2, 3]}
        datasets.Dataset.from_dict(rows, features=features).to_parquet(reviews / f"{split}-00000-of-00001.parquet")
    return reviews


def listing(tmp_path: Path, content: str) -> Path:
    path = tmp_path / "reviews.yaml"
    path.write_text(content, encoding="utf-8")
    return path


def train_of(folder: Path, columns: str = "") -> Path:
    """A listing of the train split of a folder."""
    folder.mkdir(exist_ok=True)
    return listing(folder.parent, f"name: {folder}\nsplit: train\n{columns}")


def load(path: Path, layout: Layout, split: str = "", **values: Any) -> tuple[list[Row], list[Row], HubDataset]:
    source = HubDataset(path, layout, Source.model_validate({"source": "hub", **values}), split)
    rows = list(source.rows())
    return [r for r in rows if r.problem is None], [r for r in rows if r.problem], source


def test_a_split_of_parquet_with_named_classes(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = listing(
        tmp_path, "name: reviews\nsplit: {train: train, test: test}\ncolumns: {text: body, label: mood, id: nr}\n"
    )
    rows, bad, source = load(path, CLASS, "test", replace=[["three", "3"]])
    assert rows == [
        Row("1", "reviews", 1, {"text": "test one", "label": "neg"}),
        Row("3", "reviews", 3, {"text": "test 3", "label": "pos"}),
    ]
    assert [(row.id, row.problem.code) for row in bad] == [("2", 41)]
    assert source.provenance() == {"dataset": {"name": "reviews", "split": {"train": "train", "test": "test"}}}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reviews", "reviews.yaml"]  # no cache beside it


def test_json_lines_and_ids_of_our_own(tmp_path: Path) -> None:
    path = train_of(tmp_path / "posts")
    (tmp_path / "posts" / "train.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n', encoding="utf-8")
    rows, _, _ = load(path, CORPUS)
    assert [(row.id, row.values["text"]) for row in rows] == [("posts-train-1", "one"), ("posts-train-2", "two")]


DECLARED = """---
dataset_info:
  features:
  - {name: text, dtype: string}
  - {name: label, dtype: string}
  - {name: score, dtype: float64}
---
"""


@pytest.mark.parametrize("card", ["", DECLARED])
def test_nothing_in_csv_is_converted(tmp_path: Path, card: str) -> None:
    """`NA` and `007` are text here as in a file, and a declared number is one."""
    path = train_of(tmp_path / "posts")
    content = "text,label,score\nnull,NA,1\nNone,007,0.5\n1e5,7,2\n,x,2\nlast,,\n"
    (tmp_path / "posts" / "train.csv").write_text(content, encoding="utf-8")
    (tmp_path / "posts" / "README.md").write_text(card, encoding="utf-8")
    rows, bad, _ = load(path, CLASS)
    expected = [("null", "NA"), ("None", "007"), ("1e5", "7"), ("", "x")]
    assert [(row.values["text"], row.values["label"]) for row in rows] == expected
    assert [(row.line, row.problem.code) for row in bad] == [(5, 62)]
    rows, bad, _ = load(train_of(tmp_path / "posts", "columns: {value: score}\n"), NUMBER)
    assert [row.values["value"] for row in rows] == [1, 0.5, 2, 2]
    assert [(row.line, row.problem.code) for row in bad] == [(5, 62)]


@pytest.mark.parametrize(
    ("layout", "read", "named", "hidden", "beyond"),
    [
        (CLASS, 1, "B-X", -1, 2),
        (LABELS, [1], ["B-X"], [-1], [0, 2]),
        (SPANS, [1], ["B-X"], [-1], [2]),
    ],
)
def test_numbers_of_classes(tmp_path: Path, layout: Layout, read: Any, named: Any, hidden: Any, beyond: Any) -> None:
    """-1 is how test sets of the hub hide their labels; a number without a name is an error of the set."""
    (given,), (label,) = layout.inputs, layout.outputs
    text, names = datasets.Value("string"), datasets.ClassLabel(names=["O", "B-X"])
    features = datasets.Features({
        given: datasets.List(text) if layout.is_tagged else text,
        label: datasets.List(names) if isinstance(read, list) else names,
    })  # fmt: skip
    path = train_of(tmp_path / "made")

    def load_rows(*labels: Any) -> tuple[list[Row], list[Row], HubDataset]:
        rows = [{given: ["a"] if layout.is_tagged else "a", label: each} for each in labels]
        plain = pa.Table.from_pylist(rows, features.arrow_schema)  # `datasets` itself would reject them
        pq.write_table(plain, tmp_path / "made/train.parquet")
        return load(path, layout)

    rows, bad, _ = load_rows(read, hidden)
    assert [(row.line, row.values[label]) for row in rows] == [(1, named)]
    assert [(row.line, row.problem) for row in bad] == [(2, (62, "label missing"))]
    with pytest.raises(BadData, match=r"AB-059 .*made\[2\]: label 2, and the data set names 2 classes"):
        load_rows(read, beyond)


def test_questions_multi_label_rows_and_pairs(tmp_path: Path) -> None:
    """The features that such sets have on the hub."""
    answers = datasets.Features({"text": datasets.List(datasets.Value("string")),
                                 "answer_start": datasets.List(datasets.Value("int32"))})  # fmt: skip
    topics = datasets.List(datasets.ClassLabel(names=["art", "law"]))
    text, number = datasets.Value("string"), datasets.Value("float32")
    kinds = {"context": text, "question": text, "answers": answers, "topics": topics, "score": number}
    features = datasets.Features(kinds)
    path = train_of(tmp_path / "made")
    record = {"context": "The cat sat", "question": "who?", "answers": {"text": ["cat"], "answer_start": [4]},
              "topics": [1, 0], "score": 0.5}  # fmt: skip
    datasets.Dataset.from_list([record], features=features).to_parquet(tmp_path / "made/train.parquet")
    (row,), _, _ = load(path, ANSWER)
    assert row.values["answers"] == [{"text": "cat", "start": 4}]
    columns = "columns: {text: context, labels: topics}\n"
    (row,), _, _ = load(train_of(tmp_path / "made", columns), LABELS)
    assert row.values == {"text": "The cat sat", "labels": ["art", "law"]}
    columns = "columns: {text_a: context, text_b: question, value: score}\n"
    (row,), _, _ = load(train_of(tmp_path / "made", columns), PAIR)
    assert row.values == {"text_a": "The cat sat", "text_b": "who?", "value": 0.5}


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        ("name: {folder}\nsplit: train\nrevison: x\n", BadParams, "AB-099 .*revison.*did you mean 'revision'"),
        ("name: {folder}\nsplit: train\ncolumns: {{txt: body}}\n", BadParams, "AB-099 .*'txt' is not a field"),
        ("name: {folder}\n", BadParams, "AB-099 .*split"),
        ("name: org/elsewhere\nsplit: train\n", BadParams, "AB-099 .*revision: is missing\n  pin a commit"),
        ("name: {folder}\nsplit: {{train: train}}\n", BadParams, "AB-099 .*names no 'dev'"),
        ("name: {folder}\nsplit: validation\ncolumns: {{text: body, label: mood}}\n", BadData, "AB-050 .*split"),
        (
            "name: {folder}\nsplit: train\ncolumns: {{label: mood}}\n",
            BadData,
            "AB-056 .*column 'text' missing; found body, mood, nr",
        ),
        ("name: org/elsewhere\nrevision: abc\nsplit: train\n", UserError, "AB-156 .*the hub does not answer"),
    ],
)
def test_what_cannot_be_loaded(tmp_path: Path, folder: Path, content: str, error: type[UserError], words: str) -> None:
    with pytest.raises(error, match=words) as raised:
        load(listing(tmp_path, content.format(folder=folder)), CLASS, "dev")
    assert str(raised.value).count("\n") == 1
    assert raised.value.exit_code == {"AB-156": 75}.get(words[:6], 78 if error is BadParams else 65)


def damaged_inside() -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table({"text": [f"row {n}" for n in range(1000)]}), stream)
    content = stream.getvalue()
    return content[:4] + bytes(36) + content[40:]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("train.jsonl", b'{"text": "a"}\n{"text": "b"\n', 44),
        ("train.jsonl", b"", 17),
        ("train.csv", b'text\n"a\nb\n', 96),
        ("train.csv", b"text\na\nb,c\n", 96),
        ("train.csv", b"text\ncaf\xe9\n", 1),
        ("train.parquet", b"PAR1", 38),
        ("train.parquet", damaged_inside(), 38),
    ],
)
def test_a_damaged_file(tmp_path: Path, name: str, content: bytes, code: int) -> None:
    path = train_of(tmp_path / "posts")
    (tmp_path / "posts" / name).write_bytes(content)
    with pytest.raises(BadData, match=f"AB-{code:03d} .*a file of ") as raised:
        load(path, CORPUS)
    assert str(raised.value).count("\n") == 1


def test_a_network_that_goes_away_between_two_rows(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = listing(tmp_path, f"name: {folder}\nsplit: train\ncolumns: {{text: body}}\n")
    dataset = HubDataset(path, CORPUS, Source(source="hub"))

    class Stream:
        features: ClassVar = {"body": None}

        def __iter__(self) -> Iterator[dict[str, str]]:
            yield {"body": "one row"}
            raise ConnectionError("Server Disconnected")

    monkeypatch.setattr(dataset, "_load", Stream)
    rows = dataset.rows()
    assert next(rows)
    with pytest.raises(UserError, match=r"AB-156 .*the hub does not answer") as raised:
        next(rows)
    assert raised.value.exit_code == 75
