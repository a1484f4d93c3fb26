"""Rewrites a params.yaml of the schema before starts, arms and draws had names."""
