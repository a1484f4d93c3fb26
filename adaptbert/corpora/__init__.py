"""Text from outside: a source yields rows, a writer makes data/raw of them.

sources          the keys of params.yaml that all sources share
installed_docs   prose docstrings of installed packages (docstrings -> prose)
demonstration_tasks  two labelled sets made from the same docstrings
files            the user's own files (lines -> formats -> fields)
hub              a data set by name and revision
labelled         three files or hub splits -> one labelled set
raw              rows -> parquet, unreadable rows, manifest
"""
