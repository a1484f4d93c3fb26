"""adaptbert use and check, as a user calls them, and what all commands have in common."""

import json
import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from adaptbert.cli import app
from adaptbert.runtime.params import params_file as params
from tests.support.imports import ROOT
from tests.support.messages import messages_in

DEMO = (ROOT / "presets/demo.yaml").read_text(encoding="utf-8")
WEIBO = [
    "zh_general.jsonl.gz",
    "zh_domain_weibo.jsonl.gz",
    *(f"zh_task_ewect_usual.{split}.jsonl.gz" for split in ("train", "dev", "test")),
]

COMMANDS = sorted(get_command(app).commands)  # type: ignore[attr-defined]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with this one's stages, presets and sources, and with a params.yaml of its own."""
    for name in ("stages", "presets"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/sources").symlink_to(ROOT / "data/sources")
    (tmp_path / "params.yaml").write_text(DEMO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def own_files(folder: Path) -> Path:
    folder.mkdir()
    for name in WEIBO:
        (folder / name).touch()
    return folder


def test_use_writes_the_preset(project: Path) -> None:
    done = run("use", "smoke")
    assert (done.exit_code, done.output) == (0, "params.yaml is now the preset 'smoke'\nnow run: adaptbert check\n")
    assert (project / "params.yaml").read_bytes() == (ROOT / "presets/smoke.yaml").read_bytes()
    assert sorted(path.name for path in project.iterdir()) == ["data", "params.yaml", "presets", "stages"]


def test_use_puts_the_users_folder_in_place(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = own_files(tmp_path_factory.mktemp("home") / "text")
    done = run("use", "weibo", "--data", str(folder), "--in-place")
    assert (done.exit_code, done.output.splitlines()[0]) == (0, "params.yaml is now the preset 'weibo'")
    assert f'path: "{folder}/zh_general.jsonl.gz"' in (project / "params.yaml").read_text()
    assert run("use", "demo").exit_code == 0, "a preset with another folder is no work of the user's"


def test_use_without_a_folder_says_what_is_missing(project: Path) -> None:
    done = run("use", "weibo")
    assert done.exit_code == 0
    assert messages_in(done.output)[1] == (
        "still missing: AB-050 params.yaml: collect.general.path: data/own/zh_general.jsonl.gz: no such file\n  "
        "put it there, or write where it is"
    )
    assert done.output.count("still missing") == 5


def test_use_with_a_folder_that_lacks_files_writes_and_says_which(project: Path) -> None:
    """Names can be mended in a file that is there."""
    (project / "text").mkdir()
    (project / "text/zh_general.json.gz").touch()
    done = run("use", "weibo", "--data", "text", "--in-place")
    assert (done.exit_code, done.output.count("still missing: AB-050 params.yaml: ")) == (0, 5)
    assert "/text/zh_general.jsonl.gz: no such file (did you mean 'zh_general.json.gz'?)\n  put it" in done.output
    assert f"{project}/text/zh_domain_weibo.jsonl.gz" in (project / "params.yaml").read_text(encoding="utf-8")


def test_use_prints_a_name_beside_that_is_not_utf8(project: Path) -> None:
    (project / "text").mkdir()
    (project / "text" / os.fsdecode(b"zh_general.jsonl\xe9.gz")).touch()
    done = run("use", "weibo", "--data", "text", "--in-place")
    assert (done.exit_code, done.exception) == (0, None)
    assert r"no such file (did you mean 'zh_general.jsonl\xe9.gz'?)" in done.output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(
            ["use", "wiebo"], 78, "AB-099 presets: no preset 'wiebo' (did you mean 'weibo'?)\n  known:", id="name"
        ),
        pytest.param(
            ["use", "demo", "--data", "."], 78, "preset 'demo' brings its own text\n  leave --data out", id="own"
        ),
        pytest.param(
            ["use", "smoke", "--data", "my files"],
            78,
            "preset 'smoke' brings its own text\n  leave --data out, or the preset, to bring the files alone: "
            "adaptbert use --data 'my files'",
            id="own text and files",
        ),
        pytest.param(
            ["use", "weibo", "--data", "my files/a.jsonl.gz"],
            65,
            "AB-049 --data my files/a.jsonl.gz: is a file, not a folder\n  name the folder that holds your files; "
            "--data 'my files' takes all that lie there",
            id="a file",
        ),
        pytest.param(
            ["use"], 78, "AB-099 presets: neither a preset nor --data was named\n  known presets: bio", id="none"
        ),
        pytest.param(
            ["use", "--data", ".", "--in-place"], 78, "AB-111 --in-place: only with a preset, which", id="in place"
        ),
        pytest.param(
            ["use", "weibo", "--data", "nowhere"], 65, "AB-049 --data nowhere: no such folder", id="no folder"
        ),
    ],
)
def test_use_refuses_and_leaves_the_file(project: Path, arguments: list[str], code: int, message: str) -> None:
    own_files(project / "my files")
    (project / "my files/a.jsonl.gz").touch()
    done = run(*arguments)
    assert (done.exit_code, message in done.stderr) == (code, True), done.stderr
    assert (project / "params.yaml").read_text(encoding="utf-8") == DEMO
    assert not list(project.glob(".*"))


def test_use_takes_a_folder_of_any_name(project: Path) -> None:
    folder = own_files(project / 'my "text" \\ $(x) it\'s')
    done = run("use", "weibo", "--data", str(folder), "--in-place")
    assert (done.exit_code, done.stderr) == (0, "")
    assert params.read(project / "params.yaml")["collect"]["general"]["path"] == f"{folder}/zh_general.jsonl.gz"
    assert run("use", "demo").exit_code == 0, "still known as the preset"


def test_use_keeps_unknown_edits_unless_forced(project: Path) -> None:
    edited = DEMO.replace("seed: 1 ", "seed: 7 ")
    (project / "params.yaml").write_text(edited, encoding="utf-8")
    done = run("use", "smoke")
    assert done.exit_code == 78
    assert "holds changes that are neither committed nor a preset\n  commit it" in done.stderr
    assert (project / "params.yaml").read_text(encoding="utf-8") == edited
    assert run("use", "smoke", "--force").exit_code == 0
    assert (project / "params.yaml").read_bytes() == (ROOT / "presets/smoke.yaml").read_bytes()


def test_use_replaces_edits_that_are_committed(project: Path) -> None:
    (project / "params.yaml").write_text(DEMO.replace("seed: 1 ", "seed: 7 "), encoding="utf-8")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "params.yaml"], [*identity, "commit", "-q", "-m", "mine"]):
        subprocess.run(["git", *command], check=True)
    assert run("use", "smoke").exit_code == 0


def test_use_outside_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("use", "demo")
    assert (done.exit_code, "run adaptbert in the folder of the project" in done.stderr) == (78, True)


def test_check_passes(project: Path) -> None:
    done = run("check")
    assert (
        done.exit_code,
        done.output.endswith("values, all valid; the first rows of the files that it names are valid\n"),
    ) == (0, True)


def test_check_names_the_arms_that_no_step_compares(project: Path) -> None:
    run("use", "smoke")
    done = run("check")
    assert done.exit_code == 0
    *notices, last = done.output.splitlines()
    assert [line.partition(": no step")[0] for line in notices] == [
        "notice: params.yaml: finetune: seeds: section has 2, mention has 2: of fewer than 3 no interval and no "
        "verdict can be given; write e.g. [1, 2, 3]",
        "notice: params.yaml: ladder.finetune.section-scratch",
        "notice: params.yaml: ladder.finetune.section-domain_task",
        "notice: params.yaml: ladder.finetune.mention-domain",
    ]
    assert last.endswith("the first rows of the files that it names are valid")


def test_check_reports_all_errors(project: Path) -> None:
    bad = DEMO.replace("heads: 4", "heads: 3").replace("vocabulary_size:", "vocabulary_sise:")
    (project / "params.yaml").write_text(bad, encoding="utf-8")
    done = run("check")
    assert done.exit_code == 78
    for part in ("error: ", "hidden_size 256 % heads 3", "'vocabulary_sise' (did you mean 'vocabulary_size'?)"):
        assert part in done.stderr


def test_check_looks_for_the_files(project: Path) -> None:
    """All of them, with the key; DVC would name the first one it misses."""
    (project / "sets").mkdir()
    (project / "sets/mood.train.csv").touch()
    document = params.read(project / "params.yaml")
    document["collect"]["domain"] |= {"source": "files", "path": "~/posts"}
    task = {"source": "files", "shape": "single_sentence", "target": "class", "split": {"dev": 0.1}}
    train = "sets/mood_train.csv"
    document["collect_task"]["mood"] = {**task, "train": train, "dev": train, "test": "sets/my test.csv"}
    (project / "params.yaml").write_text(json.dumps(document), encoding="utf-8")
    done = run("check")
    assert done.exit_code == 65
    assert messages_in(done.stderr) == [
        "error: AB-153 params.yaml: collect.domain.path: ~/posts: ~ is not expanded\n  write the path out",
        "AB-050 params.yaml: collect_task.mood.train: sets/mood_train.csv: no such file "
        "(did you mean 'mood.train.csv'?)\n  put it there, or write where it is",
        "AB-050 params.yaml: collect_task.mood.test: sets/my test.csv: no such file\n  "
        "put it there, or write where it is",
    ]


def test_check_looks_for_the_checkpoint(project: Path) -> None:
    """Of another clone, say, that has the folder from git and nothing in it."""
    (project / "models/init").mkdir(parents=True)
    document = params.read(project / "params.yaml")
    document["tokenizer"] = {"source": "init"}
    document["pretrain"] |= {"init": "models/init", "encoder": None}
    (project / "params.yaml").write_text(json.dumps(document), encoding="utf-8")
    (project / "models/init/model.safetensors.dvc").touch()
    done = run("check")
    assert (done.exit_code, messages_in(done.stderr)) == (
        65,
        [
            "error: AB-050 params.yaml: pretrain.init: models/init/config.json: no such file\n  put it there, or write "
            "where it is",
            "AB-050 params.yaml: pretrain.init: models/init/model.safetensors: no such file\n  get it from the remote: "
            "dvc pull models/init/model.safetensors; or from this clone's cache: "
            "dvc checkout models/init/model.safetensors",
        ],
    )


def test_check_sees_contradictions_between_sections(project: Path) -> None:
    (project / "params.yaml").write_text(DEMO.replace("max_positions: 512", "max_positions: 64"), encoding="utf-8")
    done = run("check")
    assert (done.exit_code, done.stderr.count("AB-111")) == (78, 3)


def test_the_installed_command() -> None:
    """From a shell, where the project's folder is not on Python's path."""
    command = Path(sys.executable).with_name("adaptbert")
    done = subprocess.run([command, "check"], cwd=ROOT, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 78), done.stderr


def test_the_version() -> None:
    done = run("--version")
    assert (done.exit_code, done.output) == (0, f"adaptbert {metadata.version('adaptbert')}\n")


@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_no_help_is_cut(columns: int, command: list[str]) -> None:
    done = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": str(columns)}, terminal_width=columns)
    assert done.exit_code == 0
    assert "..." not in done.output.replace("[ARGS]...", ""), done.output


def test_what_pyproject_ships_is_there() -> None:
    """A checker of types takes ours only where py.typed lies."""
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    for pattern in shipped["adaptbert"]:
        assert list((ROOT / "adaptbert").glob(pattern)), pattern


def test_help_is_quick() -> None:
    """Neither torch nor anything else that takes a second."""
    code = """
import sys, json
from adaptbert.cli import app
try:
    app(["--help"])
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    heavy = {"torch", "mlflow", "transformers", "pytorch_lightning", "pandas", "pandera", "datasets", "sklearn", "dvc"}
    assert heavy & set(json.loads(done.stderr.splitlines()[-1])) == set()
    for command in COMMANDS:
        assert command in done.stdout


@pytest.mark.parametrize("old", ["comparison_table", "parameters"])
def test_a_former_command_works_and_names_the_new_one(old: str) -> None:
    arguments = ["metrics/comparison.json"] if old == "comparison_table" else []
    done = subprocess.run(
        [sys.executable, "-m", f"adaptbert.{old}", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("note: this command is now `python -m adaptbert.")
    assert "section" in done.stdout
