"""An entry is added where it belongs, and all other lines stay: comments, order and the user's way of writing."""

from copy import deepcopy
from difflib import ndiff
from pathlib import Path

import pytest

from adaptbert.config import load
from adaptbert.errors import BadParams
from adaptbert.project.editing import params_text
from tests.support.imports import ROOT

FILES = [ROOT / "params.yaml", *sorted((ROOT / "presets").glob("*.yaml"))]
VALUES = {"text": "a: b", "list": [1, "2"], "none": {}, "rate": 5.0e-5, "odd": "2021-99-99"}
COMMENTED = """a:
  # of b
  b: {x: 1}  # behind b
  c:
    d: [1, "2"]
    e: 1_000  # behind e
              # and more of it

# of f
f:
  - 1
  - 0x10  # behind the last

# of g
g: {}  # none yet

# of h
h: 'x'
"""


def added(folder: Path, text: str, path: tuple[str, ...]) -> str:
    """The text with an entry, which says no more than that."""
    file = folder / "params.yaml"
    file.write_text(text, encoding="utf-8")
    document = load.document(text, file)
    here = document
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = deepcopy(VALUES)
    return params_text.added({path: VALUES}, document, file, "by hand")


def new_lines(before: str, after: str) -> list[str]:
    return [line for line in ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nothing_but_the_entry_is_new(file: Path, tmp_path: Path) -> None:
    text = file.read_text(encoding="utf-8")
    lines = new_lines(text, added(tmp_path, text, ("tasks", "mine")))
    assert lines == [
        "+   mine:",
        "+     text: 'a: b'",
        "+     list: [1, '2']",
        "+     none: {}",
        "+     rate: 5e-05",
        "+     odd: '2021-99-99'",
    ]


@pytest.mark.parametrize(
    ("path", "behind"),
    [
        (("a", "new"), "              # and more of it\n  new:\n    text: "),
        (("a", "c", "new"), "              # and more of it\n    new:\n      text: "),
        (("g", "new"), "# of g\ng: {new: {text: "),
        (("new",), "h: 'x'\nnew:\n  text: "),
    ],
)
def test_comments_stay_where_they_are(path: tuple[str, ...], behind: str, tmp_path: Path) -> None:
    after = added(tmp_path, COMMENTED, path)
    assert behind in after
    for comment, key in (("# of b\n", "  b:"), ("# of f\n", "f:"), ("# of g\n", "g:"), ("# of h\n", "h:")):
        assert comment + key in after


@pytest.mark.parametrize("value", ["on", "true", "1e3", "a: b", "#x", "- x", "", " x", "@x", "x#y", "中文", "~",
                                   "1_000", "{", "\n", "2021-99-99", "0x_", "‘x’", "\\"])  # fmt: skip
def test_any_text_is_written_so_that_it_is_read_again(value: str) -> None:
    shown = params_text.shown({("a", "b"): {"x": value, "y": [value]}})
    assert load.document(shown, Path("x")) == {"a": {"b": {"x": value, "y": [value]}}}


def test_a_text_that_says_something_else_is_refused(tmp_path: Path) -> None:
    """An entry of a mapping that stands in two places would be in both."""
    file = tmp_path / "params.yaml"
    file.write_text("a: &x {b: 1}\nc: *x\n")
    with pytest.raises(BadParams, match=r"AB-217 .*params\.yaml: written in a way that this command cannot change"):
        params_text.added({("c", "d"): {"e": 1}}, {"a": {"b": 1}, "c": {"b": 1, "d": {"e": 1}}}, file, "by hand")
