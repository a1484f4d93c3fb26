"""The files of the figures: each stands alone, in one language."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from adaptbert.comparison.records import Comparison
from adaptbert.report.charts.figure import WIDTH, Figure, standalone, write_figures
from adaptbert.report.charts.rows import Bar, bars
from adaptbert.report.charts.svg import chart_style, plain_style
from adaptbert.report.language import Text
from adaptbert.report.page import figures_of, render
from tests.support.known import known
from tests.support.page_reader import CHINESE

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def files(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports") / "figures"
    write_figures(figures_of(comparison), folder)
    return folder


def test_every_figure_of_the_page_has_its_files(comparison: Comparison, files: Path) -> None:
    page = render(comparison)
    drawn = [name for name in re.findall(r'<figure[^>]* aria-labelledby="([^"]+)"', page) if "confusion" not in name]
    assert len(drawn) == len(set(drawn)) > 10
    assert set(re.findall(r'<svg class="chart" role="img" aria-labelledby="([^"]+)"', page)) == set(drawn)
    assert {path.name for path in files.iterdir()} == {f"{name}{end}" for name in drawn for end in (".svg", ".zh.svg")}
    assert set(re.findall(r'href="figures/([^"]+)"', page)) == {path.name for path in files.iterdir()}


def test_a_file_needs_nothing_but_itself(files: Path) -> None:
    for path in files.glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert root.tag == f"{SVG}svg"
        assert float(root.attrib["width"]) > 300
        assert "var(" not in text, "variables are not known outside of browsers"
        assert not re.search(r"(?:href|src|url\()", text)
        written = " ".join(
            element.text or "" for element in root.iter() if element.tag in (f"{SVG}text", f"{SVG}tspan")
        )
        assert bool(CHINESE.search(written)) is path.name.endswith(".zh.svg"), path.name
        title = known(root.find(f"{SVG}title"))
        assert (title.text or "") in written


def test_the_colours_of_a_file_are_those_of_the_light_page() -> None:
    style = plain_style()
    assert "svg .bar.role-domain { fill: #0f8478; }" in style
    of_roles = chart_style().count(".role-") - 1  # role-class is named in a rule of its own
    assert style.count("svg .bar.role-") == of_roles + 1


def test_long_captions_and_legends_wrap() -> None:
    legend = [(f"domain_transfer/corpus_{place}", "domain") for place in range(8)]
    drawn = bars([Bar("a", "domain", 0.5, None, None, [[0.5]])], [], "a")
    figure = Figure("a", "b", Text("word " * 60, "字" * 150), drawn, legend)
    for language, lines in (("en", 3), ("zh", 3)):
        root = ElementTree.fromstring(standalone(figure, language))  # type: ignore[arg-type]
        notes = [each for each in root.iter(f"{SVG}text") if each.attrib["class"] == "note"]
        assert len(notes) == lines + len(legend)
        assert all(float(each.attrib["x"]) < WIDTH for each in notes)
        assert len({each.attrib["y"] for each in notes[lines:]}) > 1
