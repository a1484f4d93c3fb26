"""An A/A arm: the same recipe trained again. Its one question is what equal arms look like; it is in no other."""

from pathlib import Path

import pytest

from adaptbert.comparison.records import Comparison, Step
from adaptbert.config.schema.comparison import PRIMARY
from adaptbert.report.metrics_json import summary
from adaptbert.report.page import render
from adaptbert.report.text_table import comparison_table
from tests.support.known import known
from tests.support.simulated import ACCURACY, ARMS, Simulated, compared, simulate

AGAIN = {"domain_again": "domain"}
ACCURACIES = ACCURACY | {"domain_again": ACCURACY["domain"]}


def recipe(folder: Path, draws: int) -> Simulated:
    arms = {**ARMS, "domain_again": {"again": "domain"}}
    return simulate(folder, arms=arms, accuracy=ACCURACIES, draws=draws, draw_spread=0.005, tasks=["section"])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    return recipe(tmp_path_factory.mktemp("recipe"), draws=3)


@pytest.fixture(scope="module")
def comparison(made: Simulated) -> Comparison:
    return compared(made, again=AGAIN)


def step(comparison: Comparison) -> Step:
    return known(comparison.tasks[0].step("aa/domain_again"))


def test_its_question_is_the_only_one_and_not_primary(comparison: Comparison) -> None:
    task = comparison.tasks[0]
    assert [each.name for each in task.steps if "domain_again" in (each.arm, each.other)] == ["aa/domain_again"]
    assert {each.name for each in task.steps if each.primary} == set(PRIMARY), "it costs the others nothing"
    aa = step(comparison)
    assert (aa.arm, aa.other, aa.primary, aa.verdict, aa.p_holm) == (
        "domain_again", "domain", False, "descriptive", None,
    )  # fmt: skip
    assert aa.draws == 3, "what the arms differ in is their draws"
    difference = known(aa.difference)
    assert known(difference.low) < 0 < known(difference.high)


def test_named_it_has_a_verdict_and_it_is_no_gain(made: Simulated) -> None:
    aa = step(compared(made, again=AGAIN, primary=["aa"]))
    assert aa.primary
    assert aa.p_holm is not None
    assert aa.verdict in ("undecided", "no_difference")


def test_it_is_never_the_chosen_arm(tmp_path: Path) -> None:
    made = simulate(
        tmp_path,
        arms={"general": {}, "domain": {"domain_transfer": "domain"}, "domain_again": {"again": "domain"}},
        accuracy={"general": 0.5, "domain": 0.5, "domain_again": 0.9},
        tasks=["section"],
    )
    assert compared(made, again=AGAIN).tasks[0].chosen != "domain_again"
    assert compared(made).tasks[0].chosen == "domain_again", "as an arm like others it would be"


def test_the_draws_of_an_arm_are_not_those_of_its_rung(comparison: Comparison) -> None:
    assert (comparison.draws, comparison.draws_of_a_rung) == (3, 6)
    assert "Each rung above general pre-training was trained 3 times" in render(comparison)


def test_the_page_says_what_it_is_for(comparison: Comparison) -> None:
    page = render(comparison)
    assert "The same training once more (A/A)" in page
    assert "the true difference is 0" in page
    values = summary(comparison)["section"]["small"]
    assert values["domain_again"]["again"] == ["domain"]
    assert "aa/domain_again (domain_again - domain)" in comparison_table(summary(comparison))


def test_with_one_draw_there_is_no_verdict_even_if_it_is_asked_for(tmp_path: Path) -> None:
    made = recipe(tmp_path, draws=1)
    one = compared(made, again=AGAIN, primary=["aa"])
    assert step(one).verdict == "one_draw"
    assert one.draws == 1
    header = comparison_table(summary(one)).splitlines()[0]
    assert "draws separated by" not in header, "no arm has several"
