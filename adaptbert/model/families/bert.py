"""BERT (Devlin et al. 2019)."""

from typing import TYPE_CHECKING, Any

from adaptbert.model.families.family import Family

if TYPE_CHECKING:
    from torch import Tensor


def _pooled(model: Any, hidden: "Tensor") -> "Tensor":
    vectors: Tensor = model.dropout(model.bert.pooler(hidden[:, None]))
    return vectors


def _pair_scores(model: Any, hidden: "Tensor") -> "Tensor":
    scores: Tensor = model.cls.seq_relationship(model.bert.pooler(hidden[:, None]))
    return scores


BERT = Family(
    name="bert",
    classes={
        "none": "BertModel",
        "masked_lm": "BertForMaskedLM",
        "pretraining": "BertForPreTraining",
        "sequence": "BertForSequenceClassification",
        "tokens": "BertForTokenClassification",
        "spans": "BertForQuestionAnswering",
    },
    prefix="bert.",
    pretrained={
        "masked-LM head": "cls.predictions.",
        "pooler": "bert.pooler.",
        "next-sentence head": "cls.seq_relationship.",
    },
    decoder="cls.predictions.decoder.",
    heads=("cls.", "classifier.", "bert.pooler.", "pooler.", "qa_outputs."),
    buffers=("embeddings.position_ids",),
    first_position=lambda config: 0,
    sentence_vectors=_pooled,
    last_layer=lambda model: model.classifier,
    token_head=lambda model: (model.cls.predictions.transform, model.cls.predictions.decoder),
    pair_scores=_pair_scores,
)
