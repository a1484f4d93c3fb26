"""The gate: raw rows in; kept rows, rejected rows with a reason, and the books out.

Each row of a corpus is valid (adaptbert.validation.schemas), cleaned (adaptbert.rows.cleaning), long enough, not too
long, not a copy of an earlier row, and neither equals nor contains a text of any task's dev or test split. Labelled
sets are valid, cleaned and have consistent labels, spans are stored as BIO, answers are at their offsets, and no input
stands in two splits.
"""
