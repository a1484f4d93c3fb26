"""Docstrings say what they are about: their first sentence has a noun, or says what the function does."""

import ast

import pytest

from tests.support.imports import PACKAGES, modules, source

WITHOUT_A_NOUN = {"also", "as", "by", "equal", "of", "over", "that", "those", "with"}
"""First words after which the thing that is described has no name."""


def first_words(text: str) -> dict[int, str]:
    """The first word of every docstring, of attributes and constants as well, by its line."""
    strings = [
        (node.lineno, node.value.value)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    return {line: (docstring.split() or [""])[0].strip("`,.:;") for line, docstring in strings}


def riddles(text: str) -> list[int]:
    return [line for line, word in first_words(text).items() if word.lower() in WITHOUT_A_NOUN]


@pytest.mark.parametrize("folder", PACKAGES)
def test_first_sentences_have_a_noun(folder: str) -> None:
    texts = {path: path.read_text(encoding="utf-8") for name in modules(folder) if (path := source(name))}
    assert texts
    assert [f"{path}:{line}" for path, text in texts.items() for line in riddles(text)] == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('"""Of a task."""', [1]),
        ('def rows():\n    """That are kept."""', [2]),
        ('class Row:\n    """A row."""\n\n    name: str\n    """Of its file."""', [5]),
        ('MOST = 3\n"""Those that are shown."""', [2]),
        ('async def rows():\n    """\n    By name.\n    """', [2]),
        ('MOST = 3\n"""Rows that are shown, of a file, by name."""\nOTHER = "Of no docstring"', []),
    ],
)
def test_a_planted_one_is_found(text: str, lines: list[int]) -> None:
    assert riddles(text) == lines
