"""One short file per DVC stage: its inputs, its outputs, and the function that computes them."""

import os
import signal
import sys
from importlib.util import find_spec

if sys.argv[0] == "-m":  # `python -m stages.X` begins
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends the imports without a traceback, until `run_stage` takes it
if find_spec("ruamel") is None:  # DVC was started by its path, and `python` is another one than its own
    print(
        f"error: {sys.executable} has none of the packages of this project; activate the environment "
        "(. .venv/bin/activate) and run again",
        file=sys.stderr,
    )
    raise SystemExit(78)
if sys.argv[0] == "-m" and "ADAPTBERT_WARM_SOCKET" in os.environ:  # of the flow
    from adaptbert.flow.hand_over import hand_over

    hand_over()
