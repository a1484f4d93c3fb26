"""Does pre-training help where its language cannot: on DNA, whose four letters are written as four words?

    python -m examples.dna_control presets/demo.yaml
    adaptbert plan
    make recipe

The first line writes the labelled set into data/own (dna.train.csv, dna.dev.csv, dna.test.csv), and params.yaml: the
preset that it is given, with this one task and two arms, `scratch` (random weights) and `general` (general
pre-training). To ask it of a public checkpoint, give a preset that starts from one.

A row is 12 random letters; its label is `motif` where they contain GAT, otherwise `none`, and half of the rows have
either label. The rule decides every row, so the best possible accuracy is 1. Counts of letters alone answer two rows of
three, so order has to be read. Which word stands for which letter is arbitrary: what pre-training learnt of language
cannot help (Kao and Lee 2021, arXiv 2103.07162, on real DNA, proteins and music, saw that it does).

`general` above `scratch`: these weights score higher on a task without language, so a part of their gain on your tasks
may be weights that are easier to fine-tune rather than knowledge. Both near 0.5: neither learnt the rule. General
pre-training is done once for each base, so the comparison is described and has no verdict.
"""

import csv
import random
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from adaptbert.config.recipe import PARAMS, Recipe
from adaptbert.planning.rules import checked
from adaptbert.project.editing import check_replaceable
from examples import command, run

LETTERS, MOTIF, LENGTH = "ACGT", "GAT", 12
LABELS = ["motif", "none"]
ROWS = {"train": 3000, "dev": 500, "test": 1000}
WORDS = (
    *("time", "name", "line", "text", "list", "page", "file", "path"),
    *("table", "image", "color", "value", "number", "letter", "point", "group"),
)
"""Frequent ones of English, each one token of the vocabulary; of them four are drawn. Other languages need others."""
FOLDER = Path("data/own")


def sequence(split: str, number: int, label: str) -> str:
    """Letters drawn at random: with the motif, at a place drawn at random, or without it anywhere."""
    draw = random.Random(f"dna {split} {number}")
    while True:
        letters = "".join(draw.choices(LETTERS, k=LENGTH))
        if label == "motif":
            place = draw.randint(0, LENGTH - len(MOTIF))
            return letters[:place] + MOTIF + letters[place + len(MOTIF) :]
        if MOTIF not in letters:
            return letters


def write_rows(folder: Path) -> dict[str, str]:
    """Write the three files; every row is a function of its split and number, and labels take turns."""
    words = dict(zip(LETTERS, random.Random("dna words").sample(WORDS, len(LETTERS)), strict=True))
    folder.mkdir(parents=True, exist_ok=True)
    files = {split: folder / f"dna.{split}.csv" for split in ROWS}
    for split, path in files.items():
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["text", "label"])
            for number in range(1, ROWS[split] + 1):
                label = LABELS[number % 2]
                rows.writerow([" ".join(words[letter] for letter in sequence(split, number, label)), label])
    return {split: path.as_posix() for split, path in files.items()}


def params_of(preset: Recipe, files: dict[str, str]) -> dict[str, Any]:
    """The preset with one corpus, one task and two arms, which have no other step, as params.yaml has it."""
    kept = {key: value for key, value in preset.written.items() if key not in ("domain_transfer", "task_transfer")}
    overrides = {name: values for name, values in (kept.get("overrides") or {}).items() if name in preset.bases}
    return kept | {
        "corpora": {"general": kept["corpora"]["general"]},
        "tasks": {"dna": {"type": "text-classification", **files}},
        "arms": ["scratch", "general"],
        "tokenizer": {**(kept.get("tokenizer") or {}), "corpora": ["general"]},
        "finetune": {**(kept["finetune"] or {}), "labels": 0, "seeds": 5},
        "compare": {**(kept["compare"] or {}), "replicates": 1, "order": ["pretrain"], "questions": {}},
        "overrides": overrides,
    }


def main(preset: Path, force: bool = False) -> None:
    """Read all before anything is written."""
    recipe = checked(preset)
    if not force:
        check_replaceable(PARAMS)
    files = write_rows(FOLDER)
    with PARAMS.open("w", encoding="utf-8") as file:
        YAML().dump(params_of(recipe, files), file)
    print("written:", *files.values(), PARAMS)


if __name__ == "__main__":
    parser = command("dna_control", __doc__)
    parser.add_argument("preset", metavar="PRESET", type=Path, help="a params.yaml with a corpus general")
    parser.add_argument("--force", action="store_true", help="overwrite params.yaml even if it exists nowhere else")
    run(parser, main)
