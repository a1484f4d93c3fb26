"""Views of the comparison: page, Markdown, text table, metrics, plot data."""
