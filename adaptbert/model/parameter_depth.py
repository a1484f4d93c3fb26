"""The depth of a parameter by its name: embeddings are 0, layer i of n is i + 1, everything above is n + 1."""

import re
from collections.abc import Iterable

LAYER = re.compile(r"(?:^|\.)encoder\.layer\.(\d+)\.")
EMBEDDINGS = re.compile(r"(?:^|\.)embeddings\.")


def depths(names: Iterable[str]) -> dict[str, int]:
    """The depth of each parameter of a BERT, with a head or without, by its name."""
    by_name = {name: _of(name) for name in names}
    top = 1 + max((depth for depth in by_name.values() if depth is not None), default=0)
    return {name: top if depth is None else depth for name, depth in by_name.items()}


def _of(name: str) -> int | None:
    """None above the encoder: a pooler, a head."""
    if layer := LAYER.search(name):
        return 1 + int(layer[1])
    return 0 if EMBEDDINGS.search(name) else None
