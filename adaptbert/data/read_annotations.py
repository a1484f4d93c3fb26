"""Reads exports of annotation tools: labels of texts, and character spans as words with BIO tags.

doccano: JSON lines, `{"id": 1, "text": ..., "label": ["good"]}` or `"label": [[0, 5, "PER"]]`; the key may also be
`labels`, or `entities` with {start_offset, end_offset, label}, as in newer exports and those with relations.

Label Studio: one list of tasks, JSON or JSON_MIN, with choices, ratings, numbers or spans. The full export has the
inputs below `data` and the results below `annotations`, by the name of the control (`from_name`); the small one has all
in one mapping. The target is mapped to the name of its control; if it is not mapped, there must be one control. Of
several annotations of a task the first that was not cancelled is read, and the rest counted; so are relations, and
other results without a value. Offsets are those of JavaScript, where a character beyond U+FFFF counts twice; each span
has its text, which shows the unit of its offsets.

Words do not depend on the spans, so that training, evaluation and prediction see the same words. Hidden characters are
removed first, as validation does: a soft hyphen separates no words. Words are runs of letters and digits; every other
visible character, and every character of Chinese or Japanese, is a word. Marks belong to the character before them,
white space to no word. A row with a span that begins or ends inside a word is rejected, not adjusted. White space and
hidden characters at the ends of a span are ignored.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple
from unicodedata import category

from adaptbert.codes import Code
from adaptbert.data import read_json, scripts
from adaptbert.data.cleaning import clean, moved_back
from adaptbert.data.layout import Layout
from adaptbert.data.rows import BadRow, Row, SourceFile
from adaptbert.data.tag_schemes import tags
from adaptbert.errors import BadData, nearest

_KEYS = ("label", "labels", "entities")
"""Of doccano."""
_VALUES = ("choices", "rating", "number")
"""Of Label Studio."""
_METADATA = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")
"""Keys of a task in the small export that are neither inputs nor annotations."""
_SEVERAL = "annotations beyond the first of a task, not read"
_NO_VALUE = "results without a value (relations), not read"
_JOINERS = "\u200c\u200d"
_ALONE = re.compile(f"[{scripts.KANA}{scripts.CHINESE}]")


class CharacterSpan(NamedTuple):
    """A marked part of a text: text[first:end], in Unicode code points."""

    first: int
    end: int
    kind: str


# ---- doccano


def doccano(file: SourceFile) -> Iterator[Row]:
    """Each line under the names of the mapping; an output that is not mapped is read from one of several keys."""
    if not file.layout.outputs:
        yield from read_json.records(file)
        return
    (output,) = file.layout.outputs
    column = file.columns[output]
    keys = (column, *_KEYS) if column == output else (column,)

    def check_renamed(names: list[str]) -> None:
        marks = next((key for key in keys if key in names), column)
        file.check([column if name == marks else name for name in names])

    for row in read_json.records(replace(file, check=check_renamed)):
        marks = next((row.values[key] for key in keys if key in row.values), None)
        yield row if row.problem else _annotated(file, row, marks, _doccano_span, f"{file.shown}:{row.line}")


def looks_like_doccano(text: str) -> bool:
    """Whether a file of this format may begin so: texts with labels or spans in lists."""
    try:
        first = json.loads(text.split("\n", 1)[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "text" in first and any(isinstance(first.get(key), list) for key in _KEYS)


def _doccano_span(text: str, mark: Any) -> CharacterSpan:
    span = [mark.get(k) for k in ("start_offset", "end_offset", "label")] if isinstance(mark, Mapping) else mark
    match span:
        case [int(first), int(end), str(kind)] if kind:
            return CharacterSpan(first, end, kind)
    raise BadRow(Code.COLUMNS, "a span is not of the form [first, end, label]")


# ---- Label Studio


def label_studio(file: SourceFile) -> Iterator[Row]:
    """The line of a row is the number of its task.

    Raises:
        BadData: no control of the name in `columns`; or several controls, and none is mapped.
    """
    document = read_json.document(file)
    if not isinstance(document, list) or not document or not all(isinstance(task, Mapping) for task in document):
        raise file.error(Code.COLUMNS, "not a list of tasks", "export as JSON or JSON-MIN")
    tasks = [_task(file, number, task) for number, task in enumerate(document, 1)]
    good = [(row, marks) for row, marks in tasks if row.problem is None]
    output = [file.columns[name] for name in file.layout.outputs]
    control = _control(file, [marks for _, marks in good]) if good and output else ""
    if good:
        file.check(list(dict.fromkeys([*(name for row, _ in good for name in row.values), *output])))
    for row, marks in tasks:
        if row.problem or not output:
            yield row
        else:
            spans = marks.get(control, []) if file.layout.is_tagged else _chosen(marks.get(control), file.layout)
            yield _annotated(file, row, spans, _label_studio_span, f"{file.shown}[{row.line}]")


def looks_like_label_studio(text: str) -> bool:
    """Whether a file of this format may begin so."""
    return text.startswith("[") and ('"annotations"' in text or '"annotation_id"' in text)


def _task(file: SourceFile, number: int, task: Mapping[str, Any]) -> tuple[Row, Mapping[str, Any]]:
    """The inputs of a task of either export with its id, and its results by the name of the control; of the small
    export, all values that may be results."""
    row, is_tagged = partial(file.row, number), file.layout.is_tagged
    if not file.layout.outputs:
        has_data = isinstance(task.get("data"), Mapping)
        return row({**task["data"], "id": task.get("id")} if has_data else task), {}
    if "annotations" not in task:
        known = {*(file.columns[name] for name in file.layout.inputs), *_METADATA}
        others = {name: value for name, value in task.items() if name not in known}
        return row(task), {name: value for name, value in others.items() if isinstance(value, list) or not is_tagged}
    try:
        annotations = [each for each in _mappings(task["annotations"]) if not each.get("was_cancelled")]
        if not annotations:
            raise BadRow(Code.LABEL_MISSING, "the task is not annotated")
        (data,) = _mappings([task.get("data")])
        results = _mappings(annotations[0].get("result"))
    except BadRow as bad:
        return row(task, bad.problem), {}
    if len(annotations) > 1:
        file.warnings[_SEVERAL] += len(annotations) - 1
    marks: dict[str, Any] = {}
    for result in results:
        name, value = str(result.get("from_name")), result.get("value")
        if not isinstance(value, Mapping):
            file.warnings[_NO_VALUE] += 1
        elif "labels" in value:
            if is_tagged:
                marks.setdefault(name, []).append(value)
        elif not is_tagged and (kind := next((kind for kind in _VALUES if kind in value), None)):
            marks[name] = value[kind]
    return row({**data, "id": task.get("id")}), marks


def _control(file: SourceFile, marks: Iterable[Mapping[str, Any]]) -> str:
    """The control to read: the mapped one, or the only one if none is mapped."""
    (output,) = file.layout.outputs
    mapped, controls = file.columns[output], list(dict.fromkeys(name for each in marks for name in each))
    if mapped in controls or not controls:
        return mapped
    if mapped == output and len(controls) == 1:
        return controls[0]
    problem = f"no control '{mapped}' for {output}; found {', '.join(controls)}{nearest(mapped, controls)}"
    raise file.error(Code.COLUMNS, problem, f"name one of them, e.g. `columns: {{{output}: {controls[0]}}}`")


def _chosen(value: Any, layout: Layout) -> Any:
    """The chosen label; for several labels a list, empty if nothing was chosen."""
    chosen = value.get("choices") if isinstance(value, Mapping) else value
    if layout.output.cell == "texts":
        return [] if chosen is None else [chosen] if isinstance(chosen, str) else chosen
    return chosen


def _mappings(items: Any) -> list[Mapping[str, Any]]:
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise BadRow(Code.COLUMNS, "not a task as Label Studio writes it")
    return items


def _label_studio_span(text: str, mark: Any) -> CharacterSpan:
    values = mark if isinstance(mark, Mapping) else {}
    first, end, kinds, shown = (values.get(name) for name in ("start", "end", "labels", "text"))
    if not isinstance(first, int) or not isinstance(end, int) or not isinstance(kinds, list) or len(kinds) != 1:
        raise BadRow(Code.COLUMNS, "a span has no offsets, or not exactly one label")
    if not 0 <= first < end:
        raise BadRow(Code.OFFSETS, "a span lies outside its text, or is empty")
    if shown is not None and text[first:end] != shown:
        units = text.encode("utf-16-le")
        before, inside = units[: 2 * first], units[2 * first : 2 * end]
        if inside.decode("utf-16-le", "replace") != shown:
            raise BadRow(Code.OFFSETS, "the text of a span is not at its offset")
        first = len(before.decode("utf-16-le"))
        end = first + len(str(shown))
    return CharacterSpan(first, end, str(kinds[0]))


# ---- marks -> values of a row


def _annotated(file: SourceFile, row: Row, marks: Any, span: Callable[[str, Any], CharacterSpan], place: str) -> Row:
    """The row with what its text is marked with: its label or labels; or for spans its words and their tags.

    Args:
        marks: labels, or a list of spans.
        span: reads one; raises BadRow.
        place: of the row, for the message.
    """
    layout = file.layout
    output = file.columns[layout.output.column]
    try:
        if not layout.is_tagged:
            return row._replace(values={**row.values, output: _labels(marks, layout)})
        tokens = file.columns["tokens"]
        text = row.values.get(tokens)
        if not isinstance(text, str) or not isinstance(marks, list):
            raise BadRow(Code.COLUMNS, "no text, or no list of spans")
        words_of_text, tags_of_words = tagged(text, [span(text, mark) for mark in marks], place)
        return row._replace(values={**row.values, tokens: words_of_text, output: tags_of_words})
    except BadRow as bad:
        return row._replace(problem=bad.problem)


def _labels(marks: Any, layout: Layout) -> Any:
    """A list for several labels, else the only label."""
    if layout.output.cell == "texts" or not isinstance(marks, list):
        return marks
    if len(marks) > 1:
        raise BadRow(Code.BAD_LABEL, f"{len(marks)} labels where the target '{layout.target}' takes one")
    return marks[0] if marks else None


def tagged(text: str, spans: Iterable[CharacterSpan], place: str) -> tuple[list[str], list[str]]:
    """The words of the text and their BIO tags; the same span twice counts once.

    Args:
        place: of the row, for the message.

    Raises:
        BadRow: a span lies outside of the text, or cuts a word.
        BadData: two spans overlap.
    """
    ordered = sorted(set(spans))
    if any(not 0 <= span.first < span.end <= len(text) for span in ordered):
        raise BadRow(Code.OFFSETS, "a span lies outside its text, or is empty")
    if any(before.end > after.first for before, after in pairwise(ordered)):
        problem = "spans overlap: flat tagging cannot hold them"
        raise BadData(Code.OFFSETS, place, problem, "keep one of the two")
    tokens, places = words(text)
    word_spans = []
    for span in ordered:
        inside = [number for number, (first, end) in enumerate(places) if first < span.end and end > span.first]
        if not inside:
            raise BadRow(Code.OFFSETS, "a span holds no word")
        if places[inside[0]][0] < span.first or places[inside[-1]][1] > span.end:
            raise BadRow(Code.OFFSETS, "a span begins or ends inside a word")
        word_spans.append((inside[0], inside[-1] + 1, span.kind))
    return tokens, tags(word_spans, len(tokens), "bio")


def words(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The words of the cleaned text, and the range (first, last + 1) of each in the original text."""
    cleaned = clean(text)[0]
    ranges = _runs(cleaned)
    return [cleaned[first:end] for first, end in ranges], moved_back(text, ranges)


def _runs(text: str) -> list[tuple[int, int]]:
    """First and last + 1 character of each word of a clean text."""
    runs: list[tuple[int, int]] = []
    before: _Kind = "nothing"
    for place, character in enumerate(text):
        kind = _kind(character)
        continues = kind == before == "word" or (kind == "mark" and before != "nothing")
        if continues:
            runs[-1] = (runs[-1][0], place + 1)
        elif kind != "nothing":
            runs.append((place, place + 1))
        before = before if continues else kind
    return runs


_Kind = Literal["nothing", "word", "mark", "alone"]
"""White space; a letter or digit; accents, vowel signs and the joiners of emoji; a word by itself."""


@cache
def _kind(character: str) -> _Kind:
    group = category(character)[0]
    if character.isspace():
        return "nothing"
    if group == "M" or character in _JOINERS:
        return "mark"
    return "word" if group in "LN" and not _ALONE.match(character) else "alone"
