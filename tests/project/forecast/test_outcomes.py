"""Ranges come from records alone, and say of which question; signs compare, and claim no more."""

import json

import pytest

from adaptbert.comparison.forecasts import Gap, Overlap, TextFacts
from adaptbert.comparison.questions import QUESTIONS
from adaptbert.project.forecast import outcomes
from adaptbert.project.forecast.outcomes import NEAREST, Record, ranges
from adaptbert.project.forecast.signs import signs
from tests.support.project import ROOT

GENERAL = TextFacts(
    kind="corpus", tokens=100, characters_per_token=4.0, unknown_rate=0.001, rejected=0.0, duplicates=0.0
)


def test_a_range_is_that_of_its_records() -> None:
    domain, _ = ranges(["domain_transfer"], worth=1.0)
    assert (domain.low, domain.high, domain.records, domain.own) == (0.0, 12.4, 8, False)
    assert domain.reach == 5, "2.3, 12.4, 3.5, 1.6 and 1.4 are 1 or more; 0.4, 0.0 and 0.4 are not"
    task, _ = ranges(["task_transfer_after_domain"], worth=1.0)
    assert (task.low, task.high, task.reach) == (0.2, 2.2, 2)


def test_where_no_record_asks_the_question_it_is_of_the_nearest() -> None:
    text, _ = ranges(["domain_text/news"], worth=1.0)
    assert (text.question, text.records_of) == ("domain_text/news", "domain_transfer")
    assert ranges(["climb", "a_question_of_the_user"], worth=1.0) == []
    assert {*NEAREST, *NEAREST.values(), *(record.question for record in outcomes.published())} <= set(QUESTIONS)


def test_own_records_are_the_figures_of_the_studies() -> None:
    for record in outcomes.OWN:
        figures = json.loads((ROOT / record.study).with_suffix(".json").read_text())
        step = figures[record.task]["small"]["steps"][record.question]
        assert record.gain == round(100 * step["difference"], 1)
    (published, ours) = ranges(["domain_text"], worth=1.0)
    assert (ours.low, ours.high, ours.records, ours.reach, len(ours.sources)) == (0.2, 6.6, 5, 3, 2)
    assert published.records_of == "domain_transfer"


def test_own_records_are_apart_and_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    own = (Record("domain_text", 2.6, "a study", "section"), Record("domain_text", -0.4, "a study", "mention"))
    monkeypatch.setattr(outcomes, "OWN", own)
    published, ours = ranges(["domain_text"], worth=1.0)
    assert (published.own, published.records_of) == (False, "domain_transfer")
    assert (ours.own, ours.records_of, ours.low, ours.high, ours.reach) == (True, "domain_text", -0.4, 2.6, 1)


def points(share: float, words: int = 10_000, gain: float = 0.1, unknown: float = 0.001) -> list[str]:
    """Where overlap, unknown tokens and gap point."""
    texts = {"general": GENERAL, "domain": GENERAL.model_copy(update={"unknown_rate": unknown})}
    shared = Overlap(texts=["general", "domain"], share=share, words=words)
    bits = {"general": 3.0, "domain": 3.0}
    gap = Gap(
        text="domain", before=bits, after_own=bits | {"domain": 3.0 - gain}, after_general=bits, meaningless=False
    )
    return [sign.points for sign in signs(texts, [shared], [gap], 50)]


def test_a_fact_points_where_it_differs_from_what_it_is_compared_with() -> None:
    assert points(0.15) == ["toward", "open", "toward"], "lower than all recorded domains"
    assert points(0.30)[0] == "open", "lower than two of four"
    assert points(0.60, gain=-0.1) == ["away", "open", "away"]
    assert points(0.15, words=3_000)[0] == "open", "no record is of so few words"
    assert points(0.30, unknown=0.004)[1] == "toward"


def test_weights_that_were_never_trained_point_nowhere() -> None:
    bits = {"general": 3.0, "domain": 3.0}
    gap = Gap(text="domain", before=bits, after_own=bits | {"domain": 2.0}, after_general=bits, meaningless=True)
    (sign,) = signs({"general": GENERAL}, [], [gap], 50)
    assert sign.points == "open"
    assert "never trained" in sign.words
