"""Families of encoders: what BERT and its descendants do not have in common."""
