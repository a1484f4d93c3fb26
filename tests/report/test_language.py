"""Every text of the page has its Chinese, with the same values, and every value that params allow has its words.

What lacks its words fails here, not in `compare` after hours of training.
"""

import string
from collections.abc import Callable
from importlib.resources import files
from typing import Any, get_args

import pytest
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po

from adaptbert.comparison.questions import BASELINES, QUESTIONS, ROLES
from adaptbert.report import language, terms
from adaptbert.report.language import Text, joined, listed, same, t
from adaptbert.statistics.verdicts import Verdict
from adaptbert.tasks.metrics.scoring import TITLES
from tests.support.page_reader import CHINESE

PACKAGES = {"adaptbert.report": 200, "adaptbert.release": 30}
"""Package with a zh.po -> fewer messages than it has."""


def messages(package: str) -> dict[str, str]:
    """Messages of modules and templates: the message -> where it stands first."""
    found: dict[str, str] = {}
    methods = [("**.py", "python"), ("**.j2", "jinja2")]
    for file, line, message, *_ in extract_from_dir(str(files(package)), methods, keywords={"t": None}):
        found.setdefault(str(message), f"{file}:{line}")
    return found


def translations(package: str) -> dict[str, str]:
    with files(package).joinpath("zh.po").open("rb") as file:
        catalogue = read_po(file, locale="zh", abort_invalid=True)
    assert not [each.id for each in catalogue if each.fuzzy and each.id]
    return {str(each.id): str(each.string) for each in catalogue if each.id}


def values(text: str) -> set[tuple[str, str]]:
    """Name and format of every value."""
    return {(name, form or "") for _, name, form, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_message_is_translated_with_the_same_values_and_no_translation_is_unused(package: str) -> None:
    elsewhere = dict.fromkeys(TITLES.values(), "TITLES") if package == "adaptbert.report" else {}
    used, translated = messages(package) | elsewhere, translations(package)
    assert len(used) > PACKAGES[package]
    assert {used[each]: each for each in used.keys() - translated.keys()} == {}, "zh.po lacks these"
    assert translated.keys() - used.keys() == set(), "zh.po has these, which nothing says"
    for en, zh in translated.items():
        assert values(en) == values(zh), en
        assert not CHINESE.search(en)
        words = "".join(part for part, *_ in string.Formatter().parse(en))
        assert CHINESE.search(zh) or not any(map(str.isalpha, words)), f"{en}: no Chinese"


def test_a_message_is_filled_in_both_languages() -> None:
    assert t("{rows:,} test rows", rows=1234) == Text("1,234 test rows", "1,234 行测试数据")
    inner = t("{name} ({of})", name=t("Arms"), of="{a}")
    assert inner == Text("Arms ({a})", "组（{a}）"), "names from params.yaml are no messages"
    assert listed(["a"]) == same("a")
    assert listed(["a", "b", t("Arms")]) == Text("a, b and Arms", "a、b 和组")
    assert joined([t("Arms"), t("Data")]) == Text("Arms, Data", "组、数据")
    with pytest.raises(KeyError):
        t("What nobody translated.")


def test_every_value_has_words() -> None:
    """Targets and task types are in tests/config/test_task_types.py; a metric may have its own name alone."""
    assert {*terms.BASELINES} == {*BASELINES}
    assert {*terms.ARMS} == {*ROLES, "other"}
    assert {*terms.QUESTIONS} == {*QUESTIONS}
    assert {*terms.VERDICTS} == {*terms.STANDS} == {*get_args(Verdict)}


def test_only_gains_are_called_so() -> None:
    for verdict, text in (*terms.VERDICTS.items(), *terms.STANDS.items()):
        assert any(word in text.en for word in ("gain", "higher")) == (verdict == "gain"), text
        assert any(word in text.zh for word in ("提升", "高")) == (verdict == "gain"), text


@pytest.mark.parametrize(
    ("write", "texts"),
    [
        (language.change, {-0.0004: "0.0", 0.0004: "0.0", 0.012: "+1.2", -0.012: "−1.2"}),
        (language.p_value, {0.0004: "< 0.001", 0.0123: "0.012"}),
        (language.plain, {1e-5: "1e−05", 3.0: "3"}),
        (language.whole_percent, {0.0: "0", 1e-9: "<1", 0.012: "1", 1.0: "100"}),
    ],
)
def test_numbers_are_written_alike_everywhere(write: Callable[[Any], str], texts: dict[float, str]) -> None:
    assert {value: write(value) for value in texts} == texts
