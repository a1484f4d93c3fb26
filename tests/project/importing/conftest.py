from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.public_checkpoints import BASES, README, save_source


@pytest.fixture(autouse=True)
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty project with a folder `source`, as the hub has them; at the end nothing may lie beside the base."""
    root = tmp_path / "project"
    (root / BASES).mkdir(parents=True)
    (root / BASES / "README.md").write_text(README)
    (root / "params.yaml").touch()
    monkeypatch.chdir(root)
    yield save_source(Path("source"))
    assert {path.name for path in (*Path("models").iterdir(), *BASES.iterdir())} <= {"init", "README.md", "source"}
    assert (BASES / "README.md").read_text() == README
