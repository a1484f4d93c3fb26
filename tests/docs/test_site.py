"""The site of the guide is built without a warning, and every link in it leads somewhere."""

from pathlib import Path

import pytest

from tests.support.markdown import DOCUMENTS
from tests.support.site import build, dead_links

NOT_IN_IT = ("models/",)


@pytest.mark.slow
def test_every_page_is_there_once_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    site = build(tmp_path)
    expected = {name.removesuffix(".md") for name in DOCUMENTS if not name.startswith(NOT_IN_IT)}
    for name in expected:
        in_english, in_chinese = (site / folder / f"{name}.html" for folder in ("", "zh"))
        has_partner = f"{name}.zh-CN" in expected
        assert in_english.is_file() != name.endswith(".zh-CN"), name
        assert in_chinese.is_file() != has_partner, name
    assert dead_links(site) == []


def test_a_link_that_leads_nowhere_is_seen(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text('<h1 id="title"></h1>', encoding="utf-8")
    good = '<a href="b.html"></a><a href="b.html#title"></a><a href="https://example.org/x"></a><p id="here"></p>'
    bad = '<a href="c.html"></a><a href="b.html#other"></a><img src="x.svg"><a href="#there"></a><a href="#here"></a>'
    (tmp_path / "a.html").write_text(good + bad, encoding="utf-8")
    assert dead_links(tmp_path) == ["a.html: #there", "a.html: b.html#other", "a.html: c.html", "a.html: x.svg"]
