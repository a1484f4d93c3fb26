"""`adaptbert rename-task` and `remove-task`: every place that names the task, and no other line."""

from difflib import ndiff
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from adaptbert.base import expansion
from adaptbert.base.expansion import LADDER
from adaptbert.cli import app
from adaptbert.runtime.params import expanded_ladder
from adaptbert.runtime.params import params_file as params

PARAMS = Path("params.yaml")
OPTIONS = "\n  tasks:\n    mention: {arms: [general, domain, task]}  # few rows\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def everywhere(project: Path) -> Path:
    """A project in which tasks stand in every place where they can."""
    text = PARAMS.read_text()
    text = text.replace(
        "general_long: {domain_transfer: general}",
        "general_long: {domain_transfer: general, tasks: [mention, section]}",
    )
    text = text.replace(
        "    domain_task: {domain_transfer: domain, task_transfer: own}\n",
        f"    domain_task: {{domain_transfer: domain, task_transfer: own}}{OPTIONS}",
    )
    text = text.replace(
        "    measurements: 2\n", "    measurements: 2\n  mention:  # more text\n    budget: {tokens: 300_000}\n"
    )
    PARAMS.write_text(text)
    assert run("ladder").exit_code == 0
    return project


def changed(before: str) -> list[str]:
    return [line for line in ndiff(before.splitlines(), PARAMS.read_text().splitlines()) if line[0] in "+-"]


@pytest.mark.usefixtures("everywhere")
def test_a_task_is_renamed_everywhere() -> None:
    before = PARAMS.read_text()
    done = run("rename-task", "mention", "names")
    assert done.exit_code == 0, done.output
    assert changed(before) == [
        "-     general_long: {domain_transfer: general, tasks: [mention, section]}",
        "+     general_long: {domain_transfer: general, tasks: [names, section]}",
        "-     mention: {arms: [general, domain, task]}  # few rows",
        "+     names: {arms: [general, domain, task]}    # few rows",
        "-   mention:                     # find words that name code, a parameter or an object",
        "+   names:                       # find words that name code, a parameter or an object",
        "-   mention:  # more text",
        "+   names:    # more text",
        "-   mention:",
        "+   names:",
    ]
    expanded_ladder.check(params.read(PARAMS), PARAMS)
    assert done.output.splitlines() == [
        "task mention is now called names in params.yaml and ladder.yaml",
        "dvc repro will run: 1 x collect_task, validate, 1 x tokenize, 2 x task_transfer, 12 x measure, 5 x finetune, "
        "compare",
        "still on disk, if it was trained: 7 folders, models/task_transfer/mention-small-1, "
        "models/task_transfer/mention-small-2, models/finetune/mention-general-small and 4 more",
    ]
    assert run("rename-task", "names", "mention").exit_code == 0
    assert PARAMS.read_text() == before, "and back"


@pytest.mark.usefixtures("everywhere")
def test_a_task_is_removed_everywhere() -> None:
    before = PARAMS.read_text()
    done = run("remove-task", "mention")
    assert done.exit_code == 0, done.output
    assert [line for line in changed(before) if line[0] == "+"] == [
        "+     general_long: {domain_transfer: general, tasks: [section]}",
        "+   tasks: {}",
    ]
    assert "mention" not in PARAMS.read_text()
    assert {cell.task for cell in expansion.read().finetune.values()} == {"section"}
    assert done.output.splitlines() == [
        "task mention is no longer in params.yaml and ladder.yaml",
        "its files stay where they are: data/sources/domain.txt",
        "dvc repro will run: validate, 1 x tokenize, 10 x measure, compare",
        "still on disk, if it was trained: 7 folders, models/task_transfer/mention-small-1, "
        "models/task_transfer/mention-small-2, models/finetune/mention-general-small and 4 more",
    ]


@pytest.mark.usefixtures("everywhere")
def test_a_comment_that_goes_with_a_task_is_shown() -> None:
    text = PARAMS.read_text()
    PARAMS.write_text(text.replace("  section:   ", "  # all of them by hand\n  # in spring\n  section:   ", 1))
    done = run("remove-task", "section")
    assert done.exit_code == 0, done.output
    assert "comments that went with it: 'all of them by hand'; 'in spring'\n" in done.output


@pytest.mark.usefixtures("everywhere")
def test_a_list_with_a_line_for_each_task_keeps_its_lines() -> None:
    lines = "\n        # what I compare\n        - mention    # few\n        - section    # many"
    text = PARAMS.read_text().replace(
        "general_long: {domain_transfer: general, tasks: [mention, section]}",
        f"general_long:\n      domain_transfer: general\n      tasks:{lines}",
    )
    PARAMS.write_text(text)
    assert run("rename-task", "mention", "names").exit_code == 0
    assert "\n        - names      # few\n        - section    # many\n" in PARAMS.read_text()
    done = run("remove-task", "names")
    assert done.exit_code == 0, done.output
    assert "      tasks:\n        # what I compare\n        - section    # many\n" in PARAMS.read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["rename-task", "mentoin", "x"],
            "error: AB-099 params.yaml: collect_task: no task 'mentoin' (did you mean 'mention'?)\n"
            "  tasks are section, mention\n",
        ),
        (
            ["rename-task", "mention", "section"],
            "error: AB-112 params.yaml: collect_task.mention: 'section' is taken\n",
        ),
        (["rename-task", "mention", "domain"], "error: AB-112 params.yaml: collect_task.mention: 'domain' is taken\n"),
        (
            ["rename-task", "mention", "all"],
            "error: AB-112 params.yaml: collect_task.mention: 'all' is a word of the ladder or of YAML\n",
        ),
        (["remove-task", "small"], "error: AB-099 params.yaml: collect_task: no task 'small'\n"),
    ],
)
@pytest.mark.usefixtures("everywhere")
def test_what_is_refused(arguments: list[str], words: str) -> None:
    before = PARAMS.read_bytes(), LADDER.read_bytes()
    done = run(*arguments)
    assert (done.exit_code, done.output[: len(words)]) == (78, words)
    assert (PARAMS.read_bytes(), LADDER.read_bytes()) == before


@pytest.mark.usefixtures("everywhere")
def test_the_last_task_and_the_last_of_an_arm_stay() -> None:
    PARAMS.write_text(PARAMS.read_text().replace("tasks: [mention, section]", "tasks: [mention]"))
    done = run("remove-task", "mention")
    assert done.output.startswith(
        "error: AB-111 params.yaml: ladder.arms.general_long: an arm of mention alone, which no"
    )
    assert run("remove-task", "section").exit_code == 0
    done = run("remove-task", "mention")
    assert done.output.startswith(
        "error: AB-111 params.yaml: collect_task.mention: the only task, and a recipe needs one\n"
    )


@pytest.mark.usefixtures("everywhere")
def test_anchors_that_a_change_would_break_are_left_to_the_user() -> None:
    text = PARAMS.read_text().replace("tasks: [mention, section]", "tasks: &both [mention, section]")
    text = text.replace("    task: {task_transfer: own}", "    task: {task_transfer: own, tasks: *both}")
    PARAMS.write_text(text)
    done = run("rename-task", "mention", "names")
    assert done.exit_code == 0, done.output
    arms = params.read(PARAMS)["ladder"]["arms"]
    assert [arms[arm]["tasks"] for arm in ("general_long", "task")] == [["names", "section"]] * 2
    text = PARAMS.read_text()
    done = run("remove-task", "names")
    assert (done.exit_code, PARAMS.read_text()) == (78, text)
    assert done.output.startswith(
        "error: AB-217 params.yaml: written in a way that this command cannot change (anchors,"
    )
    assert done.output.endswith("\n  change the names in it by hand, then run `adaptbert ladder`\n")
