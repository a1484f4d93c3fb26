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
from adaptbert.project.add_task import prepare
from adaptbert.project.own_data import open_repository
from adaptbert.project.task_inference import Said
from tests.project.conftest import rows

PARAMS, OWN = Path("params.yaml"), Path("data/own")


@pytest.fixture
def reviews(tmp_path: Path) -> list[str]:
    """Three files of a labelled set, outside of the project."""
    counts = {"train": (60, 0), "dev": (20, 100), "test": (20, 200)}
    for split, (count, begin) in counts.items():
        (tmp_path / f"Reviews.{split}.jsonl").write_text(rows(count, begin))
    return [str(tmp_path / f"Reviews.{split}.jsonl") for split in counts]


def add(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["add-task", "--yes", *arguments])


def added(*arguments: str, name: str = "rooms") -> tuple[dict[str, str], str]:
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
    assert sum(cell.task == "reviews" for cell in planning.read().finetune.values()) == 10
    with open_repository() as repo:
        assert [out.status() for out in repo.index.outs] == [{}] * 3, "DVC has their bytes"
    assert done.output.splitlines()[0] == "task reviews"
    assert done.output.splitlines()[-3:] == [
        "data/own: 3 files, 6.1 kB, 3 of them copied now",
        "task reviews is in params.yaml, and its cells (10) in plan.json",
        "now run: dvc repro",
    ]


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
    section, _ = added(path)
    assert {section[split] for split in ("train", "dev", "test")} == {str(place)}, "split where it lies"
    assert section["split"] == {"dev": 0.1, "test": 0.2}
    assert (place.is_symlink(), place.read_text(), OWN.exists()) == (False, rows(100), place.parent == OWN)


def test_a_link_that_dvc_has_put_there_is_its_file(project: Path) -> None:
    """As with `cache.type symlink`."""
    (project / ".dvc/cached").write_text(rows(100))
    OWN.mkdir()
    (OWN / "a.jsonl").symlink_to(project / ".dvc/cached")
    (OWN / "a.jsonl.dvc").touch()
    section, _ = added(str(OWN / "a.jsonl"))
    assert (section["train"], (OWN / "a.jsonl").is_symlink()) == (str(OWN / "a.jsonl"), True)


@pytest.mark.parametrize("missing", [False, True], ids=["there", "recorded only"])
def test_sets_whose_files_have_one_name(missing: bool, project: Path) -> None:
    """Also where files of equal size have one time, as from an archive, and in a clone before `dvc pull`."""
    contents = {}
    for task, begin in (("one", 100), ("two", 300)):
        (project.parent / task).mkdir()
        paths = {split: project.parent / task / f"{split}.jsonl" for split in ("train", "dev")}
        for first, (split, path) in zip((0, 100), paths.items(), strict=True):
            contents[task, split] = rows(30, begin + first)
            path.write_text(contents[task, split])
            os.utime(path, (1e9, 1e9))
        _, said = added(*map(str, paths.values()), name=task)
        for path in OWN.glob("*.jsonl") if missing else ():
            path.unlink()
    assert f"\n{project.parent}/two/dev.jsonl is copied as data/own/two.dev.jsonl: its name is taken\n" in said
    with open_repository() as repo:
        repo.checkout()
    for (task, split), content in contents.items():
        assert Path(params.read(PARAMS)["tasks"][task][split]).read_text() == content


def others_in_data_own(path: Path) -> None:
    OWN.mkdir()
    for name in (path.name, f"reviews.{path.name}"):
        (OWN / name).write_text("mine")


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
        ("--type regresion", 78, "AB-099 --type: 'regresion' is not known (did you mean 'regression'?)\n  known: text"),
        ("--tag-scheme bilou", 78, "AB-099 --tag-scheme: 'bilou' is not known (did you mean 'bio'?)\n  known: io, b"),
        ("--type regression --separator ;", 78, "AB-111 add-task: --type is for regression and --separator is for mu"),
        ("--format xlsx", 78, "AB-099 --format: 'xlsx' is not known\n  known: txt, csv, tsv, jsonl, "),
        ("--encoding utf-99", 78, "AB-099 --encoding: encoding 'utf-99' is none that Python reads text in\n"),
        (lambda path: path.write_text(rows(20)), 65, "AB-070"),
        (lambda path: path.write_text('{"sentence": "x y"}\n' * 9), 65, "AB-056"),
        (lambda path: path.unlink(), 65, "AB-050"),
        (others_in_data_own, 65, "AB-197 data/own/reviews.Reviews.dev.jsonl: holds other"),
    ],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_nothing_is_written_where_an_option_or_a_file_does_not_fit(
    arguments: str | Callable[[Path], object], code: int, words: str, project: Path, reviews: list[str]
) -> None:
    """Options, or what is done to the dev rows: such as train has, no labels, no file, their names taken."""
    if not isinstance(arguments, str):
        arguments(Path(reviews[1]))
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


@pytest.mark.parametrize("moment", ["at the prompt", "while files are copied", "at the end"])
def test_what_fails_leaves_all_as_it_was(
    moment: str, project: Path, reviews: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit meanwhile is kept, and an interruption behind the copies leaves none."""
    task, bring = prepare(reviews, None, Said(), PARAMS), own_data.bring
    edited = PARAMS.read_text().replace("seed: ", "# mine\nseed: ", 1)

    def brought(places: dict[Path, Path]) -> object:
        done = bring(places)
        PARAMS.write_text(edited)
        return done

    if moment == "at the prompt":
        PARAMS.write_text(edited)
    elif moment == "while files are copied":
        monkeypatch.setattr(own_data, "bring", brought)
    else:
        monkeypatch.setattr(plan_file, "text", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    before = state(project)
    refusal = "AB-217 params.yaml: was changed while this command was at work; nothing was written\n  run the command"
    with pytest.raises(KeyboardInterrupt if moment == "at the end" else BadParams) as stopped:
        task.write()
    assert moment == "at the end" or str(stopped.value).startswith(refusal)
    after = state(project)
    if moment == "while files are copied":
        assert after[project / PARAMS] == edited.encode()
        del after[project / PARAMS], before[project / PARAMS]
    assert after.keys() - before.keys() <= {OWN.absolute() / ".gitignore"}
    assert {path: after[path] for path in before} == before
