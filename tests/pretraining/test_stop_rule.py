"""The stop rule of a rung: when it ends training, which weights it keeps, and what it may look at."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

from adaptbert.base.files import read_json
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.pretraining.stop_rule import StopConfig, TaskStopConfig, rule, score
from adaptbert.tokenization.store.tokenized_corpus import TokenizedCorpus
from adaptbert.training import distributed
from adaptbert.training.document_stream import BudgetConfig
from tests.pretraining.test_fill_in_curve import Killed, killed_at
from tests.support import tiny, tiny_params
from tests.support.rungs import DOMAIN, PRETRAIN, TASK, Ladder

BUDGET = BudgetConfig(steps=60)
HARSH = {"budget": BUDGET, "measurements": 12, "optim": tiny_params.optim(learning_rate=0.03), "replay": 0.0}
"""A high learning rate on domain text alone: general text gets worse, and domain text not always better."""
PATIENT = StopConfig(patience=1, general_weight=0.0)
STRICT = StopConfig(patience=11, most_forgetting=0.1)


def weights(ladder: Ladder, rung: str = DOMAIN) -> dict[str, Any]:
    return {
        name: tensor.tolist() for name, tensor in load_file(ladder.root / f"models/{rung}/model.safetensors").items()
    }


def test_the_sum_is_weighted() -> None:
    bits = {"general": 2.0, "domain": 1.0}
    assert score(StopConfig(patience=1), bits) == 1.5
    assert score(StopConfig(patience=1, general_weight=0.9), bits) == pytest.approx(1.9)
    assert score(StopConfig(patience=1, general_weight=0.9), {"general": 2.0}) == 2.0
    limited = rule(StopConfig(patience=3, most_forgetting=0.25), bits)
    assert (limited.before, limited.limits) == (1.5, {"general/bits_per_char": 2.25})


def test_patience_ends_the_rung_and_keeps_the_best(ladder: Ladder) -> None:
    ladder.domain_transfer(**HARSH)
    full = ladder.metrics(DOMAIN)
    assert "stop" not in full
    ladder.domain_transfer(**HARSH, stop=PATIENT)
    metrics = ladder.metrics(DOMAIN)
    stop, scores = metrics["stop"], [point["stop/bits_per_char"] for point in metrics["curve"]]
    assert metrics["steps"] < stop["planned_steps"] == full["steps"] == 60
    assert stop["reason"] == "patience"
    assert metrics["tokens"] == metrics["steps"] * 128 < full["tokens"]
    assert metrics["tflop"] < full["tflop"]
    points = {point["step"]: point for point in metrics["curve"]}
    assert max(points) == metrics["steps"]
    before = metrics["before"]["domain"]["bits_per_char"]
    assert stop["kept_step"] > 0
    kept = points[stop["kept_step"]]
    assert kept["stop/bits_per_char"] == min(scores) < before
    assert len([step for step in points if step > stop["kept_step"]]) == 1, "patience"
    for text in ("general", "domain"):
        assert metrics["after"][text] == {name: kept[f"{text}/{name}"] for name in metrics["after"][text]}
    read = [text["trained_tokens"] for text in Checkpoint.load(ladder.root / "models" / DOMAIN).texts]
    assert stop["kept_tokens"] == stop["kept_step"] * 128
    assert read == [31 * 128, stop["kept_tokens"]]


def bits(metrics: dict[str, Any]) -> dict[str, float]:
    return {text: measures["bits_per_char"] for text, measures in metrics["after"].items()}


def test_the_weights_are_those_of_the_kept_step(ladder: Ladder) -> None:
    """As measured anew; and as at that step of the same run without a rule, whose points are the same."""
    ladder.domain_transfer(**HARSH)
    full = {point["step"]: point for point in ladder.metrics(DOMAIN)["curve"]}
    ladder.domain_transfer(**HARSH, stop=StopConfig(patience=3, general_weight=0.0))
    metrics = ladder.metrics(DOMAIN)
    assert metrics["stop"]["kept_step"] > 0
    for point in metrics["curve"]:
        same = {name: value for name, value in point.items() if not name.startswith("stop/")}
        assert same == full[point["step"]]
    card = ladder.root / "models" / DOMAIN / "card.json"
    card.write_text(json.dumps(read_json(card) | {"measured": {}}))
    for text, measures in metrics["after"].items():
        assert ladder.measure(DOMAIN)[text] == pytest.approx(measures, rel=1e-6)


def test_forgetting_ends_the_rung(ladder: Ladder) -> None:
    ladder.domain_transfer(**HARSH, stop=STRICT)
    metrics = ladder.metrics(DOMAIN)
    before, general = metrics["before"]["general"]["bits_per_char"], "general/bits_per_char"
    assert metrics["stop"]["reason"] == "forgetting"
    *within, last = metrics["curve"]
    assert last[general] > before + 0.1 >= max([before, *(point[general] for point in within)])
    assert metrics["steps"] == last["step"] < 60
    assert metrics["stop"]["kept_step"] < last["step"], "what is beyond the limit is never kept"
    assert metrics["after"]["general"]["bits_per_char"] <= before + 0.1


def test_where_nothing_is_better_the_weights_stay(ladder: Ladder) -> None:
    nothing = tiny_params.optim(learning_rate=0.3)
    ladder.domain_transfer(**(HARSH | {"optim": nothing}), stop=StopConfig(patience=1, general_weight=1.0))
    metrics = ladder.metrics(DOMAIN)
    assert (metrics["stop"]["kept_step"], metrics["stop"]["kept_tokens"]) == (0, 0)
    assert metrics["after"] == metrics["before"]
    assert weights(ladder) == weights(ladder, PRETRAIN)
    below, here = (Checkpoint.load(ladder.root / "models" / rung) for rung in (PRETRAIN, DOMAIN))
    assert here.texts == below.texts, "they have seen nothing more"


def test_a_rule_that_does_not_end_the_rung_says_so(ladder: Ladder) -> None:
    ladder.domain_transfer(budget=BUDGET, measurements=4, stop=StopConfig(patience=3))
    metrics = ladder.metrics(DOMAIN)
    assert metrics["stop"] == {"planned_steps": 60, "kept_step": 60, "kept_tokens": 60 * 128, "reason": None}
    kept = weights(ladder)
    ladder.domain_transfer(budget=BUDGET, measurements=4)
    assert weights(ladder) == kept
    assert "stop" not in read_json(ladder.root / "models" / DOMAIN / "card.json")["params"]


def test_general_pre_training_looks_at_general_text(ladder: Ladder) -> None:
    ladder.pretrain(budget=BUDGET, measurements=12, optim=HARSH["optim"], stop=StopConfig(patience=1))
    metrics = ladder.metrics(PRETRAIN)
    for point in metrics["curve"]:
        assert point["stop/bits_per_char"] == point["general/bits_per_char"]


@pytest.mark.usefixtures("save_every_step")
@pytest.mark.parametrize("stop", [PATIENT, STRICT], ids=["patience", "forgetting"])
@pytest.mark.parametrize("kill_at", [1, 9, 14])
def test_a_resumed_rung_ends_alike(
    ladder: Ladder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_at: int, stop: StopConfig
) -> None:
    """Stopped before the first measurement, between two, and wherever micro-batch 14 is; then once more at its end."""
    ladder.domain_transfer(**HARSH, stop=stop)
    expected = ladder.outputs()
    work = tiny.work(tmp_path)
    monkeypatch.setattr(tiny, "work", lambda _beside: work)
    with monkeypatch.context() as patch:
        killed_at(kill_at, patch)
        try:
            ladder.domain_transfer(**HARSH, stop=stop)
        except Killed:
            assert ladder.metrics(DOMAIN)["steps"] > kill_at
    ladder.domain_transfer(**HARSH, stop=stop)
    assert ladder.outputs() == expected


def test_two_processes_end_alike(ladder: Ladder, monkeypatch: pytest.MonkeyPatch) -> None:
    half = HARSH | {"micro_batch_tokens": 64}
    ladder.domain_transfer(**half, stop=STRICT)
    alone = ladder.metrics(DOMAIN)
    monkeypatch.setenv(distributed.VARIABLE, "2")
    ladder.domain_transfer(**half, stop=STRICT)
    together = ladder.metrics(DOMAIN)
    assert (together["steps"], together["stop"]) == (alone["steps"], alone["stop"])
    assert bits(together) == pytest.approx(bits(alone), abs=1e-3)


def test_task_transfer_never_looks_at_dev_text(ladder: Ladder) -> None:
    """With other dev text the rung is the same; and what the rule reads is held back from training."""
    ladder.domain_transfer()
    params = {"budget": BUDGET, "measurements": 6, "optim": HARSH["optim"], "stop": TaskStopConfig(patience=2)}
    ladder.task_transfer(**params)
    first, metrics = weights(ladder, TASK), ladder.metrics(TASK)
    dev = ladder.root / "data/heldout/section"
    shutil.rmtree(dev)
    tiny.corpus(dev, "general", 30, seed=7)
    ladder.task_transfer(**params)
    other = ladder.metrics(TASK)
    assert weights(ladder, TASK) == first
    assert (other["steps"], other["stop"]) == (metrics["steps"], metrics["stop"])
    assert other["before"]["section"] != metrics["before"]["section"]
    corpus = TokenizedCorpus.load(ladder.root / "data/tasks/section")
    trained, held_back = corpus.divided(0.05, tiny_params.MEASURE.seed)
    assert (len(trained.lengths), len(held_back.lengths)) == (38, 2)
    documents = [
        {tuple(part.read(np.array([n])).ids.tolist()) for n in range(len(part.lengths))}
        for part in (trained, held_back)
    ]
    assert documents[0] & documents[1] == set()


@pytest.mark.parametrize(
    ("stop", "measurements", "message"),
    [
        ({"patience": 4}, 4, "stop.patience 4 is not below measurements 4: the rule never ends a rung"),
        ({"patience": 0}, 4, "greater than or equal to 1"),
        ({"patience": 1, "most_forgetting": -0.1}, 4, "greater than or equal to 0"),
        ({"patience": 1, "general_weight": 1.5}, 4, "less than or equal to 1"),
    ],
)
def test_contradictions(stop: dict[str, Any], measurements: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny_params.rung(measurements=measurements, stop=stop)
    tiny_params.rung(measurements=4, stop=StopConfig(patience=9, most_forgetting=0.1))
