"""Savepoints: the state of a training run after an optimizer step, written atomically.

A savepoint is one safetensors file, which cannot run code, named by its step and the sha256 of its bytes:

    00000120-3f9a...c1.safetensors

so a truncated, damaged or exchanged file is detected, and one rename publishes it. Values that are not tensors are in
the metadata of the file. No state of a random generator is saved: every draw is a function of (seed, k). When one is
written, adaptbert.training.monitor says.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptbert.codes import Code
from adaptbert.core.files import atomic_write, file_digest, sync
from adaptbert.errors import BadData

if TYPE_CHECKING:
    from torch import Tensor

MAX_SAVEPOINTS = 2
VALUES = "values"


@dataclass(frozen=True)
class State:
    """The state from which a run is resumed.

    Attributes:
        step: optimizer steps that are done.
        values: anything that JSON can hold; floats come back with equal bits.
    """

    step: int
    tensors: Mapping[str, "Tensor"]
    values: Mapping[str, Any]


class Savepoints:
    """The savepoints of one run, in a folder of their own.

    Args:
        folder: created with the first savepoint.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, state: State) -> None:
        """Write one; when it is safe on disk, remove all but the last two.

        Raises:
            Unwritable: the disk is full or read-only; earlier savepoints are unchanged.
            OSError: it does not give back what was written.
        """
        from safetensors.torch import save

        tensors = {name: tensor.detach().contiguous() for name, tensor in state.tensors.items()}
        payload = save(tensors, {VALUES: json.dumps(dict(state.values))})
        digest = sha256(payload).hexdigest()
        with atomic_write(self.folder / f"{state.step:08d}-{digest}.safetensors") as part:
            part.write_bytes(payload)
            sync(part)
            if file_digest(part) != digest:
                raise OSError(5, "what was read back is not what was written", str(part))
        for old in self._newest_first()[MAX_SAVEPOINTS:]:
            old.unlink()

    def latest(self) -> State | None:
        """The newest undamaged savepoint, None if there are none at all; damaged ones are renamed and reported.

        Raises:
            BadData: there are savepoints, and all of them are damaged.
        """
        from safetensors import safe_open

        for left in self.folder.glob(".*.part"):
            left.unlink()
        paths = self._newest_first()
        for path in paths:
            step, digest = path.stem.split("-")
            if file_digest(path) == digest:
                with safe_open(path, "pt") as file:
                    tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
                    return State(int(step), tensors, json.loads(file.metadata()[VALUES]))
            path.rename(path.with_suffix(".bad"))
            print(f"warning: {path} is damaged and set aside; the one before it is taken", file=sys.stderr)
        if paths:
            problem = f"each of its {len(paths)} savepoints is damaged"
            remedy = f"remove {self.folder} to train again from the first step"
            raise BadData(Code.DAMAGED_CHECKPOINT, self.folder, problem, remedy)
        return None

    def clear(self) -> None:
        """Remove all savepoints: the run has its result."""
        for path in self._newest_first():
            path.unlink()

    def _newest_first(self) -> list[Path]:
        """Savepoints by step, which begins the name, not by modification time."""
        return sorted(self.folder.glob(f"{8 * '[0-9]'}-*.safetensors"), reverse=True)
