"""A changed text says what is meant, whatever entry is changed, and all other lines stay as they are."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from difflib import ndiff
from pathlib import Path
from typing import Any

import pytest

from adaptbert.errors import BadParams
from adaptbert.project.editing import params_text
from adaptbert.runtime.params import strict_yaml
from tests.support import older_params
from tests.support.imports import ROOT

PARAMS = Path("params.yaml")
TEXTS = {
    "params.yaml": (ROOT / "params.yaml").read_text(encoding="utf-8"),
    "smoke.yaml": (ROOT / "presets/smoke.yaml").read_text(encoding="utf-8"),
    "older": older_params.text(),
}
TEXTS["JSON"] = json.dumps(strict_yaml.load(TEXTS["params.yaml"], PARAMS), indent=1)


def document(text: str) -> Any:
    return strict_yaml.load(text, PARAMS)


def paths(values: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Of every entry, however deep."""
    for key, value in values.items() if isinstance(values, Mapping) else ():
        yield (*above, key)
        yield from paths(value, (*above, key))


def at(values: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        values = values[key]
    return values


@pytest.mark.parametrize("name", TEXTS)
def test_any_entry_can_be_removed(name: str) -> None:
    text = TEXTS[name]
    for path in paths(document(text)):
        if len(path) > 1:
            expected = deepcopy(document(text))
            del at(expected, path[:-1])[path[-1]]
            assert document(params_text.removed(text, path)) == expected, path


@pytest.mark.parametrize("name", TEXTS)
def test_any_key_can_be_renamed_and_any_mapping_gains_an_entry(name: str) -> None:
    text = TEXTS[name]
    for path in paths(document(text)):
        expected = deepcopy(document(text))
        above = at(expected, path[:-1])
        above["other name"] = above.pop(path[-1])
        assert document(params_text.renamed(text, path, "other name")) == expected, path
        if isinstance(at(document(text), path), dict):
            for in_one_line in (True, False):
                expected = deepcopy(document(text))
                at(expected, path)["new"] = {"text": "a: b", "list": [1, "2"], "none": {}}
                values = {"text": "a: b", "list": [1, "2"], "none": {}}
                assert document(params_text.added(text, path, "new", values, in_one_line=in_one_line)) == expected, path


def test_other_lines_stay() -> None:
    text = TEXTS["params.yaml"]
    for changed in (
        params_text.removed(text, ["collect_task", "section"]),
        params_text.renamed(text, ["collect_task", "section"], "part"),
        params_text.added(text, ["collect_task"], "mine", {"source": "files", "train": "a.csv"}),
        params_text.replaced(text, ["tokenizer", "all", "corpora"], ["general", "posts"]),
    ):
        lines = [line for line in ndiff(text.splitlines(), changed.splitlines()) if line[0] in "+-"]
        assert 0 < len(lines) < 10, lines


def test_comments() -> None:
    """One directly above an entry, or further in, is its own; one behind it stays in its column."""
    text = "a:\n  # of b\n  b: 1   # too\n    # and this\n  # of c\n  c: [x, y]    # names\nd: 2\n"
    assert params_text.removed(text, ["a", "b"]) == "a:\n  # of c\n  c: [x, y]    # names\nd: 2\n"
    assert params_text.removed(params_text.removed(text, ["a", "b"]), ["a", "c"]) == "a: {}\nd: 2\n"
    assert "  longer: 1   # too\n" not in params_text.renamed(text, ["a", "b"], "be")
    assert "  be: 1  # too\n" in params_text.renamed(text, ["a", "b"], "be")
    assert "  c: [x, yz]   # names\n" in params_text.replaced(text, ["a", "c"], ["x", "yz"])
    assert "  c: [x]       # names\n" in params_text.replaced(text, ["a", "c"], ["x"])


def test_the_last_line_may_have_no_end() -> None:
    assert params_text.added("a:\n  b: 1", ["a"], "c", {"d": 2}) == "a:\n  b: 1\n  c:\n    d: 2\n"
    assert params_text.removed("a:\n  b: 1\n  c: 2", ["a", "c"]) == "a:\n  b: 1\n"


def test_an_empty_mapping_gains_an_entry() -> None:
    assert (
        params_text.added("a: {}  # none yet\nb: 1\n", ["a"], "c", {"d": 2}) == "a:  # none yet\n  c:\n    d: 2\nb: 1\n"
    )


@pytest.mark.parametrize(
    "value",
    [
        "on",
        "true",
        "1e3",
        "a: b",
        "#x",
        "- x",
        "",
        " x",
        "@x",
        "x#y",
        "中文",
        "a/b.c-d",
        "~",
        "1_000",
        "{",
        "\n",
        "2021-99-99",
        "0x_",
    ],
)
def test_any_text_is_written_so_that_it_is_read_again(value: str) -> None:
    assert document(f"x: {params_text.flow(value)}") == {"x": value}
    assert document(f"x: {params_text.flow([value, {value or 'k': 1.5}])}") == {"x": [value, {value or "k": 1.5}]}


@pytest.mark.parametrize("name", ["params.yaml", "smoke.yaml", "older"])
def test_sections_are_the_text(name: str) -> None:
    sections = params_text.sections(TEXTS[name])
    assert "".join(sections.values()) == TEXTS[name]
    assert [*sections][1:] == [*document(TEXTS[name])]


def test_a_text_that_says_something_else_is_refused() -> None:
    text = "a: &x {b: 1}\nc: *x\n"
    changed = params_text.added(text, ["c"], "d", {"e": 1})
    with pytest.raises(BadParams, match=r"AB-217 params\.yaml: written in a way that this command cannot change"):
        params_text.check_means(changed, {"a": {"b": 1}, "c": {"b": 1, "d": {"e": 1}}}, PARAMS, "by hand")
    with pytest.raises(BadParams, match="AB-217"):
        params_text.check_means("a: [", {}, PARAMS, "by hand")
