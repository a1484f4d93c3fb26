"""Words follow what was repeated: where each rung was trained once, nothing says that a step, or a text, helps."""

import re
from pathlib import Path

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.report.page import render
from tests.support.known import known
from tests.support.page_reader import Reader
from tests.support.simulated import ACCURACY, compared, simulate

LIMITS = '<section id="limits"'
"""Where the page explains all verdicts."""
CLAIMS = {
    "en": (
        r"\bgains?\b(?! worth having)",
        r"\bloss\b",
        r"\bworth it\b",
        r"\b(brings?|brought|come with|belongs? to|due to) (a |the )?(gain|loss|domain|text)",
        r"(?<!No step is shown to )\bhelps?\b(?!; )|\bhelped\b",
        r"\bOn at least \d+ of these\b",
        r"\b(arm|baseline) better\b|better choice",
        r"no difference|no gain shown|undecided",
        r"adjusted p",
    ),
    "zh-Hans": (
        "有提升",
        "带来",
        "(?<!不)值得(?!的最小提升)",
        "下降：",
        "没有差别",
        "未证实提升",
        "该组更好|基线更好|更好的选择",
        "未定",
        r"在这 \d+ 个任务中",
        "校正 p",
    ),
}
"""Of which a page with one draw has none. (Its caption names the smallest gain worth having.)"""


@pytest.fixture(scope="module")
def sure(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Domain text seems to help beyond all doubt, and five seeds and all test rows agree; each rung has one draw."""
    accuracy = ACCURACY | {"general_long": 0.50, "domain": 0.90, "domain_task": 0.60}
    return compared(simulate(tmp_path_factory.mktemp("recipe"), seeds=range(1, 6), accuracy=accuracy))


@pytest.fixture(scope="module")
def page(sure: Comparison) -> str:
    return render(sure)


def claims(page: str) -> list[str]:
    """Sentences above the explanations that claim an effect."""
    text = Reader(page.partition(LIMITS)[0]).text
    return [
        sentence
        for language, patterns in CLAIMS.items()
        for sentence in text[language]
        if any(re.search(pattern, sentence) for pattern in patterns)
    ]


def test_no_step_has_a_verdict(sure: Comparison) -> None:
    for task in sure.tasks:
        for step in task.steps:
            assert step.verdict == ("one_draw" if step.primary else "descriptive")
            assert step.p_holm is None
            assert step.needed is None
        difference = known(known(task.step("domain_text")).difference)
        assert known(difference.low) > 0.1, "though the weights differ without doubt"
    assert sure.on_several == []


def test_the_page_claims_no_effect(page: str) -> None:
    assert claims(page) == []


def test_what_counts_as_a_claim_is_found_where_draws_were_repeated(repeated: Comparison) -> None:
    sentences = " ".join(claims(render(repeated)))
    for claim in (
        "worth it",
        "On at least 2 of these 2 tasks",
        "Which steps helped?",
    ):
        assert claim in sentences
    for claim in ("值得", "在这 2 个任务中"):
        assert claim in sentences


def test_chips_say_that_there_is_no_verdict(sure: Comparison, page: str) -> None:
    chips = set(re.findall(r'class="chip verdict-(\w+)"', page))
    assert chips == {"one_draw", "descriptive"}
    assert set(re.findall(r'class="(?:whisker|mean) verdict-(\w+)"', page)) == {"one_draw", "descriptive"}


@pytest.mark.parametrize(("primary", "promised"), [(["domain_text"], True), (["climb"], False)])
def test_a_second_draw_is_advised_only_where_it_brings_a_verdict(
    tmp_path: Path, primary: list[str], promised: bool
) -> None:
    """General pre-training is done once, whatever `draws` says."""
    comparison = compared(simulate(tmp_path, tasks=["section"]), primary=primary)
    assert ("Verdicts need at least two draws" in render(comparison)) is promised
