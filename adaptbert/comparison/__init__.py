"""Compares the arms of each task: paired differences over seeds, intervals, baselines and training cost."""
