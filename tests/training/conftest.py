"""The text of the tests of training."""

import pytest

from adaptbert.text.token_store import TokenizedCorpus
from tests.support import tiny


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> TokenizedCorpus:
    return tiny.corpus(tmp_path_factory.mktemp("text") / "domain", "domain", 60)
