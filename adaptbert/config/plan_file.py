"""plan.json: written from params.yaml and the code by `adaptbert plan`, and held against them before anything runs.

DVC reads both files before its first stage, so a stage cannot write this one for the run that it is in.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.config.code_digest import ROOT, code_digest
from adaptbert.config.plan import PLAN, WRITE, Plan, expand, read
from adaptbert.config.recipe import Recipe
from adaptbert.core.files import atomic_write
from adaptbert.errors import BadParams, UserError, raise_all, shortened

_MOST_SHOWN = 3
_SINGLE = ("validation", "compare")


def plan(recipe: Recipe) -> Plan:
    """What params.yaml and the code stand for today."""
    return expand(recipe).model_copy(update={"code": {stage: code_digest(stage) for stage in stages()}})


def stages() -> list[str]:
    """Those whose code decides what they write."""
    return sorted(path.stem for path in (ROOT / "stages").glob("*.py") if path.stem not in ("__init__", "plan"))


def text(planned: Plan) -> str:
    """As the file has it: a line for each entry, so that a diff shows what is more and what is fewer.

    JSON, because DVC reads the file for every stage: of 400 entries, `dvc status` took four times as long with YAML.
    """
    tables = []
    for table, entries in planned.model_dump(by_alias=True, exclude_unset=True).items():
        lines = ",".join(f"\n   {_in_a_line(key)}: {_in_a_line(entry)}" for key, entry in entries.items())
        tables.append(f"\n  {_in_a_line(table)}: {{{lines}}}")
    return f'{{"plan": {{{",".join(tables)}\n}}}}\n'


def _in_a_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def write(planned: Plan, path: Path = PLAN) -> None:
    """Replace the file."""
    with atomic_write(path) as part:
        part.write_text(text(planned), encoding="utf-8")


def check(recipe: Recipe, codes_of: Iterable[str] = (), path: Path = PLAN) -> None:
    """Raise where the file is not what params.yaml stands for: more, fewer or other entries, or in another order.

    Args:
        codes_of: the stages whose code is looked at as well.
    """
    raise_all(errors(recipe, codes_of, path))


def errors(recipe: Recipe, codes_of: Iterable[str] = (), path: Path = PLAN) -> list[UserError]:
    """The error that `check` raises, if there is one."""
    file, today = recipe.file, expand(recipe).model_dump()
    try:
        written = read(path).model_dump()
    except UserError as error:
        return [error]
    before, after = _addresses(written), _addresses(today)
    differences = [
        *_named("missing", [entry for entry in after if entry not in before]),
        *_named("to be removed", [entry for entry in before if entry not in after]),
        *_named("different", [entry for entry in after if entry in before and after[entry] != before[entry]]),
    ]
    moved = [stage for stage in today if stage != "code" and [*today[stage]] != [*written[stage]]]
    if not differences and moved:  # the report has starts and arms in this order, and DVC compares params without it
        differences = [f"in another order: {', '.join(moved)}"]
    edited = [stage for stage in codes_of if code_digest(stage) != written["code"].get(stage)]
    if differences:
        return [BadParams(Code.PLAN_IS_OLD, path, f"older than {file}: {'; '.join(differences)}", WRITE)]
    if edited:
        return [BadParams(Code.PLAN_IS_OLD, path, f"older than the code of {', '.join(edited)}", WRITE)]
    return []


def _addresses(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """DVC's names of the stages, with their entries."""
    single = {("validate" if name == "validation" else name): tables[name] for name in _SINGLE}
    others = [table for table in tables if table not in ("code", *_SINGLE)]
    return single | {f"{table}@{key}": entry for table in others for key, entry in tables[table].items()}


def _named(what: str, entries: list[str]) -> list[str]:
    shown = ", ".join(map(shortened, entries[:_MOST_SHOWN]))
    rest = f" and {len(entries) - _MOST_SHOWN} more" if len(entries) > _MOST_SHOWN else ""
    return [f"{what}: {shown}{rest}"] if entries else []
