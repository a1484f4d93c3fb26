"""A project whose text is tokenised, as small as it trains, and the commands of its training stages."""

import json
import shutil
from pathlib import Path
from typing import Any

from adaptbert.runtime.params import params_file as params
from tests.support import tiny
from tests.support.project import ROOT

COMMANDS = {
    "pretrain": "--init models/init --tokenizer data/tokenizer --text data/tokenized/corpora/general"
    " --heldout data/tokenized/heldout --scratch models/scratch --out models/pretrain --metrics metrics/pretrain.json",
    "domain_transfer": "--corpus domain --init models/pretrain --text data/tokenized/corpora/domain"
    " --replay data/tokenized/corpora/general --heldout data/tokenized/heldout"
    " --out models/domain_transfer/domain --metrics metrics/domain_transfer/domain.json",
    "task_transfer": "--task section --init models/domain_transfer/domain"
    " --text data/tokenized/tasks/section --heldout data/tokenized/heldout"
    " --out models/task_transfer/section-domain --metrics metrics/task_transfer/section-domain.json",
    "finetune section": "--task section --arm scratch --init models/scratch --data data/validated/tasks/section"
    " --out models/finetune/section-scratch --predictions predictions/section-scratch.parquet"
    " --metrics metrics/finetune/section-scratch.json",
    "finetune mention": "--task mention --arm domain --init models/domain_transfer/domain"
    " --data data/validated/tasks/mention --out models/finetune/mention-domain"
    " --predictions predictions/mention-domain.parquet --metrics metrics/finetune/mention-domain.json",
}
MADE = ("--out", "--scratch", "--metrics", "--predictions")


def values(accumulate: int) -> dict[str, Any]:
    """The smoke preset, smaller still, with dropout everywhere."""
    document = params.read(ROOT / "presets/smoke.yaml")
    for rung in ("pretrain", "domain_transfer", "task_transfer"):
        document[rung] |= {
            "budget": {"steps": 14},
            "global_batch_tokens": 128 * accumulate,
            "micro_batch_tokens": 128,
            "block_size": tiny.MAX_LENGTH,
            "dropout": 0.1,
            "measurements": 3,
        }
    document["pretrain"]["encoder"] = {
        "layers": 2,
        "hidden_size": 32,
        "heads": 2,
        "intermediate_size": 64,
        "max_positions": tiny.POSITIONS,
    }
    for task in ("section", "mention"):
        document["finetune"][task] |= {
            "labels": 0,
            "epochs": 2,
            "seeds": [1, 2],
            "global_batch_size": 8 * accumulate,
            "micro_batch_size": 8,
            "max_length": tiny.MAX_LENGTH,
            "block_size": tiny.MAX_LENGTH,
        }
    return document


def make(root: Path, accumulate: int) -> None:
    """Params, stages and data in a folder.

    Args:
        accumulate: micro-batches an optimizer step.
    """
    (root / "params.yaml").write_text(json.dumps(values(accumulate)), encoding="utf-8")
    shutil.copytree(ROOT / "stages", root / "stages", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "data/tokenizer").mkdir(parents=True)
    tiny.tokenizer().save(root / "data/tokenizer")
    for kind in tiny.WORDS:
        tiny.corpus(root / "data/tokenized/corpora" / kind, kind, 120)
    tiny.corpus(root / "data/tokenized/tasks/section", "domain", 40, seed=10)
    tiny.heldout(root / "data/tokenized/heldout")
    tiny.task(root / "data/validated/tasks/section", "single_sentence")
    tiny.task(root / "data/validated/tasks/mention", "sequence_labelling")
