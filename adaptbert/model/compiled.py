"""Compiled layers on a CUDA device, by `torch.compile`: fewer and larger operations, as in ModernBERT.

ADAPTBERT_COMPILE says what training compiles; evaluation never is, so that a score does not depend on it.

off       nothing: the default, until a GPU has measured the others
layers    the layers of the encoder: one graph for all of them and for batches of any shape, and one for the last
          layer, which runs at some positions only
graphs    as `layers`, and what a layer does is recorded once for each shape and replayed (CUDA graphs), so batches
          get one of a few sizes (adaptbert.model.attention); the last layer is not compiled

Never run on a GPU (docs/decisions/0029).
"""

import os
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, get_args

import torch

from adaptbert.codes import Code
from adaptbert.errors import BadParams

VARIABLE = "ADAPTBERT_COMPILE"
BACKEND = "inductor"
"""The compiler below dynamo."""

Mode = Literal["off", "layers", "graphs"]
Layer = Callable[..., torch.Tensor]


def mode() -> Mode:
    """What is compiled in training: ADAPTBERT_COMPILE, but nothing without a CUDA device.

    Raises:
        BadParams: the variable has another value.
    """
    value = os.environ.get(VARIABLE, "") or "off"
    for known in get_args(Mode):
        if value == known:
            return known if torch.cuda.is_available() else "off"
    choices = ", ".join(get_args(Mode))
    raise BadParams(Code.BAD_OPTION, VARIABLE, f"expected one of {choices}, found {value!r}", "write e.g. layers")


def compiled(layer: Layer, kind: Mode) -> Layer:
    """A function of a layer and tensors, or its compiled form; that is made when it is called first."""
    return layer if kind == "off" else _compiled(layer, kind)


@cache
def _compiled(layer: Layer, kind: Mode) -> Layer:
    # Else rates of dropout and epsilons, which never change, would be tensors that a graph reads when it runs.
    torch._dynamo.config.specialize_float = True
    options: dict[str, Any] = {"mode": "reduce-overhead"} if kind == "graphs" else {}
    made: Layer = torch.compile(layer, dynamic=True, backend=BACKEND, **options)
    return made
