"""Which stages an edit of the names in params.yaml makes run, by a real DVC: those of the new name, and no others.

Paths, params and `foreach` are those of the project. In the place of every stage runs `STAND_IN`, whose outputs are a
function of what the stage reads: its data, and the values that are in force for it. So a checkpoint that is trained on
something else makes those above it run, and one that is trained on the same does not.
"""

import fnmatch
import json
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import chdir
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config import load as params
from adaptbert.config import plan_file
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import TRANSFERS
from tests.support.project import ROOT, Project, environment, write_graph, write_params

STAND_IN = """
import hashlib, json, os, re, shutil
from pathlib import Path

document = json.loads(Path("params.yaml").read_text())
name, _, key = os.environ["DVC_STAGE"].partition("@")
stage = json.loads(Path("dvc.yaml").read_text())["stages"][name]
tables = json.loads(Path("plan.json").read_text())["plan"]
entry = tables.get(name, {}).get(key, {})
SECTIONS = ("pretrain", "domain_transfer", "task_transfer", "finetune", "compare")


def filled(text):
    text = text.replace("${key}", key)
    return re.sub(r"\\$\\{item\\.(\\w+)\\}", lambda match: str(entry[match[1]]), text)


def digest(*what):
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def content(path):
    if path.is_dir():
        return {str(file.relative_to(path)): file.read_text() for file in sorted(path.rglob("*")) if file.is_file()}
    return path.read_text()


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


body = stage.get("do", stage)
rest = dict(tables["validate"] if name == "validate" else entry.get("values", {}))
values = dict(document.get(name, {}) if name in SECTIONS else {})
for other in rest.pop("overrides", {}).values():
    values |= other
contents = [content(Path(filled(path))) for path in body["deps"]]
if name == "tokenizer":  # a vocabulary knows no names of corpora
    contents = [sorted(each.values()) if isinstance(each, dict) else each for each in contents]
if name == "tokenizer" and "checkpoint" in rest["base"]:  # it brings its own
    rest, contents = rest["base"], []
made = digest(name, values, rest, entry.get("replicate"), contents) if name != "plan" else name
outs = [filled(out if isinstance(out, str) else next(iter(out)))
        for kind in ("outs", "metrics", "plots") for out in body.get(kind, [])]
for out in map(Path, outs):
    if name == "validate" and out.name == "validated":
        for kind in ("corpora", "tasks"):
            for each in rest[kind]:
                write(out / kind / each / "rows", digest(rest["limits"], content(Path("data/raw") / kind / each)))
    elif name == "tokenize" and not out.suffix:
        shutil.rmtree(out, ignore_errors=True)
        for rows in Path("data/validated").glob("*/*/rows"):
            tokens = digest(rest, content(Path("data/tokenizer") / key), rows.read_text())
            for kind in (rows.parts[-3], "heldout"):
                write(out / kind / rows.parts[-2] / "tokens", tokens)
    else:
        write(out if out.suffix or name == "plan" else out / "made", made)
"""


class PlanGraph(Project):
    """A project in which a stage takes no time."""

    def write(self, document: Mapping[str, Any]) -> None:
        """Replace params.yaml and plan.json, and make the files that they name and no stage makes."""
        write_params(self.root, document)
        for path in (self.root / name for name in sources(document)):
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"text of {path.name}", encoding="utf-8")

    def repro(self) -> set[str]:
        """The stages that `dvc repro` ran."""
        done = self.run("dvc", "repro", timeout=600)
        assert done.returncode == 0, done.stdout
        return set(re.findall(r"Running stage '(.+)':", done.stdout))


def plan_graph(folder: Path, document: Mapping[str, Any]) -> PlanGraph:
    """A repository of DVC without git and with this params.yaml, in which nothing has run."""
    graph = params.read(ROOT / "dvc.yaml")
    graph["stages"]["plan"]["deps"] = ["params.yaml", "plan.json"]
    for values in graph["stages"].values():
        values.get("do", values)["cmd"] = "exec python -S stand_in.py"
    del graph["plots"]
    folder.mkdir()
    with chdir(folder):
        write_graph(json.dumps(graph))
    shutil.copy(ROOT / ".dvcignore", folder)
    (folder / "stand_in.py").write_text(STAND_IN, encoding="utf-8")
    for step in TRANSFERS:  # in git, so that `compare` finds them where no arm has the step
        (folder / "metrics" / step).mkdir(parents=True)
    project = PlanGraph(folder, environment(folder.parent))
    project.write(document)
    return project


def sources(document: Mapping[str, Any]) -> set[str]:
    """The files that no stage makes."""
    return {
        document["tokenize"]["words"]["dictionary"],
        "models/init/README.md",
        *(corpus["path"] for corpus in document.get("corpora", {}).values()),
        *(task[split] for task in document["tasks"].values() for split in SPLITS),
    }


SPLITS, TASKS = ("train", "dev", "test"), ("section", "mention")


def labelled(name: str) -> dict[str, str]:
    return {"type": "text-classification", **{split: f"{name}.{split}.csv" for split in SPLITS}}


def sizes(layers: int) -> dict[str, int]:
    return {"layers": layers, "hidden_size": 32, "heads": 2, "intermediate_size": 64, "max_positions": 128}


def small() -> dict[str, Any]:
    """Names of a recipe, and few values."""
    return {
        "bases": {"small": sizes(2)},
        "corpora": {name: {"path": f"{name}.txt"} for name in ("general", "domain")},
        "tasks": {name: labelled(name) for name in TASKS},
        "arms": {
            "scratch": {"pretrain": "none"},
            "domain": {"domain_transfer": "domain"},
            "domain_task": {"domain_transfer": "domain", "task_transfer": "own"},
        },
        "tokenize": {"words": {"dictionary": "words.txt"}},
        "pretrain": {"tokens": 600},
        "domain_transfer": {"tokens": 1200, "learning_rate": 0.001},
        "task_transfer": {"tokens": 150},
        "finetune": {"epochs": 4},
        "compare": {"replicates": 1},
        "overrides": {"section": {"finetune": {"labels": 600}}},
    }


def stages(document: Mapping[str, Any], *patterns: str) -> set[str]:
    """Those of the plan that fit one of the patterns: `finetune@*-domain-*`; each pattern fits some."""
    planned = ["plan", *plan_file._by_address(plan_file.expand(Recipe(document))), "compare"]
    fitting = {pattern: set(fnmatch.filter(planned, pattern)) for pattern in patterns}
    assert all(fitting.values()), fitting
    return set().union(*fitting.values())


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> PlanGraph:
    project = plan_graph(tmp_path_factory.mktemp("graph") / "pristine", small())
    assert project.repro() == stages(small(), "*")
    return project


@pytest.fixture
def project(pristine: PlanGraph, tmp_path: Path) -> PlanGraph:
    """A copy in which every stage has run."""
    shutil.copytree(pristine.root, tmp_path / "project")
    return PlanGraph(tmp_path / "project", pristine.env)


Edit = Callable[[Any], None]


def put(*keys: str, value: Any) -> Edit:
    """A value at a place of params.yaml."""

    def edit(document: Any) -> None:
        *above, last = keys
        reduce(getitem, above, document)[last] = value

    return edit


def drop(*keys: str) -> Edit:
    return lambda document: reduce(getitem, keys[:-1], document).pop(keys[-1])


def rename_an_arm(document: Any) -> None:
    """In its place, since the order of the file is that of the plan."""
    arms = document["arms"]
    document["arms"] = {{"domain": "adapted"}.get(name, name): steps for name, steps in arms.items()}


def turn_the_arms_round(document: Any) -> None:
    """Their order is that of the report."""
    document["arms"] = dict(reversed(document["arms"].items()))


def override(name: str, section: str, **values: Any) -> Edit:
    return lambda document: document["overrides"].setdefault(name, {}).update({section: values})


TRANSFER = ("*_transfer@*", "measure@*-?", "finetune@*-?")
"""All that stands on domain transfer, with the measures of its checkpoints."""
PRETRAINED = ("pretrain@*", "measure@*")
RANDOM = "finetune@*-scratch-small"

EDITS: dict[str, tuple[Edit, tuple[str, ...]]] = {
    "a second replicate": (put("compare", "replicates", value=2), ("*-2",)),
    "an arm of new checkpoints": (
        put("arms", "task", value={"task_transfer": "own"}),
        (*(f"{stage}@{task}-small-?" for stage in ("task_transfer", "measure") for task in TASKS), "finetune@*-task-*"),
    ),
    "an arm of a checkpoint that is there": (put("arms", "general", value={}), ("finetune@*-general-*",)),
    "an arm renamed": (rename_an_arm, ("finetune@*-adapted-*",)),
    "arms in another order": (turn_the_arms_round, ()),
    "an arm removed": (drop("arms", "domain_task"), ()),
    "an arm of other steps": (
        put("arms", "domain", "domain_transfer", value=["general", "domain"]),
        ("domain_transfer@general-*", "measure@general-*", "finetune@*-domain-*"),
    ),
    "a base added": (put("bases", "other", value=sizes(3)), ("*@other", "*-other", "*-other-?")),
    "a base of other sizes": (
        put("bases", "small", value=sizes(3)),
        ("tokenizer@small", "tokenize@small", *PRETRAINED, *TRANSFER, RANDOM),
    ),
    # Each checkpoint is measured on the held-out text of every task; none of another task is trained again.
    "a task added": (
        put("tasks", "intent", value=labelled("intent")),
        ("collect_task@intent", "validate", "tokenize@*", "task_transfer@intent-*", "measure@*", "finetune@intent-*"),
    ),
    "a task removed": (drop("tasks", "mention"), ("validate", "tokenize@*", "measure@*")),
    "another seed": (put("seed", value=2), (*PRETRAINED, *TRANSFER, RANDOM)),
    "an override of an arm": (override("domain_task", "finetune", epochs=2), ("finetune@*-domain_task-*",)),
    "an override that is gone": (drop("overrides", "section"), ("finetune@section-*",)),
    "a value of all cells": (put("finetune", "epochs", value=9), ("finetune@*",)),
    "a value of all of domain transfer": (put("domain_transfer", "tokens", value=9), TRANSFER),
}
AFTER = {"plan", "compare"}
"""What runs after every edit: they depend on the plan, or on what has run."""


QUICK = ("a second replicate", "an arm renamed", "arms in another order", "an override that is gone")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in EDITS]
)
def test_an_edit_runs_what_it_names(project: PlanGraph, name: str) -> None:
    edit, patterns = EDITS[name]
    document = small()
    edit(document)
    project.write(document)
    assert project.repro() == stages(document, *patterns) | AFTER


@pytest.mark.slow
def test_text_that_comes_later(tmp_path: Path) -> None:
    """Without any corpus all stages run; what domain text brings is added, and nothing is trained again."""
    document = small() | {"bases": {"small": "hfl/rbt3"}, "arms": ["general", "task"]}
    del document["corpora"]
    project = plan_graph(tmp_path / "graph", document)
    assert project.repro() == stages(document, "*")
    document |= {"corpora": {"domain": {"path": "domain.txt"}}, "arms": ["general", "task", "domain"]}
    project.write(document)
    before_training = stages(document, "collect@domain", "validate", "tokenizer@*", "tokenize@*")
    of_domain = stages(document, "domain_transfer@*", "finetune@*-domain-*")
    assert project.repro() == before_training | of_domain | stages(document, "measure@*") | AFTER


@pytest.mark.slow
def test_what_was_removed_comes_back_without_training(project: PlanGraph) -> None:
    """From DVC's run cache, also where its files are gone."""
    less = small()
    less["arms"].pop("domain_task")
    project.write(less)
    assert project.repro() == AFTER
    for path in (project.root / "models/finetune").glob("*-domain_task-*"):
        shutil.rmtree(path)
    project.write(small())
    assert project.repro() == AFTER - {"plan"}, "of a plan that it has seen, DVC knows what the first stage says"
    assert len(list((project.root / "models/finetune").glob("*-domain_task-*"))) == 2
