"""Settings by which Sphinx makes a site of the guide: README is its home, the pages of docs/ are what they are.

`make site` builds one in English and, with `-t chinese`, one in Chinese inside it. docs/decisions/0056 says why so.
"""

import os
import re
import shutil
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.search.zh import SearchChinese

ROOT = Path(__file__).parent.parent
SUFFIX = ".zh-CN"
IN_CHINESE = tags.has("chinese")  # type: ignore[name-defined]  # noqa: F821 - a name that Sphinx hands over

PAGES = {
    path.relative_to(ROOT).as_posix().removesuffix(".md")
    for pattern in ("README*.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "data/README.md", "docs/**/*.md")
    for path in ROOT.glob(pattern)
}
TRANSLATED = {page.removesuffix(SUFFIX) for page in PAGES if page.endswith(SUFFIX)}
OF_THE_OTHER_SITE = TRANSLATED if IN_CHINESE else {page + SUFFIX for page in TRANSLATED}
OTHER_SITE = ".." if IN_CHINESE else "zh"  # its folder, seen from the top of this one

project = html_title = "adaptbert"
language = "zh_CN" if IN_CHINESE else "en"
root_doc = "README.zh-CN" if IN_CHINESE else "README"
include_patterns = [f"{page}.md" for page in PAGES - OF_THE_OTHER_SITE]
# Sphinx walks through every folder that it is not told to leave out.
exclude_patterns = [path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in ("docs", "data")]
extensions = ["myst_parser"]
myst_heading_anchors = 4
templates_path = ["templates"]
html_theme = "furo"
html_sidebars = {
    "**": [f"sidebar/{part}.html" for part in ("brand", "search", "scroll-start", "navigation", "scroll-end")]
}
html_sidebars["**"].insert(1, "language.html")
html_context = {
    "other_home": f"{OTHER_SITE}/index.html",
    "other_language": "English" if IN_CHINESE else "中文",
}
html_copy_source = html_show_sourcelink = html_show_copyright = False


def setup(app: Sphinx) -> None:
    app.connect("source-read", prepare)
    app.connect("build-finished", give_home_its_address)
    for name in ("conll", "csv"):
        app.add_lexer(name, TextLexer)
    if IN_CHINESE:
        app.add_search_language(CharacterPairs)


def prepare(app: Sphinx, page: str, source: list[str]) -> None:
    """Lets links to a page in the other language lead to its site, and gives home the list of the sidebar."""
    top = "../" * page.count("/")

    def to_the_other_site(link: re.Match[str]) -> str:
        text, target, anchor = link.groups(default="")
        path = os.path.normpath(Path(page).parent / target)
        if path not in OF_THE_OTHER_SITE:
            return link[0]
        return f'<a href="{top}{OTHER_SITE}/{path}.html{anchor}">{text}</a>'

    source[0] = re.sub(r"\[([^\]]+)\]\(([^)#\s]+)\.md(#[^)]*)?\)", to_the_other_site, source[0])
    if page == root_doc:
        source[0] += "".join(listed(title, pages) for title, pages in navigation().items())


def navigation() -> dict[str, list[str]]:
    """Pages of the sidebar below their titles, which README does not list for readers of the repository."""
    suffix = SUFFIX if IN_CHINESE else ""

    def title(english: str, chinese: str) -> str:
        return chinese if IN_CHINESE else english

    return {
        title("Understand", "理解"): [f"docs/concepts{suffix}", f"docs/metrics{suffix}"],
        title("How to", "操作"): below("docs/how-to"),
        title("Look up", "查阅（英文）"): ["docs/parameters", "docs/errors", "docs/encoders", "docs/benchmarks"],
        title("Studies", "研究（英文）"): below("docs/results"),
        title("Project", "项目（英文）"): ["CHANGELOG", "CONTRIBUTING", "SECURITY", "data/README"],
        title("Decisions", "决定（英文）"): below("docs/decisions"),
    }


def below(folder: str) -> list[str]:
    return sorted(page for page in PAGES - OF_THE_OTHER_SITE if page.startswith(f"{folder}/"))


def listed(title: str, pages: list[str]) -> str:
    """Markdown of a part of the sidebar."""
    return f"\n\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n" + "\n".join(pages) + "\n```\n"


def give_home_its_address(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        shutil.copy(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


class CharacterPairs(SearchChinese):
    """Search in Chinese by pairs of neighbouring characters, which needs no dictionary.

    Sphinx itself needs jieba (40 MB) to index Chinese, and takes what a reader types without spaces for one word.
    """

    # Of the stemmer for words in Latin letters: Sphinx 9.0 calls it after the language, and its own search in Chinese
    # stops at a ChineseStemmer that nobody defined.
    language_name = "English"
    js_splitter_code = r"""
function splitQuery(query) {
    const parts = query.match(/[\u4e00-\u9fff]+|[a-zA-Z0-9_]+/g) || [];
    const pairs = (part) => [...part.slice(1)].map((character, place) => part[place] + character);
    return parts.flatMap((part) => part[0] < "\u4e00" || part.length === 1 ? [part] : pairs(part));
}
"""

    def split(self, input: str) -> list[str]:
        latin = self.latin1_letters.findall(input)
        self.latin_terms.update(latin)
        runs = re.findall(r"[\u4e00-\u9fff]+", input)
        pairs = [run[start : start + 2] for run in runs for start in range(len(run) - 1)]
        return [*latin, *pairs, *"".join(runs)]

    def word_filter(self, stemmed_word: str) -> bool:
        return super().word_filter(stemmed_word) or stemmed_word >= "\u4e00"
