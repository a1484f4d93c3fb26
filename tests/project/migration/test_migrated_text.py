"""`adaptbert migrate` keeps comments and layout, writes both files or none, and never loses the older one."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from adaptbert.base import expansion
from adaptbert.base.expansion import LADDER
from adaptbert.cli import app
from adaptbert.errors import BadParams
from adaptbert.project.migration import names
from adaptbert.project.migration import text as migration_text
from adaptbert.runtime.params import expanded_ladder
from adaptbert.runtime.params import params_file as params
from tests.support import older_params

PARAMS, OLD = Path("params.yaml"), Path("params.yaml.old")
FOLDER = "pretrain:\n  init: models/init\n"
OF_FOLDER = "tokenizer:\n  source: init\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return older_params.place(tmp_path, older_params.text(), monkeypatch)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.mark.usefixtures("project")
def test_what_is_written_and_said() -> None:
    done = run("migrate")
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [
        "params.yaml and ladder.yaml are written; the older file is now params.yaml.old",
        "comments that are only in params.yaml.old, because what they stood beside is gone: 'a comment of mine'",
        "  start:    small (scratch), from pretrain.init and tokenizer.source",
        "  arms:     scratch, general, general_long, domain, task, domain_task, from the tables of ladder",
        "  finetune: what all tasks share is below all; blocks of tasks: section, mention",
        "  tokenizer, tokenize, pretrain, domain_transfer, task_transfer: all values are below all",
        "every stage runs again (5 rungs, 8 cells): the names of rungs and cells now have a start and a draw",
        "what was trained before stays in models/ and in DVC's cache",
        "now run: adaptbert check",
    ]
    assert OLD.read_text() == older_params.text()
    expanded_ladder.check(params.read(PARAMS), PARAMS)
    assert len(expansion.read().finetune) == 8


@pytest.mark.usefixtures("project")
def test_comments_and_layout_stay() -> None:
    run("migrate")
    text = PARAMS.read_text()
    assert text.startswith("# What I compare.\n\nseed: 1                        # of all\n\nladder:   ")
    assert "\n\ncollect:                       # unlabelled text\n  general: {source: installed_docs" in text
    assert (
        "\n\ntokenizer:\n  all:\n    corpora: [general, domain]   # text of the vocabulary\n    vocabulary_size" in text
    )
    assert "\n    words:\n      segmenter: none\n      dictionary: data/sources/words.txt\n" in text
    assert text.count("    budget: {tokens: 600_000}    # what the rung costs\n") == 3
    assert "intermediate_size: 1_024, max_positions: 512}}\n" in text
    finetune = text[text.index("\nfinetune:") : text.index("\ncompare:")].splitlines()
    assert [line[:44].rstrip() for line in finetune[2:5]] == [
        "  all:",
        "    seeds: [1, 2, 3]",
        "    labels: 600                # 0 = all",
    ]
    assert finetune[-8:] == [
        "  section:",
        "    single_sentence: {long_text: head}  # the beginning",
        "    early_stopping: {patience: 1}",
        "  mention:",
        "    labels: 0",
        "    epochs: 6                  # more of them",
        "    optim: {learning_rate: 2.0e-4, layer_decay: 0.9}",
        "    sequence_labelling: {tag_scheme: bio, stride: 64}",
    ]


@pytest.mark.parametrize("section", ["ladder", "finetune", "pretrain", "tokenizer", "section"])
@pytest.mark.parametrize(
    "written",
    [
        pytest.param("{margin}# the {key}: as agreed\n{margin}{key}:", id="a comment above names it"),
        pytest.param('{margin}"{key}":', id="in quotes"),
        pytest.param("{margin}{key} :", id="a blank before the colon"),
    ],
)
@pytest.mark.usefixtures("project")
def test_a_section_may_be_written_otherwise(section: str, written: str) -> None:
    margin = "  " * (section == "section")
    text = older_params.text()
    place = text.rindex(f"\n{margin}{section}:") + 1
    PARAMS.write_text(
        text[:place] + text[place:].replace(f"{margin}{section}:", written.format(margin=margin, key=section), 1)
    )
    done = run("migrate")
    assert done.exit_code == 0, done.output
    assert "comments are left out" not in done.output
    new = PARAMS.read_text()
    assert new.count("as agreed") == written.count("as agreed")
    assert new.startswith("# What I compare.\n")
    assert "  # more of them\n" in new
    expanded_ladder.check(params.read(PARAMS), PARAMS)


@pytest.mark.usefixtures("project")
def test_twice_changes_nothing() -> None:
    run("migrate")
    files = {path: path.read_bytes() for path in (PARAMS, OLD, LADDER)}
    done = run("migrate")
    assert (done.exit_code, done.output) == (0, "params.yaml is of the present schema already; nothing was written\n")
    assert {path: path.read_bytes() for path in files} == files


@pytest.mark.usefixtures("project")
def test_an_older_file_that_was_kept_is_never_replaced() -> None:
    OLD.write_text("of another time")
    done = run("migrate")
    assert "the older file is now params.yaml.old.2\n" in done.output
    assert (OLD.read_text(), Path("params.yaml.old.2").read_text()) == ("of another time", older_params.text())


@pytest.mark.usefixtures("project")
def test_wrong_values_are_reported_in_their_new_places_and_nothing_is_written() -> None:
    PARAMS.write_text(older_params.text().replace("dropout: 0.1", "dropout: 2"))
    done = run("migrate")
    assert done.exit_code == 78
    assert done.output.splitlines() == [
        "error: AB-109 params.yaml (migrated): finetune.all.dropout: 2 is out of range",
        "  it should be less than 1; for 2 % write 0.02",
        "AB-215 params.yaml: not migrated: the errors above would be in the new params.yaml",
        "  correct them in params.yaml, where the same values stand in the older place, and run again",
    ]
    assert not OLD.exists()
    assert not LADDER.exists()


@pytest.mark.usefixtures("project")
def test_a_ladder_that_cannot_be_written_leaves_the_older_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(expanded_ladder, "text", fail)
    run("migrate")
    assert PARAMS.read_text() == older_params.text()
    assert not OLD.exists()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: json.dumps(params.read(PARAMS)), id="JSON"),
        pytest.param(
            lambda text: (
                text.replace("collect:  ", "anchor: &a {x: 1}\ncollect:  ")
                .replace("anchor: &a {x: 1}\n", "")
                .replace("{patience: 1}", "&stop {patience: 1}")
                .replace("epochs: 6   ", "early_stopping: *stop\n    epochs: 6   ")
            ),
            id="anchors",
        ),
    ],
)
@pytest.mark.usefixtures("project")
def test_a_text_that_cannot_be_changed_in_parts_is_written_anew(change: object, tmp_path: Path) -> None:
    PARAMS.write_text(change(older_params.text()))  # type: ignore[operator]
    older = params.read(PARAMS)
    done = run("migrate")
    assert done.exit_code == 0, done.output
    assert params.read(PARAMS)["finetune"]["section" if "mention" not in older else "all"]
    assert params.read(PARAMS)["pretrain"]["all"]["optim"] == older["pretrain"]["optim"]
    expanded_ladder.check(params.read(PARAMS), PARAMS)


@pytest.mark.parametrize("flow", [False, True])
@pytest.mark.usefixtures("project")
def test_sections_in_one_line(flow: bool) -> None:
    text = older_params.text()
    if flow:
        text = text.replace(
            older_params.TRAINED,
            "tokenizer: {source: train, corpora: [general], vocabulary_size: 100, "
            "lowercase: true, min_frequency: 2}  # mine\n",
        )
    PARAMS.write_text(text.replace("\n", "\r\n"), newline="")
    assert run("migrate").exit_code == 0
    new = PARAMS.read_bytes().decode()
    assert new.count("\r\n") == new.count("\n"), "the ends of lines stay"
    if flow:
        assert (
            "tokenizer:\r\n  all: {corpora: [general], vocabulary_size: 100, lowercase: true, min_frequency: 2}  # mine"
            in new
        )


@pytest.mark.usefixtures("project")
def test_a_checkpoint_in_models_init_is_moved_by_the_user() -> None:
    PARAMS.write_text(older_params.text(tokenizer=OF_FOLDER, start=FOLDER))
    init = Path("models/init")
    init.mkdir(parents=True)
    for name in ("README.md", "vocab.txt", "model.safetensors.dvc"):
        (init / name).touch()
    (init / "config.json").write_text('{"_name_or_path": "hfl/chinese-macbert-base"}')
    done = run("migrate")
    assert done.output.splitlines()[-5:] == [
        "first bring the checkpoint to where it is read now:",
        "  mkdir -p models/init/chinese_macbert_base",
        "  mv models/init/config.json models/init/vocab.txt models/init/chinese_macbert_base/",
        "  dvc move models/init/model.safetensors models/init/chinese_macbert_base/model.safetensors",
        "then run: adaptbert check",
    ]
    assert (init / "vocab.txt").exists()


@pytest.mark.parametrize(
    ("init", "command"),
    [
        ("models/init", "adaptbert import DIR --start public"),
        ("/srv/bert base", "adaptbert import '/srv/bert base' --start bert_base"),
    ],
)
@pytest.mark.usefixtures("project")
def test_a_checkpoint_elsewhere_is_imported(init: str, command: str) -> None:
    PARAMS.write_text(older_params.text(tokenizer=OF_FOLDER, start=f"pretrain:\n  init: {init}\n"))
    assert run("migrate").output.splitlines()[-2] == f"  {command}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--start", "domain"], "error: AB-112 --start domain: 'domain' is taken\n"),
        (
            ["--start", "My-Bert"],
            "error: AB-112 --start My-Bert: 'My-Bert' cannot be the name of a stage\n  call it my_bert: names begin",
        ),
        (["--rename", "domain"], "error: AB-111 --rename: 'domain' is no pair\n  write --rename OLD=NEW\n"),
        (
            ["--rename", "domane=x"],
            "error: AB-099 --rename domane=x: no corpus, task or arm is called 'domane' (did you mean",
        ),
        (
            ["--rename", "section=all"],
            "error: AB-112 --rename section=all: 'all' is a word of the ladder or of YAML\n  give it another name\n",
        ),
        (
            ["--rename", "section=My-Task"],
            "error: AB-112 --rename section=My-Task: 'My-Task' cannot be the name of a stage\n  call it my_task: ",
        ),
        (["--rename", "domain=a", "--rename", "domain=b"], "error: AB-111 --rename: 'domain' twice\n"),
    ],
)
@pytest.mark.usefixtures("project")
def test_options_that_do_not_fit(arguments: list[str], words: str) -> None:
    done = run("migrate", *arguments)
    assert done.exit_code == 78
    assert done.output.startswith(words)
    assert not OLD.exists()


@pytest.mark.parametrize("command", [["check"], ["ladder"], ["add-task", "x.csv"], ["rename-task", "section", "x"]])
@pytest.mark.usefixtures("project")
def test_every_command_says_the_same_one_thing(command: list[str]) -> None:
    done = run(*command)
    assert done.exit_code == 78
    message, _, ladder = done.output.partition("\n\n")
    assert message == (
        "error: AB-214 params.yaml: of an older schema, with rungs and cells in tables and one start in pretrain\n"
        "  run `adaptbert migrate`, which rewrites it, and keeps your values, your comments and the older file; its "
        "ladder will be"
    )
    assert ladder.startswith("ladder:  ")
    run("migrate")
    assert ladder.strip().replace("1024", "1_024") in PARAMS.read_text()


@pytest.mark.usefixtures("project")
def test_a_ladder_that_cannot_be_made_is_left_to_migrate() -> None:
    PARAMS.write_text(older_params.text().replace("arm: task, ", "arm: 情感, "))
    assert run("check").output.endswith("and the older file\n")


def test_an_older_name_that_is_a_reserved_word_now() -> None:
    with pytest.raises(BadParams) as refusal:
        names.chosen({"corpora": [], "tasks": ["none"], "arms": []}, {}, PARAMS)
    assert str(refusal.value) == (
        "AB-215 params.yaml: tasks: 'none' is a word of the ladder or of YAML\n"
        "  choose another name: adaptbert migrate --rename none=NAME"
    )


def test_comments_of_the_older_presets_are_not_missed() -> None:
    line = "ladder:  # rungs (checkpoints) and cells (task x arm) to train; a removed line is a stage that is not run\n"
    assert migration_text.lost_comments(f"{line}x: 1 # mine\n", "x: 1\n") == ["mine"]
