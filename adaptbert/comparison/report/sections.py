"""The sections of the page, from top to bottom. A new one is a template in this folder and a `yield` in `sections`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from adaptbert.comparison.records import Comparison
from adaptbert.comparison.report import charts, curves, overview
from adaptbert.comparison.report import rung_sentences as rungs
from adaptbert.comparison.report import step_sentences as sentences
from adaptbert.comparison.report import terms as words
from adaptbert.comparison.report.task_view import view_of
from adaptbert.comparison.report.terms import Words
from adaptbert.comparison.statistics import ADJUSTMENT


@dataclass(frozen=True)
class Section:
    """A template and its values.

    Attributes:
        template: `<template>.html.j2` in this folder. It can use `comparison`; `t("English", "中文")`; the filters
            `points`, `change`, `millions`, `amount`, `role` (of the name of a rung) and others of `page.environment`;
            and the macros `sortable`, `caption` and `chip` of macros.html.j2.
        link: where the navigation leads, the id of the <section>, and the text of the link; None: no link.
        values: names of the template, beside these.
    """

    template: str
    link: tuple[str, Words | str] | None
    values: Mapping[str, Any]


def sections(comparison: Comparison) -> Iterator[Section]:
    """Those that this comparison has."""
    views = [view_of(task, comparison) for task in comparison.tasks]
    matrix, masking = overview.matrix(comparison), rungs.masking(comparison)
    yield Section(
        "overview",
        ("steps", Words("Steps", "步骤")) if matrix else None,
        {"tasks": views, "matrix": matrix, "price": overview.price},
    )
    for view in views:
        yield Section("task", (f"task-{view.task.name}", view.task.name), {"view": view})
    if comparison.suite:
        yield Section(
            "suite",
            ("suite", Words("All tasks", "所有任务")),
            {"sentences": sentences.suite(comparison), "tasks": comparison.tasks},
        )
    yield Section(
        "rungs",
        ("reading", Words("Language model", "语言模型")),
        {
            "reading": rungs.reading(comparison),
            "masking": masking,
            "token_classes": _token_classes(comparison),
            "curves": [(name, _curves(comparison, name, f"curve-{name}")) for name in comparison.heldout],
            "forgetting": _forgetting(comparison),
        },
    )
    yield Section("data", ("data", Words("Data", "数据")), {})
    yield Section(
        "limits",
        ("limits", Words("Limits", "局限")),
        {
            "adjustment": ADJUSTMENT,
            "level": words.percent(comparison.confidence),
            "questions": {step.question for task in comparison.tasks for step in task.steps},
            "masking": masking,
        },
    )


def _token_classes(comparison: Comparison) -> list[str]:
    """The token classes that a rung's masks cover, in the order of their columns."""
    audits = [rung.masks.audit for rung in comparison.rungs if rung.masks is not None]
    return [name for name in words.TOKEN_CLASSES if any(f"rate_{name}" in audit for audit in audits)]


def _curves(comparison: Comparison, heldout: str, described_by: str) -> Markup:
    """A task's own rungs are drawn on its own text and on the corpora, not on other tasks' text."""
    tasks = {task.name for task in comparison.tasks}
    others = tasks - {heldout} if heldout in tasks else set()
    lines = []
    for rung in comparison.rungs:
        key = rung.name.removeprefix("task_transfer/")
        if rung.total is None or rung.start is None or any(key.startswith(f"{other}-") for other in others):
            continue
        below = rung.total.tokens - rung.tokens
        points = [(below + tokens, bits[heldout]) for tokens, bits in rung.curve if heldout in bits]
        if points:
            lines.append(curves.Curve(rung.name, rung.role, points, dashed=rung.name.startswith("task_transfer/")))
    return curves.curves(lines, described_by)


def _forgetting(comparison: Comparison) -> Markup | None:
    """General held-out text before and after every rung above general pre-training; None without such a rung."""
    moves = [
        charts.Move(rung.name, rung.role, rung.before["general"], rung.after["general"])
        for rung in comparison.rungs
        if rung.name not in ("scratch", "pretrain") and "general" in rung.after
    ]
    return charts.moves(moves, "forgetting") if moves else None
