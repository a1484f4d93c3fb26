"""JSON files that one stage writes and others read: one typed model for the writer and every reader.

pydantic rather than dataclasses: a file may have been damaged or edited, and pydantic checks each field of each nested
object and names the one that is wrong.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, TypeAdapter, ValidationError, model_serializer
from pydantic_core import PydanticCustomError

from adaptbert.codes import Code
from adaptbert.errors import BadData, raise_all

RUN_AGAIN = "restore the file with `dvc checkout --force`, or run its stage again"
_SHOWN = 40
"""Characters of a value that a message shows."""

M = TypeVar("M")


def _number(value: object) -> int | float:
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        return value
    raise PydanticCustomError("number", "Input should be a finite number")


Number = Annotated[int | float, PlainValidator(_number)]
"""A number as it stands in the file: 2 stays 2, and 2.0 stays 2.0."""


class Record(BaseModel):
    """One object of a JSON file; its keys in the order of the fields.

    A field without a default is always written, as null where it is None. A field whose default is None is left out of
    the file where it is None.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, validate_by_name=True, validate_by_alias=True
    )

    @classmethod
    def read(cls, path: Path) -> Self:
        """The record in a file that this project wrote.

        Raises:
            BadData: it is no JSON, a field is missing or of another type, or there is one that is unknown.
        """
        return validated(cls, path.read_bytes(), path, RUN_AGAIN)

    def as_json(self) -> dict[str, Any]:
        """What stands in the file."""
        return self.model_dump()

    def laid_out(self, values: dict[str, Any]) -> dict[str, Any]:
        """The values by the keys of the file; a subclass with another file layout overrides this."""
        return values

    @model_serializer(mode="wrap")
    def _written(self, write: Callable[[Self], dict[str, Any]]) -> dict[str, Any]:
        fields, values = type(self).model_fields, {}
        for name, value in write(self).items():
            field = fields.get(name)
            if field is None or field.is_required() or value is not None:
                values[name if field is None else field.alias or name] = value
        return self.laid_out(values)


class MeasuredRecord(Record, extra="allow"):
    """A record that also holds numbers under the names of what was measured."""

    __pydantic_extra__: dict[str, Number] = Field(init=False)

    @property
    def measures(self) -> dict[str, Number]:
        """Measures by their names in the file, such as `domain/bits_per_char`."""
        return self.__pydantic_extra__


class CurvePoint(MeasuredRecord):
    """A measured step of a training run: the measures, and the mean training loss since the point before it."""

    step: int
    tokens: int


def flat(measured: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """`{"general": {"mlm_loss": 6.1}}` as on a curve, `{"general/mlm_loss": 6.1}`."""
    return {f"{what}/{metric}": value for what, values in measured.items() for metric, value in values.items()}


def grouped(values: Mapping[str, Any], by: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The inverse of `flat` for these first parts of names; other values are left out."""
    return {
        what: {name.removeprefix(f"{what}/"): value for name, value in values.items() if name.startswith(f"{what}/")}
        for what in by
    }


class Cost(Record):
    """Cost of one training run or of several, e.g. of a checkpoint and all those below it."""

    tokens: int
    tflop: float
    """10^12 floating-point operations."""

    @staticmethod
    def total(costs: "Iterable[Cost]") -> "Cost":
        """Sum of all of them."""
        costs = list(costs)
        return Cost(tokens=sum(cost.tokens for cost in costs), tflop=round(sum(cost.tflop for cost in costs), 3))


def validated(cls: type[M], values: Mapping[str, Any] | bytes, place: str | Path, remedy: str) -> M:
    """The typed values of a file.

    Args:
        cls: a `Record`, or a dataclass.
        values: of the file, or its bytes; only there may keys of a mapping be numbers.

    Raises:
        BadData: with all that does not fit.
    """
    adapter = TypeAdapter(cls)
    try:
        return adapter.validate_json(values) if isinstance(values, bytes) else adapter.validate_python(values)
    except ValidationError as error:
        failures = []
        for detail in error.errors():
            if detail["type"] == "json_invalid":
                failures.append(BadData(Code.DAMAGED_CHECKPOINT, place, "not JSON", remedy))
                continue
            key = ".".join(map(str, detail["loc"]))
            problem = detail["msg"].removeprefix("Value error, ").replace("Input should be ", "expected ")
            if detail["type"] not in ("missing", "value_error"):
                problem += f", found {shown(detail['input'])}"
            failures.append(BadData(Code.DAMAGED_CHECKPOINT, f"{place}: {key}" if key else place, problem, remedy))
        raise_all(failures)
        raise


def shown(value: object) -> str:
    """A value of a JSON file as a message shows it."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
