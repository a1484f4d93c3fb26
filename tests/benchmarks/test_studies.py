"""A study is prepared from its sets, run to its end, gone on with, and what it found is kept.

The sets and the public base are not part of the project; sentences and tiny weights stand in for them.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import studies
from tests.support import tiny

NAME = "minilm_domain"
FLOW = """
from pathlib import Path
import sys
folder = Path("metrics")
folder.mkdir(exist_ok=True)
if not (folder / "comparison.json").is_file():
    print("10:00:00  pretrain@minilm: done (3 s; 1 of 2)")
    (folder / "comparison.json").write_text('{"tasks": []}')
    sys.exit(75)
print("10:00:00  finetune@a-b-minilm: macro-F1 6.1 (seeds 6.1 6.2), 1 of 2 runs failed (4 s; 1 of 1)")
print("10:00:00  pretrain@minilm: nothing to do, as it is (2 s; 1 of 1)")
print(sys.argv[1:])
"""
TASK: dict[str, Any] = {
    "name": "a",
    "metric": "f1_macro",
    "baselines": {"tfidf_logistic": {"mean": 0.5}},
    "arms": [{"name": "general", "interval": {"mean": 0.6}}, {"name": "domain", "interval": None}],
}


def write(file: Path, rows: list[dict[str, Any]]) -> None:
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps({"id": f"{file.name}-{n}", **row}) + "\n" for n, row in enumerate(rows))


def test_prepared(tmp_path: Path) -> None:
    data, project = tmp_path / "data", tmp_path / "project"
    data.mkdir()
    for seed, file in enumerate(studies.BIOMEDICAL):
        write(data / file, [{"text": text} for text in tiny.sentences("general", studies.SMOKE_ROWS + 20, seed)])
    for seed, split in enumerate(("train", "dev", "test")):
        texts = tiny.sentences("domain", studies.SMOKE_ROWS + 20, seed)
        for task in ("chemprot", "rct_sections"):
            labelled = [{"text": f"{task} {text}", "label": "ab"[n % 2]} for n, text in enumerate(texts)]
            write(data / f"en_task_{task}.{split}.jsonl.gz", labelled)
        words = [{"tokens": text.split(), "tags": ["B-GENE", *"O" * (len(text.split()) - 1)]} for text in texts]
        write(data / f"en_ner_bc2gm.{split}.jsonl.gz", words)
    tiny.public(tmp_path / "weights")
    studies.prepare(NAME, data, project, tmp_path / "weights", is_smoke=True)
    planned = json.loads((project / "plan.json").read_text("utf-8"))["plan"]
    assert len(planned["finetune"]) == 3 * 4, "tasks and arms, of one replicate"
    assert (project / "models/init/minilm/model.safetensors").is_file()
    rows = {path.name: gzip.decompress(path.read_bytes()).count(b"\n") for path in (project / "data/own").glob("*.gz")}
    assert {count for name, count in rows.items() if "train" not in name} == {studies.SMOKE_ROWS}
    assert {count for name, count in rows.items() if "train" in name} == {studies.SMOKE_ROWS + 20}


def test_run_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project, out = tmp_path / "project", tmp_path / "project.found"
    for file in ("flows/__init__.py", "data/own/set", *studies.FOUND[1:]):
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).touch()
    (project / "flows/recipe.py").write_text(FLOW, encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["studies", NAME, "--project", str(project), "--run", "--jobs", "3"])
    monkeypatch.setattr("signal.signal", lambda *_: None)
    for status in (75, 0):
        with pytest.raises(SystemExit) as ended:
            studies.main()
        assert ended.value.code == status
        last = capsys.readouterr().out.splitlines()[-1]
        assert last.startswith(f"{out}: ")
        assert (f"the report is {out}/index.html" in last) is (status == 0)
        if status:
            assert not (out / "comparison.json").exists(), "it is of an earlier run"
            (project / "metrics/comparison.json").write_text(json.dumps({"tasks": [TASK]}), encoding="utf-8")
    facts = json.loads((out / studies.SUMMARY).read_text("utf-8"))
    assert facts["seconds"] == {"pretrain@minilm": 3, "finetune@a-b-minilm": 4}
    assert facts["steps"] == {"pretrain": 3, "finetune": 4}
    assert facts["scores"]["a"] == {"metric": "f1_macro", "tfidf_logistic": 0.5, "general": 0.6, "domain": None}
    assert {path.name for path in out.iterdir()} == {
        *(Path(file).name for file in studies.FOUND),
        "flow.log",
        "summary.json",
    }
    assert "['--jobs', '3']" in (out / studies.LOG).read_text("utf-8")


@pytest.mark.parametrize("more", [[], ["--run"], ["--data", "."]])
def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]) -> None:
    monkeypatch.setattr("sys.argv", ["studies", NAME, "--project", str(tmp_path / "nowhere"), *more])
    with pytest.raises(SystemExit) as ended:
        studies.main()
    assert ended.value.code == 2
