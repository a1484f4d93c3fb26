"""Validates raw rows: keeps valid rows, rejects the others with a reason, and counts both.

A row of a corpus is kept when it matches the schema (adaptbert.validation.schemas), has an allowed length after
cleaning (adaptbert.rows.cleaning), duplicates no earlier row, and neither equals nor contains a dev or test text of any
task. Labelled sets must match their schema and have consistent labels; spans are stored as BIO, answers must be at
their offsets, and no input may occur in two splits.
"""
