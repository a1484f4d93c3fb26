"""plan.json: the checkpoints and cells that params.yaml stands for; what is written is read, and an older file told."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.config import plan_file
from adaptbert.config.plan import Entry, Plan, read
from adaptbert.config.plan_file import expand
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import ARMS as KNOWN
from adaptbert.config.schema.bases import TrainedOn
from adaptbert.config.schema.section import RESERVED
from adaptbert.errors import BadParams
from tests.support.rules import DEMO

ARMS = {name: KNOWN[name] for name in DEMO["arms"]}
SMALL, TASK = DEMO["bases"]["small"], DEMO["tasks"]["section"]


def recipe(replicates: int = 1, bases: tuple[str, ...] = ("small",), **changes: Any) -> Recipe:
    values = {"compare": {"replicates": replicates}, "bases": dict.fromkeys(bases, SMALL)}
    return Recipe({**DEMO, **values, **changes})


def expanded(*counts: Any, **changes: Any) -> Plan:
    return expand(recipe(*counts, **changes))


def checkpoints(table: dict[str, Entry], task: str = "") -> dict[str, str]:
    """What each entry starts from; cells of one task."""
    return {key: entry.checkpoint for key, entry in table.items() if not task or entry.task == task}


def test_one_base_and_one_replicate() -> None:
    """Several corpora are trained one after the other."""
    both, raw = {"domain_transfer": ["general", "domain"]}, {"pretrain": "none", "domain_transfer": "domain"}
    tables = expanded(arms=ARMS | {"both": both, "raw": raw})
    assert list(tables.pretrain) == list(tables.tokenizer) == list(tables.tokenize) == ["small"]
    assert checkpoints(tables.domain_transfer) == {
        "general-small-1": "pretrain/small",
        "domain-small-1": "pretrain/small",
        "general-domain-small-1": "domain_transfer/general-small-1",
        "none-domain-small-1": "scratch/small",
    }
    assert checkpoints(tables.task_transfer) == {
        f"{task}{corpus}-small-1": below
        for task in ("section", "mention")
        for corpus, below in (("", "pretrain/small"), ("-domain", "domain_transfer/domain-small-1"))
    }
    assert checkpoints(tables.finetune, "section") == {
        "section-scratch-small": "scratch/small",
        "section-general-small": "pretrain/small",
        "section-general_long-small-1": "domain_transfer/general-small-1",
        "section-domain-small-1": "domain_transfer/domain-small-1",
        "section-task-small-1": "task_transfer/section-small-1",
        "section-domain_task-small-1": "task_transfer/section-domain-small-1",
        "section-both-small-1": "domain_transfer/general-domain-small-1",
        "section-raw-small-1": "domain_transfer/none-domain-small-1",
    }
    transfers = {
        key: f"{stage}/{key}" for stage in ("domain_transfer", "task_transfer") for key in getattr(tables, stage)
    }
    assert checkpoints(tables.measure) == {"none-small": "scratch/small", "small": "pretrain/small"} | transfers
    assert "none-small" not in expanded(arms=["general"]).measure, "no arm begins at random"


def test_a_search_is_repeated_with_the_replicates_also_on_a_checkpoint_that_is_trained_once() -> None:
    """Else the luck of the one search of `general` would be in no spread. Where others search, it stays one cell."""
    search = {"search": {"trials": 4, "learning_rate": [1e-5, 1e-4], "seeds": 1}}
    every = expanded(2, finetune=search)
    own = {key: entry for key, entry in every.finetune.items() if entry.arm == "general"}
    assert list(own) == ["section-general-small-1", "section-general-small-2", "mention-general-small-1",
                         "mention-general-small-2"]  # fmt: skip
    assert {entry.checkpoint for entry in own.values()} == {"pretrain/small"}
    assert {arm: len([each for each in every.finetune.values() if each.arm == arm]) for arm in ARMS} == dict.fromkeys(
        ARMS, 4
    )
    assert [*every.measure] == [*expanded(2).measure], "weights are what they were"
    others = expanded(2, overrides={"domain": {"finetune": search}})
    assert [key for key in others.finetune if "-general-" in key] == ["section-general-small", "mention-general-small"]


@pytest.mark.parametrize(
    ("checkpoint", "watched"),
    [("models/init/small", "models/init/small"), ("models/init/far", "models/init/README.md")],
)
def test_dvc_watches_the_folder_that_has_the_name_of_its_base(checkpoint: str, watched: str) -> None:
    tables = expand(Recipe({**DEMO, "bases": {"small": {"checkpoint": checkpoint}}}))
    assert tables.tokenizer["small"].init == tables.pretrain["small"].init == watched


VALIDATED, GENERAL, UNCHANGED = "data/validated/corpora", "data/tokenized/small/{}/general", "models/init/README.md"


@pytest.mark.parametrize(
    ("corpora", "watched", "of_domain", "of_task"),
    [
        (
            ["general", "domain"],
            [VALIDATED, GENERAL.format("corpora"), GENERAL.format("heldout")],
            {"general-small-1": "domain", "domain-small-1": "general"},  # the control is as long as the domain
            "general",
        ),
        (["domain"], [VALIDATED, UNCHANGED, UNCHANGED], {"domain-small-1": "domain"}, "section"),
        ([], [UNCHANGED, UNCHANGED, UNCHANGED], {}, "section"),
    ],
)
def test_what_dvc_watches_of_the_texts_that_there_are(
    corpora: list[str], watched: list[str], of_domain: dict[str, str], of_task: str
) -> None:
    """In the place of a text that it lacks, a file that never changes; beside a text, itself."""
    tables = expanded(corpora={name: DEMO["corpora"][name] for name in corpora}, arms=None)
    pretrain = tables.pretrain["small"]
    assert [*tables.collect] == corpora
    assert [tables.tokenizer["small"].text, pretrain.text, pretrain.heldout] == watched
    assert {key: entry.beside for key, entry in tables.domain_transfer.items()} == of_domain
    assert {entry.beside for entry in tables.task_transfer.values() if entry.task == "section"} == {of_task}


def test_tasks_and_bases_of_an_arm() -> None:
    arms = ARMS | {"task": {"task_transfer": "own", "tasks": ["mention"]}, "general": {"bases": ["large"]}}
    cells = expanded(bases=("small", "large"), arms=arms).finetune
    assert {key for key in cells if "-task-" in key} == {"mention-task-small-1", "mention-task-large-1"}
    assert {key for key in cells if "-general-" in key} == {"section-general-large", "mention-general-large"}


TRAINED = {"pretrain", "domain_transfer", "task_transfer", "measure"}


@pytest.mark.parametrize(
    ("changes", "touched"),
    [
        ({"seed": 2}, TRAINED),
        ({"measure": {"max_tokens": 10}}, TRAINED),
        ({"tokenizer": {"vocabulary_size": 500}}, {"tokenizer"}),
        ({"tokenize": {"max_length": 64}}, {"tokenize"}),
        ({"validate": {"min_characters": 1}}, {"validation"}),
        ({"overrides": {"domain": {"finetune": {"epochs": 1}}}}, {"finetune"}),
        ({"finetune": {"epochs": 1}}, set()),
        ({"pretrain": {"tokens": 5}, "domain_transfer": {}, "task_transfer": {}}, set()),
        ({"corpora": DEMO["corpora"] | {"domain": {"path": "other.txt"}}}, {"collect"}),
    ],
)
def test_values_are_in_the_entries_of_the_stages_that_read_them(changes: dict[str, Any], touched: set[str]) -> None:
    """And those of sections of params.yaml that DVC compares itself are in none, free for `dvc exp run -S`."""
    before, after = expanded().model_dump(), expanded(**changes).model_dump()
    assert {stage for stage in before if before[stage] != after[stage]} == touched
    assert all({*before[stage]} == {*after[stage]} for stage in before)


# --- whatever the names are

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True).filter(lambda name: name not in RESERVED)
STEPS = st.builds(
    lambda none, corpora, own: {"pretrain": none, "domain_transfer": corpora, "task_transfer": own},
    st.sampled_from([None, "none"]),
    st.lists(NAMES, max_size=3),
    st.sampled_from([None, "own"]),
)


def steps_of(tables: Plan, folder: str) -> list[str]:
    """How the weights of a checkpoint began, and the names of its texts."""
    stage, _, key = folder.partition("/")
    if stage in ("scratch", "pretrain"):
        return [folder]
    entry = getattr(tables, stage)[key]
    return [*steps_of(tables, entry.checkpoint), entry.corpus or entry.task]


@settings(max_examples=100)
@given(
    st.dictionaries(NAMES, STEPS, min_size=1, max_size=4),
    st.lists(NAMES, min_size=1, max_size=3, unique=True),
    st.lists(NAMES, max_size=3, unique=True),
    st.integers(1, 3),
)
def test_every_checkpoint_is_there(
    arms: dict[str, dict[str, Any]], bases: list[str], tasks: list[str], replicates: int
) -> None:
    """Every checkpoint that another starts from; keys are unique, and a checkpoint has the steps of its arm."""
    names = {"tasks": dict.fromkeys(tasks, TASK), "arms": arms}
    whole = recipe(replicates, tuple(bases), **names)
    tables = expand(whole)
    for entry in (*tables.domain_transfer.values(), *tables.task_transfer.values(), *tables.finetune.values()):
        of_base = entry.checkpoint.startswith(("scratch/", "pretrain/"))
        assert of_base or entry.checkpoint.endswith(f"-{entry.base}-{entry.replicate}")
    for cell in tables.finetune.values():
        trained_on = whole.arms[cell.arm].trained_on
        begin = f"{'scratch' if trained_on.is_random else 'pretrain'}/{cell.base}"
        steps = [begin, *trained_on.corpora, *([cell.task] if trained_on.with_task_text else [])]
        assert steps_of(tables, cell.checkpoint) == steps
        below = [entry.corpus or entry.task or f"{step}/{entry.base}" for step, entry in tables.below(cell.checkpoint)]
        assert below[::-1] == steps[trained_on.is_random :], "nothing led to random weights"
    trained = [arm for arm in whole.arms.values() if arm.trained_on not in (TrainedOn(), TrainedOn(is_random=True))]
    each = replicates * len(trained) + len(arms) - len(trained)
    assert len(tables.finetune) == each * len(bases) * len(tasks)


# --- the file


@pytest.fixture
def written(tmp_path: Path) -> Path:
    (tmp_path / "plan.json").write_text(plan_file.text(plan_file.plan(recipe())), encoding="utf-8")
    return tmp_path / "plan.json"


def test_what_is_written_is_read_and_an_entry_is_a_line(written: Path) -> None:
    assert read(written) == plan_file.plan(recipe())
    plan_file.check(recipe(), plan_file.stages(), written)
    assert "null" not in written.read_text(), "what is left out is not written"
    lines = written.read_text().splitlines()
    assert lines[0] == '{"plan": {'
    assert (
        '   "section-domain-small-1": {"base": "small", "replicate": 1, "from": "domain_transfer/domain-small-1", '
        '"task": "section", "arm": "domain", "values": {}},' in lines
    )


def test_a_plan_without_a_step_has_every_table() -> None:
    """DVC looks for every table."""
    (whole,) = json.loads(plan_file.text(plan_file.plan(recipe(arms=["general"])))).values()
    assert {*whole} == {*Plan.model_fields, "validate"} - {"validation"}
    assert whole["domain_transfer"] == {}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"replicates": 2},
            "missing: domain_transfer@general-small-2, domain_transfer@domain-small-2, task_transfer@section-small-2 "
            "and 17 more",
        ),
        ({"tasks": {"section": DEMO["tasks"]["section"]}}, "to be removed: collect_task@mention, task_transfer@"),
        ({"arms": [*reversed(ARMS)]}, "in another order: domain_transfer, task_transfer, measure, finetune"),
        ({"corpora": dict(reversed(DEMO["corpora"].items()))}, "different: validate"),
        ({"overrides": {"small": {"finetune": {"epochs": 1}}}}, "different: finetune@section-scratch-small, "),
    ],
)
def test_an_older_file_is_refused(written: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadParams, match=r"AB-210 .*: older than params.yaml: ") as refused:
        plan_file.check(recipe(**changes), path=written)
    assert words in refused.value.problem
    assert "run `adaptbert plan`" in refused.value.remedy


def test_a_plan_of_other_code_is_refused(written: Path) -> None:
    """Only where it is asked for: the first stage looks at all code, a stage that trains at its own."""
    today = read(written)
    other = today.model_copy(update={"code": today.code | {"finetune": "0" * 16}})
    written.write_text(plan_file.text(other), encoding="utf-8")
    plan_file.check(recipe(), ["pretrain"], written)
    with pytest.raises(BadParams, match=r"AB-210 .*older than the code of finetune\n  run `adaptbert plan`"):
        plan_file.check(recipe(), plan_file.stages(), written)


@pytest.mark.parametrize(
    "content",
    [
        "",
        '{"plan": 3}',
        '{"plan": [',
        '{"plan": {"pretrain": {"a": {"b": "c"}}}}',
        "\udcff",
        f'{{"plan": {"[" * 100_000}',
        '{"plan": {}, "collect": {"../../inside": {}}}',  # DVC would read it as a variable of dvc.yaml
        None,
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: str | None) -> None:
    path, problem = tmp_path / "plan.json", "the file is missing"
    if content is not None:
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
        problem = "not a file of `adaptbert plan`"
    with pytest.raises(BadParams, match=rf"AB-210 .*{problem}"):
        read(path)
