"""Which further arm would answer a question, in both languages; also for messages of `adaptbert check`."""

from adaptbert.comparison.questions import ROLES, Advice
from adaptbert.report.language import Text, listed, t, within
from adaptbert.report.terms import STEPS


def would_show(advice: Advice) -> Text:
    """Which additional arm would be compared with these arms, and the steps that this would measure."""
    what = listed([t("{step_to_measure}", step_to_measure=within(STEPS[each])) for each in advice.questions])
    beside = listed(advice.beside)
    if advice.there is not None:
        return t(
            "To measure {what}, give this task the arm `{arm}` of the others, to compare with {beside}.",
            what=what,
            arm=advice.there,
            beside=beside,
        )
    written = f"{advice.role}: {ROLES[advice.role]}"
    return t("To measure {what}, add the arm `{arm}` to compare with {beside}.", what=what, arm=written, beside=beside)
