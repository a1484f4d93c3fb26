"""From a command line to a call: arguments by the signature, values by params.yaml, one line and a code on failure."""

import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adaptbert.base.files import atomic_write
from adaptbert.codes import Code
from adaptbert.errors import BadData, BadParams, UserError, raise_all
from adaptbert.pretraining.heldout_evaluation import MeasureConfig
from adaptbert.runtime.signals import Interrupted
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run
from adaptbert.training.stability import Diverged
from stages.domain_transfer import DomainTransferParams
from stages.finetune import FinetuneParams
from tests.support.imports import ROOT
from tests.support.messages import messages_in

SMOKE = (ROOT / "presets/smoke.yaml").read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the parameters and the stages of the project."""
    (tmp_path / "params.yaml").write_text(SMOKE, encoding="utf-8")
    (tmp_path / "stages").symlink_to(ROOT / "stages")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path


def exit_code(function: Callable[..., None], *argv: str, keyed_by: str | None = None) -> int:
    with pytest.raises(SystemExit) as ended:
        Stage(function, keyed_by).run(argv)
    assert isinstance(ended.value.code, int)
    return ended.value.code


called: dict[str, Any] = {}


def domain_transfer(
    params: DomainTransferParams, *, corpus: str, seed: int, measure: MeasureConfig, init_from: Path, out: Path
) -> None:
    """A stage that prints its arguments."""
    called.update(locals())


def finetune(params: FinetuneParams, *, task: str, out: Path) -> None:
    """A stage whose section has a part for each task."""
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
    text = SMOKE.replace("  mention:\n    seeds: [1, 2]", "  mention:\n    seeds: [7]")
    assert text != SMOKE
    (project / "params.yaml").write_text(text, encoding="utf-8")
    for task, seeds in (("section", [1]), ("mention", [7])):
        assert exit_code(finetune, "--task", task, "--out", "x", keyed_by="task") == 0
        assert called["params"].seeds[: len(seeds)] == seeds


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
    assert exit_code(finetune, "--task", "mentoin", "--out", "x", keyed_by="task") == 78
    (line,) = messages_in(capsys.readouterr().err)
    assert line.startswith("error: AB-099 params.yaml: finetune.mentoin: 'mentoin' is missing")
    assert "(did you mean 'mention'?)" in line


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
            "AB-100 params.yaml: seed: expected an integer, found True\n  write a whole number, such as 8",
        ),
        (
            "seed: 1 ",
            "seed: '1' ",
            "AB-100 params.yaml: seed: expected an integer, found '1'\n  write 1 without quotes",
        ),
        ("\ncompare:", "\nverdicts:", "AB-099 params.yaml: compare: 'compare' is missing in the file"),
        ("\ncompare:", "\nmeassure: {}\ncompare:", "unknown section 'meassure' (did you mean 'measure'?)"),
        ("lowercase: true", "lowercase: tru", "AB-100 params.yaml: tokenizer.lowercase: expected true or false, found"),
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


def raising(error: BaseException) -> Callable[..., None]:
    def domain_transfer(params: DomainTransferParams, *, out: Path) -> None:
        raise error

    return domain_transfer


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (
            BadData(Code.DAMAGED_WEIGHTS, "model", "damaged", "restore it"),
            65,
            "error: AB-124 model: damaged\n  restore it",
        ),
        (
            BadParams(Code.CONTRADICTION, "params.yaml: a", "1 > 0", "change it"),
            78,
            "error: AB-111 params.yaml: a: 1 > 0\n  change it",
        ),
        (
            Diverged(Code.DIVERGED, "step 3", "the loss is nan", "lower it"),
            70,
            "error: AB-158 step 3: the loss is nan\n  lower it",
        ),
        (Interrupted("stopped by SIGTERM"), 75, "stopped by SIGTERM; the same command goes on from here"),
        (
            OSError(errno.EROFS, "Read-only file system", "models/x"),
            74,
            "error: AB-189 models/x: the file system is read-only\n  mount it for writing, or work in another folder",
        ),
    ],
)
def test_one_line_and_a_code_that_says_what_to_do(
    project: Path, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, line: str
) -> None:
    assert exit_code(raising(error), "--out", "x") == code
    assert capsys.readouterr().err == line + "\n"


def test_several_failures_are_reported_together(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def domain_transfer(params: DomainTransferParams, *, out: Path) -> None:
        raise_all(
            [
                BadData(Code.NOT_DECODABLE, "a.txt:3", "bad byte", "mend it"),
                BadData(Code.LABEL_MISSING, "b.csv:9", "no label", "add one"),
            ]
        )

    assert exit_code(domain_transfer, "--out", "x") == 65
    assert capsys.readouterr().err == (
        "error: AB-001 a.txt:3: bad byte\n  mend it\nAB-062 b.csv:9: no label\n  add one\n"
    )


@pytest.mark.parametrize("error", [RuntimeError("ours"), OSError(errno.ENOENT, "No such file", "x"), KeyError("x")])
def test_a_fault_of_ours_keeps_its_traceback(project: Path, error: Exception) -> None:
    """Nothing that we did not foresee is dressed up as the user's mistake."""
    with pytest.raises(type(error)):
        Stage(raising(error)).run(["--out", "x"])
    assert not isinstance(error, UserError)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full, on Linux")
def test_a_full_disk(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def domain_transfer(params: DomainTransferParams, *, out: Path) -> None:
        with out.open("w") as file:
            file.write("x" * 100_000)

    assert exit_code(domain_transfer, "--out", "/dev/full") == 74
    printed = capsys.readouterr().err
    pattern = r"error: AB-189 output: no space left on the disk, [\d,]+ are free\n  make room and run again\n"
    assert re.fullmatch(pattern, printed), printed


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EDQUOT, "Quota exceeded", "models/x"),
        ValueError(
            "Error while serializing: I/O error: Disk quota exceeded (os error 122)"
        ),  # as safetensors reports it
    ],
)
def test_a_quota_that_is_used_up(project: Path, capsys: pytest.CaptureFixture[str], error: Exception) -> None:
    def domain_transfer(params: DomainTransferParams, *, out: Path) -> None:
        with atomic_write(out) as part:
            part.write_bytes(b"x" * 5000)
            raise error

    assert exit_code(domain_transfer, "--out", "models/x") == 74
    printed = capsys.readouterr().err
    pattern = r"the quota is used up, more than 5,000 bytes are needed, [\d,]+ are free\n  make room and run again\n"
    assert re.fullmatch(f"error: AB-189 models/x: {pattern}", printed), printed
    assert not list(Path("models").iterdir())


FILE_LIMIT = """
import resource
from pathlib import Path
from adaptbert.runtime.stage import Stage
from adaptbert.base.files import atomic_write
from stages.domain_transfer import DomainTransferParams

def domain_transfer(params: DomainTransferParams, *, out: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    with atomic_write(out) as part:
        part.mkdir()
        (part / "small").write_bytes(b"x")
        (part / "large").write_bytes(b"x" * 200_000)

Stage(domain_transfer).run()
"""


def test_a_file_that_does_not_fit_leaves_the_old_output(project: Path) -> None:
    (project / "out").mkdir()
    (project / "out/old").write_text("old")
    ran = subprocess.run(
        [sys.executable, "-c", FILE_LIMIT, "--out", "out"], capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 74, ran.stderr
    assert ran.stderr.endswith(
        "error: AB-189 out: larger than a file may be here, more than 100,001 bytes are needed\n  "
        "raise `ulimit -f` and run again\n"
    )
    assert "Traceback" not in ran.stderr
    assert sorted(path.name for path in project.iterdir()) == [".work", "out", "params.yaml", "stages"]
    assert [path.name for path in (project / "out").iterdir()] == ["old"]


RECORDED = """
from pathlib import Path
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run
from stages.domain_transfer import DomainTransferParams

def domain_transfer(params: DomainTransferParams, *, corpus: str, seed: int, out: Path, run: Run) -> None:
    run.log_metrics({"loss": 0.5}, 3)
    print("the stage")

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
    command = [sys.executable, "-c", RECORDED, "--corpus", "domain", "--out", "out"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "the stage\n", "")

    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("adaptbert").experiment_id
    (run,) = client.search_runs([experiment], "tags.stage = 'domain_transfer'")
    assert run.data.tags["corpus"] == "domain"
    assert run.data.params["domain_transfer.optim.learning_rate"] == "0.001"
    assert run.data.params["seed"] == "1"
    assert not [name for name in run.data.params if name.startswith("pretrain")], "its own values, no others"
    assert run.data.metrics["loss"] == 0.5
    assert run.info.status == "FINISHED"


def test_the_run_is_handed_over(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even to a stage whose store does not answer."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nonsense://nowhere")
    seen: list[Run] = []

    def domain_transfer(params: DomainTransferParams, *, out: Path, run: Run) -> None:
        run.log_metrics({"a": 1.0})
        seen.append(run)

    assert exit_code(domain_transfer, "--out", "x") == 0
    assert len(seen) == 1
