"""The schedule has a closed form, and no bias and no LayerNorm decays."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertForMaskedLM, BertForSequenceClassification

from adaptbert.model.optimizer import Optimization, adamw
from tests.support import tiny, tiny_params


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 400), st.floats(0, 0.99), st.integers(0, 9))
def test_the_rate_rises_and_falls_in_a_line(steps: int, fraction: float, head_steps: int) -> None:
    """Once in the warm-up of the head, if there is one, and once after it."""
    config = tiny_params.optim(warmup_fraction=fraction)
    optimization = Optimization(config, steps, head_steps)
    shares = [optimization.share(step) for step in range(head_steps + steps + 1)]
    for first, count in ((0, head_steps), (head_steps, steps)):
        warmup, rates = max(1, round(fraction * count)), shares[first : first + count]
        for step, share in enumerate(rates):
            expected = (step + 1) / warmup if step < warmup else (count - step) / (count - warmup)
            assert share == pytest.approx(expected, rel=1e-12)
        assert max(rates, default=1) == 1, "the highest rate is reached"
        assert min(rates, default=1) > 0, "no step is spent on nothing"
    assert shares[-1] == 0, "the end of the line"


@pytest.mark.parametrize("kind", [BertForMaskedLM, BertForSequenceClassification])
def test_biases_and_layer_norms_do_not_decay(kind: type) -> None:
    model = kind(tiny.config())
    decayed, plain = (
        {name for name, p in model.named_parameters() if any(p is member for member in group["params"])}
        for group in adamw(model, tiny_params.optim(weight_decay=0.01)).param_groups
    )
    names = {name for name, _ in model.named_parameters()}
    assert plain == {name for name in names if name.endswith("bias") or "LayerNorm" in name}
    assert decayed == names - plain


def test_each_layer_learns_at_its_own_rate() -> None:
    """The head at the full one, with the pooler; each layer below at that of the one above times the factor."""
    model = BertForSequenceClassification(tiny.config())
    groups = adamw(model, tiny_params.optim(layer_decay=0.5, learning_rate=8e-3)).param_groups
    layers = tiny.config().num_hidden_layers
    expected = {"classifier": 8e-3, "pooler": 8e-3, "embeddings": 8e-3 * 0.5 ** (layers + 1)}
    expected |= {f"layer.{n}": 8e-3 * 0.5 ** (layers - n) for n in range(layers)}
    for name, parameter in model.named_parameters():
        (rate_of,) = [group["lr"] for group in groups if any(parameter is member for member in group["params"])]
        (part,) = [part for part in expected if f"{part}." in name]
        assert rate_of == pytest.approx(expected[part]), name
    assert groups[0]["lr"] == 8e-3, "the rate that is logged is the head's"
