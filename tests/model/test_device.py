"""The faster precision, by a measurement; evaluation. What a stage says and keeps of it: tests/training/test_resume.py.

oneDNN can be held to the instructions of an older processor by its environment: those of this one then lie idle, which
is how a processor without bfloat16 is tried here.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
import torch
from transformers import BertModel

from adaptbert.model import device
from adaptbert.model.device import BF16, FLOAT32, best, bf16_gain, evaluating
from adaptbert.prediction.predictor import Predictor
from tests.other_processor import OLDEST
from tests.support import tiny
from tests.support.cells import Project
from tests.support.imports import ROOT
from tests.support.processors import FAST, ON_CPU, SLOW, processor

OLDER = pytest.mark.skipif(platform.machine() != "x86_64", reason="oneDNN is held to older instructions on x86 only")
CPU_FLAGS = Path("/proc/cpuinfo")
BF16_FLAGS = {"amx_bf16", "bf16"}
"""Flags of x86 and of ARM; on Linux only. A Xeon that lists avx512_bf16 alone multiplies float32 twice as fast."""
FLAGS = set(CPU_FLAGS.read_text("utf-8").split()) if CPU_FLAGS.is_file() else set()


# ---- the measurement


@ON_CPU
@pytest.mark.skipif(not BF16_FLAGS & FLAGS, reason="this processor lists no fast instructions for bf16")
def test_instructions_for_bf16_are_detected() -> None:
    assert best()[0] == BF16


@ON_CPU
@OLDER
@pytest.mark.parametrize("instructions", ["AVX512_CORE", "AVX2"])
def test_missing_instructions_for_bf16_are_detected(instructions: str) -> None:
    """In a new process, as the library reads the variable once."""
    code = "import json; from adaptbert.model.device import best; print(json.dumps(best()))"
    as_it_is = {name: value for name, value in os.environ.items() if name not in OLDEST}  # float32 at its best
    env = {**as_it_is, "ONEDNN_MAX_CPU_ISA": instructions}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    name, reason = json.loads(done.stdout)
    assert name == FLOAT32
    assert reason.startswith("float32 ")


def test_the_measurement_leaves_threads_and_random_state_unchanged() -> None:
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    bf16_gain.__wrapped__()
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(("supported", "name"), [(True, BF16), (False, FLOAT32)])
def test_a_cuda_device_is_not_measured(monkeypatch: pytest.MonkeyPatch, supported: bool, name: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: supported or including_emulation)
    assert best() == (name, f"the device has {'' if supported else 'no '}bf16")


@ON_CPU
def test_a_cell_is_the_one_of_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And `predict` answers as it was evaluated, or in another precision where that is said."""
    processor(monkeypatch, SLOW)
    by_itself, by_name = (Project(tmp_path / name, {"section": ("single_sentence", "class")}) for name in ("a", "n"))
    by_itself.finetune("section", "general", precision="auto")
    by_name.finetune("section", "general", precision=FLOAT32)
    assert by_itself.outputs() == by_name.outputs()

    processor(monkeypatch, FAST)

    def confidence(precision: str | None) -> float:
        predictor = Predictor.load(tmp_path / "a/models/finetune/section-general", precision)
        return float(next(predictor.answers([{"text": "one two three"}]))["confidence"])

    assert confidence(None) == confidence(FLOAT32)
    assert confidence("auto") == confidence(BF16) != confidence(None)


# ---- evaluation: no dropout and no gradient, on the fastest device; afterwards as and where it was


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_is_as_before(training: bool) -> None:
    model = BertModel(tiny.config()).train(training)
    with evaluating(model, "bf16-mixed"):
        assert not model.training
        assert not torch.is_grad_enabled()
        assert torch.is_autocast_enabled("cpu")
    assert model.training is training
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(("home", "fastest", "moves"), [("cpu", "mps", ["mps", "cpu"]), ("mps", "cpu", ["mps"])])
def test_outside_of_training_it_is_moved_there_and_back(
    home: str, fastest: str, moves: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In training it stays: the optimizer has its weights; of several devices it may be on another than the first."""
    monkeypatch.setattr(device, "fastest_device", lambda: torch.device(fastest))
    model = mock.MagicMock(device=torch.device(home))
    with pytest.raises(KeyError), evaluating(model, "32-true"):
        raise KeyError
    assert [call.args[0].type for call in model.to.call_args_list] == moves
