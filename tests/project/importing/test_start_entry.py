"""An imported checkpoint becomes a start of params.yaml, under a name made from its own."""

import shutil
import subprocess
from difflib import ndiff
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adaptbert.base import expansion
from adaptbert.cli import app
from adaptbert.project.importing.start_names import of_model
from adaptbert.runtime.params import expanded_ladder
from adaptbert.runtime.params import params_file as params
from tests.support.imports import ROOT
from tests.support.public_checkpoints import STARTS, brought, run, save_source

PARAMS = Path("params.yaml")


@pytest.fixture
def demonstration(project: Path) -> Path:
    """The project has this one's params.yaml and stages."""
    (project / "data").mkdir()
    for name in ("stages", "presets", "data/sources"):
        (project / name).symlink_to(ROOT / name)
    for name in ("params.yaml", "ladder.yaml", ".gitignore"):
        shutil.copy(ROOT / name, project / name)
    return save_source(project / "tiny-BERT.v2")


def test_the_start_is_added(demonstration: Path) -> None:
    before = PARAMS.read_text()
    done = run(str(demonstration), "--start", "tiny")
    assert done.exit_code == 0, done.output
    assert [line for line in ndiff(before.splitlines(), PARAMS.read_text().splitlines()) if line[0] in "+-"] == [
        "+     tiny: {init: models/init/tiny}",
        "+   tiny: {budget: {tokens: 0}}",
    ]
    expanded_ladder.check(params.read(PARAMS), PARAMS)
    assert list(expansion.read().pretrain) == ["small", "tiny"]
    assert expansion.read().pretrain["tiny"].init == "models/init/tiny"
    of_random = "which is for random weights; add"
    assert done.output.splitlines()[-6:] == [
        "params.yaml: ladder.starts has tiny: {init: models/init/tiny}; ladder.yaml is written as well",
        "params.yaml: pretrain.tiny has a budget of 0, because general pre-training is behind this checkpoint",
        "every arm is now trained from 2 starts; to train from tiny alone, remove small from ladder.starts, then run "
        "`adaptbert ladder`",
        f"notice: domain_transfer.all has a learning rate of 0.001, {of_random} domain_transfer.tiny: "
        "{optim: {learning_rate: 5.0e-5}}",
        f"notice: finetune.all has a learning rate of 0.0004, {of_random} finetune.tiny: "
        "{optim: {learning_rate: 3.0e-5}}",
        "now run: adaptbert check",
    ]


def test_twice_changes_nothing(demonstration: Path) -> None:
    run(str(demonstration), "--start", "tiny")
    files = PARAMS.read_bytes(), Path("ladder.yaml").read_bytes()
    said = brought(str(demonstration), "--start", "tiny")
    assert "models/init/tiny: already there, nothing was written\n" in said
    assert "params.yaml has the start tiny already\n" in said
    assert (PARAMS.read_bytes(), Path("ladder.yaml").read_bytes()) == files


def test_the_name_is_that_of_the_model(demonstration: Path) -> None:
    done = CliRunner().invoke(app, ["import", str(demonstration)])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in STARTS.iterdir()) == ["README.md", "tiny_bert_v2"]
    assert list(params.read(PARAMS)["ladder"]["starts"]) == ["small", "tiny_bert_v2"]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("google-bert/bert-base-chinese", "bert_base_chinese"),
        ("hfl/chinese-roberta-wwm-ext", "chinese_roberta_wwm_ext"),
        ("MacBERT-v1.1/", "macbert_v1_1"),
        ("a/2024-bert", "bert"),
        ("模型", "public"),
        ("x" * 60, "x" * 40),
    ],
)
def test_names(model: str, name: str) -> None:
    assert of_model(model) == name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "My-Bert",
            "error: AB-112 --start My-Bert: 'My-Bert' cannot be the name of a stage\n  call it my_bert: names begin",
        ),
        (
            "domain",
            "error: AB-112 --start domain: 'domain' is in collect, and a block of this name could mean either\n",
        ),
        ("section", "error: AB-112 --start section: 'section' is in collect_task, and"),
        (
            "small",
            "error: AB-111 params.yaml: ladder.starts.small: the start small is scratch\n  write `small: {init",
        ),
    ],
)
def test_a_name_that_cannot_be_is_refused_before_anything_is_read(demonstration: Path, name: str, words: str) -> None:
    before = PARAMS.read_bytes()
    done = run("/nowhere", "--start", name)
    assert (done.exit_code, done.output[: len(words)]) == (78, words)
    assert (PARAMS.read_bytes(), [path.name for path in STARTS.iterdir()]) == (before, ["README.md"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--to", "x", "--start", "y"], "error: AB-111 --to x: --to writes a folder, --start the one of a start\n"),
        (
            ["--to", "models/init"],
            "error: AB-111 --to models/init: a start lies in models/init/<start>\n  leave --to out",
        ),
        (["--to", "models/init/x"], "error: AB-111 --to models/init/x: a start lies in models/init/<start>\n"),
    ],
)
def test_folders_that_contradict_a_start(demonstration: Path, arguments: list[str], words: str) -> None:
    done = run(str(demonstration), *arguments)
    assert (done.exit_code, done.output[: len(words)]) == (78, words)


def test_an_error_in_params_does_not_stop_an_import(demonstration: Path) -> None:
    PARAMS.write_text(PARAMS.read_text().replace("draws: 2 ", "draws: x "))
    before = PARAMS.read_bytes()
    said = brought(str(demonstration), "--start", "tiny")
    assert (
        "params.yaml is unchanged, because of an error in it: AB-100 params.yaml: ladder.draws: expected an integer"
        in said
    )
    assert "add it below ladder.starts, then run `adaptbert ladder`:  tiny: {init: models/init/tiny}\n" in said
    assert PARAMS.read_bytes() == before


@pytest.mark.usefixtures("demonstration")
def test_git_takes_records_and_no_weights() -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    (STARTS / "tiny").mkdir()
    for name in (
        "README.md",
        "tiny.dvc",
        "tiny/model.safetensors",
        "tiny/README.md",
        "tiny/model.safetensors.dvc",
        "model.bin",
    ):
        (STARTS / name).touch()
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", STARTS], check=True, capture_output=True, text=True
    )
    assert listed.stdout.split() == [
        "models/init/README.md",
        "models/init/tiny.dvc",
        "models/init/tiny/model.safetensors.dvc",
    ]
