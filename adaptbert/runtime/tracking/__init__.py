"""Logs a run to MLflow without delaying the training: the calls, their time limits, and failures."""
