"""docs/how-to/controls.md: its params are valid and stand for what the page says. Slow: a tiny project runs them."""

from pathlib import Path
from typing import Any

import pytest

from adaptbert.base.files import read_json
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.all_sections import check_all
from tests.support import followed_page as page
from tests.support.imports import ROOT
from tests.support.project import clone

PAGE = "docs/how-to/controls.md"
TRAINING = ("domain_transfer", "finetune")


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(ROOT)
    return params.read(ROOT / "presets/demo.yaml")


def new(document: dict[str, Any], change: dict[str, Any]) -> set[str]:
    """The rungs and cells that a block of the page adds; nothing else may change."""
    changed = page.merged(document, change)
    check_all(changed, page.PARAMS)
    before, after = page.entries(document), page.entries(changed)
    assert {name: after[name] for name in before} == before
    return {name for name in after if name not in before and name.startswith(TRAINING)}


def test_arms_with_values_of_their_own_train_the_one_rung_that_nobody_had(demo: dict[str, Any]) -> None:
    arms = {"matched-small", *(f"{arm}-small-{draw}" for arm in ("wrong_domain", "frozen") for draw in (1, 2))}
    cells = {f"finetune@{task}-{arm}" for task in ("section", "mention") for arm in arms}
    rungs = {f"domain_transfer@other-small-{draw}" for draw in (1, 2)}
    assert new(demo, page.shown(PAGE)[0]) == {*rungs, *cells}


def test_an_arm_again_has_the_draws_that_the_page_names(demo: dict[str, Any]) -> None:
    change = page.shown(PAGE)[1]
    demo["ladder"]["draws"] = change["ladder"]["draws"]
    cells = {f"finetune@{task}-domain_again-small-{draw}" for task in ("section", "mention") for draw in (3, 4)}
    assert new(demo, change) == {"domain_transfer@domain-small-3", "domain_transfer@domain-small-4", *cells}


def test_the_matched_epochs_are_those_of_the_formula(demo: dict[str, Any]) -> None:
    assert page.shown(PAGE)[0]["finetune"]["matched"]["epochs"] == 4 * (1 + 12 / 0.5)
    assert demo["finetune"]["all"]["epochs"] == 4


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_tiny_project_runs_the_controls(tmp_path: Path) -> None:
    project = clone(tmp_path / "project", tmp_path)
    document = page.small(params.read(ROOT / "presets/smoke.yaml"))
    arms, again = page.shown(PAGE)
    document["ladder"]["arms"] = {
        "scratch": {"pretrain": "none"}, "general": {}, "domain": {"domain_transfer": "domain"},
    }  # fmt: skip
    del document["collect_task"]["mention"], document["finetune"]["mention"]
    for change in (arms, again):
        document = page.merged(document, change)
    document["collect"]["other"] = {"source": "installed_docs", "path": "data/sources/smoke_general.txt"}
    document["finetune"]["matched"]["epochs"] = 2
    document["finetune"]["all"]["seeds"] = [1, 2, 3]
    page.write(project, document)
    printed = page.follow(project, ["adaptbert ladder", "make recipe"])
    assert "(fine-tuned with values of its own: matched, frozen)" in printed
    steps = read_json(project.root / "metrics/comparison.json")["section"]["small"]["steps"]
    assert steps["spent_otherwise"]["own_values"] == ["matched"]
    assert steps["aa/domain_again"]["of"] == ["domain_again", "domain"]
    digests = {
        draw: (project.root / f"models/domain_transfer/domain-small-{draw}/model.safetensors").read_bytes()
        for draw in (1, 2, 3, 4)
    }
    assert len(set(digests.values())) == 4, "the A/A arm has other weights than its original"
    assert "embeddings_logistic" in printed
