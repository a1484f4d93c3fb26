"""The real dvc.yaml with stages that take no time: what an edit of params.yaml makes run, and what DVC itself costs.

Paths, params and `foreach` are those of the project. In the place of every stage runs `STAND_IN`, whose outputs are a
function of what the stage reads: its data, and the values that are in force for it. So a rung that is trained on
something else makes those above it run, and one that is trained on the same does not.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptbert.runtime.params import expanded_ladder
from adaptbert.runtime.params import params_file as params
from tests.support.imports import is_code
from tests.support.project import ROOT, Project, environment

STAND_IN = """
import hashlib, json, os, re, shutil
from pathlib import Path

document = json.loads(Path("params.yaml").read_text())
name, _, key = os.environ["DVC_STAGE"].partition("@")
stage = json.loads(Path("dvc.yaml").read_text())["stages"][name]
DICTIONARY = document["tokenize"]["all"]["words"]["dictionary"]
line = re.search(rf"^  {name}:\\n(?:    .*\\n)*?    {re.escape(key)}: {{(.*)}}$", Path("ladder.yaml").read_text(), re.M)
entry = dict(pair.split(": ") for pair in line[1].split(", ")) if line else document.get(name, {}).get(key, {})


def filled(text):
    text = text.replace("${key}", key).replace("${tokenize.all.words.dictionary}", DICTIONARY)
    return re.sub(r"\\$\\{item\\.(\\w+)\\}", lambda match: str(entry[match[1]]), text)


def merged(values, others):
    both = dict(values)
    for key, other in others.items():
        below = both.get(key)
        both[key] = merged(below, other) if isinstance(other, dict) and isinstance(below, dict) else other
    return both


def digest(*what):
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def content(path):
    if path.is_dir():
        return {str(file.relative_to(path)): file.read_text() for file in sorted(path.rglob("*")) if file.is_file()}
    return path.read_text()


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir() if not path.name.startswith("."))


body = stage.get("do", stage)
values = document.get(name, {})
if line:
    blocks, values = values, {}
    for block in ("all", entry.get("start"), entry.get("corpus"), entry.get("task"), entry.get("arm")):
        values = merged(values, blocks.get(block, {}))
elif key:
    values = values[key]
read = [path for path in map(Path, map(filled, body["deps"])) if path.parts[0] not in ("adaptbert", "stages")]
start = document["ladder"]["starts"].get(key) if name in ("tokenizer", "pretrain") else None
contents = [content(path) for path in read]
if name == "tokenizer":  # a vocabulary knows no names of corpora
    contents = [sorted(each.values()) if isinstance(each, dict) else each for each in contents]
made = digest(name, values, entry.get("draw"), start, contents) if name != "ladder" else name
outs = [filled(out if isinstance(out, str) else next(iter(out)))
        for kind in ("outs", "metrics", "plots") for out in body.get(kind, [])]
for out in map(Path, outs):
    if name == "ladder":
        write(out / "checked", "")
        for table, entries in re.findall(r"^  (\\w+):\\n((?:    .*\\n)*)", Path("ladder.yaml").read_text(), re.M):
            for line in entries.splitlines():
                write(out / table / line.split(":")[0].strip(), line)
        continue
    if name == "validate" and out.name == "validated":
        for kind, section in (("corpora", "collect"), ("tasks", "collect_task")):
            for each in document[section]:
                write(out / kind / each / "rows", digest(values, content(Path("data/raw") / kind / each)))
    elif name == "tokenize" and not out.suffix:
        vocabulary = content(Path("data/tokenizer") / key)
        shutil.rmtree(out, ignore_errors=True)
        for kind in ("corpora", "tasks"):
            for each in names(f"data/validated/{kind}"):
                for part in (kind, "heldout"):
                    rows = content(Path("data/validated") / kind / each)
                    write(out / part / each / "tokens", digest(values, vocabulary, rows))
    else:
        write(out if out.suffix else out / "made", made)
"""


class LadderGraph(Project):
    """A project in which a stage takes no time."""

    def write(self, document: Mapping[str, Any]) -> None:
        """Replace params.yaml and ladder.yaml, and make the files that they name and no stage makes."""
        (self.root / "params.yaml").write_text(json.dumps(document), encoding="utf-8")
        tables = expanded_ladder.expanded(document, self.root / "params.yaml")
        expanded_ladder.write(tables, self.root / "ladder.yaml")
        for path in (self.root / name for name in sources(document)):
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"text of {path.name}", encoding="utf-8")

    def repro(self, *options: str) -> set[str]:
        """The stages that `dvc repro` ran."""
        done = self.run("dvc", "repro", *options, timeout=600)
        assert done.returncode == 0, done.stdout
        return set(re.findall(r"Running stage '(.+)':", done.stdout))


def ladder_graph(folder: Path, document: Mapping[str, Any]) -> LadderGraph:
    """A repository of git and DVC with this params.yaml, in which nothing has run."""
    graph = params.read(ROOT / "dvc.yaml")
    for values in graph["stages"].values():
        stage = values.get("do", values)
        stage["cmd"] = "exec python -S stand_in.py"
        stage["deps"] = [dep for dep in stage["deps"] if not is_code(dep)]
    del graph["plots"]
    home = folder / ".home"
    home.mkdir(parents=True)
    for name in (".dvcignore", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    (folder / "dvc.yaml").write_text(json.dumps(graph), encoding="utf-8")
    (folder / "stand_in.py").write_text(STAND_IN, encoding="utf-8")
    (folder / ".gitignore").write_text(".home\n", encoding="utf-8")
    project = LadderGraph(folder, environment(home))
    project.write(document)
    subprocess.run(["git", "init", "-q"], cwd=folder, env=project.env, check=True)
    for command in (["init", "-q"], ["config", "core.site_cache_dir", str(home / "dvc")]):
        done = project.run("dvc", *command)
        assert done.returncode == 0, done.stdout
    return project


def sources(document: Mapping[str, Any]) -> set[str]:
    """The files that no stage makes."""
    tasks = document["collect_task"].values()
    return {
        document["tokenize"]["all"]["words"]["dictionary"],
        "models/init/README.md",
        *(corpus["path"] for corpus in document["collect"].values()),
        *(task[split] for task in tasks for split in ("train", "dev", "test")),
    }


def small(draws: int = 2) -> dict[str, Any]:
    """Names of a recipe, and few values; stand-ins do not check them."""
    return {
        "seed": 1,
        "ladder": {
            "draws": draws,
            "starts": {"small": {"init": "scratch", "encoder": {"layers": 2}}},
            "arms": {
                "scratch": {"pretrain": "none"},
                "domain": {"domain_transfer": "domain"},
                "domain_task": {"domain_transfer": "domain", "task_transfer": "own"},
            },
        },
        "collect": {name: {"path": f"{name}.txt"} for name in ("general", "domain")},
        "collect_task": {
            name: {split: f"{name}.{split}.csv" for split in ("train", "dev", "test")}
            for name in ("section", "mention")
        },
        "validate": {"min_characters": 2},
        "tokenizer": {"all": {"vocabulary_size": 8000}},
        "tokenize": {"all": {"max_length": 128, "words": {"dictionary": "words.txt"}}},
        "measure": {"seed": 0},
        "pretrain": {"all": {"budget": {"tokens": 600}}},
        "domain_transfer": {"all": {"budget": {"tokens": 1200}, "optim": {"learning_rate": 0.001}}},
        "task_transfer": {"all": {"budget": {"tokens": 150}}},
        "finetune": {"all": {"epochs": 4, "seeds": [1, 2, 3]}, "section": {"labels": 600}},
        "compare": {"confidence": 0.95},
    }
