"""docs/how-to/share.md, command by command: a project with a remote, own data and a checkpoint; its second clone."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config import load as params
from tests.support import tiny
from tests.support.markdown import blocks
from tests.support.project import clone, write_params

PAGE = "docs/how-to/share.md"
UP_TO_DATE = "Data and pipelines are up to date."
SOURCES = ("corpora", "tasks")
MADE = ("demo/", "smoke/")


class Team:
    """Two people's folders, what they share, and the page's commands run in them one by one; every one must end well.

    When `adaptbert new` has written params.yaml, it is made smaller.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.first = clone(home / "first", home)
        del self.first.env["PREFECT_API_URL"]  # the flow brings its own server
        for seed, (name, count) in enumerate({"news": 300, "posts": 300, "mood": 140}.items()):
            kind = "general" if name == "news" else "domain"
            write(home / f"text/{name}.jsonl.gz", kind, count, seed, labelled=name == "mood")
        write(home / "news.jsonl.gz", "general", 310, 0)
        self.places = {name: home / path for name, path in {
            "DIR": "text", "REMOTE": "remote", "REPOSITORY": "repository", "FILE": "news.jsonl.gz",
        }.items()}  # fmt: skip
        self.places["NAME"] = Path("news.jsonl.gz")
        self.run(f"git init -q --bare {home}/repository; git remote add origin {home}/repository", self.first.root)
        self.run("git push -q --set-upstream origin HEAD", self.first.root)
        for block in blocks(PAGE, "sh"):
            folder = self.first.root
            for line in block.text.splitlines():
                if line.startswith("cd "):
                    folder = home / line.removeprefix("cd ")
                else:
                    self.judged(line, folder)
                    if line.startswith("adaptbert new"):
                        small(folder)

    def judged(self, line: str, folder: Path) -> None:
        """What the page says of its commands."""
        printed = self.run(line, self.home if line.startswith("git clone") else folder)
        if folder.name == "project" and line in ("dvc status", "dvc repro"):
            assert UP_TO_DATE in printed, printed
        if line == "dvc repro --allow-missing":
            assert "Running" not in printed

    def run(self, line: str, folder: Path, refused: bool = False) -> str:
        """What a command printed; it must end well, or be refused."""
        line = re.sub(r"^adaptbert\b", f"{sys.executable} -m adaptbert.cli", line)
        for name, place in self.places.items():
            line = re.sub(rf"\b{name}\b", str(place), line)
        env = {**self.first.env, "PYTHONPATH": str(folder), "PYTHON": sys.executable}
        done = subprocess.run(["bash", "-c", line], cwd=folder, env=env, text=True, capture_output=True)
        assert (done.returncode != 0) == refused, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr


def write(path: Path, kind: str, count: int, seed: int, labelled: bool = False) -> None:
    path.parent.mkdir(exist_ok=True)
    rows = [{"id": name, "text": text} for name, text in tiny.rows(kind, count, seed)]
    if labelled:
        rows = [row | {"label": ("x", "y")[len(row["text"]) % 2]} for row in rows]
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode(), mtime=0))


def contents(folder: Path) -> dict[str, bytes]:
    """Without what DVC writes beside outputs, for git, and what everybody makes of installed packages."""
    files = tiny.folder_bytes(folder).items()
    return {name: data for name, data in files if ".gitignore" not in name and not name.startswith(MADE)}


def small(folder: Path) -> None:
    """As small as `smoke`, and on from the checkpoint in models/init/bert."""
    own, smoke = params.read(folder / "params.yaml"), params.read(folder / "presets/smoke.yaml")
    document: dict[str, Any] = json.loads(json.dumps(smoke).replace("section", "mood"))
    document |= {name: own[name] for name in SOURCES}
    document["arms"].pop("domain")
    document |= {"tokenizer": {}, "bases": {"bert": "models/init/bert"}}
    write_params(folder, document)
    tiny.public(folder / "models/init/bert")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_second_clone_has_all_and_a_missing_source_costs_nothing(tmp_path: Path) -> None:
    team = Team(tmp_path)
    project = team.home / "project"
    for top in ("data", "models", "metrics", "predictions", "reports"):
        assert contents(project / top) == contents(team.first.root / top)
    assert (project / "data/own/news.jsonl.gz").read_bytes() == team.places["FILE"].read_bytes()
    assert f"{team.home}" not in (project / "params.yaml").read_text(encoding="utf-8")
    assert "<html" in (team.home / "reader/reports/index.html").read_text(encoding="utf-8")

    before = contents(project / "data/raw")
    shutil.rmtree(project / "data/own")
    team.run("git checkout data/own", project)
    assert "missing data 'source': data/own/" in team.run("dvc repro", project, refused=True)
    assert "dvc pull data/own/news.jsonl.gz; or from" in team.run("make recipe", project, refused=True)
    assert contents(project / "data/raw") == before
    team.run("dvc pull", project)
    assert UP_TO_DATE in team.run("dvc status", project)
