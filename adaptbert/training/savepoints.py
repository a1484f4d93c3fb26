"""Savepoints: the state of a training run after an optimizer step, written atomically.

A savepoint is one safetensors file, which cannot run code, named by its step and the sha256 of its bytes:

    00000120-3f9a...c1.safetensors

so a truncated, damaged or exchanged file is detected, and one rename publishes it. Values that are not tensors are in
the metadata of the file. No state of a random generator is saved: every draw is a function of (seed, k).
"""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptbert.codes import Code
from adaptbert.core.files import file_digest, sync
from adaptbert.errors import BadData

if TYPE_CHECKING:
    from torch import Tensor

NAME = re.compile(r"(\d{8})-([0-9a-f]{64})\.safetensors")
MAX_SAVEPOINTS = 2
VALUES = "values"


@dataclass(frozen=True)
class State:
    """The state from which a run is resumed.

    Attributes:
        step: optimizer steps that are done.
        tensors: by name.
        values: anything that JSON can hold; floats come back with equal bits.
    """

    step: int
    tensors: Mapping[str, "Tensor"]
    values: Mapping[str, Any]


class Savepoints:
    """The savepoints of one run, in a folder of their own.

    Args:
        folder: created with the first savepoint.
        at: called with a name at each point of writing, where tests raise.
    """

    def __init__(self, folder: Path, at: Callable[[str], None] = lambda _: None) -> None:
        self.folder, self._at = folder, at

    def save(self, state: State) -> None:
        """Write one; when it is safe on disk, remove all but the last two.

        Raises:
            OSError: the disk is full or read-only; earlier savepoints are unchanged.
        """
        from safetensors.torch import save

        tensors = {name: tensor.detach().contiguous() for name, tensor in state.tensors.items()}
        payload = memoryview(save(tensors, {VALUES: json.dumps(dict(state.values))}))  # slices are no copies
        digest = sha256(payload).hexdigest()
        self.folder.mkdir(parents=True, exist_ok=True)
        target = self.folder / f"{state.step:08d}-{digest}.safetensors"
        part = self.folder / f".{state.step:08d}.{os.getpid()}.part"  # in this folder: $TMPDIR may be another disk
        try:
            self._at("begin")
            with part.open("xb") as file:
                file.write(payload[: len(payload) // 2])
                self._at("half")
                file.write(payload[len(payload) // 2 :])
                file.flush()
                self._at("written")
                os.fsync(file.fileno())
            self._at("synced")
            if file_digest(part) != digest:
                raise OSError(5, "what was read back is not what was written", str(part))
            part.rename(target)
            sync(self.folder)
        except OSError:
            part.unlink(missing_ok=True)
            raise
        self._at("renamed")
        for _, old in self._newest_first()[MAX_SAVEPOINTS:]:
            old.unlink()
            self._at("pruned")

    def latest(self) -> State | None:
        """The newest undamaged savepoint, None if there are none at all; damaged ones are renamed and reported.

        Raises:
            BadData: there are savepoints, and all of them are damaged.
        """
        from safetensors import safe_open

        for left in self.folder.glob(".*.part"):
            left.unlink()
        paths = self._newest_first()
        for step, path in paths:
            match = NAME.fullmatch(path.name)
            if match and file_digest(path) == match[2]:
                with safe_open(path, "pt") as file:
                    tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
                    return State(step, tensors, json.loads(file.metadata()[VALUES]))
            path.rename(path.with_suffix(".bad"))
            print(f"warning: {path} is damaged and set aside; the one before it is taken", file=sys.stderr)
        if paths:
            remedy = f"remove {self.folder} to train again from the first step"
            raise BadData(
                Code.DAMAGED_CHECKPOINT, self.folder, f"each of its {len(paths)} savepoints is damaged", remedy
            )
        return None

    def clear(self) -> None:
        """Remove them all: the run has its result."""
        for _, path in self._newest_first():
            path.unlink()

    def _newest_first(self) -> list[tuple[int, Path]]:
        """By step, not by modification time."""
        named = ((NAME.fullmatch(path.name), path) for path in sorted(self.folder.glob("*.safetensors")))
        return sorted(((int(match[1]), path) for match, path in named if match), reverse=True)


class SaveThread:
    """Writes savepoints beside training, one at a time.

    A process that ends in any other way than by a kill waits for the one in flight.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "savepoint")
        self._writing: Future[None] | None = None

    def save(self, savepoints: Savepoints, state: State) -> None:
        """Begin to write a savepoint when the one before is written.

        Args:
            state: nothing of it may change from now on.

        Raises:
            OSError: the one before could not be written.
        """
        self.wait()
        self._writing = self._pool.submit(savepoints.save, state)

    def wait(self) -> None:
        """Until nothing is in flight.

        Raises:
            OSError: what was in flight could not be written.
        """
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def close(self) -> None:
        """As `wait`, without its error: another one has ended the run."""
        self._pool.shutdown()
