"""A project whose text is tokenised, as small as it trains, and the commands of its training stages."""

import importlib
import os
import shutil
import sys
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from adaptbert.config import load as params
from adaptbert.stage import run_stage
from adaptbert.text.tokenizer import Tokenizer
from tests.support import tiny, tiny_tasks
from tests.support.project import ROOT, write_params

COMMANDS = {
    "pretrain": "--base small --tokenizer data/tokenizer/small"
    " --text data/tokenized/small/corpora/general --heldout data/tokenized/small/heldout"
    " --scratch models/scratch/small --out models/pretrain/small --metrics metrics/pretrain/small.json",
    "domain_transfer": "--corpus domain --base small --replicate 1 --init models/pretrain/small"
    " --text data/tokenized/small/corpora/domain --beside data/tokenized/small/corpora/general"
    " --heldout data/tokenized/small/heldout --out models/domain_transfer/domain-small-1"
    " --metrics metrics/domain_transfer/domain-small-1.json",
    "finetune section": "--task section --arm scratch --base small --replicate 0 --init models/scratch/small"
    " --data data/validated/tasks/section --out models/finetune/section-scratch-small"
    " --predictions predictions/section-scratch-small.parquet --metrics metrics/finetune/section-scratch-small.json",
    "task_transfer": "--task section --base small --replicate 1 --init models/domain_transfer/domain-small-1"
    " --text data/tokenized/small/tasks/section --beside data/tokenized/small/heldout/general"
    " --heldout data/tokenized/small/heldout"
    " --out models/task_transfer/section-domain-small-1 --metrics metrics/task_transfer/section-domain-small-1.json",
    "finetune mention": "--task mention --arm domain --base small --replicate 1"
    " --init models/domain_transfer/domain-small-1 --data data/validated/tasks/mention"
    " --out models/finetune/mention-domain-small-1 --predictions predictions/mention-domain-small-1.parquet"
    " --metrics metrics/finetune/mention-domain-small-1.json",
}
QUICK = {"OMP_NUM_THREADS": "1", "ADAPTBERT_SAVE_SECONDS": "0.05", "TOKENIZERS_PARALLELISM": "false"}
FORKED = get_context("forkserver")
"""Torch and Lightning are imported once, not once a trial; with what stages import late."""
FORKED.set_forkserver_preload(
    [
        "tests.faults.small_project",
        *(f"stages.{stage.split()[0]}" for stage in COMMANDS),
        "matplotlib",
        "mlflow.store.tracking.sqlalchemy_store",
        "pytorch_lightning",
        "sklearn.metrics",
        "sqlalchemy.dialects.sqlite",
        "transformers.models.bert.modeling_bert",
    ]
)
MADE = ("--out", "--scratch", "--metrics", "--predictions")


def run(stage: str, folder: Path, env: dict[str, str]) -> None:
    """A stage, in a process that leads a group of its own."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    with Path("log.txt").open("ab") as log:
        for number in (1, 2):
            os.dup2(log.fileno(), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
    name = stage.split()[0]
    run_stage(getattr(importlib.import_module(f"stages.{name}"), name), COMMANDS[stage].split())


def values(accumulate: int) -> dict[str, Any]:
    """The smoke preset, smaller still, with dropout everywhere."""
    document = params.read(ROOT / "presets/smoke.yaml")
    for checkpoint in ("pretrain", "domain_transfer", "task_transfer"):
        document[checkpoint] = {
            "steps": 14,
            "global_batch_tokens": 128 * accumulate,
            "micro_batch_tokens": 128,
            "block_size": tiny.MAX_LENGTH,
            "dropout": 0.1,
            "measurements": 3,
        }
    document["bases"]["small"] = {
        "layers": 2,
        "hidden_size": 32,
        "heads": 2,
        "intermediate_size": 64,
        "max_positions": tiny.POSITIONS,
    }
    document["finetune"] |= {
        "labels": 0,
        "epochs": 2,
        "seeds": [1, 2],
        "global_batch_size": 8 * accumulate,
        "micro_batch_size": 8,
        "max_length": tiny.MAX_LENGTH,
        "block_size": tiny.MAX_LENGTH,
    }
    return document


def make(root: Path, accumulate: int, base: Path | None = None) -> None:
    """Params, the plan, stages and data in a folder.

    Args:
        accumulate: micro-batches an optimizer step.
        base: checkpoint from which all begins, which is then trained; None: random weights, whose training is a stage.
    """
    document, pieces = values(accumulate), tiny.tokenizer() if base is None else Tokenizer.load(base)
    write_params(root, document)
    shutil.copytree(ROOT / "stages", root / "stages", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "data/tokenizer/small").mkdir(parents=True)
    pieces.save(root / "data/tokenizer/small")
    for kind in tiny.WORDS:
        tiny.corpus(root / "data/tokenized/small/corpora" / kind, kind, 120, pieces=pieces)
    tiny.corpus(root / "data/tokenized/small/tasks/section", "domain", 40, seed=10, pieces=pieces)
    tiny.heldout(root / "data/tokenized/small/heldout", pieces, tasks=["section"])
    tiny_tasks.task(root / "data/validated/tasks/section", "single_sentence")
    tiny_tasks.task(root / "data/validated/tasks/mention", "sequence_labelling")
    if base is not None:
        for folder in ("scratch", "pretrain"):
            shutil.copytree(base, root / f"models/{folder}/small")
