"""A page of the guide that is followed in a throw-away project: its commands are run, its params are written."""

import csv
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from ruamel.yaml import YAML
from transformers import BertForMaskedLM

from adaptbert.config import load as params
from adaptbert.config.plan_file import expand
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.mlm import BUDGET
from adaptbert.config.schema.text import Vocabulary
from adaptbert.model import checkpoint as saved
from adaptbert.text.tokenizer import Tokenizer
from tests.support import tiny, tiny_tasks
from tests.support.markdown import blocks
from tests.support.project import Project

PARAMS = Path("params.yaml")
_STAGE = re.compile(r"\bRunning stage '([^']+)'")


def shown(page: str) -> list[Any]:
    """What the yaml blocks of a page say, in order."""
    return [YAML(typ="safe", pure=True).load(block.text) for block in blocks(page) if block.language == "yaml"]


def lines(page: str, number: int) -> list[str]:
    """The commands of one block of the page, counted from 0."""
    return [block.text.splitlines() for block in blocks(page) if block.language == "sh"][number]


def merged(values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """As a reader writes lines into the file: what is not named stays."""
    result = dict(values)
    for key, other in others.items():
        below = result.get(key)
        result[key] = merged(below, other) if isinstance(below, Mapping) and isinstance(other, Mapping) else other
    return result


def write(project: Project, document: Mapping[str, Any]) -> None:
    """Replace params.yaml."""
    with (project.root / PARAMS).open("w", encoding="utf-8") as file:
        YAML().dump(dict(document), file)


def read(project: Project) -> dict[str, Any]:
    return params.read(project.root / PARAMS)


def command(line: str, places: Mapping[str, Path]) -> str:
    """The line as it runs here, where nobody is asked; `places` says what a word in capital letters stands for."""
    line = re.sub(r"\badaptbert add-task\b", r"\g<0> --yes", line)
    line = re.sub(r"^(\.venv/bin/)?adaptbert\b", f"{sys.executable} -m adaptbert.cli", line)
    for name, place in places.items():
        line = re.sub(rf"\b{name}\b", str(place), line)
    return line


def follow(project: Project, commands: list[str], places: Mapping[str, Path] | None = None) -> str:
    """Run the commands one by one; each must end well. Returns what they printed."""
    return "".join(ran(line, project.root, project.env, places or {}) for line in commands)


def ran(line: str, folder: Path, env: Mapping[str, str], places: Mapping[str, Path], refused: bool = False) -> str:
    """What a command printed; it must end well, or be refused."""
    environment = {**env, "PYTHONPATH": str(folder), "PYTHON": sys.executable}
    words = ["bash", "-c", command(line, places)]
    done = subprocess.run(words, cwd=folder, env=environment, text=True, capture_output=True)
    assert (done.returncode != 0) == refused, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def stages_run(printed: str) -> set[str]:
    """The stages that DVC ran."""
    return set(_STAGE.findall(printed))


# ---- a recipe as small as it trains


def texts(folder: Path) -> None:
    """Files as the presets for public checkpoints name them: two corpora, and a labelled set in three files."""
    folder.mkdir(parents=True)
    for kind in tiny.WORDS:
        corpus(folder / f"{kind}.txt", kind, 200)
    for seed, (split, count) in enumerate((("train", 60), ("dev", 24), ("test", 24)), 1):
        labelled(folder / f"{split}.csv", ("text", "label"), count, seed)


def labelled(path: Path, columns: tuple[str, str], count: int, seed: int) -> None:
    """A table of texts and their classes."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = tiny_tasks.labelled("domain", "single_sentence", count, seed)
        csv.writer(file).writerows([columns, *((row["text"], row["label"]) for row in rows)])


def corpus(path: Path, kind: str, count: int, seed: int = 0) -> None:
    path.write_text("\n".join(tiny.sentences(kind, count, seed)) + "\n", encoding="utf-8")


def small(document: dict[str, Any]) -> dict[str, Any]:
    """The values of a recipe made small; its names stay."""
    batch = {"global_batch_tokens": 128, "micro_batch_tokens": 128, "block_size": tiny.MAX_LENGTH, "measurements": 1}
    lengths = {"max_length": tiny.MAX_LENGTH, "block_size": tiny.MAX_LENGTH}
    values = {section: {**batch, "steps": 4} for section in ("domain_transfer", "task_transfer")}
    is_trained = document["pretrain"] and set(BUDGET) & set(document["pretrain"])
    values["pretrain"] = {**batch, **({"steps": 4} if is_trained else {})}
    values |= {"tokenize": {"max_length": tiny.MAX_LENGTH}, "measure": {"max_tokens": 2000}}
    values["finetune"] = {**lengths, "seeds": 2, "epochs": 1, "labels": 0}
    kept = {section: _without_a_budget(document.get(section) or {}, values[section]) for section in values}
    return {**document, **{section: merged(kept[section], values[section]) for section in values}}


def _without_a_budget(section: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Where the values have another."""
    return {key: value for key, value in section.items() if key not in BUDGET or not {*BUDGET} & {*values}}


def tokenizer(size: int) -> Tokenizer:
    sentences = [*tiny.sentences("general", 200), *tiny.sentences("domain", 200)]
    config = Vocabulary(vocabulary_size=size, lowercase=True, min_frequency=1)
    return Tokenizer.train(lambda: sentences, config)


def checkpoint(folder: Path, pieces: Tokenizer, seed: int = 1) -> None:
    """A folder in Hugging Face format with random weights, as a public checkpoint in models/init."""
    torch.manual_seed(seed)
    shape = Base(layers=2, hidden_size=32, heads=2, intermediate_size=64, max_positions=tiny.POSITIONS)
    weights = BertForMaskedLM(saved.random_weights(shape, pieces.size, pieces.pad))
    saved.save(folder, weights, pieces, tiny.card("pretrain"))
    (folder / "card.json").unlink()


def entries(document: Mapping[str, Any]) -> dict[str, Any]:
    """`stage@key` -> what plan.json says of it."""
    tables = expand(Recipe(document)).model_dump()
    single = ("validation", "compare", "code")
    return {
        f"{stage}@{key}": values
        for stage, table in tables.items()
        if stage not in single
        for key, values in table.items()
    }
