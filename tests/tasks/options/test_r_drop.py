"""R-Drop: the second pass of a step is what the paper says, and changes what is learnt."""

from itertools import pairwise

import pytest
import torch
from torch.nn import functional

from adaptbert.config.schema.finetuning import RDrop
from adaptbert.tasks.module import _logits
from adaptbert.tasks.options.r_drop import divergence
from adaptbert.training.loop import fit
from tests.support import tiny, tiny_tasks
from tests.support.short_runs import first_batch, made, model_of, plan


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
    batch, model = first_batch(shape, kind, target=target), model_of(shape).train()
    torch.manual_seed(2)
    one, other = (shape.log_probabilities(_logits(model, shape, batch), batch).detach() for _ in range(2))
    decisions = {"labels": 2 * batch.size, "answer": 2 * batch.size}.get(target, len(batch.owners))
    assert float(one.exp().sum()) == pytest.approx(decisions, rel=1e-4)
    assert float(divergence(one, other)) > 0


def test_r_drop_makes_passes_agree() -> None:
    """The weight pulls both passes together."""
    divergences = []
    for weight in (1e-9, 20.0):
        module, batches = made(r_drop=RDrop(weight=weight), learning_rate=1e-2)
        fit(module, batches, plan(), tiny.no_record())
        torch.manual_seed(5)
        batch = batches(0)
        with torch.no_grad():
            shape, model = module._shape, module.model
            passes = [shape.log_probabilities(_logits(model, shape, batch), batch) for _ in range(40)]
        divergences.append(sum(float(divergence(one, other)) for one, other in pairwise(passes)))
    assert divergences[1] < 0.75 * divergences[0]
