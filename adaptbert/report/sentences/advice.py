"""Which further arm would answer a question, in both languages; also for messages of `adaptbert check`."""

from adaptbert.comparison.questions import ROLES, Advice
from adaptbert.report.terms import STEPS, Words, listed, same, within


def would_show(advice: Advice) -> Words:
    """Which additional arm would be compared with these arms, and the steps that this would measure."""
    steps = [within(STEPS[question]) for question in advice.questions]
    what = listed([Words(step.en, f"“{step.zh}”") for step in steps])
    beside = listed([same(arm) for arm in advice.beside])
    if advice.there is not None:
        return Words(
            f"To measure {what.en}, give this task the arm `{advice.there}` too, which others have: it would be "
            f"compared with {beside.en}.",
            f"要测量{what.zh}的作用，请让这个任务也有别的任务已有的组 `{advice.there}`，与 {beside.zh} 比较。",
        )
    written = f"{advice.role}: {ROLES[advice.role]}"
    return Words(
        f"To measure {what.en}, add the arm `{written}` to compare with {beside.en}.",
        f"要测量{what.zh}的作用，请再加一个组 `{written}`，与 {beside.zh} 比较。",
    )
