"""The Ray cluster that a user named in ADAPTBERT_CLUSTER: where a stage finds further machines.

The variable is an address as `ray.init` takes it: `auto`, or `host:port`. Without it nothing here imports Ray. Whoever
is connected sends this package along, so that the other machines compute with the code of the stage.
"""

import logging
import os
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.errors import BadParams, Temporary
from adaptbert.runtime.libraries import QUIET, SAME_BITS
from adaptbert.runtime.signals import restored
from adaptbert.runtime.variables import BATCH_WORKERS, CLUSTER, value_of

PACKAGE = Path(__file__).parents[1]
SENT = (*QUIET, *SAME_BITS, "GOMP_SPINCOUNT", "OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", BATCH_WORKERS)
"""Variables of this process that decide how a library computes; the other machines get them, where they are set."""
SECONDS_TO_ANSWER = 5.0


def is_named() -> bool:
    """Whether the user named a cluster."""
    return bool(value_of(CLUSTER))


def connected() -> Any:
    """The module `ray`, connected to the cluster that the user named, or else to that of this machine; a second call
    keeps the connection.

    Raises:
        BadParams: the address is none, or Ray is not installed.
        Temporary: nothing answers there.
    """
    address = value_of(CLUSTER) or "auto"
    host, _, port = address.rpartition(":")
    try:
        import ray
    except ImportError:
        remedy = f"install it (pip install 'adaptbert[cluster]'), or unset {CLUSTER}"
        problem = f"{address!r} needs Ray, which is not installed"
        raise BadParams(Code.NOT_INSTALLED, CLUSTER, problem, remedy) from None
    if not ray.is_initialized():
        try:
            if host:  # Ray would ask again and again, and say nothing
                socket.create_connection((host.strip("[]"), int(port)), SECONDS_TO_ANSWER).close()
            # As their working folder, the package comes first on the other machines; else Ray would put the path of
            # this one before it, where another machine may have another version. A stage ends by its own handlers of
            # signals, in the place of which Ray sets others.
            with tempfile.TemporaryDirectory(prefix="adaptbert-") as folder, restored():
                shutil.copytree(PACKAGE, Path(folder, PACKAGE.name), ignore=shutil.ignore_patterns("__pycache__"))
                own = {name: os.environ[name] for name in SENT if name in os.environ}
                environment = {"working_dir": folder, "env_vars": own}
                ray.init(address=address, logging_level=logging.ERROR, runtime_env=environment)
        except (OSError, OverflowError, ValueError, RuntimeError) as error:
            ray.shutdown()
            reason = str(error).strip().splitlines()[0]
            remedy = f"start one on this machine (ray start --head), or join one here, or unset {CLUSTER}"
            raise Temporary(Code.UNREACHABLE, CLUSTER, f"no Ray cluster at {address!r}: {reason}", remedy) from None
    return ray
