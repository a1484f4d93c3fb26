"""Vectors of texts at every layer of an encoder, from the forward pass that fine-tuning uses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.finetuning.tasks.examples import Examples
from adaptbert.tokenization.store.tokenizer import Tokenizer

Floats = NDArray[np.float32]

AT_ONCE = 128
"""Examples of a forward pass."""


@dataclass(frozen=True)
class LayerVectors:
    """One vector a row; of a row in several windows the mean over them.

    Attributes:
        first: that of [CLS], (layers + 1, rows, hidden); the embeddings are layer 0.
        mean: over the tokens of the text, [CLS] and [SEP] left out, as `first`.
        static: the mean of the word embeddings alone, without position or context, (rows, hidden).
    """

    first: Floats
    mean: Floats
    static: Floats

    @property
    def layers(self) -> int:
        """Of the encoder; the embeddings are not counted."""
        return len(self.mean) - 1


def layer_vectors(model: Any, tokenizer: Tokenizer, examples: Examples) -> LayerVectors:
    """The vectors of all rows, in float32.

    Args:
        model: a BertModel.
    """
    from adaptbert.model.evaluation import evaluating

    with evaluating(model, "32-true"):
        parts = [
            _of_some(model, tokenizer, examples.take(np.arange(begin, min(begin + AT_ONCE, len(examples)))))
            for begin in range(0, len(examples), AT_ONCE)
        ]
    windows = np.bincount(examples.rows)
    first, mean, static = (
        _of_rows(np.concatenate([part[kind] for part in parts], axis=-2), windows) for kind in range(3)
    )
    return LayerVectors(first, mean, static)


def _of_some(model: Any, tokenizer: Tokenizer, examples: Examples) -> Sequence[Floats]:
    """[CLS], mean and static vectors of each example."""
    import torch

    from adaptbert.finetuning.tasks.labelled_batch import batch_of

    batch = batch_of(examples, int(examples.lengths.max())).to(model.device)
    sizes = examples.lengths.tolist()
    segments = torch.zeros_like(batch.ids) if batch.segments is None else batch.segments
    ids, kinds, real = (
        torch.nn.utils.rnn.pad_sequence(list(torch.split(values, sizes)), batch_first=True)
        for values in (batch.ids, segments, torch.ones_like(batch.ids))
    )
    output = model(ids, attention_mask=real, token_type_ids=kinds, output_hidden_states=True)
    states = torch.stack([state[real.bool()] for state in output.hidden_states])
    owners = torch.repeat_interleave(torch.as_tensor(examples.lengths, device=model.device))
    in_text = (batch.ids != tokenizer.cls) & (batch.ids != tokenizer.sep)
    counts = torch.bincount(owners[in_text], minlength=len(examples)).clamp(min=1)[:, None]

    def mean(vectors: Any) -> Any:
        sums = vectors.new_zeros(*vectors.shape[:-2], len(examples), vectors.shape[-1])
        return sums.index_add(-2, owners[in_text], vectors[..., in_text, :]) / counts

    first = states[:, torch.as_tensor(examples.flat_places(), device=model.device)]
    static = mean(model.embeddings.word_embeddings.weight[batch.ids])
    return [vectors.float().cpu().numpy() for vectors in (first, mean(states), static)]


def _of_rows(vectors: Floats, windows: NDArray[np.int64]) -> Floats:
    """The means over the windows of each row, which follow one another."""
    sums = np.add.reduceat(vectors, np.cumsum(windows) - windows, axis=-2)
    return (sums / windows[:, None]).astype(np.float32)
