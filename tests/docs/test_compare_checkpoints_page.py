"""docs/how-to/compare-checkpoints.md: its params and commands, with two tiny checkpoints of different vocabularies.

Quick: what its params stand for. Slow: the commands.
"""

from pathlib import Path
from typing import Any

import pytest

from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.all_sections import check_all
from tests.support import followed_page as page
from tests.support.imports import ROOT
from tests.support.project import clone

PAGE = "docs/how-to/compare-checkpoints.md"
STARTS = ("bert", "macbert")
TRAINING = ("domain_transfer", "task_transfer", "finetune")


def documents(preset: dict[str, Any]) -> list[dict[str, Any]]:
    """params.yaml after each of the page's blocks: draws, starts and arms replace those before, in the last they are
    added."""
    probe, more, fewer = page.shown(PAGE)
    first = page.merged(preset, probe) | {"ladder": probe["ladder"]}
    second = first | {"ladder": first["ladder"] | more["ladder"]}
    return [first, second, page.merged(second, fewer)]


@pytest.mark.parametrize("preset", ["zh-public", "en-public"])
def test_what_is_there_stays_when_arms_are_added(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    of_preset = params.read(ROOT / f"presets/{preset}.yaml")
    assert set(page.shown(PAGE)[1]["ladder"]["arms"]) - {"probe"} <= set(of_preset["ladder"]["arms"])
    assert of_preset["pretrain"]["all"]["budget"] == {"tokens": 0}
    shown = documents(of_preset)
    for document in shown:
        check_all(document, page.PARAMS)
    probe, more, fewer = map(page.entries, shown)
    trained = [name for name in probe if name.startswith(TRAINING)]
    assert trained == [f"finetune@my_task-probe-{start}" for start in STARTS]
    assert {name: more[name] for name in probe} == probe
    new = [name for name in more if name not in probe]
    assert len([name for name in new if name.startswith("domain_transfer")]) == 2 * 3 * len(STARTS)
    assert len([name for name in new if name.startswith("finetune")]) == (1 + 2 * 3) * len(STARTS)
    left_out = {name for name in more if name not in fewer}
    assert left_out == {
        f"{stage}-bert-{draw}"
        for stage in ("domain_transfer@domain", "measure@domain", "finetune@my_task-domain")
        for draw in (1, 2, 3)
    }
    assert {name: more[name] for name in fewer} == fewer


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_commands_of_the_page(tmp_path: Path) -> None:
    project = clone(tmp_path / "project", tmp_path)
    page.texts(tmp_path / "texts")
    page.follow(project, page.lines(PAGE, 0), {"DIR": tmp_path / "texts"})
    for start, size in zip(STARTS, (120, 150), strict=True):
        page.checkpoint(project.root / f"models/init/{start}", page.tokenizer(size), seed=size)
    shown = documents(page.small(page.read(project)))
    for document in shown:
        document["ladder"]["starts"] = {start: {"init": f"models/init/{start}"} for start in STARTS}
        document["ladder"]["draws"] = min(2, document["ladder"]["draws"])

    page.write(project, shown[0])
    printed = page.follow(project, page.lines(PAGE, 1))
    probes = {f"finetune@my_task-probe-{start}" for start in STARTS}
    assert {name for name in page.stages_run(printed) if name.startswith(TRAINING)} == probes

    page.write(project, shown[1])
    second = page.follow(project, page.lines(PAGE, 2))
    new = page.entries(shown[1]).keys() - page.entries(shown[0]).keys()
    assert page.stages_run(second) == {"ladder", "compare", *new}

    page.write(project, shown[2])
    third = page.follow(project, page.lines(PAGE, 2))
    assert page.stages_run(third) == {"ladder", "compare"}
    assert (project.root / "models/domain_transfer/domain-bert-1").is_dir()
