"""A recipe from a public checkpoint: by its name on the hub, and from a folder; no step is spent on it."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertForMaskedLM

from adaptbert.config.schema.bases import Base
from adaptbert.core.files import read_json
from tests.support import tiny
from tests.support.checkpoint_edits import edit
from tests.support.hub_cache import REVISION, in_cache
from tests.support.rungs import PRETRAIN, SCRATCH, Ladder, refused


@pytest.fixture
def public(ladder: Ladder) -> Path:
    """A model with the vocabulary of the ladder, but not from its rungs."""
    folder = ladder.made("models/init/small")
    torch.manual_seed(0)
    BertForMaskedLM(tiny.config()).save_pretrained(str(folder))
    tiny.tokenizer().save(folder)
    return folder


@pytest.mark.parametrize(
    "base",
    [
        {"checkpoint": "acme/tiny-bert", "revision": REVISION},
        {"checkpoint": "acme/tiny-bert"},
        {"checkpoint": "models/init/small"},
    ],
    ids=["commit", "branch", "folder"],
)
def test_a_public_checkpoint_is_the_general_rung_as_it_is(ladder: Ladder, public: Path, base: dict[str, Any]) -> None:
    in_cache("tiny-bert", public)
    ladder.pretrain(base=Base(**base), tokens=0)
    before = load_file(public / "model.safetensors")
    after = load_file(ladder.root / "models" / PRETRAIN / "model.safetensors")
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    metrics = ladder.metrics(PRETRAIN)
    assert metrics["tokens"] == metrics["steps"] == 0
    assert metrics["before"] == metrics["after"]
    assert not (ladder.root / "models" / SCRATCH / "model.safetensors").exists()
    assert read_json(ladder.root / "models" / SCRATCH / "config.json")["num_hidden_layers"] == 2


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("wide-bert", {"hidden_size": 1_000_000_000}, "^AB-124 acme/wide-bert: hidden_size: "),
        ("odd-bert", {"intermediate_size": 65}, "^AB-132 acme/odd-bert: weights and config.json disagree: bert.enco"),
        ("typo", None, "^AB-128 acme/typo: cannot be loaded from the hub"),
    ],
)
def test_a_model_of_the_hub_is_held_as_a_folder_is(
    ladder: Ladder, public: Path, name: str, change: dict[str, Any] | None, message: str
) -> None:
    if change is not None:
        edit(public, "config.json", **change)
        in_cache(name, public)
    refused(ladder, lambda: ladder.pretrain(checkpoint=f"acme/{name}", tokens=0), message)
