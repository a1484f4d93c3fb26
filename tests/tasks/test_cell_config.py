"""Values of a cell that contradict each other."""

from typing import Any

import pytest

from tests.support import tiny_params

R_DROP, THAW = {"weight": 1.0}, {"layers_per_epoch": 1}
FREEZE, ALL = ({"layers": layers, "embeddings": True} for layers in (1, "all"))
ONCE, SEARCH = {"patience": 1}, {"trials": 4, "learning_rate": [1e-9, 1e-2], "seeds": 2}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seeds": []}, r"seeds \[\]: give at least one, each once"),
        ({"seeds": [1, 2, 1]}, r"seeds \[1, 2, 1\]: give at least one, each once"),
        ({"micro_batch_size": 5}, "global_batch_size 16 is not a multiple of micro_batch_size 5"),
        ({"max_length": 128}, "max_length 128 is larger than block_size 64"),
        ({"freeze": {"layers": 0, "embeddings": False}}, "layers 0 and embeddings false freeze nothing"),
        ({"freeze": FREEZE, "gradual_unfreezing": THAW}, "freeze and gradual_unfreezing: give one of them"),
        ({"layer_decay": 0.9, "freeze": ALL}, "layer_decay 0.9 and all layers frozen"),
        ({"betas": [0.9, 0.95, 0.98]}, "betas has 3 values, AdamW takes 2"),
        ({"r_drop": R_DROP, "dropout": 0.0}, "both passes would be the same"),
        ({"r_drop": R_DROP, "decoder": "crf"}, "r_drop and decoder 'crf'"),
        ({"gradual_unfreezing": THAW, "epochs": 1.0}, "only the head would learn"),
        ({"early_stopping": ONCE, "epochs": 1.0}, "nothing to choose from"),
        ({"search": {**SEARCH, "epochs": []}}, "at least one value"),
        ({"search": {**SEARCH, "global_batch_size": [2, 2]}}, "each once"),
        (
            {"search": {**SEARCH, "global_batch_size": [6]}, "micro_batch_size": 4},
            "search.global_batch_size 6 is not a",
        ),
        ({"search": {**SEARCH, "learning_rate": [1e-3]}}, "the lowest and the highest"),
        ({"search": {**SEARCH, "learning_rate": [1e-3, 1e-4]}}, "the lowest and the highest"),
        ({"search": {**SEARCH, "trials": 1, "epochs": [3.0, 4.0]}}, "trials 1 < 2 values of epochs"),
        ({"search": {**SEARCH, "epochs": [1.0, 2.0]}, "early_stopping": ONCE}, "early_stopping and epochs 1.0"),
        ({"label_counts": [20, 10]}, "the fewest first"),
        ({"label_counts": []}, "the fewest first"),
        ({"labels": 50, "label_counts": [10, 50]}, "all are trained on anyway"),
    ],
)
def test_contradictions(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny_params.cell(**changes)
