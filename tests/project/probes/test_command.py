"""`adaptbert probe` as a user calls it: tables, the file, and one message for each refusal."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import tiny
from tests.support.commands import run
from tests.support.planned_project import document, tokenized_project

PRETRAINED, DOMAIN = "pretrain/small", "domain_transfer/domain-small-1"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    tokenized_project(tmp_path, document())
    tiny.scratch(tmp_path / "models/scratch/small")
    tiny.pretrained(tmp_path / f"models/{PRETRAINED}")
    tiny.pretrained(tmp_path / f"models/{DOMAIN}", seed=2)
    return tmp_path


def lexicon(project: Path, words: Sequence[str]) -> None:
    """Every word translates itself."""
    lines = "".join(f"{word}\t{word}\n" for word in dict.fromkeys(words))
    (project / "words.tsv").write_text(lines, encoding="utf-8")


def figures(project: Path, of: str = "probes") -> list[dict[str, str]]:
    with (project / f"reports/{of}-small.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_layer_of_every_rung_that_is_there(project: Path) -> None:
    done = run("probe")
    assert done.exit_code == 0, done.output
    written = figures(project)
    assert {row["task"] for row in written} == {"section"}, "mention has tags and no class a row"
    rungs = ["scratch/small", PRETRAINED, DOMAIN]
    assert list(dict.fromkeys(row["rung"] for row in written)) == rungs
    for rung in rungs:
        kinds = [(row["kind"], int(row["layer"])) for row in written if row["rung"] == rung]
        probes = [("static", -1), ("mean", 0), ("mean", 1), ("[CLS]", 1), ("mean", 2), ("[CLS]", 2)]
        assert kinds == probes + [("cka", layer) for layer in range(3)] * (rung != rungs[0])
    assert all(0 <= float(row["value"]) <= 1.01 for row in written)
    assert "section: frozen probes on the dev split, f1_macro x 100" in done.output
    assert "[CLS] 2" in done.output
    assert "the test split is" in done.output
    left_out = done.output.replace("\n", " ").partition("Not below models/, so left out")[2]
    assert "task_transfer/section-domain-small-1" in left_out
    assert "small-2" not in left_out, "other draws are not asked for"
    before = (project / "reports/probes-small.csv").read_bytes()
    assert run("probe").exit_code == 0
    assert (project / "reports/probes-small.csv").read_bytes() == before


def test_a_rung_of_task_text_is_measured_on_its_own_task(project: Path) -> None:
    tiny.pretrained(project / "models/task_transfer/mention-domain-small-1")
    assert run("probe").exit_code == 0
    assert not any(row["rung"].startswith("task_transfer") for row in figures(project))


def test_a_lexicon_of_two_languages(project: Path) -> None:
    lexicon(project, tiny.WORDS["general"][:12])
    done = run("probe", "--lexicon", "words.tsv")
    assert done.exit_code == 0, done.output
    ranks = {
        (row["kind"], int(row["layer"])): float(row["value"])
        for row in figures(project, "lexicon")
        if row["rung"] == PRETRAINED
    }
    kinds = ("mrr", "mrr_centred", "mrr_shifted")
    assert ranks == {(kind, layer): 1.0 for layer in (0, 1, 2, -1) for kind in kinds}, "every word translates itself"
    assert "Translations of 12 pairs" in done.output
    assert all(row["task"] for row in figures(project)), "those of a lexicon have a file of their own"
    written = (project / "reports/lexicon-small.csv").read_bytes()
    assert run("probe").exit_code == 0
    assert (project / "reports/lexicon-small.csv").read_bytes() == written, "a later probe without it keeps them"
    assert "(by chance " in done.output


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cat chat\n", "words.tsv:1: expected two words with a tab between them, found 1 columns"),
        ("cat\tchat\tx\n", "words.tsv:1: expected two words with a tab between them, found 3 columns"),
        ("\ncat\t\n", "words.tsv:2: expected two words with a tab between them, found the second is empty"),
        ("cat\tchat\n" * 20, "words.tsv: 1 pairs of different words"),
        ("", "words.tsv: 0 pairs of different words"),
        ("".join(f"cat{n}\tchat{n}\n" for n in range(200_000)), "words.tsv:5001: more than 5,000 pairs"),
    ],
)
def test_a_lexicon_that_is_none(project: Path, text: str, problem: str) -> None:
    (project / "words.tsv").write_text(text, encoding="utf-8")
    done = run("probe", "--lexicon", "words.tsv")
    assert (done.exit_code, done.stderr.count("AB-220 words.tsv:")) == (65, 1)
    assert problem in done.stderr
    assert not (project / "reports").exists()


def test_a_lexicon_that_is_not_there_or_no_text(project: Path) -> None:
    assert "AB-220 no.tsv: No such file" in run("probe", "--lexicon", "no.tsv").stderr
    (project / "words.tsv").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in run("probe", "--lexicon", "words.tsv").stderr


def test_nothing_is_trained_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tokenized_project(tmp_path, document())
    done = run("probe")
    assert (done.exit_code, done.stderr.count("AB-")) == (65, 1)
    assert "AB-221 start small: no rung of it is trained yet\n  run `dvc repro`" in done.stderr


def test_rows_that_are_not_there(project: Path) -> None:
    (project / "data/validated/tasks/section/train.parquet").unlink()
    done = run("probe")
    assert "AB-221 data/validated/tasks/section: the validated rows are not there" in done.stderr
    assert "run `dvc repro validate`, or `dvc checkout`" in done.stderr


def test_labels_of_one_class_cannot_be_probed(project: Path) -> None:
    values = document()
    values["finetune"]["all"]["labels"] = 1
    (project / "params.yaml").write_text(json.dumps(values), encoding="utf-8")
    assert "AB-221 start small: no task with one class a row that can be probed, and no lexicon" in run("probe").stderr
    lexicon(project, tiny.WORDS["general"])
    done = run("probe", "--lexicon", "words.tsv")
    assert done.exit_code == 0, done.output
    assert "section has no probe: the labels of the first seed are all of one class." in done.output


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["bread " * 200], " tokens, and the encoder takes 62"),
        ([f"狗{n}" for n in range(40)], " words of one language are not in the vocabulary"),
    ],
)
def test_entries_that_the_encoder_does_not_know(project: Path, words: list[str], problem: str) -> None:
    lexicon(project, [*tiny.WORDS["general"], *words])
    done = run("probe", "--lexicon", "words.tsv")
    assert (done.exit_code, done.stderr.count("AB-220 words.tsv: ")) == (65, 1), done.output
    assert problem in done.stderr


def test_a_place_that_cannot_be_written_is_known_before_the_work(project: Path) -> None:
    (project / "reports").write_text("a file")
    done = run("probe")
    assert done.exit_code != 0
    assert "reports" in done.stderr
    assert "(1 of 3)" not in done.output
