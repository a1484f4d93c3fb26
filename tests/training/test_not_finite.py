"""A run with values that are not finite: a step is skipped, a run that diverges ends, and nothing of it is saved."""

import math
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import pytest
import pytorch_lightning as pl
import torch
from transformers import BertForMaskedLM

from adaptbert.core.files import read_json
from adaptbert.errors import INTERNAL
from adaptbert.mlm.heldout_evaluation import HeldOut
from adaptbert.mlm.masked_lm import MaskedBatch, MaskedLM
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training import monitor
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from adaptbert.training.stability import Diverged
from tests.support import tiny
from tests.support.short_runs import flat_weights
from tests.training.test_loop import STEPS, batches, module, plan


class Sabotaged(pl.LightningModule):
    """Fails at some steps, in its loss or in its gradient alone."""

    def __init__(self, inner: MaskedLM, spoil: Callable[[torch.Tensor], torch.Tensor], at: set[int]) -> None:
        super().__init__()
        self.inner, self._spoil, self._at = inner, spoil, at

    def training_step(self, batch: MaskedBatch, k: int) -> torch.Tensor:
        loss = self.inner.training_step(batch, k)
        return self._spoil(loss) if k in self._at else loss

    def configure_optimizers(self) -> object:
        return self.inner.configure_optimizers()


def infinite_gradient(loss: torch.Tensor) -> torch.Tensor:
    loss.register_hook(lambda gradient: gradient * float("inf"))
    return loss * 1.0


SPOILT = pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda loss: loss * float("nan"), r"the loss is nan"),
        (lambda loss: loss * float("inf"), r"the loss is inf"),
        (infinite_gradient, r"the norm of the gradient is (inf|nan)"),
    ],
)


@SPOILT
def test_a_step_that_is_not_finite_changes_nothing_and_is_counted(
    corpus: TokenizedCorpus,
    spoil: Callable[[torch.Tensor], torch.Tensor],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = Sabotaged(module(), spoil, {3})
    seen: list[torch.Tensor] = []

    def measure(step: int) -> Mapping[str, float]:
        seen.append(flat_weights(made))
        return {}

    fitted = fit(made, batches(corpus), plan(), tiny.no_record(), dict.fromkeys(range(1, STEPS + 1), measure))
    moved = [not torch.equal(*pair) for pair in pairwise(seen)]
    assert moved == [True, True, False, True, True], "the fourth step"
    assert all(torch.isfinite(state).all() for state in seen)
    assert fitted.counts["skipped_steps"] == 1
    assert all(math.isfinite(point["train/mlm_loss"]) for point in fitted.curve)
    assert re.search(rf"warning: step 4: {message}; the step is skipped", capsys.readouterr().out)


@SPOILT
def test_a_run_that_diverges_ends_before_anything_is_measured(
    corpus: TokenizedCorpus, spoil: Callable[[torch.Tensor], torch.Tensor], message: str, tmp_path: Path
) -> None:
    measured: list[int] = []

    def measure(step: int) -> Mapping[str, float]:
        measured.append(step)
        return {}

    end = rf"AB-158 step {STEPS}: {message}, 3 steps in a row\n  lower learning_rate"
    made = Sabotaged(module(), spoil, {STEPS - 3, STEPS - 2, STEPS - 1})
    with pytest.raises(Diverged, match=end) as caught:
        fit(made, batches(corpus), plan(), tiny.no_record(), {STEPS: measure}, Savepoints(tmp_path))
    assert caught.value.exit_code == INTERNAL == 70
    assert measured == []
    report = read_json(tmp_path / "diverged.json")
    assert [step["step"] for step in report["steps"]] == [4, 5, 6]
    assert list(tmp_path.glob("*.safetensors")) == [], "no state is saved that a resumed run could not leave"


@pytest.mark.usefixtures("save_every_step")
@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_no_savepoint_holds_a_weight_that_is_not_finite(
    corpus: TokenizedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: float, ahead: bool
) -> None:
    """A weight gets this value after the last step; savepoints are written in the run, or beside it."""
    monkeypatch.setattr(monitor, "_runs_ahead", lambda _: ahead)
    made = module()

    def measure(step: int) -> Mapping[str, float]:
        with torch.no_grad():
            made.model.bert.embeddings.word_embeddings.weight[7] = value
        return {}

    with pytest.raises(Diverged, match=r"AB-158 step 6: weights/.*word_embeddings.* is not finite"):
        fit(made, batches(corpus), plan(), tiny.no_record(), {STEPS: measure}, Savepoints(tmp_path))
    assert [path.name[:8] for path in sorted(tmp_path.iterdir())] == ["00000004", "00000005"]


def test_a_held_out_loss_that_is_no_number(heldout: HeldOut) -> None:
    model = BertForMaskedLM(tiny.config())
    with torch.no_grad():
        model.bert.embeddings.word_embeddings.weight[7] = float("nan")
    with pytest.raises(Diverged, match="AB-158 heldout/domain: the loss is nan"):
        heldout.measure(model, "32-true")
