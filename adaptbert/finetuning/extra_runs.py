"""Training runs of a cell beside those of its seeds: trials of the search, and fewer labels.

In: what trains once. Out: scores and cost, which go into the cell's metrics. Each run is done once: what it found is
written to the work folder and its savepoints are removed, so that a search that was killed goes on in the run where it
stood, and room is needed for one run only.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from adaptbert.base.files import read_json, write_json
from adaptbert.codes import Code
from adaptbert.errors import Diverged
from adaptbert.finetuning.search import Point, SearchConfig, Trial, best, search, search_seeds
from adaptbert.runtime.tracking.run import Run

if TYPE_CHECKING:
    from adaptbert.training.resume import Work
    from adaptbert.training.savepoints import Savepoints

RESULT = "result.json"
COSTS = ("tokens", "tflop")
Found = dict[str, Any]


@dataclass(frozen=True)
class Extra:
    """The runs of one cell.

    Attributes:
        cell: its name, for messages.
        tags: its `task` and `arm`, for MLflow.
    """

    cell: str
    tags: Mapping[str, str]
    work: "Work"
    run: Run

    def once(
        self, what: str, seed: int, values: Mapping[str, Any], train: "Callable[[Savepoints, Run], Found]"
    ) -> Found:
        """What `train` returns, from the disk where an earlier process was through with it; a child run of the cell."""
        tags = {**self.tags, "trial": what, "seed": str(seed)}
        savepoints = self.work.savepoints(f"{what.replace(' ', '-')}-seed-{seed}")
        with self.run.child(f"{what} {self.tags['arm']} {self.tags['task']} seed {seed}", tags) as child:
            child.go_on(savepoints.folder)
            child.log_params(values)
            result = savepoints.folder / RESULT
            if not result.is_file():
                write_json(result, train(savepoints, child))
            for path in savepoints.folder.glob("*.safetensors"):
                path.unlink()
        return read_json(result)


def choose(
    config: SearchConfig,
    usual: Point,
    metric: str,
    train: "Callable[[Point, int, Savepoints, Run], Found]",
    extra: Extra,
) -> tuple[Point, Found]:
    """The point with the best mean on the dev split, and the record of all trials.

    Args:
        usual: the values of the task itself.
        metric: by which trials are compared, as `train` returns it: `dev/f1_macro`.
        train: one run; never opens the test split. Where it diverges, its score is None.

    Raises:
        Diverged: every trial did.
    """
    seeds, rows = search_seeds(config), list[Found]()

    def score(point: Point) -> float:
        what = f"trial {len(rows) + 1}"
        found = [
            extra.once(what, seed, asdict(point), lambda *where, seed=seed: train(point, seed, *where))
            for seed in seeds
        ]
        scores = [run[metric] for run in found]
        mean = None if None in scores else sum(scores) / len(scores)
        rows.append({**asdict(point), metric: mean, "seeds": scores, **cost(found)})
        told = ", ".join(f"{name} {value:g}" for name, value in asdict(point).items())
        print(f"  {what}: {told}: " + ("diverged" if mean is None else f"{metric} {mean:.3f}"))
        return nan if mean is None else mean

    trials: list[Trial] = search(config, usual, score)
    chosen = best(trials)
    if isnan(trials[chosen].score):
        problem = f"all {len(trials)} trials diverged"
        raise Diverged(Code.DIVERGED, f"{extra.cell}: search", problem, "lower search.learning_rate")
    print(f"  chosen on dev: trial {chosen + 1} of {len(trials)}")
    return trials[chosen].point, {"trials": rows, "chosen": chosen + 1, "seeds": seeds, **cost(rows)}


def cost(runs: list[Found]) -> dict[str, Any]:
    """The sum of what runs cost."""
    return {name: round(sum(run[name] for run in runs), 3) for name in COSTS}
