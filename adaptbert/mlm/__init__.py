"""Masked-language modelling: masking, the step that trains it, and its evaluation on held-out text."""
