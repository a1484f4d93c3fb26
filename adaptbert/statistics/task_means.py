"""The runs of an arm on several tasks -> runs whose scores are means over the tasks."""

from collections.abc import Sequence

import numpy as np

from adaptbert.statistics.study import ArmRuns, Floats


def mean_runs(of_tasks: Sequence[ArmRuns]) -> ArmRuns:
    """The runs that all tasks have, by replicate and seed.

    What a replicate or a seed does on one task it may do on another, so their spread is measured on the means. Test
    rows of different tasks are resampled independently: those of T tasks add up to the sum of their variances / T**2.
    """
    runs: dict[int, dict[int, float]] = {}
    resampled: list[Floats] = []
    for number in [each for each in of_tasks[0].runs if all(each in other.runs for other in of_tasks)]:
        own = [each.runs[number] for each in of_tasks]
        seeds = sorted(set.intersection(*map(set, own)))
        if not seeds:
            continue
        runs[number] = {seed: float(np.mean([scores[seed] for scores in own])) for seed in seeds}
        if all(each.resampled for each in of_tasks):
            # An arm has the rows of a replicate in the order of its seeds.
            rows = [each.resampled[[*each.runs].index(number)] for each in of_tasks if each.resampled]
            places = [np.searchsorted(sorted(scores), seeds) for scores in own]
            resampled.append(np.mean([of_task[place] for of_task, place in zip(rows, places, strict=True)], 0))
    return ArmRuns(runs, resampled or None)
