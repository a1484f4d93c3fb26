"""The origin of a run (code, DVC stage and experiment, recipe) and its name."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from adaptbert.config import load as params
from adaptbert.runtime.tracking.preset_name import preset_name


@dataclass(frozen=True)
class Recipe:
    """A params.yaml, identified by its values; comments do not count.

    Attributes:
        name: the preset, and a digest of all values: `weibo 3f9a2c1`.
        params: dotted keys and values.
    """

    name: str
    params: Mapping[str, Any]
    path: Path

    @property
    def tags(self) -> dict[str, str]:
        """Of its own run."""
        note = (
            "A recipe: all values of its params.yaml are parameters of this run, its stages are child runs. Stages "
            "that were up to date stay with the recipe that ran them. Metrics are scores times 100 and, under "
            "`steps`, differences of them; intervals are in the report."
        )
        return {
            "mlflow.runName": self.name,
            "mlflow.source.name": self.path.name,
            "mlflow.note.content": note,
            "stage": "recipe",
            "recipe": self.name,
        }

    @classmethod
    def read(cls, path: Path) -> "Recipe":
        """From a file that was checked."""
        document = params.read(path)
        values = json.dumps(document, sort_keys=True, ensure_ascii=False)
        name = f"{preset_name(path)} {sha256(values.encode()).hexdigest()[:7]}"
        return cls(name, params.flatten(document), path)


def run_name(stage: str, labels: Mapping[str, str]) -> str:
    """The name of a run: `domain_transfer domain-small-1`; of a cell, the arm first: `domain_task section small-1`.

    Replicate 0, of an arm whose checkpoint is trained once for each base, is left out.
    """
    if "arm" in labels:
        where = "-".join(labels[name] for name in ("base", "replicate") if labels.get(name, "0") != "0")
        return f"{labels['arm']} {labels['task']} {where}".rstrip()
    key = os.environ.get("DVC_STAGE", "").partition("@")[2]
    return " ".join([stage, *([key] if key else labels.values())])


def origin() -> dict[str, str]:
    """Which code and which DVC stage and experiment a run comes from."""
    tags = {
        "dvc.stage": os.environ.get("DVC_STAGE", ""),
        "dvc.experiment": os.environ.get("DVC_EXP_NAME", ""),
        "git.commit": commit(),
        "git.dirty": str(bool(_git("status", "--porcelain", "--untracked-files=no"))).lower(),
    }
    return {name: value for name, value in tags.items() if value}


def note(stage: str, code: Mapping[str, str]) -> str:
    """The description on the page of a run."""
    stage = code.get("dvc.stage", stage)
    changes = " with changes that are not committed" if code.get("git.dirty") == "true" else ""
    commit = f" at commit {code['git.commit'][:7]}{changes}" if "git.commit" in code else ""
    return f"Stage `{stage}`{commit}. To run it again: `dvc repro --force --single-item {stage}`"


def commit() -> str:
    """Of the code; empty without git."""
    return _git("rev-parse", "HEAD")


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, timeout=10)
        return done.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
