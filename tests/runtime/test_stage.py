"""From a command line to a call: arguments by the signature, values by params.yaml; a message and a code on failure."""

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from adaptbert.codes import Code
from adaptbert.config import load
from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.config.schema.mlm import DomainTransfer
from adaptbert.config.schema.sources import Corpus, Limits
from adaptbert.config.schema.text import Measure
from adaptbert.core.files import atomic_write
from adaptbert.errors import BadData, BadParams, Several
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.signals import Interrupted
from adaptbert.stage import run_stage
from adaptbert.training.stability import Diverged
from tests.support.imports import ROOT
from tests.support.project import write_params
from tests.support.stores import environment, runs

SMOKE = (ROOT / "presets/smoke.yaml").read_text(encoding="utf-8")


def exit_code(function: Callable[..., None], *argv: str) -> int:
    """Exit code of a stage."""

    def process() -> None:
        run_stage(function, argv)
        sys.exit(0)

    with pytest.raises(SystemExit) as ended:
        process()
    assert isinstance(ended.value.code, int)
    return ended.value.code


called: dict[str, Any] = {}


def domain_transfer(
    params: DomainTransfer, *, base: str, corpus: str, seed: int, measure: Measure, weights: Base, init: Path, out: Path
) -> None:
    called.update(locals())


def collect(params: Corpus, *, corpus: str, out: Path) -> None:
    called.update(locals())


GOOD = ("--base", "small", "--corpus", "domain", "--init", "models/pre train", "--out", "models/x")


def test_arguments_follow_the_signature(project: Path) -> None:
    """Values are those in force for the names."""
    own = "overrides: {domain: {domain_transfer: {dropout: 0.3}}}\n"
    (project / "params.yaml").write_text(SMOKE + own, encoding="utf-8")
    assert exit_code(domain_transfer, *GOOD) == 0
    assert (called["corpus"], called["init"], called["out"]) == ("domain", Path("models/pre train"), Path("models/x"))
    assert (called["seed"], called["measure"].max_tokens, called["weights"].hidden_size) == (1, 4000, 64)
    assert (called["params"].replay_fraction, called["params"].dropout) == (0.05, 0.3)
    for corpus in ("general", "domain"):
        assert exit_code(collect, "--corpus", corpus, "--out", "x") == 0
        assert called["params"].path == f"data/smoke/{corpus}.jsonl"


def test_a_bad_value_anywhere_ends_the_stage_before_it_begins(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is refused is in tests/config; here it is a value of another stage, and rules between sections."""
    own = "overrides: {small: {finetune: {epochs: few}}, smal: {}}\n"
    (project / "params.yaml").write_text(SMOKE + own, encoding="utf-8")
    called.clear()
    assert exit_code(domain_transfer, *GOOD) == 78
    printed = capsys.readouterr()
    assert printed.err.startswith("error: AB-109 params.yaml: overrides.small.finetune.epochs: ")
    assert "\nAB-099 params.yaml: overrides.smal: 'smal' is no base, corpus, task or arm" in printed.err
    assert (printed.out, called) == ("", {})


def test_another_python_is_reported_in_one_line(tmp_path: Path) -> None:
    """DVC that is started by its path runs `python`, which may be one without any package."""
    command = [sys.executable, "-S", "-m", "stages.collect"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr.splitlines() == [
        f"error: {sys.executable} has none of the packages of this project; activate the environment "
        "(. .venv/bin/activate) and run again"
    ]


def test_an_interruption_while_a_stage_imports_shows_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "pydantic.py").write_text(
        "import os, signal\n\nos.kill(os.getpid(), signal.SIGINT)\n", encoding="utf-8"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "stages.collect"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


RECORDED = """
from pathlib import Path
from adaptbert.stage import run_stage
from adaptbert.runtime.mlflow import Run
from stages.domain_transfer import DomainTransfer

def domain_transfer(params: DomainTransfer, *, base: str, corpus: str, seed: int, out: Path, run: Run) -> None:
    run.log_metrics({"loss": 0.5}, 3)
    print("the stage")
    if corpus == "broken":
        raise ValueError("cannot use " + os.environ["MLFLOW_TRACKING_URI"])

run_stage(domain_transfer)
"""


def test_the_first_start_is_silent_and_recorded(project: Path) -> None:
    """The tables of the store are made without a word: what a stage prints is about the stage."""
    command = [sys.executable, "-c", RECORDED, "--base", "small", "--corpus", "domain", "--out", "out"]
    env = {name: value for name, value in environment().items() if name != "PYTHONWARNINGS"}
    ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "the stage\n", "")

    (run,) = runs(project, "tags.stage = 'domain_transfer'")
    assert (run.info.status, run.data.metrics["loss"], run.data.tags["corpus"]) == ("FINISHED", 0.5, "domain")
    assert (run.data.params["domain_transfer.learning_rate"], run.data.params["seed"]) == ("0.001", "1")
    assert not [name for name in run.data.params if name.startswith("pretrain")], "its own values, no others"


@pytest.mark.parametrize(
    ("arm", "budgets", "tokens"),
    [
        ("scratch", {}, 0),
        ("domain_task", {}, 20_000 + 40_000 + 10_000),
        ("domain_task", {"section": {"task_transfer": {"tokens": 5_000}}}, 20_000 + 40_000 + 5_000),
        ("domain_task", {"section": {"task_transfer": {"passes": 3.0}}}, None),
        ("domain_task", {"mention": {"task_transfer": {"passes": 3.0}}}, 70_000),
    ],
)
def test_the_tokens_below_a_fine_tuning_are_logged(
    project: Path, arm: str, budgets: dict[str, Any], tokens: int | None
) -> None:
    """The budgets in force of all checkpoints below are added, where each is a number of tokens."""
    own = {"arms": ["scratch", "general", "domain_task"], "overrides": budgets}
    write_params(project, load.read(project / "params.yaml") | own)
    names = {"base": "small", "task": "section", "arm": arm, "replicate": "1" if arm == "domain_task" else "0"}
    logged: dict[str, Any] = {}

    @contextmanager
    def record(stage: str, names: dict[str, str], values: dict[str, Any], **_: object) -> Iterator[None]:
        logged.update(values)
        yield

    def finetune(params: Finetune, *, task: str, arm: str, base: str, replicate: str, run: Run) -> None: ...

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("adaptbert.stage.open_run", record)
        assert exit_code(finetune, *(part for name, value in names.items() for part in (f"--{name}", value))) == 0
    assert logged.get("pretraining_tokens") == tokens
    assert logged["finetune.epochs"] == 2


# How a stage ends that fails


def raising(error: BaseException) -> Callable[..., None]:
    def validate(params: Limits, *, out: Path) -> None:
        raise error

    return validate


NO_MODEL = BadData(Code.DAMAGED_CHECKPOINT, "model", "damaged", "restore it")
NO_VALUE = BadParams(Code.CONTRADICTION, "params.yaml: a", "1 > 0", "change it")
ROOM = r", [\d,]+ are free\n  make room and run again"
ENDS: list[tuple[BaseException, int, str]] = [
    (NO_MODEL, 65, "error: AB-124 model: damaged\n  restore it"),
    (NO_VALUE, 78, "error: AB-111 params.yaml: a: 1 > 0\n  change it"),
    (
        Several([NO_MODEL, NO_VALUE]),
        65,
        "error: AB-124 model: .*\n  restore it\nAB-111 .*: a: .*\n  change it",
    ),
    (Diverged("step 3", "the loss is nan", "lower it"), 70, "error: AB-158 step 3: .*\n  lower it"),
    (Interrupted("stopped by SIGTERM"), 75, "stopped by SIGTERM; the same command goes on from here"),
    (OSError(errno.EROFS, "", "x"), 74, "error: AB-189 x: the file system is read-only\n  mount it for writing, or .*"),
    (OSError(errno.ENOSPC, "", "models/x"), 74, f"error: AB-189 models/x: no space left on the disk{ROOM}"),
    (OSError(errno.ENOSPC, ""), 74, f"error: AB-189 output: no space left on the disk{ROOM}"),
    (ValueError("Error: (os error 122)"), 74, f"error: AB-189 output: the quota is used up{ROOM}"),  # of safetensors
    (
        RuntimeError("DataLoader worker (pid 7) is killed by signal: Killed. "),
        75,
        r"error: AB-180 workers: a process that makes batches was killed\n  run again; if memory had .*",
    ),
    (OSError(errno.EFBIG, "", "x"), 74, "error: AB-189 x: larger than a file may be here\n  raise `ulimit -f` and .*"),
]


@pytest.mark.parametrize(("error", "code", "line"), ENDS, ids=range(len(ENDS)))
def test_a_message_and_a_code_that_says_what_to_do(
    project: Path, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, line: str
) -> None:
    assert exit_code(raising(error), "--out", "x") == code
    printed = capsys.readouterr().err
    assert re.fullmatch(f"{line}\n", printed), printed


@pytest.mark.parametrize("error", [RuntimeError("ours"), OSError(errno.ENOENT, "No such file", "x"), KeyError("x")])
def test_a_fault_of_ours_keeps_its_traceback(project: Path, error: Exception) -> None:
    """Nothing that we did not foresee is dressed up as the user's mistake."""
    with pytest.raises(type(error)):
        run_stage(raising(error), ["--out", "x"])


def test_an_output_that_does_not_fit_leaves_the_old_one(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "out").mkdir()
    (project / "out/old").write_text("old")

    def validate(params: Limits, *, out: Path) -> None:
        with atomic_write(out) as part:
            part.mkdir()
            (part / "half").write_bytes(b"x" * 5000)
            raise OSError(errno.EDQUOT, "Quota exceeded", str(part))

    assert exit_code(validate, "--out", "out") == 74
    assert "AB-189 out: the quota is used up, more than 5,000 bytes are needed, " in capsys.readouterr().err
    assert sorted(path.name for path in project.iterdir()) == [".work", "out", "params.yaml", "stages"]
    assert [path.name for path in (project / "out").iterdir()] == ["old"]
