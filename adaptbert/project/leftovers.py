"""Outputs of stages that params.yaml no longer has, removed from folders that another stage reads as a whole.

`compare` depends on the folder metrics/finetune: the cell of an arm that was removed from the ladder would still be an
input here, and not in a clone, where DVC restores only the outputs of the current stages. dvc.lock still has such a
stage, and DVC's cache its outputs: with the older params.yaml they are restored.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptbert.project.dvc_files import GRAPH, LOCK
from adaptbert.runtime.params import params_file as params


def remove(document: Mapping[str, Any], file: Path) -> list[str]:
    """Remove them; a line for each.

    Args:
        document: params.yaml, its sections that dvc.yaml iterates over valid.
        file: for the messages.
    """
    graph, lock = _stages(GRAPH), _stages(LOCK)
    today = {address for name, stage in graph.items() for address in _addresses(name, stage, document, file)}
    read_whole = {Path(dep) for stage in graph.values() for dep in stage.get("do", stage).get("deps", ())}
    gone = [(address, out) for address in sorted(lock.keys() - today) for out in lock[address].get("outs", ())]
    left = [
        (address, path, str(out.get("md5", "")))
        for address, out in gone
        if (path := Path(out["path"])).exists() and ".." not in path.parts and not read_whole.isdisjoint(path.parents)
    ]
    cache = _cache() if left else None
    removed = []
    for address, path, digest in left:
        if cache is None or not (cache / digest[:2] / digest[2:]).is_file():
            continue
        if path.is_dir():
            shutil.rmtree(path)
        elif path.is_file():
            path.unlink()
        else:
            continue
        removed.append(f"{path} removed: params.yaml has no {address} any more; DVC's cache has it")
    return removed


def _cache() -> Path | None:
    """Where DVC's cache has files, as one of four files of settings says; None where DVC cannot read these."""
    done = subprocess.run([sys.executable, "-m", "dvc", "cache", "dir"], stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip(), "files/md5") if done.returncode == 0 else None


def _stages(path: Path) -> dict[str, Any]:
    """The stages of dvc.yaml or dvc.lock; none where the file is missing."""
    from ruamel.yaml import YAML

    if not path.is_file():
        return {}
    stages: dict[str, Any] = YAML(typ="safe").load(path.read_text(encoding="utf-8")).get("stages", {})
    return stages


def _addresses(name: str, stage: Mapping[str, Any], document: Mapping[str, Any], file: Path) -> Iterator[str]:
    """DVC's names of the stages that one entry of dvc.yaml expands to."""
    if "foreach" not in stage:
        yield name
        return
    for key in params.section(document, stage["foreach"].removeprefix("${").removesuffix("}"), file):
        yield f"{name}@{key}"
