"""Training runs of a cell besides those of its seeds: search trials, and runs on fewer labels.

Each run is trained once: its result is written to the work folder and its savepoints are removed. So a killed search
resumes in the run that was interrupted, and the disk holds the savepoints of one run only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import isnan, nan
from typing import Any, TypeVar

from adaptbert.codes import Code
from adaptbert.config.schema.finetuning import Search
from adaptbert.core.files import write_json
from adaptbert.runtime.mlflow import Run
from adaptbert.tasks.metrics.cell_metrics import Cost, FewerLabelsSeed, LearningPoint, SearchMetrics, TrialMetrics
from adaptbert.tasks.options.search import Point, best, search, search_seeds
from adaptbert.tasks.seed_run import SeedInputs, SeedRun, run_seed, train_seed
from adaptbert.training.resume import Work
from adaptbert.training.savepoints import Savepoints
from adaptbert.training.stability import Diverged

RESULT = "result.json"


class TrialRun(Cost):
    """One seed of a trial; a run that diverged has no score."""

    score: float | None


class FewerLabelsRun(Cost):
    """One seed on fewer labels."""

    seed: FewerLabelsSeed


R = TypeVar("R", TrialRun, FewerLabelsRun)


@dataclass(frozen=True)
class ExtraRuns:
    """The runs of one cell.

    Attributes:
        name: of the cell.
        inputs: of its seeds.
    """

    name: str
    inputs: SeedInputs
    work: Work
    run: Run

    def once(
        self, what: str, seed: int, values: Mapping[str, Any], kind: type[R], train: Callable[[Savepoints, Run], R]
    ) -> R:
        """The result of `train`, read from disk if an earlier process finished it; tracked as a child run of the
        cell."""
        savepoints = self.work.savepoints(f"{what.replace(' ', '-')}-seed-{seed}")
        with self.run.child(f"{what} {self.name} seed {seed}", {"trial": what, "seed": str(seed)}) as child:
            child.go_on(savepoints.folder)
            child.log_params(values)
            result = savepoints.folder / RESULT
            if not result.is_file():
                write_json(result, train(savepoints, child).as_json())
            savepoints.clear()
        return kind.read(result)


def search_values(config: Search, extra: ExtraRuns) -> tuple[Point, SearchMetrics]:
    """The point with the best mean on the dev split, and the metrics of all trials; the test split is never read.

    Raises:
        Diverged: every trial diverged.
    """
    seeds, rows = search_seeds(config), list[TrialMetrics]()
    inputs, params = extra.inputs, extra.inputs.params
    usual = Point(params.learning_rate, params.global_batch_size, params.epochs)
    metric = inputs.of(seeds[0]).shape.metric

    def score(point: Point) -> float:
        what = f"trial {len(rows) + 1}"
        tried = params.model_copy(update=asdict(point))

        def train(seed: int, savepoints: Savepoints, run: Run) -> TrialRun:
            return _trial(replace(inputs.of(seed), params=tried), seed, savepoints, run)

        runs = [extra.once(what, seed, asdict(point), TrialRun, partial(train, seed)) for seed in seeds]
        scores, cost = [run.score for run in runs], Cost.total(runs)
        there = [score for score in scores if score is not None]
        mean = sum(there) / len(there) if len(there) == len(scores) else None
        rows.append(
            TrialMetrics(**asdict(point), dev={metric: mean}, seeds=scores, tokens=cost.tokens, tflop=cost.tflop)
        )
        values = ", ".join(f"{name} {value:g}" for name, value in asdict(point).items())
        print(f"  {what}: {values}: " + ("diverged" if mean is None else f"dev/{metric} {mean:.3f}"))
        return nan if mean is None else mean

    trials = search(config, usual, score)
    chosen = best(trials)
    if isnan(trials[chosen].score):
        place = f"{extra.name}: search"
        raise Diverged(Code.DIVERGED, place, f"all {len(trials)} trials diverged", "lower search.learning_rate")
    print(f"  chosen on dev: trial {chosen + 1} of {len(trials)}")
    cost = Cost.total(rows)
    record = SearchMetrics(trials=rows, chosen=chosen + 1, seeds=seeds, tokens=cost.tokens, tflop=cost.tflop)
    return trials[chosen].point, record


def learn_from_fewer(seeds: Sequence[int], labels: int, extra: ExtraRuns) -> LearningPoint:
    """A point of the learning curve: all seeds, scored on dev and test.

    Args:
        labels: a prefix of the subset of each seed.
    """

    def train(seed: int, savepoints: Savepoints, run: Run) -> FewerLabelsRun:
        trained, metrics, _ = run_seed(extra.inputs.of(seed, labels), seed, savepoints, run)
        scores = FewerLabelsSeed(seed=seed, test=metrics.test, dev=metrics.dev, degenerate=metrics.degenerate)
        return FewerLabelsRun(seed=scores, tokens=trained.cost.tokens, tflop=trained.cost.tflop)

    what, values = f"{labels} labels", {"labels": labels}
    runs = [extra.once(what, seed, values, FewerLabelsRun, partial(train, seed)) for seed in seeds]
    cost = Cost.total(runs)
    return LearningPoint(labels=labels, tokens=cost.tokens, tflop=cost.tflop, seeds=[run.seed for run in runs])


def _trial(request: SeedRun, seed: int, savepoints: Savepoints, run: Run) -> TrialRun:
    try:
        trained = train_seed(request, seed, savepoints, run)
    except Diverged as error:
        run.set_tags({"diverged": str(error)})
        cost, score = request.cost(request.start.config(), error.trained), None
    else:
        cost, score = trained.cost, trained.dev[request.shape.metric]
    return TrialRun(score=score, tokens=cost.tokens, tflop=cost.tflop)
