"""From a command line to a call: arguments by the signature, values by params.yaml, one line and a code on failure."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.mlm import DomainTransfer
from adaptbert.config.schema.sources import Corpus
from adaptbert.config.schema.text import Measure
from adaptbert.runtime.stage import Stage
from tests.support.imports import ROOT
from tests.support.messages import messages_in
from tests.support.stores import runs

SMOKE = (ROOT / "presets/smoke.yaml").read_text(encoding="utf-8")


def exit_code(function: Callable[..., None], *argv: str, **more: Any) -> int:
    """Of a stage; its values are those of the blocks that its arguments name."""
    hints = get_type_hints(function)
    more = {"blocks": tuple(name for name in ("start", "corpus") if name in hints)} | more
    with pytest.raises(SystemExit) as ended:
        Stage(function, **more).run(argv)
    assert isinstance(ended.value.code, int)
    return ended.value.code


called: dict[str, Any] = {}


def domain_transfer(
    params: DomainTransfer, *, corpus: str, seed: int, measure: Measure, init_from: Path, out: Path
) -> None:
    """A stage that prints its arguments."""
    called.update(locals())


def collect(params: Corpus, *, corpus: str, out: Path) -> None:
    """A stage whose section has a part for each corpus."""
    called.update(locals())


GOOD = ("--corpus", "domain", "--init-from", "models/pre train", "--out", "models/x")


def test_arguments_follow_the_signature(project: Path) -> None:
    assert exit_code(domain_transfer, *GOOD) == 0
    assert called["corpus"] == "domain"
    assert called["init_from"] == Path("models/pre train")
    assert called["out"] == Path("models/x")
    assert called["seed"] == 1
    assert called["measure"].max_tokens == 4000
    assert called["params"].replay_fraction == 0.05


def test_a_part_of_a_section_by_its_key(project: Path) -> None:
    for corpus in ("general", "domain"):
        assert exit_code(collect, "--corpus", corpus, "--out", "x", keyed_by="corpus", blocks=()) == 0
        assert called["params"].path == f"data/sources/smoke_{corpus}.txt"


def test_values_of_blocks_and_of_another_section(project: Path) -> None:
    """Those of the corpus win over those of the start; the weights of a start stand in the ladder."""

    def domain_transfer(params: DomainTransfer, *, start: str, corpus: str, weights: Base, out: Path) -> None:
        called.update(locals())

    blocks = "domain_transfer:\n  small: {dropout: 0.2, block_size: 32}\n  domain: {dropout: 0.3}\n"
    (project / "params.yaml").write_text(SMOKE.replace("domain_transfer:\n", blocks, 1), encoding="utf-8")
    at = {"weights": "ladder.starts.{start}"}
    for corpus, dropout in (("general", 0.2), ("domain", 0.3)):
        words = ("--start", "small", "--corpus", corpus, "--out", "x")
        assert exit_code(domain_transfer, *words, at=at) == 0
        values = called["params"]
        assert (values.dropout, values.block_size, values.replay_fraction) == (dropout, 32, 0.05)
        assert called["weights"].encoder.hidden_size == 64


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


def test_a_key_that_is_not_there(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(collect, "--corpus", "generel", "--out", "x", keyed_by="corpus", blocks=()) == 78
    (line,) = messages_in(capsys.readouterr().err)
    assert line.startswith("error: AB-099 params.yaml: collect.generel: 'generel' is missing")
    assert "(did you mean 'general'?)" in line


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("seed: 1 ", "seed: -1 ", "AB-115 params.yaml: seed: -1 is out of range\n  choose one from 0 to 2^64 - 1"),
        (
            "seed: 1 ",
            f"seed: {2**64} ",
            f"AB-115 params.yaml: seed: {2**64} is out of range\n  choose one from 0 to 2^64 - 1",
        ),
        (
            "seed: 1 ",
            "seed: true ",
            "AB-100 params.yaml: seed: expected an integer, found True\n  write one from 0 to 2^64 - 1",
        ),
        (
            "seed: 1 ",
            "seed: '1' ",
            "AB-100 params.yaml: seed: expected an integer, found '1'\n  write one from 0 to 2^64 - 1",
        ),
        ("\ncompare:", "\nverdicts:", "AB-099 params.yaml: compare: 'compare' is missing in the file"),
    ],
)
def test_a_bad_value_anywhere_ends_the_stage_before_it_begins(
    project: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, line: str
) -> None:
    text = SMOKE.replace(old, new, 1)
    assert text != SMOKE
    (project / "params.yaml").write_text(text, encoding="utf-8")
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

def domain_transfer(params: DomainTransfer, *, corpus: str, seed: int, out: Path, run: Run) -> None:
    run.log_metrics({"loss": 0.5}, 3)
    print("the stage")
    if corpus == "broken":
        raise ValueError("cannot use " + os.environ["MLFLOW_TRACKING_URI"])

Stage(domain_transfer, blocks=("corpus",)).run()
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
    command = [sys.executable, "-c", RECORDED, "--corpus", "domain", "--out", "out"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "the stage\n", "")

    (run,) = runs(project, "tags.stage = 'domain_transfer'")
    assert run.data.tags["corpus"] == "domain"
    assert run.data.params["domain_transfer.optim.learning_rate"] == "0.001"
    assert run.data.params["seed"] == "1"
    assert not [name for name in run.data.params if name.startswith("pretrain")], "its own values, no others"
    assert run.data.metrics["loss"] == 0.5
    assert run.info.status == "FINISHED"
