"""What is frozen or thaws stays and learns when it should, and each layer learns at its own rate."""

from typing import Any

import pytest

from adaptbert.config.schema.finetuning import Freeze, GradualUnfreezing
from adaptbert.model.families.family import depths
from adaptbert.model.optimizer import adamw, rate
from adaptbert.tasks.module import UnfreezingBatches
from adaptbert.tasks.options.freezing import frozen_depths
from adaptbert.training.loop import fit
from tests.support import tiny, tiny_params
from tests.support.short_runs import EPOCH, STEPS, changed, made, plan, weights


def test_depths_are_those_of_the_layers() -> None:
    depth_of = depths(name for name, _ in made()[0].model.named_parameters())
    assert depth_of["bert.embeddings.LayerNorm.weight"] == 0
    assert depth_of["bert.encoder.layer.0.output.dense.bias"] == 1
    assert depth_of["bert.encoder.layer.1.attention.self.query.weight"] == 2
    assert depth_of["bert.pooler.dense.weight"] == depth_of["classifier.bias"] == 3
    assert set(depths(["classifier.weight"]).values()) == {1}


def test_each_layer_learns_at_its_own_rate_all_along_the_schedule() -> None:
    module, _ = made(layer_decay=0.5, learning_rate=8e-3)
    configured = module.configure_optimizers()
    optimizer, schedule = configured["optimizer"], configured["lr_scheduler"]["scheduler"]
    of = {id(p): n for n, p in module.model.named_parameters()}
    deep = depths(of.values())
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(of), "each once"
    for step in range(STEPS):
        share = rate(tiny_params.optim(), step, STEPS)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                expected = 8e-3 * share * 0.5 ** (3 - deep[of[id(parameter)]])
                assert group["lr"] == pytest.approx(expected, rel=1e-9)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(8e-3 * share), "the rate that is logged is the head's"
        optimizer.step()
        schedule.step()


# Freezing


@pytest.mark.parametrize(
    ("config", "frozen"),
    [
        ({"layers": "all", "embeddings": True}, {0, 1, 2}),
        ({"layers": 1, "embeddings": True}, {0, 1}),
        ({"layers": 1, "embeddings": False}, {1}),
        ({"layers": 0, "embeddings": True}, {0}),
    ],
)
def test_what_is_frozen_stays_and_the_optimizer_knows_nothing_of_it(config: dict[str, Any], frozen: set[int]) -> None:
    module, batches = made(freeze=Freeze.model_validate(config))
    before = weights(module)
    deep = depths(before)
    fit(module, batches, plan(), tiny.no_record())
    assert {deep[name] for name in changed(before, weights(module))} == {0, 1, 2, 3} - frozen
    held = sum(len(group["params"]) for group in adamw(module.model, tiny_params.optim()).param_groups)
    assert held == sum(deep[name] not in frozen for name in before)


def test_layers_thaw_from_the_top_epoch_by_epoch() -> None:
    config = GradualUnfreezing(layers_per_epoch=1)
    assert [frozen_depths(config, epoch, 2) for epoch in range(5)] == [3, 2, 1, 0, 0]
    assert [frozen_depths(GradualUnfreezing(layers_per_epoch=5), epoch, 12) for epoch in range(4)] == [13, 8, 3, 0]
    for epochs in range(1, 5):
        module, batches = made()
        before = weights(module)
        fit(module, UnfreezingBatches(batches, config, 2, EPOCH, 2), plan(int(epochs * EPOCH)), tiny.no_record())
        learnt = {depths(before)[name] for name in changed(before, weights(module))}
        assert learnt == set(range(max(0, 4 - epochs), 4)), f"after {epochs} epochs"
