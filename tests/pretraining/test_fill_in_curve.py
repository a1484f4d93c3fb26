"""The fill-in curve of a rung: its points, its controls, and that training is the same with it and without it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertForMaskedLM

from adaptbert.base.record import CurvePoint
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.pretraining import rung as rung_module
from adaptbert.pretraining.heldout_evaluation import HeldOut
from adaptbert.pretraining.metrics.fill_in_classes import FILL_IN_CLASSES
from adaptbert.runtime.tracking.run import Run
from adaptbert.tokenization.store.tokenized_corpus import TokenizedCorpus
from adaptbert.training.document_stream import BudgetConfig
from tests.support import tiny, tiny_params
from tests.support.rungs import DOMAIN, GENERAL, PRETRAIN, Ladder


def heldout(ladder: Ladder, *texts: str) -> HeldOut:
    folders = [ladder.root / "data/heldout" / text for text in texts]
    return HeldOut(folders, tiny_params.MEASURE, tiny.tokenizer(), 64)


def test_points_grow_by_factors_and_include_those_of_the_curve(trained_ladder: Ladder) -> None:
    metrics = trained_ladder.metrics(DOMAIN)
    assert metrics["steps"] == 62
    curve = [CurvePoint.model_validate(point) for point in metrics["curve"]]
    assert metrics["fill_in"]["steps"] == [0, 1, 3, *(point.step for point in curve)]
    for text in ("general", "domain"):
        of_all = metrics["fill_in"]["texts"][text]["all"]["accuracy"]
        assert of_all[-len(curve) :] == [point.measures[f"{text}/masked_accuracy"] for point in curve]
        assert of_all[0] == metrics["before"][text]["masked_accuracy"]


def test_accuracy_by_class_adds_up(trained_ladder: Ladder) -> None:
    """Every token has one frequency; classes come in their order, and those without a masked token are left out."""
    for rung in (PRETRAIN, DOMAIN):
        fill_in = trained_ladder.metrics(rung)["fill_in"]
        for classes in fill_in["texts"].values():
            assert list(classes) == [name for name in FILL_IN_CLASSES if name in classes]
            assert all(curve["tokens"] > 0 for curve in classes.values())
            bands = [classes[name] for name in ("frequent", "middle", "rare")]
            assert sum(band["tokens"] for band in bands) == classes["all"]["tokens"]
            for place in range(len(fill_in["steps"])):
                right = sum(band["tokens"] * band["accuracy"][place] for band in bands)
                assert right == pytest.approx(classes["all"]["tokens"] * classes["all"]["accuracy"][place])


def test_the_rung_above_begins_where_the_one_below_ended(trained_ladder: Ladder) -> None:
    below, above = (trained_ladder.metrics(rung)["fill_in"]["texts"]["general"] for rung in (PRETRAIN, DOMAIN))
    assert {name: curve["accuracy"][-1] for name, curve in below.items()} == {
        name: curve["accuracy"][0] for name, curve in above.items()
    }


def test_the_unigram_control_always_answers_one_token(trained_ladder: Ladder) -> None:
    """The most frequent one of the training text, replay included; on the masks of the rung."""
    corpora = [TokenizedCorpus.load(trained_ladder.root / f"data/corpora/{kind}") for kind in ("domain", "general")]
    mixed = corpora[0].mixed_with(corpora[1], 0.1, 1)
    ids = mixed.read(np.arange(len(mixed.lengths))).ids
    counts = np.bincount(ids[tiny.tokenizer().maskable[ids]])
    expected = {
        text: np.mean(
            [
                batch.flat.ids[place] == counts.argmax()
                for batch in heldout(trained_ladder, text).masked(text)
                for place in batch.chosen
            ]
        )
        for text in tiny.WORDS
    }
    texts = trained_ladder.metrics(DOMAIN)["fill_in"]["texts"]
    assert {text: classes["all"]["unigram"] for text, classes in texts.items()} == pytest.approx(expected)
    assert max(expected.values()) > 0


def test_the_untrained_control_is_a_model_of_random_weights(trained_ladder: Ladder) -> None:
    """The first rung begins with them; the others draw such a model with their seed."""
    first = trained_ladder.metrics(PRETRAIN)["fill_in"]["texts"]["general"]
    assert {name: curve["untrained"] for name, curve in first.items()} == {
        name: curve["accuracy"][0] for name, curve in first.items()
    }
    torch.manual_seed(1)
    model = BertForMaskedLM(Checkpoint.load(trained_ladder.root / "models" / DOMAIN).config())
    measured = heldout(trained_ladder, "general", "domain").measure(model, "32-true")
    texts = trained_ladder.metrics(DOMAIN)["fill_in"]["texts"]
    for text, values in measured.items():
        assert texts[text]["all"]["untrained"] == values["masked_accuracy"]


def without_fill_in(ladder: Ladder) -> tuple[dict[str, bytes], dict[str, Any]]:
    weights = {name: content for name, content in ladder.outputs().items() if name.startswith("models/")}
    return weights, {name: value for name, value in ladder.metrics(DOMAIN).items() if name != "fill_in"}


def test_training_is_the_same_without_its_points(ladder: Ladder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights, card and all other metrics: also the mean training loss between two points of the curve."""
    budget = BudgetConfig(steps=80)
    ladder.domain_transfer(budget=budget, dropout=0.3)
    steps, with_points = ladder.metrics(DOMAIN)["fill_in"]["steps"], without_fill_in(ladder)
    assert len(steps) == 5
    monkeypatch.setattr(rung_module, "early_steps", lambda _first: [])
    ladder.domain_transfer(budget=budget, dropout=0.3)
    assert len(ladder.metrics(DOMAIN)["fill_in"]["steps"]) == 3
    assert without_fill_in(ladder) == with_points


def test_a_rung_without_a_step_has_the_first_point(ladder: Ladder) -> None:
    ladder.domain_transfer("general", budget=BudgetConfig(steps=0))
    fill_in = ladder.metrics(GENERAL)["fill_in"]
    assert fill_in["steps"] == [0]
    assert {len(curve["accuracy"]) for curve in fill_in["texts"]["general"].values()} == {1}


def test_the_tracking_run_has_every_point(ladder: Ladder, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: dict[tuple[str, int], float] = {}

    class Recorded(Run):
        def log_metrics(self, metrics: Mapping[str, float], step: int = 0) -> None:
            logged.update({(name, step): value for name, value in metrics.items()})

    monkeypatch.setattr(tiny, "no_record", Recorded)
    ladder.domain_transfer(budget=BudgetConfig(steps=20))
    fill_in = ladder.metrics(DOMAIN)["fill_in"]
    expected = {
        (f"fill_in/{text}/{name}", step): value
        for text, classes in fill_in["texts"].items()
        for name, curve in classes.items()
        for step, value in zip(fill_in["steps"], curve["accuracy"], strict=True)
    }
    assert {key: value for key, value in logged.items() if key[0].startswith("fill_in/")} == expected


class Killed(BaseException):
    """In place of `kill -9`, which tests/faults sends."""


@pytest.mark.usefixtures("save_every_step")
@pytest.mark.parametrize("kill_at", [2, 5, 30])
def test_a_resumed_rung_has_the_same_curve(
    ladder: Ladder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_at: int
) -> None:
    budget = BudgetConfig(steps=40)
    ladder.domain_transfer(budget=budget)
    expected = ladder.outputs()
    work = tiny.work(tmp_path)
    monkeypatch.setattr(tiny, "work", lambda _beside: work)
    with monkeypatch.context() as patch:
        killed_at(kill_at, patch)
        with pytest.raises(Killed):
            ladder.domain_transfer(budget=budget)
    ladder.domain_transfer(budget=budget)
    assert ladder.outputs() == expected


def killed_at(number: int, patch: pytest.MonkeyPatch) -> None:
    """The micro-batch of this number is never read."""
    real = rung_module.BatchSchedule.of

    def schedule(*args: Any) -> Any:
        whole = real(*args)

        def batch(k: int) -> Any:
            if k == number:
                raise Killed
            return whole.batches(k)

        return type(whole)(**(vars(whole) | {"batches": batch}))

    patch.setattr(rung_module.BatchSchedule, "of", schedule)
