"""How a stage ends that fails: one message and an exit code; a fault of ours keeps its traceback."""

import errno
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Limits
from adaptbert.core.files import atomic_write
from adaptbert.errors import BadData, BadParams, UserError, raise_all
from adaptbert.runtime.signals import Interrupted
from adaptbert.runtime.stage import Stage
from adaptbert.training.stability import Diverged
from tests.runtime.test_stage import exit_code


def raising(error: BaseException) -> Callable[..., None]:
    def validate(params: Limits, *, out: Path) -> None:
        raise error

    return validate


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (
            BadData(Code.DAMAGED_CHECKPOINT, "model", "damaged", "restore it"),
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
    def validate(params: Limits, *, out: Path) -> None:
        raise_all(
            [
                BadData(Code.ENCODING, "a.txt:3", "bad byte", "mend it"),
                BadData(Code.LABEL_MISSING, "b.csv:9", "no label", "add one"),
            ]
        )

    assert exit_code(validate, "--out", "x") == 65
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
    def validate(params: Limits, *, out: Path) -> None:
        with out.open("w") as file:
            file.write("x" * 100_000)

    assert exit_code(validate, "--out", "/dev/full") == 74
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
    def validate(params: Limits, *, out: Path) -> None:
        with atomic_write(out) as part:
            part.write_bytes(b"x" * 5000)
            raise error

    assert exit_code(validate, "--out", "models/x") == 74
    printed = capsys.readouterr().err
    pattern = r"the quota is used up, more than 5,000 bytes are needed, [\d,]+ are free\n  make room and run again\n"
    assert re.fullmatch(f"error: AB-189 models/x: {pattern}", printed), printed
    assert not list(Path("models").iterdir())


FILE_LIMIT = """
import resource
from pathlib import Path
from adaptbert.runtime.stage import Stage
from adaptbert.core.files import atomic_write
from adaptbert.config.schema.sources import Limits

def validate(params: Limits, *, out: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    with atomic_write(out) as part:
        part.mkdir()
        (part / "small").write_bytes(b"x")
        (part / "large").write_bytes(b"x" * 200_000)

Stage(validate).run()
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
