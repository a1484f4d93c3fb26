"""Runs a stage as a process: params, locks, signals, workers, progress, tracking; it changes no result."""
