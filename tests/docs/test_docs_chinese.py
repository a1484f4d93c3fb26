"""README and guide say the same in English and in Chinese.

Every page has its partner, `x.md` and `x.zh-CN.md`. Part by part (headings, paragraphs, items, cells of tables, blocks)
both hold the same code, figures and links. Pages that things are looked up in, and decisions, are in English only.
"""

import re
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.support.imports import ROOT
from tests.support.markdown import DOCUMENTS, read

SUFFIX = ".zh-CN.md"
ENGLISH_ONLY = {"docs/errors.md", "docs/parameters.md", "docs/benchmarks.md"}
GUIDE = [
    name
    for name in DOCUMENTS
    if Path(name).parent.as_posix() in ("docs", "docs/how-to")
    and not name.endswith(SUFFIX)
    and name not in ENGLISH_ONLY
]
PAGES = ["README.md", *GUIDE]

_NUMBER = re.compile(r"(?<![A-Za-z\d.])\d+(?:[.,]\d+)*")


class Part(NamedTuple):
    """What both languages share of a piece of a page."""

    kind: str
    """Of the Markdown token, with the level of a heading or the language of a block; so also the shape of a table."""
    code: frozenset[str]
    """Inline code; of a block its text."""
    links: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    empty: bool = False


def swapped(link: str) -> str:
    """The page in the other language."""
    return link.removesuffix(SUFFIX) + ".md" if link.endswith(SUFFIX) else link.removesuffix(".md") + SUFFIX


def parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)


def part(token: Token, folder: Path, translated: bool) -> Part:
    if token.type != "inline":
        return Part(f"{token.type} {token.tag} {token.info}", frozenset([token.content] if token.content else []))
    inside = token.children or []
    links = [str(child.attrs.get("href") or child.attrs.get("src")) for child in inside if child.attrs]
    if translated:
        links = [swapped(link) if (folder / swapped(link)).is_file() else link for link in links]
    words = " ".join(child.content for child in inside if child.type == "text")
    return Part(
        "inline",
        frozenset(" ".join(child.content.split()) for child in inside if child.type == "code_inline"),
        tuple(sorted(links)),
        tuple(sorted(_NUMBER.findall(words))),
        not inside,
    )


def differences(english: str, chinese: str, folder: Path) -> list[tuple[str, str, Part | None, Part | None]]:
    """Parts that do not fit, the first first; after a missing part nothing fits, so look at that one."""
    ours, theirs = parsed(english), parsed(chinese)
    unequal = []
    for left, right in zip_longest(ours, theirs):
        one = part(left, folder, translated=True) if left else None
        other = part(right, folder, translated=False) if right else None
        if one != other:
            unequal.append((left.content if left else "", right.content if right else "", one, other))
    return unequal


def test_every_page_of_the_guide_has_a_partner() -> None:
    chinese = {name for name in DOCUMENTS if name.endswith(SUFFIX)}
    assert chinese == {swapped(name) for name in PAGES}
    assert len(GUIDE) > 10


@pytest.mark.parametrize("name", PAGES)
def test_both_languages_say_the_same(name: str) -> None:
    unequal = differences(read(name), read(swapped(name)), (ROOT / name).parent)
    assert unequal[:1] == []


@pytest.mark.parametrize("name", GUIDE)
def test_the_other_language_is_named_first(name: str) -> None:
    english, chinese = Path(name).name, Path(swapped(name)).name
    assert read(name).split("\n\n")[1] == f"English | [中文]({chinese})"
    assert read(swapped(name)).split("\n\n")[1] == f"[English]({english}) | 中文"


SAMPLE = "# Title\n\nSet `seed` to 5, see [concepts](concepts.md).\n\n| `a` | 0.36 |\n|---|---|\n\n```sh\nmake\n```\n"


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("`seed`", "`seeds`"),
        ("to 5", "to 6"),
        ("concepts.zh-CN.md", "concepts.md"),
        ("# Title", "## Title"),
        ("| `a` | 0.36 |", "| `a` | |"),
        ("make\n", "dvc\n"),
    ],
)
def test_a_difference_is_seen(was: str, becomes: str) -> None:
    same = SAMPLE.replace("concepts.md", "concepts.zh-CN.md")
    assert differences(SAMPLE, same, ROOT / "docs") == []
    assert differences(SAMPLE, same.replace(was, becomes, 1), ROOT / "docs") != []
