"""Text from outside: a source yields rows, a writer makes data/raw of them.

sources          the keys of params.yaml that all sources share
installed_docs   prose docstrings of installed packages (docstrings -> prose)
demonstration_tasks  two labelled sets made from the same docstrings
files            the user's own files (lines -> formats -> fields)
formats          a file -> records: json_files, conll, squad, doccano and label_studio have files of their own
likeness         the right format, where a file was read in the wrong one
character_spans  marked characters -> words with tags
hub              a data set by name and revision
labelled         files or hub splits -> one labelled set; cut makes the splits that it lacks
raw              rows -> parquet, unreadable rows, manifest
"""
