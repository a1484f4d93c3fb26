"""Whatever a file holds: rows, rows put aside, or one of our errors; never another exception."""

import gzip
import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.config.schema.sources import Format
from adaptbert.data.collect import RawWriter
from adaptbert.data.files import Files
from adaptbert.data.formats import FORMATS as SPECS
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.read_text import COMMON
from adaptbert.errors import UserError
from adaptbert.prediction.inputs import Input, Reader
from tests.support.format_examples import examples
from tests.support.harming import harmed
from tests.support.reading import ANSWER, CLASS, LABELS, NUMBER, PAIR_NUMBER, SPANS, TAGS, config, load

LAYOUTS = (CORPUS, CLASS, LABELS, NUMBER, PAIR_NUMBER, SPANS, TAGS, ANSWER)
FORMATS = get_args(Format)
RECORD = {
    "id": 7, "text": "The cat 😀", "text_a": "a", "text_b": "b", "label": "x", "labels": ["x", "y"], "value": 1.5,
    "tokens": ["The", "cat"], "tags": ["O", "B-X"], "context": "The cat sat", "question": "who?",
    "answers": {"text": ["The cat"], "answer_start": [0]},
}  # fmt: skip
TABLE = 'id,text,text_a,text_b,label,labels,value\n1,"The, cat",a,b,x,x;y,1.5\n2,猫,c,d,y,,2\n'


def parquet_bytes() -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([RECORD] * 3), stream)
    return stream.getvalue()


WHOLE: dict[str, bytes] = {
    "txt": "a line\nanother 猫\r\n\n".encode(),
    "csv": TABLE.encode(),
    "tsv": TABLE.replace(",", "\t").encode(),
    "jsonl": (json.dumps(RECORD) + "\n").encode() * 2,
    "parquet": parquet_bytes(),
    **{example.format: example.text.encode() for example in examples() if SPECS[example.format].is_labelled},
}


def rows_or_why(folder: Path, kind: Format, layout: Layout, content: bytes, encoding: str | None, pack: bool) -> None:
    """Collected and written as a stage does; and read by `predict`."""
    path = folder / ("any.gz" if pack else "any")
    path.write_bytes(gzip.compress(content) if pack else content)
    columns = {} if SPECS[kind].is_labelled else {"id": "id"}
    section = config(layout, format=kind, encoding=encoding, columns=columns)
    with suppress(UserError), RawWriter(folder, layout) as writer:
        files = Files(path, section, "" if layout == CORPUS else "train")
        writer.write(files.rows(), "train", path)
        writer.finish({}, files.warnings)
    if layout.task_type is not None and SPECS[kind].holds(layout.task_type):
        with suppress(UserError):
            list(Input(path, layout.task_type, Reader(layout.task_type, {}), kind, encoding).rows())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any")


@pytest.mark.parametrize("kind", FORMATS)
def test_the_samples_are_read(tmp_path: Path, kind: Format) -> None:
    """Else harming them would show nothing."""
    (tmp_path / "any").write_bytes(WHOLE[kind])
    rows = 0
    for layout in LAYOUTS:
        with suppress(UserError):
            split = "" if layout == CORPUS else "train"
            files = Files(tmp_path / "any", config(layout, format=kind, columns={}), split)
            rows += sum(row.problem is None for row in files.rows())
    assert rows


@settings(max_examples=250, deadline=None)
@given(
    st.sampled_from(FORMATS),
    st.sampled_from(LAYOUTS),
    st.none() | st.sampled_from([*COMMON, "utf-32", "iso2022_jp", "ascii"]),
    st.booleans(),
    st.none() | st.binary(max_size=200),
    st.data(),
)
def test_a_harmed_file_and_any_bytes(
    folder: Path,
    kind: Format,
    layout: Layout,
    encoding: str | None,
    pack: bool,
    content: bytes | None,
    draw: st.DataObject,
) -> None:
    rows_or_why(folder, kind, layout, harmed(draw, WHOLE[kind]) if content is None else content, encoding, pack)


# --- any JSON, any lines

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

FILES = st.one_of(
    JSON,
    JSON.map(lambda content: [{"data": {"text": "a b"}, "annotations": [{"result": content}]}]),
    JSON.map(lambda content: {"data": [{"context": "a b", "qas": content}]}),
    JSON.map(lambda content: {"text": "a b", "label": content}),
)


@settings(max_examples=400, deadline=None)
@given(FILES, st.sampled_from(["squad", "doccano", "label_studio"]), st.sampled_from([CLASS, LABELS, SPANS, ANSWER]))
def test_any_json_gives_rows_or_one_of_our_errors(
    tmp_path_factory: pytest.TempPathFactory, content: Any, kind: str, layout: Layout
) -> None:
    with suppress(UserError):
        load(tmp_path_factory.getbasetemp() / "any.json", layout, content, format=kind)
