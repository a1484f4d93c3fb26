"""The schedule has a closed form, and no bias and no LayerNorm decays."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertForMaskedLM, BertForSequenceClassification

from adaptbert.model.optimizer import adamw
from adaptbert.pretraining.masked_lm import MaskedLM
from tests.support import tiny, tiny_params


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 400), st.floats(0, 0.99))
def test_the_rate_rises_and_falls_in_a_line(steps: int, fraction: float) -> None:
    config = tiny_params.optim(warmup_fraction=fraction)
    warmup = max(1, round(fraction * steps))
    rates = [config.rate(step, steps) for step in range(steps)]
    for step, rate in enumerate(rates):
        expected = (step + 1) / warmup if step < warmup else (steps - step) / (steps - warmup)
        assert rate == pytest.approx(expected, rel=1e-12)
    assert max(rates) == 1, "the highest rate is reached"
    assert min(rates) > 0, "no step is spent on nothing"
    assert config.rate(steps, steps) == 0, "the end of the line"


@pytest.mark.parametrize("steps", [1, 2, 7, 50])
@pytest.mark.parametrize("fraction", [0.0, 0.06, 0.5])
def test_training_follows_the_schedule(steps: int, fraction: float) -> None:
    """As Lightning drives it: one call of the scheduler after each optimizer step."""
    config = tiny_params.optim(warmup_fraction=fraction, learning_rate=2e-3)
    optimizers = MaskedLM(BertForMaskedLM(tiny.config()), config, steps).configure_optimizers()
    optimizer, schedule = optimizers["optimizer"], optimizers["lr_scheduler"]["scheduler"]
    assert optimizers["lr_scheduler"]["interval"] == "step"
    for step in range(steps):
        for group in optimizer.param_groups:
            assert group["lr"] == pytest.approx(2e-3 * config.rate(step, steps), rel=1e-9)
        optimizer.step()
        schedule.step()


@pytest.mark.parametrize("kind", [BertForMaskedLM, BertForSequenceClassification])
def test_biases_and_layer_norms_do_not_decay(kind: type) -> None:
    model = kind(tiny.config())
    decayed, plain = (
        {name for name, p in model.named_parameters() if any(p is member for member in group["params"])}
        for group in adamw(model, tiny_params.optim(weight_decay=0.01)).param_groups
    )
    names = {name for name, _ in model.named_parameters()}
    assert decayed | plain == names
    assert decayed & plain == set()
    assert plain == {name for name in names if name.endswith("bias") or "LayerNorm" in name}
    assert {name for name in names if "LayerNorm.weight" in name} <= plain
    assert "bert.embeddings.word_embeddings.weight" in decayed
