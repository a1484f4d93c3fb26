"""The user's project folder: `adaptbert new`, own data, edits of params.yaml, DVC's files."""
