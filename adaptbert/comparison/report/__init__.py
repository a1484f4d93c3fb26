"""Renders reports/index.html: a self-contained page, in English and Chinese, with all results."""
