"""Sentences and tables on rungs: bits per character, the masking audit."""

import dataclasses
import re

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.comparison.rungs import Rung
from adaptbert.report.page import render
from adaptbert.report.sentences import rungs
from tests.support.known import known
from tests.support.page_reader import same_numbers, seen
from tests.support.simulated import ARMS, Simulated, compared, edited, rearmed


def test_random_weights_that_no_arm_has_are_measured_on_general_text_alone(comparison: Comparison) -> None:
    def partly(rung: Rung) -> Rung:
        general = {"general": rung.before["general"]}
        if rung.name == "scratch":
            return dataclasses.replace(rung, before=general, after=general)
        return dataclasses.replace(rung, before=general) if rung.name == "pretrain" else rung

    without = dataclasses.replace(comparison, rungs=[partly(rung) for rung in comparison.rungs])
    row = known(re.search(r"<code>pretrain</code><small>.*?</tr>", render(without), re.DOTALL))
    assert len(re.findall("<b>", row[0])) == len(comparison.heldout)
    assert len(re.findall(r"<td[^>]*><b>[^<]*</b><small>", row[0])) == 1


def test_a_ladder_without_rungs_above_pre_training_learned_and_forgot_nothing(made: Simulated) -> None:
    comparison = compared(rearmed(made, {arm: (arm, ARMS[arm]) for arm in ("scratch", "general")}))
    assert rungs.reading(comparison) == []
    page = render(comparison)
    assert "general_long" not in seen(page)


def test_the_masking_audit_is_reported(comparison: Comparison, page: str) -> None:
    table = page[page.index('id="table-masks"') :].partition("</table>")[0]
    assert table.count('<th scope="row"') == len(comparison.rungs) - 1, "all but random weights"
    for shown in (
        "<b>15.0</b>",
        "6.0–26.2<",
        "mean length 1.00 tokens",
        "continuation (##)",
        "后续子词（##）",
        "expected",
        "应为",
    ):
        assert shown in table
    assert "Chinese</span>" not in table, "a class that does not occur has no column"
    assert rungs.masking(comparison) == []
    none = [dataclasses.replace(rung, masks=None) for rung in comparison.rungs]
    assert 'id="table-masks"' not in render(dataclasses.replace(comparison, rungs=none))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"specials": 3}, "pretrain: 3 special tokens were masked; none should be."),
        ({"rate": 0.171}, "pretrain: 17.1 % of the tokens were masked (configured: 15.0 %)."),
        ({"documents_without": 0.84}, "pretrain: 84.0 % of the documents have no mask; 1.1 % are expected from"),
        ({"documents_whole": 0.009}, "pretrain: 0.9 % of the documents are masked completely; 0.0 % are expected"),
        (
            {"documents_whole": 0.16, "documents_whole_expected": 0.16},
            "pretrain: 16.0 % of the documents are masked completely and leave no context to predict from",
        ),
    ],
)
def test_masks_that_differ_from_the_configuration_are_named(
    comparison: Comparison, changes: dict[str, float], sentence: str
) -> None:
    def changed(rung: Rung) -> Rung:
        if rung.masks is None or rung.name != "pretrain":
            return rung
        return dataclasses.replace(rung, masks=dataclasses.replace(rung.masks, audit={**rung.masks.audit, **changes}))

    deviating = dataclasses.replace(comparison, rungs=[changed(rung) for rung in comparison.rungs])
    troubles = rungs.masking(deviating)
    assert len(troubles) == 1
    assert troubles[0].en.startswith(sentence)
    assert same_numbers(troubles[0])


def test_a_rung_with_a_random_head_is_reported(made: Simulated, page: str) -> None:
    warning = "The masked-LM head of pretrain was never trained"
    assert warning not in page
    with edited(made.root / "metrics/pretrain/small.json") as rung:
        rung["random_head"] = True
    assert warning in render(compared(made))
