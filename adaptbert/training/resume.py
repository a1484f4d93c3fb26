"""The work folder of a stage, `.work/<stage>/`: the state from which it resumes, ignored by git and no output of DVC.

DVC removes outputs before it runs a command, so resume state is stored here, in a folder named by a fingerprint of
everything that decides the result: with other values, inputs, code or threads a stage starts anew and runs never mix.
The fingerprint holds the digest of the stage's code: an edit that makes DVC run a finished stage again makes an
unfinished one start anew.
"""

import json
from collections.abc import Callable, Mapping
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

    def begin(self, place: str, precision: str, key: Callable[[str], Mapping[str, Any]]) -> str:
        """Find the unfinished run with this key, or begin one; returns the name of its precision.

        What `auto` means is decided here and printed, and a warning where params.yaml names a precision that is slow on
        this device. An unfinished run is resumed in the precision in which it was begun, although a new measurement may
        differ: on another processor, or where both are about equally fast.

        Args:
            place: of the precision in params.yaml.
            key: of a precision, everything else that decides the result except code and machine: values, digests.
        """
        # Loads numpy, which nobody may before `prepare_libraries`.
        from adaptbert.model.device import BF16, FLOAT32, best

        if precision == "auto":
            begun = [name for name in (BF16, FLOAT32) if (self._run_of(key(name))[0] / KEY).is_file()]
            name, reason = best() if not begun else (begun[0], "")
            print(f"precision auto: {name}" + (f" ({reason})" if reason else ", in which this run was begun"))
            precision = name
        elif precision == BF16:
            name, reason = best()
            if name != BF16:
                print(f"  warning: params.yaml: {place} is {BF16}, {reason}; write auto, or {name}")
        self.run, full_key = self._run_of(key(precision))
        if not (self.run / KEY).is_file():
            here = flatten(full_key)
            for other in sorted(self.folder.glob(f"*/{KEY}")):
                there = flatten(read_json(other))
                changed = sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))
                print(f"  an unfinished run is left alone: it had other {', '.join(changed)}")
            write_json(self.run / KEY, full_key)
        return precision

    def savepoints(self, name: str = "") -> Savepoints:
        """Savepoints of the run; `name` tells several in one stage apart, such as seeds."""
        return Savepoints(self.run / name)

    def finish(self, metrics: Path) -> None:
        """The outputs are written, `metrics` last."""
        finish(self.folder, metrics)

    def _run_of(self, key: Mapping[str, Any]) -> tuple[Path, dict[str, Any]]:
        """The folder of the run with this key, and the key with code and environment added, as JSON values."""
        full_key: dict[str, Any] = json.loads(json.dumps({**key, "code": self._code, **_environment()}))
        return self.folder / sha256(json.dumps(full_key, sort_keys=True).encode()).hexdigest()[:16], full_key


def _environment() -> dict[str, Any]:
    """The environment that decides the bits: versions, threads, device, its kind of operations."""
    import torch

    from adaptbert.runtime.libraries import same_bits
    from adaptbert.training import graphs

    return {
        "versions": {name: version(name) for name in ("torch", "transformers", "pytorch-lightning", "numpy")},
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "deterministic": same_bits() or not torch.cuda.is_available(),
        **({"graphs": True} if graphs.are_used() else {}),
    }
