"""The best weights on dev are kept, and patience ends a run, on two devices and after a resume as well."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adaptbert.training.arguments import Fitted
from adaptbert.training.early_stopping import Best, KeepBest
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from tests.support import tiny
from tests.support.short_runs import Stop, changed, made, plan, until, weights

SCORES = {2: 0.3, 4: 0.6, 6: 0.5, 8: 0.6, 10: 0.4, 12: 0.9}


def stopped(
    folder: Path, patience: int | None, stop_at: int | None = None, **options: Any
) -> tuple[Fitted, dict[str, torch.Tensor]]:
    """Dev scores are given: the third measurement in a row that is not better is the fifth."""
    module, batches = made(**options)
    rule = None if patience is None else KeepBest("dev/score", patience)
    measure_at = dict.fromkeys(SCORES, lambda step: {"dev/score": SCORES[step]})
    how = replace(plan(12), keep_best=rule)
    fitted = fit(module, until(batches, stop_at), how, tiny.no_record(), measure_at, Savepoints(folder))
    return fitted, weights(module)


def test_the_best_weights_are_kept_and_patience_ends_the_run(tmp_path: Path) -> None:
    fitted, best_weights = stopped(tmp_path / "early", 3)
    assert fitted.step == 4, "the first of equals"
    assert [point["step"] for point in fitted.curve] == [2, 4, 6, 8, 10]
    module, batches = made()
    with pytest.raises(Stop):
        fit(module, until(batches, 8), plan(12), tiny.no_record())
    assert not changed(best_weights, weights(module)), "the weights after step 4 of the same schedule"
    patient, _ = stopped(tmp_path / "patient", 4)
    assert (patient.step, patient.curve[-1]["step"]) == (12, 12)
    without, _ = stopped(tmp_path / "without", None)
    assert (without.step, len(without.curve)) == (12, 6)


def test_two_processes_stop_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 0 alone measures; the other hears of it. With rates of their own for the layers."""

    def run(devices: int) -> tuple[Fitted, dict[str, torch.Tensor]]:
        monkeypatch.setenv("ADAPTBERT_DEVICES", str(devices))
        return stopped(tmp_path / str(devices), 3, layer_decay=0.8)

    (alone, one), (together, two) = run(1), run(2)
    assert (together.step, together.curve[-1]["step"]) == (alone.step, alone.curve[-1]["step"]) == (4, 10)
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, atol=5e-6, rtol=0)


@pytest.mark.usefixtures("save_every_step")
@pytest.mark.parametrize("stop_at", [9, 17])
def test_a_resumed_run_keeps_and_stops_alike(tmp_path: Path, stop_at: int) -> None:
    straight, best_weights = stopped(tmp_path / "straight", 3)
    with pytest.raises(Stop):
        stopped(tmp_path / "resumed", 3, stop_at)
    again, resumed_weights = stopped(tmp_path / "resumed", 3)
    assert again == straight
    assert not changed(best_weights, resumed_weights)
    over, after = stopped(tmp_path / "resumed", 3, stop_at=0)
    assert over == straight, "what was over is not trained again"
    assert not changed(best_weights, after)


def test_a_score_that_is_no_number_is_never_best() -> None:
    best = Best()
    seen = [best.observe(step, value) for step, value in enumerate([np.nan, 0.1, np.nan, 0.1], 1)]
    assert seen == [True, True, False, False]
    assert (best.step, best.worse) == (2, 2)
    assert Best(**json.loads(json.dumps(asdict(best)))) == best
    assert Best(**json.loads(json.dumps(asdict(Best())))) == Best(), "before the first measurement"
