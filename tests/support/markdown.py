"""The documents as the tests read them: their blocks, their prose, and every command that they show."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from tests.support.imports import ROOT

DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "data/README.md", "models/init/README.md")
    for path in ROOT.glob(pattern)
)
PROGRAMS = ("make", "adaptbert", "dvc", "python", "prefect", "mlflow", "pytest", "ray")
LABELLED_SETS = "docs/how-to/labelled-sets.md"


class Block(NamedTuple):
    """A fenced block, without its indentation."""

    language: str
    text: str

    @property
    def values(self) -> Any:
        """Values of YAML."""
        return YAML(typ="safe", pure=True).load(self.text)


@cache
def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str | None = None) -> list[Block]:
    """All of a document, or those in one language."""
    fenced = re.findall(r"^( *)```(\w*)\n(.*?)^\1```$", read(name), re.MULTILINE | re.DOTALL)
    fences = [Block(own, re.sub(f"^{indent}", "", text, flags=re.MULTILINE)) for indent, own, text in fenced]
    return [block for block in fences if language in (None, block.language)]


def prose(name: str) -> str:
    """A page without the fenced blocks."""
    return re.sub(r"^( *)```.*?^\1```$", "", read(name), flags=re.MULTILINE | re.DOTALL)


def spans(name: str) -> list[str]:
    """Inline code."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose(name))]


def commands(name: str) -> Iterator[list[str]]:
    """Every command that a document shows, in a block or in a line of text, as words."""
    of_shells = [block.text for block in blocks(name) if block.language in ("sh", "bash", "")]
    lines = [line for text in of_shells for line in text.replace("\\\n", "").splitlines()]
    for line in [*lines, *(span for span in spans(name) if " " in span)]:
        line = line.strip().removeprefix(".venv/bin/").removesuffix("...")
        if line.split(" ")[0] in PROGRAMS:
            yield shlex.split(line, comments=True)


def shown(*programs: str) -> list[tuple[str, list[str]]]:
    matching = [(name, words) for name in DOCUMENTS for words in commands(name) if words[0] in programs]
    assert matching, f"nothing of {programs} is shown; does this test still read the documents?"
    return matching


class Example(NamedTuple):
    """A file that `LABELLED_SETS` shows, and its section of params.yaml, without `source` and paths."""

    suffix: str
    text: str
    section: dict[str, Any]

    @property
    def format(self) -> str:
        """The declared format, or that of the suffix."""
        return str(self.section.get("format", self.suffix))


def examples() -> list[Example]:
    """Examples of every labelled format: each block that is a file, with the parameters that follow it."""
    return [
        Example({"json": "jsonl"}.get(file.language, file.language), file.text, keys.values)
        for file, keys in pairwise(blocks(LABELLED_SETS))
        if file.language != "yaml"
    ]
