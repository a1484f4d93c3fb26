"""Training runs besides those of the seeds: trials of a hyper-parameter search, and runs on fewer labels.

Each run is trained once: its result is written to the work folder and its savepoints are removed. So a killed search
resumes in the run that was interrupted, and the disk holds the savepoints of one run only. The search stores no state:
optuna, with the same seed, proposes the same points in the same order, and they get the same scores from the work
folder. Every arm of a task gets the same number of trials at the same budget, from the same first points. Another
replicate searches by other seeds, so that the luck of a search is part of the spread between replicates.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle
from math import inf
from typing import Any

from adaptbert.codes import Code
from adaptbert.config.schema.finetuning import Finetune, Search
from adaptbert.core.files import write_json
from adaptbert.core.record import Cost
from adaptbert.core.seeds import seed_of
from adaptbert.errors import BadParams
from adaptbert.runtime.mlflow import Run
from adaptbert.tasks.metrics.cell_metrics import FewerLabelsSeed, LearningPoint, SearchMetrics, TrialMetrics
from adaptbert.tasks.seed_run import TaskRun, run_seed, train_seed
from adaptbert.training.savepoints import Savepoints
from adaptbert.training.stability import Diverged

Values = dict[str, Any]
"""What a search may change: learning rate, global batch size, epochs."""


class ExtraRun(Cost):
    """The result of one run."""

    score: float | None = None
    """Score of a trial on dev; None where it diverged."""
    seed: FewerLabelsSeed | None = None
    """Result on fewer labels."""


def once(
    task: TaskRun, what: str, seed: int, values: Values, train: Callable[[int, Savepoints, Run], ExtraRun]
) -> ExtraRun:
    """The result of `train`, read from disk if an earlier process finished it; tracked as a child run."""
    savepoints = task.work.savepoints(f"{what.replace(' ', '-')}-seed-{seed}")
    result = savepoints.folder / "result.json"
    with task.run.child(f"{what} {task.name} seed {seed}", {"trial": what, "seed": str(seed)}) as child:
        child.go_on(savepoints.folder)
        child.log_params(values)
        if not result.is_file():
            write_json(result, train(seed, savepoints, child).as_json())
        savepoints.clear()
    return ExtraRun.read(result)


def search_values(config: Search, task: TaskRun) -> tuple[Values, SearchMetrics]:
    """The values with the best mean on the dev split, and the metrics of all trials; the test split is never read.

    Raises:
        Diverged: every trial diverged.
    """
    seeds, trials, metric = search_seeds(config, task.replicate), list[TrialMetrics](), task.head().metric

    def score(values: Values) -> float | None:
        what, tried = f"trial {len(trials) + 1}", task.params.model_copy(update=values)

        def train(seed: int, savepoints: Savepoints, run: Run) -> ExtraRun:
            request = replace(task.of(seed), params=tried)
            try:
                trained = train_seed(request, savepoints, run)
            except Diverged as error:
                run.set_tags({"diverged": str(error)})
                return ExtraRun(**request.cost(task.start.config(), error.trained).as_json())
            return ExtraRun(score=trained.dev[metric], **trained.cost.as_json())

        runs = [once(task, what, seed, values, train) for seed in seeds]
        scores = [run.score for run in runs]
        there = [each for each in scores if each is not None]
        mean = sum(there) / len(there) if len(there) == len(scores) else None
        trials.append(TrialMetrics(**values, dev={metric: mean}, seeds=scores, **Cost.total(runs).as_json()))
        shown = ", ".join(f"{name} {value:g}" for name, value in values.items())
        print(f"  {what}: {shown}: " + ("diverged" if mean is None else f"dev/{metric} {mean:.3f}"))
        return mean

    tried = search(config, task.params, task.replicate, score)
    chosen = best([mean for _, mean in tried])
    if tried[chosen][1] is None:
        problem, remedy = f"all {len(trials)} trials diverged", "lower search.learning_rate"
        raise Diverged(f"{task.name}: search", problem, remedy)
    print(f"  chosen on dev: trial {chosen + 1} of {len(trials)}")
    cost = Cost.total(trials).as_json()
    return tried[chosen][0], SearchMetrics(trials=trials, chosen=chosen + 1, seeds=seeds, **cost)


def search_seeds(config: Search, replicate: int) -> list[int]:
    """Seeds of the runs of each trial; derived, so that they differ from the seeds of results."""
    return [seed_of(replicate, number, "search") for number in range(config.seeds)]


def search(
    config: Search, usual: Finetune, replicate: int, score: Callable[[Values], float | None]
) -> list[tuple[Values, float | None]]:
    """All trials in their order: TPE (Bergstra et al. 2011, section 4), the learning rate on a logarithmic scale.

    Epochs are not sampled: they are the cost of a trial, and an arm that profits from many would get more training than
    the others.

    Args:
        usual: has the values that are not searched.
        replicate: decides the first points.
        score: trains with the values; larger is better, None for a run that diverged.
    """
    try:
        import optuna
        from optuna.trial import TrialState
    except ImportError:
        remedy = "pip install 'adaptbert[search]'"
        raise BadParams(Code.NOT_INSTALLED, "params.yaml: search", "optuna is not installed", remedy) from None

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed_of(replicate, "optuna") % 2**32)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    lowest, highest = config.learning_rate
    trials = []
    for _, epochs in zip(range(config.trials), cycle(config.epochs or [usual.epochs]), strict=False):
        trial = study.ask()
        rate = trial.suggest_float("learning_rate", lowest, highest, log=True)
        size = trial.suggest_categorical("global_batch_size", config.global_batch_size or [usual.global_batch_size])
        values = {"learning_rate": rate, "global_batch_size": size, "epochs": epochs}
        result = score(values)
        trials.append((values, result))
        study.tell(trial, result, TrialState.FAIL if result is None else TrialState.COMPLETE)
    return trials


def best(scores: Sequence[float | None]) -> int:
    """The index of the best, the first of equals; one that diverged is last."""
    known = [-inf if score is None else score for score in scores]
    return known.index(max(known))


def learn_from_fewer(task: TaskRun, labels: int) -> LearningPoint:
    """A point of the learning curve: all seeds, scored on dev and test.

    Args:
        labels: a prefix of the subset of each seed.
    """

    def train(seed: int, savepoints: Savepoints, run: Run) -> ExtraRun:
        trained, metrics, _ = run_seed(task.of(seed, labels), savepoints, run)
        scores = FewerLabelsSeed(seed=seed, test=metrics.test, dev=metrics.dev)
        return ExtraRun(seed=scores, **trained.cost.as_json())

    runs = [once(task, f"{labels} labels", seed, {"labels": labels}, train) for seed in task.params.seeds]
    scored = [run.seed for run in runs if run.seed is not None]
    return LearningPoint(labels=labels, seeds=scored, **Cost.total(runs).as_json())
