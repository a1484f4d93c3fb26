"""An entry is added where it belongs, and all other lines stay; files are written where they lie."""

from copy import deepcopy
from difflib import ndiff
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptbert.config import load
from adaptbert.config.plan import PLAN
from adaptbert.core.files import Blocked
from adaptbert.errors import BadParams
from adaptbert.project import editing
from tests.project.conftest import rows
from tests.support.commands import run
from tests.support.imports import ROOT
from tests.support.rules import recipe

PARAMS = Path("params.yaml")
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


def added(folder: Path, text: str, keys: tuple[str, ...]) -> str:
    """The text with an entry, which says no more than that."""
    file = folder / "params.yaml"
    file.write_bytes(text.encode())
    document = load.document(text.removeprefix("\ufeff"), file)
    here = document
    for key in keys[:-1]:
        here = here[key]
    here[keys[-1]] = deepcopy(VALUES)
    return editing.added(keys, VALUES, document, file, "by hand").decode()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nothing_but_the_entry_is_new(file: Path, tmp_path: Path) -> None:
    text = file.read_text(encoding="utf-8")
    after = added(tmp_path, text, ("tasks", "mine"))
    assert [line for line in ndiff(text.splitlines(), after.splitlines()) if line[0] in "+-"] == [
        "+   mine:",
        "+     text: 'a: b'",
        "+     list: [1, '2']",
        "+     none: {}",
        "+     rate: 5e-05",
        "+     odd: '2021-99-99'",
    ]


@pytest.mark.parametrize(
    ("keys", "behind"),
    [
        (("a", "new"), "              # and more of it\n  new:\n    text: "),
        (("a", "c", "new"), "              # and more of it\n    new:\n      text: "),
        (("g", "new"), "# of g\ng: {new: {text: "),
        (("new",), "h: 'x'\nnew:\n  text: "),
    ],
)
def test_comments_stay_where_they_are(keys: tuple[str, ...], behind: str, tmp_path: Path) -> None:
    after = added(tmp_path, COMMENTED, keys)
    assert behind in after
    for comment, key in (("# of b\n", "  b:"), ("# of f\n", "f:"), ("# of g\n", "g:"), ("# of h\n", "h:")):
        assert comment + key in after


ODD = [
    "on", "?a", "1e3", "a: b", "#x", "- x", "", " x", "@x", "~", "1_000", "{", "\n", "2021-99-99", "0x_", "‘x’", "\\",
]  # fmt: skip


@given(st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=9))
def test_any_text_is_written_so_that_it_is_read_again(value: str) -> None:
    shown = editing.shown("a", {"b": {"x": value, "y": [value]}}, "comment")
    assert load.document(shown, Path("x")) == {"a": {"b": {"x": value, "y": [value]}}}


def test_a_text_that_says_something_else_is_refused(tmp_path: Path) -> None:
    """An entry of a mapping that stands in two places would be in both."""
    file = tmp_path / "params.yaml"
    file.write_text("a: &x {b: 1}\nc: *x\n")
    with pytest.raises(BadParams, match=r"AB-217 .*params\.yaml: written in a way that this command cannot change"):
        editing.added(("c", "d"), {"e": 1}, {"a": {"b": 1}, "c": {"b": 1, "d": {"e": 1}}}, file, "by hand")


@pytest.mark.parametrize(
    "command",
    [
        "plan",
        "add-task --train data/rooms.jsonl --yes",
        "new . --general data/demo/general.jsonl --train data/rooms.jsonl --force",
    ],
)
def test_links_and_permissions_stay(command: str, project: Path) -> None:
    Path("data/rooms.jsonl").write_text(rows(100))
    before, real = PARAMS.read_bytes(), {}
    for path in (PARAMS, PLAN):
        real[path] = project.parent / f"real-{path.name}"
        path.rename(real[path])
        path.symlink_to(real[path])
        real[path].chmod(0o600)
    PLAN.write_text("")
    done = run(*command.split())
    assert done.exit_code == 0, done.output
    assert PLAN.read_text().startswith('{"plan": ')
    assert (PARAMS.read_bytes() == before) == (command == "plan")
    assert {path: path.readlink() for path in real} == real
    assert {file.stat().st_mode & 0o777 for file in real.values()} == {0o600}


@pytest.mark.parametrize(("mark", "end"), [("\ufeff", "\n"), ("", "\r\n"), ("\ufeff", "\r\n")])
def test_a_byte_order_mark_and_ends_of_lines_stay(mark: str, end: str, tmp_path: Path) -> None:
    text = mark + COMMENTED.replace("\n", end)
    assert added(tmp_path, text, ("new",)) == mark + added(tmp_path, COMMENTED, ("new",)).replace("\n", end)


@pytest.mark.parametrize("is_there", [True, False])
def test_what_fails_leaves_what_was_there(is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in the place of plan.json."""
    monkeypatch.chdir(tmp_path)
    PLAN.mkdir()
    real = tmp_path / "real"
    PARAMS.symlink_to(real)
    if is_there:
        real.write_text("old")
    with pytest.raises(Blocked):
        editing.write_recipe(recipe(), b"new")
    assert PARAMS.is_symlink()
    assert (real.read_text() if real.exists() else None) == ("old" if is_there else None)
