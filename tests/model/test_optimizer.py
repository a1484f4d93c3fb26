"""The schedule has a closed form, and no bias and no LayerNorm decays."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertForMaskedLM, BertForSequenceClassification

from adaptbert.model.optimizer import Optimization, adamw
from tests.support import tiny, tiny_params
from tests.support.encoders import CASES, Case


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 400), st.just(0.0) | st.floats(0, 0.99), st.integers(0, 9))
def test_the_rate_rises_and_falls_in_a_line(steps: int, fraction: float, head_steps: int) -> None:
    """Once in the warm-up of the head, if there is one, and once after it."""
    config = tiny_params.optim(warmup_fraction=fraction)
    optimization = Optimization(config, steps, head_steps)
    shares = [optimization.share(step) for step in range(head_steps + steps + 1)]
    for first, count in ((0, head_steps), (head_steps, steps)):
        warmup = max(1, round(fraction * count))
        rates = shares[first : first + count]
        for step, share in enumerate(rates):
            expected = (step + 1) / warmup if step < warmup else (count - step) / (count - warmup)
            assert share == pytest.approx(expected, rel=1e-12)
        assert max(rates, default=1) == 1, "the highest rate is reached"
        assert min(rates, default=1) > 0, "no step is spent on nothing"
    assert shares[-1] == 0, "the end of the line"


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 400), st.floats(0, 0.5), st.floats(0, 0.5))
def test_the_rate_rises_stays_and_falls(steps: int, warmup_fraction: float, decay_fraction: float) -> None:
    config = tiny_params.optim(schedule="wsd", warmup_fraction=warmup_fraction, decay_fraction=decay_fraction)
    optimization, decay = Optimization(config, steps), round(decay_fraction * steps)
    shares, begins = [optimization.share(step) for step in range(steps + 1)], optimization.decay_begins
    warmup = min(max(1, round(warmup_fraction * steps)), steps)
    assert shares[:warmup] == pytest.approx([(step + 1) / warmup for step in range(warmup)])
    assert set(shares[warmup:begins]) <= {1.0}, "stable"
    assert begins == steps - decay
    for step in range(max(begins, warmup), steps + 1):
        expected = 1 - math.sqrt((step - begins) / decay) if decay else 1.0
        assert shares[step] == pytest.approx(expected, abs=1e-12)
    assert min(shares[:-1]) > 0, "no step is spent on nothing"
    assert shares[-1] == (0 if decay else 1)


def test_a_run_goes_on_from_a_stable_phase_as_if_it_had_never_ended() -> None:
    stable = tiny_params.optim(schedule="wsd", warmup_fraction=0.1, decay_fraction=0.0)
    last = tiny_params.optim(schedule="wsd", warmup_fraction=0.0, decay_fraction=0.5)
    whole = tiny_params.optim(schedule="wsd", warmup_fraction=0.05, decay_fraction=0.25)
    parts = [Optimization(config, 100).share(step) for config in (stable, last) for step in range(100)]
    assert parts == [Optimization(whole, 200).share(step) for step in range(200)]


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


@pytest.mark.parametrize("case", [case for case in CASES if case.way != "refused"], ids=str)
def test_the_embeddings_of_any_encoder_learn_least(case: Case) -> None:
    """Whatever its type calls them, and what brings them to the width of the layers."""
    model = case.model("none")
    groups = adamw(model, tiny_params.optim(layer_decay=0.5)).param_groups
    rates = {id(parameter): group["lr"] for group in groups for parameter in group["params"]}
    lowest = min(rates.values())
    assert rates[id(model.get_input_embeddings().weight)] == lowest
    mapped = {name: rates[id(each)] for name, each in model.named_parameters() if "embedding_hidden_mapping" in name}
    assert {*mapped.values()} <= {lowest}
    assert lowest < max(rates.values())
