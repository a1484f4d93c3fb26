"""Files that others read first: versions agree, workflows and Dockerfile ask for a Python that is supported.

Schemas and linters of these files are not among our packages: check-jsonschema, actionlint, zizmor and hadolint.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from ruamel.yaml import YAML

from tests.support.imports import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def values(name: str | Path) -> Any:
    """Values of a YAML file, in which `on` is no truth value."""
    return YAML(typ="safe", pure=True).load(ROOT / name)


def steps(workflow: Path) -> list[dict[str, Any]]:
    return [step for job in values(workflow)["jobs"].values() for step in job["steps"]]


# ---- versions


def test_the_changelog_begins_with_the_version_and_goes_down() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    dated = [re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d\d-\d\d|Unreleased)", heading) for heading in headings]
    assert None not in dated, headings
    numbers = [tuple(map(int, match.groups()[:3])) for match in dated if match]
    assert numbers[0] == tuple(map(int, PROJECT["version"].split(".")))
    assert numbers == sorted(numbers, reverse=True)
    assert [match[4] for match in dated[1:] if match and match[4] == "Unreleased"] == []


def test_the_changelog_has_kinds_of_changes() -> None:
    kinds = re.findall(r"^### (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_citation_is_of_this_version_and_licence() -> None:
    citation = values("CITATION.cff")
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])


# ---- workflows


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_commits_and_may_only_read(workflow: Path) -> None:
    """A tag of an action can be moved to other code."""
    actions = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert actions
    assert [action for action in actions if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action)] == []
    assert values(workflow)["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_commands_of_workflows_are_ours(workflow: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for words in (step["run"].split() for step in steps(workflow) if "run" in step):
        assert words[0] in ("make", "bash", "python", "test")
        assert words[0] != "make" or words[1] in targets
        assert words[0] != "bash" or (ROOT / words[1]).is_file()


def test_tests_run_with_every_python_on_every_system() -> None:
    matrix = values(".github/workflows/tests.yml")["jobs"]["test"]["strategy"]["matrix"]
    declared = [name.rpartition(" :: ")[2] for name in PROJECT["classifiers"]]
    assert matrix["python"] == [name for name in declared if re.fullmatch(r"\d\.\d+", name)]
    assert {"ubuntu-latest": "Linux", "macos-latest": "MacOS"}.keys() == set(matrix["os"])
    assert {"Linux", "MacOS"} <= set(declared)


def test_the_site_is_made_with_the_packages_of_its_extra() -> None:
    (install,) = [step["run"] for step in steps(ROOT / ".github/workflows/docs.yml") if "pip" in step.get("run", "")]
    extra = [re.split("[>=<]", package)[0] for package in PROJECT["optional-dependencies"]["site"]]
    assert install.split()[-len(extra) :] == extra


# ---- the image


def test_the_python_of_the_image_is_supported() -> None:
    images = set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE))
    (version,) = {re.fullmatch(r"python:(\d\.\d+)-slim", image)[1] for image in images}
    assert version in SpecifierSet(PROJECT["requires-python"])


def test_the_image_runs_the_command_as_no_root() -> None:
    last = {line.split()[0]: line.split(maxsplit=1)[1] for line in DOCKERFILE.splitlines() if re.match("[A-Z]+ ", line)}
    assert last["ENTRYPOINT"] == '["adaptbert"]'
    assert "adaptbert" in PROJECT["scripts"]
    assert last["USER"] not in ("root", "0")


# ---- what contributors use


def test_hooks_before_a_commit_are_the_linters_of_make_lint() -> None:
    (local,) = values(".pre-commit-config.yaml")["repos"]
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert lint
    commands = re.findall(r"-m (\w+(?: \w+)?)", lint[1])
    assert local["repo"] == "local", "nothing is downloaded"
    assert [hook["entry"].partition(" -m ")[2] for hook in local["hooks"]] == commands


def test_a_report_of_a_bug_asks_for_what_finds_it() -> None:
    fields = {field["id"]: str(field) for field in values(".github/ISSUE_TEMPLATE/bug.yml")["body"] if "id" in field}
    assert "adaptbert doctor" in fields["doctor"]
    assert "AB-" in fields["code"]
    assert "without its paths" in fields["params"]
