"""The folder that an import writes: what is there stays or is replaced at once, whatever happens in between."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from adaptbert.model.checkpoint import Checkpoint
from adaptbert.project.importing import target
from tests.support.messages import messages_in
from tests.support.public_checkpoints import (
    BIN,
    INIT,
    README,
    STARTS,
    brought,
    run,
    same_encoder,
    save_source,
    state,
    whole,
)


def test_the_same_again_changes_nothing(project: Path) -> None:
    source = save_source(project / "source")
    brought(str(source))
    times = {path.name: path.stat().st_mtime_ns for path in INIT.iterdir()}
    assert brought(str(source)).startswith("models/init/source: already there, nothing was written\n")
    assert {path.name: path.stat().st_mtime_ns for path in INIT.iterdir()} == times


def test_another_checkpoint_stays_until_it_is_forced_out(project: Path) -> None:
    brought(str(save_source(project / "one")))
    (INIT / "model.safetensors.dvc").write_text("record")
    before = {path.name: path.read_bytes() for path in INIT.iterdir()}
    other = save_source(project / "other", {name: tensor + 1 for name, tensor in state().items()})
    done = run(str(other))
    assert (done.exit_code, messages_in(done.output)) == (
        65,
        [
            "error: AB-202 models/init/source: holds another checkpoint (config.json, model.safetensors, "
            "tokenizer.json, tokenizer_config.json and more)\n"
            "  say --force to replace it, or choose another folder with --to"
        ],
    )
    assert {path.name: path.read_bytes() for path in INIT.iterdir()} == before
    said = brought(str(other), "--force")
    assert "DVC has records of the files of before (model.safetensors.dvc): run `dvc add` on the new ones" in said
    assert not same_encoder(pooler=False)
    assert (STARTS / "README.md").read_text() == README
    assert (INIT / "model.safetensors.dvc").read_text() == "record"


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (
            lambda: (INIT / "notes.txt").touch(),
            "error: AB-202 models/init/source: holds notes.txt, which is no file of a",
        ),
        (
            lambda: (INIT / "old").mkdir(),
            "error: AB-202 models/init/source: holds old, which is no file of a checkpoint\n",
        ),
        (lambda: (INIT / ".git").mkdir(), "error: AB-202 models/init/source: holds the folder .git\n  move it away"),
    ],
)
def test_files_of_others_are_never_replaced(project: Path, harm: Callable[[], object], words: str) -> None:
    INIT.mkdir()
    harm()
    names = sorted(INIT.iterdir())
    done = run(str(save_source(project / "source")), "--force")
    assert done.exit_code == 65
    assert done.output.startswith(words)
    assert sorted(INIT.iterdir()) == names


def test_another_target(project: Path) -> None:
    said = brought(str(save_source(project / "source")), "--to", "elsewhere/bert")
    assert Checkpoint.load(Path("elsewhere/bert")).has_weights
    assert "the stages read models/init/<start> only: import with --start NAME to train with this checkpoint" in said
    assert "now run" not in said
    assert [path.name for path in STARTS.iterdir()] == ["README.md"]


def test_a_linked_target_stays_a_link(project: Path) -> None:
    (project / "disk").mkdir()
    INIT.symlink_to(project / "disk")
    brought(str(save_source(project / "source")))
    assert INIT.is_symlink()
    assert (project / "disk/model.safetensors").is_file()


def prepared() -> None:
    """The start holds one checkpoint, and the folder `source` is another."""
    assert run("source").exit_code == 0
    torch.save({name: value + 1 for name, value in whole().items()}, BIN)


def stored() -> bytes:
    return (INIT / "model.safetensors").read_bytes()


@pytest.mark.usefixtures("source")
def test_the_folders_change_places_in_one_step() -> None:
    """Where this fails, the test below is what holds."""
    for name in "ab":
        Path("models", name).mkdir()
        Path("models", name, name).touch()
    assert target.exchange(Path("models/a"), Path("models/b"))
    assert [path.name for path in (*Path("models/a").iterdir(), *Path("models/b").iterdir())] == ["b", "a"]
    for name in "ab":
        shutil.rmtree(Path("models", name))


KILLED = """
import os, shutil, signal, sys, types
from pathlib import Path
from typer.testing import CliRunner
from adaptbert.cli import app
from adaptbert.project.importing import command, target

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def rename(path, to):
    kill() if path.name.endswith(".import.part") else before(path, to)

point, before = sys.argv[1], Path.rename
if point == "while it writes":
    command.weights.inspect = kill
elif point == "before the exchange":
    target.exchange = kill
elif point == "after the exchange":
    target.shutil = types.SimpleNamespace(copy2=shutil.copy2, rmtree=kill)
else:
    target.exchange = lambda *_: False
    Path.rename = rename
CliRunner().invoke(app, ["import", "source", "--force"])
"""


@pytest.mark.parametrize(
    ("point", "is_new"),
    [
        ("while it writes", False),
        ("before the exchange", False),
        ("between two renames", False),
        ("after the exchange", True),
    ],
)
@pytest.mark.usefixtures("source")
def test_a_kill_leaves_the_old_folder_or_the_new_one(point: str, is_new: bool) -> None:
    """Between two renames it lies beside, and the next import puts it back."""
    prepared()
    old = stored()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", KILLED, point], env=environment, timeout=200)
    assert done.returncode == -signal.SIGKILL
    assert INIT.exists() == (point != "between two renames")
    assert len([*STARTS.iterdir()]) > 2 or not INIT.exists(), "it left something"
    again = run("source")
    assert (again.exit_code, stored() == old) == ((0, False) if is_new else (65, True)), again.output
    assert run("source", "--force").exit_code == 0
    assert stored() != old


@pytest.mark.usefixtures("source")
def test_what_was_moved_aside_goes_when_the_new_folder_is_there() -> None:
    """A kill after the second rename."""
    prepared()
    shutil.copytree(INIT, STARTS / ".source.old.part")
    assert run("source", "--force").exit_code == 0


@pytest.mark.usefixtures("source")
def test_a_system_that_lets_no_folder_be_renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared()
    old = stored()
    rename = Path.rename

    def busy(path: Path, to: Path) -> Path:
        if path.name == "source":
            raise OSError(16, "Device or resource busy")
        return rename(path, to)

    monkeypatch.setattr(target, "exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", busy)
    done = run("source", "--force")
    assert done.exit_code == 74
    assert (
        "/models/init/source: cannot be replaced: Device or resource busy\n  make its parent folder writ" in done.output
    )
    assert stored() == old


@pytest.mark.skipif(sys.platform != "linux", reason="the name of the call")
@pytest.mark.usefixtures("source")
def test_a_system_without_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared()
    old = stored()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert run("source", "--force").exit_code == 0
    assert stored() != old
    assert load_file(INIT / "model.safetensors")
