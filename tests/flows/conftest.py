"""The toy pipeline with a server, one for each file of tests."""

from collections.abc import Iterator

import pytest

from tests.support.toy_flow import Toy, served


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    with served(tmp_path_factory.mktemp("toy"), tmp_path_factory.mktemp("home")) as toy:
        yield toy
