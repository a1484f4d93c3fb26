"""`adaptbert predict` between any two files, or in a pipe."""

import csv
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.cells import Project
from tests.support.imports import ROOT
from tests.support.predicting import ANSWER, CLASS, KINDS, ROWS, SPANS, json_lines, model, piped, read, rows_of, run

TASKS = {task: kinds for task, kinds in KINDS.items() if kinds[0] != "sentence_pair"}
"""A table of pairs has the columns of one of sentences."""


def expected(project: Project, task: str, tmp_path: Path) -> list[dict[str, Any]]:
    """The answers to the test set, without ids."""
    out = tmp_path / "expected.jsonl"
    assert run(model(project, task), project.root / "data" / task / "test.parquet", "-o", out).exit_code == 0
    return without_ids(read(out))


def without_ids(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "id"} for row in rows]


# ---- in


@pytest.mark.parametrize("name", ["in.txt", "in.csv", "in.parquet", "in.jsonl.gz"])
def test_every_format_of_texts(project: Project, tmp_path: Path, name: str) -> None:
    texts = [row["text"] for row in rows_of(project, CLASS)]
    columns: list[str] = []
    path = tmp_path / name
    if ".txt" in name:
        content = "\n".join(texts)
    elif name == "in.csv":
        content, columns = "note,content\n" + "".join(f'x,"{text}"\n' for text in texts), ["--columns", "text=content"]
    else:
        content = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    if name == "in.parquet":
        pq.write_table(pa.table({"unused": range(len(texts)), "text": texts}), path)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(content.encode()))
    else:
        path.write_text(content, encoding="utf-8")
    out = tmp_path / "out.jsonl"
    done = run(model(project, CLASS), path, "-o", out, *columns)
    assert done.exit_code == 0, done.output
    assert without_ids(read(out)) == expected(project, CLASS, tmp_path)
    first = 2 if name == "in.csv" else 1
    assert [row["id"] for row in read(out)] == [str(first + n) for n in range(len(texts))], "numbers of lines"


@pytest.mark.parametrize("task", [CLASS, SPANS])
def test_a_blank_line_is_a_row(project: Project, tmp_path: Path, task: str) -> None:
    """`paste` puts answers beside the lines of the file."""
    (tmp_path / "in.txt").write_text("one\n\ntwo\n \t\n", encoding="utf-8")
    done = run(model(project, task), tmp_path / "in.txt", "-o", tmp_path / "out.jsonl")
    assert done.exit_code == 65
    answers = [(row["id"], row.get("error", "")[:6]) for row in read(tmp_path / "out.jsonl")]
    assert answers == [("1", ""), ("2", "AB-041"), ("3", ""), ("4", "AB-041")]


def test_ids_stay_or_are_mapped(project: Project, tmp_path: Path) -> None:
    source = json_lines(tmp_path / "in.jsonl", [{"id": 7, "post": "p-1", "text": "a"}, {"post": "p-2", "text": "b"}])
    for columns, ids in ([], ["7", "2"]), (["--columns", "id=post"], ["p-1", "p-2"]):
        assert run(model(project, CLASS), source, "-o", tmp_path / "out.jsonl", *columns).exit_code == 0
        assert [row["id"] for row in read(tmp_path / "out.jsonl")] == ids


def test_ids_that_are_numbers(project: Project, tmp_path: Path) -> None:
    """pandas makes 3.0 of a 3 in a column where another is missing; nothing takes the place of an id in silence."""
    ids: list[Any] = [3.0, 2.5, 7, None, float("nan"), ["x"]]
    source = json_lines(tmp_path / "in.jsonl", [{"id": one, "text": "a"} for one in ids])
    done = run(model(project, CLASS), source, "-o", tmp_path / "out.jsonl")
    answers = read(tmp_path / "out.jsonl")
    assert [row["id"] for row in answers] == ["3", "2.5", "7", "4", "5", "6"]
    assert [row.get("error", "")[:6] for row in answers] == [""] * 5 + ["AB-056"], done.output


@pytest.mark.parametrize("rest", ["", "\tNN\tB-NP\tO"])
def test_conll_with_and_without_tags(project: Project, tmp_path: Path, rest: str) -> None:
    source = tmp_path / "in.conll"
    source.write_text("\n".join("".join(f"{t}{rest}\n" for t in row["tokens"]) for row in rows_of(project, SPANS)))
    out = tmp_path / "out.jsonl"
    done = run(model(project, SPANS), source, "-o", out)
    assert done.exit_code == 0, done.output
    assert without_ids(read(out)) == expected(project, SPANS, tmp_path)


def test_texts_to_tag_are_cut_into_words(project: Project, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("The shape of an estimator, 好的。\n", encoding="utf-8")
    assert run(model(project, SPANS), tmp_path / "in.txt", "-o", tmp_path / "out.jsonl").exit_code == 0
    (answered,) = read(tmp_path / "out.jsonl")
    assert len(answered["tags"]) == len(["The", "shape", "of", "an", "estimator", ",", "好", "的", "。"])


def test_squad_without_answers(project: Project, tmp_path: Path) -> None:
    rows = rows_of(project, ANSWER)
    questions = [{"id": row["id"], "question": row["question"]} for row in rows]
    paragraphs = [{"context": row["context"], "qas": [q]} for row, q in zip(rows, questions, strict=True)]
    content = {"data": [{"title": "t", "paragraphs": paragraphs}]}
    (tmp_path / "in.json").write_text(json.dumps(content), encoding="utf-8")
    out = tmp_path / "out.jsonl"
    done = run(model(project, ANSWER), tmp_path / "in.json", "-o", out, "--format", "squad")
    assert done.exit_code == 0, done.output
    assert [row["id"] for row in read(out)] == [row["id"] for row in rows]
    assert without_ids(read(out)) == expected(project, ANSWER, tmp_path)


@pytest.mark.parametrize("kind", ["squad", "parquet", "label_studio"])
def test_what_cannot_come_from_stdin_says_so(project: Project, kind: str) -> None:
    done = run(model(project, ANSWER), "-", "--format", kind)
    assert (done.exit_code, f"AB-111 --format: '{kind}' cannot be read from stdin" in done.stderr) == (78, True)


# ---- out


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_every_table_says_what_json_says(project: Project, tmp_path: Path, task: str, suffix: str) -> None:
    source = json_lines(tmp_path / "in.jsonl", [*rows_of(project, task)[:5], {"id": "bad"}])
    outs = [tmp_path / f"out.{kind}" for kind in ("jsonl", suffix)]
    for out in outs:
        assert run(model(project, task), source, "-o", out, "--probabilities").exit_code == 65
    rows = read(outs[0])
    assert rows[-1]["error"].startswith("AB-056")
    if suffix == "parquet":
        table = pq.read_table(outs[1]).to_pylist(maps_as_pydicts="strict")
    else:
        with outs[1].open(encoding="utf-8", newline="") as file:
            table = [{name: cell or None for name, cell in row.items()} for row in csv.DictReader(file)]
        rows = [{name: as_cell(value) for name, value in row.items()} for row in rows]
    names = set(table[0])
    assert names >= {"id", "error"}
    assert table == [{**dict.fromkeys(names), **row} for row in rows]


def as_cell(value: Any) -> str | None:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return None if value in (None, "") else str(value)


def test_a_table_for_excel(project: Project, tmp_path: Path) -> None:
    source = json_lines(tmp_path / "in.jsonl", [{"id": "好", "text": "a"}])
    for options in ([], ["--bom"]):
        assert run(model(project, CLASS), source, "-o", tmp_path / f"out{len(options)}.csv", *options).exit_code == 0
    plain, marked = ((tmp_path / f"out{n}.csv").read_bytes() for n in (0, 1))
    assert (plain[:2], marked) == (b"id", b"\xef\xbb\xbf" + plain)


def test_stdin_to_stdout(project: Project, tmp_path: Path) -> None:
    rows = "".join(json.dumps(row) + "\n" for row in rows_of(project, CLASS))
    done = piped(model(project, CLASS), "-", "--format", "jsonl", stdin=rows.encode())
    assert done.returncode == 0, done.stderr
    assert without_ids([json.loads(line) for line in done.stdout.splitlines()]) == expected(project, CLASS, tmp_path)
    lines = done.stderr.decode().splitlines()
    assert lines[-1].startswith(f"  {ROWS[2]} rows  ")
    assert [line for line in lines if not re.match(r"  \d+ rows  ", line)] == [], "progress, and nothing else"


def test_a_reader_that_goes_away(project: Project, tmp_path: Path) -> None:
    """`| head -1`: no traceback."""
    source = json_lines(tmp_path / "in.jsonl", [{"text": "an array of values " * 9, "id": str(n)} for n in range(9000)])
    command = f"{sys.executable} -m adaptbert.cli predict {model(project, CLASS)} {source} | head -n 1; "
    done = subprocess.run(["bash", "-c", command + "echo ${PIPESTATUS[0]}"], capture_output=True, text=True, cwd=ROOT)
    first, code = done.stdout.splitlines()
    assert json.loads(first)["id"] == "0"
    assert code == "141"
    assert "Error" not in done.stderr
    assert "Traceback" not in done.stderr


def test_ids_that_look_like_formulas(project: Project, tmp_path: Path) -> None:
    """They are reported on stderr, once; a program reads the other formats."""
    source = json_lines(tmp_path / "in.jsonl", [{"id": "=1+1", "text": "a"}, {"id": "-", "text": "b"}])
    done = run(model(project, CLASS), source, "-o", tmp_path / "out.csv")
    assert (done.exit_code, done.stderr.count("apostrophe")) == (0, 1), done.output
    assert f"{tmp_path / 'out.csv'}: cells that a spreadsheet would run as formulas" in done.stderr
    assert [line.split(",")[0] for line in (tmp_path / "out.csv").read_text().splitlines()] == ["id", "'=1+1", "-"]
    done = run(model(project, CLASS), source, "-o", tmp_path / "out.jsonl")
    assert ([row["id"] for row in read(tmp_path / "out.jsonl")], "apostrophe" in done.stderr) == (["=1+1", "-"], False)
