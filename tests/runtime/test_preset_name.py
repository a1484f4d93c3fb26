"""Which preset a params.yaml is, whatever its comments say and wherever the data lie."""

from pathlib import Path

import pytest

from adaptbert.project import presets
from adaptbert.runtime.origin import OWN, preset_name

NAMES = sorted(path.stem for path in presets.FOLDER.glob("*.yaml"))


@pytest.fixture
def params(tmp_path: Path) -> Path:
    return tmp_path / "params.yaml"


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_is_known_by_its_name(name: str, params: Path) -> None:
    params.write_text(presets.text(name, None), encoding="utf-8")
    assert preset_name(params) == name


@pytest.mark.parametrize("folder", ['"/srv/text', '"../shared', "data/moved"])
def test_data_may_lie_elsewhere(folder: str, params: Path) -> None:
    quote = '"' if folder.startswith('"') else ""
    lines = presets.text("weibo", None).splitlines()
    named = [": data/own/" in line for line in lines]
    moved = [line.replace("data/own", folder) + quote * there for line, there in zip(lines, named, strict=True)]
    assert moved != lines
    params.write_text("\n".join(moved), encoding="utf-8")
    assert preset_name(params) == "weibo"


def test_comments_are_not_looked_at_and_values_are(params: Path) -> None:
    text = presets.text("smoke", None)
    params.write_text("# mine\n\n" + text.replace("  epochs: 2\n", "  epochs: 2  # enough\n"), encoding="utf-8")
    assert preset_name(params) == "smoke"
    params.write_text(text.replace("epochs: 2", "epochs: 3", 1), encoding="utf-8")
    assert preset_name(params) == OWN


def test_without_presets(params: Path, tmp_path: Path) -> None:
    params.write_text("seed: 1\n", encoding="utf-8")
    assert preset_name(params, tmp_path / "nowhere") == OWN
