"""Savepoints: the state of a training run after some optimizer step, on disk whole or not at all.

One safetensors file a savepoint, which cannot run code, named by its step and the sha256 of its bytes:

    00000120-3f9a...c1.safetensors

so a cut, flipped or exchanged file betrays itself, and a single rename makes it appear. Numbers that are no tensors
travel in the file's own metadata. No state of a random generator is kept: every draw is a function of (seed, k).
"""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptbert.base.files import file_digest, sync
from adaptbert.codes import Code
from adaptbert.errors import BadData

if TYPE_CHECKING:
    from torch import Tensor

NAME = re.compile(r"(\d{8})-([0-9a-f]{64})\.safetensors")
KEPT = 2
VALUES = "values"


@dataclass(frozen=True)
class State:
    """What a run needs to go on.

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
        folder: made when the first one is written.
        at: called by name at each point of writing; tests put a crash there.
    """

    def __init__(self, folder: Path, at: Callable[[str], None] = lambda _: None) -> None:
        self.folder, self._at = folder, at

    def save(self, state: State) -> None:
        """Write one; only when it is safe on disk are older ones removed, all but the last two.

        Raises:
            OSError: the disk is full or read-only; what was there before is still there.
        """
        from safetensors.torch import save

        tensors = {name: tensor.detach().contiguous() for name, tensor in state.tensors.items()}
        payload = memoryview(save(tensors, {VALUES: json.dumps(dict(state.values))}))  # a half of it is no copy
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
        for _, old in self._found()[KEPT:]:
            old.unlink()
            self._at("pruned")

    def latest(self) -> State | None:
        """The newest savepoint that is whole, None when there is none at all; damaged ones are renamed and told.

        Raises:
            BadData: there are savepoints, and each one is damaged.
        """
        from safetensors import safe_open

        for left in self.folder.glob(".*.part"):
            left.unlink()
        found = self._found()
        for step, path in found:
            match = NAME.fullmatch(path.name)
            if match and file_digest(path) == match[2]:
                with safe_open(path, "pt") as file:
                    tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
                    return State(step, tensors, json.loads(file.metadata()[VALUES]))
            path.rename(path.with_suffix(".bad"))
            print(f"warning: {path} is damaged and set aside; the one before it is taken", file=sys.stderr)
        if found:
            remedy = f"remove {self.folder} to train again from the first step"
            raise BadData(Code.DAMAGED_WEIGHTS, self.folder, f"each of its {len(found)} savepoints is damaged", remedy)
        return None

    def _found(self) -> list[tuple[int, Path]]:
        """By step, the newest first; a clock is never asked."""
        named = ((NAME.fullmatch(path.name), path) for path in sorted(self.folder.glob("*.safetensors")))
        return sorted(((int(match[1]), path) for match, path in named if match), reverse=True)
