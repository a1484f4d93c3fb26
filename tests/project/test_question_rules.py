"""Questions of params.yaml are about arms that are there; `check` says beforehand where there will be no verdict."""

from typing import Any

import pytest

from adaptbert.project.section_rules import notices
from tests.support.rules import FILE, changed, errors, rule_errors


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"compare.primary": ["domain_texts"]},
            "AB-099 params.yaml: compare.primary: 'domain_texts' is no question (did you mean 'domain_text'?)",
        ),
        (
            {"compare.primary": ["domain_text/news"]},
            "AB-099 params.yaml: compare.primary: 'domain_text/news' is no question",
        ),
        (
            {"compare.questions": {"both": ["domain_task", "generall"]}},
            "AB-099 params.yaml: compare.questions.both: 'generall' is no arm (did you mean 'general'?)",
        ),
        (
            {"compare.questions": {"climb": ["domain_task", "general"]}},
            "AB-206 params.yaml: compare.questions.climb: 'climb' is a question already",
        ),
    ],
)
def test_names_that_mean_nothing(changes: dict[str, Any], expected: str) -> None:
    (error,) = rule_errors(**changes)
    assert expected.partition(" ")[2] in error


def test_questions_of_ones_own() -> None:
    own = {"compare.questions": {"both": ["domain_task", "general"]}, "compare.primary": ["both", "domain_text"]}
    assert rule_errors(**own) == []
    news = {"ladder.arms.news": {"domain_transfer": "domain"}, "compare.primary": ["domain_text/news"]}
    assert not [error for error in rule_errors(**news) if "compare.primary" in error], "the arm is there"


@pytest.mark.parametrize("worth", [0, -1, "much"])
def test_what_is_worth_having_is_a_number_of_points(worth: object) -> None:
    assert any("compare.worth" in error for error in errors(**{"compare.worth": worth}))


def test_one_draw_is_a_notice() -> None:
    (notice,) = notices(changed(**{"ladder.draws": 1}), FILE)
    assert notice == (
        "params.yaml: ladder.draws: with 1 draw there is no verdict on a step, only a description of these weights; "
        "write 2 or more"
    )
    assert notices(changed(), FILE) == []


def test_a_question_that_no_task_asks_is_a_notice() -> None:
    two = {"ladder.draws": 2, "ladder.arms": {"general": {}, "task": {"task_transfer": "own"}}}
    (notice,) = notices(changed(**two), FILE)
    assert notice == (
        "params.yaml: compare.primary: no task has the arms for domain_text or task_transfer_after_domain, so there "
        "will be no verdict; questions that the arms answer: task_transfer"
    )
    assert notices(changed(**two, **{"compare.primary": ["task_transfer"]}), FILE) == []


def test_an_arm_that_repeats_another_asks_one_question() -> None:
    again = {"ladder.draws": 2, "ladder.arms.domain_again": {"again": "domain"}}
    assert notices(changed(**again), FILE) == [], "it is not alone"
    assert rule_errors(**again, **{"compare.primary": ["aa"]}) == []
    assert notices(changed(**again, **{"compare.primary": ["aa"]}), FILE) == []
    (notice,) = notices(changed(**{"ladder.draws": 2, "compare.primary": ["aa"]}), FILE)
    assert "no task has the arms for aa" in notice
    (error,) = rule_errors(**{"compare.questions": {"aa": ["domain", "general"]}})
    assert "'aa' is a question already" in error
