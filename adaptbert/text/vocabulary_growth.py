"""Checks whether a vocabulary extends another, and extends the embeddings of a model."""

from typing import Any

from adaptbert.text.tokenizer import Tokenizer


def extends(tokenizer: Tokenizer, base: Tokenizer) -> bool:
    """Whether every token of `base` has the same id in `tokenizer`, and both normalise text alike."""
    return (
        tokenizer.size > base.size
        and tokenizer.tokens[: base.size] == base.tokens
        and repr(tokenizer.backend.normalizer) == repr(base.backend.normalizer)
    )


def grow(model: Any, base: Tokenizer, tokenizer: Tokenizer) -> None:
    """Extend the embeddings of a model from the tokens of `base` to those of `tokenizer`; tied weights stay tied.

    Args:
        model: a Hugging Face BERT with or without the head of masked-language modelling, changed in place.
    """
    import torch

    rows = model.get_input_embeddings().weight.shape[0]
    model.resize_token_embeddings(max(rows, tokenizer.size), mean_resizing=False)
    tables = [model.get_input_embeddings().weight]
    output = model.get_output_embeddings()
    if output is not None:
        tables += [output.bias] if output.weight is tables[0] else [output.weight, output.bias]
    encodings = base.encode(tokenizer.tokens[base.size :])
    with torch.no_grad():
        for number, encoding in enumerate(encodings, start=base.size):
            for table in tables:
                table[number] = table[encoding.ids].mean(0)
