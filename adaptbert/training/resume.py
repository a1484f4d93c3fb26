"""Where a stage keeps what it needs to go on after a kill: `.work/<stage>/`, ignored by git and no output of DVC.

DVC removes outputs before it runs a command, so resume state lies here, in a folder named by a fingerprint of all that
decides the result: other values, inputs, code or threads begin anew and runs never mix. Its code are the folders that
the stage depends on in dvc.yaml: where DVC would run a finished stage again, an unfinished one begins anew.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from adaptbert.base.files import read_json, write_json
from adaptbert.runtime.locks import finish
from adaptbert.training.savepoints import Savepoints

KEY = "key.json"
ROOT = Path(__file__).parents[2]
"""Of the code that runs: adaptbert/ and stages/ lie in it."""


class Work:
    """The work folder of one stage; this process alone holds it (adaptbert.runtime.locks).

    Attributes:
        run: folder of the run that `begin` named.
    """

    def __init__(self, folder: Path, code: Sequence[str]) -> None:
        """Take the work folder of a stage.

        Args:
            code: the folders and files of code that decide what the stage writes, from the project's folder on.
        """
        self.folder = self.run = folder
        self._code = code

    def begin(self, key: Mapping[str, Any]) -> None:
        """Find or make the folder of the run with this key.

        Args:
            key: all that decides the result and is not code or machine: values, digests of inputs.
        """
        whole_key = self._whole(key)
        self.run = self._run_of(whole_key)
        if (self.run / KEY).is_file():
            return
        for other in sorted(self.folder.glob(f"*/{KEY}")):
            changed = ", ".join(sorted(_differences(read_json(other), whole_key)))
            print(f"  an unfinished run is left alone: it had other {changed}")
        write_json(self.run / KEY, whole_key)

    def is_begun(self, key: Mapping[str, Any]) -> bool:
        """Whether an unfinished run with this key is there for `begin` to go on with."""
        return (self._run_of(self._whole(key)) / KEY).is_file()

    def savepoints(self, name: str = "") -> Savepoints:
        """Of the run; `name` tells several in one stage apart, such as seeds."""
        return Savepoints(self.run / name if name else self.run)

    def finish(self, metrics: Path) -> None:
        """The outputs are written, `metrics` last."""
        finish(self.folder, metrics)

    def _whole(self, key: Mapping[str, Any]) -> dict[str, Any]:
        """What a caller knows and what it need not know, as JSON gives it back."""
        whole: dict[str, Any] = json.loads(json.dumps({**key, "code": dict(_digests(self._code)), **_surroundings()}))
        return whole

    def _run_of(self, whole_key: Mapping[str, Any]) -> Path:
        return self.folder / sha256(json.dumps(whole_key, sort_keys=True).encode()).hexdigest()[:16]


def _surroundings() -> dict[str, Any]:
    """What besides values, inputs and code decides the bits: versions, threads, device."""
    import torch

    return {
        "versions": {name: version(name) for name in ("torch", "transformers", "pytorch-lightning", "numpy")},
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
    }


def _digests(code: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each file, and each module below each folder: its path in the project and the digest of its bytes."""
    for path in [ROOT / name for name in code]:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if not file.name.startswith("."):  # what an editor keeps beside a file
                yield file.relative_to(ROOT).as_posix(), sha256(file.read_bytes()).hexdigest()


def _differences(old: Any, new: Any, place: str = "") -> set[str]:
    """Dotted places at which two JSON values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        found: set[str] = set()
        for key in old.keys() | new.keys():
            found |= _differences(old.get(key), new.get(key), f"{place}.{key}" if place else str(key))
        return found
    return set() if old == new else {place}
