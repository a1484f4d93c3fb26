"""`adaptbert add-task`: one block, its options, its files and plan.json, all of it or nothing."""

import re
import sys
from collections.abc import Callable
from difflib import ndiff
from functools import partial
from pathlib import Path
from signal import SIGINT, default_int_handler
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adaptbert.cli import app
from adaptbert.config import load as params
from adaptbert.config import plan as planning
from adaptbert.config import plan_file
from adaptbert.config import recipe as recipes
from adaptbert.data.preview import Said
from adaptbert.errors import BadParams
from adaptbert.project import editing, own_data
from adaptbert.project.add_task import add as add_task
from tests.support.own_project import rows

PARAMS = Path("params.yaml")


@pytest.fixture
def reviews(own: Path) -> list[str]:
    """The options for three files of a labelled set."""
    counts = {"train": (60, 0), "dev": (20, 100), "test": (20, 200)}
    for split, (count, begin) in counts.items():
        (own / f"Reviews.{split}.jsonl").write_text(rows(count, begin))
    return [word for split in counts for word in (f"--{split}", f"data/own/Reviews.{split}.jsonl")]


def add(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["add-task", "--yes", *arguments])


def added(*arguments: str, name: str = "rooms") -> tuple[dict[str, Any], str]:
    """The block of the task, and what the command said."""
    done = add(*arguments, "--name", name)
    assert done.exit_code == 0, done.output
    return params.read(PARAMS)["tasks"][name], done.output


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
    assert sum(cell.task == "reviews" for cell in planning.read().finetune.values()) == 7
    assert done.output.splitlines()[0] == "task reviews"
    assert done.output.splitlines()[-3:] == [
        f"recorded by DVC: {', '.join(reviews[1::2])}",
        "task reviews is in params.yaml, and its fine-tunings (7) in plan.json",
        f"now run: make recipe PYTHON={sys.executable}",
    ]


def test_files_of_the_project_and_from_elsewhere(project: Path) -> None:
    """One stays where it is, and DVC records nothing; the other is copied. A split that has no file is cut off."""
    for name, begin in (("data/all.jsonl", 0), ("../test.jsonl", 200)):
        Path(name).write_text(rows(100, begin))
    section, said = added("--train", "data/all.jsonl", "--test", "../test.jsonl")
    assert [section[split] for split in ("train", "dev", "test")] == [*["data/all.jsonl"] * 2, "data/own/test.jsonl"]
    assert section["split"] == {"dev": 0.1}
    assert Path(section["test"]).read_text() == rows(100, 200)
    assert "recorded by DVC: data/own/test.jsonl\n" in said
    assert "already" not in said
    _, said = added("--train", "data/all.jsonl", name="again")
    assert "recorded" not in said
    assert "notice: data/all.jsonl: already data of the task rooms\n" in said


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("--name section", 78, "AB-112 params.yaml: tasks.section: the name is taken\n  choose another"),
        ("--name small", 78, "AB-112 params.yaml: bases.small: the name is taken\n"),
        ("--name My-Task", 78, "AB-112 --name My-Task: 'My-Task' cannot be the name of a stage\n  call it my_task: na"),
        ("--columns text=review", 78, "has no column 'review'\n  it has sentence, label\n"),
        ("--columns txt=sentence", 78, "AB-099 --columns: 'txt' is no field (did you mean 'text'?)\n"),
        ("--columns text", 78, "AB-111 --columns: 'text' is no pair\n  write --columns OURS=YOURS"),
        ("--columns text=label --columns text=sentence", 78, "AB-111 --columns: 'text' twice\n  write --columns OURS="),
        ("--type regresion", 2, "for '--type': Value error, 'regresion' is not one of 'text-classification', "),
        ("--tag-scheme bilou", 2, "for '--tag-scheme': Value error, 'bilou' is not one of 'io', 'bio'"),
        ("--type regression --separator ;", 78, "AB-111 --type and --separator: are for regression and multi-label\n"),
        ("--encoding utf-99", 78, "AB-099 --encoding: encoding 'utf-99' is none that Python reads text in\n"),
        (lambda path: path.write_text(rows(20)), 65, "AB-070"),
        (lambda path: path.write_text('{"sentence": "x y"}\n' * 9), 65, "AB-056"),
        (lambda path: path.unlink(), 65, "AB-050"),
    ],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_nothing_is_written_where_an_option_or_a_file_does_not_fit(
    arguments: str | Callable[[Path], object], code: int, words: str, project: Path, reviews: list[str]
) -> None:
    """Options, or what is done to the dev rows: such as train has, no labels, no file, their folder elsewhere."""
    if not isinstance(arguments, str):
        arguments(Path(reviews[3]))
    before = state(project)
    done = add(*reviews, *(arguments.split() if isinstance(arguments, str) else []))
    assert (done.exit_code, words in done.output) == (code, True), done.output
    assert state(project) == before


def test_a_project_whose_arms_all_name_their_tasks(project: Path, reviews: list[str]) -> None:
    arms = "arms: {general: {tasks: [section]}, domain: {domain_transfer: domain, tasks: [mention]}}"
    PARAMS.write_text(re.sub(r"^arms: .*$", arms, PARAMS.read_text(), flags=re.MULTILINE))
    _, said = added(*reviews, name="reviews")
    assert "no arm is for this task: add reviews to `tasks` of an arm\n" in said


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


def test_an_edit_in_the_meantime_is_kept(project: Path, reviews: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """While the user is asked, or DVC at work."""
    files = {option.removeprefix("--"): Path(path) for option, path in zip(reviews[::2], reviews[1::2], strict=True)}
    steps = add_task(files, None, Said())
    next(steps)
    edited = PARAMS.read_text().replace("seed: ", "# mine\nseed: ", 1)
    monkeypatch.setattr(own_data, "record", lambda _: PARAMS.write_text(edited))
    before = state(project)
    refusal = "AB-217 params.yaml: was changed while this command was at work, and is left so\n  run the command"
    with pytest.raises(BadParams, match=refusal):
        list(steps)
    assert state(project) == before | {project / PARAMS: edited.encode()}


def test_an_interruption_at_the_end_leaves_all_as_it_was(
    project: Path, reviews: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between params.yaml and plan.json."""
    write, interrupt = editing.write, partial(default_int_handler, SIGINT, None)
    monkeypatch.setattr(own_data, "record", lambda _: None)
    monkeypatch.setattr(editing, "write", lambda *to: write(*to) if to[0] == PARAMS else interrupt())
    before = state(project)
    assert add(*reviews).exit_code == 130
    assert state(project) == before
