"""Draws the figures of the report: each as SVG on the page and as an SVG file that stands alone."""
