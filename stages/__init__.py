"""One short file per DVC stage: its inputs, its outputs, and the function that computes them."""

import sys
from importlib.util import find_spec

if find_spec("ruamel") is None:  # DVC was started by its path, and `python` is another one than its own
    print(
        f"error: {sys.executable} has none of the packages of this project; activate the environment "
        "(. .venv/bin/activate) and run again",
        file=sys.stderr,
    )
    raise SystemExit(78)
