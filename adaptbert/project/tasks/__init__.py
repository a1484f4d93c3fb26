"""Adds a task: looks at its files, and writes what they hold into params.yaml."""
