"""The studies of docs/results: their files and their params, put into a clone that is then run as a user would.

    git clone . ../weibo
    python -m benchmarks.studies weibo --data ../shared/data --project ../weibo
    cd ../weibo; dvc repro

`--data` is the folder of the sets, which do not belong to this project. A part of a corpus becomes a file of its own
where the study needs it as another domain.
"""

import argparse
import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "studies"
BIOMEDICAL = ("en_general_wiki.jsonl.gz", "en_domain_biomed.jsonl.gz")
"""General text and text of the domain."""


@dataclass(frozen=True)
class Study:
    """Files of a study.

    Attributes:
        taken: files that are used as they are; a pattern names those of several splits.
        parts: (file, value of `source`) -> new file with the rows of this value; the file itself gets the other rows.
        renamed: file -> name in the study.
        base: name of the public base that `--weights` is imported as; None: random weights.
    """

    taken: tuple[str, ...]
    parts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
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
}


def prepare(name: str, data: Path, project: Path, weights: Path | None = None) -> None:
    """Write the files and params.yaml of a study into a clone, its base and its plan."""
    study, own = STUDIES[name], project / "data/own"
    own.mkdir(parents=True, exist_ok=True)
    for pattern in study.taken:
        for path in sorted(data.glob(pattern)):
            shutil.copy(path, own)
    for file, new in study.renamed.items():
        shutil.copy(data / file, own / new)
    for (file, value), part in study.parts.items():
        _divide(data / file, value, own / part, own / file)
    shutil.copy(FOLDER / f"{name}.yaml", project / "params.yaml")
    adaptbert = [sys.executable, "-m", "adaptbert.cli"]
    if study.base and weights:
        subprocess.run([*adaptbert, "import", str(weights.resolve()), "--base", study.base], cwd=project, check=True)
    subprocess.run([*adaptbert, "plan"], cwd=project, check=True)


def _divide(file: Path, value: str, part: Path, others: Path) -> None:
    with gzip.open(file, "rt") as rows, gzip.open(part, "wt") as inside, gzip.open(others, "wt") as outside:
        for row in rows:
            (inside if json.loads(row)["source"] == value else outside).write(row)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="Put the files and params of a study into a clone of the project.")
    parser.add_argument("study", choices=sorted(STUDIES))
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    parser.add_argument("--project", type=Path, required=True, help="clone that is changed")
    parser.add_argument("--weights", type=Path, help="folder of the public base, where the study has one")
    options = parser.parse_args()
    if (STUDIES[options.study].base is None) != (options.weights is None):
        parser.error(f"{options.study}: --weights is required with a public base, and with none it is not allowed")
    prepare(options.study, options.data, options.project, options.weights)


if __name__ == "__main__":
    main()
