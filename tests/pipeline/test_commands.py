"""params.yaml cannot write commands: with a real DVC, a name or a path that a shell would obey is carried as it is."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adaptbert.errors import BadParams
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params import placeholders
from tests.support.imports import is_code
from tests.support.messages import messages_in
from tests.support.project import ROOT, environment

ORDERS = ("$(touch {})", "x;touch {}", "`touch {}`", "x\ntouch {}\n", "x' ; touch {} '")
"""What a shell would obey; `{}` is a file that must not appear."""

RECORDER = """
import json, os, sys
from pathlib import Path
with open("ran.jsonl", "a", encoding="utf-8") as file:
    file.write(json.dumps([os.environ["DVC_STAGE"], sys.argv[1:]]) + "\\n")
for path in map(Path, json.loads(Path("makes.json").read_text())[os.environ["DVC_STAGE"]]):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_text("made")
"""
"""In the place of each stage: tells with what it was called, and makes its outputs."""


def dvc(project: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "dvc", *arguments]
    return subprocess.run(command, cwd=project, env=environment(project), capture_output=True, text=True, timeout=300)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """dvc.yaml without the code that stages depend on, in a repository of DVC's without git."""
    monkeypatch.chdir(tmp_path)
    graph = params.read(ROOT / "dvc.yaml")
    for values in graph["stages"].values():
        stage = values.get("do", values)
        stage["deps"] = [dep for dep in stage["deps"] if not is_code(dep)]
    (tmp_path / "dvc.yaml").write_text(json.dumps(graph), encoding="utf-8")
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    return tmp_path


def hostile() -> tuple[dict[str, Any], int]:
    """The smallest params.yaml that dvc.yaml can read, with an order in each name and each value; and how many."""
    number = iter(range(10**6))

    def every() -> list[str]:
        return [order.format(f"TOUCHED{next(number)}") for order in ORDERS]

    corpora, tasks, rungs, cells = every(), every(), every(), every()
    document = {
        "seed": 1,
        "measure": {},
        "ladder": {
            "domain_transfer": [*corpora, "general"],
            "task_transfer": {rung: dict.fromkeys(("task", "from"), tasks[0]) for rung in rungs},
            "finetune": {cell: {"task": tasks[0], "arm": every()[0], "from": every()[1]} for cell in cells},
        },
        "collect": {name: {"path": path} for name, path in zip(corpora, every(), strict=True)},
        "collect_task": {name: dict(zip(("train", "dev", "test"), every(), strict=False)) for name in tasks},
        "tokenize": {"words": {"dictionary": every()[0]}},
        "finetune": {task: {} for task in tasks},
        **{name: {} for name in ("validate", "tokenizer", "pretrain", "domain_transfer", "task_transfer", "compare")},
    }
    return document, 5 * len(ORDERS) + 1 + len(("ladder", "validate", "tokenizer", "tokenize", "pretrain", "compare"))


def test_nothing_of_params_is_executed(project: Path) -> None:
    """A plain `dvc repro` of all stages, with names and values that nobody has checked."""
    from dvc.repo import Repo

    document, count = hostile()
    (project / "params.yaml").write_text(json.dumps(document), encoding="utf-8")
    (project / "stages").mkdir()
    for path in (ROOT / "stages").glob("*.py"):
        (project / "stages" / path.name).write_text(RECORDER if path.stem != "__init__" else "# a package")
    with Repo(str(project)) as repo:
        stages = {stage.addressing: stage for stage in repo.index.stages}
        needed = {dep.fs_path for stage in stages.values() for dep in stage.deps}
    makes = {
        address: [path for out in stage.outs for path in _below(out.fs_path, needed)]
        for address, stage in stages.items()
    }
    (project / "makes.json").write_text(json.dumps(makes), encoding="utf-8")
    made = {path for paths in makes.values() for path in paths}
    for path in needed:
        if not Path(path).exists() and not any(other == path or other.startswith(f"{path}/") for other in made):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text("brought")

    ran = dvc(project, "repro")
    lines = [json.loads(line) for line in (project / "ran.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted(path.name for path in project.rglob("TOUCHED*") if " " not in path.name) == []
    assert (len(lines), {address for address, _ in lines}) == (count, set(stages)), ran.stdout + ran.stderr
    commands = {(address.partition("@")[0], *arguments) for address, arguments in lines}
    assert len(commands) == len({stage for stage, *_ in commands}), "one command for all stages of a name"


def _below(out: str, needed: set[str]) -> list[str]:
    """What of an output other stages need, or the output itself."""
    return sorted((path for path in needed if path.startswith(f"{out}/")), key=len, reverse=True) or [out]


def test_any_file_name_is_collected(project: Path) -> None:
    """By the real stages: blanks, quotes, what a shell would obey, a leading dash; letters of any language in a key."""
    for name in ("adaptbert", "stages", "constraints.txt"):
        (project / name).symlink_to(ROOT / name)
    document = params.read(ROOT / "presets/smoke.yaml")
    names = ["-x.txt", 'it\'s "quoted" $(touch TOUCHED).txt']
    corpora = dict(zip(("general", "中文-2_b"), names, strict=True))
    for name in names:
        (project / name).write_text(f"A line of {len(name)} words.\nAnother one.\n", encoding="utf-8")
    table = 'train; touch "TOUCHED" .csv'
    rows = "".join(f"text number {i},{'ab'[i % 2]}\n" for i in range(40))
    (project / table).write_text(f"text,label\n{rows}", encoding="utf-8")
    document["collect"] |= {key: {"source": "files", "path": name} for key, name in corpora.items()}
    document["collect_task"]["section"] = {
        "source": "files", "shape": "single_sentence", "target": "class",
        "train": table, "dev": table, "test": table, "split": {"dev": 0.2, "test": 0.2},
    }  # fmt: skip
    (project / "params.yaml").write_text(json.dumps(document), encoding="utf-8")
    done = dvc(project, "repro", *(f"collect@{key}" for key in corpora), "collect_task@section")
    assert done.returncode == 0, done.stdout + done.stderr
    for key, name in corpora.items():
        manifest = json.loads((project / f"data/raw/corpora/{key}/manifest.json").read_text(encoding="utf-8"))
        assert (manifest["rows"], name in json.dumps(manifest, ensure_ascii=False).replace('\\"', '"')) == (2, True)
    assert (project / "data/raw/tasks/section/test.parquet").is_file()
    assert sorted(path.name for path in project.rglob("TOUCHED*")) == []


def test_a_name_that_leads_elsewhere_costs_nothing(project: Path) -> None:
    """A plain `dvc repro` removes the outputs of a stage before it looks for inputs or runs anything, and a name of the
    ladder stands in their paths. `--keep-going`: whatever does not depend on the first stage is run as well."""
    for name in ("adaptbert", "stages", "constraints.txt"):
        (project / name).symlink_to(ROOT / name)
    outside = project.parent / f"{project.name}-outside"
    precious = [project / "notes/page", *(outside / str(i) / "page" for i in range(4))]
    for path in precious:
        path.parent.mkdir(parents=True)
        path.write_text("kept", encoding="utf-8")
    names = ["../../notes", *(f"../../../{outside.name}/{i}" for i in range(2))]
    raw = [f"../../../../{outside.name}/{i}" for i in (2, 3)]
    document = params.read(ROOT / "presets/smoke.yaml")
    document["ladder"] |= {
        "finetune": {names[0]: {"task": "../../../nowhere", "arm": "general", "from": "nowhere"}},
        "task_transfer": {names[1]: {"task": "../../../nowhere", "from": "nowhere"}},
        "domain_transfer": [names[2]],
    }
    document["finetune"]["../../../nowhere"] = document["finetune"]["section"]
    document["collect"][raw[0]] = document["collect"]["domain"]
    document["collect_task"][raw[1]] = document["collect_task"]["section"]
    (project / "params.yaml").write_text(json.dumps(document), encoding="utf-8")

    done = dvc(project, "repro", "--keep-going")
    assert [path for path in precious if not path.is_file()] == [], done.stdout + done.stderr
    lines = [line for line in messages_in(done.stdout + done.stderr) if "AB-" in line]
    assert (done.returncode, [name for name in (*names, *raw) if not any(name in line for line in lines)]) == (255, [])


LADDER = {"ladder": {"finetune": {"ner-domain": {"task": "ner", "from": "x/{key}"}}, "domain_transfer": ["law"]},
          "tokenize": {"words": {"dictionary": "a b.txt"}}}  # fmt: skip


@pytest.mark.parametrize(
    ("stage", "foreach", "address", "word", "filled"),
    [
        ("finetune", "ladder.finetune", "finetune@ner-domain", "models/{key}.json", "models/ner-domain.json"),
        ("finetune", "ladder.finetune", "../up/dvc.yaml:finetune@ner-domain", "{task}-{key}", "ner-ner-domain"),
        pytest.param(
            "finetune", "ladder.finetune", "finetune@ner-domain", "models/{from}", "models/x/{key}", id="once"
        ),
        ("domain_transfer", "ladder.domain_transfer", "domain_transfer@law", "{key}", "law"),
        pytest.param("tokenize", None, "tokenize", "{words.dictionary}", "a b.txt", id="of a stage without keys"),
        pytest.param("finetune", "ladder.finetune", "", "models/x", "models/x", id="none, by hand"),
    ],
)
def test_placeholders(
    monkeypatch: pytest.MonkeyPatch, stage: str, foreach: str | None, address: str, word: str, filled: str
) -> None:
    monkeypatch.setenv(placeholders.STAGE, address)
    assert placeholders.fill({"a": word}, LADDER, stage, foreach, Path("params.yaml")) == {"a": filled}


@pytest.mark.parametrize(
    ("address", "word", "message"),
    [
        (
            "",
            "{key}",
            "AB-099 DVC_STAGE: does not name an entry of ladder.finetune\n  run `dvc repro finetune`, or set it",
        ),
        ("finetune@ner-scratch", "{key}", "AB-099 params.yaml: ladder.finetune.ner-scratch: 'ner-scratch' is missing"),
        (
            "finetune@ner-domain",
            "{tusk}",
            "AB-099 params.yaml: tusk: 'tusk' is missing in the file\n  add it; the file has from, key, task",
        ),
    ],
)
def test_a_placeholder_that_means_nothing(
    monkeypatch: pytest.MonkeyPatch, address: str, word: str, message: str
) -> None:
    monkeypatch.setenv(placeholders.STAGE, address)
    with pytest.raises(BadParams) as refused:
        placeholders.fill({"a": word}, LADDER, "finetune", "ladder.finetune", Path("params.yaml"))
    assert str(refused.value).startswith(message)
