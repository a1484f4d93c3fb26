"""A process that multiplies matrices beside a measurement, as the other stages will.

python -m adaptbert.planning.neighbour
"""

import time

import numpy as np

SECONDS = 60
"""After which it ends, should the process that measures be killed."""

if __name__ == "__main__":
    end, square = time.monotonic() + SECONDS, np.ones((512, 512), np.float32)
    while time.monotonic() < end:
        np.matmul(square, square)
