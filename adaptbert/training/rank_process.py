"""The process of a further device: `python -m adaptbert.training.rank_process MODULE:FUNCTION RANK WORLD STORE`.

adaptbert.training.distributed starts it; the function is called with the other three.
"""

import sys
from pkgutil import resolve_name


def main(function: str, rank: str, world: str, store: str) -> None:
    """Call the function of that name; the process ends as the function does."""
    resolve_name(function)(int(rank), int(world), store)


if __name__ == "__main__":
    main(*sys.argv[1:])
