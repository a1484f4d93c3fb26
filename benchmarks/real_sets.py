"""Real labelled sets from a public encoder: each params file of benchmarks/real_sets, run as a user would run it.

    python -m benchmarks.real_sets --data ../shared/data --encoder FOLDER            # all English ones
    python -m benchmarks.real_sets --data ../shared/data --encoder FOLDER --language zh
    python -m benchmarks.real_sets --data ../shared/data --encoder FOLDER sst2 mrpc

In: the folder of the sets and a Hugging Face folder with a BERT encoder; neither belongs to this project. For each set
a scratch copy of the project gets its params file and the encoder as models/init/encoder, and `dvc repro` runs it. Out:
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
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from adaptbert.config import plan_file
from adaptbert.config import recipe as recipes
from adaptbert.core.files import read_json
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.runtime.libraries import QUIET
from benchmarks import machine

ROOT = Path(__file__).parents[1]
RECIPES = Path(__file__).parent / "real_sets"
NAME = "real_sets"
DATA = "../shared/data"
"""Where the params files look for the sets, seen from the project."""
NEEDED = (
    *("adaptbert", "stages", "examples", "data/sources", "dvc.yaml", "constraints.txt", ".dvc/config"),
    *(f"metrics/{kind}/.gitignore" for kind in ("domain_transfer", "task_transfer", "finetune")),
    "predictions/.gitignore",
)
"""Of the project, to run a recipe."""


@dataclass(frozen=True)
class Mark:
    """What a metric of the test split is compared with.

    Attributes:
        floor: the score of something much simpler.
        simple: what that was.
        goal: what a small BERT should reach; None where only the floor counts.
    """

    floor: float
    simple: str
    goal: float | None = None


BAYES, OVERLAP, LISTED, COMMONEST = "naive Bayes", "shared words", "entities of train", "commonest tag"
MARKS: Mapping[str, Mapping[str, Mark]] = {
    "sst2": {"accuracy": Mark(0.817, BAYES, 0.89)},
    "rct_sections": {"accuracy": Mark(0.783, BAYES, 0.85), "f1_macro": Mark(0.646, BAYES)},
    "chemprot": {"accuracy": Mark(0.411, BAYES), "f1_macro": Mark(0.296, BAYES)},
    "citation_intent": {"accuracy": Mark(0.504, "majority"), "f1_macro": Mark(0.356, BAYES)},
    "agnews": {"accuracy": Mark(0.887, BAYES), "f1_macro": Mark(0.886, BAYES)},
    "mrpc": {"accuracy": Mark(0.737, OVERLAP), "f1_positive": Mark(0.799, "majority", 0.84)},
    "rte": {"accuracy": Mark(0.574, OVERLAP)},
    "ncbi_disease": {"f1_span": Mark(0.687, LISTED, 0.80)},
    "bc2gm": {"f1_span": Mark(0.432, LISTED)},
    "wnut17": {"f1_span": Mark(0.0, LISTED)},
    "pos_ewt": {"accuracy": Mark(0.863, COMMONEST)},
    "subjqa": {"f1_answer": Mark(0.280, OVERLAP), "exact_match": Mark(0.091, OVERLAP)},
    "xquad": {"f1_answer": Mark(0.153, OVERLAP), "exact_match": Mark(0.000, OVERLAP)},
    "ewect_usual": {"accuracy": Mark(0.702, BAYES), "f1_macro": Mark(0.653, BAYES)},
    "ewect_virus": {"accuracy": Mark(0.683, BAYES), "f1_macro": Mark(0.496, BAYES)},
    "weibo_senti": {"accuracy": Mark(0.736, BAYES)},
    "weibo2018": {"accuracy": Mark(0.858, BAYES)},
    "waimai10k": {"accuracy": Mark(0.856, BAYES)},
    "online_shopping": {"accuracy": Mark(0.916, BAYES)},
    "lcqmc": {"accuracy": Mark(0.697, BAYES)},
    "ocnli": {"accuracy": Mark(0.454, BAYES)},
    "msra": {"f1_span": Mark(0.601, LISTED)},
    "peoplesdaily": {"f1_span": Mark(0.412, LISTED)},
    "pos_gsd": {"accuracy": Mark(0.766, COMMONEST)},
    "cmrc2018": {"f1_answer": Mark(0.301, OVERLAP), "exact_match": Mark(0.043, OVERLAP)},
}
"""Set -> metric -> what it is compared with. A new set is a params file and a line here."""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real_sets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sets", metavar="SET", nargs="*", help=f"of {', '.join(MARKS)}; left out: all of a language")
    parser.add_argument(
        "--language", choices=("en", "zh"), default="en", help="of the sets and the encoder (default: en)"
    )
    parser.add_argument("--data", type=Path, default=ROOT / DATA, help=f"folder of the sets (default: {DATA})")
    parser.add_argument("--encoder", type=Path, required=True, help="Hugging Face folder of a BERT encoder")
    arguments = parser.parse_args(argv)
    sets = arguments.sets or [
        name for name in MARKS if files(name, arguments.data)[0].name.startswith(arguments.language)
    ]
    if unknown := sorted(set(sets) - set(MARKS)):
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(MARKS)}")
    if missing := [str(path) for name in sets for path in files(name, arguments.data) if not path.is_file()]:
        parser.error(f"real data not found: {', '.join(missing)}")
    encoder = Checkpoint.load(arguments.encoder)
    for name in sets:
        result = run(name, arguments.data, arguments.encoder)
        keep(name, {"encoder": encoder.digest[:12], **result})
        print(f"{name}: " + ", ".join(f"{metric} {mean(result, metric):.3f}" for metric in MARKS[name]), flush=True)


def files(name: str, data: Path) -> list[Path]:
    """Train, dev and test of a set."""
    task = recipes.read(RECIPES / f"{name}.yaml").tasks[name]
    return [data / Path(path).relative_to(DATA) for path in (task.train, task.dev, task.test)]


def run(name: str, data: Path, encoder: Path) -> dict[str, Any]:
    """A recipe in a scratch copy of the project: the values and scores of its cell, and the seconds of all seeds."""
    recipe = recipes.read(RECIPES / f"{name}.yaml")
    plan = plan_file.plan(recipe)
    ((cell, entry),) = plan.finetune.items()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "project")
        for needed in NEEDED:
            (project / needed).parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (ROOT / needed).is_dir() else shutil.copy
            copy(ROOT / needed, project / needed)
        shutil.copytree(encoder, project / plan.pretrain["encoder"].init)
        shutil.copy(RECIPES / f"{name}.yaml", project / "params.yaml")
        plan_file.write(plan, project / "plan.json")
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
        "marks": {metric: vars(mark) for metric, mark in MARKS[name].items()},
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
    """Over the seeds, on the test split."""
    return fmean(seed[f"test/{metric}"] for seed in result["seeds"])


def keep(name: str, result: dict[str, Any]) -> None:
    """Into the results, beside the other sets."""
    target = machine.RESULTS / f"{NAME}.json"
    sets = read_json(target)["sets"] if target.is_file() else {}
    machine.keep(NAME, {"sets": {known: {**sets, name: result}[known] for known in MARKS if known in {*sets, name}}})


if __name__ == "__main__":
    main()
