"""Every command that the documents show exists."""

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from dvc.cli import DvcParserError
from dvc.cli.parser import get_main_parser
from ruamel.yaml import YAML
from typer.main import get_command

from adaptbert.cli import app
from adaptbert.config import load as params
from adaptbert.config import plan as planning
from tests.parameters_page import parameters
from tests.support.imports import ROOT
from tests.support.markdown import DOCUMENTS, read, shown


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][\w-]*):", read("Makefile"), re.MULTILINE))


def test_make_targets_exist() -> None:
    variables = set(re.findall(r"\b(BASE_PYTHON|TORCH_INDEX|PYTHON|JOBS)\b", read("Makefile")))
    for name, (_, *words) in shown("make"):
        for word in words:
            assert word in targets() or word.partition("=")[0] in variables, f"{name}: make {word}"


def test_every_make_target_is_documented() -> None:
    documented = {word for _, words in shown("make") for word in words[1:]}
    assert targets() - documented == set()


def test_adaptbert_commands_parse() -> None:
    verbs = get_command(app).commands  # type: ignore[attr-defined]
    for name, (_, verb, *rest) in shown("adaptbert"):
        if verb == "--help":
            continue
        assert verb in verbs, f"{name}: adaptbert {verb}"
        if rest in ([], ["--help"]):
            continue  # the name of a command, in a sentence
        try:
            verbs[verb].make_context(verb, list(rest), resilient_parsing=False)
        except Exception as error:
            pytest.fail(f"{name}: adaptbert {verb} {shlex.join(rest)}: {error}")


def test_every_verb_and_preset_is_documented() -> None:
    documented = {words[1] for _, words in shown("adaptbert")}
    assert set(get_command(app).commands) - documented == set()  # type: ignore[attr-defined]
    pages = "\n".join(map(read, DOCUMENTS))
    for path in (ROOT / "presets").glob("*.yaml"):
        assert f"`{path.stem}`" in pages or f"presets/{path.name}" in pages, path.name


def test_dvc_commands_parse() -> None:
    """DVC's own parser, so that a misspelt option fails; values are keys of params.yaml."""
    known = {row.key for rows in parameters().values() for row in rows}
    written = {name: params.flatten(params.read(Path(f"presets/{name}.yaml"))) for name in ("smoke", "demo")}
    stages = set(YAML(typ="safe", pure=True).load(read("dvc.yaml"))["stages"])
    instances = {f"{stage}@{key}" for stage, table in planning.read().model_dump().items() for key in table}
    for name, words in shown("dvc"):
        try:
            parsed = get_main_parser().parse_args(words[1:])
        except DvcParserError:
            pytest.fail(f"{name}: {shlex.join(words)}")
        for setting in getattr(parsed, "set_param", None) or []:
            key = setting.partition("=")[0]
            assert key.removeprefix("+") in known, f"{name}: {setting}"
            assert all((key[0] == "+") == (key.removeprefix("+") not in keys) for keys in written.values()), setting
        addressed = getattr(parsed, "targets", None) if words[1] == "repro" else getattr(parsed, "target", None)
        for target in [addressed] if isinstance(addressed, str) else addressed or []:
            assert target in stages | instances, f"{name}: {target}"


def test_python_modules_exist() -> None:
    for name, words in shown("python"):
        if words[1] == "-m":
            assert importlib.util.find_spec(words[2]) is not None, f"{name}: {shlex.join(words)}"
        else:
            ast.parse(words[2])


HELP = """
import sys
from importlib.metadata import entry_points
program, *commands = sys.argv[1:]
point, *_ = entry_points(group="console_scripts", name=program)
for command in commands:
    sys.argv = [program, *command.split(), "--help"]
    try:
        point.load()()
    except SystemExit as ended:
        assert not ended.code, command
    print(end="\\f", flush=True)
"""


@pytest.mark.parametrize("program", ["prefect", "mlflow", "ray"])
def test_other_programs_know_the_command_and_its_options(program: str) -> None:
    """Their own --help is read, once for each sub-command."""
    documented: dict[str, set[str]] = {}
    for _, words in shown(program):
        depth = 2 if program == "prefect" or words[1] == "models" else 1
        verbs = [word for word in words[1:] if re.fullmatch(r"[a-z][a-z-]*", word)][:depth]
        options = {word.partition("=")[0] for word in words[1:] if word.startswith("--")} - {"--no-prompt"}
        documented.setdefault("deploy" if verbs[0] == "deploy" else " ".join(verbs), set()).update(options)
    command = [sys.executable, "-c", HELP, program, *documented]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    for (sub, options), text in zip(documented.items(), done.stdout.split("\f")[:-1], strict=True):
        assert [option for option in options if option not in text] == [], sub


def test_make_help_names_what_make_can_do() -> None:
    done = subprocess.run(["make", "--no-print-directory", "help"], capture_output=True, text=True, check=True)
    assert "make recipe" in done.stdout
    assert set(re.findall(r"^make (\S+)", done.stdout, re.MULTILINE)) <= targets()
