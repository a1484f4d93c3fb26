"""docs/how-to/task-text-only.md: its params and commands, with a tiny checkpoint.

Quick: what its params stand for. Slow: the commands.
"""

from pathlib import Path
from typing import Any

import pytest

from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.all_sections import check_all
from tests.support import followed_page as page
from tests.support import tiny
from tests.support.imports import ROOT
from tests.support.project import clone

PAGE = "docs/how-to/task-text-only.md"
PRESET = ROOT / "presets/tapt-only.yaml"


@pytest.fixture
def preset(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(ROOT)
    return params.read(PRESET)


def test_the_page_shows_the_preset(preset: dict[str, Any]) -> None:
    ladder, places, _ = page.shown(PAGE)
    assert preset["ladder"] == ladder["ladder"]
    assert {name: preset[name] for name in places} == places
    assert preset["pretrain"]["all"]["budget"] == {"tokens": 0}


def test_no_rung_of_domain_transfer(preset: dict[str, Any]) -> None:
    """Another budget for one task needs `adaptbert ladder`, and changes its rungs alone."""
    before = page.entries(preset)
    assert [name for name in before if name.startswith("domain_transfer")] == []
    changed = page.merged(preset, page.shown(PAGE)[2])
    check_all(changed, page.PARAMS)
    after = page.entries(changed)
    different = {name for name in after if after[name] != before[name]}
    assert different == {f"task_transfer@my_task-bert-{draw}" for draw in (1, 2, 3)}


def test_an_arm_with_domain_text_keeps_the_rungs(preset: dict[str, Any]) -> None:
    """The last paragraph of the page."""
    before = page.entries(preset)
    preset["collect"]["domain"] = {"source": "files", "path": "data/own/domain.txt"}
    preset["ladder"]["arms"]["domain_task"] = {"domain_transfer": "domain", "task_transfer": "own"}
    preset["domain_transfer"] = params.read(ROOT / "presets/en-public.yaml")["domain_transfer"]
    check_all(preset, page.PARAMS)
    after = page.entries(preset)
    assert {name: after[name] for name in before} == before
    assert len(after) > len(before)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_commands_of_the_page(tmp_path: Path) -> None:
    project = clone(tmp_path / "project", tmp_path)
    page.texts(tmp_path / "texts")
    for corpus in ("general.txt", "domain.txt"):
        (tmp_path / "texts" / corpus).unlink()
    use, *rest = page.lines(PAGE, 0)
    page.follow(project, [use], {"DIR": tmp_path / "texts"})
    document = page.small(page.read(project))
    page.checkpoint(project.root / "models/init/bert", tiny.tokenizer())
    document["ladder"] |= {"starts": {"bert": {"init": "models/init/bert"}}, "draws": 2}
    document["collect"]["general"]["path"] = "data/sources/smoke_general.txt"
    page.write(project, document)
    printed = page.follow(project, ["adaptbert ladder", *rest])
    ran = {name for name in page.stages_run(printed) if name.startswith(("domain_", "task_", "finetune"))}
    assert ran == {
        "task_transfer@my_task-bert-1",
        "task_transfer@my_task-bert-2",
        "finetune@my_task-general-bert",
        "finetune@my_task-task-bert-1",
        "finetune@my_task-task-bert-2",
    }
    assert "task_transfer (task - general)" in printed
