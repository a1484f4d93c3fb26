"""The documents are true: what they show exists, what is generated is fresh, and what exists is told.

Commands are parsed, not trusted; those that are cheap are run. `python -m tests.documents` mends what is generated.
"""

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from dvc.cli import DvcParserError
from dvc.cli.parser import get_main_parser
from ruamel.yaml import YAML
from typer.main import get_command

from adaptbert import params
from adaptbert.cli import app
from adaptbert.comparison import QUESTIONS
from adaptbert.outputs import read_json
from adaptbert.parameters import OTHERWISE, parameters
from tests.documents import BENCHMARKS, PARAMETERS, PICTURE, READMES, written
from tests.import_closure import ROOT

DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "data/README.md",
        ROOT / "models/init/README.md",
    ]
)
SHELL = ("sh", "bash", "")
WORKPLACE = re.compile(r"/(?:tmp|home|root)/|\.local\b|://(?!127\.0\.0\.1)[\w.-]*:\d")


class Block(NamedTuple):
    """A fenced block, without its indentation."""

    language: str
    text: str


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@cache
def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str) -> list[Block]:
    found = re.findall(r"^( *)```(\w*)\n(.*?)^\1```$", read(name), re.MULTILINE | re.DOTALL)
    return [Block(language, re.sub(f"^{indent}", "", text, flags=re.MULTILINE)) for indent, language, text in found]


def prose(name: str) -> str:
    """Without the fenced blocks."""
    return re.sub(r"^( *)```.*?^\1```$", "", read(name), flags=re.MULTILINE | re.DOTALL)


def spans(name: str) -> list[str]:
    """Inline code."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose(name))]


PROGRAMS = ("make", "adaptbert", "dvc", "python", "prefect", "mlflow", "pytest")


def commands(name: str) -> Iterator[list[str]]:
    """Every command that a document shows, in a block or in a line of text, as words."""
    lines = [line for block in blocks(name) if block.language in SHELL for line in block.text.splitlines()]
    for line in [*lines, *(span for span in spans(name) if " " in span)]:
        line = line.strip().removeprefix(".venv/bin/").removesuffix("...").replace("PRESET", "demo")
        if line.split(" ")[0] in PROGRAMS:
            yield shlex.split(line, comments=True)


def shown(*programs: str) -> list[tuple[str, list[str]]]:
    found = [(name, words) for name in DOCUMENTS for words in commands(name) if words[0] in programs]
    assert found, f"nothing of {programs} is shown; does this test still read the documents?"
    return found


# ---- commands


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][\w-]*):", read("Makefile"), re.MULTILINE))


def test_make_targets_exist() -> None:
    variables = set(re.findall(r"\b(BASE_PYTHON|TORCH_INDEX|PYTHON)\b", read("Makefile")))
    for name, (_, *words) in shown("make"):
        for word in words:
            assert word in targets() or word.partition("=")[0] in variables, f"{name}: make {word}"


def test_every_make_target_is_told() -> None:
    told = {word for _, words in shown("make") for word in words[1:]}
    assert targets() - told == set()


def test_adaptbert_commands_parse() -> None:
    verbs = get_command(app).commands  # type: ignore[attr-defined]
    for name, (_, verb, *rest) in shown("adaptbert"):
        if verb == "--help":
            continue
        assert verb in verbs, f"{name}: adaptbert {verb}"
        verbs[verb].make_context(verb, list(rest), resilient_parsing=False)
        if verb == "use":
            assert (ROOT / f"presets/{rest[0]}.yaml").is_file(), f"{name}: {rest[0]}"


def test_every_verb_and_preset_is_told() -> None:
    told = {words[1] for _, words in shown("adaptbert")}
    assert set(get_command(app).commands) - told == set()  # type: ignore[attr-defined]
    for path in (ROOT / "presets").glob("*.yaml"):
        assert f"`{path.stem}`" in read("README.md")


def test_dvc_commands_parse() -> None:
    """DVC's own parser, so that a misspelt option fails; values are keys of params.yaml."""
    demo = params.read(Path("presets/demo.yaml"))
    keys = params.flatten(demo)
    stages = set(YAML(typ="safe", pure=True).load(read("dvc.yaml"))["stages"])
    instances = {f"{stage}@{key}" for stage, table in demo["ladder"].items() for key in table}
    for name, words in shown("dvc"):
        try:
            found = get_main_parser().parse_args(words[1:])
        except DvcParserError:
            pytest.fail(f"{name}: {shlex.join(words)}")
        for setting in getattr(found, "set_param", None) or []:
            assert setting.partition("=")[0] in keys, f"{name}: {setting}"
        wanted = getattr(found, "targets", None) if words[1] == "repro" else getattr(found, "target", None)
        for target in [wanted] if isinstance(wanted, str) else wanted or []:
            assert target in stages | instances, f"{name}: {target}"


def test_python_modules_exist() -> None:
    for name, words in shown("python"):
        if words[1] == "-m":
            assert importlib.util.find_spec(words[2]) is not None, f"{name}: {shlex.join(words)}"
        else:
            ast.parse(words[2])


@pytest.mark.parametrize("program", ["prefect", "mlflow"])
def test_other_programs_know_the_command_and_its_options(program: str) -> None:
    """Their own --help is asked, once for each sub-command."""
    asked: dict[tuple[str, ...], set[str]] = {}
    for _, words in shown(program):
        verbs = [word for word in words[1:] if re.fullmatch(r"[a-z][a-z-]*", word)][: 2 if program == "prefect" else 1]
        if verbs[0] == "deploy":
            verbs = verbs[:1]
        options = {word for word in words[1:] if word.startswith("--")} - {"--no-prompt"}
        asked.setdefault(tuple(verbs), set()).update(options)
    for sub, options in asked.items():
        command = [str(Path(sys.executable).with_name(program)), *sub, "--help"]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"})
        assert done.returncode == 0, f"{program} {' '.join(sub)}"
        assert [option for option in options if option not in done.stdout] == [], sub


@pytest.mark.parametrize(
    ("command", "part"),
    [
        (["adaptbert.cli", "--help"], "doctor"),
        (["adaptbert.cli", "doctor"], "device"),
        (["adaptbert.cli", "check"], "values, all right"),
        (["dvc", "dag", "--collapse-foreach-matrix", "--mermaid"], '["domain_transfer"]'),
    ],
    ids=["help", "doctor", "check", "dag"],
)
def test_cheap_commands_run(command: list[str], part: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)
    assert (done.returncode, part in done.stdout) == (0, True), done.stdout + done.stderr


def test_make_help_names_what_make_can_do() -> None:
    done = subprocess.run(["make", "--no-print-directory", "help"], capture_output=True, text=True, check=True)
    assert "make recipe" in done.stdout
    assert set(re.findall(r"^make (\S+)", done.stdout, re.MULTILINE)) <= targets()


# ---- paths, keys, links


def outputs() -> set[str]:
    """What DVC writes, the folders that hold it, and what else appears when things run."""
    found = {"mlflow.db", "mlartifacts", "dvc_plots", "dvc_plots/index.html", ".venv", "data/own", "data/rejected"}
    for line in re.findall(
        r"^ +- ((?:data|models|metrics|predictions|reports)/[^\s:]+)", read("dvc.yaml"), re.MULTILINE
    ):
        found |= {line, *(parent.as_posix() for parent in Path(line).parents)}
    return found


FORMATS = r"md|py|yaml|yml|toml|txt|json|svg|png|html|parquet|db"


def test_paths_exist() -> None:
    """Inline code that begins like one of the project's folders, or is named like a file of it."""
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."}
    folders |= {"models", "reports", "predictions", "metrics"}
    looked_at = 0
    for name in DOCUMENTS:
        for span in spans(name):
            path = span.rstrip("/")
            is_path = re.fullmatch(r"[\w.*/-]+", path) and (
                ("/" in span and path.split("/")[0] in folders) or re.fullmatch(rf"[\w-]+\.({FORMATS})", path)
            )
            if not is_path or path in outputs() or Path(path).name in ("card.json", "config.json", "vocab.txt"):
                continue
            looked_at += 1
            here = [*ROOT.glob(path), *(ROOT / name).parent.glob(path)]
            assert here or path.startswith("data/rejected/"), f"{name}: `{span}`"
    assert looked_at > 20


def test_keys_exist() -> None:
    """Dotted inline code that begins with a section of params.yaml is a key, or leads to keys."""
    sections = parameters()
    known = {row.key for rows in sections.values() for row in rows}
    patterns = [
        re.compile(re.sub(r"<\w+>", r"[\\w-]+", re.escape(key).replace(r"\<", "<").replace(r"\>", ">")))
        for key in known
    ]
    looked_at = 0
    for name in DOCUMENTS:
        if name == "docs/parameters.md":
            continue
        for span in spans(name):
            key = span.split(":")[0].split("=")[0].strip()
            if key.split(".")[0] not in sections or "." not in key or key.endswith((".py", ".json", ".yaml")):
                continue
            looked_at += 1
            whole = any(pattern.fullmatch(key) for pattern in patterns)
            leads = any(known_key.startswith(f"{key}.") for known_key in known)
            assert whole or leads, f"{name}: `{span}`"
    assert looked_at > 5


def test_yaml_blocks_are_yaml_with_known_keys() -> None:
    keys = {part for rows in parameters().values() for row in rows for part in row.key.split(".")}
    keys |= {"name", "config", "split"}  # of the YAML file of a hub data set
    for name in DOCUMENTS:
        for block in blocks(name):
            if block.language == "yaml":
                document = YAML(typ="safe", pure=True).load(block.text)
                assert set(document) & keys, f"{name}: {block.text}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose(name)):
        if "://" not in target:
            assert (ROOT / name).parent.joinpath(target).exists(), f"{name}: {target}"


def test_every_document_can_be_reached() -> None:
    """From the README, link by link; decisions lie beside each other in their folder."""
    reached, ahead = set(), ["README.md", "CONTRIBUTING.md"]
    while ahead:
        name = ahead.pop()
        if name in reached or not name.endswith(".md"):
            continue
        reached.add(name)
        targets = [
            (ROOT / name).parent / target
            for target in re.findall(r"\]\(([^)#\s]+)", prose(name))
            if "://" not in target
        ]
        ahead += [target.resolve().relative_to(ROOT).as_posix() for target in targets]
    left = {name for name in DOCUMENTS if name not in reached}
    assert {name for name in left if not name.startswith(("docs/decisions/", "models/"))} == set()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_nothing_of_a_workplace(name: str) -> None:
    assert WORKPLACE.findall(read(name)) == []


# ---- both languages


def test_the_two_readmes_are_equal() -> None:
    """As many headings of each level, the same blocks, pictures, links, codes and figures."""
    english, chinese = READMES
    for pattern in (r"^(#+) ", r"^(\|[-|]+\|)$", r"^ *(-|\d+\.) "):
        assert re.findall(pattern, prose(english), re.MULTILINE) == re.findall(pattern, prose(chinese), re.MULTILINE), (
            pattern
        )
    assert blocks(english) == blocks(chinese)
    for pattern in (r"!\[[^]]*\]\(([^)]+)\)", r"\]\(([^)]+)\)"):
        ours, theirs = (set(re.findall(pattern, prose(name))) - set(READMES) for name in READMES)
        assert ours == theirs
    assert sorted(set(spans(english))) == sorted(set(spans(chinese)))
    assert sorted(re.findall(r"\d+(?:\.\d+)?", re.sub(r"\(.*?\)", "", prose(english)))) == sorted(
        re.findall(r"\d+(?:\.\d+)?", re.sub(r"\(.*?\)", "", prose(chinese)))
    )


# ---- what is generated, and what is claimed


def own_run() -> bool:
    """Whether metrics/metrics.json is another than the committed one: the user's, not the demonstration's."""
    done = subprocess.run(["git", "show", "HEAD:./metrics/metrics.json"], capture_output=True)
    return done.returncode != 0 or done.stdout != Path("metrics/metrics.json").read_bytes()


@pytest.mark.parametrize("name", [*READMES, PICTURE, PARAMETERS, BENCHMARKS])
def test_fresh(name: str) -> None:
    if name in (*READMES, PICTURE) and own_run():
        pytest.skip("metrics/metrics.json is not the demonstration's")
    assert read(name) == written()[name], "python -m tests.documents"


CLAIMS = {
    ("section", "more_training"): "gain",
    ("section", "domain_transfer"): "gain",
    ("section", "domain_text"): "gain",
    ("section", "pretrain"): "not_shown",
    ("section", "task_transfer"): "likely_loss",
    ("section", "task_transfer_after_domain"): "likely_gain",
    ("mention", "more_training"): "gain",
    ("mention", "domain_transfer"): "gain",
    ("mention", "domain_text"): "gain",
    ("mention", "pretrain"): "not_shown",
    ("mention", "task_transfer"): "gain",
    ("mention", "task_transfer_after_domain"): "gain",
}
"""What the section 'What was shown, and what was not' says in words."""


def test_the_words_fit_the_figures() -> None:
    if own_run():
        pytest.skip("metrics/metrics.json is not the demonstration's")
    summary = read_json(Path("metrics/metrics.json"))
    found = {(task, step): summary[task]["steps"][step]["verdict"] for task, step in CLAIMS}
    assert found == CLAIMS, "write that section of both READMEs anew, and CLAIMS"
    for task in ("section", "mention"):
        steps = summary[task]["steps"]
        largest = max(
            (step for step in QUESTIONS if step not in ("climb", "domain_transfer")),
            key=lambda step: steps[step]["difference"],
        )
        assert largest == "more_training"
        for arm in ("scratch", "general", "general_long", "domain"):
            assert len(summary[task][arm]["seeds"]) == 5
    tfidf = summary["section"]["tfidf_logistic"]["f1_macro"]
    assert summary["section"]["general"]["high"] < tfidf
    assert summary["section"]["general_long"]["low"] < tfidf < summary["section"]["general_long"]["high"]
    assert tfidf < summary["section"]["domain"]["low"]
    assert summary["mention"]["window_logistic"]["f1_span"] < summary["mention"]["general_long"]["low"]


def test_every_key_is_explained() -> None:
    rows = [row for section in parameters().values() for row in section]
    assert [row.key for row in rows if not row.meaning] == []
    used = {words for words in OTHERWISE.values() if words in {row.meaning for row in rows}}
    assert [end for end, words in OTHERWISE.items() if words not in used] == [], "no key takes these words"


def codes_in_source() -> set[int]:
    """The first argument of whatever carries a code."""
    carriers = {
        "BadData",
        "BadParams",
        "HubUnreachable",
        "Busy",
        "WorkerLost",
        "Diverged",
        "RankLost",
        "Problem",
        "missing_columns",
        "Reason",
    }
    found = set()
    for path in [path for folder in ("adaptbert", "stages", "flows") for path in (ROOT / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).split(".")[-1] in carriers:
                inside = ast.walk(node.args[0])
                found |= {part.value for part in inside if isinstance(part, ast.Constant) and type(part.value) is int}
    return found


def test_every_error_code_is_told() -> None:
    told: set[int] = set()
    for cell in re.findall(r"^\| AB-([^|]+)\|", read("docs/errors.md"), re.MULTILINE):
        for first, last in re.findall(r"(\d{3})(?: to (\d{3}))?", cell):
            told |= set(range(int(first), int(last or first) + 1))
    assert sorted(codes_in_source() - told) == [], "add these to docs/errors.md"
    assert sorted(told - codes_in_source()) == [], "nothing raises these; take them out of docs/errors.md"


def test_carriers_of_codes_are_all_known() -> None:
    """A new kind of error must not slip past `codes_in_source`."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "adaptbert").rglob("*.py"))
    kinds = set(re.findall(r"^class (\w+)\((?:UserError|BadData|BadParams)\)", source, re.MULTILINE))
    assert kinds == {"BadData", "BadParams", "Several", "HubUnreachable", "Busy", "WorkerLost", "Diverged", "RankLost"}


def test_exit_codes_are_told() -> None:
    from adaptbert import errors

    for code in (errors.BAD_DATA, errors.INTERNAL, errors.IO_ERROR, errors.TEMPORARY, errors.BAD_PARAMS):
        assert f"| {code} |" in read("docs/errors.md")
