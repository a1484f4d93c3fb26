"""The messages of a release in both languages."""

from adaptbert.report.language import Messages

t = Messages("adaptbert.release")
