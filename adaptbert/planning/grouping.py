"""Asks whether labelled rows belong together, where no group is named and a column of their file looks so.

Rows of one document or author are not independent, and who takes them so finds gains that are none. Only a person knows
what rows have in common: nothing is grouped by these signs.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from adaptbert.config.schema.sources import Task
from adaptbert.data.fields import word_count
from adaptbert.data.formats import format_of
from adaptbert.data.preview import Said, preview
from adaptbert.data.source_config import layout_of
from adaptbert.errors import BadData

_NAMED = re.compile(
    r"(^|[^a-z])(doc|document|article|paper|pmid|pmcid|doi|patient|author|user|speaker|thread|dialog|dialogue|"
    r"conversation|title|url|group)s?_?(id|name)?([^a-z]|$)|文档|文章|标题|作者|用户|患者"
)
_NUMBERED, _LEAST_WORDS = re.compile(r"(.*\w)[-_.:/#]\d+", re.DOTALL), 5
_SAME = "the same {} as another"
_ROWS, _LEAST_GROUPS, _MUCH = 5_000, 5, 1.5
"""Rows that are looked at; the fewest groups that are asked about, since fewer may be sources; and how many rows the
group of a row has, on average over rows: by so much the variance of a score may be larger than it seems."""


def ungrouped(task: Task) -> Iterator[str]:
    """What to ask about the test rows, or about those that they are cut off; copies of a text are one row."""
    split = "train" if task.test == task.train else "test"
    path, columns, layout = Path(getattr(task, split)), task.columns or {}, layout_of(task)
    kind = format_of(path, task.format)
    if "group" in columns or kind not in ("csv", "tsv", "jsonl", "parquet"):
        return
    with suppress(BadData):  # what is no error of the set is none here: a folder, two columns of one name
        file = preview(path, Said(columns, format=kind, encoding=task.encoding), _ROWS)
        shared, fields = ([columns.get(name, name) for name in names] for names in (layout.shared, layout.fields))
        rows = {tuple(str(row.get(name)) for name in shared): row for row in file.rows}.values()
        alone = {*fields} - {*(shared if len(shared) > 1 else ())}  # of a pair, each text may be that of other rows
        signs = {name: sign for name in file.columns if name not in alone and (sign := _sign(name, rows))}
        if signs:
            said = [f"{count:,} have {what.format(repr(name))}" for name, (count, what) in signs.items()]
            column = next(
                (name for name, (_, what) in signs.items() if what is _SAME and name.isidentifier()), "COLUMN"
            )
            yield (
                f"{task.key}.{split}: of the {len(rows):,} rows looked at, {' and '.join(said)}: do they come from "
                f"one document or author? If so, write `columns: {{group: {column}}}` (add a column with its name "
                "where there is none); else the report looks surer than it is"
            )


def _sign(column: str, rows: Collection[Mapping[str, Any]]) -> tuple[int, str] | None:
    """How many rows have in common what a column holds: a name, a long text, or an id without its last number, and what
    that is; None where it matters little."""
    counts, alike_in = Counter[str](), _SAME
    for cell in [str(row[column]) for row in rows if type(row.get(column)) in (str, int) and row[column] != ""]:
        if _NAMED.search(column.lower()) or word_count(cell) >= _LEAST_WORDS:
            counts[cell] += 1
        elif column.lower().endswith("id") and (numbered := _NUMBERED.fullmatch(cell)):
            counts[numbered[1]] += 1
            alike_in = "an {} that differs from another only in its last number"
    alike = [count for count in counts.values() if count > 1]
    is_much = len(alike) >= _LEAST_GROUPS and 1 + sum(n * (n - 1) for n in alike) / len(rows) >= _MUCH
    return (sum(alike), alike_in) if is_much else None
