"""Compares the arms of each task: differences, intervals, verdicts, baselines and training cost."""
