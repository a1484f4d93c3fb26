"""Masked-language modelling from a checkpoint on a corpus: general pre-training, DAPT and TAPT."""
