"""Which values are in force: those of a section, of overrides by name, and defaults by the weights of the base."""

import copy
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config import load
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.mlm import BUDGET
from adaptbert.errors import UserError
from tests.support.rules import DEMO, REMOVED, changed, errors, found, recipe, refusals

NAMES = {"base": "small", "corpus": "domain", "task": "section", "arm": "domain"}


def dropout(section: str, /, **rates: float) -> dict[str, Any]:
    """One for all, and others under these names."""
    own = {f"overrides.{name}.{section}.dropout": rate for name, rate in rates.items()}
    return {f"{section}.dropout": 0.1, **own}


OF_THREE = dropout("finetune", domain=0.4, section=0.3, small=0.2)
WITHOUT_ITS_WEIGHTS = {"finetune.class_weights": "balanced", "overrides.section.finetune.class_weights": None}
TWO_BASES = {"bases.public": "hfl/rbt3", "measure": {}}
NO_GENERAL_TEXT = {"corpora.general": REMOVED, "pretrain": {}}

# Changes to the demonstration, the section, the names of an entry, and values that are in force for it.
IN_FORCE: list[tuple[dict[str, Any], str, dict[str, str], dict[str, Any]]] = [
    # ---- arm over task over base, and corpus over base, whatever the order in the file; else the section
    (dropout("domain_transfer", general=0.3), "domain_transfer", {}, {"dropout": 0.1}),
    (dropout("domain_transfer", domain=0.4, small=0.2), "domain_transfer", {}, {"dropout": 0.4}),
    (OF_THREE, "finetune", {}, {"dropout": 0.4}),
    (OF_THREE, "finetune", {"arm": "general"}, {"dropout": 0.3}),
    (OF_THREE, "finetune", {"arm": "general", "task": "mention"}, {"dropout": 0.2}),
    # ---- mappings are merged key by key; one budget takes the place of another; null is no value
    (
        {"pretrain.masking.unit": "word", "overrides.small.pretrain.masking.probability": 0.2},
        "pretrain", {}, {"masking.unit": "word", "masking.probability": 0.2, "masking.keep_share": 0.1},
    ),
    *(
        ({"overrides.domain.domain_transfer": {key: 9}}, "domain_transfer", {}, dict.fromkeys(BUDGET) | {key: 9})
        for key in BUDGET
    ),
    (WITHOUT_ITS_WEIGHTS, "finetune", {}, {"class_weights": None}),
    (WITHOUT_ITS_WEIGHTS, "finetune", {"task": "mention"}, {"class_weights": "balanced"}),
    # ---- defaults follow the weights of the base
    *(
        (TWO_BASES, section, {"base": base}, {key: value})
        for section, key, random, trained in (
            ("pretrain", "learning_rate", 1e-3, 1e-4),
            ("pretrain", "tokens", 600_000, 600_000),
            ("domain_transfer", "dropout", 0.0, 0.1),
            ("domain_transfer", "masking.probability", 0.3, 0.15),
            ("domain_transfer", "betas", [0.9, 0.98], [0.9, 0.999]),
            ("finetune", "learning_rate", 4e-4, 3e-5),
            ("measure", "max_tokens", 20_000, 200_000),
        )
        for base, value in (("small", random), ("public", trained))
    ),
    # ---- a checkpoint is taken as it is, and random weights need a budget (test_schema.py): nobody can guess one
    *(
        ({"bases.small": "hfl/rbt3", section: {}}, section, {}, budget)
        for section, budget in (
            ("pretrain", {"tokens": 0}), ("domain_transfer", {"passes": 1}), ("task_transfer", {"passes": 50}),
        )
    ),
    # ---- without general text nothing is pre-trained or replayed, whatever the weights, unless params.yaml says so
    ({}, "domain_transfer", {}, {"replay_fraction": 0.05}),
    *(
        (NO_GENERAL_TEXT | {"bases.small": base} | more, section, {}, {key: value})
        for base in (DEMO["bases"]["small"], "hfl/rbt3")
        for more, section, key, value in (
            ({}, "pretrain", "tokens", 0),
            ({"pretrain": {"steps": 9}}, "pretrain", "steps", 9),
            ({}, "domain_transfer", "replay_fraction", 0),
            ({}, "tokenizer", "corpora", ["domain"]),
        )
    ),
    # ---- seeds are a number or a list
    ({"finetune.seeds": 3}, "finetune", {}, {"seeds": [1, 2, 3]}),
    ({"finetune.seeds": 1}, "finetune", {}, {"seeds": [1]}),
    ({"finetune.seeds": [7, 9]}, "finetune", {}, {"seeds": [7, 9]}),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "section", "names", "expected"), IN_FORCE, ids=lambda each: str(each)[:60])
def test_values_in_force(
    changes: dict[str, Any], section: str, names: dict[str, str], expected: dict[str, Any]
) -> None:
    own = recipe(**changes)
    before = copy.deepcopy(own.written)
    values = load.flatten(own.values(section, NAMES | names).model_dump())
    assert {key: values[key] for key in expected} == expected
    assert own.written == before, "nothing is changed in place"


def test_one_base_has_the_name_of_its_folder() -> None:
    without = {key: DEMO[key] for key in DEMO if key != "bases"}
    for base, name in (("hfl/rbt3", "base"), ("models/init/bert", "bert"), (DEMO["bases"]["small"], "base")):
        assert list(Recipe({**without, "base": base}).bases) == [name]


def test_arms_that_are_left_out_are_all_that_the_text_allows() -> None:
    of_domain = ["domain", "task", "domain_task"]
    for corpora, expected in (
        (("general", "domain"), ["general", "general_long", *of_domain]),
        (("domain",), ["general", *of_domain]),
        (("general",), ["general", "task"]),
        ((), ["general", "task"]),
    ):
        own = Recipe({**DEMO, "arms": None, "corpora": {name: DEMO["corpora"][name] for name in corpora}})
        assert list(own.arms) == expected


def test_a_list_of_arms_has_known_names_and_own_ones() -> None:
    arms = recipe(arms=["general", {"news": {"domain_transfer": ["domain", "general"]}}, "task"]).arms
    corpora = {"general": (), "news": ("domain", "general"), "task": ()}
    assert {name: arm.trained_on.corpora for name, arm in arms.items()} == corpora
    assert list(arms) == list(corpora)


# --- where an error is

OF_DOMAIN, OF_SMALL = ("domain", "domain_transfer"), ("small", "domain_transfer")


@pytest.mark.parametrize(
    ("masking", "place"),
    [
        ({"probability": 3.0}, "masking.probability"),
        ({"probabilty": 0.3}, "masking.probabilty"),
        ({"unit": "words"}, "masking.unit"),
        ({"mask_share": 0.9}, "masking"),
    ],
)
def test_an_error_names_the_override_in_which_the_value_stands(masking: dict[str, Any], place: str) -> None:
    dropout = {"domain_transfer": {"dropout": 0.2}}
    own = {"small": dropout, "domain": {"domain_transfer": {"masking": masking}}}
    assert [where for _, where in found(overrides=own)] == [f"overrides.domain.domain_transfer.{place}"]
    of_all = found(overrides={"small": dropout}, **{"domain_transfer.masking": masking})
    assert [where for _, where in of_all] == [f"domain_transfer.{place}"]


def test_values_that_disagree_are_told_where_they_begin_to() -> None:
    """Once, for all entries that share them."""
    own = {task: {"finetune": {"epochs": 3}} for task in ("section", "mention")}
    assert found(**{"finetune.seeds": [1, 1]}, overrides=own) == [(111, "finetune")]
    own["section"] = {"finetune": {"seeds": [1, 1]}}
    assert found(overrides=own) == [(111, "overrides.section.finetune")]
    assert found(**{"overrides.domain.domain_transfer.dropout": 2.0, "compare.replicates": 3}) == [
        (109, "overrides.domain.domain_transfer.dropout")
    ]


def test_a_value_that_no_entry_has_is_looked_at_all_the_same() -> None:
    """No arm has domain transfer; DVC reads its section for none, and a later arm would find it wrong."""
    assert found(arms=["general", "task"], **{"domain_transfer.dropout": 2.0}) == [(109, "domain_transfer.dropout")]


@pytest.mark.parametrize(
    ("name", "section", "expected"),
    [
        (
            "sectoin",
            "finetune",
            "AB-099 params.yaml: overrides.sectoin: 'sectoin' is no base, corpus, task or arm (did you mean 'section'?)"
            "\n  known: small, general, domain, section, mention, scratch, general_long, task, domain_task",
        ),
        (
            "section",
            "domain_transfer",
            "AB-111 params.yaml: overrides.section.domain_transfer: 'section' is a name in tasks, and domain_transfer "
            "differs by base or corpus\n  write it into domain_transfer, for all",
        ),
    ],
)
def test_overrides_that_nothing_has(name: str, section: str, expected: str) -> None:
    assert errors(overrides={name: {section: {"dropout": 0.1}}}) == [expected]


@pytest.mark.parametrize("section", ["pretrain", "domain_transfer", "task_transfer", "finetune", "compare"])
def test_dvc_needs_the_sections_that_its_stages_compare(section: str) -> None:
    document = {key: value for key, value in changed({}).items() if key != section}
    document["bases"] = {"small": "hfl/rbt3"}
    (line,) = refusals(document)
    assert line == (
        f"AB-099 params.yaml: {section}: is missing\n  add `{section}: {{}}`, or values that differ from the defaults"
    )
    assert refusals(document | {section: {}}) == refusals(document | {section: None}) == []
    if section.endswith("transfer"):
        assert refusals(document | {"arms": ["general"]}) == [], "no arm has it"


def test_the_place_of_a_value_is_where_it_is_written() -> None:
    own = recipe(**dropout("finetune", section=0.3))
    assert own.place("finetune", NAMES, "dropout").keys == ("overrides", "section", "finetune", "dropout")
    assert own.place("finetune", NAMES | {"task": "mention"}, "dropout").keys == ("finetune", "dropout")
    assert own.place("finetune", NAMES, "epochs").keys == ("finetune", "epochs")


def test_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"AB-109 {tmp_path}/p.yaml: seed: expected a valid integer, found text 'x'"):
        Recipe(changed({"seed": "x"}), tmp_path / "p.yaml")
