"""Answers of a fine-tuned checkpoint to rows that nobody has labelled, as evaluation would give them.

from adaptbert.prediction import Predictor

for answer in Predictor.load("models/finetune/section-general").answers([{"text": "..."}]):
    ...
"""

from adaptbert.prediction.predictor import Predictor

__all__ = ["Predictor"]
