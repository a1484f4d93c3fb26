"""Which stages an edit of the names in params.yaml makes DVC run: those of the new name, and no others.

DVC reads dvc.yaml, params.yaml and plan.json, and says what it compares of each stage: its command, values, and what it
reads. Here nothing runs, and a stage that would run is taken to write something else. The rows of a text, its tokens
and the vocabulary of a checkpoint alone depend on what they are made of, and on nothing else that their stage reads.
test_reruns.py lets DVC run the real stages.
"""

import fnmatch
import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from dvc.dependency import ParamsDependency
from dvc.repo import Repo

from adaptbert.config import load as params
from adaptbert.config import plan as planning
from adaptbert.config import plan_file
from adaptbert.config.recipe import Recipe
from tests.support.project import ROOT, write_graph
from tests.support.rules import DEMO, REMOVED, changed

Contents = dict[str, str]
"""Path -> a digest of what lies there."""


@pytest.fixture(autouse=True)
def _graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project with our dvc.yaml and stages."""
    monkeypatch.chdir(tmp_path)
    Path("stages").symlink_to(ROOT / "stages")
    graph = params.read(ROOT / "dvc.yaml")
    graph["stages"]["plan"]["deps"] = ["params.yaml", "plan.json"]
    write_graph(json.dumps(graph))


def compared(document: Mapping[str, Any]) -> dict[str, str]:
    """For a recipe that has run: every stage of DVC -> a digest of what DVC compares."""
    plan = plan_file.expand(Recipe(document))
    plan = plan.model_copy(update={"code": dict.fromkeys(plan_file.stages(), "the same")})
    Path("params.yaml").write_text(json.dumps(document), encoding="utf-8")
    Path("plan.json").write_text(plan_file.text(plan), encoding="utf-8")
    there = {name: digest(Path(name).read_text(encoding="utf-8")) for name in ("params.yaml", "plan.json")}
    there[planning.UNCHANGED] = "the same"
    for entry in (*plan.collect.values(), *plan.collect_task.values(), *plan.tokenize.values()):
        there |= dict.fromkeys((entry.path, entry.train, entry.dev, entry.test, entry.dictionary), "of the user")
    digests = {}
    with Repo(".") as repo:
        for stage in repo.index.stages:
            values, read = dict[str, Any](), Contents()
            for dep in stage.deps:
                if isinstance(dep, ParamsDependency):
                    values |= dep.read_params()
                else:
                    here = below(there, dep.def_path)
                    assert here or stage.addressing == "compare", f"{stage.addressing} reads {dep.def_path}"
                    read |= here
            digests[stage.addressing] = digest(stage.cmd, values, read)
            for out in stage.outs:
                there |= written(stage.addressing, values, read, there, out.def_path)
    assert {*digests} == {*plan_file.stages_of(plan)}
    return digests


def written(stage: str, values: Mapping[str, Any], read: Contents, there: Contents, out: str) -> Contents:
    """What a stage leaves at the path of an output."""
    name, _, base = stage.partition("@")
    if name == "plan":
        return {out: "the same"}
    if out == "data/validated":
        of = values["plan.validate"]
        sets = [f"{kind}/{each}" for kind in ("corpora", "tasks") for each in of[kind]]
        return {f"{out}/{each}": digest(of["limits"], there[f"data/raw/{each}"]) for each in sets}
    if name == "tokenizer" and "checkpoint" in (own := values[f"plan.{name}.{base}"]["values"]["base"]):
        return {out: digest(own)}
    if out == f"data/tokenized/{base}":
        tokens = Contents()
        for path, rows in below(read, "data/validated").items():
            kind, each = path.split("/")[-2:]
            of_text = digest(values[f"plan.{name}.{base}"], below(read, "data/tokenizer"), rows)
            tokens |= {f"{out}/{kind}/{each}": of_text, f"{out}/heldout/{each}": of_text}
        return tokens
    return {out: digest(stage, values, read)}


def below(there: Contents, folder: str) -> Contents:
    return {path: content for path, content in there.items() if path == folder or path.startswith(f"{folder}/")}


def digest(*what: Any) -> str:
    return sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def stages(document: Mapping[str, Any], *patterns: str) -> set[str]:
    """Stages of the plan that fit one of the patterns: `finetune@*-domain-*`; each pattern fits some."""
    planned = plan_file.stages_of(plan_file.expand(Recipe(document)))
    fitting = {pattern: set(fnmatch.filter(planned, pattern)) for pattern in patterns}
    assert all(fitting.values()), fitting
    return set().union(*fitting.values())


ARMS = {
    "scratch": {"pretrain": "none"},
    "domain": {"domain_transfer": "domain"},
    "domain_task": {"domain_transfer": "domain", "task_transfer": "own"},
}
RENAMED = {{"domain": "adapted"}.get(name, name): steps for name, steps in ARMS.items()}
TASKS, SIZES = ("section", "mention"), DEMO["bases"]["small"] | {"layers": 3}


def edited(**changes: Any) -> dict[str, Any]:
    """A recipe of few arms, and other values at these dotted keys."""
    own = {"arms": dict(ARMS), "compare.replicates": 1, "overrides": {"section": {"finetune": {"labels": 600}}}}
    return changed({**own, **changes})


TRANSFER = ("*_transfer@*", "measure@*-?", "finetune@*-?")
"""All that stands on domain transfer, with the measures of its checkpoints."""
PRETRAINED = ("pretrain@*", "measure@*")
RANDOM = "finetune@*-scratch-small"

EDITS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a second replicate": ({"compare.replicates": 2}, ("*-2",)),
    "an arm of new checkpoints": (
        {"arms.task": {"task_transfer": "own"}},
        (*(f"{stage}@{task}-small-?" for stage in ("task_transfer", "measure") for task in TASKS), "finetune@*-task-*"),
    ),
    "an arm of a checkpoint that is there": ({"arms.general": {}}, ("finetune@*-general-*",)),
    "an arm renamed": ({"arms": RENAMED}, ("finetune@*-adapted-*",)),
    "arms in another order": ({"arms": dict(reversed(ARMS.items()))}, ()),
    "an arm removed": ({"arms.domain_task": REMOVED}, ()),
    "an arm of other steps": (
        {"arms.domain": {"domain_transfer": ["general", "domain"]}},
        ("domain_transfer@general-*", "measure@general-*", "finetune@*-domain-*"),
    ),
    "a base added": ({"bases.other": SIZES}, ("*@other", "*-other", "*-other-?")),
    "a base of other sizes": (
        {"bases.small": SIZES},
        ("tokenizer@small", "tokenize@small", *PRETRAINED, *TRANSFER, RANDOM),
    ),
    # Each checkpoint is measured on the held-out text of every task; none of another task is trained again.
    "a task added": (
        {"tasks.intent": DEMO["tasks"]["section"]},
        ("collect_task@intent", "validate", "tokenize@*", "task_transfer@intent-*", "measure@*", "finetune@intent-*"),
    ),
    "a task removed": ({"tasks.mention": REMOVED}, ("validate", "tokenize@*", "measure@*")),
    "another seed": ({"seed": 2}, (*PRETRAINED, *TRANSFER, RANDOM)),
    "an override of a base": ({"overrides.small.pretrain.dropout": 0.2}, (*PRETRAINED, *TRANSFER, RANDOM)),
    "an override of a corpus": ({"overrides.domain.domain_transfer.dropout": 0.2}, TRANSFER),
    "an override of a task": ({"overrides.mention.finetune.epochs": 6}, ("finetune@mention-*",)),
    "an override of an arm": ({"overrides.domain_task.finetune.epochs": 2}, ("finetune@*-domain_task-*",)),
    "an override that is gone": ({"overrides.section": REMOVED}, ("finetune@section-*",)),
    "a value of all cells": ({"finetune.epochs": 9}, ("finetune@*",)),
    "a value of all of domain transfer": ({"domain_transfer.tokens": 9}, TRANSFER),
}
AFTER = {"plan", "compare"}
"""What runs after every edit: they depend on the plan."""


def run_by(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """The stages that run where the recipe was another one."""
    were = compared(before)
    return {stage for stage, state in compared(after).items() if state != were.get(stage)}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_runs_what_it_names(name: str) -> None:
    changes, patterns = EDITS[name]
    document = edited(**changes)
    assert run_by(edited(), document) == stages(document, *patterns) | AFTER


def test_text_that_comes_later() -> None:
    """Without any corpus there is a stage for all; what domain text brings is added, and nothing is trained again."""
    none = edited(bases={"small": "hfl/rbt3"}, arms=["general", "task"], corpora=REMOVED)
    later = none | {"corpora": {"domain": {"path": "domain.txt"}}, "arms": ["general", "task", "domain"]}
    before_training = stages(later, "collect@domain", "validate", "tokenizer@*", "tokenize@*")
    of_domain = stages(later, "domain_transfer@*", "finetune@*-domain-*")
    assert run_by(none, later) == before_training | of_domain | stages(later, "measure@*") | AFTER
