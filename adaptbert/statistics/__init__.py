"""Pure numbers: spread, intervals, multiplicity, verdicts."""
