"""`adaptbert predict` between any two files or in a pipe; every way in which it refuses, with nothing written."""

import csv
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adaptbert.commands.predict import predict
from adaptbert.comparison.baselines import keep_linear_models
from adaptbert.config.schema.sources import Format
from adaptbert.config.schema.task_types import TARGETS
from adaptbert.data import labelled_set as labelled
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import BadData
from tests.support import tiny_tasks
from tests.support.cells import Project
from tests.support.imports import ROOT
from tests.support.messages import messages_in
from tests.support.predicting import ANSWER, CLASS, KINDS, PAIR, ROWS, SPANS, json_lines, model, read, rows_of, run


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def expected(project: Project, task: str, out: Path) -> list[dict[str, Any]]:
    """The answers to the test set, without ids."""
    return without_ids(answered(project, task, project.root / "data" / task / "test.parquet", out))


def without_ids(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "id"} for row in rows]


def answered(
    project: Project, task: str, source: Path | list[Any], out: Path, *options: str, code: int = 0
) -> list[dict[str, Any]]:
    """To the rows of a file, or to these."""
    path = json_lines(out.with_name("in.jsonl"), source) if isinstance(source, list) else source
    done = run(model(project, task), path, "-o", out, *options)
    assert done.exit_code == code, done.output
    return read(out)


# ---- in


@pytest.mark.parametrize(("name", "first"), [("in.txt", 1), ("in.csv", 2), ("in.parquet", 1), ("in.jsonl.gz", 1)])
def test_every_format_of_texts(project: Project, tmp_path: Path, out: Path, name: str, first: int) -> None:
    path, table = (
        tmp_path / name,
        pd.DataFrame({"note": "x", "content": [row["text"] for row in rows_of(project, CLASS)]}),
    )
    {
        "in.txt": lambda: path.write_text("\n".join(table["content"]), encoding="utf-8"),
        "in.csv": lambda: table.to_csv(path, index=False),
        "in.parquet": lambda: table.to_parquet(path),
        "in.jsonl.gz": lambda: table.to_json(path, orient="records", lines=True),
    }[name]()
    answers = answered(project, CLASS, path, out, *([] if name == "in.txt" else ["--columns", "text=content"]))
    assert [row["id"] for row in answers] == [str(first + n) for n in range(len(table))], "numbers of lines"
    assert without_ids(answers) == expected(project, CLASS, out)


@pytest.mark.parametrize("task", [CLASS, SPANS])
def test_a_blank_line_is_a_row(project: Project, tmp_path: Path, out: Path, task: str) -> None:
    """`paste` puts answers beside the lines of the file."""
    (tmp_path / "in.txt").write_text("one\n\ntwo\n \t\n", encoding="utf-8")
    answers = answered(project, task, tmp_path / "in.txt", out, code=65)
    assert [(row["id"], row.get("error", "")[:6]) for row in answers] == [*zip("1234", ["", "AB-041"] * 2, strict=True)]


@pytest.mark.parametrize(
    ("row", "options"),
    [
        ({"tokens": ["New York City", "is"]}, ()),
        ({"text": "Ann is", "entities": [{"start": 0}]}, ()),
        ({"body": "Ann is", "entities": [{"start": 0}]}, ("--columns", "text=body")),
    ],
)
def test_one_line_is_a_row(project: Project, out: Path, row: dict[str, Any], options: tuple[str, ...]) -> None:
    (answer,) = answered(project, SPANS, [row], out, *options)
    assert len(answer["tags"]) == 2


def test_ids(project: Project, out: Path) -> None:
    """They stay or are mapped; pandas makes 3.0 of a 3 in a column where another is missing; nothing takes the place
    of an id in silence."""
    rows = [{"id": 7, "post": "p-1", "text": "a"}, {"post": "p-2", "text": "b"}]
    for columns, ids in ([], ["7", "2"]), (["--columns", "id=post"], ["p-1", "p-2"]):
        assert [row["id"] for row in answered(project, CLASS, rows, out, *columns)] == ids
    odd: list[Any] = [3.0, 2.5, 7, None, float("nan"), ["x"]]
    answers = answered(project, CLASS, [{"id": one, "text": "a"} for one in odd], out, code=65)
    assert [row["id"] for row in answers] == ["3", "2.5", "7", "4", "5", "6"]
    assert [row.get("error", "")[:6] for row in answers] == [""] * 5 + ["AB-056"]


def test_labels_are_not_looked_at(project: Project, out: Path) -> None:
    """None, wrong ones, ones of another type."""
    labels: list[Any] = [None, 1, "new", ["x"], 2.5, {}]
    rows = rows_of(project, CLASS)[: len(labels)]
    others = [{**row, "label": label} for row, label in zip(rows, labels, strict=True)]
    assert answered(project, CLASS, others, out) == answered(project, CLASS, rows, out)


@pytest.mark.parametrize("rest", ["", "\tNN\tB-NP\tO"])
def test_conll_with_and_without_tags(project: Project, tmp_path: Path, out: Path, rest: str) -> None:
    source = tmp_path / "in.conll"
    source.write_text("\n".join("".join(f"{t}{rest}\n" for t in row["tokens"]) for row in rows_of(project, SPANS)))
    assert without_ids(answered(project, SPANS, source, out)) == expected(project, SPANS, out)


def test_squad_without_answers(project: Project, tmp_path: Path, out: Path) -> None:
    rows = rows_of(project, ANSWER)
    paragraphs = [{"context": row["context"], "qas": [{key: row[key] for key in ("id", "question")}]} for row in rows]
    (tmp_path / "in.json").write_text(json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}))
    answers = answered(project, ANSWER, tmp_path / "in.json", out, "--format", "squad")
    assert [row["id"] for row in answers] == [row["id"] for row in rows]
    assert without_ids(answers) == expected(project, ANSWER, out)


# ---- rows that cannot be answered

BAD: dict[str, list[tuple[dict[str, Any], str]]] = {
    CLASS: [
        ({"text": None}, "AB-041"), ({"text": 7}, "AB-056"), ({"text": " \u200b "}, "AB-041"),
        ({"other": "x"}, "AB-056"), ({"text": "\ud800"}, "AB-044"),
    ],
    PAIR: [({"text_a": "a", "text_b": ""}, "AB-041"), ({"text_a": "\u200b", "text_b": "b"}, "AB-041")],
    ANSWER: [({"context": "", "question": "Who?"}, "AB-041")],
    SPANS: [
        ({"tokens": []}, "AB-041"), ({"tokens": [" ", "\u3000"]}, "AB-041"),
        ({"tokens": ["a", ""]}, "AB-089"), ({"tokens": ["a", 1]}, "AB-065"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("task", BAD)
def test_bad_rows_stand_in_their_place(project: Project, task: str, tmp_path: Path, out: Path) -> None:
    """Each is reported, and the others are answered as if they were not there."""
    good, bad = rows_of(project, task)[:3], BAD[task]
    rows = [good[0], *({"id": f"bad-{n}", **row} for n, (row, _) in enumerate(bad)), *good[1:]]
    alone = answered(project, task, good, out, "--probabilities")
    source = json_lines(tmp_path / "in.jsonl", rows)
    done = run(model(project, task), source, "-o", out, "--probabilities")
    answers = read(out)
    assert done.exit_code == 65
    assert [row["id"] for row in answers] == [row["id"] for row in rows]
    assert [row["error"][:6] for row in answers if "error" in row] == [code for _, code in bad]
    assert [row for row in answers if "error" not in row] == alone
    for line, (_, code) in enumerate(bad, 2):
        assert f"{code} {source}:{line}: " in done.stderr


def test_many_bad_rows_are_counted(project: Project, tmp_path: Path, out: Path) -> None:
    done = run(model(project, CLASS), json_lines(tmp_path / "in.jsonl", [{"text": ""}] * 300), "-o", out)
    assert (done.exit_code, done.stderr.count("AB-041")) == (65, 20)
    assert "300 rows stay without an answer" in done.stderr
    assert [row["id"] for row in read(out)] == [str(line) for line in range(1, 301)]


def test_rows_in_another_encoding_are_reported_with_the_option(project: Project, tmp_path: Path, out: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"plain\n" + "好好\n".encode("gbk") * 2)
    done = run(model(project, CLASS), tmp_path / "in.txt", "-o", out)
    message = "2 rows could not be decoded; if the file is in another encoding, name it, e.g. --encoding gb18030"
    assert (done.exit_code, f"{tmp_path}/in.txt: {message}" in done.stderr) == (65, True), done.stderr
    done = run(model(project, CLASS), tmp_path / "in.txt", "-o", out, "--encoding", "gb18030")
    assert (done.exit_code, "decoded" in done.stderr) == (0, False), done.stderr


# ---- out


@pytest.mark.parametrize("task", [task for task, kinds in KINDS.items() if kinds[0] != "sentence_pair"])
def test_every_table_says_what_json_says(project: Project, out: Path, task: str) -> None:
    """A table of pairs has the columns of one of sentences."""
    rows = answered(project, task, [*rows_of(project, task)[:5], {"id": "bad"}], out, "--probabilities", code=65)
    assert rows[-1]["error"].startswith("AB-056")
    tables = [out.with_suffix(suffix) for suffix in (".csv", ".parquet")]
    for table in tables:
        done = run(model(project, task), out.with_name("in.jsonl"), "-o", table, "--probabilities")
        assert done.exit_code == 65
    in_parquet = pq.read_table(tables[1]).to_pylist(maps_as_pydicts="strict")
    names = dict.fromkeys(in_parquet[0])
    assert names.keys() >= {"id", "error"}
    assert in_parquet == [{**names, **row} for row in rows]
    with tables[0].open(encoding="utf-8", newline="") as file:
        in_csv = [{name: cell or None for name, cell in row.items()} for row in csv.DictReader(file)]
    assert in_csv == [{**names, **{name: as_cell(value) for name, value in row.items()}} for row in rows]


def as_cell(value: Any) -> str | None:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return None if value in (None, "") else str(value)


@pytest.mark.parametrize("task", KINDS)
def test_the_linear_model_of_the_report(project: Project, tmp_path: Path, out: Path, task: str) -> None:
    """It answers as in the comparison, from its folder alone or beside a checkpoint, of which it needs the card only;
    with a probability that is that of the answer."""
    rows, data = rows_of(project, task), project.root / "data" / task
    source, folder = json_lines(tmp_path / "in.jsonl", [*rows, {"id": "bad"}]), tmp_path / "models/linear" / task
    beside = tmp_path / "models/finetune/some"
    beside.mkdir(parents=True)
    shutil.copy(model(project, task) / "card.json", beside)
    no_model = run(beside, source, "-o", out, "--linear")
    assert (no_model.exit_code, f"{folder}: no such folder" in no_model.stderr) == (65, True)
    keep_linear_models(folder.parent, [data], 1)
    if task == ANSWER:
        assert (run(folder, source, "-o", out).exit_code, list(folder.parent.iterdir())) == (65, [])
        return
    assert run(folder, source, "-o", out, "--probabilities").exit_code == 65
    answered = read(out)
    for place in (beside, folder):
        assert run(place, source, "-o", out, "--linear", "--probabilities").exit_code == 65
        assert read(out) == answered
    train, dev = (labelled.split(data, split) for split in ("train", "dev"))
    of_report = list(tiny_tasks.baseline_answers(TaskDescription.read(data), train, dev, rows, 1).values())[-1]
    output = TARGETS[KINDS[task][1]]
    assert [answer["id"] for answer in answered] == [*(row["id"] for row in rows), "bad"]
    assert [answer[output.answer] for answer in answered[:-1]] == of_report
    for row in answered[:-1]:
        if output.classes is None:
            assert {*row} == {"id", "value"}
        elif output.answer == "labels":
            assert row["labels"] == sorted(name for name, sure in row["probabilities"].items() if sure > 0.5)
            assert row["confidence"] == min(max(sure, 1 - sure) for sure in row["probabilities"].values())
        else:
            words = (
                [(row["label"], row["probabilities"])]
                if output.classes == "row"
                else [*zip(row["tags"], row["probabilities"], strict=True)]
            )
            assert row["confidence"] == min(of_word[answer] for answer, of_word in words)
            assert all(sum(of_word.values()) == pytest.approx(1) for _, of_word in words)


# ---- --keep: the columns of the input beside the answers

KEPT: list[dict[str, Any]] = [
    {"id": 7, "text": "an array", "label": "=1+1", "n": 1, "x": 0.5, "tags": ["a"], "ok": True, "confidence": 3},
    {"id": 8, "text": "", "label": "b", "n": None, "x": float("nan"), "tags": [], "ok": False, "confidence": 2**70},
    {"id": 9, "text": "a sum", "label": "\ud800", "n": 2**62 + 1, "x": 1.0, "tags": None, "ok": None, "input_label": 4},
]
"""A gold label beside ours, which is called so; a column that only some rows have; half a character."""


def kept_of(row: dict[str, Any]) -> dict[str, Any]:
    """A row as it stands beside its answer."""
    names = {"label": "input_label", "input_label": "input_input_label", "confidence": "input_confidence"}
    return {names.get(name, name): None if value != value else value for name, value in row.items() if name != "id"}


def test_the_columns_of_the_input_stand_beside_the_answers(project: Project, tmp_path: Path, out: Path) -> None:
    """Those of a row without an answer too, also from stdin; as they are in JSON lines, as text in Parquet and CSV. A
    name means one column in all rows."""
    expected = answered(project, CLASS, KEPT, out, code=65)
    source = json_lines(tmp_path / "in.jsonl", KEPT)
    assert run(model(project, CLASS), source, "-o", out, "--keep").exit_code == 65
    merged = [{"id": one["id"], **kept_of(row), **one} for row, one in zip(KEPT, expected, strict=True)]
    assert read(out) == merged
    assert [*read(out)[0]][:2] == ["id", "text"]
    assert run(model(project, CLASS), source, "-o", tmp_path / "out.parquet", "--keep").exit_code == 65
    table = pq.read_table(tmp_path / "out.parquet")
    assert table["n"].to_pylist() == ["1", None, str(2**62 + 1)]
    assert table["ok"].to_pylist() == ["true", "false", None]
    assert table["tags"].to_pylist() == ['["a"]', "[]", None]
    assert table["input_label"].to_pylist() == ["=1+1", "b", "\\ud800"]
    assert table["input_input_label"].to_pylist() == [None, None, "4"]
    assert table["label"].to_pylist() == [one.get("label") for one in expected]
    assert run(model(project, CLASS), source, "-o", tmp_path / "out.csv", "--keep").exit_code == 65
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["input_label"] for row in rows] == ["'=1+1", "b", "\\ud800"]
    assert [row["id"] for row in rows] == ["7", "8", "9"]


@pytest.mark.parametrize("name", ["in.csv", "in.tsv", "in.parquet"])
def test_columns_of_tables_are_kept(project: Project, tmp_path: Path, name: str) -> None:
    """With the types of Parquet; the column that is read as well, and one that holds the ids under another name."""
    when = pd.Timestamp("2026-11-29 03:00")
    frame = pd.DataFrame({"post": ["p1", "p2"], "body": ["an array", "a sum"], "day": [when, when], "n": [1, 2]})
    source, back = tmp_path / name, tmp_path / "out.parquet"
    frame.to_parquet(source) if name.endswith("parquet") else frame.to_csv(
        source, index=False, sep="\t" if name.endswith("tsv") else ","
    )
    columns = ["--columns", "text=body", "--columns", "id=post"]
    for out in (back, tmp_path / "out.csv", tmp_path / "out.jsonl"):
        done = run(model(project, CLASS), source, *columns, "-o", out, "--keep")
        assert done.exit_code == 0, done.output
    table = pd.read_parquet(back)
    assert [*table][:5] == ["id", "post", "body", "day", "n"]
    assert table["id"].tolist() == table["post"].tolist() == ["p1", "p2"]
    if name.endswith("parquet"):
        assert frame.equals(table[[*frame]])
    else:
        assert table["n"].tolist() == ["1", "2"]
    assert read(tmp_path / "out.jsonl")[1]["day"] == str(when)
    assert pd.read_csv(tmp_path / "out.csv")["body"].tolist() == frame["body"].tolist()


@pytest.mark.parametrize("task", [ANSWER, SPANS, PAIR])
def test_rows_of_every_kind_are_kept(project: Project, tmp_path: Path, out: Path, task: str) -> None:
    rows = rows_of(project, task)[:3]
    for row, one in zip(rows, answered(project, task, rows, out, "--keep"), strict=True):
        assert all(value in (one.get(name), one.get(f"input_{name}")) for name, value in row.items())


def test_a_table_of_stdin_keeps_nothing(project: Project, tmp_path: Path) -> None:
    """Its columns are known when it was read, and it cannot be read again."""
    done = run(model(project, CLASS), "-", "--format", "jsonl", "-o", tmp_path / "out.csv", "--keep")
    assert (done.exit_code, "AB-111 --keep: stdin is read once" in done.stderr) == (78, True)


def test_ids_that_look_like_formulas(project: Project, tmp_path: Path, out: Path) -> None:
    """They are reported on stderr, once; a program reads the other formats."""
    rows, table = [{"id": "=1+1", "text": "a"}, {"id": "-", "text": "b"}], tmp_path / "out.csv"
    assert [row["id"] for row in answered(project, CLASS, rows, out)] == ["=1+1", "-"]
    done = run(model(project, CLASS), out.with_name("in.jsonl"), "-o", table)
    assert (done.exit_code, done.stderr.count("apostrophe")) == (0, 1), done.output
    assert f"{table}: cells that a spreadsheet would run as formulas" in done.stderr
    assert [line.split(",")[0] for line in table.read_text().splitlines()] == ["id", "'=1+1", "-"]


@pytest.mark.parametrize(("rows", "is_said"), [(20, True), (19, False)])
def test_a_model_that_gives_one_answer_is_said_once(
    project: Project, tmp_path: Path, out: Path, rows: int, is_said: bool
) -> None:
    """Many rows that are answered alike, over batches; a row that has no answer says nothing."""
    row, other = ({"text": text} for text in ("an array", ""))
    done = run(model(project, CLASS), json_lines(tmp_path / "in.jsonl", [other, *[row] * rows]), "-o", out)
    assert done.stderr.count(f"gives all {rows} rows the same answer") == int(is_said)


def test_progress_is_told_of_batches_so_that_the_time_left_is_known(
    project: Project, tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first row of a batch comes as late as the last, and says nothing of the speed."""
    monkeypatch.setattr("adaptbert.runtime.progress.LINE_SECONDS", -1.0)
    source = json_lines(tmp_path / "in.jsonl", rows_of(project, CLASS))
    said = run(model(project, CLASS), source, "-o", out).stderr
    shown = re.findall(r"(\d+)/150 rows  [\d,.]+ rows/s  \d+:\d\d left", said)
    assert shown == ["128", "150"]
    assert "same answer" not in said


def test_stdin_to_stdout(
    project: Project, out: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def pipe(content: str, kind: Format) -> None:
        reader, writer = os.pipe()
        os.write(writer, content.encode())
        os.close(writer)
        with os.fdopen(reader) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            predict(model(project, CLASS), Path("-"), kind=kind)

    pipe("".join(json.dumps(row) + "\n" for row in rows_of(project, CLASS)), "jsonl")
    said = capfd.readouterr()
    assert without_ids([json.loads(line) for line in said.out.splitlines()]) == expected(project, CLASS, out)
    lines = said.err.splitlines()
    assert lines[-1].startswith(f"  {ROWS[2]} rows  ")
    assert [line for line in lines if not re.match(r"  \d+ rows  ", line)] == [], "progress, and nothing else"
    with pytest.raises(BadData, match="AB-017 stdin: nothing came in"):
        pipe("", "txt")
    assert capfd.readouterr().out == ""


def test_a_reader_that_goes_away(project: Project, tmp_path: Path) -> None:
    """`| head -1`: no traceback. Rows of the user are no messages, in which an address would have `***`."""
    rows = [{"text": "an array of values " * 9, "id": f"http://me:pw@host/x?sig={n}"} for n in range(3000)]
    source = json_lines(tmp_path / "in.jsonl", rows)
    command = f"{sys.executable} -m adaptbert.cli predict {model(project, CLASS)} {source} | head -n 1; "
    done = subprocess.run(["bash", "-c", command + "echo ${PIPESTATUS[0]}"], capture_output=True, text=True, cwd=ROOT)
    first, code = done.stdout.splitlines()
    assert (json.loads(first)["id"], code) == (rows[0]["id"], "141")
    assert ("Error" in done.stderr, "Traceback" in done.stderr) == (False, False)


# ---- refusals: one message, an exit code, and nothing written

CUT = gzip.compress(b'{"text": "a"}\n' * 9, mtime=0)[:-9]
WHICH = "say which column it is: --columns"
pq.write_table(pa.table([["a"], ["b"]], ["text", "text"]), TWICE := pa.BufferOutputStream())
UNREADABLE: list[tuple[str, bytes | None, str, str]] = [
    ("in.jsonl", b"", "", "AB-017"),
    ("in.parquet", b"PAR1", "", "AB-038"),
    ("in.jsonl.gz", CUT, "", "AB-038"),
    ("in.doc", b"text", "", "AB-050 {}: the name tells no known format\n  known: "),
    ("folder", None, "", "AB-050 {}: not a readable regular file\n  name a file"),
    ("nowhere.jsonl", None, "", "AB-050 {}: cannot be read: No such file or directory\n"),
    ("in.parquet", TWICE.getvalue().to_pybytes(), "", "AB-056 {}: column 'text' twice\n  rename one of the two"),
    ("in.csv", b"id,content\na,x\n", "", f"found id, content\n  {WHICH} text=content"),
    ("in.csv", b"id,my posts\na,x\n", "", f"found id, my posts\n  {WHICH} 'text=my posts'"),
    ("in.csv", b"Text,b\nx,x\n", "", f"(did you mean 'Text'?)\n  {WHICH} text=Text"),
    ("in.csv", b"a,b\nx,x\n", "", f"AB-056 {{}}:1: column 'text' missing; found a, b\n  {WHICH} text=NAME"),
    ("in.csv", b"a,b\nx,x\n", "--columns text=c", f"column 'c' missing; found a, b\n  {WHICH} "),
    (
        "in.csv",
        b"It was good of them\nnot at all\n",
        "",
        "AB-056 {}:1: this file seems to have no header\n  put a line",
    ),
    ("in.txt", "text".encode("utf-16"), "", "AB-001 {}: file is UTF-16\n  name the encoding: --encoding, e.g. utf-16"),
    ("in.csv", b"text,b\nx,x\n", "--columns id=post", f"found text, b\n  {WHICH} id="),
]
"""The remedy can be typed: there is no `columns` of params.yaml here."""
GOOD = b'{"context": "a", "question": "b"}\n'
UNFIT = [
    ("in.jsonl", "--columns text", "AB-111 --columns: 'text' is no pair"),
    ("in.jsonl", "--columns label=x", "AB-111 --columns: 'label' is not an input of"),
    ("in.jsonl", "--format conll", "AB-111 --format: 'conll' holds no"),
    ("in.jsonl", "--encoding utf-99", "AB-111 --encoding: "),
    ("in.jsonl", "--precision 16", "AB-111 precision: '16' is unknown"),
    *(("-", f"--format {kind}", f"AB-111 --format: '{kind}' cannot be") for kind in ("squad", "parquet")),
    ("-", "", "AB-111 --format: stdin has no name that shows its format"),
]
NO_MODEL = "AB-128 {0}/model.safetensors: is a file, and a checkpoint is a folder\n  name its folder: {0}"
REFUSED: list[tuple[str, str, bytes | None, str, int, str]] = [
    *((CLASS, name, content, options, 65, said) for name, content, options, said in UNREADABLE),
    *((ANSWER, name, GOOD, options, 78, said) for name, options, said in UNFIT),
    ("nowhere", "in.jsonl", GOOD, "", 65, "AB-128"),
    ("../pretrain", "in.jsonl", GOOD, "", 65, "AB-181"),
    (f"{CLASS}-general/model.safetensors", "in.jsonl", GOOD, "", 65, NO_MODEL),
]
"""A model, a file with its content and options -> the exit code, and a part of the message."""


@pytest.mark.parametrize(("named", "name", "content", "options", "code", "said"), REFUSED)
def test_what_is_refused(
    project: Project,
    tmp_path: Path,
    out: Path,
    named: str,
    name: str,
    content: bytes | None,
    options: str,
    code: int,
    said: str,
) -> None:
    (tmp_path / "folder").mkdir()
    source = tmp_path / name if name != "-" else name
    if content is not None and isinstance(source, Path):
        source.write_bytes(content)
    folder = model(project, named) if named in KINDS else project.root / "models/finetune" / named
    done = run(folder, source, "-o", out, *options.split())
    assert (done.exit_code, "Traceback" in done.stderr) == (code, False), done.output
    (message,) = [line for line in messages_in(done.stderr) if line.startswith("error: ")]
    assert said.format(folder.parent if folder.suffix else source) in message
    assert not out.exists()
    assert list(tmp_path.glob(".*part")) == []


def test_a_header_and_no_rows_is_a_table_of_none(project: Project, tmp_path: Path, out: Path) -> None:
    (tmp_path / "in.csv").write_text("text\n")
    assert answered(project, CLASS, tmp_path / "in.csv", out) == []


def test_outputs_that_cannot_be(project: Project, tmp_path: Path) -> None:
    source = json_lines(tmp_path / "in.jsonl", [{"text": "a"}])
    (tmp_path / "folder.csv").mkdir()
    undecodable = tmp_path / os.fsdecode(b"o\xff.parquet")
    outs = {source: 78, tmp_path / "folder.csv": 78, tmp_path / "out.xls": 78, undecodable: 65, source / "out.csv": 74}
    for out, code in outs.items():
        done = run(model(project, CLASS), source, "-o", out)
        assert (done.exit_code, "Traceback" in done.output) == (code, False)
    assert source.exists()
    command = f"{sys.executable} -m adaptbert.cli predict {model(project, CLASS)} {source} >&-"
    closed = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT)
    assert (closed.returncode, closed.stderr) == (78, "error: AB-111 -: stdout is closed\n  name a file: -o FILE\n")
    assert (tmp_path / "folder.csv").is_dir()
