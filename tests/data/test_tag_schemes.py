"""Tag schemes: spans and tags are inverse, strict reading refuses what does not fit, the nearest legal row is near;
and tags that files write in other ways.
"""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptbert.config.schema.sources import Scheme
from adaptbert.data.tag_schemes import Span, fits, legal, looks_like, spans, tags
from adaptbert.data.tag_spellings import respelled

LETTERS = {"io": "I", "bio": "BI", "iob1": "BI", "iobes": "BIES"}


@st.composite
def spans_of_a_row(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Spans that do not overlap; many touch."""
    gaps = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4), st.sampled_from(["X", "Y", "a-b"]))))
    row_spans: list[Span] = []
    place = 0
    for gap, length, kind in gaps:
        row_spans.append((place + gap, place + gap + length, kind))
        place += gap + length
    return row_spans, place + draw(st.integers(0, 2))


@given(spans_of_a_row(), st.sampled_from(["bio", "iob1", "iobes"]))
def test_spans_to_tags_and_back(row: tuple[list[Span], int], scheme: Scheme) -> None:
    row_spans, length = row
    written = tags(row_spans, length, scheme)
    assert len(written) == length
    assert spans(written, scheme) == row_spans
    assert legal(written, scheme) == written


@given(spans_of_a_row())
def test_io_keeps_which_token_is_of_which_type(row: tuple[list[Span], int]) -> None:
    row_spans, length = row
    written = tags(row_spans, length, "io")
    covered = {place: kind for first, end, kind in row_spans for place in range(first, end)}
    assert written == [f"I-{covered[place]}" if place in covered else "O" for place in range(length)]
    assert tags(spans(written, "io"), length, "io") == written


@given(st.lists(st.sampled_from(["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "E-Y", "S-Y"]), max_size=8))
def test_the_nearest_legal_row_keeps_types_and_is_its_own(row: list[str]) -> None:
    mended = legal(row, "iobes")
    assert fits(mended, "iobes")
    assert [tag[2:] for tag in mended] == [tag[2:] for tag in row]
    assert legal(mended, "iobes") == mended
    if fits(row, "iobes"):
        assert mended == row


@pytest.mark.parametrize(
    ("scheme", "row", "mended"),
    [
        ("bio", "I-X I-X O I-Y B-X I-Y", "B-X I-X O B-Y B-X B-Y"),
        ("bio", "B-X I-Y I-Y", "B-X B-Y I-Y"),
        ("iob1", "B-X I-X O I-Y I-X B-X", "I-X I-X O I-Y I-X B-X"),
        ("iobes", "E-X B-X O I-X I-X S-X I-X", "S-X S-X O B-X E-X S-X S-X"),
    ],
)
def test_what_the_nearest_legal_row_is(scheme: Scheme, row: str, mended: str) -> None:
    assert not fits(row.split(), scheme)
    assert legal(row.split(), scheme) == mended.split()


@pytest.mark.parametrize(
    ("scheme", "entity"),
    [("bio", "B{0}(I{0})*"), ("iob1", "[BI]{0}(I{0})*"), ("iobes", "S{0}|B{0}(I{0})*E{0}")],
)
def test_strict_reading_is_what_the_grammar_of_a_scheme_finds(scheme: Scheme, entity: str) -> None:
    """Exhaustive to length 3: a regular expression over two characters a tag reads the same spans."""
    grammar = re.compile("|".join(entity.format(kind) for kind in "XY"))
    known = ["O", *(f"{letter}-{kind}" for letter in LETTERS[scheme] for kind in "XY")]
    for row in map(list, (row for length in (1, 2, 3) for row in product(known, repeat=length))):
        if fits(row, scheme):
            entities = grammar.finditer("".join(tag.replace("-", "").ljust(2) for tag in row))
            read_spans = [(entity.start() // 2, entity.end() // 2, entity[0][1]) for entity in entities]
            assert spans(row, scheme) == read_spans, row
            assert tags(read_spans, len(row), scheme) == row


def test_other_letters_of_iobes() -> None:
    assert spans(["B-X", "L-X", "U-Y", "O"], "iobes") == spans(["B-X", "E-X", "S-Y", "O"], "iobes")
    assert legal(["B-X", "M-X", "E-X"], "iobes") == ["B-X", "I-X", "E-X"]


def test_io_reads_bare_types() -> None:
    assert spans(["PER", "PER", "O", "I-LOC"], "io") == [(0, 2, "PER"), (3, 4, "LOC")]


@pytest.mark.parametrize("tag", ["X", "B-", "-X", "", "S-X", "b-X"])
def test_tags_of_no_scheme(tag: str) -> None:
    for read in (spans, legal):
        with pytest.raises(ValueError, match="bio"):
            read([tag], "bio")


@pytest.mark.parametrize(
    ("rows", "scheme"),
    [
        (["O O"], "bio"),
        (["B-X I-X O B-Y", "I-X"], "bio"),
        (["I-X I-X O I-Y", "O I-X"], "io"),
        (["I-X B-X O I-Y", "O I-X"], "iob1"),
        (["B-X E-X O S-Y", "O O"], "iobes"),
        (["PER PER O"], "io"),
    ],
)
def test_the_scheme_of_some_rows(rows: list[str], scheme: Scheme) -> None:
    assert looks_like([row.split() for row in rows]) == scheme


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("B I O", "B-SPAN I-SPAN O"),
        ("B M E S", "B-SPAN M-SPAN E-SPAN S-SPAN"),
        ("B_PER I_PER O", "B-PER I-PER O"),
        ("B:PER I:PER 0", "B-PER I-PER O"),
        ("PER-B PER-I o", "B-PER I-PER O"),
        ("b-per i-per O odd", "B-per I-per O odd"),
        ("B-PER I-PER 0", "B-PER I-PER O"),
        ("PER LOC 0", "PER LOC O"),
        ("PER LOC -", "PER LOC O"),
        ("PER OTHER", "PER O"),
        ("PER OTHER O -", "PER OTHER O -"),
        ("B-PER I-PER O", "B-PER I-PER O"),
        ("B-PER E-PER U-PER", "B-PER E-PER U-PER"),
        ("PER LOC O", "PER LOC O"),
        ("B_CELL T_CELL LINE O", "B_CELL T_CELL LINE O"),
        ("0 1 2", "0 1 2"),
        ("n v b i", "n v b i"),
    ],
)
def test_tags_in_another_spelling(theirs: str, ours: str) -> None:
    spelling = respelled(theirs.split())
    assert " ".join(spelling.get(tag, tag) for tag in theirs.split()) == ours
    assert respelled(ours.split()) == {}
