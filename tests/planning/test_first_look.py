"""`adaptbert bases`: what each base makes of the user's texts, and the order that a linear probe gives them."""

import re
import shutil
from pathlib import Path

import pytest

from adaptbert.config import load
from tests.support.checked_files import check_errors, lines, mood, write_document
from tests.support.checkpoint_edits import edit
from tests.support.commands import run
from tests.support.encoders import CASES
from tests.support.family_tokenizers import TEXTS
from tests.support.imports import ROOT

KINDS = ("bert", "roberta", "deberta-v2", "roformer")
SPLITS = {"train": 0, "dev": 500, "test": 1000}


@pytest.fixture
def bases(own: Path) -> list[str]:
    """Four folders below models/init: a BERT, a RoBERTa, a DeBERTa, and a type that has to be padded."""
    rows = {
        split: lines(
            f"{split}.jsonl",
            *(
                {"text": f"{TEXTS[n % len(TEXTS)]} {n} {('insulin', 'glucose')[n % 2]}", "label": "ab"[n % 2]}
                for n in range(first, first + 240)
            ),
        )
        for split, first in SPLITS.items()
    }
    people = {
        split: lines(
            f"{split}.json",
            *({"tokens": ["Lee", "left", str(first + n)], "tags": ["B-PER", "O", "O"]} for n in range(120)),
        )
        for split, first in SPLITS.items()
    }
    folders = []
    for kind in KINDS:
        folder = Path("models/init") / kind.replace("-", "_")
        next(case for case in CASES if case.kind == kind).save(folder)
        folders.append(str(folder))
    document = load.read(ROOT / "presets/smoke.yaml")
    tasks = {"drug": mood(**rows), "people": mood(**people, type="token-classification", tag_scheme="bio")}
    document |= {"tasks": tasks, "bases": {Path(each).name: each for each in folders}}
    document.pop("base", None)
    for section in ("tokenizer", "arms", "overrides"):
        document.pop(section, None)
    write_document(document)
    return folders


def test_the_table_of_the_bases_of_a_project(bases: list[str]) -> None:
    """All that have weights; the classes of one task are told by a word, the tags of the other by a position."""
    done = run("bases")
    assert done.exit_code == 0, done.output
    cells = (re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines())
    rows = {first: others for first, *others in cells}
    assert rows["kind"] == list(KINDS)
    assert rows["documents are"] == ["packed", "packed", "packed by masks", "padded"]
    assert rows["positions"] == ["72", "70", "72", "72"], "of RoBERTa two are not used"
    assert all(float(share.rstrip("%")) < 10 for share in rows["unknown"])
    assert all(1 <= float(count) < 6 for count in rows["tokens a word"])
    assert all(float(score) > 0.5 for score in rows["probe: drug, dev/f1_macro"])
    assert all(float(score) > 0.5 for score in rows["probe: people, dev/f1_span"])


def test_bases_that_are_named(bases: list[str]) -> None:
    done = run("bases", bases[1], "deberta_v2")
    assert done.exit_code == 0, done.output
    assert "deberta-v2" in done.stdout
    assert "roformer" not in done.stdout
    empty = run("bases", "")
    assert (empty.exit_code, empty.stderr.partition(":")[0]) == (78, "error")
    assert "an empty name" in empty.stderr
    missing = run("bases", "models/init/none")
    assert (missing.exit_code, missing.stdout) == (65, "models/init/none, 1 of 1 ...\n")
    assert missing.stderr.startswith("error: AB-128 models/init/none: no such folder")


def test_a_damaged_base_does_not_hide_the_others(bases: list[str]) -> None:
    """Those that are sound are shown; all errors come at the end, together."""
    bert, roberta, deberta, roformer = map(Path, bases)
    edit(roberta, "config.json", num_hidden_layers=2)
    (deberta / "model.safetensors").unlink()
    done = run("bases", *map(str, (roberta, bert, deberta, roformer)))
    assert done.exit_code == 65, done.output
    rows = {first: others for first, *others in (re.split(r"\s{2,}", row.strip()) for row in done.stdout.splitlines())}
    assert rows["kind"] == ["bert", "roformer"]
    assert rows["documents are"] == ["packed", "padded"]
    errors = [line for line in done.stderr.splitlines() if not line.startswith(" ")]
    assert [str(folder) in line for folder, line in zip((roberta, deberta), errors, strict=True)] == [True, True]


def test_what_is_missing_is_said_as_check_says_it(bases: list[str]) -> None:
    """Before anything is computed; bases that are named are looked for when their turn comes."""
    shutil.rmtree(bases[0])
    done = run("bases")
    assert (done.exit_code, done.stdout) == (65, "")
    assert "bases.bert: models/init/bert/config.json: no such file\n" in done.stderr
    assert "`adaptbert import FOLDER --base bert`" in done.stderr
    Path("data/own/dev.jsonl").unlink()
    done = run("bases", bases[1])
    assert (done.exit_code, done.stdout) == (65, "")
    assert "tasks.drug.dev: data/own/dev.jsonl: no such file" in done.stderr


def test_what_check_says_of_bases(bases: list[str]) -> None:
    """The weights themselves are tried: one that must be padded, and one whose weights are damaged."""
    done = run("check")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("documents are padded") == 1
    assert "bases.roformer: documents are padded" in done.stdout
    edit(Path(bases[1]), "config.json", num_hidden_layers=2)
    errors = check_errors()
    assert len(errors) == 1
    assert "weights and config.json disagree" in errors[0]


def test_check_holds_what_is_asked_against_each_base(bases: list[str]) -> None:
    """Positions of which two are not used, and a vocabulary that cannot be extended."""
    document = load.read(Path("params.yaml"))
    document["finetune"] = {**document["finetune"], "max_length": 71, "block_size": 128}
    document["overrides"] = {
        "roberta": {"tokenizer": {"extend": {"corpora": ["domain"], "num_new_tokens": 9, "min_frequency": 1}}}
    }
    write_document(document)
    errors = check_errors()
    assert any("finetune.max_length: max_length 71, and roberta has 70 positions" in error for error in errors)
    assert any(
        "words can be added to WordPiece alone, and the tokenizer of this base is BPE" in each for each in errors
    )
    assert len(errors) == 2
