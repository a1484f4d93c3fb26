"""Fine-tuning against the stock trainer: examples and real tokens a second, as ratios.

The peer is transformers' Trainer, wired as its run_glue example wires it: at its defaults every text is padded to 128
tokens and trained in fp32; with the flags that a careful user finds, batches of similar lengths are padded to their
longest and trained in the faster precision. One sentence an example, two labels, dropout 0.1, as many examples a step.
Ours runs in both precisions: the one that `auto` chooses here, and the other.

    python -m benchmarks.finetuning                # mini on a CPU
    python -m benchmarks.finetuning --profile      # where our time goes
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
from transformers import BertForSequenceClassification, DataCollatorWithPadding, default_data_collator

from adaptbert.config.schema.task_types import TextOptions
from adaptbert.data.task_description import TaskDescription
from adaptbert.model.flops import training_flop
from adaptbert.tasks.batches import LabelledBatches
from adaptbert.tasks.examples import whole
from adaptbert.tasks.heads import head_of
from adaptbert.tasks.module import FineTuning
from benchmarks.peer import Flags, beside, peers, timed
from benchmarks.profile import profiled
from benchmarks.rounds import Budget, Made, Results, Speed, Tell, command, ignore
from benchmarks.workload import OPTIM, ROW, Documents, Setting, means, tokenizer

LABELS = ["a", "b"]


def labels(count: int) -> list[int]:
    """Random labels."""
    drawn: list[int] = np.random.default_rng(2).integers(0, len(LABELS), count).tolist()
    return drawn


def made(setting: Setting, documents: Documents, steps: int, seed: int, graphs: bool = False) -> Made:
    """What is trained; with `graphs` in batches of few shapes."""
    task = TaskDescription(type="text-classification", labels=LABELS)
    head, count = head_of(task, TextOptions(long_text="head")), len(documents.documents)
    examples = whole([ids.tolist() for ids in documents.documents], range(count), cut=0)
    examples = examples.labelled(np.array(labels(count)))
    module = FineTuning(BertForSequenceClassification(setting.config(num_labels=len(LABELS))), head, OPTIM, steps)
    batches = LabelledBatches(examples, seed, setting.documents, setting.block, is_static=graphs)
    return module, batches, "train/loss"


def stock(setting: Setting, documents: Documents, budget: Budget, flags: Flags, seed: int) -> Speed:
    """The Trainer's run of a round."""
    import datasets

    datasets.disable_progress_bars()
    rows = []
    for ids, label in zip(documents.documents, labels(len(documents.documents)), strict=True):
        padding = [0] * (0 if flags.grouped else ROW - len(ids))
        rows.append(
            {
                "input_ids": [*ids.tolist(), *padding],
                "token_type_ids": [0] * (len(ids) + len(padding)),
                "attention_mask": [1] * len(ids) + padding,
                "label": label,
                "length": len(ids),
            }
        )
    torch.manual_seed(seed)
    model = BertForSequenceClassification(setting.config(flags.attention, num_labels=len(LABELS)))
    collate = (
        DataCollatorWithPadding(tokenizer(setting), pad_to_multiple_of=flags.multiple)
        if flags.grouped
        else default_data_collator
    )
    return timed(model, datasets.Dataset.from_list(rows), collate, setting.documents, budget, seed, flags)


def flop_per_token(setting: Setting, documents: Documents) -> float:
    """Operations of training, whatever padding somebody computes: the head reads the first token of a text."""
    mean, within = means(documents)
    return training_flop(setting.config(), 10**6, within, round(1e6 / mean), 0) / 1e6


def measure(setting: Setting, budget: Budget, peers: Mapping[str, Flags], tell: Tell = ignore) -> Results:
    """All contenders."""
    return beside(peers, made, stock, setting, budget, ("examples", "tokens"), tell)


def main() -> None:
    command(
        "finetuning",
        __doc__,
        {"cpu": ["mini-short-30k", "mini-large-30k"]},
        lambda setting, budget: measure(setting, budget, peers()),
        partial(profiled, made),
    )


if __name__ == "__main__":
    main()
