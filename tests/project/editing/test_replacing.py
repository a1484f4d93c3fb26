"""Commands write the files of the user where these lie: through links, with their permissions and their marks."""

from codecs import BOM_UTF8
from contextlib import suppress
from pathlib import Path

import pytest

from adaptbert.config.plan import PLAN
from adaptbert.project.editing import replacing
from tests.project.tasks.conftest import rows
from tests.support.commands import run

PARAMS = Path("params.yaml")
ADD = ["add-task", "data/rooms.jsonl", "--yes"]
COMMANDS = [["plan"], ADD, ["use", "smoke", "--force"]]


@pytest.fixture(autouse=True)
def _rooms(project: Path) -> None:
    (project / "data/rooms.jsonl").write_text(rows(100))


def moved_away(path: Path) -> Path:
    """The file, elsewhere; a link is in its place."""
    real = path.absolute().parent.parent / f"real-{path.name}"
    path.rename(real)
    path.symlink_to(real)
    return real


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_links_and_permissions_stay(command: list[str]) -> None:
    PLAN.write_text("")
    real = {path: moved_away(path) for path in (PARAMS, PLAN)}
    before = PARAMS.read_bytes()
    for path in real.values():
        path.chmod(0o600)
    done = run(*command)
    assert done.exit_code == 0, done.output
    assert PLAN.read_text().startswith('{"plan": ')
    assert (PARAMS.read_bytes() == before) == (command == ["plan"])
    for path, file in real.items():
        assert path.readlink() == file
        assert mode(file) == 0o600


def test_a_byte_order_mark_stays() -> None:
    PARAMS.write_bytes(BOM_UTF8 + PARAMS.read_bytes())
    done = run(*ADD)
    assert done.exit_code == 0, done.output
    assert PARAMS.read_bytes().startswith(BOM_UTF8 + b"#")


@pytest.mark.parametrize("is_there", [True, False])
def test_what_fails_leaves_what_was_there(is_there: bool) -> None:
    path, real = Path("link"), Path("real")
    path.symlink_to(real)
    if is_there:
        real.write_text("old")
    with suppress(KeyError), replacing.replaced(path, "new"):
        assert real.read_text() == "new"
        raise KeyError
    assert path.is_symlink()
    assert (real.read_text() if real.exists() else None) == ("old" if is_there else None)
