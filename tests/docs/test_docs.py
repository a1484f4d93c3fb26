"""The documents are true: what they name exists, what is generated is fresh, and what exists is documented.

`python -m tests.documents` writes what is generated.
"""

import re
import subprocess
from pathlib import Path

import pytest

from adaptbert.runtime.variables import VARIABLES
from tests.documents import DEMONSTRATION, ENCODERS, PICTURE, READMES, WRITTEN, written
from tests.parameters_page import parameters
from tests.support.demonstration import own_run
from tests.support.imports import ROOT
from tests.support.markdown import DOCUMENTS, blocks, prose, read, spans

WORKPLACE = re.compile(r"/(?:tmp|home|root)/|\.local\b|://(?!127\.0\.0\.1)[\w.-]*:\d")


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


# ---- paths, keys, links


def outputs() -> set[str]:
    """What DVC writes, the folders that hold it, and what else appears when things run."""
    paths = {"mlflow.db", "mlartifacts", "dvc_plots", "dvc_plots/index.html", ".venv", "data/own", "data/rejected"}
    folders = "data|models|metrics|predictions|reports"
    for line in re.findall(rf"^ +- ((?:{folders})/[^\s:]+)", read("dvc.yaml"), re.MULTILINE):
        paths |= {line, *(parent.as_posix() for parent in Path(line).parents)}
    return paths


OF_A_CHECKPOINT = re.compile(r"(card|(bert_|tokenizer_)?config|tokenizer|vocab)\.json|(vocab|merges)\.txt")
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
            if not is_path or path in outputs() or OF_A_CHECKPOINT.fullmatch(Path(path).name):
                continue
            looked_at += 1
            here = [*ROOT.glob(path), *(ROOT / name).parent.glob(path)]
            assert here or path.startswith(("data/rejected/", "releases/")), f"{name}: `{span}`"
    assert looked_at > 20


def test_keys_exist() -> None:
    """Dotted inline code that begins with a section of params.yaml is a key, or leads to keys."""
    sections = parameters()
    known = {row.key for rows in sections.values() for row in rows}
    pattern = re.compile("|".join(re.sub("<.*?>", r"[\\w-]+", re.escape(key)) for key in known))
    looked_at = 0
    for name in DOCUMENTS:
        if name == "docs/parameters.md":
            continue
        for span in spans(name):
            key = span.split(":")[0].split("=")[0].strip()
            if key.split(".")[0] not in sections or "." not in key or key.endswith((".py", ".json", ".yaml")):
                continue
            looked_at += 1
            key = re.sub(r"^overrides\.\w+\.", "", key)  # what stands below a name is of the section
            leads = any(longer.startswith(f"{key}.") for longer in known)
            assert leads or pattern.fullmatch(key), f"{name}: `{span}`"
    assert looked_at > 5


def test_yaml_blocks_are_yaml_with_known_keys() -> None:
    keys = {part for rows in parameters().values() for row in rows for part in row.key.split(".")}
    keys |= {"name", "config", "split"}  # of the YAML file of a hub data set
    for name in DOCUMENTS:
        for block in blocks(name, "yaml"):
            assert set(block.values) & keys, f"{name}: {block.text}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose(name)):
        if "://" not in target:
            assert (ROOT / name).parent.joinpath(target).exists(), f"{name}: {target}"


def test_every_document_can_be_reached() -> None:
    """From the README, link by link; decisions lie beside each other in their folder."""
    reached, ahead = set(), {"README.md", "CONTRIBUTING.md"}
    while ahead:
        name = ahead.pop()
        reached.add(name)
        links = re.findall(r"\]\(([^)#\s]+\.md)", prose(name))
        targets = {(ROOT / name).parent / link for link in links if "://" not in link}
        ahead |= {target.resolve().relative_to(ROOT).as_posix() for target in targets} - reached
    beside = ("docs/decisions/", "models/")
    assert [name for name in DOCUMENTS if name not in reached and not name.startswith(beside)] == []


def test_pages_that_code_names_exist() -> None:
    grep = subprocess.run(
        ["git", "grep", "-ohE", r"docs/[a-z-]+(/[a-z-]+\.md|/[0-9]{4}|\.md)", "--", ".", ":!*.md", ":!tests/docs"],
        capture_output=True,
        text=True,
    )
    if grep.returncode != 0:
        pytest.skip("no git repository")
    assert [name for name in set(grep.stdout.split()) if not [*ROOT.glob(f"{name}*")]] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_nothing_of_a_workplace(name: str) -> None:
    assert WORKPLACE.findall(read(name)) == []


# ---- the tree of files


def tree() -> set[str]:
    """The files and folders at the top, as CONTRIBUTING.md lists them."""
    listed = read("CONTRIBUTING.md").split("## Files\n")[1].split("\n## ")[0]
    names = [item.split(": ")[0] for item in re.findall(r"^- (.+)", listed, re.MULTILINE)]
    return {span.rstrip("/") for each in names for span in re.findall(r"`([\w./-]+)`", each)}


def test_the_tree_names_the_files_that_there_are() -> None:
    done = subprocess.run(["git", "ls-files"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("no git repository")
    tracked = {line.split("/")[0] for line in done.stdout.splitlines() if line[0] != "."}
    assert tree() - tracked == set()
    without = {path for path in tracked - tree() if "." not in path}
    assert without - {"releases"} == {"LICENSE"}, "a release is the work of whoever uses the clone"


def test_the_files_to_read_first_are_five() -> None:
    listed = read("CONTRIBUTING.md").split("## Read these five files\n")[1].split("\n## ")[0]
    names = re.findall(r"^\d\. `([^`]+)`", listed, re.MULTILINE)
    assert [(ROOT / name).is_file() for name in names] == [True] * 5


@pytest.mark.parametrize("name", ["docs/how-to/running.md", "docs/how-to/running.zh-CN.md"])
def test_every_variable_is_in_the_guide(name: str) -> None:
    rows = dict(re.findall(r"^\| `(ADAPTBERT_\S+)` \| (.+) \|$", read(name), re.MULTILINE))
    written = {f"{variable}={VARIABLES[variable].example}": VARIABLES[variable].meaning for variable in VARIABLES}
    assert list(rows) == list(written)
    assert ".zh-CN" in name or rows == written


# ---- how long it is


def test_pages_are_short() -> None:
    """A page that says more is two pages, or says what another one says."""
    words = {name: len(read(name).split()) for name in DOCUMENTS if not name.endswith(".zh-CN.md")}
    how_to = {name: count for name, count in words.items() if name.startswith("docs/how-to/")}
    assert len(how_to) <= 15
    assert {name: count for name, count in how_to.items() if count > 700} == {}
    assert words["docs/concepts.md"] <= 1500
    assert max(len(read(name).splitlines()) for name in READMES) <= 180
    read_ = [name for name in words if name.startswith(("README", "docs/")) and name != ENCODERS]  # a table of types
    assert sum(words[name] for name in read_) <= 38_500  # the last 1,580: installation, release, site


# ---- what is generated


@pytest.mark.parametrize("name", WRITTEN)
def test_fresh(name: str) -> None:
    if name in (*READMES, DEMONSTRATION, PICTURE) and own_run():
        pytest.skip("metrics/comparison.json is not the demonstration's")
    assert read(name) == written(name), "python -m tests.documents"


def test_every_key_is_explained() -> None:
    rows = [row for section in parameters().values() for row in section]
    assert [row.key for row in rows if not row.meaning] == []
    assert all(row.default for row in rows)


def test_defaults_are_those_of_the_schema() -> None:
    rows = {row.key: row.default for section in parameters().values() for row in section}
    assert rows["domain_transfer.learning_rate"] == "0.001 from random weights, 0.00005 from a checkpoint"
    assert rows["pretrain.tokens"] == "0 from a checkpoint"
    assert rows["task_transfer.passes"] == "50"
    assert rows["tasks.<task>.type"] == "required"
    assert rows["finetune.layer_decay"] == "–"
    assert rows["compare.order"] == "`[recipe, domain_transfer, task_transfer, domain_text]`"
