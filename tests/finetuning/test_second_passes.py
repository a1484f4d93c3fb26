"""R-Drop and FGM: the second pass of a step is what the papers say, and changes what is learnt."""

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch.nn import functional

from adaptbert.finetuning.module import FineTuning
from adaptbert.finetuning.options.adversarial import AdversarialConfig, fgm_perturbation
from adaptbert.finetuning.options.r_drop import RDropConfig, divergence
from adaptbert.training.loop import fit
from tests.support import tiny, tiny_params, tiny_tasks
from tests.support.short_runs import STEPS, changed, first_batch, made, model_of, plan, trained


def test_divergence_is_the_symmetric_one_of_kullback_and_leibler() -> None:
    torch.manual_seed(1)
    one, other = torch.randn(2, 7, 4).log_softmax(-1)
    expected = (
        functional.kl_div(other, one, reduction="batchmean", log_target=True)
        + functional.kl_div(one, other, reduction="batchmean", log_target=True)
    ) / 2
    torch.testing.assert_close(divergence(one, other), expected)
    assert divergence(one, one) == 0


@pytest.mark.parametrize(
    ("kind", "target"), [(k, t) for k, t in tiny_tasks.KINDS if t != "number" and k != "sentence_pair"]
)
def test_every_shape_knows_its_probabilities(kind: str, target: str) -> None:
    """They sum to the number of decisions; and two passes with dropout do not agree."""
    shape = tiny_tasks.shape_of(kind, target)
    batch = first_batch(shape, kind, target=target)
    module = FineTuning(model_of(shape), shape, tiny_params.optim(), STEPS)
    torch.manual_seed(2)
    one, other = (shape.log_probabilities(module._logits(batch), batch).detach() for _ in range(2))
    decisions = {"labels": 2 * batch.size, "answer": 2 * batch.size}.get(target, len(batch.owners))
    assert float(one.exp().sum()) == pytest.approx(decisions, rel=1e-4)
    assert float(divergence(one, other)) > 0


def test_r_drop_makes_passes_agree() -> None:
    """The weight pulls both passes together."""
    divergences = []
    for weight in (1e-9, 20.0):
        module, batches = made(second_pass=RDropConfig(weight=weight), optim={"learning_rate": 1e-2})
        fit(module, batches, plan(), tiny.no_record())
        torch.manual_seed(5)
        batch = batches(0)
        with torch.no_grad():
            passes = [module._shape.log_probabilities(module._logits(batch), batch) for _ in range(40)]
        divergences.append(sum(float(divergence(one, other)) for one, other in pairwise(passes)))
    assert divergences[1] < 0.75 * divergences[0]


def test_the_move_is_along_the_gradient_and_raises_the_loss() -> None:
    shape = tiny_tasks.shape_of("single_sentence")
    model = model_of(shape, dropout=0.0)
    module, batch = FineTuning(model, shape, tiny_params.optim(), STEPS), first_batch(shape, "single_sentence")
    lengths = torch.as_tensor(batch.rows.bounds).diff()
    at: list[torch.Tensor] = []

    def loss(shift: torch.Tensor) -> torch.Tensor:
        at.append(shift.detach().clone())
        return shape.loss(module._logits(batch, shift), batch)

    both = AdversarialConfig(epsilon=0.5).loss(loss, lengths, (len(batch.ids), 32))
    assert (at[0] == 0).all()
    norms = torch.stack([part.norm() for part in at[1].split(lengths.tolist())])
    torch.testing.assert_close(norms, torch.full_like(norms, 0.5), msg="each example by epsilon")
    clean, moved, away = (float(loss(shift).detach()) for shift in (at[0], at[1], -at[1]))
    assert away < clean < moved
    assert float(both.detach()) == pytest.approx((clean + moved) / 2, rel=1e-5)
    assert (fgm_perturbation(torch.zeros(3, 2), torch.tensor([2, 1]), 1.0) == 0).all(), "no gradient, no move"


@pytest.mark.parametrize("second_pass", [RDropConfig(weight=1.0), AdversarialConfig(epsilon=1.0)], ids=["rdrop", "fgm"])
def test_a_second_pass_changes_what_is_learnt_and_is_the_same_twice(second_pass: Any) -> None:
    usual, one, other = trained(), trained(second_pass=second_pass), trained(second_pass=second_pass)
    assert changed(usual, one)
    assert not changed(one, other)
