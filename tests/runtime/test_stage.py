"""From a command line to a call: arguments by the signature, values by params.yaml, one line and a code on failure."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config import load
from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.config.schema.mlm import DomainTransfer
from adaptbert.config.schema.sources import Corpus
from adaptbert.config.schema.text import Measure
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run
from tests.support.imports import ROOT
from tests.support.messages import messages_in
from tests.support.project import write_params
from tests.support.stores import runs

SMOKE = (ROOT / "presets/smoke.yaml").read_text(encoding="utf-8")


def exit_code(function: Callable[..., None], *argv: str) -> int:
    """Of a stage."""
    with pytest.raises(SystemExit) as ended:
        Stage(function).run(argv)
    assert isinstance(ended.value.code, int)
    return ended.value.code


called: dict[str, Any] = {}


def domain_transfer(
    params: DomainTransfer, *, base: str, corpus: str, seed: int, measure: Measure, weights: Base, init: Path, out: Path
) -> None:
    """A stage that prints its arguments."""
    called.update(locals())


def collect(params: Corpus, *, corpus: str, out: Path) -> None:
    """A stage whose values are those of a corpus."""
    called.update(locals())


GOOD = ("--base", "small", "--corpus", "domain", "--init", "models/pre train", "--out", "models/x")


def test_arguments_follow_the_signature(project: Path) -> None:
    assert exit_code(domain_transfer, *GOOD) == 0
    assert called["corpus"] == "domain"
    assert called["init"] == Path("models/pre train")
    assert called["out"] == Path("models/x")
    assert called["seed"] == 1
    assert called["measure"].max_tokens == 4000
    assert called["params"].replay_fraction == 0.05
    assert called["weights"].hidden_size == 64


def test_the_values_of_a_corpus(project: Path) -> None:
    for corpus in ("general", "domain"):
        assert exit_code(collect, "--corpus", corpus, "--out", "x") == 0
        assert called["params"].path == f"data/own/smoke/{corpus}.jsonl"


def test_values_that_differ_by_name(project: Path) -> None:
    """Those of the corpus win over those of the base (tests/config/test_recipe.py)."""
    own = "overrides: {small: {domain_transfer: {dropout: 0.2}}, domain: {domain_transfer: {dropout: 0.3}}}\n"
    (project / "params.yaml").write_text(SMOKE + own, encoding="utf-8")
    for corpus, dropout in (("general", 0.2), ("domain", 0.3)):
        assert exit_code(domain_transfer, *GOOD, "--corpus", corpus) == 0
        assert (called["params"].dropout, called["params"].replay_fraction) == (dropout, 0.05)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (GOOD[:-2], "the following arguments are required: --out"),
        ((*GOOD, "--learning-rate", "3"), "unrecognized arguments: --learning-rate 3"),
    ],
)
def test_other_arguments_are_refused(
    project: Path, capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], message: str
) -> None:
    assert exit_code(domain_transfer, *argv) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("seed: -1\n", "AB-109 params.yaml: seed: -1 is out of range\n  it should be greater than or equal to 0"),
        ("comprae: {}\n", "AB-099 params.yaml: comprae: unknown key 'comprae' (did you mean 'compare'?)"),
        ("overrides: {small: {finetune: {epochs: few}}}\n", "AB-109 params.yaml: overrides.small.finetune.epochs: "),
        ("overrides: {smal: {}}\n", "AB-099 params.yaml: overrides.smal: 'smal' is no base, corpus, task or arm"),
    ],
)
def test_a_bad_value_anywhere_ends_the_stage_before_it_begins(
    project: Path, capsys: pytest.CaptureFixture[str], text: str, line: str
) -> None:
    (project / "params.yaml").write_text(SMOKE + text, encoding="utf-8")
    called.clear()
    assert exit_code(domain_transfer, *GOOD) == 78
    printed = capsys.readouterr()
    assert line in printed.err
    assert all(one.startswith(("error: AB-", "AB-")) for one in messages_in(printed.err))
    assert printed.out == ""
    assert called == {}


RECORDED = """
import os
from pathlib import Path
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run
from stages.domain_transfer import DomainTransfer

def domain_transfer(params: DomainTransfer, *, base: str, corpus: str, seed: int, out: Path, run: Run) -> None:
    run.log_metrics({"loss": 0.5}, 3)
    print("the stage")
    if corpus == "broken":
        raise ValueError("cannot use " + os.environ["MLFLOW_TRACKING_URI"])

Stage(domain_transfer).run()
"""


def test_another_python_is_reported_in_one_line(tmp_path: Path) -> None:
    """DVC that is started by its path runs `python`, which may be one without any package."""
    command = [sys.executable, "-S", "-m", "stages.collect"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr.splitlines() == [
        f"error: {sys.executable} has none of the packages of this project; activate the environment "
        "(. .venv/bin/activate) and run again"
    ]


def test_the_first_start_is_silent_and_recorded(project: Path) -> None:
    """The tables of the store are made without a word: what a stage prints is about the stage."""
    command = [sys.executable, "-c", RECORDED, "--base", "small", "--corpus", "domain", "--out", "out"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "the stage\n", "")

    (run,) = runs(project, "tags.stage = 'domain_transfer'")
    assert run.data.tags["corpus"] == "domain"
    assert run.data.params["domain_transfer.learning_rate"] == "0.001"
    assert run.data.params["seed"] == "1"
    assert not [name for name in run.data.params if name.startswith("pretrain")], "its own values, no others"
    assert run.data.metrics["loss"] == 0.5
    assert run.info.status == "FINISHED"


@pytest.mark.parametrize(
    ("arm", "budgets", "tokens"),
    [
        ("scratch", {}, 0),
        ("general", {}, 20_000),
        ("domain_task", {}, 20_000 + 40_000 + 10_000),
        ("domain_task", {"section": {"task_transfer": {"tokens": 5_000}}}, 20_000 + 40_000 + 5_000),
        ("domain_task", {"section": {"task_transfer": {"passes": 3.0}}}, None),
        ("domain_task", {"mention": {"task_transfer": {"passes": 3.0}}}, 70_000),
    ],
)
def test_the_tokens_below_a_cell_are_logged(
    project: Path, arm: str, budgets: dict[str, Any], tokens: int | None
) -> None:
    """The budgets in force of all checkpoints below are added, where each is a number of tokens."""
    document = load.read(project / "params.yaml") | {
        "arms": ["scratch", "general", "domain_task"],
        "overrides": budgets,
    }
    write_params(project, document)
    names = {"base": "small", "task": "section", "arm": arm}
    names |= {"replicate": "1" if arm == "domain_task" else "0"}
    logged: dict[str, Any] = {}

    @contextmanager
    def record(stage: str, names: dict[str, str], values: dict[str, Any], **_: object) -> Iterator[None]:
        logged.update(values)
        yield

    def finetune(params: Finetune, *, task: str, arm: str, base: str, replicate: str, run: Run) -> None: ...

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("adaptbert.runtime.stage.open_run", record)
        assert exit_code(finetune, *(part for name, value in names.items() for part in (f"--{name}", value))) == 0
    assert logged.get("pretraining_tokens") == tokens
    assert logged["finetune.epochs"] == 2
