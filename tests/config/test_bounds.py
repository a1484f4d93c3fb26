"""Every size of an allocation and length of a loop has an upper bound, and a zero too many is reported at once."""

from typing import Annotated, Any, get_args, get_origin

import pytest
from annotated_types import Le, Lt, MaxLen
from pydantic import BaseModel

from adaptbert.config.recipe import SECTIONS, Document
from adaptbert.config.schema.section import Section
from tests.support.rules import errors

NO_SIZES = {
    "weight", "class_weights", "epsilon", "clip_norm",  # factors
    "labels", "corpora", "primary",  # names, which other names of the file bound
    "range", "betas",  # two numbers each
}  # fmt: skip


def sections() -> dict[type[BaseModel], None]:
    """Every class of params.yaml, once, through all that they hold."""
    classes: dict[type[BaseModel], None] = {}
    inside([Document, *(cls for cls, _ in SECTIONS.values())], classes)
    return classes


def inside(kinds: list[Any], classes: dict[type[BaseModel], None]) -> None:
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, Section) and kind not in classes:
            classes[kind] = None
            inside([field.annotation for field in kind.model_fields.values()], classes)
        else:
            inside([part for part in get_args(kind) if isinstance(part, type) or get_origin(part)], classes)


def unbounded(kind: Any, metadata: tuple[Any, ...] = ()) -> bool:
    """Whether a number or a list may be as large as it likes."""
    if get_origin(kind) is Annotated:
        plain, *more = get_args(kind)
        inner = [item for part in more for item in getattr(part, "metadata", [part])]
        return unbounded(plain, (*metadata, *inner))
    if kind in (int, float):
        return not any(isinstance(item, Le | Lt) for item in metadata)
    if get_origin(kind) is list:
        return not any(isinstance(item, MaxLen) for item in metadata) or any(map(unbounded, get_args(kind)))
    return any(unbounded(part, metadata) for part in get_args(kind) if part is not type(None))


def test_every_size_has_an_upper_bound() -> None:
    without_bound = [
        f"{cls.__name__}.{name}"
        for cls in sections()
        for name, field in cls.model_fields.items()
        if name not in NO_SIZES and unbounded(field.annotation, tuple(field.metadata))
    ]
    assert len(sections()) > 20
    assert without_bound == []


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("bases.small.hidden_size", 10**9, "AB-109 {}: 1000000000 is out of range\n  it should be less than or equal "
         "to 16384"),
        ("pretrain.tokens", 10**15, "AB-109 {}: 1000000000000000 is out of range\n  it should be less than or equal to "
         "100000000000000"),
        ("finetune.seeds", list(range(101)), "AB-109 {}: 101 values are too many\n  write at most 100"),
        ("finetune.seeds", 101, "AB-109 {}: 101 is out of range\n  write how many, from 1 to 100, or a list"),
        (
            "bases.small",
            {"layers": 96, "hidden_size": 16384, "heads": 64, "intermediate_size": 65536, "max_positions": 512},
            "AB-111 {}: 309,237,645,312 weights in 96 layers, more than 20,000,000,000\n  write smaller sizes; "
            "BERT-base has 12 layers of 768 and 3072",
        ),
    ],
)  # fmt: skip
def test_a_zero_too_many(key: str, value: Any, expected: str) -> None:
    assert errors(**{key: value}) == [expected.format(f"params.yaml: {key}")]
