"""metrics/comparison.json as tables of pandas, for a notebook."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptbert.comparison.records import Comparison
from adaptbert.statistics.intervals import Difference, Interval

if TYPE_CHECKING:
    import pandas as pd

COMPARISON = Path("metrics/comparison.json")


def read_comparison(path: str | Path = COMPARISON) -> "pd.DataFrame":
    """The scores on test, of a metrics/comparison.json: a row for each arm and baseline of each task, from each base.

    Returns:
        `task`, `base`, `arm`, `metric`; `score` (at most 1; `rmse` in the unit of the target), `low` and `high`, the
        ends of its interval; `dev`, the mean score on dev; `replicates`, `seeds` and `runs`, a list of (replicate,
        seed, score), where replicate 0 is a step that is trained once. Baselines have no runs; an arm that was not
        trained yet has no score.

    Raises:
        FileNotFoundError: the recipe was not run yet.
        BadData: another file.
    """
    import pandas as pd

    rows = []
    for task in Comparison.read(Path(path)).tasks:
        place = {"task": task.task, "base": task.base}
        for arm in task.arms:
            runs = [(run.replicate, run.seed, run.score) for run in arm.counted]
            of_runs = {"dev": arm.dev, "replicates": len(arm.by_replicate), "seeds": len(arm.scores), "runs": runs}
            rows.append({**place, "arm": arm.name, "metric": task.metric, **_ends("score", arm.interval), **of_runs})
        for name, interval in task.baselines.items():
            no_runs: dict[str, Any] = {"dev": None, "replicates": 0, "seeds": 0, "runs": []}
            rows.append({**place, "arm": name, "metric": task.metric, **_ends("score", interval), **no_runs})
    return pd.DataFrame(rows)


def read_differences(path: str | Path = COMPARISON) -> "pd.DataFrame":
    """The comparisons, of a metrics/comparison.json: a row for each question that is asked of a task, from each base.

    Returns:
        `task`, `base`, `question`; `arm` and `other`, which are compared; `difference` of their scores, with `low` and
        `high`, the ends of its interval; `p`, and `p_adjusted` for all questions that are tested; `verdict`, and
        whether a gain is `at_least` the smallest one worth having.

    Raises:
        FileNotFoundError: the recipe was not run yet.
        BadData: another file.
    """
    import pandas as pd

    rows = []
    for task in Comparison.read(Path(path)).tasks:
        for answer in task.answers:
            pair = {"question": answer.name, "arm": answer.arm, "other": answer.other}
            ends = _ends("difference", answer.difference)
            p = None if answer.difference is None else answer.difference.p
            judged = {"p": p, "p_adjusted": answer.p_adjusted, "verdict": answer.verdict, "at_least": answer.at_least}
            rows.append({"task": task.task, "base": task.base, **pair, **ends, **judged})
    return pd.DataFrame(rows)


def _ends(name: str, interval: Interval | Difference | None) -> dict[str, float | None]:
    """A mean under this name, and the ends of its interval."""
    if interval is None:
        return {name: None, "low": None, "high": None}
    return {name: interval.mean, "low": interval.low, "high": interval.high}
