"""The documents as the tests read them: their blocks, their prose, and every command that they show."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tests.support.imports import ROOT

DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "data/README.md",
        ROOT / "models/init/README.md",
    ]
)
SHELL = ("sh", "bash", "")


class Block(NamedTuple):
    """A fenced block, without its indentation."""

    language: str
    text: str


@cache
def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str) -> list[Block]:
    fenced = re.findall(r"^( *)```(\w*)\n(.*?)^\1```$", read(name), re.MULTILINE | re.DOTALL)
    return [Block(language, re.sub(f"^{indent}", "", text, flags=re.MULTILINE)) for indent, language, text in fenced]


def prose(name: str) -> str:
    """Without the fenced blocks."""
    return re.sub(r"^( *)```.*?^\1```$", "", read(name), flags=re.MULTILINE | re.DOTALL)


def spans(name: str) -> list[str]:
    """Inline code."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose(name))]


PROGRAMS = ("make", "adaptbert", "dvc", "python", "prefect", "mlflow", "pytest", "ray")


def commands(name: str) -> Iterator[list[str]]:
    """Every command that a document shows, in a block or in a line of text, as words."""
    lines = [
        line
        for block in blocks(name)
        if block.language in SHELL
        for line in block.text.replace("\\\n", "").splitlines()
    ]
    for line in [*lines, *(span for span in spans(name) if " " in span)]:
        line = line.strip().removeprefix(".venv/bin/").removesuffix("...")
        if line.split(" ")[0] in PROGRAMS:
            yield shlex.split(line, comments=True)


def shown(*programs: str) -> list[tuple[str, list[str]]]:
    matching = [(name, words) for name in DOCUMENTS for words in commands(name) if words[0] in programs]
    assert matching, f"nothing of {programs} is shown; does this test still read the documents?"
    return matching
