"""Reading the user's own files: names, columns, groups and splits, and the raw folder that rows are written to."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Task
from adaptbert.data import labelled_set
from adaptbert.data.collect import collect_task
from adaptbert.data.files import (
    FEW_DOCUMENTS,
    IN_TWO_SPLITS,
    KEPT_IN_TRAIN,
    MOST_CHARACTERS,
    MOST_FILES,
    ONE_DOCUMENT,
    Files,
    LabelledFiles,
    cut,
    split_of,
)
from adaptbert.data.layout import Layout
from adaptbert.data.rows import Problem, Row
from adaptbert.errors import BadData, Several
from tests.support.reading import ANSWER, CLASS, LABELS, MANY, PAIR, SPANS, collect, config, read, write

# --- files and folders


@pytest.mark.parametrize(
    ("name", "content", "layout", "options", "expected"),
    [
        (
            "posts.csv", 'text,label\none,x\n"two\nlines",x\nthree,x\n', CLASS, {},
            [("train-2", 2, None), ("train-3", 3, None), ("train-5", 5, None)],
        ),
        ("a.jsonl", '{"n": 7, "text": "x", "label": 1}', CLASS, {"columns": {"id": "n"}}, [("7", 1, None)]),
        ("a.csv", "text,label,by\nA,1,x\n", CLASS, {"columns": {"group": "by"}}, [("train-2", 2, "x")]),
        (
            "a.conll", "-DOCSTART- O\n\nEU B-X\n\n-DOCSTART- O\n\nA O\n", SPANS, {"columns": {"group": "document"}},
            [("train-3", 3, "train-1"), ("train-7", 7, "train-2")],
        ),
        (
            "a.json", '[{"title": "T", "qas": [{"id": "q", "context": "c", "question": "?", "answers": []}]}]', ANSWER,
            {"format": "squad", "columns": {"id": "id", "group": "title"}}, [("q", 1, "T")],
        ),
        (
            "a.conll", "NB B-X\n\n-DOCSTART- O\n\nEU O\n\nUN O\n\n-DOCSTART- O\nA O\n", SPANS, {},
            [("train-1", 1, None), ("train-5", 5, "train-1"), ("train-7", 7, "train-1"), ("train-10", 10, "train-2")],
        ),
        (
            "a.conll", "# newdoc id = x\n# text = EU a\n1 EU B-X\n2 a O\n\n1 b O\n2 c O\n\n# newdoc\n1 d O\n2 e O\n",
            SPANS, {}, [("train-3", 3, "train-1"), ("train-6", 6, "train-1"), ("train-10", 10, "train-2")],
        ),
        (
            "a.conll", "#begin document (x); part 000\nEU n B-X\n\na n O\n\n#end document\n", SPANS, {},
            [("train-2", 2, "train-1"), ("train-4", 4, "train-1")],
        ),
        ("a.conll", "EU B-X\n\na O\n", SPANS, {}, [("train-1", 1, None), ("train-3", 3, None)]),
        *(
            (
                "a.json", json.dumps([{**title, "qas": [{"context": "c", "question": "?", "answers": []}]}]), ANSWER,
                {"format": "squad"}, [("train-1", 1, group)],
            )
            for title, group in (({"title": " T"}, "T"), ({"title": None}, None), ({"title": ""}, None), ({}, None))
        ),
    ],
)  # fmt: skip
def test_ids_lines_and_groups(
    tmp_path: Path, name: str, content: str, layout: Layout, options: dict[str, Any], expected: list[Any]
) -> None:
    rows, _, _ = read(write(tmp_path / name, content), layout, "train", **options)
    assert [(row.id, row.line, row.group) for row in rows] == expected


@pytest.mark.parametrize("mapped", [True, False])
def test_an_id_that_is_not_mapped_is_reported(tmp_path: Path, *, mapped: bool) -> None:
    """Ids may come twice, and the rows that are held out hang on them: nobody's rows are renamed in silence."""
    path = write(tmp_path / "a.csv", "id,text,by\n p-1,one,x\n,two,x\n")
    rows, bad, files = read(path, columns={"id": "id"} if mapped else None)
    assert [row.id for row in rows] == ([" p-1"] if mapped else ["a-2", "a-3"])
    said = [(row.id, *row.problem[:2]) for row in bad if row.problem]
    assert said == ([("a-3", 56, "column 'id': expected a name of the id, found an empty cell")] if mapped else [])
    (warning,) = files.warnings
    assert warning.startswith("files with columns that are not read: " + ("by" if mapped else "id, by ("))
    assert ("`columns: {id: id}`" in warning) is not mapped


def test_a_folder_is_read_in_the_order_of_names_and_equal_bytes_once(tmp_path: Path) -> None:
    write(tmp_path / "d" / "b.txt", "two\n")
    write(tmp_path / "d" / "a" / "x.txt", "one\n")
    write(tmp_path / "d" / "c.jsonl", '{"text": "three"}')
    write(tmp_path / "d" / ".hidden", "no")
    write(tmp_path / "d" / "b.txt.dvc", "no")
    write(tmp_path / "d" / "e.txt", "two\n")
    (tmp_path / "d" / "f.txt").symlink_to("b.txt")
    rows, _, files = read(tmp_path / "d")
    assert [(row.id, row.values["text"]) for row in rows] == [
        ("a/x.txt-1", "one"),
        ("b.txt-1", "two"),
        ("c.jsonl-1", "three"),
    ]
    assert list(files.digests) == ["a/x.txt", "b.txt", "c.jsonl", "e.txt", "f.txt"]
    assert files.warnings == {f"{name}.txt has the bytes of b.txt: read once": 1 for name in "ef"}


def test_the_first_rows_of_the_first_files(tmp_path: Path) -> None:
    """As `check` reads large sets: errors of several files together, and not a file of one endless text."""
    for number in range(MOST_FILES + 9):
        write(tmp_path / f"many/{number:03}.txt", f"{number}\n" * 5)
    assert len(list(Files(tmp_path / "many", config(), head=3).rows())) == 3 * MOST_FILES
    write(tmp_path / "long.txt", f"{'x' * (MOST_CHARACTERS + 1)}\n" * 3)
    assert len(list(Files(tmp_path / "long.txt", config(), head=3).rows())) == 1
    for name in ("a", "b"):
        write(tmp_path / f"bad/{name}.csv", f"txt\n{name}\n")
    with pytest.raises(Several):
        list(Files(tmp_path / "bad", config(), head=3).rows())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pipe.txt", "not a readable regular file"),
        ("absent.txt", "no such file"),
        ("empty", "no file in this folder"),
        ("a.docx", "no known format"),
    ],
)
def test_paths_that_are_no_files(tmp_path: Path, name: str, words: str) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "empty").mkdir()
    write(tmp_path / "a.docx", "x")
    with pytest.raises(BadData, match=f"AB-050 .*{words}"):
        read(tmp_path / name)


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "one\ntwo\n")
    rows = Files(path, config()).rows()
    next(rows)
    write(path, "one\ntwo\nthree\n")
    with pytest.raises(BadData, match=r"AB-050 .*changed while reading"):
        list(rows)


def test_all_missing_columns_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(Several) as raised:
        read(write(tmp_path / "a.csv", "a,b\n1,2\n"), CLASS, columns={"id": "nr"})
    assert [failure.code for failure in raised.value.failures] == [56, 56, 56]
    assert "column 'nr' missing; found a, b\n  map another column as `id`, or take" in str(raised.value)


def test_rows_in_are_rows_and_unreadable(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"one\nb\xe9d\nthree\n")
    manifest = collect(path, tmp_path / "out")
    assert pq.read_table(tmp_path / "out" / "text.parquet").to_pylist() == [
        {"id": "a-1", "text": "one", "file": "a.txt", "line": 1},
        {"id": "a-3", "text": "three", "file": "a.txt", "line": 3},
    ]
    bad = pq.read_table(tmp_path / "out" / "unreadable.parquet").to_pylist()
    (row,) = bad
    assert row.pop("remedy").startswith("declare the `encoding`")
    assert row == {"id": "a-2", "file": "a.txt", "line": 2, "code": 1, "reason": "byte 0xE9 is not UTF-8"}
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


# --- labelled sets

SPLITS = ("train", "dev", "test")
ROW = '{"text": "%s", "label": %s}\n'


def labelled(paths: dict[str, Path], layout: Layout = CLASS, **values: Any) -> LabelledFiles:
    task = config(layout, **values)
    assert isinstance(task, Task)
    return LabelledFiles(paths, task)


def table(path: Path, *rows: str) -> Path:
    return write(path, "text,label,author\n" + "".join(f"{row}\n" for row in rows))


def test_labels_of_mixed_types_are_refused_across_splits(tmp_path: Path) -> None:
    labels = {"train": ("a", 1), "dev": ("b", '"1"'), "test": ("c", 1)}
    source = labelled({split: write(tmp_path / f"{split}.jsonl", ROW % of_split) for split, of_split in labels.items()})
    assert [row.id for row in source.rows("train")] == ["train-1"]
    with pytest.raises(BadData, match=r"AB-065 .*mixed types: integer \(.*train.jsonl:1\), text \(.*dev.jsonl:1\)"):
        list(source.rows("dev"))


def test_two_splits_with_the_same_bytes_are_refused(tmp_path: Path) -> None:
    times = {"train": 1, "dev": 2, "test": 1}
    with pytest.raises(BadData, match=r"AB-050 .*test.jsonl has the bytes of train: train.jsonl"):
        labelled({split: write(tmp_path / f"{split}.jsonl", ROW % ("a", 1) * count) for split, count in times.items()})


def test_documents_of_two_files_are_two(tmp_path: Path) -> None:
    """Each file counts from 1: neither two splits nor two files of a folder share a group."""
    for split in SPLITS:
        for name in ("a", "b"):
            write(tmp_path / split / f"{name}.conll", f"-DOCSTART- O\n\n{name} O\n\n{split} B-X\n")
    source = labelled({split: tmp_path / split for split in SPLITS}, SPANS, columns={"group": "document"})
    groups = [row.group for split in SPLITS for row in source.rows(split) if row.problem is None]
    assert (len(groups), len(set(groups))) == (12, 6)


def test_a_split_without_labels_is_refused(tmp_path: Path) -> None:
    paths = {split: table(tmp_path / f"{split}.csv", f"{split},,x") for split in SPLITS}
    with pytest.raises(BadData, match="AB-062 dev: dev has no labels\n  a split needs labels"):
        list(labelled(paths).rows("dev"))


@pytest.mark.parametrize(
    ("layout", "options", "label"),
    [(LABELS, {}, ["x"]), (LABELS, {"format": "doccano"}, ["x"]), (SPANS, {"format": "doccano"}, [[0, 1, "X"]])],
)
def test_most_rows_without_a_label_are_asked_for(
    tmp_path: Path, layout: Layout, options: dict[str, Any], label: list[Any]
) -> None:
    options = {"columns": {layout.outputs[0]: "label"}, **options}

    def rows(none: int, **more: Any) -> list[Row]:
        cells = [label] * 4 + [[]] * none
        content = "".join(json.dumps({"text": f"a {n}", "label": cell}) + "\n" for n, cell in enumerate(cells))
        paths = {split: write(tmp_path / f"{split}.jsonl", f'{{"text": "{split}"}}') for split in ("dev", "test")}
        paths["train"] = write(tmp_path / "a.jsonl", content)
        return list(labelled(paths, layout, **options, **more).rows("train"))

    assert [row.problem for row in rows(4)] == [None] * 8
    with pytest.raises(BadData, match=r"AB-062 .*a\.jsonl: 9 of 13 rows have no label: does none apply.*\n"
                                      r"  write map_labels: \{'': null\} below .* to leave .*, '': ''"):  # fmt: skip
        rows(9)
    assert [row.problem for row in rows(9, map_labels={"": ""})] == [None] * 13
    left_out = rows(9, map_labels={"": None})
    assert [row.problem.code for row in left_out if row.problem] == [229] * 9


def test_sentences_without_spans_are_common(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conll", "a B-X\n\n" + "".join(f"b{n} O\n\n" for n in range(9)))
    source = labelled(dict.fromkeys(SPLITS, path), SPANS, split={"dev": 0.01, "test": 0.01})
    assert len([*source.rows("train")]) == 10


def test_a_group_in_two_files_is_refused(tmp_path: Path) -> None:
    paths = {split: table(tmp_path / f"{split}.csv", f"{split},x,ann") for split in SPLITS}
    source = labelled(paths, columns={"group": "author"})
    assert len(list(source.rows("train"))) == 1
    with pytest.raises(BadData, match=r"AB-072 dev.csv:2: the group of row 'dev-2' is in train, too") as raised:
        list(source.rows("dev"))
    assert "ann" not in str(raised.value)


def test_test_rows_of_one_group_are_refused(tmp_path: Path) -> None:
    """They are resampled by groups, and one has no spread. A group has no blanks around it."""
    paths = {split: table(tmp_path / f"{split}.csv", f"{split} 1,x,{split}") for split in ("train", "dev")}
    paths["test"] = table(tmp_path / "test.csv", "test 1,x,ann", "test 2,x,bob")
    assert [row.group for row in labelled(paths, columns={"group": "author"}).rows("test")] == ["ann", "bob"]
    table(tmp_path / "test.csv", "test 1,x, ann", "test 2,x,ann ")
    with pytest.raises(BadData, match=r"AB-072 params.yaml: tasks: all 2 test rows are of one group"):
        list(labelled(paths, columns={"group": "author"}).rows("test"))


def articles(path: Path, **questions: int) -> Path:
    """A file of SQuAD: title -> how many questions."""
    asked = {"qas": [{"question": "?", "answers": []}]}
    data = [
        {"title": title, "paragraphs": [{"context": f"{path.name} {title} {n}", **asked} for n in range(count)]}
        for title, count in questions.items()
    ]
    return write(path, json.dumps({"data": data}))


def test_documents_that_nobody_mapped_stop_nobody(tmp_path: Path) -> None:
    """One that is in two splits, or is all there is of test, is an error where a person says that it is a group."""
    paths = {split: articles(tmp_path / f"{split}.json", **{split: 2, "cats": 3}) for split in ("train", "dev")}
    paths["test"] = articles(tmp_path / "test.json", cats=4)
    task = config(ANSWER, format="squad", no_answer=True)
    assert isinstance(task, Task)

    def collected(name: str) -> tuple[dict[str, int], dict[str, str]]:
        (tmp_path / name).mkdir()
        manifest = collect_task(task, paths, tmp_path / name)
        return manifest["warnings"], labelled_set.test_groups(tmp_path / name)

    said, groups = collected("one")
    assert (said[IN_TWO_SPLITS], said[ONE_DOCUMENT], groups) == (3 + 4, 4, {})
    articles(paths["test"], cats=2, dogs=1)
    said, groups = collected("two")
    assert said[IN_TWO_SPLITS] == 3 + 2
    assert ONE_DOCUMENT not in said
    assert groups == {"test-1": "cats", "test-2": "cats", "test-3": "dogs"}
    with pytest.raises(Several, match=r"AB-072 dev.json:3: the group of row 'dev-3' is in train, too"):
        collect_task(task.model_copy(update={"columns": {"group": "title"}}), paths, tmp_path / "two")


# --- splits that are cut off the training rows

SHARES = {"test": 0.2, "dev": 0.1}


def numbered(count: int) -> list[Row]:
    return [Row(f"r{n}", "f", n, {"text": f"text {n}", "label": "x"}) for n in range(count)]


def placed(rows: list[Row], layout: Layout = CLASS, shares: dict[str, float] = SHARES) -> dict[str, str]:
    """Id -> split."""
    return {row.id: split for split, of_split in cut(rows, layout, shares).items() for row in of_split}


def test_the_shares_of_rows_are_those_of_the_config() -> None:
    draws = Counter(split_of(f"key {number}", SHARES) for number in range(20_000))
    for split, share in {"train": 0.7, **SHARES}.items():
        assert draws[split] / 20_000 == pytest.approx(share, abs=0.012)  # four standard errors


def test_every_row_once_and_neither_rows_added_nor_another_share_move_one() -> None:
    before, after = placed(numbered(300)), placed(numbered(600)[::-1])
    assert set(before) == {f"r{n}" for n in range(300)}
    assert {name: after[name] for name in before} == before
    alone = placed(numbered(300), shares={"test": 0.2})
    assert {n for n, split in alone.items() if split == "test"} == {n for n, s in before.items() if s == "test"}
    bad = Row("bad", "f", 1, {}, problem=Problem(Code.LABEL_MISSING, "label missing"))
    assert placed([bad, *numbered(200)])["bad"] == "train"


SPELLINGS = ("Text {}", "text, {}!", "TEXT {}")
TOGETHER: dict[str, tuple[Layout, Callable[[int, int], dict[str, Any]]]] = {
    "groups": (CLASS, lambda n, m: {"values": {"text": f"text {n} {m}", "label": "x"}, "group": f"g{n}"}),
    "copies": (CLASS, lambda n, m: {"values": {"text": SPELLINGS[m].format(n), "label": "x"}}),
    "contexts": (ANSWER, lambda n, m: {"values": {"context": f"context {n}", "question": f"{m}?", "answers": []}}),
}


@pytest.mark.parametrize("kind", TOGETHER)
def test_groups_copies_and_contexts_stay_together(kind: str) -> None:
    layout, fields = TOGETHER[kind]
    rows: list[Row] = [Row(f"{n}-{m}", "f", n, **fields(n, m)) for n in range(60) for m in range(3)]
    split_of_row = placed(rows, layout)
    assert all(len({split_of_row[f"{n}-{m}"] for m in range(3)}) == 1 for n in range(60))
    assert {*split_of_row.values()} == {*SPLITS}


def test_pairs_that_share_a_text_do_not() -> None:
    pairs: list[Row] = [
        Row(f"{n}", "f", n, {"text_a": "the same", "text_b": f"other {n}", "label": "x"}) for n in range(60)
    ]
    assert {*placed(pairs, PAIR).values()} == {*SPLITS}


def test_dev_is_cut_and_test_has_a_file_of_its_own(tmp_path: Path) -> None:
    train = table(tmp_path / "train.csv", *(f"text {n},x,a{n}" for n in range(100)))
    paths = {"train": train, "dev": train, "test": table(tmp_path / "test.csv", "other,x,z")}
    source = labelled(paths, columns={"group": "author"}, split={"dev": 0.3})
    counts = {split: len(list(source.rows(split))) for split in SPLITS}
    assert (counts["train"] + counts["dev"], counts["dev"] > 10, counts["test"]) == (100, True, 1)
    assert source.cut() == {"dev": 0.3, "by_hash_of": "author"}
    assert list(source.digests) == ["train", "test"]
    assert source.warnings[KEPT_IN_TRAIN] == 0
    few = labelled(dict.fromkeys(("train", "dev"), train), split={"dev": 1e-9})
    with pytest.raises(BadData, match=r"AB-019 .*100 rows cannot be split: none falls to dev"):
        list(few.rows("dev"))


@pytest.mark.parametrize(("documents", "warned"), [(60, None), (1, 1)])
def test_documents_are_cut_whole_where_there_are_enough(tmp_path: Path, documents: int, warned: int | None) -> None:
    sentences = 180 // documents
    content = "".join(
        "-DOCSTART- O\n\n" + "".join(f"a{n}-{m} B-X\n\n" for m in range(sentences)) for n in range(documents)
    )
    path = write(tmp_path / "all.conll", content)
    source = labelled(dict.fromkeys(SPLITS, path), SPANS, split=SHARES)
    rows = {split: list(source.rows(split)) for split in SPLITS}
    assert (sum(map(len, rows.values())), min(map(len, rows.values())) > 5) == (180, True)
    found = [{row.group for row in of_split} - {None} for of_split in rows.values()]
    assert sum(map(len, found)) == len(set().union(*found)) == (0 if warned else documents)
    assert source.warnings.get(FEW_DOCUMENTS) == warned
    assert source.cut()["by_hash_of"] == ("tokens" if warned else "document")


RARE: dict[str, tuple[Layout, dict[str, Any], Callable[[int], dict[str, Any]]]] = {
    "classes": (CLASS, {}, lambda n: {"text": f"text {n}", "label": f"c{n // 2}" if n < 60 else "usual"}),
    "several labels": (
        LABELS, {"map_labels": {"": ""}},
        lambda n: {"text": f"text {n}", "labels": ["usual", f"c{n % 60}"] if n < 90 else []},
    ),
    "types of spans": (
        SPANS, {"tag_scheme": "io"}, lambda n: {"tokens": [f"w{n}", "x"], "tags": [f"I-t{n % 150}", "O"]},
    ),
    "groups": (
        CLASS, {"columns": {"group": "by"}},
        lambda n: {"text": f"text {n}", "label": f"c{n // 2}" if n < 60 else "usual", "by": f"g{n % 50}"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", RARE)
def test_train_has_the_labels_of_a_split_that_is_cut_off_it(tmp_path: Path, kind: str) -> None:
    """Rows move to train where it would lack their label, and no other; whatever the order of the rows."""
    layout, options, row = RARE[kind]
    every = [json.dumps(row(n)) + "\n" for n in range(200)]
    places = []
    for order in (every, every[::-1]):
        path = write(tmp_path / f"{len(places)}.jsonl", "".join(order))
        source = labelled(dict.fromkeys(SPLITS, path), layout, split=SHARES, **options)
        rows = {split: list(source.rows(split)) for split in SPLITS}
        assert sum(map(len, rows.values())) == 200
        labels = {split: [set(row_labels(each, layout)) for each in of_split] for split, of_split in rows.items()}
        trained = set().union(*labels["train"])
        assert set().union(*labels["dev"], *labels["test"]) <= trained
        by_hash = cut([each for of_split in rows.values() for each in of_split], layout, SHARES)
        moved = [each for each in rows["train"] if each not in by_hash["train"]]
        assert [each for each in by_hash["train"] if each not in rows["train"]] == []
        assert 0 < len(moved) == source.warnings[KEPT_IN_TRAIN] < 60
        known = set().union(*(row_labels(each, layout) for each in by_hash["train"]))
        assert all(each.group or not set(row_labels(each, layout)) <= known for each in moved)
        groups = [{each.group for each in of_split} - {None} for of_split in rows.values()]
        assert not groups[0] & (groups[1] | groups[2])
        places.append({split: sorted(str(each.values) for each in of_split) for split, of_split in rows.items()})
    assert places[0] == places[1]


def row_labels(row: Row, layout: Layout) -> list[str]:
    cell = row.values[layout.output.column]
    return [cell] if isinstance(cell, str) else [label.removeprefix("I-") for label in cell if label != "O"]


def test_rare_labels_that_leave_nothing_to_measure(tmp_path: Path) -> None:
    path = table(tmp_path / "train.csv", *(f"text {n},class {n},x" for n in range(20)))
    with pytest.raises(BadData, match=r"AB-019 .*: none falls to dev, and [1-9] stay in train, which has no") as raised:
        list(labelled(dict.fromkeys(SPLITS, path), split=SHARES).rows("dev"))
    assert raised.value.remedy.endswith("by map_labels, or a file for dev")
