"""Scores of draws and seeds, and answers to test rows -> differences, intervals, verdicts and power. Pure."""
