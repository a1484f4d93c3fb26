"""The texts and checkpoints of the tests of masked-language modelling."""

from pathlib import Path

import pytest

from adaptbert.text.token_store import TokenizedCorpus
from tests.support import tiny
from tests.support.shared import made_once
from tests.support.steps import Steps


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> TokenizedCorpus:
    return tiny.corpus(tmp_path_factory.mktemp("text") / "domain", "domain", 60)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Steps:
    """All steps; the tests only look."""

    def make(folder: Path) -> Steps:
        steps = Steps(folder)
        steps.pretrain(tokens=4_000)
        steps.domain_transfer("domain", tokens=8_000)
        steps.domain_transfer("general", tokens=8_000)
        steps.task_transfer()
        return steps

    return made_once(tmp_path_factory, "trained", make)


@pytest.fixture
def steps(trained: Steps, tmp_path: Path) -> Steps:
    """A copy with the first step alone."""
    return trained.copy(tmp_path)
