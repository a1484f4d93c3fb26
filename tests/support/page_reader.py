"""The report as a reader of HTML sees it."""

import re
from html import unescape
from html.parser import HTMLParser

CHINESE = re.compile(r"[\u4e00-\u9fff]")


class Reader(HTMLParser):
    """Tags in order, text by language, and every address that a browser would fetch."""

    VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[tuple[str, str]] = []
        self.addresses: list[str] = []
        self.text: dict[str, list[str]] = {"en": [], "zh-Hans": [], "": []}
        self.ids: list[str] = []
        self.labelled_by: list[str] = []
        self._is_begun = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.addresses += [attributes[name] for name in ("src", "href", "action", "data") if name in attributes]
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.labelled_by += [attributes["aria-labelledby"]] if "aria-labelledby" in attributes else []
        language = attributes.get("lang", "") if tag in ("span", "tspan") else ""
        self._is_begun = self._is_begun and not language
        if tag not in self.VOID:
            self.open.append((tag, language))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        language = next((language for _, language in reversed(self.open) if language), "")
        tags = {tag for tag, _ in self.open}
        if language and "code" in tags:
            return  # a name inside a sentence
        if data.strip() and not {"style", "script", "title", "pre"} & tags:
            if language and self._is_begun:  # behind a name
                data = f"{self.text[language].pop()} {data.strip()}"
            self.text[language].append(data.strip())
            self._is_begun = bool(language)


def seen(page: str) -> str:
    """What a reader sees, without style and script."""
    body = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", body))
