"""The folder of a release: written whole beside its place, then renamed; an earlier one is never touched."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from adaptbert.comparison.records import Arm, Comparison
from adaptbert.config.plan import FINETUNE, SCRATCH, Plan
from adaptbert.config.schema.task_types import written
from adaptbert.core.files import atomic_write, file_digest, write_json
from adaptbert.data import labelled_set
from adaptbert.linear.model import LinearModel
from adaptbert.model.checkpoint_files import CARD, Card, read_card
from adaptbert.release import dvc_lock
from adaptbert.release.card import Evidence, cards
from adaptbert.release.choice import COMPARISON, Choice
from adaptbert.release.hours import hours
from adaptbert.release.record import FILE, MODEL, PREDICTIONS, RELEASES, SUMS, Release
from adaptbert.runtime.origin import commit
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
        cards: of the checkpoints that led to it, its own last; none of a linear model.
        stages: of DVC that made these.
    """

    answers: pa.Table
    own_score: float
    made_from: Mapping[str, str]
    seed: int = 0
    cards: Sequence[Card] = ()
    stages: Sequence[str] = ()


def gather(choice: Choice, plan: Plan) -> Material:
    """What a release is made of.

    Raises:
        BadData: a file is missing, or has other bytes than dvc.lock records.
    """
    made_from = dvc_lock.made_from(COMPARISON)
    dvc_lock.check(made_from, [COMPARISON, _DATA / choice.task.task])
    return _fine_tuned(choice, plan, made_from) if isinstance(choice.model, Arm) else _linear(choice, made_from)


def write_release(choice: Choice, comparison: Comparison, plan: Plan, material: Material) -> Path:
    """Write the next release of a task, and return its folder.

    Raises:
        Unwritable: there is no room for it.
    """
    record, files = _record(choice, material), _files_of_user(choice, material, plan)
    evidence = Evidence(material.own_score, material.cards, files, hours(material.stages))
    target = RELEASES / record.task / str(record.version)
    with atomic_write(target) as part:
        shutil.copytree(choice.folder, part / MODEL)
        pq.write_table(material.answers, part / PREDICTIONS)
        write_json(part / FILE, record.as_json())
        for name, text in cards(record, choice, comparison, evidence):
            (part / name).write_text(text, encoding="utf-8")
        (part / SUMS).write_text("".join(_sums(part)), encoding="utf-8")
    return target


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
    return Material(own, run.score, made_from, seed, read, [each.replace("/", "@", 1) for each in checkpoints])


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


def _record(choice: Choice, material: Material) -> Release:
    is_arm, task, score = isinstance(choice.model, Arm), choice.task, choice.score
    return Release(
        task=task.task,
        version=max(Release.numbers(task.task), default=0) + 1,
        kind="encoder" if is_arm else "linear",
        arm=choice.name,
        base=task.base if is_arm else "",
        replicate=choice.replicate,
        seed=material.seed,
        cell=choice.folder.name if is_arm else "",
        type=task.type,
        metric=task.metric,
        score=score.mean,
        low=score.low,
        high=score.high,
        supported=choice.is_supported,
        reason=choice.reason,
        adaptbert=metadata.version("adaptbert"),
        commit=commit(),
        made_from=dict(material.made_from),
    )


def unrecorded(folder: Path) -> list[Path]:
    """The releases of a task that DVC has no record of: the last, and one after which the command was killed."""
    versions = [path for path in folder.iterdir() if path.name.isdecimal()]
    return sorted(path for path in versions if not path.with_name(f"{path.name}.dvc").is_file())


def _files_of_user(choice: Choice, material: Material, plan: Plan) -> dict[str, str]:
    """The files of the task and of the corpora that the model has seen, with their md5."""
    seen = {text["name"] for card in material.cards for text in card.texts or ()}
    own = plan.collect_task[choice.task.task]
    paths = [own.train, own.dev, own.test, *(entry.path for name, entry in plan.collect.items() if name in seen)]
    return {path: material.made_from[path] for path in paths if path in material.made_from}


def _sums(folder: Path) -> Iterator[str]:
    """The lines of `sha256sum` for all files of a folder."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield f"{file_digest(path)}  {path.relative_to(folder).as_posix()}\n"
