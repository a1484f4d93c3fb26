"""The file that the README shows as all that a user writes: planned and checked as it stands, and the whole recipe
runs with it, from a small base in models/init."""

import gzip
import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from adaptbert.config.plan import read
from tests.support import followed_page, tiny
from tests.support.commands import run
from tests.support.markdown import blocks
from tests.support.project import Project, clone

BASE = "google-bert/bert-base-chinese"
(OWN,) = [block.text for block in blocks("README.md") if "corpora:" in block.text]
ARMS = ("general", "general_long", "domain", "task", "domain_task")


def own_files(folder: Path) -> None:
    """Those that the file names, with few rows."""
    for name, column, kind in (("news", "text", "general"), ("posts", "content", "domain")):
        rows = [json.dumps({column: text}) for text in tiny.sentences(kind, 200)]
        with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as packed:
            packed.write("\n".join(rows) + "\n")
    for seed, (split, count) in enumerate((("train", 60), ("dev", 24), ("test", 24)), 1):
        followed_page.labelled(folder / f"mood.{split}.csv", ("content", "emotion"), count, seed)


@pytest.mark.parametrize("base", [BASE, "models/init/bert"])
def test_it_is_planned_and_checked_as_it_stands(own: Path, project: Path, base: str) -> None:
    own_files(own)
    if base != BASE:
        followed_page.checkpoint(project / base, tiny.tokenizer())
    (project / "params.yaml").write_text(OWN.replace(BASE, base), encoding="utf-8")
    planned = run("plan")
    summary = "plan.json: 13 checkpoints and 13 cells; `dvc status` lists what will run"
    assert (planned.exit_code, planned.output.splitlines()[-1]) == (0, summary)
    name = "base" if base == BASE else "bert"
    assert [*read(project / "plan.json").finetune] == [
        f"mood-general-{name}",
        *(f"mood-{arm}-{name}-{replicate}" for arm in ARMS[1:] for replicate in (1, 2, 3)),
    ]
    done = run("check")
    assert (done.exit_code, "notice" in done.output, done.stderr) == (0, False, "")
    assert done.output.startswith("params.yaml: "), done.output


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_its_whole_recipe(tmp_path: Path) -> None:
    """With the values made small, from a base with the vocabulary of its files; run and read by the notebook."""
    project: Project = clone(tmp_path / "clone", tmp_path)
    (project.root / "data/own").mkdir()
    own_files(project.root / "data/own")
    followed_page.checkpoint(project.root / "models/init/bert", followed_page.tokenizer(150))
    document = YAML(typ="safe", pure=True).load(OWN.replace(BASE, "models/init/bert"))
    followed_page.write(project, followed_page.small(document))
    done = project.run("examples.notebook", timeout=1500)
    assert done.returncode == 0, done.stdout
    assert "torch.Size([1, " in done.stdout, done.stdout
    metrics = json.loads((project.root / "metrics/metrics.json").read_text(encoding="utf-8"))
    assert {*ARMS} <= {*metrics["mood"]["bert"]}
