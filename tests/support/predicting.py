"""What the tests of `adaptbert predict` share: a task of every kind, its model and rows, the command, its files."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from adaptbert.cli import app
from adaptbert.data import labelled_set as labelled
from tests.support import tiny, tiny_tasks
from tests.support.cells import Project

CLASS, PAIR, SPANS, ANSWER = (
    "single_sentence_class",
    "sentence_pair_class",
    "sequence_labelling_spans",
    "extractive_answer_answer",
)
KINDS = {f"{shape}_{target}": (shape, target) for shape, target in tiny_tasks.KINDS}
LEARNT = {"seeds": [1], "epochs": 6.0, "dropout": 0.0, "learning_rate": 5e-3, "max_length": 48}
ROWS = (512, 48, 150)
"""Rows of train, dev and test: more test rows than answered together."""


def learnt(folder: Path) -> Project:
    """A project with a model of every kind, which has learnt its task."""
    made = Project(folder, KINDS, ROWS)
    tiny.pretrained(made.root / "models/pretrain", initializer_range=0.15)  # of vectors apart more is learnt in a step
    for task, (kind, target) in KINDS.items():
        windows = {"long_text": "windows", "stride": 20} if kind == "single_sentence" else {}
        is_hard = kind == "sentence_pair" or target == "labels"
        made.finetune(task, "general", windows, **LEARNT, labels=0 if is_hard else 192)
    return made


def model(project: Project, task: str) -> Path:
    return project.root / f"models/finetune/{task}-general"


def rows_of(project: Project, task: str) -> list[dict[str, Any]]:
    return labelled.split(project.root / "data" / task, "test")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["predict", *map(str, arguments)])


def json_lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
