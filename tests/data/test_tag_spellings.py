"""Tags that files write in other ways than the schemes."""

import pytest

from adaptbert.data.tag_spellings import respelled


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
