"""The studies of docs/results: their files and their params, put into a clone that is then run as a user would.

    python -m benchmarks.studies weibo --data ../shared/data --project ../weibo
    cd ../weibo; dvc repro

Or to the end, which goes on where an earlier call was stopped; a project that is prepared needs no sets and no weights:

    python -m benchmarks.studies minilm_domain --data ../shared/data --weights FOLDER --project ../domain --run --jobs 4
    python -m benchmarks.studies minilm_domain --project ../domain --run --jobs 4 --out ../found

`--data` is the folder of the sets, which do not belong to this project. A part of a corpus becomes a file of its own
where the study needs it as another domain. `--smoke` cuts everything to what shows in minutes that all of it runs.
"""

import argparse
import gzip
import json
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from adaptbert.config import load
from adaptbert.core.files import read_json, write_json
from adaptbert.runtime.libraries import JOBS
from benchmarks import machine

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "studies"
BIOMEDICAL = ("en_general_wiki.jsonl.gz", "en_domain_biomed.jsonl.gz")
"""General text and text of the domain."""
SMOKE: Mapping[str, Mapping[str, Any]] = {
    "measure": {"max_tokens": 2_000},
    "pretrain": {"head_warmup_steps": 2},
    "domain_transfer": {"tokens": 2_048, "global_batch_tokens": 1024, "micro_batch_tokens": 1024},
    "task_transfer": {"tokens": 2_048, "global_batch_tokens": 1024, "micro_batch_tokens": 1024},
    "finetune": {"labels": 32, "epochs": 1, "seeds": 2},
    "compare": {"replicates": 1},
}
"""Values of a smoke run."""
SMOKE_ROWS, SMOKE_TRAINING_ROWS = 100, 1_000
"""Rows of each file of a smoke run; of a training split, which has to show every label of the others."""
FOUND = ("metrics/comparison.json", "reports/index.md", "reports/index.html", "params.yaml", "plan.json", "dvc.lock")
LOG, SUMMARY = "flow.log", "summary.json"
ENDED = re.compile(r"^\S+  ((\w+)\S*): .*\((\d+) s; \d+ of \d+")
"""What the flow says of a stage that has ended: its name, what it does, its seconds."""


@dataclass(frozen=True)
class Study:
    """Files of a study.

    Attributes:
        taken: files that are used as they are; a pattern names those of several splits.
        parts: (file, value of `source`) -> new file with the rows of this value; the file itself gets the other rows.
        renamed: file -> name in the study.
        rows: file -> so many of its first rows are used.
        base: name of the public base that `--weights` is imported as; None: random weights.
    """

    taken: tuple[str, ...]
    parts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    base: str | None = None


STUDIES = {
    "weibo": Study(
        taken=("zh_domain_weibo.jsonl.gz", "zh_task_ewect_usual.*", "zh_task_ewect_virus.*"),
        parts={("zh_general.jsonl.gz", "niutrans-modern"): "zh_histories.jsonl.gz"},
    ),
    "biomedical": Study(
        taken=(
            *BIOMEDICAL,
            *("en_task_rct_sections.*", "en_task_chemprot.*", "en_ner_ncbi_disease.*"),
        ),
        renamed={"en_task_agnews.train.jsonl.gz": "en_news.jsonl.gz"},
    ),
    "minilm_ncbi_disease": Study(taken=(*BIOMEDICAL, "en_ner_ncbi_disease.*"), base="minilm"),
    "minilm_causal": Study(taken=(*BIOMEDICAL, "en_ner_ncbi_disease.*"), base="minilm"),
    "minilm_rct_sections": Study(taken=(*BIOMEDICAL, "en_task_rct_sections.*"), base="minilm"),
    # 15 million characters of each corpus, about one pass of its budget: with the base in float16, 45 MB, a prepared
    # project is small enough to be carried to another machine.
    "minilm_domain": Study(
        taken=(*BIOMEDICAL, "en_task_chemprot.*", "en_task_rct_sections.*", "en_ner_bc2gm.*"),
        rows=dict(zip(BIOMEDICAL, (900, 600), strict=True)),
        base="minilm",
    ),
}


# ---- before


def prepare(name: str, data: Path, project: Path, weights: Path | None = None, *, is_smoke: bool = False) -> None:
    """Write the files and params.yaml of a study into a clone, its base and its plan; make the clone, if there is
    none."""
    study, own = STUDIES[name], project / "data/own"
    if not project.exists():
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), str(project)], check=True)
    own.mkdir(parents=True, exist_ok=True)
    for pattern in study.taken:
        for path in sorted(data.glob(pattern)):
            _copy(path, own / path.name, study.rows.get(path.name), is_smoke)
    for file, new in study.renamed.items():
        _copy(data / file, own / new, study.rows.get(file), is_smoke)
    for (file, value), part in study.parts.items():
        _divide(data / file, value, own / part, own / file)
    shutil.copy(FOLDER / f"{name}.yaml", project / "params.yaml")
    if is_smoke:
        YAML().dump(smoke(load.read(project / "params.yaml")), project / "params.yaml")
    adaptbert = [sys.executable, "-m", "adaptbert.cli"]
    if study.base and weights:
        subprocess.run([*adaptbert, "import", str(weights.resolve()), "--base", study.base], cwd=project, check=True)
    subprocess.run([*adaptbert, "plan"], cwd=project, check=True)


def smoke(params: Mapping[str, Any]) -> dict[str, Any]:
    """The params of a study with budgets that show only that it runs."""
    return {name: {**values, **SMOKE[name]} if name in SMOKE else values for name, values in params.items()}


def _copy(file: Path, new: Path, rows: int | None, is_smoke: bool) -> None:
    """A file, or its first rows."""
    if is_smoke:
        rows = SMOKE_TRAINING_ROWS if ".train." in file.name else SMOKE_ROWS
    if rows is None:
        shutil.copy(file, new)
        return
    with gzip.open(file, "rt", encoding="utf-8") as every, gzip.open(new, "wt", encoding="utf-8") as first:
        first.writelines(islice(every, rows))


def _divide(file: Path, value: str, part: Path, others: Path) -> None:
    with gzip.open(file, "rt") as rows, gzip.open(part, "wt") as inside, gzip.open(others, "wt") as outside:
        for row in rows:
            (inside if json.loads(row)["source"] == value else outside).write(row)


# ---- to the end


def run(project: Path, out: Path, jobs: int) -> int:
    """Run the flow of a prepared project, and keep in `out` what it says, what it found and how long each stage took;
    its exit status."""
    out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "flows.recipe", "--jobs", str(jobs)]
    with (
        (out / LOG).open("a", encoding="utf-8") as log,
        subprocess.Popen(
            command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace"
        ) as flow,
    ):
        signal.signal(signal.SIGTERM, lambda *_: flow.terminate())  # what has ended is kept
        for line in flow.stdout or ():
            print(line, end="", flush=True)
            log.write(line)
    if flow.returncode == 0:
        for file in FOUND:
            shutil.copy(project / file, out)
    write_json(out / SUMMARY, {"machine": machine.machine(), **summary(out), "exit_code": flow.returncode})
    report = f"the report is {out / 'index.html'}, " if flow.returncode == 0 else ""
    print(f"{out.resolve()}: {report}seconds and scores are in {SUMMARY}, all lines in {LOG}")
    return int(flow.returncode)


def summary(out: Path) -> dict[str, Any]:
    """Seconds by stage and in sum by step, of all calls; scores of what is no encoder beside those of the arms."""
    with (out / LOG).open(encoding="utf-8") as log:
        ended = [match.groups() for line in log if (match := ENDED.match(line)) and "nothing to do" not in line]
    by_step = Counter[str]()
    for _, step, seconds in ended:
        by_step[step] += int(seconds)
    facts: dict[str, Any] = {"seconds": {stage: int(seconds) for stage, _, seconds in ended}, "steps": dict(by_step)}
    with suppress(FileNotFoundError):
        tasks = read_json(out / Path(FOUND[0]).name)["tasks"]
        facts["scores"] = {
            task["name"]: {"metric": task["metric"]}
            | {name: each["mean"] for name, each in task["baselines"].items()}
            | {arm["name"]: arm["interval"] and arm["interval"]["mean"] for arm in task["arms"]}
            for task in tasks
        }
    return facts


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="Put the files and params of a study into a clone of the project.")
    parser.add_argument("study", choices=sorted(STUDIES))
    parser.add_argument("--data", type=Path, help="folder of the sets")
    parser.add_argument("--project", type=Path, required=True, help="clone that is changed, and made where none is")
    parser.add_argument("--weights", type=Path, help="folder of the public base, where the study has one")
    parser.add_argument("--smoke", action="store_true", help="few rows, tokens, seeds and replicates")
    parser.add_argument("--run", action="store_true", help="run the flow to its end, or on from where it was stopped")
    parser.add_argument("--jobs", type=int, default=JOBS, help="of --run: stages side by side")
    parser.add_argument("--out", type=Path, help="of --run: folder for what was found; default: PROJECT.found")
    options = parser.parse_args()
    project: Path = options.project
    if options.data:
        if (STUDIES[options.study].base is None) != (options.weights is None):
            parser.error(f"{options.study}: --weights is required with a public base, and with none it is not allowed")
        prepare(options.study, options.data, project, options.weights, is_smoke=options.smoke)
    elif not (options.run and (project / "data/own").is_dir()):
        parser.error("--data is required, but for --run in a project that is prepared")
    if options.run:
        sys.exit(run(project, options.out or project.with_name(f"{project.name}.found"), options.jobs))


if __name__ == "__main__":
    main()
