"""docs/how-to/more-text.md: what runs when a corpus is added to a finished ladder, and when its file is replaced.

Quick: what its params stand for. Slow: the commands.
"""

from pathlib import Path
from typing import Any

import pytest

from adaptbert.base.ladder import LadderConfig
from adaptbert.comparison.questions import Pair, named_pairs, pairs
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.all_sections import check_all
from tests.support import followed_page as page
from tests.support.imports import ROOT
from tests.support.project import Project, clone

PAGE = "docs/how-to/more-text.md"
ADDED = ("collect@more", "validate", "tokenizer@small", "tokenize@small")
RUNG = ("domain_transfer@domain-more-small-1", "measure@domain-more-small-1", "finetune@my_task-domain_more-small-1")
CONTROL = ("domain_transfer@domain-domain-small-1", "measure@domain-domain-small-1")
CONTROL += ("finetune@my_task-domain_long-small-1",)


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(ROOT)
    return params.read(ROOT / "presets/demo.yaml")


def test_only_the_new_rung_and_its_cells_are_new(demo: dict[str, Any]) -> None:
    before = page.entries(demo)
    more, budget, control, _ = page.shown(PAGE)
    changed = page.merged(demo, more)
    check_all(changed, page.PARAMS)
    after = page.entries(changed)
    assert {name: after[name] for name in before} == before
    assert {name for name in after if name not in before} == {
        *(name.replace("small-1", f"small-{draw}") for name in RUNG[:2] for draw in (1, 2)),
        *(f"finetune@{task}-domain_more-small-{draw}" for task in demo["collect_task"] for draw in (1, 2)),
    }
    assert after[RUNG[0]]["rung"] == "domain_transfer/domain-small-1"
    block = page.merged(changed, budget)
    check_all(block, page.PARAMS)
    with_block = page.entries(block)
    changed_by_it = [name for name in with_block if with_block[name] != after[name]]
    assert changed_by_it == [RUNG[0].replace("small-1", f"small-{draw}") for draw in (1, 2)]
    check_all(page.merged(block, control), page.PARAMS)


def test_what_the_new_arms_are_compared_with(demo: dict[str, Any]) -> None:
    more, _, control, compare = page.shown(PAGE)
    ladder = LadderConfig.model_validate(page.merged(page.merged(demo, more), control)["ladder"])
    arms = {name: arm.climb for name, arm in ladder.arms_of("section", "small").items()}
    compared = pairs(arms)
    for arm in ("domain_more", "domain_long"):
        beside = {pair.arm if pair.other == arm else pair.other for pair in compared if arm in (pair.arm, pair.other)}
        assert beside == {"general", "general_long", "scratch"}
    document = page.merged(page.merged(page.merged(demo, more), control), compare)
    check_all(document, page.PARAMS)
    assert named_pairs(arms, document["compare"]["questions"]) == [
        Pair("more_text", "more_text", "domain_more", "domain_long")
    ]
    assert set(document["compare"]["questions"]) < set(document["compare"]["primary"])


def finished(tmp_path: Path) -> Project:
    """A project with a finished ladder: random weights, general pre-training, domain transfer."""
    project = clone(tmp_path / "project", tmp_path)
    page.texts(tmp_path / "texts")
    page.follow(project, ["adaptbert use --data DIR"], {"DIR": tmp_path / "texts"})
    smoke, public = (params.read(ROOT / f"presets/{name}.yaml") for name in ("smoke", "en-public"))
    document = smoke | {name: public[name] for name in ("collect", "collect_task")}
    document["ladder"]["arms"] = {"general": {}, "domain": {"domain_transfer": "domain"}}
    document["tokenizer"]["all"]["vocabulary_size"] = 150
    document["finetune"] = {"all": smoke["finetune"]["all"], "my_task": public["finetune"]["my_task"]}
    page.write(project, page.small(document))
    page.follow(project, ["adaptbert ladder", "dvc repro"])
    return project


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_commands_of_the_page(tmp_path: Path) -> None:
    project = finished(tmp_path)
    more, _, control, compare = page.shown(PAGE)
    (tmp_path / "more").mkdir()
    page.corpus(tmp_path / "more/more.txt", "domain", 100, seed=7)
    page.follow(project, page.lines(PAGE, 0), {"DIR": tmp_path / "more"})
    document = page.merged(page.read(project), more)
    page.write(project, document)
    ran = page.stages_run(page.follow(project, page.lines(PAGE, 1)))
    assert ran == {"ladder", *ADDED, "measure@small", "measure@domain-small-1", *RUNG, "compare"}

    page.write(project, page.merged(document, {"domain_transfer": {"more": {"budget": {"steps": 2}}}}))
    assert page.stages_run(page.follow(project, page.lines(PAGE, 1))) == {"ladder", *RUNG, "compare"}

    page.write(project, page.merged(page.read(project), control))
    assert page.stages_run(page.follow(project, page.lines(PAGE, 1))) == {"ladder", *CONTROL, "compare"}

    page.write(project, page.merged(page.read(project), compare))
    printed = page.follow(project, ["dvc repro"])
    assert page.stages_run(printed) == {"compare"}
    assert "more_text (domain_more - domain_long)" in printed

    with (project.root / "data/own/domain.txt").open("a", encoding="utf-8") as file:
        file.write((tmp_path / "more/more.txt").read_text(encoding="utf-8"))
    ran = page.stages_run(page.follow(project, ["dvc repro"]))
    assert {"pretrain@small", "domain_transfer@domain-small-1", *RUNG, *CONTROL} <= ran
    assert "collect@more" not in ran
