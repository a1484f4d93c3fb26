"""Messages of errors apart, each with its remedy: a line that is indented belongs to the one above."""

import re


def messages_in(text: str) -> list[str]:
    """Every line at the margin, with the lines indented below it."""
    return re.findall(r"^\S.*(?:\n  .*)*", text, re.MULTILINE)
