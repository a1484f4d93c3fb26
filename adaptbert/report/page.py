"""Comparison -> the HTML of reports/index.html in one string, with its style, script and figures."""

from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from adaptbert.comparison.amounts import amount, at_least
from adaptbert.comparison.records import Comparison
from adaptbert.report import mlflow_runs, overview
from adaptbert.report import terms as words
from adaptbert.report.charts.figure import Figure
from adaptbert.report.charts.svg import style_sheet
from adaptbert.report.sections import sections
from adaptbert.report.sentences import captions, first_screen
from adaptbert.report.terms import Words


def render(comparison: Comparison) -> str:
    """The page. Equal comparisons give equal bytes: there is no date in it."""
    templates = environment(comparison)
    shown = list(sections(comparison))
    page = templates.get_template("page.html.j2").render(
        links=[(section.link, section.start) for section in shown if section.link is not None],
        sections=[
            Markup(templates.get_template(f"{section.template}.html.j2").render(section.values)) for section in shown
        ],
        heading=overview.heading(comparison),
        verdict=overview.verdict(comparison),
        facts=first_screen.facts(comparison),
        demonstration=captions.demonstration(comparison),
        css=style_sheet(),
        js=Markup(files("adaptbert.report").joinpath("page.js").read_text(encoding="utf-8")),
    )
    return page + "\n"


def figures_of(comparison: Comparison) -> list[Figure]:
    """All figures of the page."""
    return [figure for section in sections(comparison) for figure in section.figures]


def environment(comparison: Comparison) -> Environment:
    """What every template can use; a name that is not defined is an error."""
    templates = Environment(
        loader=PackageLoader("adaptbert.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {
        "comparison": comparison,
        "t": Words,
        "same": words.same,
        "words": words,
        "mlflow": mlflow_runs,
    }
    templates.filters |= {
        "plain": words.plain,
        "points": words.points,
        "change": words.change,
        "bits_change": words.bits_change,
        "millions": words.millions,
        "amount": amount,
        "at_least": at_least,
        "shares": shares,
        "role": lambda rung: comparison.rung(rung).role,
    }
    return templates


def shares(row: dict[str, float], labels: Sequence[str]) -> list[tuple[float, float]]:
    """A row of a confusion matrix as (count, share of the row)."""
    total = sum(row.values()) or 1.0
    return [(row[label], row[label] / total) for label in labels]
