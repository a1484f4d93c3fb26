"""The page has words, in both languages, for every value that params allow and every verdict there can be.

What lacks its words fails here, not in `compare` after hours of training.
"""

from collections.abc import Iterable, Mapping
from typing import Any, get_args

import pytest

from adaptbert.comparison.questions import AGAIN, QUESTIONS, ROLES
from adaptbert.config.schema.mlm import Masking
from adaptbert.mlm.masking_audit import CLASSES
from adaptbert.report import overview, terms, text_table
from adaptbert.report.sentences.trust import Standing
from adaptbert.report.terms import Words
from adaptbert.statistics.verdicts import GAINS, Verdict
from adaptbert.tasks.metrics.scoring import COMPARED_BY
from tests.support.page_reader import CHINESE

OF_STARTS = {*get_args(Verdict)} - {"descriptive"}
"""A start is always compared with the first one; there is no primary start."""
ALLOWED: dict[str, tuple[Mapping[Any, Any], Iterable[str]]] = {
    "terms.UNITS: masking.unit": (terms.UNITS, get_args(Masking.model_fields["unit"].annotation)),
    "terms.TOKEN_CLASSES: classes of the masking audit": (terms.TOKEN_CLASSES, CLASSES),
    "terms.METRICS: metrics that cells are compared by": (terms.METRICS, COMPARED_BY.values()),
    "terms.ARMS: roles of rungs": (terms.ARMS, {*ROLES, "other"}),
    "terms.STEPS: questions": (terms.STEPS, (*QUESTIONS, AGAIN)),
    "terms.VERDICTS": (terms.VERDICTS, get_args(Verdict)),
    "terms.STANDINGS": (terms.STANDINGS, get_args(Standing)),
    "terms.STANDS": (terms.STANDS, OF_STARTS),
}
"""Words, and the values that they are for; targets and task types: tests/base/test_task_types.py, names of baselines:
tests/comparison/evaluation/test_baselines.py."""


@pytest.mark.parametrize("place", ALLOWED)
def test_every_value_has_words(place: str) -> None:
    words, allowed = ALLOWED[place]
    assert {*allowed} - {*words} == set(), f"adaptbert/comparison: {place} lack these"
    assert {*words} - {*allowed} == set(), f"adaptbert/comparison: {place} have words that nothing needs"


def tables() -> dict[str, Words]:
    """Every text of every table, by its name."""
    pages = dict(vars(terms))
    pages |= {f"overview.{name}": value for name, value in vars(overview).items()}
    texts = {
        f"{name}[{key}]": text
        for name, table in pages.items()
        if isinstance(table, dict)
        for key, text in table.items()
    }
    texts |= {f"{key}.right": words.right for key, words in terms.TARGET_WORDS.items()}
    texts |= {f"{key}.majority": words.majority for key, words in terms.TARGET_WORDS.items()}
    return {name: text for name, text in texts.items() if isinstance(text, Words)}


def test_words_are_in_both_languages() -> None:
    texts = tables()
    assert len(texts) > 60
    for name, text in texts.items():
        assert not CHINESE.search(text.en), name
        assert CHINESE.search(text.zh), f"{name}: no Chinese"


def test_only_gains_are_called_so() -> None:
    for words in (*terms.VERDICTS.items(), *terms.STANDS.items()):
        verdict, text = words
        en, zh = text.en, text.zh
        for nothing_shown in ("no gain shown", "not shown higher", "未证实提升", "未证实更高"):
            en, zh = en.replace(nothing_shown, ""), zh.replace(nothing_shown, "")
        assert any(word in en for word in ("gain", "worth it", "higher")) == (verdict in GAINS), text
        assert any(word in zh for word in ("提升", "值得", "高")) == (verdict in GAINS), text


@pytest.mark.parametrize("score", [0.1785, 0.17849999999999996, 0.17850000000000002, -0.0005, 0.00049999999999, 0.3135])
def test_the_page_rounds_as_the_table_does(score: float) -> None:
    """The table reads six decimals of metrics/comparison.json; 17.85 was 17.9 on the page and 17.8 in the table."""
    recorded = round(score, 6)
    assert terms.points(score).replace(terms.MINUS, "-") == text_table._points(recorded)
    assert terms.change(score).replace(terms.MINUS, "-") == text_table._points(recorded, signed=True)
