"""The search of the site in Chromium, in both languages."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from tests.support.site import build

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a log would be noise in the tests."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    site = build(tmp_path_factory.mktemp("site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("folder", "words", "page"),
    [
        ("", "confidence interval", "docs/concepts.html"),
        ("", "learning_rate", "docs/parameters.html"),
        ("zh/", "领域迁移", "docs/concepts.zh-CN.html"),  # two words of Chinese, typed without a space
        ("zh/", "组", "docs/how-to/arms.zh-CN.html"),  # a word of one character
        ("zh/", "learning_rate", "docs/parameters.html"),
    ],
)
def test_search_lists_the_page(chromium: "Browser", address: str, folder: str, words: str, page: str) -> None:
    context = chromium.new_context()
    requested, trouble = list[str](), list[str]()
    opened = context.new_page()
    opened.on("request", lambda request: requested.append(request.url))
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.goto(f"{address}/{folder}search.html?q={words}")
    opened.locator(f'ul.search a[href^="{page}"]').first.wait_for(timeout=20_000)
    context.close()
    assert trouble == []
    assert [url for url in requested if not url.startswith((address, "data:"))] == [], "asked of another host"
