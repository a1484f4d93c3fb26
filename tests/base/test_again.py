"""An arm with `again` has the rungs of another arm, trained with other seeds; nothing else of the ladder changes."""

from typing import Any

import pytest
from pydantic import ValidationError

from adaptbert.config.plan import seed_of_replicate
from tests.base.test_plan import ARMS, expanded, ladder

BOTH = {"domain_again": {"again": "domain"}, "both_again": {"again": "domain_task"}}


@pytest.mark.parametrize("draws", [1, 3])
def test_it_has_the_draws_after_those_of_the_arm_that_it_repeats(draws: int) -> None:
    before, after = expanded(draws), expanded(draws, arms=ARMS | BOTH)
    assert {key: cell for key, cell in after.finetune.items() if not cell.arm.endswith("again")} == before.finetune
    later = range(draws + 1, 2 * draws + 1)
    rungs = {f"domain-small-{draw}" for draw in later}
    assert after.domain_transfer.keys() - before.domain_transfer.keys() == rungs
    assert {key: cell.rung for key, cell in after.finetune.items() if cell.arm == "domain_again"} == {
        f"{task}-domain_again-small-{draw}": f"domain_transfer/domain-small-{draw}"
        for task in ("section", "mention")
        for draw in later
    }
    for draw in later:
        own = after.task_transfer[f"section-domain-small-{draw}"]
        assert (own.rung, own.draw) == (f"domain_transfer/domain-small-{draw}", draw)
        assert seed_of_replicate(1, draw) not in {seed_of_replicate(1, other) for other in range(1, draws + 1)}


def test_its_tasks_are_those_of_the_other_arm_unless_it_names_its_own() -> None:
    few = ARMS | {"domain": {"domain_transfer": "domain", "tasks": ["section"]}}
    tables = expanded(arms=few | {"domain_again": {"again": "domain"}})
    assert [cell.task for cell in tables.finetune.values() if cell.arm == "domain_again"] == ["section"]
    own = {"domain_again": {"again": "domain", "tasks": ["mention"]}}
    tables = expanded(arms=ARMS | own)
    assert [cell.task for cell in tables.finetune.values() if cell.arm == "domain_again"] == ["mention"]


@pytest.mark.parametrize(
    ("arm", "expected"),
    [
        ({"again": "domian"}, "arms.more.again names 'domian', which is no other arm"),
        ({"again": "more"}, "arms.more.again names 'more', which is no other arm"),
        ({"again": "general"}, "arms.more.again names 'general', which has no rung that is trained for each draw"),
        ({"again": "domain", "task_transfer": "own"}, "'again' beside what an arm is trained on"),
    ],
)
def test_what_cannot_be_repeated(arm: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError) as error:
        ladder(arms=ARMS | {"more": arm})
    assert expected in str(error.value)


def test_an_arm_that_repeats_is_not_repeated() -> None:
    with pytest.raises(ValidationError, match="'domain_again', which repeats another arm itself"):
        ladder(arms=ARMS | {"more": {"again": "domain_again"}, "domain_again": {"again": "domain"}})
