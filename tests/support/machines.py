"""Machines of a Ray cluster, simulated on this one, each with cores of its own."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from adaptbert.runtime.variables import CLUSTER
from tests.support.imports import ROOT


@contextmanager
def cluster_of(*cores: int) -> Iterator[Any]:
    """A cluster of machines with so many cores, the first of them its head; named in the environment for the block.

    Yields:
        `ray.cluster_utils.Cluster`.
    """
    import ray
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep))
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("RAY_health_check_period_ms", "500")
        machines = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": cores[0], "include_dashboard": False, "object_store_memory": 100 << 20},
        )
        try:
            for count in cores[1:]:
                machines.add_node(num_cpus=count, object_store_memory=100 << 20)
            patch.setenv(CLUSTER, machines.address)
            yield machines
        finally:
            ray.shutdown()
            machines.shutdown()
