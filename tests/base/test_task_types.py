"""A task type or a target that params allow is known everywhere: each table has all of them, and no others."""

from collections.abc import Iterable
from typing import get_args

import pytest

from adaptbert.base import task_types
from adaptbert.base.task_types import TARGETS_OF, Target, TaskType
from adaptbert.comparison import baselines
from adaptbert.config.schema import finetuning, sources
from adaptbert.config.schema.sources import named_type
from adaptbert.data import fields, source_config
from adaptbert.data import schema as schemas
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.prediction import outputs
from adaptbert.project import rules
from adaptbert.report import terms
from adaptbert.tasks import sentences, shapes
from adaptbert.tasks.metrics import scoring as scores
from tests.support import tiny_tasks

TASK_TYPES, TARGETS = set(get_args(TaskType)), set(get_args(Target))
PAIRS = [(task_type, target) for task_type, of_it in TARGETS_OF.items() for target in of_it]
OF_VECTORS = {target for task_type, target in PAIRS if task_type in ("single_sentence", "sentence_pair")}
"""Targets of task types with a head on one vector; other task types have a head of their own."""
ARE_RIGHT = {target for target, scoring in scores.SCORING.items() if scoring.right([]) is not None}

TABLES = {
    "adaptbert/base/task_types.py: TASK_TYPES": (task_types.TASK_TYPES, TASK_TYPES),
    "adaptbert/base/task_types.py: the targets of TASK_TYPES": ({target for _, target in PAIRS}, TARGETS),
    "adaptbert/base/task_types.py: TARGETS": (task_types.TARGETS, TARGETS),
    "adaptbert/tasks/metrics/scoring.py: SCORING": (scores.SCORING, TARGETS),
    "adaptbert/tasks/shapes.py: SHAPES": (shapes.SHAPES, TASK_TYPES),
    "adaptbert/config/schema/finetuning.py: OPTIONS": (finetuning.OPTIONS, TASK_TYPES),
    "adaptbert/config/schema/sources.py: TARGETS": ({*sources.TARGETS.values(), "tags"}, TARGETS),
    "adaptbert/project/rules.py: the options of task types": (rules.OPTIONS, TASK_TYPES),
    "adaptbert/tasks/sentences.py: HEADS": (sentences.HEADS, OF_VECTORS),
    "adaptbert/comparison/baselines.py: BASELINES": (baselines.BASELINES, TASK_TYPES),
    "adaptbert/comparison/baselines.py: TEXT_MODELS": (baselines.TEXT_MODELS, OF_VECTORS),
    "adaptbert/report/terms.py: RIGHT": (terms.RIGHT, TARGETS),
    "adaptbert/report/terms.py: KINDS": (terms.KINDS, set(PAIRS)),
    "adaptbert/report/terms.py: RIGHT with words": (
        [target for target, right in terms.RIGHT.items() if right is not None],
        ARE_RIGHT,
    ),
    "tests/support/tiny_tasks.py: KINDS": (tiny_tasks.KINDS, set(PAIRS)),
}


@pytest.mark.parametrize("place", TABLES)
def test_every_table_knows_what_params_allow(place: str) -> None:
    known, allowed = TABLES[place]
    assert allowed - {*known} == set(), f"{place} lacks these"
    assert {*known} - allowed == set(), f"{place} has these, which params do not allow"


def lacking(columns: Iterable[str], known: Iterable[str]) -> list[str]:
    return sorted({*columns} - {*known})


def test_every_column_is_read_and_checked() -> None:
    layouts = [CORPUS, *(Layout(task_type, target) for task_type, target in PAIRS)]
    columns = {name for layout in layouts for name in layout.fields}
    assert lacking(columns, {*fields.TEXTS, *fields.READERS}) == [], "data/fields.py: TEXTS or READERS"
    for layout in layouts:
        try:
            schemas.schema(layout, "bio", schemas.ANY_NUMBER)
        except KeyError as error:
            pytest.fail(f"data/schema.py has no check of the column {error}")


def test_every_key_that_a_target_takes_is_one_of_a_task() -> None:
    keys = {key for spec in task_types.TARGETS.values() for key in (*spec.takes, *spec.needs)}
    assert keys == {*source_config.OF_SOME_TARGETS}, "adaptbert/data/source_config.py: OF_SOME_TARGETS"
    assert lacking(keys, sources.Task.model_fields) == [], "adaptbert/config/schema/sources.py"
    assert all({*spec.needs} <= {*spec.takes} for spec in task_types.TARGETS.values())


@pytest.mark.parametrize(("task_type", "target"), PAIRS)
def test_every_target_has_a_head_and_an_answer(task_type: TaskType, target: Target) -> None:
    shape, spec = tiny_tasks.shape_of(task_type, target), task_types.TARGETS[target]
    assert shape.metric == scores.COMPARED_BY[target]
    assert bool(shape.classes) == (spec.classes is not None) == bool(tiny_tasks.LABELS[target])
    assert (spec.classes is None) == (scores.SCORING[target].classes is None)
    written = named_type(task_type, target) | {"tag_scheme": "none" if target == "tags" else None}
    task = sources.Task(**written, train="a", dev="b", test="c")
    assert (task.shape, task.target) == (task_type, target), "adaptbert/config/schema/sources.py: TARGETS"
    written = outputs.columns(target, details=True).names
    assert spec.answer in written
    assert ("confidence" in written) == spec.has_confidence
    assert ("probabilities" in written) == (spec.classes is not None)
