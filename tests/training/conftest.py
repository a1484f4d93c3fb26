"""The texts of the tests of training: a tokenised corpus, and held-out sets."""

import pytest

from adaptbert.mlm.heldout_evaluation import HeldOut, sets_in
from adaptbert.text.token_store import TokenizedCorpus
from tests.support import tiny, tiny_params


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> TokenizedCorpus:
    return tiny.corpus(tmp_path_factory.mktemp("text") / "domain", "domain", 60)


@pytest.fixture(scope="module")
def heldout(tmp_path_factory: pytest.TempPathFactory) -> HeldOut:
    return HeldOut(sets_in(tiny.heldout(tmp_path_factory.mktemp("heldout"))), tiny_params.MEASURE, tiny.tokenizer(), 64)
