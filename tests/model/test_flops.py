"""Costs are counted from shapes; here they are held against what torch counts while it runs."""

import pytest
from torch.utils.flop_counter import FlopCounterMode
from transformers import BertForMaskedLM

from adaptbert.model.flops import training_flop
from adaptbert.pretraining.masked_lm import MaskedBatches, MaskedLM
from adaptbert.tokenization.store.tokenized_corpus import TokenizedCorpus
from adaptbert.training.document_stream import DocumentStream
from tests.support import tiny, tiny_params


def test_the_flop_of_a_training_step_is_what_torch_counts(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = tiny.corpus(tmp_path_factory.mktemp("text") / "domain", "domain", 200)
    assert isinstance(text, TokenizedCorpus)
    row = 64
    source = MaskedBatches(text, DocumentStream(text.lengths, 0, 2000), tiny_params.masker(), row)
    batch = source(0)
    model = BertForMaskedLM(tiny.config())
    module = MaskedLM(model, tiny_params.optim(), 10)
    with FlopCounterMode(display=False) as counter:
        module.training_step(batch, 0).backward()
    tokens, chosen = batch.counts["tokens"], batch.counts["chosen"]
    counted = training_flop(model.config, tokens, row, chosen, chosen)
    filled = tokens / batch.rows.documents.size
    assert 0.9 < filled < 1, "padding is computed as well; it is no part of the cost of the text"
    assert counted == pytest.approx(counter.get_total_flops() * filled, rel=0.05)
