"""The training loop: budget, savepoints, bit-identical resume, stability checks, several devices."""
