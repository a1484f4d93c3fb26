from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.public_checkpoints import INIT, README, save_source


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, in which the process stands."""
    root = tmp_path / "project"
    (root / INIT).mkdir(parents=True)
    (root / INIT / "README.md").write_text(README)
    (root / "params.yaml").touch()
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def source(project: Path) -> Iterator[Path]:
    """A project with a folder `source`, as the hub has them; at the end nothing may lie beside models/init."""
    yield save_source(project / "source")
    assert [path.name for path in Path("models").iterdir()] == ["init"]
