"""Reading the user's own files: formats, columns, labelled sets, and the raw folder they are written to."""

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from adaptbert.config.schema.sources import Source
from adaptbert.data.labelled_source import LabelledSource
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.user_files import Files
from adaptbert.errors import BadData, Several
from tests.support.labelled_files import ANSWER, CLASS, PAIR, SPANS
from tests.support.reading import MANY, collect, config, parquet, read, texts, write

# --- formats


def test_every_format_gives_the_same_texts(tmp_path: Path) -> None:
    expected = ["one, two", 'say "x"', "三"]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in expected)
    paths = [
        write(tmp_path / "a.txt", "\n".join(expected)),
        write(tmp_path / "a.csv", 'text,n\n"one, two",1\n"say ""x""",2\n三,3\n'),
        write(tmp_path / "a.tsv", 'n\ttext\n1\tone, two\n2\tsay "x"\n3\t三\n'),
        write(tmp_path / "a.jsonl", lines),
        write(tmp_path / "a.json", lines),
        write(tmp_path / "a.jsonl.gz", gzip.compress(lines.encode())),
        parquet(tmp_path / "a.parquet", text=expected, n=[1, 2, 3]),
    ]
    for path in paths:
        assert texts(path) == expected, path.name


def test_rows_are_named_after_file_and_line(tmp_path: Path) -> None:
    rows, _, _ = read(write(tmp_path / "posts.csv", 'text\none\n"two\nlines"\nthree\n'))
    assert [(row.id, row.file, row.line) for row in rows] == [
        ("posts-2", "posts.csv", 2),
        ("posts-3", "posts.csv", 3),
        ("posts-5", "posts.csv", 5),
    ]
    rows, _, _ = read(parquet(tmp_path / "p.parquet", text=["a", "b"]))
    assert [(row.id, row.line) for row in rows] == [("p-1", 1), ("p-2", 2)]


def test_mapped_columns_and_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"nr": 7, "content": "x", "more": 1}\n{"nr": null, "content": "y"}\n')
    rows, bad, files = read(path, columns={"id": "nr", "text": "content"})
    assert [(row.id, row.values) for row in rows] == [("7", {"text": "x"})]
    assert [(row.id, row.line, row.problem.code) for row in bad] == [("a-2", 2, 56)]
    assert "more" in " ".join(files.warnings)


@pytest.mark.parametrize("mapped", [True, False])
def test_an_id_that_is_not_mapped_is_reported(tmp_path: Path, *, mapped: bool) -> None:
    """Ids may come twice, and the rows that are held out hang on them: nobody's rows are renamed in silence."""
    path = write(tmp_path / "a.csv", "id,text,by\np-1,one,x\n")
    rows, _, files = read(path, columns={"id": "id"} if mapped else None)
    assert [row.id for row in rows] == (["p-1"] if mapped else ["a-2"])
    (warning,) = files.warnings
    assert warning.startswith("files with columns that are not read: " + ("by" if mapped else "id, by ("))
    assert ("`columns: {id: id}`" in warning) is not mapped


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    write(tmp_path / "d" / "b.txt", "two\n")
    write(tmp_path / "d" / "a" / "x.txt", "one\n")
    write(tmp_path / "d" / "c.jsonl", '{"text": "three"}')
    write(tmp_path / "d" / ".hidden", "no")
    write(tmp_path / "d" / "b.txt.dvc", "no")
    rows, _, files = read(tmp_path / "d")
    assert [(row.id, row.values["text"]) for row in rows] == [
        ("a/x.txt-1", "one"),
        ("b.txt-1", "two"),
        ("c.jsonl-1", "three"),
    ]
    assert list(files.provenance()["files"]) == ["a/x.txt", "b.txt", "c.jsonl"]


def test_equal_bytes_under_two_names_are_read_once(tmp_path: Path) -> None:
    write(tmp_path / "d" / "a.txt", "same\n")
    write(tmp_path / "d" / "b.txt", "same\n")
    rows, _, files = read(tmp_path / "d")
    assert len(rows) == 1
    assert files.warnings == {"b.txt has the bytes of a.txt: read once": 1}


# --- Parquet


def test_parquet_parts_that_do_not_agree(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    parquet(tmp_path / "d" / "a.parquet", text=["x"], label=["1"])
    parquet(tmp_path / "d" / "b.parquet", text=["y"], label=[1])
    with pytest.raises(BadData, match=r"AB-056 .*column 'label': string in a.parquet, int64 in b.parquet"):
        read(tmp_path / "d", CLASS)
    parquet(tmp_path / "d" / "b.parquet", body=["y"], label=["1"])
    with pytest.raises(BadData, match=r"AB-056 .*b.parquet.*column 'text' missing; found body, label"):
        read(tmp_path / "d", CLASS)


# --- paths


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(BadData, match=r"AB-050 .*not a readable regular file"):
        read(tmp_path / "pipe.txt")
    with pytest.raises(BadData, match=r"AB-050 .*no such file"):
        read(tmp_path / "absent.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadData, match=r"AB-050 .*no file in this folder"):
        read(tmp_path / "empty")
    with pytest.raises(BadData, match=r"AB-050 .*\n  write the path out"):
        read(Path("~/posts.txt"))


def test_one_file_under_two_links_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "d" / "a.txt", "text\n")
    (tmp_path / "d" / "b.txt").symlink_to("a.txt")
    with pytest.raises(BadData, match=r"AB-050 .*listed twice"):
        read(tmp_path / "d")


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "one\ntwo\n")
    rows = Files(path, CORPUS, config()).rows()
    next(rows)
    write(path, "one\ntwo\nthree\n")
    with pytest.raises(BadData, match=r"AB-050 .*changed while reading"):
        list(rows)


def test_all_missing_columns_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(Several) as raised:
        read(write(tmp_path / "a.csv", "a,b\n1,2\n"), CLASS)
    assert [failure.code for failure in raised.value.failures] == [56, 56]


# --- labelled sets


@pytest.mark.parametrize(
    ("name", "content", "layout", "options", "expected"),
    [
        ("a.csv", "text_a,text_b,value,by\nA,B,1,x\n", PAIR, {"columns": {"group": "by"}}, [("train-2", 2, "x")]),
        (
            "a.conll",
            "-DOCSTART- O\n\nEU B-X\n\n-DOCSTART- O\n\nA O\n",
            SPANS,
            {"columns": {"group": "document"}},
            [("train-3", 3, "train-1"), ("train-7", 7, "train-2")],
        ),
        (
            "a.json",
            '{"data": [{"title": "T", "qas": [{"id": "q", "context": "c", "question": "?", "answers": []}]}]}',
            ANSWER,
            {"format": "squad", "columns": {"id": "id", "group": "title"}},
            [("q", 1, "T")],
        ),
    ],
)
def test_ids_and_groups(
    tmp_path: Path, name: str, content: str, layout: Layout, options: dict[str, Any], expected: list[Any]
) -> None:
    rows, _, _ = read(write(tmp_path / name, content), layout, "train", **options)
    assert [(row.id, row.line, row.group) for row in rows] == expected


def test_documents_of_two_files_are_two(tmp_path: Path) -> None:
    """Each file counts from 1: neither two splits nor two files of a folder share a group."""
    folders = {split: tmp_path / split for split in ("train", "dev", "test")}
    for split, folder in folders.items():
        folder.mkdir()
        for name in ("a", "b"):
            (folder / f"{name}.conll").write_text(f"-DOCSTART- O\n\n{name} O\n\n{split} B-X\n", encoding="utf-8")
    config = Source.model_validate({"source": "files", "columns": {"group": "document"}})
    source = LabelledSource(folders, SPANS, config, {})
    groups = [row.group for split in folders for row in source.rows(split) if row.problem is None]
    assert (len(groups), len(set(groups))) == (12, 6)


def splits(folder: Path, **contents: str) -> dict[str, Path]:
    return {split: write(folder / f"{split}.jsonl", content) for split, content in contents.items()}


def labelled(paths: dict[str, Path]) -> LabelledSource:
    return LabelledSource(paths, CLASS, config(), {})


def test_labels_of_mixed_types_are_refused_across_splits(tmp_path: Path) -> None:
    row = '{"text": "%s", "label": %s}\n'
    paths = splits(tmp_path, train=row % ("a", 1), dev=row % ("b", '"1"'), test=row % ("c", 1))
    source = labelled(paths)
    assert [row.id for row in source.rows("train")] == ["train-1"]
    with pytest.raises(BadData, match=r"AB-065 .*mixed types: .*integer.*text"):
        list(source.rows("dev"))
    for label in ("1.0", "[1]"):
        with pytest.raises(BadData, match="AB-065"):
            read(write(tmp_path / "x.jsonl", row % ("a", label)), CLASS)


def test_two_splits_with_the_same_bytes_are_refused(tmp_path: Path) -> None:
    row = '{"text": "a", "label": 1}\n'
    with pytest.raises(BadData, match=r"AB-050 .*test.jsonl has the bytes of train: train.jsonl"):
        labelled(splits(tmp_path, train=row, dev=row * 2, test=row))


def test_rows_in_are_rows_and_unreadable(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"one\nb\xe9d\nthree\n")
    manifest = collect(path, tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "text.parquet").to_pylist()
    assert rows == [
        {"id": "a-1", "text": "one", "file": "a.txt", "line": 1},
        {"id": "a-3", "text": "three", "file": "a.txt", "line": 3},
    ]
    bad = pq.read_table(tmp_path / "out" / "unreadable.parquet").to_pylist()
    assert bad == [{"id": "a-2", "file": "a.txt", "line": 2, "code": 1, "reason": "byte 0xE9 is not UTF-8"}]
    assert (manifest["rows"], manifest["rows_in"], manifest["characters"]) == (2, 3, 8)
    assert re.fullmatch("[0-9a-f]{64}", manifest["digest"])
    assert manifest == json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))


def test_equal_input_gives_equal_bytes_and_another_byte_another_digest(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", MANY)
    first, second = collect(path, tmp_path / "1"), collect(path, tmp_path / "2")
    assert first == second
    for name in ("text.parquet", "unreadable.parquet", "manifest.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    write(path, MANY.replace(b"line 7\n", b"line x\n"))
    assert collect(path, tmp_path / "3")["digest"] != first["digest"]
