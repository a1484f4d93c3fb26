"""A second opinion on a difference: the Multi-Bootstrap.

Sellam et al. (2022), "The MultiBERTs: BERT Reproductions for Robustness Analysis", arXiv 2106.16163, section 4: draws
and test rows are resampled together, with replacement. It needs no model of the spread, and with few draws it is too
sure (benchmarks/results/verdict.json has the figures), so it stands beside the other interval from five draws on, and
no verdict depends on it.
"""

import numpy as np

from adaptbert.comparison.statistics.rows import Floats

FEWEST_DRAWS = 5


def resampled_interval(arm: Floats, other: Floats, confidence: float, seed: int = 0) -> tuple[float, float]:
    """The ends of the interval of the difference, as quantiles over resamples.

    Args:
        arm, other: (draws, resamples of the test rows), each a mean over seeds. Draws of the two are independent.
    """
    random = np.random.default_rng(seed)
    means = []
    for scores in (arm, other):
        draws, resamples = scores.shape
        drawn = random.integers(0, draws, (draws, resamples))
        means.append(np.take_along_axis(scores, drawn, 0).mean(0))
    low, high = np.quantile(means[0] - means[1], [0.5 - confidence / 2, 0.5 + confidence / 2])
    return float(low), float(high)
