"""The schema -> docs/parameters.md: every key of params.yaml with its type, range, default and meaning.

The meanings are the docstrings of the fields.
"""

import ast
import inspect
import textwrap
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from adaptbert.config.recipe import KINDS, SECTIONS, Document
from adaptbert.config.schema.bases import ARMS
from adaptbert.config.schema.mlm import BUDGET, MlmStep
from adaptbert.config.schema.section import FromWeights, Section

HEAD = """\
# Parameters

Every key of `params.yaml`. This file is written by `python -m tests.documents`.

What is not written has the default of this page; "–" is none, and "required" below a key that may be left out holds
where that key is written. MLflow logs the values in force. The sections `pretrain`, `finetune` and `compare` must stand
there, even empty (`{}`), and so must `domain_transfer` and `task_transfer` where an arm has them. `<base>`, `<corpus>`,
`<task>` and `<arm>` are names that you choose: a letter a-z, then a-z, 0-9 and `_`, 40 characters at most.

What differs for one base, corpus, task or arm stands under its name; each section says which. Later ones win: section,
base, corpus or task, arm. Mappings are merged key by key; a budget (`tokens`, `passes` or `steps`) replaces another.

```yaml
finetune: {epochs: 4}
overrides:
  mention: {finetune: {epochs: 8}}
```
"""

STEPS = tuple(name for name, (cls, _) in SECTIONS.items() if issubclass(cls, MlmStep))
"""Sections with the same keys: one table."""
LIKE = {"tasks": "corpora", "finetune": STEPS[0]}
"""Section -> another, whose equal keys are named and not explained again."""
HEADINGS = {"base": "base, bases.<base>", **{name: f"{name}.<{kind}>" for kind, name in KINDS.items()}}
ARTICLES = {"base": "a base", "corpus": "a corpus", "task": "a task", "arm": "an arm"}
REQUIRED, NONE = "required", "–"
AS_WRITTEN = {
    "bases": ("bases.<base>", "as `base`", NONE),
    "overrides": ("overrides.<name>.<section>", "mapping", NONE),
}
"""Key, type and default of what is explained elsewhere."""
NO_USUAL = FromWeights(None, None)
_ENDLESS = 10_000
"""Bounds from here on only keep a slip of the keyboard from being taken for a value: no reader needs them."""


@dataclass(frozen=True)
class Parameter:
    """One key.

    Attributes:
        key: dotted, below the name of the section, with <base>, <arm>, <corpus> or <task> where the user chooses it.
        kind: type and range.
        default: where it is left out.
        meaning: a sentence or two.
    """

    key: str
    kind: str
    default: str
    meaning: str

    @property
    def below(self) -> str:
        """The key below its section, or below the name that the user chooses."""
        return self.key.partition(">.")[2] or self.key.partition(".")[2] or self.key


def parameters() -> dict[str, list[Parameter]]:
    """Every key, by section: what there is, the steps, how they are compared."""
    sections: dict[str, list[Parameter]] = {}
    for row in _of_class(Document):
        sections.setdefault(row.key.partition(".")[0], []).append(row)
    last = (*SECTIONS, "compare", "overrides")
    return {name: sections[name] for name in (*(name for name in sections if name not in last), *last)}


def page(sections: dict[str, list[Parameter]]) -> str:
    """The whole file."""
    parts, words = [HEAD], _docstrings(Document)
    for name, rows in sections.items():
        if name in (*STEPS[1:], "bases", "overrides"):
            continue
        title = ", ".join(STEPS) if name == STEPS[0] else HEADINGS.get(name, name)
        known = {(row.below, row.kind, row.meaning): row.default for row in sections.get(LIKE.get(name, ""), [])}
        again = [row.below for row in rows if known.get((row.below, row.kind, row.meaning)) == row.default]
        rows = [row for row in rows if row.below not in again]
        rows = _merged({step: sections[step] for step in STEPS}) if name == STEPS[0] else rows
        differs = " or ".join(ARTICLES[kind] for kind in SECTIONS[name][1]) if name in SECTIONS else ""
        if name == STEPS[0]:
            differs = "a base, domain_transfer also for a corpus, task_transfer for a task"
        lines = [f"## {title}", ""]
        lines += [words[name], ""] if name in words and len(rows) > 1 else []
        lines += [f"Known are {', '.join(f'`{arm}`' for arm in ARMS)}.", ""] if name == "arms" else []
        lines += [f"Can differ for {differs}.", ""] if differs else []
        lines += [f"As in {LIKE[name]}: {', '.join(f'`{key}`' for key in again)}.", ""] if again else []
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        for row in rows:
            meaning = row.meaning.replace("|", "\\|")
            lines.append(f"| `{row.below}` | {row.kind} | {row.default} | {meaning} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _merged(steps: Mapping[str, list[Parameter]]) -> list[Parameter]:
    """Rows of several sections, each key once, with the defaults of each where they are not the same."""
    found: dict[str, dict[str, Parameter]] = {}
    for step, rows in steps.items():
        for row in rows:
            found.setdefault(row.below, {})[step] = row
    merged = []
    for of in found.values():
        first, defaults = next(iter(of.values())), list(dict.fromkeys(row.default for row in of.values()))
        each = "; ".join(
            f"{', '.join(step for step, row in of.items() if row.default == default)}: {default}"
            for default in defaults
            if default != NONE
        )
        is_same = len(defaults) == 1 and len(of) == len(steps)
        merged.append(Parameter(first.key, first.kind, first.default if is_same else each, first.meaning))
    return merged


def _of_class(cls: type[Section], above: str = "") -> Iterator[Parameter]:
    words = _docstrings(cls)
    for name, field in cls.model_fields.items():
        key, annotation = above + (field.alias or name), _bare(field.annotation)
        inside = SECTIONS[key][0] if key in SECTIONS else _inside(annotation)
        if key in AS_WRITTEN:
            yield Parameter(*AS_WRITTEN[key], words[name])
        elif _config(inside):
            kind = "" if inside is annotation else next((f"<{kind}>." for kind, of in KINDS.items() if of == key), "")
            yield from _of_class(inside, f"{key}.{kind}")
        else:
            budget = cls.usual_budget if issubclass(cls, MlmStep) and name in BUDGET else NO_USUAL
            usual = FromWeights(*((values or {}).get(name) for values in budget))
            yield _parameter(key, field, words.get(name, ""), usual)


def _parameter(key: str, field: FieldInfo, words: str, usual: FromWeights) -> Parameter:
    """The parameter of a field; `usual` is its default where the schema gives that by the whole class."""
    kind = " ".join([_name(_bare(field.annotation)), *_limits(field.metadata)])
    random, trained = map(_shown, next((each for each in field.metadata if isinstance(each, FromWeights)), usual))
    if random == trained == NONE:
        default = REQUIRED if field.is_required() else _shown(field.get_default(call_default_factory=True))
        return Parameter(key, kind, default, words)
    each = [(random, "from random weights"), (trained, "from a checkpoint")]
    both = ", ".join(f"{value} {where}" for value, where in each if value != NONE)
    return Parameter(key, kind, random if random == trained else both, words)


def _shown(value: Any) -> str:
    """A value as YAML has it."""
    if value is None or value in ([], {}):
        return NONE
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"`[{', '.join(_shown(each).strip('`') for each in value)}]`"
    if isinstance(value, str):
        return f"`{value}`"
    if isinstance(value, float) and 0 < value < 1e-5:
        digits, _, power = f"{value:.1e}".partition("e-")
        return f"{digits}e-{int(power)}"
    return f"{value:f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"


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


def _limits(metadata: Iterable[Any]) -> list[str]:
    """Ranges, e.g. `["≥ 0", "< 1"]`, of a field or of what a list holds."""
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    powers = {2**64: "2^64", 2**32: "2^32"}
    facts = [fact for item in metadata for fact in (getattr(item, "metadata", None) or [item])]
    bounds = [(sign, getattr(fact, name, None)) for fact in facts for name, sign in signs.items()]
    within = [(sign, bound) for sign, bound in bounds if bound is not None and (bound in powers or bound < _ENDLESS)]
    return [f"{sign} {powers.get(bound, f'{bound:,}')}" for sign, bound in within]


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
    return {
        int: "integer",
        float: "number",
        str: "text",
        bool: "true or false",
        Any: "mapping",
        types.NoneType: "null",
    }[annotation]


def _bare(annotation: Any) -> Any:
    """Without `None`; a section without its validators."""
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = Union[tuple(part for part in get_args(annotation) if part is not type(None))]  # noqa: UP007 - computed
    is_section = get_origin(annotation) is Annotated and (_config(_inside(get_args(annotation)[0])))
    return get_args(annotation)[0] if is_section else annotation


def _inside(annotation: Any) -> Any:
    """What a mapping by name holds."""
    return _bare(get_args(annotation)[1]) if get_origin(annotation) is dict else annotation


def _config(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Section)
