"""Validates the first rows of the files that params.yaml names, as the stages will, before DVC starts."""
