"""The site of the guide, built as `make site` builds it, and the links in it that lead nowhere."""

import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.support.imports import ROOT


def build(folder: Path) -> Path:
    """Both languages, in this folder.

    Raises:
        AssertionError: there was a warning or an error.
    """
    command = ["make", "site", f"PYTHON={sys.executable}", f"SITE={folder}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


class Page(HTMLParser):
    """A page of HTML: the anchors in it and what it links to or loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors, self.links = set[str](), set[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.anchors.add(value or "")
            elif name in ("href", "src"):
                self.links.add(value or "")


@cache
def page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def dead_links(site: Path) -> list[str]:
    """Links to files or anchors that are not there, each with its page; links to other hosts are not followed."""
    return [
        f"{path.relative_to(site)}: {link}"
        for path in sorted(site.rglob("*.html"))
        for link in sorted(page(path).links)
        if not leads_somewhere(path, link)
    ]


def leads_somewhere(path: Path, link: str) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return False
    return not parts.fragment or target.suffix != ".html" or unquote(parts.fragment) in page(target).anchors
