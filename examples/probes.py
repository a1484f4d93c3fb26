"""What do the layers of a checkpoint hold before fine-tuning, and which of them did a step change?

    python -m examples.probes data/validated/tasks/section models/scratch/small models/pretrain/small

The first argument is a validated labelled set with one class a row, the others are checkpoints, the lower ones first.
Train and dev rows are read, the test split is not. Two tables are printed:

- Frozen probes (Alain and Bengio 2017, arXiv 1610.01644): a logistic regression on the frozen vectors of a layer, its
  macro-F1 on the dev split. `static` is the mean of the word embeddings alone, layer 0 that of the embeddings with
  position, the others are means of the token vectors. Random weights (`scratch`) are the control: what a probe finds
  there was not learnt from text (Hewitt and Liang 2019, arXiv 1909.03368).
- Linear CKA with the checkpoint before (Kornblith et al. 2019, arXiv 1905.00414), by the unbiased estimator of HSIC
  (Song et al. 2012, equation 5): 1 for vectors that differ by rotation and scale only, about 0 for unrelated ones.

The figures describe one training of each checkpoint; no interval and no verdict belongs to them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adaptbert import Checkpoint
from adaptbert.codes import Code
from adaptbert.data import labelled_set
from adaptbert.data.task_description import FILE, TaskDescription
from adaptbert.errors import BadData
from adaptbert.tasks.metrics.scoring import classification_metrics
from examples import command, run

Floats = NDArray[np.floating]

STRENGTH = 0.1
"""Inverse strength of the L2 penalty, on features of unit variance; the same for all layers, because a choice for each
would be a search, and a probe is to be weak."""
AT_ONCE = 64
MOST_ROWS = 1_000
"""Most rows of CKA, whose memory grows by their square."""


def layer_vectors(checkpoint: Checkpoint, texts: Sequence[str]) -> dict[str, Floats]:
    """Layer -> one vector a text, (rows, hidden): means over its tokens, [CLS] and [SEP] left out."""
    model = checkpoint.encoder()
    tokenizer = checkpoint.tokenizer
    most = model.config.max_position_embeddings - tokenizer.extra(1)
    batches = [
        _means(model, [tokenizer.single(text.ids[:most]) for text in tokenizer.encode(some)])
        for some in (texts[begin : begin + AT_ONCE] for begin in range(0, len(texts), AT_ONCE))
    ]
    vectors = np.concatenate(batches, axis=1)
    return {"static": vectors[0], **{str(layer): each for layer, each in enumerate(vectors[1:])}}


@torch.no_grad()
def _means(model: Any, ids: list[list[int]]) -> Floats:
    """The word embeddings and all hidden states, (1 + layers + 1, rows, hidden)."""
    longest = max(map(len, ids))
    padded = torch.tensor([[*row, *[0] * (longest - len(row))] for row in ids])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in ids])
    states = model(padded, attention_mask=mask, output_hidden_states=True).hidden_states
    every = torch.stack([model.embeddings.word_embeddings(padded), *states])
    of_text = mask.clone()
    of_text[:, 0] = 0
    of_text[range(len(ids)), [len(row) - 1 for row in ids]] = 0
    sums = (every * of_text[:, :, None]).sum(2)
    return (sums / of_text.sum(1).clamp(min=1)[:, None]).numpy()


def probe(train: Floats, gold: Sequence[str], dev: Floats, answers: Sequence[str]) -> float:
    """Macro-F1 on `dev` of a logistic regression that is fitted on `train`."""
    fitted = make_pipeline(StandardScaler(), LogisticRegression(C=STRENGTH, max_iter=5000)).fit(train, list(gold))
    return classification_metrics(answers, list(fitted.predict(dev)))["f1_macro"]


def cka(some: Floats, others: Floats) -> float:
    """Similarity of two sets of vectors of the same rows, four or more; NaN where all vectors of one set are equal."""
    one, two = (_kernel(np.asarray(vectors[:MOST_ROWS], np.float64)) for vectors in (some, others))
    own = _hsic(one, one) * _hsic(two, two)
    return float(_hsic(one, two) / np.sqrt(own)) if own > 0 else float("nan")


def _kernel(vectors: Floats) -> Floats:
    centred = vectors - vectors.mean(0)
    kernel = centred @ centred.T
    np.fill_diagonal(kernel, 0.0)
    return np.asarray(kernel)


def _hsic(one: Floats, two: Floats) -> float:
    count = len(one)
    sums = one.sum() * two.sum() / ((count - 1) * (count - 2)) - 2 * (one.sum(0) @ two.sum(0)) / (count - 2)
    return float(((one * two).sum() + sums) / (count * (count - 3)))


def main(task: Path, folders: Sequence[Path]) -> dict[str, list[dict[str, float]]]:
    """Print both tables; returns their figures, a row for each checkpoint (of `cka` from the second one on)."""
    if missing := [name for name in (FILE, "train.parquet", "dev.parquet") if not (task / name).is_file()]:
        raise BadData(Code.FILE, task / missing[0], "no such file", "name a folder that `dvc repro validate` wrote")
    about = TaskDescription.read(task)
    if (about.task_type, about.target) != ("single_sentence", "class"):
        problem = f"a set of the type {about.task_type} with the target {about.target}"
        raise BadData(Code.CONTRADICTION, task, problem, "name one of the type single_sentence with the target class")
    train, dev = (labelled_set.split(task, split) for split in ("train", "dev"))
    gold, answers = ([row["label"] for row in rows] for rows in (train, dev))
    figures: dict[str, list[dict[str, float]]] = {"probe": [], "cka": []}
    below: dict[str, Floats] = {}
    for folder in folders:
        checkpoint = Checkpoint.load(folder)
        of_train = layer_vectors(checkpoint, [row["text"] for row in train])
        of_dev = layer_vectors(checkpoint, [row["text"] for row in dev])
        figures["probe"].append({layer: probe(of_train[layer], gold, of_dev[layer], answers) for layer in of_dev})
        if below:
            figures["cka"].append({layer: cka(below[layer], of_dev[layer]) for layer in of_dev if layer in below})
        below = of_dev
    _show("frozen probes, macro-F1 on the dev split", folders, figures["probe"])
    _show("linear CKA with the checkpoint before", folders[1:], figures["cka"])
    return figures


def _show(title: str, folders: Sequence[Path], rows: Sequence[dict[str, float]]) -> None:
    table = Table("checkpoint", *(rows[0] if rows else ()), title=title)
    for folder, row in zip(folders, rows, strict=True):
        table.add_row(str(folder), *(f"{value:.3f}" for value in row.values()))
    Console().print(table)


if __name__ == "__main__":
    parser = command("probes", __doc__)
    parser.add_argument("task", metavar="TASK", type=Path)
    parser.add_argument("folders", metavar="CHECKPOINT", type=Path, nargs="+")
    run(parser, main)
