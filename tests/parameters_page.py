"""The Section classes -> docs/parameters.md: every key of params.yaml with its type, range and meaning.

The descriptions are the docstrings of the fields; `OTHERWISE` has those of fields without one.
"""

import ast
import importlib
import inspect
import textwrap
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from adaptbert.config import load as params
from adaptbert.config.schema.section import Section
from adaptbert.runtime.stage import Stage

DEMO = Path("presets/demo.yaml")

HEAD = """\
# Parameters

Every key of `params.yaml`. This file is written by `python -m tests.documents`.

A key without "optional" is required: the code has no default that changes what is trained. `presets/demo.yaml` has
values that fit together. `<start>`, `<arm>`, `<corpus>` and `<task>` are names that you choose: a letter a-z, then
a-z, 0-9 and `_`, 40 characters at most. An unknown key, a wrong type or a value out of range is refused before anything
runs (`adaptbert check`); see [errors.md](errors.md).

**Blocks.** In the sections from `tokenizer` to `finetune`, `all` holds the values, and a block with the name of a
start, a corpus, a task or an arm holds what differs there; each section says which. Any key below `all` can stand in a
block. Later blocks win: `all`, start, corpus or task, arm. Mappings are merged key by key, but for `budget`, which is
one value.

```yaml
finetune:
  all: {epochs: 4, optim: {learning_rate: 4.0e-4, ...}, ...}
  mention: {epochs: 8, optim: {learning_rate: 2.0e-4}}
```

`plan.json` is written from the names of this file: run `adaptbert plan` after you have changed one, also the name
of a block.

In `finetune` stand the options of four task types (`shape`); a task has only those of its own type.

To change a value for one experiment, use `-S` of `dvc exp run`; see
[how-to/experiments.md](how-to/experiments.md).
"""

OTHERWISE = {
    "dev": "The development split: a file, or that of `train` (see `split`). It selects the checkpoint to keep.",
    "encoder.heads": "Attention heads; they divide `hidden_size`.",
    "encoder.hidden_size": "Width of the encoder.",
    "encoder.intermediate_size": "Width of the feed-forward layers.",
    "encoder.layers": "Transformer layers.",
    "epochs": "Passes over the training rows; a fraction is allowed.",
    "epsilon": "Added to the denominator of AdamW.",
    "all.lowercase": "Lower-case and strip accents. For starts with random weights.",
    "all.min_frequency": "Subword tokens that occur less often are dropped. For starts with random weights.",
    "all.vocabulary_size": "Number of tokens of the vocabulary. For starts with random weights.",
    "measure.probability": "Masking probability of the evaluation on held-out text.",
    "measure.seed": "Seed of the evaluation masks, which are the same for every rung.",
    "rows.dev": "Maximum number of rows of the development split.",
    "rows.test": "Maximum number of rows of the test split.",
    "rows.train": "Maximum number of rows of the training split. `rows` is for `installed_docs` only.",
    "seed": "Determines document order, masks and dropout. Fine-tuning has its own seeds.",
    "shape": "Rows of the task: a text, a pair of texts, a question about a context, or tokens with tags.",
    "source": "`installed_docs` (the demonstration), `files` (yours) or `hub` (a data set by name and revision).",
    "test": "The test split: a file, or that of `train` (see `split`). Evaluated once per seed, after training.",
    "train": "The training split: a file, or a list of packages.",
    "weight_decay": "Decoupled weight decay; not applied to biases and LayerNorm.",
}
"""End of a dotted key -> its meaning, where the field has no docstring; the longest match counts."""

NAMED = {STARTS: "a start", CORPORA: "a corpus", TASKS: "a task", ARMS: "an arm"}
"""What a block may be named after."""
NAMES_ONLY = ("collect", "collect_task")
"""Sections of which `validate` reads only the names; their own stages define the keys."""


@dataclass(frozen=True)
class Parameter:
    """One key.

    Attributes:
        key: dotted, with <start>, <arm>, <corpus> or <task> where the user chooses the name.
        kind: type and range.
        meaning: a sentence or two, or empty.
    """

    key: str
    kind: str
    meaning: str


def parameters() -> dict[str, list[Parameter]]:
    """Every key that a stage reads, by section, in the order of the demo."""
    sections: dict[str, list[Parameter]] = {}
    modules = sorted(path.stem for path in STAGES.glob("*.py") if path.stem != "__init__")
    stages: list[Stage] = [importlib.import_module(f"stages.{module}").STAGE for module in modules]
    for stage in stages:
        sections[stage.name] = list(_of_class(stage.hints()["params"], _place(stage)))
        for name, kind in stage.sections().items():
            if kind is int:
                sections[name] = [_parameter(name, "integer", "")]
            elif name not in (*NAMES_ONLY, *stage.at):
                sections[name] = list(_of_class(kind, name))
    parts = {  # of the section of another stage, which only keeps them
        place.replace("{", "<").replace("}", ">"): stage.sections()[name]
        for stage in stages
        for name, place in stage.at.items()
    }
    for place, kind in parts.items():
        rows = sections[place.partition(".")[0]]
        number = next(number for number, row in enumerate(rows) if row.key == place.rpartition(".")[0])
        rows[number : number + 1] = _of_class(kind, place)
    return {name: sections[name] for name in params.read(DEMO)}


def _place(stage: Stage) -> str:
    """Where its values stand."""
    if stage.blocks:
        return f"{stage.name}.{ALL}"
    return f"{stage.name}.<{stage.keyed_by}>" if stage.keyed_by else stage.name


def page(sections: dict[str, list[Parameter]]) -> str:
    """The whole file."""
    parts = [HEAD]
    for name, rows in sections.items():
        kinds = " or ".join(NAMED[kind] for kind in BLOCKS.get(name, ()))
        of_blocks = [f"Blocks: `{ALL}`, and those with the name of {kinds}.", ""] if kinds else []
        lines = [f"## {name}", "", *of_blocks, "| key | type | meaning |", "|---|---|---|"]
        for row in rows:
            meaning = row.meaning.replace("|", "\\|")
            lines.append(f"| `{row.key}` | {row.kind} | {meaning} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _of_class(cls: type[Section], key: str) -> Iterator[Parameter]:
    words = _docstrings(cls)
    for name, field in cls.model_fields.items():
        here = f"{key}.{field.alias or name}"
        annotation = _without_none(field.annotation)
        if get_origin(annotation) is dict and _config(get_args(annotation)[1]):
            yield from _of_class(get_args(annotation)[1], f"{here}.<{name.removesuffix('s')}>")
        elif _config(annotation):
            yield from _of_class(annotation, here)
        else:
            yield _parameter(here, _kind(field), words.get(name, ""))


def _parameter(key: str, kind: str, words: str) -> Parameter:
    ends = [end for end in OTHERWISE if f".{key}".endswith(f".{end}")]
    return Parameter(key, kind, words or OTHERWISE.get(max(ends, key=len, default=""), ""))


def _docstrings(cls: type) -> dict[str, str]:
    """Field -> the string below it in the source, of the class and of those that it is made from."""
    docstrings: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base is Section or not issubclass(base, Section):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, after in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
                docstrings[ast.unparse(field.target)] = " ".join(str(ast.literal_eval(after.value)).split())
    return docstrings


def _kind(field: FieldInfo) -> str:
    """Type, range and whether it may be left out, e.g. `number > 0 ≤ 1, optional`."""
    limits = _limits(field.metadata)
    name = " ".join([_name(_without_none(field.annotation)), *limits])
    return name if field.is_required() else f"{name}, optional"


def _limits(metadata: Iterable[Any]) -> list[str]:
    """Ranges, e.g. `["≥ 0", "< 1"]`, of a field or of what a list holds."""
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    powers = {2**64: "2^64", 2**32: "2^32"}
    facts = [fact for item in metadata for fact in (getattr(item, "metadata", None) or [item])]
    bounds = [(sign, getattr(fact, name, None)) for fact in facts for name, sign in signs.items()]
    return [f"{sign} {powers.get(bound, f'{bound:,}')}" for sign, bound in bounds if bound is not None]


def _name(annotation: Any) -> str:
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return " ".join([_name(inside[0]), *_limits(inside[1:])])
    if origin in (Union, types.UnionType):
        return " or ".join(map(_name, inside))
    if origin is Literal:
        return " or ".join(f"`{choice}`" for choice in inside)
    if origin is list:
        return f"list of {_name(inside[0])}"
    if origin is dict:
        return f"{_name(inside[0])}: {_name(inside[1])}"
    return {int: "integer", float: "number", str: "text", bool: "true or false", Any: "mapping"}[annotation]


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        return Union[tuple(part for part in get_args(annotation) if part is not type(None))]  # noqa: UP007 - computed
    return annotation


def _config(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Section)
