"""The messages of a release in both languages, and the words of a user that are kept in it."""

from adaptbert.core.printable import printable
from adaptbert.report.language import Messages
from adaptbert.runtime.redaction import redacted

t = Messages("adaptbert.release")


def in_a_line(reason: str) -> str:
    """A reason as it is kept: without credentials, and with escapes for what is no text."""
    return redacted(printable(" ".join(reason.split())))
