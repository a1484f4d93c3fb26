"""The files of a new project, and what an upgrade does with those that the user has edited."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from adaptbert.errors import BadParams, Unwritable
from adaptbert.project import template
from adaptbert.project.template import DIGESTS, PYPROJECT
from tests.support.commands import run
from tests.support.imports import ROOT


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project, without data."""
    folder = tmp_path / "mood-study"
    folder.mkdir()
    template.write(folder)
    monkeypatch.chdir(folder)
    return folder


def another_version(monkeypatch: pytest.MonkeyPatch, changes: dict[str, str | None]) -> None:
    """Version 9.9, with text added to files of a project, or without some."""
    monkeypatch.setattr(template, "VERSION", "9.9")
    files = template.files

    def changed(name: str) -> dict[Path, bytes]:
        new = files(name)
        for path, more in changes.items():
            if more is None:
                del new[Path(path)]
            else:
                new[Path(path)] = new.get(Path(path), b"") + more.encode()
        return new

    monkeypatch.setattr(template, "files", changed)


def state() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def test_the_files_are_those_of_this_repository(study: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    written = {name for name in state() if not name.startswith(".adaptbert")}
    template = ROOT / "adaptbert/template"
    of_projects = {path.relative_to(template).as_posix().removesuffix(".j2") for path in template.rglob("*")}
    same = written - of_projects - {"dvc.yaml"}
    assert same <= set(listed)
    assert {name for name in same if Path(name).read_bytes() != (ROOT / name).read_bytes()} == set()
    assert {name for name in listed if name.startswith(("stages/", "flows/", ".dvc/", "data/", "models/"))} <= same
    lines, ours = (Path(folder, "dvc.yaml").read_text(encoding="utf-8").splitlines() for folder in (study, ROOT))
    other = [(old, new) for old, new in zip(ours, lines, strict=True) if old != new]
    assert other == [("      - adaptbert", "      - pyproject.toml")]


def test_what_is_written_of_a_project_alone(study: Path) -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    assert (project["name"], project["dependencies"]) == ("mood-study", [f"adaptbert=={template.VERSION}"])
    assert len(Path("README.md").read_text(encoding="utf-8").splitlines()) <= 31
    workflow = YAML(typ="safe").load(Path(".github/workflows/check.yml").read_text(encoding="utf-8"))
    assert [step["run"] for step in workflow["jobs"]["check"]["steps"] if "make" in step.get("run", "")][
        1
    ] == "make test"
    compile(Path("tests/test_project.py").read_text(encoding="utf-8"), "test_project.py", "exec")


@pytest.mark.parametrize(
    ("folder", "name"), [("Mood study.2", "Mood-study.2"), ("研究", "study"), ("adaptbert", "adaptbert-study")]
)
def test_a_name_that_pip_takes(folder: str, name: str) -> None:
    assert template.name_of(Path(folder)) == name


@pytest.mark.usefixtures("study")
def test_the_same_version_changes_nothing() -> None:
    before = state()
    assert [*template.upgrade()] == [f"adaptbert {template.VERSION} -> {template.VERSION}"]
    assert state() == before


@pytest.mark.usefixtures("study")
def test_an_upgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody edited is replaced, what somebody removed stays away; an edit is kept, and more is shown."""
    for name, more in (("Makefile", "mine:\n"), (".gitignore", "/mine\n"), ("pyproject.toml", "[tool.mine]\n")):
        Path(name).write_text(Path(name).read_text(encoding="utf-8") + more, encoding="utf-8")
    Path("prefect.toml").unlink()
    changes = dict.fromkeys(["dvc.yaml", "Makefile", "prefect.toml", "stages/fresh.py"], "# newer\n")
    another_version(monkeypatch, {**changes, "data/sources/words.txt": None, ".dvcignore": None})
    Path(".dvcignore").write_text("mine\n", encoding="utf-8")
    before = template.PYPROJECT.read_text(encoding="utf-8")
    old = tomllib.loads(before)["project"]["dependencies"][0].partition("==")[2]
    lines = [*template.upgrade()]
    assert [line for line in lines if line[:1] not in "+- @" or line.startswith(("---", "+++"))] == [
        f"adaptbert {old} -> 9.9",
        "you edited Makefile, and it stays as it is; to merge by hand:",
        "--- Makefile (yours)",
        "+++ Makefile (adaptbert 9.9)",
        "replaced: dvc.yaml",
        "new: stages/fresh.py",
        "removed: data/sources/words.txt, which adaptbert no longer has",
    ]
    assert {"-mine:", "+# newer"} <= {*lines}
    assert PYPROJECT.read_text(encoding="utf-8") == before.replace(f"=={old}", "==9.9")
    assert Path("dvc.yaml").read_text(encoding="utf-8").endswith("# newer\n")
    assert Path("Makefile").read_text(encoding="utf-8").endswith("mine:\n")
    assert not Path("prefect.toml").exists()
    assert Path(".dvcignore").read_text(encoding="utf-8") == "mine\n"
    after = state()
    assert [*template.upgrade()] == ["adaptbert 9.9 -> 9.9"]
    assert state() == after, "twice changes nothing"


@pytest.mark.usefixtures("study")
def test_a_file_where_a_folder_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    another_version(monkeypatch, {"mine/fresh.py": "# newer\n"})
    Path("mine").write_text("mine\n", encoding="utf-8")
    with pytest.raises(Unwritable, match=r"AB-184 .*/mine: not a folder, and one belongs there"):
        [*template.upgrade()]


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize(
    "form", ['"adaptbert[cluster]=={}"', "'adaptbert [a, b] == {}'", "\"Adaptbert=={} ; python_version > '3'\""]
)
def test_another_version_than_the_pinned_one(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """Nothing runs with code of which plan.json does not speak, in whichever form a requirement is written."""
    template.check_version()
    here = PYPROJECT.read_text(encoding="utf-8")
    PYPROJECT.write_text(re.sub('"adaptbert==(.+)"', form.format(r"\1"), here), encoding="utf-8")
    another_version(monkeypatch, {})
    with pytest.raises(BadParams, match=r"AB-154 pyproject.toml: pins adaptbert [\d.]+, and 9.9 is installed in"):
        template.check_version()
    assert "AB-154 pyproject.toml: pins" in run("plan").output
    assert [*template.upgrade()][1:] == []
    assert form.format("9.9") in PYPROJECT.read_text(encoding="utf-8")
    template.check_version()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "AB-198 .adaptbert/template.json: missing: no project of `adaptbert new`"),
        ("[]x", "AB-198 .adaptbert/template.json: it or pyproject.toml cannot be read: Extra data"),
        ("3", "AB-198 .adaptbert/template.json: it or pyproject.toml cannot be read: 'int'"),
    ],
)
def test_no_project_to_upgrade(content: str | None, message: str, study: Path) -> None:
    DIGESTS.unlink()
    if content is not None:
        DIGESTS.write_text(content, encoding="utf-8")
    before = state()
    done = run("upgrade")
    assert (done.exit_code, message in done.output) == (78, True), done.output
    assert state() == before


@pytest.mark.usefixtures("study")
def test_digests_are_of_what_was_written() -> None:
    assert {*json.loads(DIGESTS.read_text(encoding="utf-8"))} == {*state()} - {str(DIGESTS)}
