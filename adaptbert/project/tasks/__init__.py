"""Adds, renames and removes a task: looks at its files, and rewrites every place of params.yaml that names it."""
