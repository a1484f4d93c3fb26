"""The sections of the page, from top to bottom. A new one is a template in this folder and a `yield` in `sections`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adaptbert.comparison.records import Comparison
from adaptbert.comparison.rungs import grouped
from adaptbert.report import figures, overview
from adaptbert.report import terms as words
from adaptbert.report.charts.figure import Figure
from adaptbert.report.sentences import rungs, starts
from adaptbert.report.task_view import view_of
from adaptbert.report.terms import Words
from adaptbert.statistics.multiplicity import ADJUSTMENT


@dataclass(frozen=True)
class Section:
    """A template and its values.

    Attributes:
        template: `<template>.html.j2` in this folder. It can use `comparison`; `t("English", "中文")`; the filters
            `points`, `change`, `millions`, `amount`, `role` (of the name of a rung) and others of `page.environment`;
            and the macros `sortable`, `caption`, `chip` and `figure` of macros.html.j2.
        link: where the navigation leads, the id of the <section>, and the text of the link; None: no link.
        values: names of the template, beside these.
        start: of which it is alone; None: of all of them.
        figures: all that its template shows, so that each becomes files.
    """

    template: str
    link: tuple[str, Words | str] | None
    values: Mapping[str, Any]
    start: str | None = None
    figures: Sequence[Figure] = ()


def sections(comparison: Comparison) -> Iterator[Section]:
    """Those that this comparison has."""
    views = [view_of(task, comparison) for task in comparison.tasks]
    matrix = overview.matrix(comparison)
    yield Section(
        "overview",
        ("steps", Words("Steps", "步骤")) if matrix else None,
        {
            "tasks": views,
            "matrix": matrix,
            "price": overview.price,
        },
    )
    if comparison.rankings:
        yield Section("starts", ("starts", Words("Starts", "起点")), _starts(comparison))
    for view in views:
        task = view.task
        yield Section(
            "task",
            (f"task-{task.anchor}", task.name),
            {"view": view},
            task.start,
            view.figures,
        )
    yield _language_model(comparison)
    yield Section("data", ("data", Words("Data", "数据")), {})
    if comparison.tasks:
        yield Section("mlflow", ("mlflow", "MLflow"), {})
    yield Section(
        "limits",
        ("limits", Words("Limits", "局限")),
        {
            "adjustment": ADJUSTMENT,
            "level": words.percent(comparison.confidence),
            "errs": words.percent(1 - comparison.confidence),
            "errs_to_one_side": words.percent((1 - comparison.confidence) / 2),
            "worth": words.points(comparison.worth),
            "questions": any(task.steps for task in comparison.tasks),
        },
    )


def _language_model(comparison: Comparison) -> Section:
    """What rungs learned and forgot."""
    panels = figures.of_curves(comparison)
    return Section(
        "rungs",
        ("reading", Words("Language model", "语言模型")),
        {
            "reading": rungs.reading(comparison),
            "masking": rungs.masking(comparison),
            "token_classes": _token_classes(comparison),
            # Random weights are not measured where pre-training began from others and no arm starts from them.
            "rungs": [rung for rung in grouped(comparison.rungs) if rung.missing or rung.after],
            "legend": {rung.path: rung.role for rung in comparison.rungs if not rung.missing and rung.below},
            "curves": panels,
        },
        figures=panels,
    )


def _starts(comparison: Comparison) -> dict[str, Any]:
    rankings = [
        (each, [starts.order(each, comparison.confidence), starts.budgets(each), starts.made_here(each)])
        for each in comparison.rankings
    ]
    return {"rankings": rankings, "stands": words.STANDS}


def _token_classes(comparison: Comparison) -> list[str]:
    """The token classes that a rung's masks cover, in the order of their columns."""
    audits = [rung.masks.audit for rung in comparison.rungs if rung.masks is not None]
    return [name for name in words.TOKEN_CLASSES if any(f"rate_{name}" in audit for audit in audits)]
