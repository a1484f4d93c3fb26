"""Predicts on new, unlabelled rows with a fine-tuned checkpoint, exactly as evaluation does.

from adaptbert.prediction import Predictor

for answer in Predictor.load("models/finetune/section-general-small").answers([{"text": "..."}]):
    ...
"""

from adaptbert.prediction.predictor import Predictor

__all__ = ["Predictor"]
