"""A task type is known everywhere: each table beside the registry has all that it needs, and no others."""

from collections.abc import Iterable
from typing import Any, get_args

import pytest

from adaptbert.comparison import baselines
from adaptbert.config.schema import sources
from adaptbert.config.schema.task_types import SPECS, TARGETS, TASK_TYPES, ByTarget, Target, TaskSpec, TaskType, Type
from adaptbert.data import fields
from adaptbert.data import schema as schemas
from adaptbert.data.layout import Layout
from adaptbert.prediction import outputs
from adaptbert.tasks import heads
from adaptbert.tasks.metrics.scoring import COMPARED_BY, SCORING
from tests.support import tiny_tasks

TABLES: dict[str, tuple[Iterable[object], Iterable[object]]] = {
    "the names of types": (SPECS, get_args(Type)),
    "TASK_TYPES": (TASK_TYPES, get_args(TaskType)),
    "TARGETS": (TARGETS, get_args(Target)),
    "types of rows with a type": ({spec.task_type for spec in SPECS.values()}, TASK_TYPES),
    "adaptbert/config/schema/sources.py: keys that a target takes": (
        {*sources.Task.model_fields} & {key for spec in TARGETS.values() for key in spec.takes},
        {key for spec in TARGETS.values() for key in (*spec.takes, *spec.needs)},
    ),
}


BY_TARGET: dict[str, ByTarget[Any]] = {
    "adaptbert/tasks/metrics/scoring.py: SCORING": SCORING,
    "adaptbert/tasks/heads.py: HEADS": heads.HEADS,
    "adaptbert/comparison/baselines.py: BASELINES": baselines.BASELINES,
}


@pytest.mark.parametrize("place", BY_TARGET)
def test_every_target_says_what_belongs_to_it_or_is_like_another(place: str) -> None:
    known = BY_TARGET[place]
    for target, spec in TARGETS.items():
        assert target in known or spec.like is not None, f"{place} lacks {target}"
        assert known[target] is known.get(target, known[spec.like or target])
    with pytest.raises(KeyError):
        ByTarget[str]()["class"]


@pytest.mark.parametrize("place", TABLES)
def test_every_table_knows_what_params_allow(place: str) -> None:
    known, allowed = TABLES[place]
    assert {*allowed} - {*known} == set(), f"{place} lacks these"
    assert {*known} - {*allowed} == set(), f"{place} has these, which params do not allow"


def test_every_column_is_read_and_checked() -> None:
    for layout in (Layout(spec.task_type, spec.target) for spec in SPECS.values()):
        assert {*layout.fields} <= {*fields.TEXTS, *fields.READERS}, "data/fields.py: TEXTS or READERS"
        checked = {column for column, *_ in schemas.checks(layout, "bio", schemas.ANY_NUMBER)}
        assert {*layout.fields} == checked, "data/schema.py: checks"


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_every_type_is_written_has_a_head_and_an_answer(spec: TaskSpec) -> None:
    assert sources.Task(**spec.written, train="a", dev="b", test="c").spec is spec, "sources.py"
    head, output = tiny_tasks.head_of(spec.task_type, spec.target), spec.output
    assert head.metric == COMPARED_BY[spec.target]
    assert bool(head.classes) == (output.classes is not None) == bool(tiny_tasks.LABELS[spec.target])
    assert (output.classes is None) == (SCORING[spec.target].classes is None)
    written = outputs.columns(spec.target, details=True).names
    assert output.answer in written
    assert ("confidence" in written) == output.has_confidence
    assert ("probabilities" in written) == (output.classes is not None)
