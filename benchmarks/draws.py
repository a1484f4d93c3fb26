"""How far apart the replicates of one step lie, and how often two arms made of the same ones are called different.

Of a project with many (`compare.replicates: 8`) that was run by `dvc repro`:

    python -m benchmarks.draws --project FOLDER --arm domain
"""

import argparse
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from adaptbert.comparison.arms import StageOutputs, TaskResults
from adaptbert.comparison.scores import ResampledRows
from adaptbert.config import plan as planning
from adaptbert.config import recipe as recipes
from adaptbert.config.schema.mlm import BUDGET
from adaptbert.statistics.intervals import mean_interval
from adaptbert.statistics.study import ArmRuns, Study
from adaptbert.statistics.verdicts import GAINS, verdicts
from adaptbert.tasks.metrics.scoring import limits
from benchmarks.machine import keep

CONFIDENCE, WORTH = 0.95, 0.01


def measure(project: Path, arm: str) -> dict[str, Any]:
    """By task, of the first base."""
    plan = planning.read(project / "plan.json")
    base = next(iter(plan.pretrain))
    data, results = project / "data/validated/tasks", {}
    outputs = StageOutputs(
        data, project / "data/raw", project / "metrics", project / "predictions", project / "models/pretrain"
    )
    for task in dict.fromkeys(cell.task for cell in plan.finetune.values()):
        rows = ResampledRows(data / task, {})
        own = TaskResults(plan, outputs, task, base, rows, CONFIDENCE)
        of_arm = own.arms[arm]
        results[task] = {"metric": own.metric, **spreads(of_arm), **equal_arms(of_arm, rows.groups, own.metric)}
    return results


def budget(project: Path, arm: str) -> dict[str, Any]:
    """The length of its last domain transfer: tokens, passes or steps."""
    recipe = recipes.read(project / "params.yaml")
    names = {"base": next(iter(recipe.bases)), "corpus": recipe.arms[arm].domain_transfer[-1]}
    values = recipe.values("domain_transfer", names)
    return {unit: length for unit in BUDGET if (length := getattr(values, unit)) is not None}


def spreads(arm: ArmRuns) -> dict[str, Any]:
    """Standard deviations in points, and all scores."""
    runs = arm.runs
    scores = 100 * np.array([list(seeds.values()) for seeds in runs.values()])
    draws, seeds = scores.shape
    effects = scores.mean(1, keepdims=True) + scores.mean(0) - scores.mean()
    rest = float(np.square(scores - effects).sum()) / ((draws - 1) * (seeds - 1))
    between = max(0.0, float(scores.mean(1).var(ddof=1)) - rest / seeds)
    of_seeds = max(0.0, float(scores.mean(0).var(ddof=1)) - rest / draws)
    return {
        "draws": draws,
        "seeds": seeds,
        "sd_between_draws": round(between**0.5, 2),
        "sd_between_seeds": round(of_seeds**0.5, 2),
        "sd_of_the_rest": round(rest**0.5, 2),
        "scores": [[round(float(score), 2) for score in row] for row in scores],
    }


def equal_arms(own: ArmRuns, groups: int, metric: str) -> dict[str, Any]:
    """Two arms of half of the draws each, in all ways; two of one draw each by the rule of the first version.

    Args:
        groups: of the test rows.
    """
    assert own.resampled is not None
    cells = dict(zip(own.runs, own.resampled, strict=True))
    draws = list(cells)
    shown, ways, of_rows = 0, 0, []
    for half in combinations(draws, len(draws) // 2):
        if draws[0] in half:  # else the same two arms again, the other way round
            others = [draw for draw in draws if draw not in half]
            sides = {
                side: ArmRuns({draw: own.runs[draw] for draw in part}, [cells[draw] for draw in part])
                for side, part in (("one", half), ("other", others))
            }
            difference = Study(sides, groups, CONFIDENCE, limits(metric)).difference("one", "other")
            assert difference is not None
            assert difference.variance is not None
            of_rows.append(difference.variance["rows"])
            (verdict,) = verdicts([difference], WORTH, CONFIDENCE)
            shown += verdict in (*GAINS, "loss")
            ways += 1
    pairs = list(combinations(draws, 2))
    return {
        "ways_to_make_two_arms": ways,
        "called_different": shown,
        "sd_of_a_difference_by_test_rows": round(100 * float(np.mean(of_rows)) ** 0.5, 2),
        "pairs_of_draws": len(pairs),
        "pairs_called_different_by_the_first_version": sum(_differ(own, *pair) for pair in pairs),
    }


def _differ(arm: ArmRuns, one: int, other: int) -> bool:
    """By a paired t-test over seeds."""
    differences = [score - arm.runs[other][seed] for seed, score in arm.runs[one].items()]
    interval = mean_interval(differences, CONFIDENCE)
    assert interval.low is not None
    assert interval.high is not None
    return interval.low > 0 or interval.high < 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--project", type=Path, required=True, help="folder of a project after `dvc repro`")
    parser.add_argument("--arm", default="domain", help="with domain transfer (domain)")
    arguments = parser.parse_args()
    of_arm = arguments.project, arguments.arm
    keep("draws", {"arm": arguments.arm, "budget": budget(*of_arm), "tasks": measure(*of_arm)})
