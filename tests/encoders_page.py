"""The table of cases -> docs/encoders.md: every type of encoder, how it runs, and what the tests compare."""

from transformers.models.auto import modeling_auto

from tests.support.encoders import CASES, LEFT_OUT, Case

HEAD = """\
# Types of encoders

Every type that transformers 5 opens for masked-language modelling, and how the tests found that it runs. This file is
written by `python -m tests.documents` from `tests/support/encoders.py`.

A type needs no entry to be a base: the way is proven on the weights, when a base is imported or checked, by short
documents alone and together (`adaptbert/model/proof.py`). The first that is right is taken:

- own: a forward pass of this project, the fastest
- packed: the class of transformers with the attention of this project, documents of any length without padding
- masked_3d, masked_4d: rows of several documents, which a mask keeps apart, for a class with an attention of its own
- padded: documents of about one length, padded to the longest, where nothing faster is right
- refused: padding changes the answers, too

The tests compare a tiny model of each type, with a tokenizer trained by the rules of the type, with its class for each
document alone: scores, loss and gradients in float32, of masked-language modelling and of every head that transformers
has for the type (text: texts and pairs; tokens; answers). What is saved opens in stock transformers, whole, and its
pipelines answer alike. The class of a type that says float32 fails in bfloat16: its encoder computes in float32.
"""
LAST = """\
## Not tried

| `model_type` | why |
|---|---|
"""
HEADS = {"text": "SEQUENCE_CLASSIFICATION", "tokens": "TOKEN_CLASSIFICATION", "answers": "QUESTION_ANSWERING"}
"""Head as the page names it -> the part of the name of transformers' table."""
OF_THE_CODE = {"text": "sequence", "tokens": "tokens", "answers": "spans"}


def page() -> str:
    """The whole file."""
    rows = [f"| {_named(case)} | {_way(case)} | {_heads(case)} |" for case in CASES]
    lines = ["| `model_type` | way | heads |", "|---|---|---|", *rows]
    left_out = "".join(f"| `{kind}` | {why} |\n" for kind, why in sorted(LEFT_OUT.items()))
    return "\n".join([HEAD, *lines, "", LAST]) + left_out


def _named(case: Case) -> str:
    return f"`{case.kind}`, {case.variant}" if case.variant else f"`{case.kind}`"


def _way(case: Case) -> str:
    return f"{case.way}, float32" if case.float32 else case.way


def _heads(case: Case) -> str:
    if case.way == "refused":
        return "–"
    tables = {name: getattr(modeling_auto, f"MODEL_FOR_{part}_MAPPING_NAMES") for name, part in HEADS.items()}
    return ", ".join(
        name for name, table in tables.items() if case.kind in table and OF_THE_CODE[name] not in case.lacks
    )
