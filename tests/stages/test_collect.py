"""The stages collect and collect_task as DVC runs them: a process, a params.yaml, exit codes."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from adaptbert.config import load as params
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.sources import Task
from adaptbert.core.files import read_json
from adaptbert.data import labelled_set
from adaptbert.errors import BadData
from stages.collect import collect
from stages.collect_task import collect_task
from tests.support import stores
from tests.support.tiny import folder_bytes, no_record

ROOT = Path(__file__).parents[2]
TRACKED = 2_600
"""Most modules that a stage without torch has loaded at its end, a tenth above what was counted."""


def test_a_corpus_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlflow_tables: bytes) -> None:
    """With the real params.yaml, but for one section; a bad file leaves the output of the run before."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stages").symlink_to(ROOT / "stages")
    (tmp_path / "mlflow.db").write_bytes(mlflow_tables)
    document = params.read(ROOT / "params.yaml")
    document["corpora"]["domain"] = {"path": "posts.csv", "columns": {"text": "content"}}
    (tmp_path / "params.yaml").write_text(json.dumps(document), encoding="utf-8")
    posts, out = tmp_path / "posts.csv", tmp_path / "data/raw/corpora/domain"
    posts.write_bytes(b"content,n\none,1\nb\xe9d,2\nthree,3\n")
    command = [sys.executable, "-X", "importtime", "-m", "stages.collect", "--corpus", "domain", "--out", str(out)]
    done = subprocess.run(command, env=stores.environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("import time:") <= TRACKED
    assert "domain: 2 documents, 8 characters" in done.stdout
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", "text.parquet", "unreadable.parquet"]
    assert pq.read_table(out / "text.parquet")["text"].to_pylist() == ["one", "three"]
    manifest = read_json(out / "manifest.json")
    assert (manifest["demonstration"], manifest["rows_in"]) == (False, 3)
    assert str(tmp_path) not in json.dumps(manifest)
    before = folder_bytes(tmp_path / "data")
    posts.write_text("Text,n\none,1\n", encoding="utf-8")
    with pytest.raises(BadData, match=r"(?s)AB-056 posts.csv:1: column 'content' missing; .*in corpora.domain.columns"):
        collect(Recipe(document).corpora["domain"], corpus="domain", out=out, run=no_record())
    assert folder_bytes(tmp_path / "data") == before


def test_a_labelled_set_of_one_file_is_cut_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.INFO)
    rows = [{"text": f"@{number}", "label": number % 2, "author": f"a{number // 3}"} for number in range(90)]
    (tmp_path / "all.jsonl").write_text("\n".join([*map(json.dumps, rows), '{"text": "cut']), encoding="utf-8")
    paths = dict.fromkeys(("train", "dev", "test"), "all.jsonl")
    named = {"labels": ["zero", "1"], "replace": [["@", "text "]], "map_labels": {"0": "zero"}}
    split = {"dev": 0.2, "test": 0.3}
    section = {"type": "text-classification", **paths, **named, "split": split, "columns": {"group": "author"}}
    out = tmp_path / "section"
    collect_task(Task.model_validate(section), task="section", out=out, run=no_record())
    assert "section: no splits of their own: test 0.3, dev 0.2, by_hash_of author" in caplog.messages
    manifest = read_json(out / "manifest.json")
    assert (manifest["task"], manifest["split"]) == (section, {**split, "by_hash_of": "author"})
    assert (sum(manifest["rows"].values()), sum(manifest["rows_in"].values())) == (90, 91)
    read = {split: pq.read_table(out / f"{split}.parquet").to_pylist() for split in paths}
    authors = [{(row["line"] - 1) // 3 for row in rows_of_split} for rows_of_split in read.values()]
    assert sum(map(len, authors)) == len(set().union(*authors)) == 30
    first = read["test"][0]
    number = first["line"] - 1
    assert first == {"id": f"train-{number + 1}", "text": f"text {number}", "label": ["zero", "1"][number % 2],
                     "file": "all.jsonl", "line": number + 1}  # fmt: skip
    groups = {row["id"]: f"a{(row['line'] - 1) // 3}" for row in read["test"]}
    assert labelled_set.test_groups(out) == groups, "the comparison draws the test rows of an author together"
    (bad,) = pq.read_table(out / "unreadable.parquet").to_pylist()
    assert (bad["id"], bad["split"], bad["code"]) == ("train-91", "train", 44)
