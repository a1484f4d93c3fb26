"""What a release is made of: the answers of a model to the test rows, and where both come from."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from adaptbert.comparison.records import Arm
from adaptbert.config.plan import FINETUNE, SCRATCH, Plan
from adaptbert.config.schema.task_types import written
from adaptbert.data import labelled_set
from adaptbert.errors import Temporary
from adaptbert.linear.model import LinearModel
from adaptbert.model.checkpoint_files import CARD, Card, read_card
from adaptbert.release import dvc_lock
from adaptbert.release.choice import COMPARISON, Choice
from adaptbert.runtime.mlflow import open_store
from adaptbert.runtime.origin import project_root, tracking_uri
from adaptbert.tasks.metrics.scoring import SCORING, right_answers

_DATA, _ANSWERS = Path("data/validated/tasks"), ["id", "gold", "predicted", "confidence"]


@dataclass(frozen=True)
class Material:
    """A model with its answers to the test rows, and where both come from.

    Attributes:
        answers: columns of `_ANSWERS`, a row for each test row.
        own_score: of these answers.
        made_from: path -> md5 of all that model and comparison were made from.
        seed: of its fine-tuning; 0 for a linear model.
        cards: of the checkpoints that led to it, the first step first, its own last; none of a linear model.
        hours: that its stages took; None where that is not known.
    """

    answers: pa.Table
    own_score: float
    made_from: Mapping[str, str]
    seed: int = 0
    cards: Sequence[Card] = ()
    hours: float | None = None

    @property
    def texts(self) -> set[str]:
        """Names of the corpora and tasks whose text the encoder has read."""
        return {str(text["name"]) for card in self.cards for text in card.texts or ()}

    def files(self, task: str, plan: Plan) -> dict[str, str]:
        """Path -> md5 of the user's files: those of a task, and those of the corpora whose text it has read."""
        own, read = plan.collect_task[task], self.texts
        paths = [own.train, own.dev, own.test, *(entry.path for name, entry in plan.collect.items() if name in read)]
        return {path: self.made_from[path] for path in paths if path in self.made_from}


def gather(choice: Choice, plan: Plan) -> Material:
    """What a release is made of.

    Raises:
        BadData: a file is missing, or has other bytes than dvc.lock records.
    """
    made_from = dvc_lock.made_from(COMPARISON)
    dvc_lock.check(made_from, [COMPARISON, _DATA / choice.task.task])
    return _fine_tuned(choice, plan, made_from) if isinstance(choice.model, Arm) else _linear(choice, made_from)


def _fine_tuned(choice: Choice, plan: Plan, made_from: Mapping[str, str]) -> Material:
    """The best of its seeds on dev, whose weights the cell has kept."""
    cell = choice.folder.name
    checkpoints = [*_steps(plan, cell), f"{FINETUNE}/{cell}"]
    folders, predictions = [Path("models", each) for each in checkpoints], Path("predictions", f"{cell}.parquet")
    dvc_lock.check(made_from, [*folders, predictions])
    read = [card for folder in folders if (card := read_card(folder / CARD)) is not None]
    assert read[-1].task is not None
    seed = read[-1].task.seed or 0
    run, answers = choice.run(seed), pq.read_table(predictions)
    assert run is not None
    own = answers.filter(pc.field("seed") == seed).select(_ANSWERS)
    took = hours([each.replace("/", "@", 1) for each in checkpoints])
    return Material(own, run.score, made_from, seed, read, took)


def _steps(plan: Plan, cell: str) -> list[str]:
    """The checkpoints that were trained before a cell, the first step first."""
    last = plan.finetune[cell].checkpoint
    every = [last, *(entry.checkpoint for _, entry in plan.below(last))]
    return [each for each in reversed(every) if each and not each.startswith(f"{SCRATCH}/")]


def _linear(choice: Choice, made_from: Mapping[str, str]) -> Material:
    """The linear model of a task, which `compare` keeps beside those of other tasks."""
    dvc_lock.check(made_from, [choice.folder.parent])
    model, rows = LinearModel.load(choice.folder), labelled_set.split(_DATA / choice.task.task, "test")
    answers, confidence, _ = model.decode(rows)
    gold = right_answers(rows, model.task.target)
    columns = [[row["id"] for row in rows], [*map(written, gold)], [*map(written, answers)], confidence]
    score = SCORING[model.task.target].score(gold, answers, model.task)[choice.task.metric]
    return Material(pa.table(dict(zip(_ANSWERS, columns, strict=True))), score, made_from)


def hours(stages: Collection[str]) -> float | None:
    """Hours of the last finished run of each of these stages, as DVC names them; None where MLflow lacks one of them,
    or cannot be asked.

    A model that came by `dvc pull` was trained elsewhere, where MLflow may have another store.
    """
    if tracking_uri().startswith("sqlite:///") and not (project_root() / "mlflow.db").is_file():  # it would be made
        return None
    seconds, done = [], "attributes.status = 'FINISHED' and metrics.`cost/seconds` > 0"
    try:
        with open_store() as store:
            for stage in stages:
                query, order = f"tags.`dvc.stage` = '{stage}' and {done}", ["attributes.start_time DESC"]
                last = store.client.search_runs([store.experiment], query, max_results=1, order_by=order)
                seconds += [run.data.metrics["cost/seconds"] for run in last]
    except Temporary:
        return None
    return sum(seconds) / 3600 if len(seconds) == len(stages) else None
