"""plan.json: made of params.yaml and the code by `adaptbert plan`, and held against them before anything runs.

DVC reads both files before its first stage, so a stage cannot write this one for the run that it is in.
"""

import json
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.config import plan as planning
from adaptbert.config.code_digest import SOURCES, code_digest
from adaptbert.config.plan import FINETUNE, MEASURE, PRETRAIN, SCRATCH, UNCHANGED, Entry, Plan
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import DOMAIN, FOLDERS, GENERAL, RANDOM, TRANSFERS, TrainedOn
from adaptbert.config.schema.section import Section
from adaptbert.errors import BadParams, first_of, shortened

CORPORA, TOKENIZED = "data/validated/corpora", "data/tokenized"
"""Outputs of dvc.yaml that a project may lack."""
_MOST_SHOWN = 3


def plan(recipe: Recipe) -> Plan:
    """What params.yaml and the code stand for today."""
    return expand(recipe).model_copy(update={"code": {stage: code_digest(stage) for stage in stages()}})


def stages() -> list[str]:
    """Stages of the project whose code decides what they write; BadParams where there are none."""
    folder = SOURCES["stages"]
    names = sorted(path.stem for path in folder.glob("*.py") if path.stem not in ("__init__", "plan"))
    if not names:
        remedy = "run this in the folder of a project; a lost folder comes back by: git checkout stages"
        raise BadParams(Code.PLAN_IS_OLD, folder, "no stages in it, or no such folder", remedy)
    return names


# ---- params.yaml -> entries


def expand(recipe: Recipe) -> Plan:
    """Every checkpoint that an arm of a task needs, and every cell; without the code."""
    transfers: dict[str, dict[str, Entry]] = {step: {} for step in TRANSFERS}
    cells: dict[str, Entry] = {}
    for names in recipe.cells():
        task, arm, base = names["task"], names["arm"], names["base"]
        trained_on = recipe.arms[arm].trained_on
        # A search is repeated on a checkpoint that is trained once, too: else its luck would be in no spread.
        repeats = bool(trained_on.steps) or recipe.values(FINETUNE, names).search is not None
        for replicate in range(1, recipe.compare.replicates + 1) if repeats else (0,):
            here, folder = TrainedOn(trained_on.is_random), f"{SCRATCH if trained_on.is_random else PRETRAIN}/{base}"
            for step, corpus in zip_longest(trained_on.steps, trained_on.corpora, fillvalue=""):
                here = here.after(step, corpus)
                key = "-".join([*here.path(task), base, str(replicate)])
                transfers[step][key] = _entry(recipe, step, folder, replicate, **here.names(task), base=base)
                folder = f"{step}/{key}"
            key = "-".join([task, arm, base, *([str(replicate)] if replicate else [])])
            cells[key] = _entry(recipe, FINETUNE, folder, replicate, **names)
    with_random = [names["base"] for names in recipe.cells() if recipe.arms[names["arm"]].trained_on.is_random]
    # Bases, corpora and tasks have different names, so the keys of two stages are never equal.
    measured = {f"{RANDOM}-{base}": ((f"{SCRATCH}/{base}", 0), base) for base in with_random}
    measured |= {base: ((f"{PRETRAIN}/{base}", 0), base) for base in recipe.bases}
    for step, entries in transfers.items():
        measured |= {key: ((f"{step}/{key}", each.replicate), each.base) for key, each in entries.items()}
    of_bases = {base: _of_base(recipe, base) for base in recipe.bases}
    tables: dict[str, Any] = {
        "collect": {name: Entry(path=each.path, values=_dumped(each)) for name, each in recipe.corpora.items()},
        "collect_task": {
            name: Entry(train=each.train, dev=each.dev, test=each.test, values=_dumped(each))
            for name, each in recipe.tasks.items()
        },
        "validate": {"limits": _dumped(recipe.limits), "corpora": [*recipe.corpora], "tasks": [*recipe.tasks]},
        **{stage: {base: of_bases[base][stage] for base in of_bases} for stage in ("tokenizer", "tokenize", PRETRAIN)},
        **transfers,
        MEASURE: {key: _entry(recipe, MEASURE, *start, base=base) for key, (start, base) in measured.items()},
        FINETUNE: cells,
    }
    return Plan.model_validate(tables)


def _of_base(recipe: Recipe, base: str) -> dict[str, Entry]:
    """Stages of a base; where it has no weights or texts, DVC watches `UNCHANGED`."""
    weights, names, folder = recipe.bases[base], {"base": base}, f"{FOLDERS}{base}"
    init, of_base = folder if weights.checkpoint == folder else UNCHANGED, {"base": _dumped(weights)}
    vocabulary, documents = recipe.values("tokenizer", names), recipe.values("tokenize", names)
    general = f"{TOKENIZED}/{base}/{{}}/{GENERAL}" if GENERAL in recipe.corpora else UNCHANGED
    return {
        "tokenizer": Entry(
            base=base,
            init=init,
            text=CORPORA if recipe.corpora else UNCHANGED,
            values=of_base | {"tokenizer": _dumped(vocabulary)},
        ),
        "tokenize": Entry(base=base, dictionary=documents.words.dictionary, values={"tokenize": _dumped(documents)}),
        PRETRAIN: Entry(
            base=base,
            init=init,
            text=general.format("corpora"),
            heldout=general.format("heldout"),
            values=of_base | _measured_with(recipe, base) | _overrides(recipe, PRETRAIN, names),
        ),
    }


def _entry(recipe: Recipe, stage: str, checkpoint: str, replicate: int, **names: str) -> Entry:
    """Entry of a stage that starts from a checkpoint."""
    values = {} if stage == FINETUNE else _measured_with(recipe, names["base"])
    values |= _overrides(recipe, stage, names)
    if stage in TRANSFERS:
        own = names.get("task") or names["corpus"]
        is_control = own == GENERAL and DOMAIN in recipe.corpora
        names["beside"] = DOMAIN if is_control else GENERAL if GENERAL in recipe.corpora else own
    return Entry.model_validate({**names, "replicate": replicate, "from": checkpoint, "values": values})


def _measured_with(recipe: Recipe, base: str) -> dict[str, Any]:
    return {"seed": recipe.seed, "measure": _dumped(recipe.values(MEASURE, {"base": base}))}


def _overrides(recipe: Recipe, stage: str, names: Mapping[str, str]) -> dict[str, Any]:
    differing = recipe.overriding(stage, names)
    return {"overrides": differing} if differing else {}


def _dumped(section: Section) -> dict[str, Any]:
    return section.model_dump(exclude_none=True)


def tokens_below(recipe: Recipe, planned: Plan, names: Mapping[str, str]) -> int | None:
    """Tokens that the checkpoint of a cell and those below it are trained on; None where a budget is no number of
    tokens, and for names of no cell."""
    for cell in planned.finetune.values():
        if cell.names() == names:
            budgets = [recipe.values(step, entry.names()).tokens for step, entry in planned.below(cell.checkpoint)]
            return None if None in budgets else sum(budgets)
    return None


# ---- entries <-> the file


def text(planned: Plan) -> str:
    """Text of the file: a line for each entry, so that a diff shows what is more and what is fewer.

    JSON, because DVC reads the file for every stage: of 400 entries, `dvc status` took four times as long with YAML.
    """
    in_a_line, tables = partial(json.dumps, ensure_ascii=False), []
    for table, entries in planned.model_dump(by_alias=True, exclude_unset=True).items():
        lines = ",".join(f"\n   {in_a_line(key)}: {in_a_line(entry)}" for key, entry in entries.items())
        tables.append(f"\n  {in_a_line(table)}: {{{lines}}}")
    return f'{{"plan": {{{",".join(tables)}\n}}}}\n'


def check(recipe: Recipe, codes_of: Iterable[str] = (), path: Path = planning.PLAN) -> None:
    """Whether the file is what params.yaml stands for.

    Args:
        codes_of: the stages whose code is looked at as well.

    Raises:
        BadParams: it is not; it has more, fewer or other entries, or in another order.
    """
    written = planning.read(path)
    before, after = _by_address(written), _by_address(expand(recipe))
    differences = {
        "missing": [entry for entry in after if entry not in before],
        "to be removed": [entry for entry in before if entry not in after],
        "different": [entry for entry in after if entry in before and after[entry] != before[entry]],
    }
    shown = [
        f"{what}: {first_of(map(shortened, entries), _MOST_SHOWN)}" for what, entries in differences.items() if entries
    ]
    if not shown and [*before] != [*after]:  # the report has this order, and DVC compares params without it
        moved = dict.fromkeys(one.partition("@")[0] for one, other in zip(before, after, strict=True) if one != other)
        shown = [f"in another order: {', '.join(moved)}"]
    if shown:
        raise BadParams(Code.PLAN_IS_OLD, path, f"older than {recipe.file}: {'; '.join(shown)}", planning.WRITE)
    if edited := [stage for stage in codes_of if code_digest(stage) != written.code.get(stage)]:
        raise BadParams(Code.PLAN_IS_OLD, path, f"older than the code of {', '.join(edited)}", planning.WRITE)


def stages_of(planned: Plan) -> list[str]:
    """DVC's names of all that it makes of a plan, with the stages that are always there."""
    return ["plan", *_by_address(planned), "compare"]


def _by_address(planned: Plan) -> dict[str, Any]:
    """DVC's names of the stages, with their entries."""
    tables = planned.model_dump(by_alias=True, exclude={"code"})
    validate = tables.pop("validate")
    entries = {f"{table}@{key}": entry for table, each in tables.items() for key, entry in each.items()}
    return {"validate": validate} | entries
