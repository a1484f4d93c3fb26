"""An entry is added where it belongs, and all other lines stay; files are written where they lie."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptbert.config import load
from adaptbert.config.plan import PLAN
from adaptbert.errors import BadParams, Unwritable
from adaptbert.project import editing
from tests.support.commands import run
from tests.support.imports import ROOT
from tests.support.own_project import rows
from tests.support.rules import recipe

PARAMS = Path("params.yaml")
FILES = [ROOT / "params.yaml", ROOT / "presets/smoke.yaml"]
VALUES = {"text": "a: b", "list": [1, "2"], "none": {}, "rate": 5.0e-5, "odd": "2021-99-99"}
COMMENTED = """a:
    # of b
    b: {x: 1}  # behind b
    c:
      d: [1, "2"]
      e: 1_000  # behind e
                # and more of it

# of f
f: {}  # none yet

# of g
g:
  h: 'x'"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def added(text: str, section: str = "tasks") -> str:
    """The text with an entry, which says no more than that."""
    PARAMS.write_bytes(text.encode())
    document = load.document(text.removeprefix("\ufeff"), PARAMS)
    document[section] = document[section] | {"mine": VALUES}
    return editing.added(section, {"mine": VALUES}, document).decode()


@pytest.mark.parametrize(
    ("text", "section", "above"),
    [
        *((file.read_text(encoding="utf-8"), "tasks", "columns: {id: id, group: docstring}") for file in FILES[:2]),
        (COMMENTED, "a", "                # and more of it"),
        (COMMENTED, "g", "  h: 'x'"),
    ],
)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_nothing_but_the_entry_is_new(text: str, section: str, above: str, mark: str, end: str) -> None:
    """A byte-order mark, ends of lines and comments stay, also where the file has no last line break."""
    before = f"{mark}{text}".split("\n")
    after = added(end.join(before), section).split(end)
    indent = "    " if section == "a" else "  "
    entry = [
        f"{indent}mine:",
        *(f"{indent * 2}{line}" for line in ("text: 'a: b'", "list: [1, '2']", "none: {}", "rate: 5.0e-5")),
        f"{indent * 2}odd: '2021-99-99'",
    ]
    begin = after.index(entry[0])
    assert (after[begin - 1].strip(), after[begin : begin + 6]) == (above.strip(), entry)
    assert after[:begin] + after[begin + 6 :] == before


ODD = [
    "on", "?a", "1e3", "a: b", "#x", "- x", "", " x", "@x", "~", "1_000", "{", "\n", "2021-99-99", "0x_", "‘x’", "\\",
]  # fmt: skip


@given(st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=9))
def test_any_text_is_written_so_that_it_is_read_again(value: str) -> None:
    shown = editing.shown("a", {"b": {"x": value, "y": [value]}}, "comment")
    assert load.document(shown, Path("x")) == {"a": {"b": {"x": value, "y": [value]}}}


@pytest.mark.parametrize("text", ["a: {b: 1}\n", "x: &x {b: 1}\na: *x\n"])
def test_a_text_that_would_say_something_else_is_refused(text: str) -> None:
    with pytest.raises(BadParams, match=r"AB-217 .*: a are written in a way that this command cannot change"):
        added(text, "a")


@pytest.mark.parametrize("command", ["plan", "add-task --train data/rooms.jsonl --yes"])
def test_links_and_permissions_stay(command: str, project: Path) -> None:
    Path("data/rooms.jsonl").write_text(rows(100))
    before, real = PARAMS.read_bytes(), {path: project.parent / f"real-{path.name}" for path in (PARAMS, PLAN)}
    for path, file in real.items():
        path.rename(file)
        path.symlink_to(file)
        file.chmod(0o600)
    PLAN.write_text("")
    done = run(*command.split())
    assert done.exit_code == 0, done.output
    assert PLAN.read_text().startswith('{"plan": ')
    assert (PARAMS.read_bytes() == before) == (command == "plan")
    assert {path: path.readlink() for path in real} == real
    assert {file.stat().st_mode & 0o777 for file in real.values()} == {0o600}


@pytest.mark.parametrize("is_there", [True, False])
def test_what_fails_leaves_what_was_there(is_there: bool, tmp_path: Path) -> None:
    """A folder in the place of plan.json."""
    Path("stages").symlink_to(ROOT / "stages")
    PLAN.mkdir()
    real = tmp_path / "real"
    PARAMS.symlink_to(real)
    if is_there:
        real.write_text("old")
    with pytest.raises(Unwritable):
        editing.write_recipe(recipe(), b"new")
    assert PARAMS.is_symlink()
    assert (real.read_text() if real.exists() else None) == ("old" if is_there else None)


def test_only_what_exists_elsewhere_is_overwritten(project: Path) -> None:
    """A preset, what git has, what `adaptbert new` wrote last; or nothing."""
    editing.check_replaceable(PARAMS)
    PARAMS.write_text(f"{PARAMS.read_text()}# mine\n")
    with pytest.raises(BadParams, match=r"holds changes that are neither committed nor a preset\n  commit it"):
        editing.check_replaceable(PARAMS)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["add", "params.yaml"], [*identity, "commit", "-q", "-m", "mine"]):
        subprocess.run(["git", *command], check=True)
    editing.check_replaceable(PARAMS)
    PARAMS.write_text("as new wrote it")
    editing.AS_NEW.parent.mkdir()
    editing.AS_NEW.write_text("as new wrote it")
    editing.check_replaceable(PARAMS)
    PARAMS.unlink()
    editing.check_replaceable(PARAMS)
