"""`adaptbert plan --price`: the price of each step that is due, one table, and nothing trained is kept."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config import load as params
from adaptbert.config import plan as planning
from adaptbert.config import recipe as recipes
from adaptbert.errors import BadData
from adaptbert.mlm.step import Step
from adaptbert.mlm.step import train as train_step
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.flops import training_flop
from adaptbert.project import price
from adaptbert.project.price import Price, prices
from adaptbert.tasks.seed_run import TaskRun, flop_of, train_seed
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training.savepoints import Savepoints
from tests.support import tiny, tiny_params, tiny_tasks
from tests.support.commands import run
from tests.support.imports import ROOT
from tests.support.project import write_params
from tests.support.small_graph import dvc, write_graph

TOKENS = 20 * 2048
"""Of a checkpoint: 40,000 tokens in steps of 2,048."""

TASKS = {"section": ("single_sentence", "class"), "mention": ("sequence_labelling", "spans")}
ARMS = ("general", "general_long", "domain", "domain_task")


SECTIONS = ("pretrain", "domain_transfer", "task_transfer", "finetune")
GRAPH = "vars: [plan.json]\nstages:" + "".join(
    f"""
  {stage}:
    foreach: ${{plan.{stage}}}
    do:
      cmd: echo {{}} > metrics/{stage}/${{key}}.json
      params: [{stage}]
      deps: {"[]" if stage == "pretrain" else '["metrics/${item.from}.json"]'}
      outs: ["metrics/{stage}/${{key}}.json"]"""
    for stage in SECTIONS
)
"""A checkpoint is its metrics here."""


def document() -> dict[str, Any]:
    """The preset `smoke` with other arms, in one precision."""
    smoke = params.read(ROOT / "presets/smoke.yaml") | {"arms": list(ARMS)}
    smoke["compare"]["replicates"] = 2
    return smoke | {section: smoke[section] | {"precision": "32-true"} for section in SECTIONS}


def tokenized_project(root: Path, values: Mapping[str, Any]) -> None:
    """As `dvc repro tokenize` leaves it; no task has a test split.

    Args:
        values: of params.yaml.
    """
    (root / "stages").symlink_to(ROOT / "stages")
    write_params(root, values)
    write_graph(GRAPH)
    for stage in SECTIONS:
        (root / "metrics" / stage).mkdir(parents=True)
    tokenized = root / "data/tokenized/small"
    for kind in tiny.WORDS:
        tiny.corpus(tokenized / "corpora" / kind, kind, 120)
    tiny.heldout(tokenized / "heldout", tasks=list(TASKS))
    for number, (task, (shape, target)) in enumerate(TASKS.items()):
        tiny.corpus(tokenized / "tasks" / task, "domain", 40, seed=10 + number)
        tiny_tasks.task(root / "data/validated/tasks" / task, shape, (100, 24, 24), target)
        (root / f"data/validated/tasks/{task}/test.parquet").unlink()  # no price needs it
    (root / "data/tokenizer").mkdir()
    tiny.tokenizer().save(root / "data/tokenizer/small")


@pytest.fixture(autouse=True)
def _nothing_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "dvc"))
    monkeypatch.chdir(tmp_path)


def train(*entries: str) -> None:
    """As far as DVC knows."""
    done = dvc("repro", "--single-item", *entries)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    tokenized_project(tmp_path, document())
    return tmp_path


@pytest.fixture
def start(project: Path) -> Checkpoint:
    """That after general pre-training, which is up to date in the project."""
    tiny.pretrained(project / "models/pretrain/small")
    train("pretrain@small")
    return Checkpoint.load(project / "models/pretrain/small")


def all_prices() -> list[Price]:
    return prices(recipes.read(), planning.read(), steps=3)


def priced() -> dict[tuple[str, str], Price]:
    return {(each.step, each.text): each for each in all_prices()}


@pytest.mark.usefixtures("start")
def test_each_step_that_is_due_with_its_replicates_and_seeds(project: Path) -> None:
    """A price is that of the budget; what is up to date has none, and has one again after a change."""
    before = {folder: tiny.folder_bytes(project / folder) for folder in ("models", "data", "metrics")}
    first = priced()
    assert {folder: tiny.folder_bytes(project / folder) for folder in before} == before
    assert list((project / ".work").iterdir()) == []
    trainings = {key: each.trainings for key, each in first.items()}
    assert trainings == {
        ("domain_transfer", "general"): 2,
        ("domain_transfer", "domain"): 2,
        **{("task_transfer", task): 2 for task in TASKS},
        **{("finetune", task): 2 * 7 for task in TASKS},  # two seeds; one cell of general, two replicates of three arms
    }
    domain = first["domain_transfer", "domain"]
    assert domain.tokens == 2 * TOKENS
    assert all(each.minutes > 0 and each.tokens > 0 for each in first.values())
    checkpoints = [each for key, each in first.items() if key[0] != "finetune"]
    assert len({round(each.minutes / each.tflop, 9) for each in checkpoints}) == 1, "one speed for all checkpoints"

    domain_rungs = [f"domain_transfer@domain-small-{replicate}" for replicate in (1, 2)]
    train(*domain_rungs, "finetune@section-general-small", "finetune@section-domain-small-1")
    second = priced()
    assert first.keys() - second.keys() == {("domain_transfer", "domain")}
    one, other = second["finetune", "section"], first["finetune", "section"]
    assert one.trainings == 2 * 5
    assert one.tflop == pytest.approx(other.tflop * 5 / 7)

    values = params.read(project / "params.yaml")
    values["domain_transfer"]["tokens"] = 2 * TOKENS
    (project / "params.yaml").write_text(json.dumps(values), encoding="utf-8")
    third = priced()
    assert third["domain_transfer", "domain"].tokens == 2 * domain.tokens
    assert third["finetune", "section"].trainings == 2 * 6, "the cell upon the changed checkpoint is due again"


def test_the_table_ends_with_sums_and_no_name_is_cut(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    done = run("plan", "--price", "10")
    assert done.exit_code == 0, done.output
    lines = [re.split(r"\s{2,}", line.strip()) for line in done.output.splitlines()]
    (header,) = [place for place, line in enumerate(lines) if "trainings" in line]
    assert lines[header] == ["step", "text or task", "base", "trainings", "tokens", "TFLOP", "minutes"]
    (everything,) = [line for line in lines if line[0] == "all"]
    rows = [line for line in lines[header + 2 :] if len(line) == 7]
    assert [row[:4] for row in rows] == [[*key, "small", str(each.trainings)] for key, each in priced().items()]
    assert int(everything[1]) == sum(int(row[3]) for row in rows)
    assert "Minutes are those of one device" in done.output


@pytest.mark.parametrize(
    ("gone", "problem", "stage"),
    [
        ("tokenized/small/tasks/mention/corpus.json", "small: the text of this base is not tok", "tokenize@small"),
        ("validated/tasks/mention/task.json", "tasks/mention: the rows of this task are not validated", "validate"),
        ("validated/tasks/mention/train.parquet", "tasks/mention: the rows of this task are not", "validate"),
    ],
)
def test_inputs_that_are_not_there_yet(project: Path, gone: str, problem: str, stage: str) -> None:
    (project / "data" / gone).unlink()
    done = run("plan", "--price", "10")
    assert (done.exit_code, done.stderr.count("AB-")) == (65, 1)
    assert f"AB-218 data/{gone.partition('/')[0]}/{problem}" in done.stderr
    assert f"dvc repro {stage}`" in done.stderr


def test_every_base_has_a_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And none is timed before the inputs of all are there."""
    one = document()["bases"]["small"]
    tokenized_project(tmp_path, document() | {"bases": {"small": one, "other": one}})
    with monkeypatch.context() as patched:
        patched.setattr(price, "train", lambda *_: pytest.fail("timed"))
        with pytest.raises(BadData, match="AB-218 data/tokenized/other: the text of this base is not tokenised"):
            all_prices()
    for kind in ("tokenized", "tokenizer"):
        shutil.copytree(tmp_path / f"data/{kind}/small", tmp_path / f"data/{kind}/other")
    of = {base: [each[:2] for each in all_prices() if each.base == base] for base in ("small", "other")}
    assert of["small"] == of["other"]
    assert of["small"][0] == ("pretrain", "general"), "before its checkpoint is there"
    assert not (tmp_path / "models").exists()


def test_without_general_text(tmp_path: Path) -> None:
    """The base is passed on, which has no price."""
    values = document() | {"bases": {"small": "models/init/small"}, "arms": ["general", "domain", "domain_task"]}
    del values["corpora"]["general"]
    del values["pretrain"]["tokens"]
    tokenized_project(tmp_path, values)
    for kind in ("corpora", "heldout"):
        shutil.rmtree(tmp_path / "data/tokenized/small" / kind / "general")
    tiny.public(tmp_path / "models/init/small")
    due = {*priced()}
    assert due == {("domain_transfer", "domain"), *((step, task) for step in SECTIONS[2:] for task in TASKS)}


@pytest.mark.parametrize("text", ["domain", "general"])
def test_operations_of_a_rung_are_those_of_a_run(text: str, project: Path, start: Checkpoint) -> None:
    """Special tokens are not masked: 15 % of the other tokens are."""
    entry = next(each for each in planning.read().domain_transfer.values() if each.corpus == text)
    values = recipes.read().values("domain_transfer", entry.names())
    corpora = Path("data/tokenized/small/corpora")
    corpus = TokenizedCorpus.load(corpora / text)
    if text == "domain":
        corpus = corpus.mixed_with(TokenizedCorpus.load(corpora / "general"), values.replay_fraction, 1)
    heldout = [Path("data/tokenized/small/heldout/general")]
    step = Step("domain_transfer", start, corpus, values, tiny_params.MEASURE, 1, heldout)
    counts = train_step(step, "x", tiny.work(project), tiny.no_record()).counts
    due = priced()["domain_transfer", text]
    masked = training_flop(start.config(), TOKENS, 64, *[round(TOKENS * counts["chosen"] / counts["tokens"])] * 2)
    assert due.tflop / due.trainings == pytest.approx(masked / 1e12, rel=0.002)


def test_tokens_and_operations_of_fine_tuning_are_those_of_a_run(project: Path, start: Checkpoint) -> None:
    """What is counted without training against what the trainer of a cell counts."""
    folder = project / "data/validated/tasks/mention"
    cell = next(cell for cell in planning.read().finetune.values() if cell.task == "mention")
    values = recipes.read().values("finetune", cell.names())
    request = TaskRun("mention", "mention", "", start, values, folder).of(values.seeds[0])
    trained = train_seed(request, Savepoints(project / "points"), tiny.no_record())
    counts = trained.fitted.counts
    due = priced()["finetune", "mention"]
    assert due.tokens / due.trainings == pytest.approx(counts["tokens"], rel=0.05)
    assert due.tflop / due.trainings == pytest.approx(flop_of(values, start.config(), counts) / 1e12, rel=0.05)
