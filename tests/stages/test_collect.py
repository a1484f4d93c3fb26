"""The stages collect and collect_task as DVC runs them: a process, a params.yaml, exit codes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from adaptbert.config import load as params
from adaptbert.data import labelled_set
from tests.support.messages import messages_in
from tests.support.rules import errors

ROOT = Path(__file__).parents[2]
RunStage = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One MLflow store for all processes: its tables take seconds to make."""
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow') / 'mlflow.db'}"


@pytest.fixture
def run(tmp_path: Path, store: str) -> RunStage:
    """Run a stage in a folder of its own, with the real params.yaml in which one section is another."""
    (tmp_path / "stages").symlink_to(ROOT / "stages")

    def call(stage: str, key: str, section: dict[str, Any], out: str) -> subprocess.CompletedProcess[str]:
        document = params.read(ROOT / "params.yaml")
        named, kind = {"collect": ("corpus", "corpora"), "collect_task": ("task", "tasks")}[stage]
        document[kind][key] = section
        (tmp_path / "params.yaml").write_text(json.dumps(document), encoding="utf-8")
        options = [part for name, value in {named: key, "out": out}.items() for part in (f"--{name}", value)]
        command = [sys.executable, "-m", f"stages.{stage}", *options]
        environment = {**os.environ, "MLFLOW_TRACKING_URI": store, "PYTHONWARNINGS": "ignore"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)

    return call


def test_a_corpus_of_the_user(run: RunStage, tmp_path: Path) -> None:
    (tmp_path / "posts.csv").write_bytes(b"content,n\none,1\nb\xe9d,2\nthree,3\n")
    section = {"path": "posts.csv", "columns": {"text": "content"}}
    done = run("collect", "domain", section, out="data/raw/corpora/domain")
    assert done.returncode == 0, done.stderr
    assert "domain: 2 documents, 8 characters" in done.stdout
    out = tmp_path / "data/raw/corpora/domain"
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", "text.parquet", "unreadable.parquet"]
    assert pq.read_table(out / "text.parquet")["text"].to_pylist() == ["one", "three"]
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["demonstration"], manifest["rows_in"]) == (False, 3)
    assert str(tmp_path) not in json.dumps(manifest)


def test_a_bad_file_stops_with_one_line_and_leaves_nothing(run: RunStage, tmp_path: Path) -> None:
    (tmp_path / "posts.csv").write_text("Text,n\none,1\n", encoding="utf-8")
    before = tmp_path / "data/raw/corpora/domain"
    before.mkdir(parents=True)
    (before / "text.parquet").write_bytes(b"of the run before")
    section = {"path": "posts.csv"}
    done = run("collect", "domain", section, out="data/raw/corpora/domain")
    assert done.returncode == 65
    lines = [line for line in messages_in(done.stderr) if line.startswith("error:")]
    assert lines == [
        "error: AB-056 posts.csv:1: column 'text' missing; found Text, n (did you mean 'Text'?)\n  "
        "rename it or map it in corpora.domain.columns"
    ]
    assert "Traceback" not in done.stderr
    assert [path.name for path in (tmp_path / "data/raw/corpora").iterdir()] == ["domain"]
    assert (before / "text.parquet").read_bytes() == b"of the run before"


def test_a_labelled_set_of_one_file_is_cut_and_says_so(run: RunStage, tmp_path: Path) -> None:
    rows = [{"text": f"@{number}", "label": number % 2, "author": f"a{number // 3}"} for number in range(90)]
    lines = [*map(json.dumps, rows), '{"text": "cut']
    (tmp_path / "all.jsonl").write_text("\n".join(lines), encoding="utf-8")
    paths = dict.fromkeys(("train", "dev", "test"), "all.jsonl")
    section = {
        "type": "text-classification", **paths, "labels": ["0", "1"], "replace": [["@", "text "]],
        "split": {"dev": 0.2, "test": 0.3}, "columns": {"group": "author"},
    }  # fmt: skip
    done = run("collect_task", "section", section, out="data/raw/tasks/section")
    assert done.returncode == 0, done.stderr
    assert "section: no splits of their own: test 0.3, dev 0.2, by_hash_of author" in done.stdout
    out = tmp_path / "data/raw/tasks/section"
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["split"] == {"dev": 0.2, "test": 0.3, "by_hash_of": "author"}
    assert (manifest["shape"], manifest["labels"], manifest["replace"]) == (
        "single_sentence",
        ["0", "1"],
        [["@", "text "]],
    )
    assert (sum(manifest["rows"].values()), sum(manifest["rows_in"].values())) == (90, 91)
    read = {split: pq.read_table(out / f"{split}.parquet").to_pylist() for split in paths}
    authors = [{(row["line"] - 1) // 3 for row in rows_of_split} for rows_of_split in read.values()]
    assert sum(map(len, authors)) == len(set().union(*authors)) == 30
    first = read["test"][0]
    number = first["line"] - 1
    assert first == {"id": f"train-{number + 1}", "text": f"text {number}", "label": str(number % 2),
                     "file": "all.jsonl", "line": number + 1}  # fmt: skip
    groups = {row["id"]: f"a{(row['line'] - 1) // 3}" for row in read["test"]}
    assert labelled_set.test_groups(out) == groups, "the comparison draws the test rows of an author together"
    (bad,) = pq.read_table(out / "unreadable.parquet").to_pylist()
    assert (bad["id"], bad["split"], bad["code"]) == ("train-91", "train", 44)


FILES = {"path": "a.txt"}
TASK = {"type": "text-classification", "train": "a.csv", "dev": "b.csv", "test": "c.csv"}
ANSWERS = {"type": "question-answering", "no_answer": False}
SPANS = {"type": "token-classification", "tag_scheme": "bio"}


@pytest.mark.parametrize(
    ("key", "values", "words"),
    [
        ("corpora", {**FILES, "colums": {}}, "AB-099 .*unknown key 'colums' .did you mean 'columns'"),
        ("corpora", {**FILES, "columns": {"正文": "text"}}, "AB-111 .*'正文' is not a field of a corpus\n"),
        ("tasks", {**TASK, "dev": "a.csv"}, "AB-111 .*same file"),
        ("tasks", {**TASK, "type": "spans"}, "AB-109 .*type: expected 'text-classification', .* found text 'spans'"),
        ("tasks", {k: v for k, v in TASK.items() if k != "type"}, "AB-099 .*type: is missing"),
        ("tasks", {**TASK, "type": "token-classification"}, "AB-111 .*'token-classification' needs 'tag_scheme'\n"),
        ("tasks", {**TASK, "tag_scheme": "bio"}, "AB-111 .*'text-classification' takes no 'tag_scheme'"),
        ("tasks", {**TASK, "tag_scheme": "none"}, "AB-111 .*tag_scheme, and the type is text-classification"),
        ("tasks", {**TASK, "pair": True}, "AB-111 .*pair: true, and the type is text-classification"),
        ("tasks", {**TASK, **SPANS, "format": "doccano", "tag_scheme": "io"}, "AB-111 .*marks characters"),
        ("tasks", {**TASK, **ANSWERS, "no_answer": None}, "AB-111 .*'question-answering' needs 'no_answer'"),
        ("tasks", {**TASK, **ANSWERS, "replace": [["a", "b"]]}, "AB-111 .*offsets must stay aligned"),
        ("tasks", {**TASK, "map_labels": {0: "neg"}}, "AB-109 .*map_labels.0: .* integer 0\n  write it in"),
        ("tasks", {**TASK, "type": "regression", "range": [1.0, 1.0]}, "AB-111 .*1.0 is not below 1.0"),
        ("tasks", {**TASK, "dev": "a.csv", "split": {"dev": 0.6, "test": 0.4}}, "AB-111 .*nothing to train"),
        ("tasks", {**TASK, "split": {}}, "AB-111 .*\n  give a share"),
        ("tasks", {**TASK, "split": {"dev": 0.1}}, "AB-111 .*names a file of its own"),
        ("tasks", {**TASK, "test": "b.csv"}, "AB-111 .*dev and test name the same file"),
        ("corpora", {**FILES, "format": "squad"}, "AB-111 .*is for labelled sets"),
        ("tasks", {**TASK, "columns": {"tokens": "x"}}, "AB-111 .*'tokens' is not a field"),
    ],
)  # fmt: skip
def test_params_that_contradict_each_other(key: str, values: dict[str, Any], words: str) -> None:
    messages = errors(**{f"{key}.x": values})
    assert any(re.match(words.replace(" .*", f" params.yaml: {key}.x.*", 1), line, re.DOTALL) for line in messages), (
        messages
    )


@pytest.mark.parametrize("scheme", ["bio", None])
def test_formats_that_mark_characters_need_no_scheme(scheme: str | None) -> None:
    assert errors(**{"tasks.x": {**TASK, **SPANS, "format": "doccano", "tag_scheme": scheme}}) == []
