"""Sections whose values stand in blocks: what is wrong as a whole, and what no rung needs."""

import re
from typing import Any

import pytest

from adaptbert.config import plan_file
from tests.support.rules import errors


@pytest.mark.parametrize("section", ["domain_transfer", "task_transfer"])
def test_a_section_that_no_arm_needs_has_no_values(section: str) -> None:
    """Its blocks are looked at all the same; with an arm that needs it, it lacks all values."""
    without: dict[str, Any] = {"ladder.arms": {"general": {}}}
    assert errors(**without) == []
    assert errors(**without, **{section: {"all": {}}}) == []
    (line,) = errors(**without, **{section: {"all": {}, "typo": {}}})
    assert line.startswith(f"AB-099 params.yaml: {section}: 'typo' is not in ")
    messages = errors(**{section: {"all": {}}})
    assert any(line.startswith(f"AB-099 params.yaml: {section}.all.optim: is missing") for line in messages), messages


@pytest.mark.parametrize("wrong", [None, 3, [], "x", {"all": 3}, {"all": {}, "small": None}, {"small": []}])
@pytest.mark.parametrize("section", plan_file.SECTIONS)
def test_a_section_or_block_that_is_no_mapping(section: str, wrong: object) -> None:
    place = section
    if isinstance(wrong, dict):
        place += next(f".{block}" for block, values in wrong.items() if not isinstance(values, dict))
    messages = errors(**{section: wrong})
    expected = f"AB-100 params.yaml: {place}: expected a mapping, found "
    assert any(line.startswith(expected) for line in messages), messages


def test_an_error_in_a_block_is_reported_once_for_all_that_share_it() -> None:
    (line,) = errors(**{"domain_transfer.domain": {"dropout": 2.0}, "ladder.draws": 3})
    assert line.startswith("AB-109 params.yaml: domain_transfer.domain.dropout: 2.0 is out of range")


def test_a_wrong_number_of_draws_hides_no_other_error() -> None:
    messages = errors(**{"ladder.draws": "many", "pretrain.all.block_size": "big", "finetune.all.epochs": "few"})
    places = [re.findall(r"params.yaml: ([\w.]+)", line)[0] for line in messages]
    assert sorted(places) == ["finetune.all.epochs", "ladder.draws", "pretrain.all.block_size"]
