"""`adaptbert add-task`: one block, its options, its files and plan.json, all of it or nothing."""

import os
import re
from collections.abc import Callable
from difflib import ndiff
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from adaptbert.cli import app
from adaptbert.config import load as params
from adaptbert.config import plan as planning
from adaptbert.config import plan_file
from adaptbert.config import recipe as recipes
from adaptbert.errors import BadParams
from adaptbert.project import own_data
from adaptbert.project.own_data import open_repository
from adaptbert.project.tasks.adding import prepare
from adaptbert.project.tasks.task_inference import Said
from tests.project.tasks.conftest import rows

PARAMS, OWN = Path("params.yaml"), Path("data/own")


def add(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["add-task", "--yes", *arguments])


def state(project: Path) -> dict[Path, bytes]:
    """Every file of the project but those of DVC and git, and locks."""
    paths = [path for path in project.rglob("*") if path.is_file() and not path.is_symlink()]
    return {path: path.read_bytes() for path in paths if not {".dvc", ".git", ".work"} & {*path.parts}}


def test_what_is_written(project: Path, reviews: list[str]) -> None:
    before = PARAMS.read_text()
    done = add(*reviews)
    assert done.exit_code == 0, done.output
    lines = [line for line in ndiff(before.splitlines(), PARAMS.read_text().splitlines()) if line[0] in "+-"]
    assert lines == [
        "+   reviews:",
        "+     type: text-classification",
        "+     columns: {text: sentence}",
        "+     train: data/own/Reviews.train.jsonl",
        "+     dev: data/own/Reviews.dev.jsonl",
        "+     test: data/own/Reviews.test.jsonl",
    ]
    plan_file.check(recipes.read())
    assert sum(cell.task == "reviews" for cell in planning.read().finetune.values()) == 10
    with open_repository() as repo:
        assert [out.status() for out in repo.index.outs] == [{}] * 3, "DVC has their bytes"
    assert done.output.splitlines()[0] == "task reviews"
    assert done.output.splitlines()[-3:] == [
        "data/own: 3 files, 6.1 kB, 3 of them copied now",
        "task reviews is in params.yaml, and its cells (10) in plan.json",
        "now run: dvc repro",
    ]


def test_one_file_of_the_project_is_split_where_it_lies(project: Path) -> None:
    path = project / "data/all.jsonl"
    path.write_text(rows(100))
    done = add("data/all.jsonl", "--name", "rooms")
    assert done.exit_code == 0, done.output
    section = params.read(PARAMS)["tasks"]["rooms"]
    assert {section[split] for split in ("train", "dev", "test")} == {"data/all.jsonl"}
    assert section["split"] == {"dev": 0.1, "test": 0.2}
    assert not OWN.exists()


@pytest.mark.parametrize(
    ("path", "place"),
    [
        pytest.param("../outside/a.jsonl", OWN / "a.jsonl", id="outside, by .."),
        pytest.param("data/../../outside/a.jsonl", OWN / "a.jsonl", id="outside, by .. further in"),
        pytest.param("data/linked/a.jsonl", OWN / "a.jsonl", id="a folder that is a link"),
        pytest.param("data/link.jsonl", OWN / "link.jsonl", id="a file that is a link"),
        pytest.param("../project/data/inside.jsonl", Path("data/inside.jsonl"), id="inside, by .."),
    ],
)
def test_the_place_of_a_file_is_in_the_project(path: str, place: Path, project: Path) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    (outside / "a.jsonl").write_text(rows(100))
    Path("data/inside.jsonl").write_text(rows(100))
    Path("data/linked").symlink_to(outside)
    Path("data/link.jsonl").symlink_to(outside / "a.jsonl")
    done = add(path, "--name", "rooms")
    assert done.exit_code == 0, done.output
    assert params.read(PARAMS)["tasks"]["rooms"]["train"] == str(place)
    assert not place.is_symlink()
    assert place.read_text() == rows(100)


def test_a_link_that_dvc_has_put_there_is_its_file(project: Path) -> None:
    """As with `cache.type symlink`."""
    cached = project / ".dvc/cached"
    cached.write_text(rows(100))
    OWN.mkdir()
    (OWN / "a.jsonl").symlink_to(cached)
    (OWN / "a.jsonl.dvc").touch()
    assert add(str(OWN / "a.jsonl"), "--name", "rooms").exit_code == 0
    assert params.read(PARAMS)["tasks"]["rooms"]["train"] == str(OWN / "a.jsonl")
    assert (OWN / "a.jsonl").is_symlink()


@pytest.mark.parametrize("missing", [False, True], ids=["there", "recorded only"])
def test_sets_whose_files_have_one_name(missing: bool, project: Path) -> None:
    """Also where files of equal size have one time, as from an archive, and in a clone before `dvc pull`."""
    contents = {}
    for task, begin in (("one", 100), ("two", 300)):
        (project.parent / task).mkdir()
        for split, first in (("train", 0), ("dev", 100)):
            path = project.parent / task / f"{split}.jsonl"
            contents[task, split] = rows(30, begin + first)
            path.write_text(contents[task, split])
            os.utime(path, (1e9, 1e9))
        done = add(*(str(project.parent / task / f"{split}.jsonl") for split in ("train", "dev")), "--name", task)
        assert done.exit_code == 0, done.output
        if missing:
            for path in OWN.glob("*.jsonl"):
                path.unlink()
    assert f"{project.parent}/two/dev.jsonl is copied as data/own/two.dev.jsonl: its name is taken" in (
        done.output.partition("for params.yaml")[0].splitlines()
    )
    with open_repository() as repo:
        repo.checkout()
    for (task, split), content in contents.items():
        assert Path(params.read(PARAMS)["tasks"][task][split]).read_text() == content


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (
            ["--name", "section"],
            78,
            "error: AB-112 params.yaml: tasks.section: the name is taken\n  choose another",
        ),
        (["--name", "small"], 78, "error: AB-112 params.yaml: bases.small: the name is taken\n"),
        (
            ["--name", "My-Task"],
            78,
            "error: AB-112 --name My-Task: 'My-Task' cannot be the name of a stage\n  call it my_task: names",
        ),
        (["--columns", "text=review"], 78, "has no column 'review'\n  it has sentence, label\n"),
        (["--columns", "txt=sentence"], 78, "error: AB-099 --columns: 'txt' is no field (did you mean 'text'?)\n"),
        (["--columns", "text"], 78, "error: AB-111 --columns: 'text' is no pair\n  write --columns OURS=YOURS\n"),
        (["--shape", "sentence"], 78, "error: AB-099 --shape: 'sentence' is not known"),
        (["--format", "xlsx"], 78, "error: AB-099 --format: 'xlsx' is not known\n  known: txt, csv, tsv, jsonl, "),
        (["--target", "spans"], 65, "error: AB-216 --target: a single_sentence has no target spans\n"),
    ],
)
def test_nothing_is_written_where_an_option_does_not_fit(
    arguments: list[str], code: int, words: str, project: Path, reviews: list[str]
) -> None:
    before = state(project)
    done = add(*reviews, *arguments)
    assert done.exit_code == code
    assert words in done.output
    assert state(project) == before


def others_in_data_own(path: Path) -> None:
    OWN.mkdir()
    for name in (path.name, f"reviews.{path.name}"):
        (OWN / name).write_text("mine")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        pytest.param(lambda path: path.write_text(rows(20)), "AB-070", id="dev rows that train has"),
        pytest.param(lambda path: path.write_text('{"sentence": "x y"}\n' * 9), "AB-062", id="no labels"),
        pytest.param(lambda path: path.unlink(), "AB-050", id="no file"),
        pytest.param(others_in_data_own, "AB-197 data/own/reviews.Reviews.dev.jsonl: holds other", id="names taken"),
    ],
)
def test_the_files_are_checked_before_anything_is_written(
    harm: Callable[[Path], object], words: str, project: Path, reviews: list[str]
) -> None:
    harm(Path(reviews[1]))
    before = state(project)
    done = add(*reviews)
    assert done.exit_code == 65, done.output
    assert words in done.output
    assert state(project) == before


def test_a_failure_at_the_end_leaves_nothing(
    project: Path, reviews: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    before = state(project)
    monkeypatch.setattr(plan_file, "text", fail)
    assert add(*reviews).exit_code != 0
    monkeypatch.undo()
    after = state(project)
    assert {path: after[path] for path in before} == before
    assert [path for path in after.keys() - before.keys() if path.suffix in (".jsonl", ".dvc")] == []


def test_a_project_whose_arms_all_name_their_tasks(project: Path, reviews: list[str]) -> None:
    text = PARAMS.read_text()
    arms = "arms: {general: {tasks: [section]}, domain: {domain_transfer: domain, tasks: [mention]}}"
    PARAMS.write_text(re.sub(r"^arms: .*$", arms, text, flags=re.MULTILINE))
    done = add(*reviews)
    assert "no arm is for this task: add reviews to `tasks` of an arm\n" in done.output
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("terminal", "words"), [(True, "nothing was written"), (False, "nothing written: --yes writes it")]
)
def test_nothing_is_written_unasked(
    terminal: bool, words: str, project: Path, reviews: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = state(project)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: terminal)
    monkeypatch.setattr("typer.testing._NamedTextIOWrapper.isatty", lambda _: terminal, raising=False)
    done = CliRunner().invoke(app, ["add-task", *reviews], input="n\n")
    assert (done.exit_code, done.output.splitlines()[-1]) == (1, words)
    assert state(project) == before


@pytest.mark.parametrize("moment", ["at the prompt", "while files are copied"])
def test_an_edit_meanwhile_is_kept(
    moment: str, project: Path, reviews: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = prepare(reviews, None, Said(), PARAMS)
    edited = PARAMS.read_text().replace("seed: ", "# mine\nseed: ", 1)
    if moment == "at the prompt":
        PARAMS.write_text(edited)
    else:
        monkeypatch.setattr(own_data, "record", lambda _: PARAMS.write_text(edited))
    ladder = planning.PLAN.read_bytes()
    with pytest.raises(BadParams) as refusal:
        task.write()
    assert str(refusal.value) == (
        "AB-217 params.yaml: was changed while this command was at work; nothing was written\n  run the command again"
    )
    assert (PARAMS.read_text(), planning.PLAN.read_bytes()) == (edited, ladder)
    assert [*OWN.glob("*")] == []
