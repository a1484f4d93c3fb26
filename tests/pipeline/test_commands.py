"""params.yaml cannot write commands: with a real DVC, a name or a path that a shell would obey is carried as it is."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adaptbert.base.expansion import LADDER, read
from adaptbert.errors import BadParams
from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params import placeholders
from tests.support.imports import is_code
from tests.support.messages import messages_in
from tests.support.project import ROOT, environment, write_params

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


def hostile() -> tuple[dict[str, Any], dict[str, Any], int]:
    """The smallest params.yaml and ladder.yaml that dvc.yaml can read, with an order in each name and each path; and
    how many stages that is."""
    number = iter(range(10**6))

    def every() -> list[str]:
        return [order.format(f"TOUCHED{next(number)}") for order in ORDERS]

    starts, corpora, tasks, domain, task, measures, cells = (every() for _ in range(7))
    made_of = dict.fromkeys(("start", "corpus", "task", "arm"), starts[0]) | {"draw": 1, "from": every()[0]}
    blocks = dict.fromkeys(("of_start", "of_corpus", "of_task", "of_arm"), "all")
    entries = {
        "tokenizer": starts,
        "tokenize": starts,
        "pretrain": starts,
        "domain_transfer": domain,
        "task_transfer": task,
        "measure": measures,
        "finetune": cells,
    }
    sections = {name: {"all": {}} for name in entries} | {"tokenize": {"all": {"words": {"dictionary": every()[0]}}}}
    document = {
        "seed": 1,
        "ladder": {"starts": {start: {} for start in starts}},
        "collect": {name: {"path": path} for name, path in zip([*corpora, "general"], [*every(), "x"], strict=True)},
        "collect_task": {name: dict(zip(("train", "dev", "test"), every(), strict=False)) for name in tasks},
        **sections,
        **{name: {} for name in ("validate", "compare")},
    }
    paths = {"init": every()[0], "dictionary": sections["tokenize"]["all"]["words"]["dictionary"]}
    ladder = {name: {key: made_of | blocks | paths | {"start": key if keys is starts else starts[0]} for key in keys}
              for name, keys in entries.items()}  # fmt: skip
    others = ("general", "ladder", "validate", "compare")
    stages = sum(map(len, [corpora, tasks, *entries.values()])) + len(others)
    return document, {"stages": ladder}, stages


def test_nothing_of_params_is_executed(project: Path) -> None:
    """A plain `dvc repro` of all stages, with names and values that nobody has checked."""
    from dvc.repo import Repo

    document, ladder, count = hostile()
    (project / "params.yaml").write_text(json.dumps(document), encoding="utf-8")
    (project / "ladder.yaml").write_text(json.dumps(ladder), encoding="utf-8")
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
    """By the real stages: blanks, quotes, what a shell would obey, a leading dash."""
    for name in ("adaptbert", "stages", "constraints.txt"):
        (project / name).symlink_to(ROOT / name)
    document = params.read(ROOT / "presets/smoke.yaml")
    names = ["-x.txt", 'it\'s "quoted" $(touch TOUCHED).txt']
    corpora = dict(zip(("general", "domain"), names, strict=True))
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
    write_params(project, document)
    done = dvc(project, "repro", *(f"collect@{key}" for key in corpora), "collect_task@section")
    assert done.returncode == 0, done.stdout + done.stderr
    for key, name in corpora.items():
        manifest = json.loads((project / f"data/raw/corpora/{key}/manifest.json").read_text(encoding="utf-8"))
        assert (manifest["rows"], name in json.dumps(manifest, ensure_ascii=False).replace('\\"', '"')) == (2, True)
    assert (project / "data/raw/tasks/section/test.parquet").is_file()
    assert sorted(path.name for path in project.rglob("TOUCHED*")) == []


@pytest.mark.parametrize("file", ["params.yaml", "ladder.yaml"])
def test_a_name_that_leads_elsewhere_costs_nothing(project: Path, file: str) -> None:
    """A plain `dvc repro` removes the outputs of a stage before it looks for inputs or runs anything, and a name stands
    in their paths. `--keep-going`: whatever does not depend on the first stage is run as well."""
    for name in ("adaptbert", "stages", "constraints.txt"):
        (project / name).symlink_to(ROOT / name)
    outside = project.parent / f"{project.name}-outside"
    precious = [project / "notes/page", *(outside / str(i) / "page" for i in range(4))]
    for path in precious:
        path.parent.mkdir(parents=True)
        path.write_text("kept", encoding="utf-8")
    document = params.read(ROOT / "presets/smoke.yaml")
    write_params(project, document)
    if file == "params.yaml":
        names = [f"../../../../{outside.name}/{i}" for i in (2, 3)]
        document["collect"][names[0]] = document["collect"]["domain"]
        document["collect_task"][names[1]] = document["collect_task"]["section"]
        (project / file).write_text(json.dumps(document), encoding="utf-8")
    else:
        names = ["../../notes", *(f"../../../{outside.name}/{i}" for i in range(2))]
        tables = read(project / file).model_dump(by_alias=True)
        for stage, name in zip(("domain_transfer", "task_transfer", "finetune"), names, strict=True):
            entry = next(iter(tables[stage].values()))
            nowhere = {field: "no" for field in ("start", "task", "corpus", "from") if field in entry}
            tables[stage][name] = entry | nowhere
        (project / file).write_text(json.dumps({"stages": tables}), encoding="utf-8")

    done = dvc(project, "repro", "--keep-going")
    assert [path for path in precious if not path.is_file()] == [], done.stdout + done.stderr
    lines = [line for line in messages_in(done.stdout + done.stderr) if "AB-" in line]
    if file == "params.yaml":
        assert [name for name in names if not any(name in line for line in lines)] == []
    else:
        assert len(lines) == 1, done.stdout + done.stderr
        (line,) = lines
        assert line.startswith("error: AB-210 ladder.yaml: older than params.yaml: ")
        assert f"to be removed: domain_transfer@{names[0]}" in line
    assert done.returncode == 255


TABLES = {"stages": {"finetune": {"ner-domain-a-1": {"task": "ner", "from": "x/{key}"}}}}
ADDRESS = "finetune@ner-domain-a-1"


@pytest.mark.parametrize(
    ("address", "word", "filled"),
    [
        (ADDRESS, "models/{key}.json", "models/ner-domain-a-1.json"),
        (f"../up/dvc.yaml:{ADDRESS}", "{task}-{key}", "ner-ner-domain-a-1"),
        pytest.param(ADDRESS, "models/{from}", "models/x/{key}", id="once"),
        pytest.param(ADDRESS, "models/x", "models/x", id="none"),
    ],
)
def test_placeholders(monkeypatch: pytest.MonkeyPatch, address: str, word: str, filled: str) -> None:
    monkeypatch.setenv(placeholders.STAGE, address)
    entry = placeholders.entry(TABLES, "finetune", "stages.finetune", LADDER)
    assert placeholders.fill({"a": word}, entry, LADDER) == {"a": filled}


def test_placeholders_of_a_stage_without_entries() -> None:
    values = {"words": {"dictionary": "a b.txt"}}
    assert placeholders.fill({"a": "{words.dictionary}"}, values, LADDER) == {"a": "a b.txt"}


@pytest.mark.parametrize(
    ("address", "word", "message"),
    [
        (
            "",
            "{key}",
            "AB-099 DVC_STAGE: does not name an entry of stages.finetune\n  run `dvc repro finetune`, or set it",
        ),
        ("finetune@ner-a", "{key}", "AB-099 ladder.yaml: stages.finetune.ner-a: 'ner-a' is missing"),
        (
            ADDRESS,
            "{tusk}",
            "AB-099 ladder.yaml: tusk: 'tusk' is missing in the file\n  add it; the file has from, key, task",
        ),
    ],
)
def test_a_placeholder_that_means_nothing(
    monkeypatch: pytest.MonkeyPatch, address: str, word: str, message: str
) -> None:
    monkeypatch.setenv(placeholders.STAGE, address)
    with pytest.raises(BadParams) as refused:
        placeholders.fill({"a": word}, placeholders.entry(TABLES, "finetune", "stages.finetune", LADDER), LADDER)
    assert str(refused.value).startswith(message)
