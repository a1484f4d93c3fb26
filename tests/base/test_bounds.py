"""Every size of an allocation and length of a loop has an upper bound, and a zero too many is reported at once."""

import copy
import importlib
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import pytest
from annotated_types import Le, Lt, MaxLen
from pydantic import BaseModel

from adaptbert.config import load as params
from adaptbert.config.schema.section import Section
from adaptbert.errors import UserError
from tests.support.imports import ROOT
from tests.support.messages import messages_in

SMOKE = params.read(ROOT / "presets/smoke.yaml")
NO_SIZES = {
    "weight", "class_weights", "epsilon", "clip_norm",  # factors
    "labels", "corpora", "primary",  # names, which other names of the file bound
    "range", "betas",  # two numbers each
}  # fmt: skip


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def sections() -> dict[type[BaseModel], None]:
    """Every class of params.yaml, once, through all that they hold."""
    classes: dict[type[BaseModel], None] = {}
    for path in sorted((ROOT / "stages").glob("[!_]*.py")):
        for kind in importlib.import_module(f"stages.{path.stem}").STAGE.hints().values():
            inside([kind], classes)
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
    ("key", "value", "most"),
    [
        ("ladder.starts.small.encoder.hidden_size", 10**9, 16384),
        ("pretrain.all.budget", {"steps": 10**9}, 100000000),
        ("finetune.all.seeds", list(range(101)), "101 values are too many\n  write at most 100"),
        (
            "ladder.starts.small.encoder",
            {"layers": 96, "hidden_size": 16384, "heads": 64, "intermediate_size": 65536, "max_positions": 512},
            "309,237,645,312 weights in 96 layers, more than 20,000,000,000\n  write smaller sizes; "
            "BERT-base has 12 layers of 768 and 3072",
        ),
        ("finetune.section.search", {"trials": 10**6, "seeds": 1, "learning_rate": [1e-5, 1e-4]}, 10000),
    ],
)  # fmt: skip
def test_a_zero_too_many(key: str, value: Any, most: int | str) -> None:
    expected = most if isinstance(most, str) else f" is out of range\n  it should be less than or equal to {most}"
    document = copy.deepcopy(SMOKE)
    here = document
    *path, last = key.split(".")
    for part in path:
        here = here[part]
    here[last] = value
    with pytest.raises(UserError) as caught:
        check_all(document, Path("params.yaml"))
    lines = messages_in(str(caught.value))
    code = 111 if "\n" in str(most) and "too many" not in str(most) else 109
    assert any(line.startswith(f"AB-{code} params.yaml: {key}") for line in lines), lines
    assert any(line.endswith(expected) for line in lines), lines
