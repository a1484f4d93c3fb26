"""Comparison -> metrics/comparison.json, all results for the table and programs, and the few of metrics/metrics.json.

A task stands under its start, even where there is one start, so that no key changes when a second one is added. A
planned cell without metrics is an empty mapping. `seeds` are means over draws, `runs` have them singly, as draw, seed,
score; draw 0 is an arm whose rung is made once for each start.

    {"section": {"small": {
        "domain": {"f1_macro": .59, "low": .57, "high": .61, "seeds": [[1, .60], [2, .58], ...],
                   "runs": [[1, 1, .60], ...], "learning_curve": [[100, .41, .39, .43], ...]},
        "tfidf_logistic": {"f1_macro": .52},
        "steps": {"domain_transfer": {"difference": .06, "p_holm": .02, "of": ["domain", "general"], ...}}}},
     "worth": 0.01,
     "replicated": [["domain_text", "small", 2, 1, 0], ...],
     "starts": {"section": {"arm": ["domain"], "order": ["base", "small"], "draws": [2, 2], "other_budgets": [],
                            "arms": {"domain": {"small": {"difference": -.02, "p_holm": .04, ...}, ...}, ...}}},
     "inspection": {"section": {"small": {"arm": ["domain"], "ece": .07, "classes": [["Lead", .61, .58, .59, 90]]}}},
     "bits_per_char": {"pretrain": {"general": 3.1, "domain": 3.3}},
     "training": {"pretrain": {"tokens": 800000, "tflop": 25.4}}}
"""

from dataclasses import astuple
from typing import Any

from adaptbert.comparison.evaluation.inspection import Inspection
from adaptbert.comparison.records import Arm, Comparison, LearningPoint, Ranking, Standing, Step, Task
from adaptbert.comparison.rungs import grouped
from adaptbert.report.text_table import BITS, INSPECTION, REPLICATED, STARTS, STEPS, TRAINING, WORTH, tasks_of
from adaptbert.statistics.intervals import Difference, Interval


def summary(comparison: Comparison) -> dict[str, Any]:
    """The whole comparison. `training` is of one draw of a rung and includes the rungs below it.

    `starts` is there from two starts on; `inspection` is of each task's
    chosen arm; `replicated` has question, start, tasks, and in how many of them there is a gain and a loss. Numbers
    have six decimals: further digits are rounding errors and would clutter a diff.
    """
    rounded: dict[str, Any] = _rounded(_whole(comparison))
    return rounded


def headlines(summary: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Task -> start -> arm or baseline -> mean score; `steps` -> step -> difference of means. All times 100.

    What compares two recipes, in `dvc metrics show`, `dvc metrics diff`, `dvc exp show` and the recipe's run in MLflow.
    Arms and steps without a result are left out.
    """
    by_task: dict[str, dict[str, Any]] = {}
    for (task, start), cells in tasks_of(summary).items():
        scores = {arm: _points(next(iter(cell.values()))) for arm, cell in cells.items() if arm != STEPS and cell}
        steps = {name: _points(step["difference"]) for name, step in cells[STEPS].items() if "difference" in step}
        by_task.setdefault(task, {})[start] = {**scores, **({STEPS: steps} if steps else {})}
    return by_task


def _points(score: float) -> float:
    return round(100 * score, 2) + 0.0  # + 0.0 turns -0.0 into 0.0


def _rounded(value: Any) -> Any:
    """All numbers of a tree but variances, of which six decimals would be nothing."""
    if isinstance(value, dict):
        return {key: each if key == "variance" else _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return round(value, 6) if isinstance(value, float) else value


def _whole(comparison: Comparison) -> dict[str, Any]:
    tasks: dict[str, Any] = {}
    inspections: dict[str, Any] = {}
    for task in comparison.tasks:
        tasks.setdefault(task.task, {})[task.start] = _task(task)
        if task.inspection:
            inspections.setdefault(task.task, {})[task.start] = _inspection(task.inspection, task)
    rankings = {ranking.task: _ranking(ranking) for ranking in comparison.rankings}
    parts = {STARTS: rankings, INSPECTION: inspections}
    draws = grouped(comparison.rungs)
    return {
        **tasks,
        WORTH: comparison.worth,
        REPLICATED: [list(astuple(each)) for each in comparison.on_several],
        **{name: values for name, values in parts.items() if values},
        BITS: {
            rung.name: dict(rung.after)
            for rung in draws
            if rung.missing or rung.after  # random weights are not measured where pre-training began from others
        },
        TRAINING: {
            rung.name: {"tokens": rung.first.total.tokens, "tflop": rung.first.total.tflop}
            for rung in draws
            if rung.first.total is not None
        },
    }


def _task(task: Task) -> dict[str, Any]:
    return {
        **{arm.name: _arm(arm, task.metric) for arm in task.arms},
        **{name: _baseline(name, task) for name in task.baselines},
        STEPS: {step.name: _step(step) for step in task.steps},
    }


def _baseline(name: str, task: Task) -> dict[str, Any]:
    """With `rows` where the baselines were fitted on fewer rows than the arms."""
    fewer = {"rows": [task.baseline_rows]} if task.baseline_rows < task.labels else {}
    interval, beside = task.baselines[name], task.beside_baselines.get(name)
    arm = {} if beside is None else {"chosen_arm_minus_it": [beside.mean, beside.low, beside.high]}
    return {task.metric: interval.mean, **_bounds(interval), **arm, **fewer}


def _arm(arm: Arm, metric: str) -> dict[str, Any]:
    if arm.interval is None:
        return {}
    return {
        metric: arm.interval.mean,
        **_bounds(arm.interval),
        "seeds": list(map(list, arm.scores.items())),
        "runs": [[draw, seed, score] for draw, seeds in arm.by_draw.items() for seed, score in seeds.items()],
        "degenerate": [list(run) for run in arm.degenerate],
        "rung": [arm.rung],
        "role": [arm.role],
        **({"again": [arm.again_of]} if arm.again_of else {}),
        **({} if arm.run_tflop is None else {"run_tflop": [arm.run_tflop]}),
        **({"learning_curve": [_learning_point(point) for point in arm.learning_curve]} if arm.learning_curve else {}),
    }


def _learning_point(point: LearningPoint) -> list[float | None]:
    """Labels, mean, the ends of its interval."""
    interval = point.interval
    return [point.labels, interval.mean, interval.low, interval.high]


def _bounds(interval: Interval) -> dict[str, float | None]:
    bounds = {"low": interval.low, "high": interval.high}
    return {name: value for name, value in bounds.items() if value is not None}


def _inspection(inspection: Inspection, task: Task) -> dict[str, Any]:
    """Errors are row ids with the number of runs that are wrong and their mean confidence."""
    values: dict[str, Any] = {"arm": [task.chosen]}
    calibration = inspection.calibration
    if calibration is not None:
        values["ece"] = calibration.ece
        values["ece_width"] = calibration.ece_width
        values["brier"] = calibration.brier
        values["ece_by_chance"] = [calibration.chance]
        values["curve"] = [[part.count, part.confidence, part.accuracy] for part in calibration.curve]
    values["classes"] = [[scores.label, *scores.means, scores.support] for scores in inspection.classes]
    values["errors"] = [[error.id, error.runs, error.confidence] for error in inspection.errors]
    return values


def _step(step: Step) -> dict[str, Any]:
    values: dict[str, Any] = {"of": [step.arm, step.other], "verdict": step.verdict, "primary": step.primary}
    if step.draws is not None:
        values["draws"] = [step.draws]
    values |= _difference(step.difference, step.p_holm)
    if step.detectable is not None:
        values["detectable"] = list(astuple(step.detectable))
    if step.own_values:
        values["own_values"] = step.own_values
    if step.needed is not None:
        design = step.needed.design
        values["needed"] = {
            **({"draws": design.draws, "seeds": design.seeds, "tflop": design.tflop} if design else {}),
            **({"test_rows": step.needed.rows} if step.needed.rows else {}),
        }
    return values


def _ranking(ranking: Ranking) -> dict[str, Any]:
    """The first start of an arm has no difference; `other_budgets` are arms of which the starts differ in tokens."""
    arms = {arm.arm: {each.start: _standing(each) for each in arm.standings} for arm in ranking.arms}
    others = [arm.arm for arm in ranking.arms if not arm.same_tokens]
    return {
        "arm": [ranking.arm],
        "order": ranking.order,
        "dev": ranking.dev,
        "draws": list(ranking.draws),
        "other_budgets": others,
        "arms": arms,
    }


def _standing(standing: Standing) -> dict[str, Any]:
    verdict = {} if standing.verdict is None else {"verdict": standing.verdict}
    return {**verdict, **_difference(standing.difference, standing.p_holm)}


def _difference(difference: Difference | None, p_holm: float | None) -> dict[str, Any]:
    """`variance` is by source: draws, seeds (with their labels), test rows; in scores squared."""
    if difference is None:
        return {}
    values: dict[str, Any] = {"difference": difference.mean}
    if difference.variance is not None and difference.testable:
        values["interval"] = [difference.low, difference.high]
        values["p"] = difference.p
        values["variance"] = [[source, float(f"{share:.3g}")] for source, share in difference.variance.parts.items()]
    if p_holm is not None:
        values["p_holm"] = p_holm
    return values
