"""docs/how-to/predict.md: its Python runs, its options exist, and every field of an answer is there."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from adaptbert.cli import app
from adaptbert.config.schema.task_types import TARGETS
from adaptbert.prediction.outputs import columns
from tests.support.cells import Project
from tests.support.markdown import blocks, prose

PAGE = "docs/how-to/predict.md"


def test_the_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = [block.text for block in blocks(PAGE) if block.language == "python"]
    page = Project(tmp_path, {"section": ("single_sentence", "class")}, (16, 8, 8))
    page.finetune("section", "general", seeds=[1], epochs=1.0)
    (tmp_path / "models/finetune/section-general").rename(tmp_path / "models/finetune/section-general-small")
    capsys.readouterr()
    monkeypatch.chdir(tmp_path)
    exec(compile(code, PAGE, "exec"), {})
    assert re.fullmatch(r"a (code|prose) \{'code': .*, 'prose': .*\}\n", capsys.readouterr().out)


def test_options_of_the_page_are_those_of_the_command() -> None:
    command = get_command(app).commands["predict"]  # type: ignore[attr-defined]
    names = {name for parameter in command.params for name in parameter.opts if name.startswith("-")}
    documented = set(re.findall(r"`(--?[a-z][a-z-]*)`", prose(PAGE)))
    assert {"--probabilities", "--precision"} <= documented
    assert documented <= names


def test_every_field_is_documented() -> None:
    documented = set(re.findall(r"`(\w+)`", prose(PAGE)))
    for target, spec in TARGETS.items():
        assert set(columns(target, details=True).names) | {spec.answer} <= documented
