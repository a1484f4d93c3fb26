"""Comparison -> the HTML of reports/index.html in one string, with its style, script and figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from adaptbert.comparison.amounts import at_least
from adaptbert.comparison.records import Comparison
from adaptbert.report import figures, language, mlflow_runs, overview, terms
from adaptbert.report.charts.figure import Figure
from adaptbert.report.charts.svg import style_sheet
from adaptbert.report.language import Text, t
from adaptbert.report.sentences import captions, first_screen, repetition, rungs, starts, steps, tasks, trust
from adaptbert.statistics.verdicts import ADJUSTMENT


@dataclass(frozen=True)
class Section:
    """A template and its values.

    Attributes:
        template: `<template>.html.j2` in this folder. It can use what `environment` names, and the macros `sortable`,
            `caption`, `chip` and `figure` of macros.html.j2.
        link: where the navigation leads, the id of the <section>, and the text of the link; None: no link.
        values: names of the template, beside these.
        start: of which it is alone; None: of all of them.
        figures: all that its template shows, so that each becomes files.
    """

    template: str
    link: tuple[str, Text | str] | None
    values: Mapping[str, Any] = field(default_factory=dict)
    start: str | None = None
    figures: Sequence[Figure] = ()


def render(comparison: Comparison) -> str:
    """The page. Equal comparisons give equal bytes: there is no date in it."""
    templates = environment(comparison)
    shown = list(sections(comparison))
    page = templates.get_template("page.html.j2").render(
        links=[(section.link, section.start) for section in shown if section.link is not None],
        sections=[
            Markup(templates.get_template(f"{section.template}.html.j2").render(section.values)) for section in shown
        ],
        css=style_sheet(),
        js=Markup(files("adaptbert.report").joinpath("page.js").read_text(encoding="utf-8")),
    )
    return page + "\n"


def figures_of(comparison: Comparison) -> list[Figure]:
    """All figures of the page."""
    return [figure for section in sections(comparison) for figure in section.figures]


def sections(comparison: Comparison) -> Iterator[Section]:
    """Those that this comparison has, from top to bottom. A new one is a template in this folder and a `yield` here."""
    matrix = overview.matrix(comparison)
    yield Section("overview", ("steps", t("Steps")) if matrix else None, {"matrix": matrix})
    if comparison.rankings:
        yield Section("starts", ("starts", t("Starts")))
    for task in comparison.tasks:
        shown = figures.of_task(task, comparison)
        values = {"task": task, "figures": shown, "confusion": figures.confusion(task)}
        yield Section("task", (f"task-{task.anchor}", task.name), values, task.base, list(shown.values()))
    panels = figures.of_curves(comparison)
    audits = [each.masks.audit for _, each in comparison.trained() if each.masks is not None]
    values = {
        # The token classes that a rung's masks cover, in the order of their columns.
        "token_classes": [name for name in terms.TOKEN_CLASSES if any(f"rate_{name}" in audit for audit in audits)],
        # Random weights are not measured where pre-training began from others and no arm starts from them.
        "rungs": [each for each in comparison.checkpoints if each.missing or each.after],
        "legend": {each.path: each.role for each in comparison.checkpoints if not each.missing and each.below},
        "curves": panels,
    }
    yield Section("rungs", ("reading", t("Language model")), values, figures=panels)
    yield Section("data", ("data", t("Data")))
    if comparison.tasks:
        yield Section("mlflow", ("mlflow", "MLflow"))
    yield Section("limits", ("limits", t("Limits")), {"adjustment": ADJUSTMENT})


def environment(comparison: Comparison) -> Environment:
    """What every template can use; a name that is not defined is an error."""
    templates = Environment(
        loader=PackageLoader("adaptbert.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    says = {"captions": captions, "first_screen": first_screen, "repetition": repetition, "of_rungs": rungs}
    says |= {"of_starts": starts, "of_steps": steps, "of_tasks": tasks, "trust": trust}
    templates.globals |= {"comparison": comparison, "t": t, "terms": terms, "within": language.within} | says
    templates.globals |= {"overview": overview, "mlflow": mlflow_runs}
    templates.filters |= {
        **language.FORMATS,
        "plain": language.plain,
        "bits_change": language.bits_change,
        "at_least": at_least,
        "shares": shares,
    }
    return templates


def shares(row: dict[str, float], labels: Sequence[str]) -> list[tuple[float, float]]:
    """A row of a confusion matrix as (count, share of the row)."""
    total = sum(row.values()) or 1.0
    return [(row.get(label, 0.0), row.get(label, 0.0) / total) for label in labels]
