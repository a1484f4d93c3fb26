"""Trains one rung: masked-language modelling from a checkpoint on a corpus (pre-training, DAPT, TAPT)."""
