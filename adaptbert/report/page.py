"""Comparison -> the HTML of reports/index.html in one string, with its style, script and figures."""

from markupsafe import Markup

from adaptbert.comparison.records import Comparison, Confusion, Task
from adaptbert.core.printable import printable
from adaptbert.report import answer, drawing, figures, language, prose, tables, terms

MOST_LABELS = 30
"""Most labels of a confusion matrix on the page; reports/plots has larger ones as well."""


def render(comparison: Comparison) -> str:
    """The page. Equal comparisons give equal bytes: there is no date in it.

    A section is a part of page.html.j2 or a template that it includes.
    """
    says: dict[str, object] = {"answer": answer, "figures": figures, "language": language, "prose": prose}
    says |= {"tables": tables, "terms": terms, "t": language.t, "confusion": confusion}
    page = drawing.TEMPLATES.get_template("page.html.j2", globals=says).render(
        comparison=comparison,
        chart_style=Markup(drawing.chart_style()),
    )
    return printable(page) + "\n"


def confusion(task: Task) -> Confusion | None:
    """The confusion matrix; None where a row has no single label, or the labels are too many."""
    matrix = task.inspection.confusion if task.inspection is not None else None
    return matrix if matrix is not None and len(matrix.labels) <= MOST_LABELS else None
