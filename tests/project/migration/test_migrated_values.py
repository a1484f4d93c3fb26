"""The values in force for every rung and cell are those of the older file."""

from pathlib import Path
from typing import Any

import pytest

from adaptbert.base.expansion import Expansion, expand
from adaptbert.base.ladder import Climb, LadderConfig
from adaptbert.errors import UserError
from adaptbert.project.migration.document import Choices, Migrated, finetune, migrated
from adaptbert.project.migration.older import OlderLadder, is_older
from adaptbert.project.migration.starts import OF_START
from adaptbert.runtime.params import blocks
from adaptbert.runtime.params import params_file as params
from tests.support import older_params
from tests.support.imports import ROOT

PARAMS = Path("params.yaml")
HUB = "pretrain:\n  init: google-bert/bert-base-uncased\n  revision: abc\n"
OF_HUB = "tokenizer:\n  source: google-bert/bert-base-uncased\n  revision: abc\n"
FOLDER = "pretrain:\n  init: models/init\n"
OF_FOLDER = "tokenizer:\n  source: init\n  extend: {words: 500, corpora: [domain], min_frequency: 5}\n"


def of(content: str, folder: Path, **choices: Any) -> tuple[dict[str, Any], Migrated]:
    document: dict[str, Any] = older_params.loaded(content, folder)
    return document, migrated(document, PARAMS, Choices(**choices))


def expansion(document: dict[str, Any]) -> Expansion:
    ladder = LadderConfig.model_validate(document["ladder"])
    sections = {name: document.get(name, {}) for name in Expansion.model_fields}
    return expand(ladder, list(document["collect_task"]), sections, dict.fromkeys(ladder.starts, "words.txt"))


@pytest.mark.parametrize(
    ("tokenizer", "start"),
    [
        pytest.param(older_params.TRAINED, older_params.SCRATCH, id="random weights"),
        pytest.param(OF_HUB, HUB, id="hub"),
        pytest.param(OF_FOLDER, FOLDER, id="folder"),
    ],
)
def test_every_entry_has_the_values_that_it_had(tokenizer: str, start: str, tmp_path: Path) -> None:
    older, result = of(older_params.text(tokenizer=tokenizer, start=start), tmp_path)
    new, tables = result.document, expansion(result.document)
    for section in ("tokenizer", "tokenize", "pretrain", "domain_transfer", "task_transfer"):
        values = {key: value for key, value in older[section].items() if key not in OF_START.get(section, ())}
        for entry in getattr(tables, section).values():
            names = [entry.of_start, getattr(entry, "of_corpus", "all"), getattr(entry, "of_task", "all")]
            assert blocks.in_force(new[section], names) == values, section
    assert len(tables.finetune) == 8
    for cell in tables.finetune.values():
        assert (
            blocks.in_force(new["finetune"], [cell.of_start, cell.of_task, cell.of_arm]) == older["finetune"][cell.task]
        )
    for section in ("seed", "collect", "collect_task", "validate", "measure", "compare"):
        assert new[section] == older[section]


def test_every_cell_climbs_what_it_climbed(tmp_path: Path) -> None:
    older, result = of(older_params.text(), tmp_path)
    tables, ladder = expansion(result.document), OlderLadder.model_validate(older["ladder"])
    climbs = {f"{cell.task}-{cell.arm}": tables.climb(cell.rung) for cell in tables.finetune.values()}
    assert climbs == {key: ladder.climb(cell.start) for key, cell in ladder.finetune.items()}
    assert climbs["section-domain_task"] == Climb(corpora=("domain",), with_task_text=True)
    assert result.document["ladder"]["draws"] == 1
    assert result.notes == []


def test_an_arm_that_a_task_lacks_names_its_tasks(tmp_path: Path) -> None:
    _, result = of(older_params.text(), tmp_path)
    assert result.document["ladder"]["arms"] == {
        "scratch": {"pretrain": "none", "tasks": ["section"]},
        "general": {},
        "general_long": {"domain_transfer": "general", "tasks": ["section"]},
        "domain": {"domain_transfer": "domain"},
        "task": {"task_transfer": "own", "tasks": ["section"]},
        "domain_task": {"domain_transfer": "domain", "task_transfer": "own", "tasks": ["section"]},
    }


@pytest.mark.parametrize(
    ("tokenizer", "start", "name", "values"),
    [
        (
            older_params.TRAINED,
            older_params.SCRATCH,
            "small",
            {
                "init": "scratch",
                "encoder": {
                    "layers": 2,
                    "hidden_size": 256,
                    "heads": 4,
                    "intermediate_size": 1024,
                    "max_positions": 512,
                },
            },
        ),
        (OF_HUB, HUB, "bert_base_uncased", {"init": "google-bert/bert-base-uncased", "revision": "abc"}),
        (OF_FOLDER, FOLDER, "public", {"init": "models/init/public"}),
    ],
)
def test_the_start(tokenizer: str, start: str, name: str, values: dict[str, Any], tmp_path: Path) -> None:
    _, result = of(older_params.text(tokenizer=tokenizer, start=start), tmp_path)
    assert result.document["ladder"]["starts"] == {name: values}
    _, result = of(older_params.text(tokenizer=tokenizer, start=start), tmp_path, start="mine")
    assert list(result.document["ladder"]["starts"]) == ["mine"]


def test_what_all_tasks_share_is_below_all() -> None:
    tasks = {
        "a": {
            "epochs": 1,
            "optim": {"rate": 1, "decay": 2},
            "search": {"x": 1},
            "freeze": {"layers": 3},
            "mixed": {"m": 1},
        },
        "b": {
            "epochs": 2,
            "optim": {"rate": 3, "decay": 2, "layer": 4},
            "freeze": {"embeddings": True},
            "mixed": "all",
        },
    }
    assert finetune(tasks) == {
        "all": {"epochs": 1, "optim": {"rate": 1, "decay": 2}},
        "a": {"search": {"x": 1}, "freeze": {"layers": 3}, "mixed": {"m": 1}},
        "b": {"epochs": 2, "optim": {"rate": 3, "layer": 4}, "freeze": {"embeddings": True}, "mixed": "all"},
    }


def test_names_that_are_no_longer_allowed(tmp_path: Path) -> None:
    content = older_params.text().replace("domain:\n    source", "Domain-Text:\n    source")
    content = content.replace("[general, domain]", "[general, Domain-Text]").replace("- domain\n", "- Domain-Text\n")
    content = content.replace("domain_transfer/domain", "domain_transfer/Domain-Text").replace(
        "arm: domain_task", "arm: both-2"
    )
    _, result = of(content, tmp_path)
    assert result.notes == ["corpus Domain-Text is now called domain_text", "arm both-2 is now called both_2"]
    assert list(result.document["collect"]) == ["general", "domain_text"]
    assert result.document["tokenizer"]["all"]["corpora"] == ["general", "domain_text"]
    assert result.document["ladder"]["arms"]["both_2"]["domain_transfer"] == "domain_text"
    _, result = of(content, tmp_path, renames={"Domain-Text": "posts"})
    assert list(result.document["collect"]) == ["general", "posts"]


def test_a_rung_without_an_arm_is_named(tmp_path: Path) -> None:
    content = older_params.text().replace(
        "    section-domain_task:  {task: section, arm: domain_task,  from: task_transfer/section-domain}\n", ""
    )
    _, result = of(content, tmp_path)
    assert result.notes == [
        "task_transfer/section-domain is trained no longer: no arm starts from it, and only arms say what is trained"
    ]


def test_one_name_for_two_climbs(tmp_path: Path) -> None:
    content = older_params.text().replace(
        "{task: mention, arm: domain,       from: domain_transfer/domain}",
        "{task: mention, arm: scratch, from: pretrain}",
    )
    content = content.replace("    mention-general:      {task: mention, arm: general,      from: pretrain}\n", "")
    _, result = of(content, tmp_path)
    assert result.notes == ["arm scratch of mention is now called scratch_mention: it is trained on something else"]
    assert result.document["ladder"]["arms"]["scratch_mention"] == {"tasks": ["mention"]}


def test_a_task_without_cells_has_no_arms(tmp_path: Path) -> None:
    lines = [line for line in older_params.text().splitlines() if not line.startswith("    mention-")]
    _, result = of("\n".join(lines), tmp_path)
    assert result.document["ladder"]["tasks"] == {"mention": {"arms": []}}
    assert result.document["ladder"]["arms"]["general"] == {}


def test_sections_of_rungs_that_were_not_needed(tmp_path: Path) -> None:
    """Where no such rung was trained; DVC now watches them always."""
    cells = "  finetune:\n    section-general: {task: section, arm: general, from: pretrain}\n"
    ladder = f"ladder:\n  domain_transfer: []\n  task_transfer: {{}}\n{cells}"
    content = older_params.text(ladder=ladder)
    content = (
        content[: content.index("domain_transfer:\n  masking")]
        + content[content.index("finetune:                  ") :]
    )
    _, result = of(content, tmp_path)
    assert (result.document["domain_transfer"], result.document["task_transfer"]) == ({}, {})


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "source: train ",
            "source: hfl/rbt3 ",
            "AB-215 params.yaml: tokenizer.source: the vocabulary of hfl/rbt3 with random weights: now a start with "
            "random weights trains its own\n  write `source: train` with corpora, vocabulary_size, lowercase and ",
        ),
        (
            "init: scratch ",
            "init: hfl/rbt3 ",
            "AB-215 params.yaml: tokenizer.source: a trained vocabulary, and the weights of hfl/rbt3, which have their "
            "own\n",
        ),
        (
            "arm: task, ",
            "arm: 情感, ",
            "AB-215 params.yaml: arms: '情感' cannot be a name any more: names are a-z, 0-9 and _",
        ),
        (
            "arm: task, ",
            "arm: Domain, ",
            "AB-215 params.yaml: arms: 'Domain' and 'domain' would both be called domain\n",
        ),
        (
            "from: scratch}",
            "from: scratsch}",
            "AB-099 params.yaml: ladder.finetune.section-scratch.from: starts from 'scratsch', which is not in the "
            "ladder\n  known: scratch, pretrain, domain_transfer/domain, domain_transfer/general, ",
        ),
        (
            "{task: section, arm: task, ",
            "{task: sextion, arm: task, ",
            "AB-099 params.yaml: ladder.finetune.section-task: 'sextion'",
        ),
        ("\ntokenize:\n", "\ntokenise:\n", "AB-099 params.yaml: tokenize: section 'tokenize' is missing\n"),
    ],
)
def test_what_cannot_be_carried(old: str, new: str, words: str, tmp_path: Path) -> None:
    assert old in older_params.text()
    with pytest.raises(UserError) as caught:
        of(older_params.text().replace(old, new, 1), tmp_path)
    assert str(caught.value).startswith(words)


def test_what_is_older(tmp_path: Path) -> None:
    for name in ("params.yaml", "presets/smoke.yaml"):
        assert not is_older(params.read(ROOT / name))
    for document in ({}, {"ladder": None}, {"ladder": {}}, {"ladder": [], "pretrain": {"init": "x"}}):
        assert not is_older(document)
    assert is_older(older_params.loaded(older_params.text(), tmp_path))
