"""The same rows in every dialect of their format: line ends, encodings, quotes, order and number of columns, comments,
and other keys of exports. What is read is the same; any other bytes give rows or one of our errors.
"""

import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.config.schema.sources import Format
from adaptbert.config.schema.task_types import spec_of
from adaptbert.data import tag_schemes
from adaptbert.data.collect import RawWriter
from adaptbert.data.files import Files
from adaptbert.data.formats import FORMATS
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.read_text import COMMON
from adaptbert.data.task_description import TaskDescription
from adaptbert.errors import UserError
from adaptbert.prediction.inputs import Input, Reader
from tests.support.harming import harmed
from tests.support.reading import ANSWER, CLASS, LABELS, NUMBER, PAIR_NUMBER, SPANS, TAGS, config, read, write

LINE_ENDS = ("\n", "\r\n", "\r", "\r\r\n")
VISIBLE = st.characters(exclude_categories=["C", "Z"], include_characters="#\"',;\\-[{ok好é😀")
WORD = st.text(VISIBLE, min_size=1, max_size=5)
TEXT = st.lists(WORD, min_size=1, max_size=4).map(" ".join)
LINES = st.lists(TEXT, min_size=1, max_size=3).map("\n".join)
"""Text in which lines end."""
LABEL = st.sampled_from(["good", "bad", "12"])
MANY = st.integers(1, 6)
Values = dict[str, Any]


class File(NamedTuple):
    """The content of a file, how it is declared, and the rows in it."""

    content: bytes
    layout: Layout
    options: Values
    rows: list[Values]


def ended(draw: st.DrawFn, lines: Sequence[str], between: Callable[[], str] = str) -> str:
    """Lines with one kind of end, also of those within a cell; the last may have none, and blank lines may follow.

    Args:
        between: lines to insert after one.
    """
    text = "".join(f"{line}\n{between()}" for line in lines)
    text = text.removesuffix("\n") if draw(st.booleans()) else text + "\n" * draw(st.integers(0, 2))
    return text.replace("\n", draw(st.sampled_from(LINE_ENDS)))


def encoded(draw: st.DrawFn, text: str, layout: Layout, rows: list[Values], **options: Any) -> File:
    """In an encoding, with a byte-order mark or without; the encoding is declared."""
    name = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "gb18030"]))
    declared = {} if name.startswith("utf-8") else {"encoding": name}
    return File(text.encode(name), layout, {**options, **declared}, rows)


def table(draw: st.DrawFn, text: st.SearchStrategy[str]) -> tuple[list[Values], list[str], list[list[str]]]:
    """The rows of a task, and a table of them with other columns, in any order."""
    rows: list[Values] = [{"text": draw(text), "label": draw(LABEL)} for _ in range(draw(MANY))]
    columns = draw(st.permutations(["content", "label", *draw(st.lists(st.sampled_from("xyz"), unique=True))]))
    named = [{"content": row["text"], "label": row["label"]} for row in rows]
    return rows, columns, [[row[name] if name in row else draw(TEXT) for name in columns] for row in named]


NAMED = {"columns": {"text": "content"}}


@st.composite
def lines(draw: st.DrawFn) -> File:
    texts = [draw(TEXT) for _ in range(draw(MANY))]
    text = ended(draw, texts, lambda: draw(st.sampled_from(["", "\n", " \n"])))
    return encoded(draw, text, CORPUS, [{"text": text} for text in texts])


@st.composite
def separated(draw: st.DrawFn, delimiter: str) -> File:
    is_quoted = delimiter == "," or draw(st.booleans())
    rows, columns, cells = table(draw, LINES if is_quoted else TEXT.filter(lambda text: not text.startswith('"')))

    def quoted(cell: str) -> str:
        is_needed = bool({*cell} & {delimiter, *'"\n'})
        if not is_quoted or (not is_needed and (delimiter == "\t" or draw(st.booleans()))):
            return cell
        return '"' + cell.replace('"', '""') + '"'

    records = [delimiter.join(map(quoted, record)) for record in [columns, *cells]]
    return encoded(draw, ended(draw, records, lambda: draw(st.sampled_from(["", "\n"]))), CLASS, rows, **NAMED)


@st.composite
def json_lines(draw: st.DrawFn) -> File:
    rows, columns, cells = table(draw, LINES)
    style = {"ensure_ascii": draw(st.booleans()), "separators": draw(st.sampled_from([(",", ":"), (" , ", " : ")]))}
    objects = [json.dumps(dict(zip(columns, record, strict=True)), **style) for record in cells]
    around = [draw(st.sampled_from(["", " ", "\t"])) + line + draw(st.sampled_from(["", " "])) for line in objects]
    return encoded(draw, ended(draw, around, lambda: draw(st.sampled_from(["", "\n"]))), CLASS, rows, **NAMED)


@st.composite
def parquet(draw: st.DrawFn) -> File:
    rows, columns, cells = table(draw, LINES)
    kinds = [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
    arrays = [pa.array(column).cast(draw(st.sampled_from(kinds))) for column in zip(*cells, strict=True)]
    stream = io.BytesIO()
    pq.write_table(
        pa.Table.from_arrays(arrays, columns), stream, row_group_size=draw(MANY),
        compression=draw(st.sampled_from(["none", "snappy", "gzip", "zstd"])),
        data_page_version=draw(st.sampled_from(["1.0", "2.0"])),
    )  # fmt: skip
    return File(stream.getvalue(), CLASS, NAMED, rows)


@st.composite
def conll(draw: st.DrawFn) -> File:
    """Columns between token and tag, a number before, comments above, heads of documents, words of several tokens."""
    word = WORD.filter(lambda token: not token.isdecimal() and not token.startswith("-DOC"))
    rows: list[Values] = []
    for _ in range(draw(MANY)):
        tokens = draw(st.lists(word, min_size=1, max_size=4).filter(lambda tokens: tokens[0] != "#"))
        rows.append({"tokens": tokens, "tags": [draw(st.sampled_from(["O", "B-X", "B-Y"])) for _ in tokens]})
    tabs, blanks = draw(st.booleans()), st.sampled_from([" ", "   "])
    middle, are_numbered = draw(st.integers(0, 3)), draw(st.booleans()) and any(len(row["tokens"]) > 1 for row in rows)
    middle += are_numbered and not middle
    comments = draw(st.sampled_from(["", "# a comment with words of its own\n", "# id = 1\n# x = a b c d e f\n"]))

    def line(*cells: str) -> str:
        return ("\t" if tabs else draw(blanks)).join(cells) + "\n"

    text = "\n" * draw(st.integers(0, 1))
    for row in rows:
        if draw(st.booleans()):
            text += line("-DOCSTART-", *["_"] * middle, "O") + draw(st.sampled_from(["", "\n"]))
        text += comments
        for number, (token, tag) in enumerate(zip(row["tokens"], row["tags"], strict=True), 1):
            first = [str(number)] if are_numbered else []
            if are_numbered and draw(st.booleans()):
                text += line(f"{number}-{number + 1}", "both", *["_"] * middle, "_")
            text += line(*first, token, *["_"] * middle, tag)
        text += draw(st.sampled_from(["\n", "\n\n", " \n"]))
    return encoded(draw, ended(draw, text.rstrip().split("\n")), SPANS, rows, tag_scheme="bio")


def document(draw: st.DrawFn, content: Any, layout: Layout, rows: list[Values], **options: Any) -> File:
    """As JSON, with any white space around values."""
    text = json.dumps(content, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 0, 1, "\t"])))
    return encoded(draw, text.replace("\n", draw(st.sampled_from(LINE_ENDS))), layout, rows, **options)


def with_others(draw: st.DrawFn, values: Mapping[str, Any]) -> Values:
    """Keys in any order, with others among them."""
    every = {**values, **draw(st.dictionaries(st.sampled_from(["version", "note", "at"]), TEXT))}
    return {name: every[name] for name in draw(st.permutations([*every]))}


@st.composite
def squad(draw: st.DrawFn) -> File:
    rows: list[Values] = []
    paragraphs = []
    for _ in range(draw(MANY)):
        context, questions = draw(LINES), []
        for _ in range(draw(st.integers(1, 2))):
            first = draw(st.integers(0, len(context) - 1))
            answer = context[first : draw(st.integers(first + 1, len(context)))]
            question, none = draw(TEXT), draw(st.booleans())
            marks = {"is_impossible": none} if none or draw(st.booleans()) else {}
            answers = [] if none else [with_others(draw, {"text": answer, "answer_start": first})]
            questions.append(with_others(draw, {"id": "7", "question": question, "answers": answers, **marks}))
            right = [] if none else [{"text": answer, "start": first}]
            rows.append({"context": context, "question": question, "answers": right})
        paragraphs.append(with_others(draw, {"context": context, "qas": questions}))
    cut = draw(st.integers(0, len(paragraphs)))
    articles = [with_others(draw, {"title": "T", "paragraphs": part}) for part in (paragraphs[:cut], paragraphs[cut:])]
    content: Any = draw(st.sampled_from([articles, with_others(draw, {"data": articles})]))
    return document(draw, content, ANSWER, rows, no_answer=True)


@st.composite
def marked(draw: st.DrawFn) -> tuple[str, list[tuple[int, int, str]], Values]:
    """A text of words, the spans of some, and the row that these are."""
    words = draw(st.lists(st.sampled_from(["Ada", "wrote", "x9", "好", "😀", "."]), min_size=1, max_size=6))
    gaps = [draw(st.sampled_from([" ", "\r\n", "\n", "  "])) for _ in words]
    ends = list(accumulate(len(word) + len(gap) for word, gap in zip(words, gaps, strict=True)))
    places = [(end - len(gap) - len(word), end - len(gap)) for word, gap, end in zip(words, gaps, ends, strict=True)]
    spans, first = list[tuple[int, int, str]](), 0
    while first < len(words) and draw(st.booleans()):
        end = draw(st.integers(first + 1, len(words)))
        spans.append((first, end, draw(st.sampled_from("XY"))))
        first = end
    text = "".join(word + gap for word, gap in zip(words, gaps, strict=True))
    row = {"tokens": words, "tags": tag_schemes.tags(spans, len(words), "bio")}
    return text, [(places[first][0], places[end - 1][1], kind) for first, end, kind in spans], row


@st.composite
def doccano(draw: st.DrawFn) -> File:
    texts = [draw(marked()) for _ in range(draw(MANY))]
    key = draw(st.sampled_from(["label", "labels", "entities"]))

    def mark(first: int, end: int, kind: str) -> Any:
        mapping = {"id": 1, "start_offset": first, "end_offset": end, "label": kind}
        return draw(st.sampled_from([[first, end, kind], mapping]))

    objects = [with_others(draw, {"text": text, key: [mark(*span) for span in spans]}) for text, spans, _ in texts]
    written = [json.dumps(each, ensure_ascii=draw(st.booleans())) for each in objects]
    return encoded(draw, ended(draw, written), SPANS, [row for *_, row in texts])


@st.composite
def label_studio(draw: st.DrawFn) -> File:
    """Either export; offsets that count code points, UTF-16, or CR LF once; annotations that were cancelled."""
    texts = [draw(marked()) for _ in range(draw(MANY))]
    is_small, once, wide = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())

    def offset(text: str) -> int:
        text = text.replace("\r\n", "\n") if once else text
        return len(text.encode("utf-16-le")) // 2 if wide else len(text)

    def value(text: str, first: int, end: int, kind: str) -> Values:
        shown = text[first:end].replace("\r\n", "\n") if once else text[first:end]
        return {"start": offset(text[:first]), "end": offset(text[:end]), "text": shown, "labels": [kind]}

    tasks = []
    for number, (text, spans, _) in enumerate(texts):
        values = draw(st.permutations([value(text, *span) for span in spans]))
        if is_small:
            tasks.append(with_others(draw, {"id": number, "text": text, "ner": values, "annotator": 1}))
            continue
        results = [with_others(draw, {"from_name": "ner", "type": "labels", "value": each}) for each in values]
        cancelled = [{"was_cancelled": True, "result": []}] * draw(st.integers(0, 1))
        annotations = [*cancelled, with_others(draw, {"id": 3, "result": results})]
        tasks.append(with_others(draw, {"id": number, "data": {"text": text}, "annotations": annotations}))
    return document(draw, tasks, SPANS, [row for *_, row in texts], columns={"tags": "ner"})


FILES: Mapping[Format, st.SearchStrategy[File]] = {
    "txt": lines(), "csv": separated(","), "tsv": separated("\t"), "jsonl": json_lines(), "parquet": parquet(),
    "conll": conll(), "squad": squad(), "doccano": doccano(), "label_studio": label_studio(),
}  # fmt: skip


SUFFIXES = {"jsonl": (".jsonl", ".ndjson", ".json"), "squad": (), "doccano": (), "label_studio": ()}
LAYOUTS = (CORPUS, CLASS, LABELS, NUMBER, PAIR_NUMBER, SPANS, TAGS, ANSWER)


def test_every_format_is_here() -> None:
    assert FILES.keys() == FORMATS.keys()


@pytest.mark.parametrize("kind", FILES)
@settings(max_examples=50)
@given(st.data(), st.booleans())
def test_the_rows_are_the_same_in_every_dialect(
    tmp_path_factory: pytest.TempPathFactory, kind: Format, data: st.DataObject, pack: bool
) -> None:
    """The format is told by the name of the file, if it can be."""
    file, suffixes = data.draw(FILES[kind]), SUFFIXES.get(kind, (f".{kind}",))
    name, declared = (data.draw(st.sampled_from(suffixes)), {}) if suffixes else (".any", {"format": kind})
    path = tmp_path_factory.getbasetemp() / f"dialect{name}"
    if pack and kind != "parquet":
        write(path := path.with_name(f"{path.name}.gz"), gzip.compress(file.content))
    else:
        write(path, file.content)
    rows, bad, _ = read(path, file.layout, "" if file.layout == CORPUS else "train", **declared, **file.options)
    assert ([row.values for row in rows], bad) == (file.rows, [])


@pytest.mark.parametrize("kind", FILES)
@settings(max_examples=50)
@given(st.data(), st.booleans())
def test_a_damaged_file_and_any_bytes(
    tmp_path_factory: pytest.TempPathFactory, kind: Format, data: st.DataObject, pack: bool
) -> None:
    """Rows, rows put aside, or one of our errors; as a stage collects them, as any rows, and as rows to predict."""
    file = data.draw(FILES[kind])
    layout, options = file.layout, file.options
    if data.draw(st.booleans()):
        encoding = data.draw(st.sampled_from([None, *COMMON, "utf-32", "iso2022_jp", "ascii"]))
        columns = {} if FORMATS[kind].is_labelled else {"id": "id"}
        layout, options = data.draw(st.sampled_from(LAYOUTS)), {"encoding": encoding, "columns": columns}
    content = data.draw(st.binary(max_size=200)) if data.draw(st.booleans()) else harmed(data, file.content)
    folder = tmp_path_factory.getbasetemp()
    path = write(folder / ("any.gz" if pack else "any"), gzip.compress(content) if pack else content)
    with suppress(UserError), RawWriter(folder, layout) as writer:
        files = Files(path, config(layout, format=kind, **options), "" if layout == CORPUS else "train")
        writer.write(files.rows(), "train", path)
        writer.finish({}, files.warnings)
    if layout.task_type is not None and FORMATS[kind].task_type in (None, layout.task_type):
        with suppress(UserError):
            task = TaskDescription.model_construct(type=spec_of(layout.task_type, layout.target).name)
            list(Input(path, Reader(task, {}), kind, options.get("encoding")).rows())


# --- any JSON

KEYS = ["data", "paragraphs", "qas", "context", "question", "answers", "text", "answer_start", "is_impossible", "label",
        "entities", "start_offset", "end_offset", "annotations", "result", "value", "labels", "choices", "from_name",
        "start", "end", "was_cancelled", "context_text", "query_text"]  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 9), st.floats(), st.sampled_from(["", "a b", "b", "label"])
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)),
    max_leaves=25,
)
GOOD: Values = {
    "text": "a b", "text_a": "a", "text_b": "b", "label": "x", "labels": ["x"], "value": 1.5, "tokens": ["a"],
    "tags": ["O"], "context": "a b", "question": "?", "answers": [],
}  # fmt: skip
CONTENT = st.one_of(
    JSON,
    JSON.map(lambda content: [{"data": {"text": "a b"}, "annotations": [{"result": content}]}]),
    JSON.map(lambda content: {"data": [{"context": "a b", "qas": content}]}),
    st.dictionaries(st.sampled_from([*GOOD]), JSON, min_size=1, max_size=2).map(lambda odd: GOOD | odd),
)


@settings(max_examples=400)
@given(CONTENT, st.sampled_from(["jsonl", "squad", "doccano", "label_studio"]), st.sampled_from(LAYOUTS[1:]))
def test_any_json_gives_rows_or_one_of_our_errors(
    tmp_path_factory: pytest.TempPathFactory, content: Any, kind: str, layout: Layout
) -> None:
    path = write(tmp_path_factory.getbasetemp() / "any.json", json.dumps(content, ensure_ascii=False))
    with suppress(UserError):
        read(path, layout, "train", format=kind)
