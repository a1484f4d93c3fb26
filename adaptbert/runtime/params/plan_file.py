"""plan.json: written from params.yaml and the code by `adaptbert plan`, and held against them before anything runs.

DVC reads both files before its first stage, so a stage cannot write this one for the run that it is in.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from adaptbert.base.ladder import ALL, LadderConfig
from adaptbert.base.plan import PLAN, WRITE, Corpus, LabelledSet, Plan, expand, read
from adaptbert.codes import Code
from adaptbert.core.files import atomic_write
from adaptbert.errors import BadParams, UserError, raise_all, shortened
from adaptbert.runtime.code_digest import ROOT, code_digest
from adaptbert.runtime.params import params_file as params

SECTIONS = ("tokenizer", "tokenize", "pretrain", "domain_transfer", "task_transfer", "finetune")
"""Of params.yaml whose blocks the file names; those of `measure` are the same for all rungs."""
_MOST_SHOWN = 3


def plan(document: Mapping[str, Any], file: Path) -> Plan:
    """What params.yaml and the code stand for today."""
    return names(document, file).model_copy(update={"code": {stage: code_digest(stage) for stage in stages()}})


def stages() -> list[str]:
    """Those whose code decides what they write."""
    return sorted(path.stem for path in (ROOT / "stages").glob("*.py") if path.stem not in ("__init__", "plan"))


def names(document: Mapping[str, Any], file: Path) -> Plan:
    """What params.yaml stands for today, without the code.

    Args:
        document: params.yaml, its sections valid; a section with blocks may be anything, and then has none.
        file: for the messages.
    """
    ladder = params.parse(LadderConfig, document["ladder"], "ladder", file)
    dictionaries = {start: _dictionary(document.get("tokenize"), start) for start in ladder.starts}
    blocks = {name: document[name] for name in SECTIONS if isinstance(document.get(name), Mapping)}
    corpora = {name: Corpus(path=values["path"]) for name, values in document["collect"].items()}
    tasks = {
        name: LabelledSet(**{split: values[split] for split in LabelledSet.model_fields})
        for name, values in document["collect_task"].items()
    }
    expanded = expand(ladder, list(tasks), blocks, dictionaries)
    return expanded.model_copy(update={"collect": corpora, "collect_task": tasks})


def _dictionary(tokenize: Any, start: str) -> str:
    """The file of further words in force for a start; empty where the section is wrong, which has its own error."""
    for block in (start, ALL):
        words = _inside(_inside(tokenize, block), "words")
        if isinstance(path := _inside(words, "dictionary"), str):
            return path
    return ""


def _inside(values: Any, key: str) -> Any:
    return values.get(key) if isinstance(values, Mapping) else None


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


def check(document: Mapping[str, Any], file: Path, codes_of: Iterable[str] = (), path: Path = PLAN) -> None:
    """Raise where the file is not what params.yaml stands for: more, fewer or other entries, or in another order.

    Args:
        codes_of: the stages whose code is looked at as well.
    """
    raise_all(errors(document, file, codes_of, path))


def errors(document: Mapping[str, Any], file: Path, codes_of: Iterable[str] = (), path: Path = PLAN) -> list[UserError]:
    """The error that `check` raises, if there is one."""
    today = names(document, file).model_dump()
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
    return {f"{stage}@{key}": entry for stage in tables if stage != "code" for key, entry in tables[stage].items()}


def _named(what: str, entries: list[str]) -> list[str]:
    shown = ", ".join(map(shortened, entries[:_MOST_SHOWN]))
    rest = f" and {len(entries) - _MOST_SHOWN} more" if len(entries) > _MOST_SHOWN else ""
    return [f"{what}: {shown}{rest}"] if entries else []
