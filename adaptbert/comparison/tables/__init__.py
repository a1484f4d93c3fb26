"""What `compare` writes beside the report: the table, metrics.json, comparison.json, the data of plots."""
