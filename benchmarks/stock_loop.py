"""An independent check of a study's general arm: a loop of stock transformers fine-tunes the same weights.

    python -m benchmarks.stock_loop ../study ncbi_disease --seeds 101 102 103

In: a project that `benchmarks.studies` prepared, its base in models/init and its labelled files in data/own. Values of
fine-tuning are those of its params.yaml; training and scores use nothing of adaptbert. The model is that of
`AutoModelForTokenClassification` or `AutoModelForSequenceClassification`, the optimizer AdamW with a linear schedule,
all in float32, on batches padded to their longest text. Each seed draws its own labelled rows. Out: test and dev scores
of each seed, and beside them the interval of the arm `general` in metrics/comparison.json, if the project was run.
"""

import argparse
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from sklearn.metrics import f1_score
from transformers import (
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    get_linear_schedule_with_warmup,
)

from adaptbert.comparison.records import Comparison
from adaptbert.config import load
from adaptbert.config.recipe import Recipe

ARM = "general"
UNLABELLED = -100
"""Label of a position that the loss leaves out, as transformers has it."""


class Rows:
    """Labelled rows of a task, and what its model is given.

    Args:
        task: type and files, as params.yaml has them.
    """

    def __init__(self, root: Path, task: Any, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.are_tokens = task.type == "token-classification"
        self.text, self.target = ("tokens", "tags") if self.are_tokens else ("text", "label")
        self.split = {split: _read(root / getattr(task, split)) for split in ("train", "dev", "test")}
        train = [row[self.target] for row in self.split["train"]]
        self.classes = sorted({tag for tags in train for tag in tags} if self.are_tokens else set(train))

    def model(self, weights: Path) -> Any:
        """The stock model with a head for these labels."""
        kind = AutoModelForTokenClassification if self.are_tokens else AutoModelForSequenceClassification
        return kind.from_pretrained(weights, num_labels=len(self.classes))

    def encoded(self, rows: Sequence[Any], length: int) -> Any:
        """A padded batch with labels: of tokens one at the first subword token of each."""
        batch = self._tokenizer(
            [row[self.text] for row in rows],
            is_split_into_words=self.are_tokens,
            truncation=True,
            max_length=length,
            padding=True,
            return_tensors="pt",
        )
        if self.are_tokens:
            batch["labels"] = torch.tensor([self._of_tokens(batch.word_ids(n), row) for n, row in enumerate(rows)])
        else:
            batch["labels"] = torch.tensor([self.classes.index(row[self.target]) for row in rows])
        return batch

    def _of_tokens(self, words: Sequence[int | None], row: Any) -> list[int]:
        firsts = [word is not None and word != before for word, before in zip(words, [None, *words], strict=False)]
        return [
            self.classes.index(row[self.target][word]) if first and word is not None else UNLABELLED
            for word, first in zip(words, firsts, strict=True)
        ]

    def score(self, gold: Sequence[Any], found: Sequence[Any]) -> float:
        """F1 of spans, or the mean of that of all classes."""
        if not self.are_tokens:
            return float(f1_score(gold, found, average="macro"))
        true, said = ({(row, *span) for row, tags in enumerate(of) for span in spans(tags)} for of in (gold, found))
        return 2 * len(true & said) / (len(true) + len(said))


def spans(tags: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """(First word, word after the last, type) of BIO tags; an I without a beginning begins a span."""
    begin, kind = 0, ""
    for place, tag in enumerate([*tags, "O"]):
        prefix, _, of_tag = tag.partition("-")
        if kind and (prefix != "I" or of_tag != kind):
            yield begin, place, kind
            kind = ""
        if of_tag and not kind:
            begin, kind = place, of_tag


def trained(rows: Rows, weights: Path, values: Any, seed: int) -> Any:
    """The model after the last step."""
    torch.manual_seed(seed)
    model, train = rows.model(weights), rows.split["train"]
    drawn = torch.randperm(len(train))[: values.labels or len(train)].tolist()
    size, count = values.global_batch_size, int(values.epochs * len(drawn))
    steps = -(-count // size)
    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    others = [weight for weight in model.parameters() if weight.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": values.weight_decay}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=values.learning_rate, betas=values.betas, eps=values.epsilon)
    schedule = get_linear_schedule_with_warmup(optimizer, round(values.warmup_fraction * steps), steps)
    model.train()
    order: list[int] = []
    for _ in range(steps):
        if len(order) < size:
            order += [drawn[place] for place in torch.randperm(len(drawn)).tolist()]
        batch, order = [train[place] for place in order[:size]], order[size:]
        model(**rows.encoded(batch, values.max_length)).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), values.clip_norm)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    return model.eval()


@torch.no_grad()
def scored(rows: Rows, model: Any, split: str) -> float:
    """The score of a model on a split; a word behind the positions of the model has the tag O."""
    gold: list[Any] = []
    found: list[Any] = []
    of_split = sorted(rows.split[split], key=lambda row: len(row[rows.text]))
    for start in range(0, len(of_split), 32):
        some = of_split[start : start + 32]
        batch = rows.encoded(some, model.config.max_position_embeddings)
        chosen, labels = model(**batch).logits.argmax(-1), batch["labels"]
        gold += [row[rows.target] for row in some]
        if not rows.are_tokens:
            found += [rows.classes[place] for place in chosen.tolist()]
            continue
        for row, places, of_row in zip(some, chosen, labels, strict=True):
            tags = [rows.classes[place] for place in places[of_row != UNLABELLED].tolist()]
            found.append(tags + ["O"] * (len(row[rows.target]) - len(tags)))
    return rows.score(gold, found)


def _read(path: Path) -> list[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=Path, help="a project of benchmarks.studies")
    parser.add_argument("task", help="of its params.yaml")
    parser.add_argument("--seeds", type=int, nargs="+", default=[101, 102, 103], help="(default: 101 102 103)")
    options = parser.parse_args(argv)
    recipe = Recipe(load.read(options.project / "params.yaml"))
    ((base, of_base),) = recipe.bases.items()
    values = recipe.values("finetune", {"base": base, "task": options.task, "arm": ARM})
    weights = options.project / str(of_base.checkpoint)
    rows = Rows(options.project, recipe.tasks[options.task], AutoTokenizer.from_pretrained(weights))
    scores = []
    for seed in options.seeds:
        model = trained(rows, weights, values, seed)
        scores.append(100 * scored(rows, model, "test"))
        print(f"seed {seed}: {scores[-1]:.2f}, dev {100 * scored(rows, model, 'dev'):.2f}", flush=True)
    print(f"mean: {fmean(scores):.2f}")
    record = options.project / "metrics/comparison.json"
    tasks = (
        Comparison.read(record).tasks if record.is_file() else []
    )  # a clone that was not run has the demonstration's
    for ours in (arm.interval for task in tasks if task.name == options.task for arm in task.arms if arm.name == ARM):
        if ours and ours.low is not None and ours.high is not None:
            print(f"{ARM}: {100 * ours.mean:.2f} ({100 * ours.low:.2f} to {100 * ours.high:.2f})")


if __name__ == "__main__":
    main()
