"""Metrics of a rung: measures of held-out text, the audit of its masks, and the metrics file."""
