"""General pre-training: random weights or a public checkpoint + general text -> checkpoint of a base, and `scratch`.

Without general text the weights are passed on as they are; `text` is then a file in the place of the folder.
`scratch` is the same architecture and tokenizer without weights, for an arm that skips pre-training.
"""

from pathlib import Path
from typing import Unpack

from adaptbert.config.schema.bases import GENERAL, Base
from adaptbert.config.schema.mlm import Pretrain
from adaptbert.mlm.arguments import StepArguments
from adaptbert.stage import run_stage


def pretrain(
    params: Pretrain, *, weights: Base, tokenizer: Path, scratch: Path, **common: Unpack[StepArguments]
) -> None:
    from adaptbert.mlm.step import opened_base, take_step

    texts = [] if common["text"].is_file() else [GENERAL]
    with opened_base(weights, tokenizer, scratch) as init:  # written together with the checkpoint that begins from it
        take_step("pretrain", init, params, texts, **common)


if __name__ == "__main__":
    run_stage(pretrain)
