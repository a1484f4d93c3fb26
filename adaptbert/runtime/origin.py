"""The origin of a run of MLflow: project, recipe, code, DVC stage and experiment; its name and its store."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from adaptbert.config import load

NO_ADDRESS = re.compile(r"\?|%[0-9A-Fa-f]{2}")
"""What the path of a SQLite file cannot have in its address, as MLflow and Prefect write it."""


def project_root() -> Path:
    """The project's folder, also from a copy that `dvc exp run --temp` or `--queue` made below it."""
    here = Path.cwd().resolve()
    copies = (folder for folder in here.parents if folder.parts[-3:] == (".dvc", "tmp", "exps"))
    return next((folder.parents[2] for folder in copies), here)


def tracking_uri() -> str:
    """MLFLOW_TRACKING_URI, else mlflow.db in the project's folder by its absolute path."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{project_root() / 'mlflow.db'}"


def recipe_name(params: Path) -> str:
    """The project's folder, and a digest of all values: `mood-study 3f9a2c1`; comments do not count."""
    values = json.dumps(load.read(params), sort_keys=True, ensure_ascii=False)
    folder = re.sub(r"[^\w.-]+", "_", project_root().name)  # MLflow reads it in quotes
    return f"{folder} {sha256(values.encode()).hexdigest()[:7]}"


def run_name(stage: str, labels: Mapping[str, str]) -> str:
    """`domain_transfer domain-small-1`; of fine-tuning the arm first: `domain_task section small-1`.

    Replicate 0, of an arm that is trained once for each base, is left out.
    """
    if "arm" in labels:
        where = "-".join(labels[name] for name in ("base", "replicate") if labels.get(name, "0") != "0")
        return f"{labels['arm']} {labels['task']} {where}".rstrip()
    key = os.environ.get("DVC_STAGE", "").partition("@")[2]
    return " ".join([stage, *([key] if key else labels.values())])


def origin(stage: str) -> dict[str, str]:
    """Tags: which code and which DVC stage and experiment a run comes from, and how to run it again."""
    named, changed = os.environ.get("DVC_STAGE", ""), bool(git("status", "--porcelain", "--untracked-files=no"))
    at = f" at commit {commit()[:7]}{' with changes that are not committed' if changed else ''}" if commit() else ""
    again = f"To run it again: `dvc repro --force --single-item {named or stage}`"
    tags = {
        "mlflow.source.name": f"stages/{stage}.py",
        "dvc.stage": named,
        "dvc.experiment": os.environ.get("DVC_EXP_NAME", ""),
        "git.commit": commit(),
        "git.dirty": str(changed).lower(),
        "mlflow.note.content": f"Stage `{named or stage}`{at}. {again}",
    }
    return {name: value for name, value in tags.items() if value}


def commit() -> str:
    """Commit of the code; empty without git."""
    return git("rev-parse", "HEAD")


def git(*arguments: str) -> str:
    """What a command of git prints; nothing where it fails, or git is missing."""
    try:
        done = subprocess.run(
            ["git", *arguments], capture_output=True, encoding="utf-8", errors="replace", check=True, timeout=10
        )
        return done.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
