"""How far the share of simulated studies may lie from the rate that is promised."""

import math

STUDIES = 2000


def standard_error(rate: float) -> float:
    return math.sqrt(rate * (1 - rate) / STUDIES)
