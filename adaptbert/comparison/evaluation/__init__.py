"""What is computed from rows: baselines, and classes, calibration and errors of the chosen arm."""
