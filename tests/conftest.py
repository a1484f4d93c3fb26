"""For all tests: one thread (the machine is shared), no network, nothing sent home; processes they start inherit it."""

import os

from adaptbert.entry import QUIET

os.environ.update(QUIET)
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
