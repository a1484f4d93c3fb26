"""Which tokens does a model learn to fill in first? Accuracy of masked tokens by class, while a small BERT is trained.

    python -m examples.what_is_learned_when TEXT [STEPS]

TEXT has a document a line, some thousands at least. A vocabulary and a BERT of 2 x 256 are trained on it, but for every
twentieth document. These are measured with always the same masks before the first step, after steps 1, 3, 10, 30 and so
on, and after the last. Printed is a row for each class of token, a column for each measured step, and two controls:
`masked`, how many tokens of the class the figures rest on, and `frequent`, the accuracy of always answering the most
frequent token of the training text. On 200 tokens the standard error of an accuracy near 50 % is 3.5 points.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import BertForMaskedLM

from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.mlm import Masking
from adaptbert.config.schema.text import Vocabulary
from adaptbert.config.schema.training import Training
from adaptbert.mlm.masked_lm import LOSS_NAME, MaskedBatch, MaskedBatches, MaskedLM
from adaptbert.mlm.masking import CLASSES, Masker, token_classes
from adaptbert.mlm.token_loss import NO_ANSWER
from adaptbert.model.checkpoint import random_weights
from adaptbert.model.device import evaluating
from adaptbert.model.encoder import Tokens, encode, token_scores
from adaptbert.model.optimizer import Optimization
from adaptbert.runtime.mlflow import Run
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.token_writer import write
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.document_stream import DocumentStream
from adaptbert.training.loop import fit
from examples import command, lines, positive, run

LENGTH, BATCH, SEED = 128, 2048, 1
"""Tokens of the longest document, and of an optimizer step."""
HELD_OUT = 20
BASE = Base(layers=2, hidden_size=256, heads=4, intermediate_size=1024, max_positions=LENGTH)
VOCABULARY = Vocabulary(vocabulary_size=8_000)
MASKING = Masking(probability=0.15)
OPTIM = Training(learning_rate=1e-3, warmup_fraction=0.06, betas=[0.9, 0.98], epsilon=1e-6, dropout=0.1)

Classes = dict[str, NDArray[np.bool_]]
"""Name -> whether each token of the vocabulary is in it."""


def classes_of(tokenizer: Tokenizer, counts: NDArray[np.int64]) -> Classes:
    """All tokens; by their characters; and by frequency: those that make up half of the text, and the last tenth.

    Args:
        counts: of each token in the training text, (vocabulary,).
    """
    kinds = token_classes(tokenizer.forms)
    order = np.argsort(-counts, kind="stable")
    before = np.empty(len(counts))
    before[order] = (np.cumsum(counts[order]) - counts[order]) / counts.sum()
    return {
        "all": np.ones(len(counts), np.bool_),
        "frequent": before < 0.5,
        "rare": before >= 0.9,
        **{name: kinds == number for number, name in enumerate(CLASSES)},
    }


def batches_of(corpus: TokenizedCorpus, tokenizer: Tokenizer, tokens: int) -> MaskedBatches:
    """Batches of so many tokens, masked."""
    stream = DocumentStream(corpus.lengths, SEED, tokens)
    return MaskedBatches(corpus, stream, Masker(MASKING, SEED, tokenizer), LENGTH)


def answers(model: Any, batch: MaskedBatch) -> NDArray[np.int64]:
    """The most probable token at each masked position, (chosen,)."""
    with evaluating(model, "32-true"):
        on_device = batch.to(model.device)
        hidden = encode(model.base_model, on_device.rows, Tokens(on_device.ids), on_device.chosen)
        return np.asarray(token_scores(model, hidden).argmax(-1).cpu())


def accuracies(answered: NDArray[np.int64], batch: MaskedBatch, classes: Classes) -> dict[str, float]:
    """Share of right answers, for the classes that have a masked token."""
    expected = batch.expected.numpy()
    right, is_masked = answered == expected, expected != NO_ANSWER
    inside = {name: is_masked & member[expected] for name, member in classes.items()}
    return {name: float(right[tokens].mean()) for name, tokens in inside.items() if tokens.any()}


def measured_steps(steps: int) -> list[int]:
    """1, 3, 10, 30 and so on, and the last."""
    early = [step for decade in range(len(str(steps))) for step in (10**decade, 3 * 10**decade) if step < steps]
    return [*early, steps]


def learn(texts: list[str], steps: int, folder: Path) -> dict[str, dict[str, float]]:
    """Column of the table -> class -> figure; `folder` is for the tokenised text."""
    tokenizer = Tokenizer.train(lambda: texts, VOCABULARY)
    corpora = []
    for name, numbers in (
        ("training", [number for number in range(len(texts)) if number % HELD_OUT]),
        ("heldout", range(0, len(texts), HELD_OUT)),
    ):
        write(folder / name, ((str(number), texts[number]) for number in numbers), tokenizer, LENGTH)
        corpora.append(TokenizedCorpus.load(folder / name))
    training, heldout = corpora
    fixed = batches_of(heldout, tokenizer, heldout.tokens)(0)  # one batch holds all of it
    ids = training.read(np.arange(len(training.lengths))).ids
    counts = np.where(tokenizer.maskable, np.bincount(ids, minlength=tokenizer.size), 0)
    classes = classes_of(tokenizer, counts)

    torch.manual_seed(SEED)
    model = BertForMaskedLM(random_weights(BASE, tokenizer.size, tokenizer.pad))
    expected = fixed.expected.numpy()
    table = {
        "masked": {name: float((member[expected] & (expected != NO_ANSWER)).sum()) for name, member in classes.items()},
        "frequent": accuracies(np.full(len(expected), counts.argmax()), fixed, classes),
        "0": accuracies(answers(model, fixed), fixed, classes),
    }

    def measure(step: int) -> dict[str, float]:
        table[str(step)] = accuracies(answers(model, fixed), fixed, classes)
        return {}

    plan = TrainingArguments(steps, 1, OPTIM.clip_norm, "32-true", SEED, LOSS_NAME)
    module = MaskedLM(model, Optimization(OPTIM, steps))
    fit(module, batches_of(training, tokenizer, BATCH), plan, Run(), dict.fromkeys(measured_steps(steps), measure))
    return table


def main(text: Path, steps: int) -> dict[str, dict[str, float]]:
    """Train and print the table."""
    texts = [line.strip() for line in lines(text, HELD_OUT + 1) if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        table = learn(texts, steps, Path(folder))
    masked = table["masked"]
    print(f"{'':14}" + "".join(f"{column:>9}" for column in table))
    for name in (name for name, count in masked.items() if count):
        cells = "".join(f"{table[column][name]:9.1%}" for column in table if column != "masked")
        print(f"{name:14}{masked[name]:9,.0f}{cells}")
    return table


if __name__ == "__main__":
    parser = command("what_is_learned_when", __doc__)
    parser.add_argument("text", metavar="TEXT", type=Path)
    parser.add_argument("steps", metavar="STEPS", type=positive, nargs="?", default=1_000)
    run(parser, main)
