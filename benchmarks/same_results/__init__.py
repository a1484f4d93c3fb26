"""Two commits give the same results: weights, tokens, rows, predictions, numbers and messages, bit by bit.

    python -m benchmarks.same_results OLD NEW --work FOLDER

`recipes` and `tiny_sets` are what is run, `messages` the bad inputs, `outputs` what a run left as values by path,
`record` runs a commit in a clone of its own, `comparing` compares two records, and names.yaml says what differs on
purpose.
"""
