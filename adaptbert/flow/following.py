"""Runs a module of Python that ends with the process that started it, however that ends.

python -m adaptbert.flow.following dvc repro
"""

import runpy
import signal
import sys

from adaptbert.runtime.signals import die_with_parent

if __name__ == "__main__":
    die_with_parent(signal.SIGKILL)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
