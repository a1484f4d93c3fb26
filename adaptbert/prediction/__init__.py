"""Predicts on new, unlabelled rows with a fine-tuned checkpoint, exactly as evaluation does, or with a linear model."""
