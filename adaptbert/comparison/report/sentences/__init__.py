"""Sentences of the report: each says no more than its figures carry, in both languages."""
