"""Which values are in force where a section has blocks."""

from pathlib import Path

import pytest

from adaptbert.config.schema.mlm import Masking
from adaptbert.errors import UserError

SECTION = {
    "all": {"budget": {"tokens": 1000}, "learning_rate": 5e-5, "weight_decay": 0.01, "dropout": 0.1},
    "small": {"learning_rate": 1e-3},
    "weibo": {"budget": {"passes": 3}, "learning_rate": 2e-4},
}


def test_without_a_block_of_its_own() -> None:
    assert in_force(SECTION, ["macbert", "news"]) == SECTION["all"]
    assert in_force(SECTION, ["all", "all"]) == SECTION["all"]


def test_mappings_are_merged_key_by_key() -> None:
    assert in_force(SECTION, ["small"]) == SECTION["all"] | {"learning_rate": 1e-3, "weight_decay": 0.01}


def test_the_later_block_wins_and_a_budget_is_one_value() -> None:
    values = in_force(SECTION, ["small", "weibo"])
    assert values["optim"] == {"learning_rate": 2e-4, "weight_decay": 0.01}
    assert values["budget"] == {"passes": 3}
    assert in_force(SECTION, ["weibo", "small"])["optim"]["learning_rate"] == 1e-3


def test_nothing_is_changed_in_place() -> None:
    before = repr(SECTION)
    in_force(SECTION, ["small", "weibo"])["optim"]["learning_rate"] = 0.0
    assert repr(SECTION) == before


MASKING = {
    "all": {"unit": "token", "probability": 0.15, "mask_share": 0.8, "random_share": 0.1, "keep_share": 0.1},
    "small": {"probability": 0.3},
}


def errors(section: dict[str, dict[str, object]], *names: str) -> list[str]:
    with pytest.raises(UserError) as refused:
        parse(Masking, section, names, "masking", Path("params.yaml"))
    return [str(error) for error in getattr(refused.value, "failures", [refused.value])]


def test_an_error_names_the_block_of_its_value() -> None:
    (wrong,) = errors(MASKING | {"weibo": {"probability": 3}}, "small", "weibo")
    assert wrong.startswith("AB-109 params.yaml: masking.weibo.probability: 3 is out of range")
    (unknown,) = errors(MASKING | {"weibo": {"probabilty": 0.3}}, "weibo")
    assert "params.yaml: masking.weibo.probabilty: unknown key" in unknown
    (missing,) = errors({"all": {**MASKING["all"]} | {"unit": "words"}}, "small")
    assert "params.yaml: masking.all.unit: " in missing
    (of_two,) = errors(MASKING | {"weibo": {"mask_share": 0.9}}, "weibo")
    assert "params.yaml: masking.weibo: mask_share 0.9 + random_share 0.1 + keep_share 0.1 is 1.1, not 1" in of_two
