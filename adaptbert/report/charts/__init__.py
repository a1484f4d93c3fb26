"""Figures of the report as SVG."""
