"""Real labelled sets from a public encoder: each set of benchmarks/real_sets.yaml, run as a user would run it.

    python -m benchmarks.real_sets --data ../shared/data --encoder FOLDER            # all English ones
    python -m benchmarks.real_sets --data ../shared/data --encoder FOLDER --language zh
    python -m benchmarks.real_sets --data ../shared/data --encoder FOLDER sst2 mrpc
    python -m benchmarks.real_sets --show sst2 > params.yaml                         # for a recipe by hand

In: the folder of the sets and a Hugging Face folder with a BERT encoder; neither belongs to this project. For each set
a scratch copy of the project gets its params.yaml and the encoder as models/init/encoder, and `dvc repro` runs it. Out:
benchmarks/results/real_sets.json, in which the other sets stay as they are. A score is compared with something much
simpler: the majority, naive Bayes, or a list of what the training rows call an entity.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from ruamel.yaml import YAML

from adaptbert.config import load, plan_file
from adaptbert.config.recipe import Recipe
from adaptbert.core.files import read_json
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.runtime.libraries import QUIET
from benchmarks import machine

ROOT = Path(__file__).parents[1]
NAME = "real_sets"
DATA = "../shared/data"
"""Where the params look for the sets, seen from the project."""
ALL, SETS = load.read(Path(__file__).with_suffix(".yaml")).values()
NEEDED = (
    *("adaptbert", "stages", "examples", "data/sources", "dvc.yaml", "constraints.txt", ".dvc/config"),
    *(f"metrics/{kind}/.gitignore" for kind in ("domain_transfer", "task_transfer", "finetune")),
    "predictions/.gitignore",
)
"""Files of the project that a recipe needs."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real_sets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sets", metavar="SET", nargs="*", help=f"of {', '.join(SETS)}; left out: all of a language")
    parser.add_argument(
        "--language", choices=("en", "zh"), default="en", help="of the sets and the encoder (default: en)"
    )
    parser.add_argument("--data", type=Path, default=ROOT / DATA, help=f"folder of the sets (default: {DATA})")
    parser.add_argument("--encoder", type=Path, help="Hugging Face folder of a BERT encoder")
    parser.add_argument("--show", metavar="SET", choices=SETS, help="print the params.yaml of a set, and run nothing")
    arguments = parser.parse_args(argv)
    if arguments.show:
        YAML().dump(params_of(arguments.show), sys.stdout)
        return
    if arguments.encoder is None:
        parser.error("the following arguments are required: --encoder")
    sets = arguments.sets or [name for name, of_set in SETS.items() if of_set["files"].startswith(arguments.language)]
    if unknown := sorted(set(sets) - set(SETS)):
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(SETS)}")
    if missing := [str(path) for name in sets for path in files(name, arguments.data) if not path.is_file()]:
        parser.error(f"real data not found: {', '.join(missing)}")
    encoder = Checkpoint.load(arguments.encoder)
    for name in sets:
        result = run(name, arguments.data, arguments.encoder)
        keep(name, {"encoder": encoder.digest[:12], **result})
        print(f"{name}: " + ", ".join(f"{metric} {mean(result, metric):.3f}" for metric in result["marks"]), flush=True)


def params_of(name: str) -> dict[str, Any]:
    """What params.yaml holds for a set."""
    of_set = SETS[name]
    stems = dict.fromkeys(("train", "dev"), of_set.get("trained_on", of_set["files"])) | {"test": of_set["files"]}
    paths = {split: f"{DATA}/{stem}.{split}.jsonl.gz" for split, stem in stems.items()}
    return {**ALL, "tasks": {name: {**of_set["task"], **paths}}, "finetune": of_set["finetune"]}


def files(name: str, data: Path) -> list[Path]:
    """Train, dev and test of a set."""
    task = params_of(name)["tasks"][name]
    return [data / Path(task[split]).relative_to(DATA) for split in ("train", "dev", "test")]


def run(name: str, data: Path, encoder: Path) -> dict[str, Any]:
    """A recipe in a scratch copy of the project: the values and scores of its cell, and the seconds of all seeds."""
    recipe = Recipe(params_of(name))
    plan = plan_file.plan(recipe)
    ((cell, entry),) = plan.finetune.items()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "project")
        for needed in NEEDED:
            (project / needed).parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (ROOT / needed).is_dir() else shutil.copy
            copy(ROOT / needed, project / needed)
        shutil.copytree(encoder, project / plan.pretrain["encoder"].init)
        YAML().dump(params_of(name), project / "params.yaml")
        (project / "plan.json").write_text(plan_file.text(plan), encoding="utf-8")
        (project / DATA).parent.resolve().mkdir()
        (project / DATA).resolve().symlink_to(data.resolve())
        python(project, "examples.docstrings")
        dvc(project, "config", "--local", "core.no_scm", "true")
        dvc(project, "repro", "validate", "pretrain")
        began = time.monotonic()
        dvc(project, "repro", "--single-item", f"finetune@{cell}")
        seconds = time.monotonic() - began
        dvc(project, "repro")  # the rest, to the report
        cell_metrics = read_json(project / f"metrics/finetune/{cell}.json")
        row_counts = read_json(project / "metrics/validate.json")["tasks"][name]
    values = recipe.values("finetune", entry.names())
    tried = cell_metrics.get("search")
    chosen = tried["trials"][tried["chosen"] - 1] if tried else {}
    return {
        **{key: cell_metrics[key] for key in ("labels", "epochs", "steps", "examples")},
        **({"search": tried} if tried else {}),
        "rejected": {split: counts["rejected"] for split, counts in row_counts.items() if counts["rejected"]},
        "learning_rate": chosen.get("learning_rate", values.learning_rate),
        "batch": chosen.get("global_batch_size", values.global_batch_size),
        "seconds": round(seconds),
        "marks": {metric: {**mark, "goal": mark.get("goal")} for metric, mark in SETS[name]["marks"].items()},
        "seeds": [
            {key: value for key, value in seed.items() if key == "seed" or key.startswith(("dev/", "test/"))}
            for seed in cell_metrics["seeds"]
        ],
    }


def dvc(project: Path, *arguments: str) -> None:
    """A command of DVC."""
    python(project, "dvc", *arguments)


def python(project: Path, *arguments: str) -> None:
    """`python -m` in the scratch project; what it prints is shown where it fails."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, **QUIET, "PATH": path, "PYTHONPATH": str(project)}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=project,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\npython -m {' '.join(arguments)} ended with {done.returncode}")


def mean(result: Mapping[str, Any], metric: str) -> float:
    """Mean over the seeds, on the test split."""
    return fmean(seed[f"test/{metric}"] for seed in result["seeds"])


def keep(name: str, result: dict[str, Any]) -> None:
    """Keep a result beside those of the other sets."""
    target = machine.RESULTS / f"{NAME}.json"
    sets = read_json(target)["sets"] if target.is_file() else {}
    machine.keep(NAME, {"sets": {known: {**sets, name: result}[known] for known in SETS if known in {*sets, name}}})


if __name__ == "__main__":
    main()
