"""The work folder of a stage, `.work/<stage>/`: the state from which it resumes, ignored by git and no output of DVC.

DVC removes outputs before it runs a command, so resume state is stored here, in a folder named by a fingerprint of
everything that decides the result: with other values, inputs, code or threads a stage starts anew and runs never mix.
The fingerprint holds the digest of the stage's code: an edit that makes DVC run a finished stage again makes an
unfinished one start anew.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from adaptbert.config.load import flatten
from adaptbert.core.files import read_json, write_json
from adaptbert.runtime.locks import finish
from adaptbert.training.savepoints import Savepoints

KEY = "key.json"


class Work:
    """The work folder of one stage, locked by this process (adaptbert.runtime.locks).

    Args:
        code: a digest of the code that decides what the stage writes (adaptbert.config.code_digest).

    Attributes:
        run: folder of the run that `begin` named.
    """

    def __init__(self, folder: Path, code: str) -> None:
        self.folder = self.run = folder
        self._code = code

    def begin(self, key: Mapping[str, Any]) -> None:
        """Find or create the folder of the run with this key.

        Args:
            key: everything that decides the result except code and machine: values, digests of inputs.
        """
        full_key = self._full_key(key)
        self.run = self._run_of(full_key)
        if (self.run / KEY).is_file():
            return
        here = flatten(full_key)
        for other in sorted(self.folder.glob(f"*/{KEY}")):
            there = flatten(read_json(other))
            changed = sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))
            print(f"  an unfinished run is left alone: it had other {', '.join(changed)}")
        write_json(self.run / KEY, full_key)

    def is_begun(self, key: Mapping[str, Any]) -> bool:
        """Whether an unfinished run with this key is there for `begin` to go on with."""
        return (self._run_of(self._full_key(key)) / KEY).is_file()

    def savepoints(self, name: str = "") -> Savepoints:
        """Of the run; `name` tells several in one stage apart, such as seeds."""
        return Savepoints(self.run / name)

    def finish(self, metrics: Path) -> None:
        """The outputs are written, `metrics` last."""
        finish(self.folder, metrics)

    def _full_key(self, key: Mapping[str, Any]) -> dict[str, Any]:
        """The caller's key with code and environment added, as JSON values."""
        full_key: dict[str, Any] = json.loads(json.dumps({**key, "code": self._code, **_environment()}))
        return full_key

    def _run_of(self, full_key: Mapping[str, Any]) -> Path:
        return self.folder / sha256(json.dumps(full_key, sort_keys=True).encode()).hexdigest()[:16]


def _environment() -> dict[str, Any]:
    """The environment that decides the bits: versions, threads, device, its kind of operations."""
    import torch

    from adaptbert.runtime.libraries import same_bits

    return {
        "versions": {name: version(name) for name in ("torch", "transformers", "pytorch-lightning", "numpy")},
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "deterministic": same_bits() or not torch.cuda.is_available(),
    }
