"""Families by the `model_type` of config.json: a new one is a file beside bert.py and an entry here."""

from typing import Any

from adaptbert.model.families.bert import BERT
from adaptbert.model.families.family import Family

FAMILIES: dict[str, Family] = {family.name: family for family in (BERT,)}


def family_of(config: Any) -> Family:
    """Of the Hugging Face config of a model."""
    return FAMILIES[config.model_type]
