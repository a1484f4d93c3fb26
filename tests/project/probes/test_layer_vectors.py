"""Vectors by layer are those of Hugging Face's own forward pass, whatever else is in the batch."""

from pathlib import Path

import numpy as np
import torch
from transformers import BertModel

from adaptbert.finetuning.tasks.examples import whole
from adaptbert.project.probes.layer_vectors import AT_ONCE, layer_vectors
from tests.support import tiny


def test_they_are_those_of_the_stock_model(tmp_path: Path) -> None:
    checkpoint = tiny.pretrained(tmp_path / "rung")
    tokenizer, model = checkpoint.tokenizer, checkpoint.model(BertModel, 0)
    texts = tiny.sentences("domain", AT_ONCE + 3)
    ids = [[tokenizer.cls, *encoding.ids, tokenizer.sep] for encoding in tokenizer.encode(texts)]
    vectors = layer_vectors(model, tokenizer, whole(ids, range(len(ids)), 0))
    assert vectors.layers == model.config.num_hidden_layers
    model.eval()
    for row in (0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 2):
        with torch.no_grad():
            tokens = torch.tensor([ids[row]])
            stock = model(tokens, output_hidden_states=True).hidden_states
            static = model.embeddings.word_embeddings(tokens)[0, 1:-1].mean(0).numpy()
        for layer, states in enumerate(stock):
            np.testing.assert_allclose(vectors.first[layer, row], states[0, 0].numpy(), atol=1e-5)
            np.testing.assert_allclose(vectors.mean[layer, row], states[0, 1:-1].mean(0).numpy(), atol=1e-5)
        np.testing.assert_allclose(vectors.static[row], static, atol=1e-6)


def test_a_row_of_several_windows_has_the_mean_of_them(tmp_path: Path) -> None:
    checkpoint = tiny.pretrained(tmp_path / "rung")
    tokenizer, model = checkpoint.tokenizer, checkpoint.model(BertModel, 0)
    ids = [[tokenizer.cls, *encoding.ids, tokenizer.sep] for encoding in tokenizer.encode(tiny.sentences("general", 3))]
    apart = layer_vectors(model, tokenizer, whole(ids, [0, 1, 2], 0))
    together = layer_vectors(model, tokenizer, whole(ids, [0, 0, 1], 0))
    np.testing.assert_allclose(together.mean[:, 0], apart.mean[:, :2].mean(1), atol=1e-6)
    np.testing.assert_allclose(together.first[:, 1], apart.first[:, 2], atol=1e-6)
    np.testing.assert_allclose(together.static[0], apart.static[:2].mean(0), atol=1e-6)
