"""Sentences of the report, in English and Chinese."""
