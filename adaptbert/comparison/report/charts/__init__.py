"""Draws the figures of the report: each as SVG on the page, as an SVG file that stands alone, and as CSV."""
