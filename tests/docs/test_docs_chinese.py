"""README and guide say the same in English and in Chinese.

Every page has its partner, `x.md` and `x.zh-CN.md`. Part by part (headings, paragraphs, items, cells of tables, blocks)
both hold the same code, figures and links. Pages that things are looked up in, and decisions, are in English only.
"""

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.support.imports import ROOT
from tests.support.markdown import DOCUMENTS, read

SUFFIX = ".zh-CN.md"
ENGLISH_ONLY = {"docs/errors.md", "docs/parameters.md", "docs/encoders.md", "docs/benchmarks.md"}
GUIDE = [
    name
    for name in DOCUMENTS
    if Path(name).parent.as_posix() in ("docs", "docs/how-to")
    and not name.endswith(SUFFIX)
    and name not in ENGLISH_ONLY
]
PAGES = ["README.md", *GUIDE]

_NUMBER = re.compile(r"(?<![A-Za-z\d.])\d+(?:[.,]\d+)*")

Part = tuple[str, frozenset[str], list[str], list[str]]
"""What both languages share of a piece of a page: its kind (of the Markdown token, with the level of a heading or the
language of a block; so also the shape of a table), its code (of a block its text), links and figures."""


def swapped(link: str) -> str:
    """The page in the other language."""
    return link.removesuffix(SUFFIX) + ".md" if link.endswith(SUFFIX) else link.removesuffix(".md") + SUFFIX


def parts(text: str, to_chinese: Path | None = None) -> list[Part]:
    """Parts of a page, in order.

    Args:
        to_chinese: the folder of an English page, whose links to pages that have a partner are to lead there.
    """
    return [part(token, to_chinese) for token in MarkdownIt("commonmark").enable("table").parse(text)]


def part(token: Token, to_chinese: Path | None) -> Part:
    if token.type != "inline":
        return f"{token.type} {token.tag} {token.info}", frozenset(filter(None, [token.content])), [], []
    inside = token.children or []
    links = [str(child.attrs.get("href") or child.attrs.get("src")) for child in inside if child.attrs]
    if to_chinese is not None:
        links = [swapped(link) if (to_chinese / swapped(link)).is_file() else link for link in links]
    code = frozenset(" ".join(child.content.split()) for child in inside if child.type == "code_inline")
    words = " ".join(child.content for child in inside if child.type == "text")
    return "text" if inside else "empty", code, sorted(links), sorted(_NUMBER.findall(words))


def test_every_page_of_the_guide_has_a_partner() -> None:
    chinese = {name for name in DOCUMENTS if name.endswith(SUFFIX)}
    assert chinese == {swapped(name) for name in PAGES}
    assert len(GUIDE) > 10


@pytest.mark.parametrize("name", PAGES)
def test_both_languages_say_the_same(name: str) -> None:
    """After a missing part nothing fits, so look at the first that differs."""
    assert parts(read(name), (ROOT / name).parent) == parts(read(swapped(name)))


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
    english, chinese = parts(SAMPLE, ROOT / "docs"), SAMPLE.replace("concepts.md", "concepts.zh-CN.md")
    assert english == parts(chinese)
    assert english != parts(chinese.replace(was, becomes, 1))
