"""On PYTHONPATH: each stage of DVC leaves the names of the modules that it has loaded in the folder MODULES_LOG."""

import atexit
import os
import sys
from pathlib import Path


def leave() -> None:
    if stage := os.environ.get("DVC_STAGE"):
        Path(os.environ["MODULES_LOG"], f"{stage}-{os.getpid()}").write_text("\n".join(sys.modules), encoding="utf-8")


if "stages" in " ".join(sys.orig_argv):
    atexit.register(leave)
