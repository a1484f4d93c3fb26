"""Records: the bytes of a file from a model and back, and one clear error for each thing that is wrong in it."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from adaptbert.codes import Code
from adaptbert.core.record import CurvePoint, Number, Record
from adaptbert.errors import BadData, Several


class Part(Record):
    share: float


class Whole(Record):
    name: str
    start: str = Field(alias="from")
    init: str | None
    note: str | None = None
    counts: dict[str, Number]
    part: Part | None = None
    curve: list[CurvePoint]


VALUES: dict[str, Any] = {
    "name": "a",
    "from": "b",
    "init": None,
    "counts": {"two": 2, "two and a bit": 2.0},
    "curve": [{"step": 1, "tokens": 5, "train/loss": 1.5, "documents": 3}],
}


@pytest.mark.parametrize("more", [{}, {"part": {"share": 0.5}}])
def test_a_file_comes_back_byte_by_byte(more: dict[str, Any]) -> None:
    """Keys in the order of the fields; null where a field is required, no key where it is not; 2 is not 2.0."""
    every = {**VALUES, **more}
    values = {key: every[key] for key in ("name", "from", "init", "counts", "part", "curve") if key in every}
    assert json.dumps(Whole.model_validate(values).as_json()) == json.dumps(values)
    assert Whole.model_validate({**values, "note": None}).as_json() == values


def test_a_point_of_a_curve_tells_its_measures() -> None:
    point = Whole.model_validate(VALUES).curve[0]
    assert (point.step, point.tokens, point.measures) == (1, 5, {"train/loss": 1.5, "documents": 3})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": None}, r"file.json: name: expected a valid string, found null\n  restore the file .* run its stage"),
        ({"counts": {"two": "2"}}, 'file.json: counts.two: expected a finite number, found "2"'),
        ({"counts": {"two": True}}, "file.json: counts.two: expected a finite number, found true"),
        ({"part": {}}, "file.json: part.share: Field required"),
        ({"curve": [{"step": 1}]}, "file.json: curve.0.tokens: Field required"),
        ({"nmae": "a"}, "file.json: nmae: Extra inputs are not permitted"),
    ],
)
def test_an_error_names_its_place(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps({**VALUES, **changes}), encoding="utf-8")
    with pytest.raises(BadData, match=message):
        Whole.read(path)


def test_all_errors_are_reported_together(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps({**VALUES, "name": 1, "init": 2}), encoding="utf-8")
    with pytest.raises(Several) as error:
        Whole.read(path)
    assert [failure.code for failure in error.value.failures] == [Code.DAMAGED_CHECKPOINT] * 2


@pytest.mark.parametrize("content", ["", '{"name": ', "\xff"])
def test_what_is_not_json_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(BadData, match=r"AB-124 .*file.json: not JSON\n  restore the file"):
        Whole.read(path)
