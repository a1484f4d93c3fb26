"""Random numbers as a function of a key and a counter: SplitMix64 (Steele et al. 2014)."""

import numpy as np
from numpy.typing import NDArray

Uint64 = NDArray[np.uint64]


def uniforms(key: Uint64 | int, counter: Uint64) -> NDArray[np.float64]:
    """A number in [0, 1) for each (key, counter), independent of every other and of the order of the calls.

    The finaliser of SplitMix64 (Steele, Lea and Flood 2014, section 4), applied to a counter instead of a state.
    """
    with np.errstate(over="ignore"):
        mixed = mix(np.asarray(key, np.uint64) + counter * np.uint64(0x9E3779B97F4A7C15))
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def mix(value: Uint64) -> Uint64:
    """The finaliser of SplitMix64: a bijection of 64-bit words in which every bit depends on every bit."""
    with np.errstate(over="ignore"):
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return value ^ (value >> np.uint64(31))
