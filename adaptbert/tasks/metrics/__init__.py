"""Scores of a fine-tuned model on labelled rows."""
