"""docs/how-to/share.md, command by command: a project with a remote, own data and a checkpoint, and its second clone.

Quick: the stages that collect. Slow: a whole recipe.
"""

import gzip
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from adaptbert.runtime.params import expanded_ladder
from adaptbert.runtime.params import params_file as params
from tests.support import tiny
from tests.support.followed_page import checkpoint
from tests.support.markdown import blocks
from tests.support.project import Project, clone

PAGE = "docs/how-to/share.md"
UP_TO_DATE = "Data and pipelines are up to date."
COLLECTS = ("collect", "collect_task")
COUNTS = {"train": 80, "dev": 30, "test": 30}


class Team:
    """Two people's folders, what they share, and the page's commands run in them one by one.

    Args:
        adapt: what to make smaller when `adaptbert use` has written params.yaml.
    """

    def __init__(self, home: Path, adapt: Callable[[Path], None]) -> None:
        self.home, self.adapt = home, adapt
        self.first: Project = clone(home / "first", home)
        self.first.env["PYTHON"] = sys.executable  # make installs nothing
        del self.first.env["PREFECT_API_URL"]  # the flow brings its own server
        self.git("init", "-q", "--bare", str(home / "repository"))
        self.git("remote", "add", "origin", str(home / "repository"))
        self.git("push", "-q", "--set-upstream", "origin", "HEAD")
        own_files(home / "text")
        self.places = {"DIR": home / "text", "REMOTE": home / "remote", "REPOSITORY": home / "repository"}

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.first.root, env=self.first.env, check=True)

    def follow(self, skip: str = "^$") -> Iterator[tuple[str, Path, str]]:
        """Each command of the page, in the folder that it leads to, and what it printed; every one must end well."""
        for block in blocks(PAGE):
            folder = self.first.root
            for line in block.text.splitlines() if block.language == "sh" else ():
                if re.search(skip, line):
                    continue
                if line.startswith("cd "):
                    folder = self.home / line.removeprefix("cd ")
                    continue
                yield line, folder, self.run(line, self.home if line.startswith("git clone") else folder)
                if line.startswith("adaptbert use"):
                    self.adapt(folder)

    def run(self, line: str, folder: Path) -> str:
        command = re.sub(r"^adaptbert\b", f"{sys.executable} -m adaptbert.cli", line)
        for name, place in self.places.items():
            command = re.sub(rf"\b{name}\b", str(place), command)
        environment = {**self.first.env, "PYTHONPATH": str(folder)}
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, capture_output=True)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def refused(self, line: str, folder: Path) -> str:
        with pytest.raises(AssertionError) as failure:
            self.run(line, folder)
        return str(failure.value)


def own_files(folder: Path) -> None:
    """Named as the preset `weibo` names them."""
    folder.mkdir()
    write(folder / "zh_general.jsonl.gz", tiny.rows("general", 300))
    write(folder / "zh_domain_weibo.jsonl.gz", tiny.rows("domain", 300))
    for seed, (split, count) in enumerate(COUNTS.items(), 1):
        write(folder / f"zh_task_ewect_usual.{split}.jsonl.gz", tiny.rows("domain", count, seed))


def write(path: Path, rows: list[tuple[str, str]]) -> None:
    labelled = ({"id": name, "text": text, "label_name": ("x", "y")[len(text) % 2]} for name, text in rows)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in labelled).encode(), mtime=0))


def contents(folder: Path) -> dict[str, bytes]:
    """Without what DVC writes beside outputs, for git."""
    return {name: data for name, data in tiny.folder_bytes(folder).items() if ".gitignore" not in name}


def only_collect(folder: Path) -> None:
    """dvc.yaml without what comes after data/raw, but for a last stage that does nothing."""
    yaml = YAML()
    document = yaml.load(folder / "dvc.yaml")
    document["stages"] = {name: document["stages"][name] for name in ("ladder", *COLLECTS)}
    collected = ("corpora/general", "corpora/domain", "tasks/ewect_usual")
    document["stages"]["compare"] = {"cmd": "exec true", "deps": [f"data/raw/{name}" for name in collected]}
    del document["plots"]
    yaml.dump(document, folder / "dvc.yaml")
    (folder / "dvc.lock").unlink()
    (folder / "models/init/bert").mkdir()
    (folder / "models/init/bert/config.json").write_text("{}")
    (folder / "models/init/bert/model.safetensors").write_bytes(b"weights")


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Team:
    """The page followed once, with the stages that collect; the tests look at what it left."""
    team = Team(tmp_path_factory.mktemp("team"), only_collect)
    team.places["FILE"] = team.home / "zh_general.jsonl.gz"
    write(team.places["FILE"], tiny.rows("general", 310))
    for line, folder, printed in team.follow(skip="reports/|reader"):
        judge(line, folder, printed)
    return team


def judge(line: str, folder: Path, printed: str) -> None:
    """What the page says of its commands."""
    if folder.name == "project" and line in ("dvc status", "dvc repro"):
        assert UP_TO_DATE in printed, printed
        assert "Running" not in printed
    if line == "dvc repro --allow-missing":
        assert "Running" not in printed


def test_a_second_clone_has_the_text_and_runs_nothing(team: Team) -> None:
    project = team.home / "project"
    assert contents(project / "data/raw") == contents(team.first.root / "data/raw")
    for folder in ("data/own", "models/init/bert"):
        assert contents(project / folder) == contents(team.first.root / folder)
    assert (project / "data/own/zh_general.jsonl.gz").read_bytes() == team.places["FILE"].read_bytes()
    assert f"{team.home}" not in (project / "params.yaml").read_text(encoding="utf-8")


def test_a_missing_source_costs_nothing_and_check_says_how_to_get_it(team: Team) -> None:
    project = team.home / "project"
    before = contents(project / "data/raw")
    shutil.rmtree(project / "data/own")
    team.run("git checkout data/own", project)
    assert "missing data 'source': data/own/" in team.refused("dvc repro", project)
    refusal = team.refused("make recipe", project)
    assert "(data/raw/corpora/general, made from it, stays as it is)" in refusal
    assert "get it from the remote: dvc pull data/own/zh_general.jsonl.gz; or from" in refusal
    assert contents(project / "data/raw") == before
    team.run("dvc pull", project)
    assert UP_TO_DATE in team.run("dvc status", project)


# ---- the whole recipe


def small(folder: Path) -> None:
    """As small as `smoke`, and on from the checkpoint in models/init/bert."""
    own = params.read(folder / "params.yaml")
    document: dict[str, Any] = json.loads(
        json.dumps(params.read(folder / "presets/smoke.yaml")).replace("section", "ewect_usual")
    )
    document |= {name: own[name] for name in COLLECTS}
    document["ladder"]["arms"].pop("domain")
    document["finetune"].pop("mention")
    document["tokenizer"] = {"all": {}}
    document["ladder"]["starts"] = {"bert": {"init": "models/init/bert"}}
    (folder / "params.yaml").write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    expanded_ladder.write(expanded_ladder.expanded(document, folder / "params.yaml"), folder / "ladder.yaml")
    checkpoint(folder / "models/init/bert", tiny.tokenizer())


def results(folder: Path) -> dict[str, bytes]:
    """All that stages write."""
    return {
        f"{top}/{name}": data
        for top in ("data", "models", "metrics", "predictions", "reports")
        for name, data in tiny.folder_bytes(folder / top).items()
        if not name.endswith(".gitignore") and not name.startswith("own/")
    }


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_page_with_a_whole_recipe(tmp_path: Path) -> None:
    team = Team(tmp_path, small)
    team.places["FILE"] = team.home / "zh_general.jsonl.gz"
    write(team.places["FILE"], tiny.rows("general", 310))
    for line, folder, printed in team.follow():
        judge(line, folder, printed)
        if line == "dvc repro" and folder.name == "project":
            assert results(folder) == results(team.first.root)
        if line == "dvc pull reports/index.html" and folder.name == "reader":
            assert "<html" in (folder / "reports/index.html").read_text(encoding="utf-8")
