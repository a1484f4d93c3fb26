"""The memory that a stage needs: above what a step keeps, and not so far above that nothing shares a device."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, ModernBertConfig

from adaptbert.config import plan as planning
from adaptbert.model.classes import class_of
from adaptbert.model.encoder import Tokens, encode
from adaptbert.model.packing import pack
from adaptbert.model.proof import prepare
from adaptbert.planning.memory import CONTEXT, MARGIN, memory, needs
from adaptbert.runtime.variables import DEVICES
from tests.support.checked_files import lines, mood, write
from tests.support.commands import in_a_demo

GIB = 2**30
BASE = BertConfig()
SMALL = BertConfig(hidden_size=512, num_hidden_layers=8, num_attention_heads=8, intermediate_size=2048)
LARGE = BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)


@pytest.mark.parametrize(
    ("config", "step", "finetuning"), [(SMALL, (5, 9), (2, 4)), (BASE, (10, 17), (4, 8)), (LARGE, (25, 45), (10, 18))]
)
def test_known_models(config: Any, step: tuple[int, int], finetuning: tuple[int, int]) -> None:
    """Masked language modelling on micro-batches of 16,384 tokens, and fine-tuning on 32 texts of 128, in bfloat16; GiB
    between which it should be. In float32 and for another kind of encoder it is more."""
    figures = 16_384, 65_536, 0.15 * 16_384
    assert step[0] < memory(config, *figures, True) / GIB < step[1]
    assert finetuning[0] < memory(config, 4096, 0, 0, True) / GIB < finetuning[1]
    assert memory(config, *figures) > 1.3 * memory(config, *figures, True)
    sizes = {key: getattr(config, key) for key in ("hidden_size", "num_hidden_layers", "intermediate_size")}
    other = ModernBertConfig(**sizes, num_attention_heads=config.num_attention_heads)
    assert memory(other, *figures, True) > memory(config, *figures, True)


@pytest.mark.parametrize("is_half", [True, False])
def test_it_is_above_what_a_forward_pass_keeps(is_half: bool) -> None:
    """On a processor, by the hooks of autograd; without the margin, and less than twice as much."""
    tokens, config = 2048, BertConfig(hidden_size=128, num_hidden_layers=8, num_attention_heads=2, vocab_size=1000)
    config.intermediate_size = 4 * config.hidden_size
    model = class_of(config, "masked_lm")(config)
    prepare(model)
    model.train()
    weights, kept = {each.untyped_storage().data_ptr() for each in model.parameters()}, dict[int, torch.Tensor]()

    def note(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() not in weights:
            kept[tensor.untyped_storage().data_ptr()] = tensor  # kept alive, so that no address comes twice
        return tensor

    rows, ids = pack(np.full(tokens // 64, 64), 64), torch.randint(config.vocab_size, (tokens,))
    hooks = torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor)
    with hooks, torch.autocast("cpu", torch.bfloat16, enabled=is_half):
        encode(model.base_model, rows, Tokens(ids))
    kept_bytes = sum(each.untyped_storage().nbytes() for each in kept.values())
    estimate = (memory(config, tokens, 0, 0, is_half) - memory(config, 0, 0, 0, is_half)) / MARGIN
    assert kept_bytes < estimate < 2 * kept_bytes


def test_every_stage_on_a_device_has_a_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the values of each: devices that its steps use, of two, and rows that are read in windows."""
    monkeypatch.delenv(DEVICES, raising=False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    in_a_demo(tmp_path, monkeypatch)
    (tmp_path / "data/own").mkdir(parents=True, exist_ok=True)
    rows = lines("train.jsonl", *({"text": "one two " * 100, "label": f"c{n % 2}"} for n in range(40)))

    def with_values(**values: Any) -> dict[str, tuple[int, int]]:
        write(
            None, {"micro_batch_size": 16, "global_batch_size": 32, "max_length": 64, **values}, mood=mood(train=rows)
        )
        return needs()

    of_stages, plan = with_values(), planning.read()
    stages = ("pretrain", "domain_transfer", "task_transfer", "measure", "finetune")
    assert of_stages.keys() == {f"{stage}@{key}" for stage in stages for key in plan.table(stage)}
    assert min(needed for _, needed in of_stages.values()) > CONTEXT
    cell = next(stage for stage in of_stages if stage.startswith("finetune@mood"))
    assert of_stages[cell][0] == 2
    assert with_values(long_text="windows")[cell][1] > 2 * (of_stages[cell][1] - CONTEXT)
    assert with_values(micro_batch_size=32)[cell][0] == 1
    three = with_values(global_batch_size=48)
    assert three[cell][0] == 1, "three micro-batches are not cut for two devices"
    assert {devices for stage, (devices, _) in three.items() if stage.startswith("domain_transfer")} == {2}
    monkeypatch.setenv(DEVICES, "2")
    assert with_values(global_batch_size=48)[cell][0] == 2, "but where the user says so"
