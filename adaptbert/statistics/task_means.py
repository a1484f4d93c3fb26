"""The runs of an arm on several tasks -> runs whose scores are means over the tasks."""

from collections.abc import Sequence

import numpy as np

from adaptbert.statistics.study import ArmRuns, Floats


def mean_runs(of_tasks: Sequence[ArmRuns]) -> ArmRuns:
    """The runs that all tasks have, by their replicates and seeds.

    What a replicate or a seed does on one task it may do on the others, so spread is measured on the means. Test rows
    of different tasks are resampled independently: of a mean over T tasks, rows have the sum of their variances over
    T**2.
    """
    first, *others = of_tasks
    runs, resampled = {}, []
    for number in [each for each in first.runs if all(each in other.runs for other in others)]:
        own = [each.runs[number] for each in of_tasks]
        seeds = sorted(set.intersection(*map(set, own)))
        runs[number] = {seed: float(np.mean([scores[seed] for scores in own])) for seed in seeds}
        rows = [_resampled(each, number, seeds) for each in of_tasks if each.resampled]
        if len(rows) == len(of_tasks):
            resampled.append(np.mean(rows, 0))
    return ArmRuns(runs, resampled or None)


def _resampled(arm: ArmRuns, number: int, seeds: Sequence[int]) -> Floats:
    """The scores of these seeds in one replicate, (seeds, resamples); an arm has them in the order of its seeds."""
    assert arm.resampled is not None
    every = sorted(arm.runs[number])
    return arm.resampled[[*arm.runs].index(number)][[every.index(seed) for seed in seeds]]
