"""Reads params.yaml strictly and reports every problem with its location and fix."""
