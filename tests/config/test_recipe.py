"""Which values are in force: those of a section, of overrides by name, and defaults by the weights of the base."""

import copy
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config import load
from adaptbert.config.recipe import Recipe
from adaptbert.errors import UserError
from tests.support.rules import DEMO, REMOVED, changed, errors, found, recipe, refusals

NAMES = {"base": "small", "corpus": "domain", "task": "section", "arm": "domain"}


def differing(**overrides: dict[str, Any]) -> Recipe:
    """With a dropout for all, and other values under these names."""
    section = {"tokens": 1000, "dropout": 0.1, "masking": {"unit": "word"}}
    return recipe(domain_transfer=section, finetune={"dropout": 0.1}, overrides=overrides)


@pytest.mark.parametrize(
    ("section", "own", "changes", "expected"),
    [
        ("domain_transfer", {"general": 0.3}, {}, 0.1),
        ("domain_transfer", {"domain": 0.4, "small": 0.2}, {}, 0.4),
        ("finetune", {"domain": 0.4, "section": 0.3, "small": 0.2}, {}, 0.4),
        ("finetune", {"domain": 0.4, "section": 0.3, "small": 0.2}, {"arm": "general"}, 0.3),
        ("finetune", {"domain": 0.4, "section": 0.3, "small": 0.2}, {"arm": "general", "task": "mention"}, 0.2),
    ],
)
def test_the_later_kind_of_name_wins(
    section: str, own: dict[str, float], changes: dict[str, str], expected: float
) -> None:
    """Arm over task over base, and corpus over base, whatever the order in the file; else the section is in force."""
    overrides = {name: {section: {"dropout": rate}} for name, rate in own.items()}
    assert differing(**overrides).values(section, NAMES | changes).dropout == expected


def test_mappings_are_merged_key_by_key_and_nothing_is_changed_in_place() -> None:
    own = differing(small={"domain_transfer": {"masking": {"probability": 0.2}}})
    before = copy.deepcopy(own.written)
    masking = own.values("domain_transfer", NAMES).masking
    assert (masking.unit, masking.probability, masking.keep_share) == ("word", 0.2, 0.1)
    assert own.written == before


@pytest.mark.parametrize("budget", [{"passes": 3.0}, {"steps": 7}, {"tokens": 9}])
def test_one_budget_takes_the_place_of_another(budget: dict[str, Any]) -> None:
    values = differing(domain={"domain_transfer": budget}).values("domain_transfer", NAMES)
    assert {key: getattr(values, key) for key in ("tokens", "passes", "steps") if getattr(values, key)} == budget


def test_null_is_no_value() -> None:
    """An override says so that it has not what all have."""
    own = differing(section={"finetune": {"class_weights": None}}).written | {"finetune": {"class_weights": "balanced"}}
    assert Recipe(own).values("finetune", NAMES).class_weights is None
    assert Recipe(own).values("finetune", NAMES | {"task": "mention"}).class_weights == "balanced"


@pytest.mark.parametrize(
    ("section", "key", "random", "trained"),
    [
        ("pretrain", "learning_rate", 1e-3, 1e-4),
        ("pretrain", "tokens", 600_000, 600_000),
        ("domain_transfer", "dropout", 0.0, 0.1),
        ("domain_transfer", "masking.probability", 0.3, 0.15),
        ("domain_transfer", "betas", [0.9, 0.98], [0.9, 0.999]),
        ("finetune", "learning_rate", 4e-4, 3e-5),
        ("measure", "max_tokens", 20_000, 200_000),
    ],
)
def test_defaults_follow_the_weights_of_the_base(section: str, key: str, random: Any, trained: Any) -> None:
    two = recipe(**{"bases.public": "hfl/rbt3", "measure": {}})
    for base, expected in (("small", random), ("public", trained)):
        values = load.flatten(two.values(section, NAMES | {"base": base}).model_dump())
        assert values[key] == expected


def test_the_usual_budgets() -> None:
    """A checkpoint is taken as it is, and random weights need a budget: nobody can guess one."""
    public = recipe(bases={"small": "hfl/rbt3"}, pretrain={}, domain_transfer={}, task_transfer={})
    assert public.values("pretrain", NAMES).tokens == 0
    assert public.values("domain_transfer", NAMES).passes == 1
    assert public.values("task_transfer", NAMES).passes == 50


def test_without_general_text_nothing_is_pre_trained_or_replayed() -> None:
    """Whatever the weights, unless params.yaml says so, which is refused (tests/project/test_rules.py)."""
    for base in (DEMO["bases"]["small"], "hfl/rbt3"):
        changes = {"corpora.general": REMOVED, "bases": {"small": base}, "pretrain": {}}
        own = recipe(**changes)
        assert own.values("pretrain", NAMES).tokens == own.values("domain_transfer", NAMES).replay_fraction == 0
        assert own.values("tokenizer", NAMES).corpora == ["domain"]
        assert recipe(**changes | {"pretrain": {"steps": 9}}).values("pretrain", NAMES).steps == 9
    assert recipe().values("domain_transfer", NAMES).replay_fraction == 0.05


def test_one_base_has_the_name_of_its_folder() -> None:
    without = {key: DEMO[key] for key in DEMO if key != "bases"}
    for base, name in (("hfl/rbt3", "base"), ("models/init/bert", "bert"), (DEMO["bases"]["small"], "base")):
        assert list(Recipe({**without, "base": base}).bases) == [name]


def test_seeds_are_a_number_or_a_list() -> None:
    for written, seeds in ((3, [1, 2, 3]), ([7, 9], [7, 9]), (1, [1])):
        assert recipe(**{"finetune.seeds": written}).values("finetune", NAMES).seeds == seeds


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
    own = differing(section={"finetune": {"dropout": 0.3}})
    assert own.place("finetune", NAMES, "dropout").keys == ("overrides", "section", "finetune", "dropout")
    assert own.place("finetune", NAMES | {"task": "mention"}, "dropout").keys == ("finetune", "dropout")
    assert own.place("finetune", NAMES, "epochs").keys == ("finetune", "epochs")


def test_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"AB-109 {tmp_path}/p.yaml: seed: expected a valid integer, found text 'x'"):
        Recipe(changed({"seed": "x"}), tmp_path / "p.yaml")
