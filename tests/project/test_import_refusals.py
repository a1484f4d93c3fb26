"""What `adaptbert import` refuses: one message, exit code 65 or 78, no code run, and nothing written or moved."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertForPreTraining
from typer.testing import CliRunner, Result

from adaptbert.base.files import read_json
from adaptbert.cli import app
from adaptbert.project.importing import target
from tests.support import tiny
from tests.support.messages import messages_in

INIT = Path("models/init")
BIN, CONFIG, VOCABULARY = "source/pytorch_model.bin", "source/config.json", "source/vocab.txt"
QUERY = "bert.encoder.layer.0.attention.self.query.weight"
State = dict[str, Any]


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A project with a folder `source`, as the hub has them; at the end it must look as before."""
    (tmp_path / INIT).mkdir(parents=True)
    (tmp_path / INIT / "README.md").write_text("what lies here")
    (tmp_path / "params.yaml").touch()
    monkeypatch.chdir(tmp_path)
    write("source")
    yield
    assert [path.name for path in Path("models").iterdir()] == ["init"]


def state() -> State:
    torch.manual_seed(3)
    return dict(BertForPreTraining(tiny.config()).state_dict())


def write(folder: str) -> None:
    Path(folder).mkdir()
    tiny.config().save_pretrained(folder)
    Path(folder, "vocab.txt").write_text("\n".join(tiny.tokenizer().tokens) + "\n", encoding="utf-8")
    torch.save(state(), Path(folder, "pytorch_model.bin"))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["import", *arguments])


def refused(*arguments: str, code: int = 65) -> str:
    """The one message; models/init is as it was."""
    done = run(*(arguments or ("source",)))
    assert done.exit_code == code, done.output
    assert not isinstance(done.exception, Exception) or isinstance(done.exception, SystemExit)
    (message,) = messages_in(done.output)
    assert message.count("\n") == 1, "a place and a problem, a remedy"
    assert [path.name for path in INIT.iterdir()] == ["README.md"]
    return message.removeprefix("error: ")


# ---- pickles


class Runs:
    """A pickle of it makes the file `ran` when Python's own unpickler opens it."""

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, ("touch ran",)


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
@pytest.mark.parametrize("place", ["among tensors", "alone"])
def test_code_in_a_pickle_is_not_run(place: str, legacy: bool) -> None:
    content: Any = {**state(), "bert.extra": Runs()} if place == "among tensors" else Runs()
    torch.save(content, BIN, _use_new_zipfile_serialization=not legacy)
    assert refused() == (
        "AB-201 source/pytorch_model.bin: the pickle holds more than tensors, it names posix.system: nothing of it was "
        "run, nothing was written\n"
        "  do not open this file with other programs, which would run it; take the model from its authors"
    )
    assert not Path("ran").exists()
    torch.load(BIN, weights_only=False)
    assert Path("ran").exists(), "the file is what this test takes it for"


def test_objects_in_a_pickle_are_not_made() -> None:
    torch.save({**state(), "args": Namespace(lr=1)}, BIN)
    assert refused().startswith(
        "AB-201 source/pytorch_model.bin: the pickle holds more than tensors, it names argparse."
    )


def test_eval_by_a_known_name_is_not_run() -> None:
    Path(BIN).write_bytes(b"\x80\x02cbuiltins\neval\nX\x14\x00\x00\x00open('ran', 'w').id()\x85R.")
    assert refused().startswith("AB-201 source/pytorch_model.bin: the pickle holds more than tensors, it names eval: ")
    assert not Path("ran").exists()


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.3, 0.7, 0.99, 0.99999])
def test_a_pickle_that_is_cut(share: float, legacy: bool) -> None:
    torch.save(state(), BIN, _use_new_zipfile_serialization=not legacy)
    content = Path(BIN).read_bytes()
    Path(BIN).write_bytes(content[: int(len(content) * share)])
    message = refused()
    assert message.startswith("AB-124 source/pytorch_model.bin: cannot be read: ")
    assert message.endswith("\n  copy the whole checkpoint again")
    assert "weights_only" not in message


@pytest.mark.parametrize("content", [b"<html>Sign in</html>", b"PK\x03\x04" + bytes(100), b"\x80\x04\x95" + bytes(9)])
def test_bytes_of_another_kind(content: bytes) -> None:
    Path(BIN).write_bytes(content)
    assert refused().startswith("AB-124 source/pytorch_model.bin: cannot be read: ")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.safetensors"])
def test_a_pointer_of_git_lfs(name: str) -> None:
    Path("source", name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 409\n")
    assert refused() == (
        f"AB-124 source/{name}: a pointer of Git LFS, not the weights themselves\n"
        "  run `git lfs pull` in its folder, or download the file"
    )


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ({"model": {}, "optimizer": {}, "epoch": 3}, "model, optimizer, epoch"),
        ({}, "nothing"),
        ([torch.ones(2)], "a list"),
        (torch.ones(2), "a Tensor"),
    ],
)
def test_a_file_without_tensors_by_name(content: Any, found: str) -> None:
    torch.save(content, BIN)
    assert refused() == (
        f"AB-133 source/pytorch_model.bin: holds no tensors by name; found {found}\n"
        "  take the file of the model alone, as `model.save_pretrained` writes it"
    )


# ---- tensors


def changed(**changes: Any) -> State:
    """The tensors with others in their place; None takes one out."""
    weights = {**state(), **{name.replace("__", "."): value for name, value in changes.items()}}
    return {name: value for name, value in weights.items() if value is not None}


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (lambda: {**state(), QUERY: torch.ones(32, 31)}, f"AB-133 source: weights and config.json disagree: {QUERY}\n"),
        (lambda: {**state(), QUERY: torch.ones(10, 10).to_sparse()}, f"AB-133 {BIN}: {QUERY} is no plain tensor\n"),
        (lambda: {**state(), QUERY: torch.ones(1).expand(10**9, 32)}, f"AB-133 {BIN}: {QUERY} is larger than the file"),
        (
            lambda: {**state(), QUERY: torch.ones(32, 32).int()},
            f"AB-133 {BIN}: {QUERY} is I32, expected floating-point",
        ),
        (lambda: {**state(), QUERY: torch.full((32, 32), torch.nan)}, f"AB-125 {BIN}: {QUERY} holds NaN or Inf\n"),
        (lambda: {name: value for name, value in state().items() if name != QUERY}, f"disagree: {QUERY}\n"),
        (lambda: {**state(), "bert.adapter.weight": torch.ones(3)}, "disagree: bert.adapter.weight\n"),
        (
            lambda: {**state(), "cls.predictions.bias": torch.ones(151)},
            f"AB-133 {BIN}: weights and config.json disagree: cls.predictions.bias\n",
        ),
        (
            lambda: {**state(), "bert.pooler.dense.weight": torch.ones(32, 31)},
            f"AB-133 {BIN}: weights and config.json disagree: bert.pooler.dense.weight\n",
        ),
        (
            lambda: {**state(), "bert.embeddings.LayerNorm.gamma": torch.ones(32)},
            f"AB-133 {BIN}: holds bert.embeddings.LayerNorm.weight twice, under two names\n",
        ),
    ],
    ids=["shape", "sparse", "huge", "integers", "nan", "missing", "more", "head", "pooler", "twice"],
)
def test_tensors_that_are_none_of_this_bert(weights: Callable[[], State], words: str) -> None:
    torch.save(weights(), BIN)
    assert words in refused()


def test_safetensors_are_held_as_pickles_are() -> None:
    weights = {name: value for name, value in state().items() if "decoder" not in name}
    file = Path("source/model.safetensors")
    save_file({**weights, "cls.predictions.bias": torch.ones(151)}, file)
    assert "disagree: cls.predictions.bias\n" in refused()
    save_file({**weights, QUERY: torch.full((32, 32), torch.inf)}, file)
    assert refused().startswith(f"AB-125 source/model.safetensors: {QUERY} holds NaN or Inf\n")
    file.write_bytes(file.read_bytes()[:-1])
    assert refused().startswith("AB-123 source/model.safetensors: bad safetensors file: ")


# ---- config and tokenizer


def test_a_config_of_another_size() -> None:
    config = read_json(Path(CONFIG))
    Path(CONFIG).write_text(json.dumps({**config, "hidden_size": 64}))
    assert refused().startswith("AB-133 source: weights and config.json disagree: bert.embeddings.LayerNorm.bias, ")
    Path(CONFIG).write_text(json.dumps({**config, "vocab_size": 149}))
    assert refused().startswith("AB-127 source: tokenizer 150 tokens, embeddings 149\n")
    Path(CONFIG).write_text(json.dumps({**config, "hidden_size": "32"}))
    assert refused().startswith("AB-122 source/config.json: hidden_size: ")
    Path(CONFIG).write_text("{")
    assert refused().startswith("AB-122 source/config.json: not a JSON object\n")


@pytest.mark.parametrize("kind", ["roberta", "xlm-roberta", "electra", "albert", "ernie"])
def test_another_architecture(kind: str) -> None:
    Path(CONFIG).write_text(json.dumps({**read_json(Path(CONFIG)), "model_type": kind}))
    assert refused() == (
        f"AB-132 source/config.json: a model of the kind {kind}, which is another architecture than BERT\n"
        "  take a BERT; by their config.json, MacBERT and the Chinese RoBERTa-wwm are (model_type bert)"
    )


def test_another_architecture_without_a_kind() -> None:
    config = {**read_json(Path(CONFIG)), "architectures": ["RobertaForMaskedLM"]}
    del config["model_type"]
    Path(CONFIG).write_text(json.dumps(config))
    assert refused().startswith("AB-132 source/config.json: a model of the kind RobertaForMaskedLM, which is another ")


def test_a_vocabulary_without_special_tokens() -> None:
    tokens = [token for token in tiny.tokenizer().tokens if token != "[MASK]"]
    Path(VOCABULARY).write_text("\n".join(tokens) + "\n", encoding="utf-8")
    assert refused().startswith("AB-130 source: the vocabulary has no [MASK]\n  take a tokenizer made for BERT")


@pytest.mark.parametrize(
    ("missing", "beside", "words"),
    [
        (
            CONFIG,
            None,
            "AB-128 source: no config.json: not a Hugging Face folder\n  there are pytorch_model.bin, vocab.",
        ),
        (
            VOCABULARY,
            None,
            "AB-128 source: no tokenizer: neither tokenizer.json nor vocab.txt\n  there are config.json",
        ),
        (
            BIN,
            "source/tf_model.h5",
            "AB-137 source: no weights of torch: neither model.safetensors nor pytorch_model.bin (those of TensorFlow "
            "or Flax are not read)\n  there are config.json, tf_model.h5, vocab.txt",
        ),
    ],
)
def test_a_file_that_is_missing(missing: str, beside: str | None, words: str) -> None:
    Path(missing).unlink()
    if beside:
        Path(beside).touch()
    assert refused().startswith(words)


@pytest.mark.parametrize("name", [BIN, CONFIG, VOCABULARY])
def test_something_else_in_place_of_a_file(name: str) -> None:
    Path(name).unlink()
    Path(name).mkdir()
    assert refused() == f"AB-049 {name}: not a file\n  copy the whole checkpoint again"
    Path(name).rmdir()
    Path(name).symlink_to("nowhere")
    assert refused().startswith(f"AB-049 {name}: not a file\n")


# ---- names and options


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["./nowhere/bert"], 65, "AB-128 ./nowhere/bert: no such folder, and no name of a model on the hub\n  name a "),
        (
            ["https://huggingface.co/a/b"],
            65,
            "AB-128 https://huggingface.co/a/b: no such folder, and no name of a model",
        ),
        ([BIN], 65, f"AB-128 {BIN}: is a file, and a checkpoint is a folder\n  unpack it, or name its folder: source"),
        (
            ["source", "--revision", "main"],
            78,
            "AB-111 --revision: main is the revision of a model on the hub, and source",
        ),
        (["source", "--to", "source"], 78, "AB-111 --to source: the source source lies there, and an import replaces"),
        (["source", "--to", "."], 78, "AB-111 --to .: the source source lies there"),
        (["source", "--to", "/"], 78, "AB-111 --to /: the source source lies there"),
        (
            ["source", "--to", "params.yaml"],
            74,
            "AB-184 params.yaml: not a folder, and one belongs there\n  move it away",
        ),
    ],
)
def test_names_and_options(arguments: list[str], code: int, words: str) -> None:
    assert refused(*arguments, code=code).startswith(words)
    assert Path(BIN).is_file()


def test_not_in_a_project() -> None:
    Path("params.yaml").unlink()
    assert refused(code=78).endswith(
        ": no params.yaml: not the folder of the project\n"
        "  change to the folder of the project, or choose a folder with --to"
    )


# ---- kills: the old folder or the new one


def prepared() -> None:
    """models/init holds one checkpoint, and `source` is another."""
    assert run("source").exit_code == 0
    torch.save({name: value + 1 for name, value in state().items()}, BIN)


def stored() -> bytes:
    return (INIT / "model.safetensors").read_bytes()


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
def test_a_kill_leaves_the_old_folder_or_the_new_one(point: str, is_new: bool) -> None:
    """Between two renames it lies beside, and the next import puts it back."""
    prepared()
    old = stored()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", KILLED, point], env=environment, timeout=200)
    assert done.returncode == -signal.SIGKILL
    assert INIT.exists() == (point != "between two renames")
    assert len([*Path("models").iterdir()]) > 1, "it left something"
    again = run("source")
    assert (again.exit_code, stored() == old) == ((0, False) if is_new else (65, True)), again.output
    assert sorted(path.name for path in INIT.iterdir())[0] == "README.md"
    assert run("source", "--force").exit_code == 0
    assert stored() != old


def test_what_was_moved_aside_goes_when_the_new_folder_is_there() -> None:
    """A kill after the second rename."""
    prepared()
    shutil.copytree(INIT, "models/.init.old.part")
    assert run("source", "--force").exit_code == 0


def test_a_system_that_lets_no_folder_be_renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared()
    old = stored()
    rename = Path.rename

    def busy(path: Path, to: Path) -> Path:
        if path.name == "init":
            raise OSError(16, "Device or resource busy")
        return rename(path, to)

    monkeypatch.setattr(target, "exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", busy)
    done = run("source", "--force")
    assert done.exit_code == 74
    assert "/models/init: cannot be replaced: Device or resource busy\n  make its parent folder writ" in done.output
    assert stored() == old


@pytest.mark.skipif(sys.platform != "linux", reason="the name of the call")
def test_a_system_without_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared()
    old = stored()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert run("source", "--force").exit_code == 0
    assert stored() != old
    assert load_file(INIT / "model.safetensors")
