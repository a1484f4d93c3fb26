"""The examples run, on tiny checkpoints and sets, and their measures are what they say."""

import csv
import runpy
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from adaptbert.errors import BadParams
from adaptbert.planning.rules import checked
from examples import cross_lingual, dna_control, probes, what_is_learned_when
from tests.support import tiny, tiny_tasks
from tests.support.imports import ROOT

pytestmark = pytest.mark.slow
EXAMPLES = sorted({path.stem for path in (ROOT / "examples").glob("*.py")} - {"__init__", "notebook"})
"""Commands; the notebook is none."""


@pytest.fixture
def checkpoints(tmp_path: Path) -> list[Path]:
    tiny.scratch(tmp_path / "scratch")
    tiny.pretrained(tmp_path / "pretrain")
    return [tmp_path / "scratch", tmp_path / "pretrain", tmp_path / "pretrain"]


def test_probes(tmp_path: Path, checkpoints: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    tiny_tasks.task(tmp_path / "task", "single_sentence", (100, 24, 24), "class")
    (tmp_path / "task/test.parquet").unlink()  # it is never read
    figures = probes.main(tmp_path / "task", checkpoints)
    assert [list(row) for row in figures["probe"]] == [["static", "0", "1", "2"]] * 3
    assert all(0 <= value <= 1 for row in figures["probe"] for value in row.values())
    assert figures["probe"][1] == figures["probe"][2]
    assert figures["cka"][1] == pytest.approx(dict.fromkeys(figures["cka"][1], 1.0)), "equal weights are alike"
    assert figures["cka"][0]["2"] < 0.99
    assert "frozen probes, macro-F1 on the dev split" in capsys.readouterr().out


def test_measures_of_vectors() -> None:
    draw = np.random.default_rng(1)
    vectors, others = draw.normal(size=(200, 16)), draw.normal(size=(200, 16))
    rotation, _ = np.linalg.qr(draw.normal(size=(16, 16)))
    assert probes.cka(vectors, 3 * vectors @ rotation + 1) == pytest.approx(1)
    assert abs(probes.cka(vectors, others)) < 0.1, "the unbiased estimator is about 0"
    assert np.isnan(probes.cka(vectors, np.ones((200, 16))))
    assert cross_lingual.reciprocal_rank(vectors, vectors) == 1
    equal = np.ones((200, 16))
    assert cross_lingual.reciprocal_rank(equal, equal) == pytest.approx(1 / 200), "ties count against the right one"
    moved = cross_lingual.alignments(vectors, vectors + 5)
    assert moved[cross_lingual.AS_THEY_ARE] < 0.9
    assert moved[cross_lingual.CENTRED] == moved[cross_lingual.MOVED] == 1


def test_two_languages(tmp_path: Path, checkpoints: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    words = list(dict.fromkeys(tiny.WORDS["general"]))[:12]
    (tmp_path / "words.tsv").write_text("".join(f"{word}\t{word}\n" for word in [*words, words[0]]), encoding="utf-8")
    figures = cross_lingual.main(tmp_path / "words.tsv", checkpoints)
    ranks = {value for layers in figures for kinds in layers.values() for value in kinds.values()}
    assert ranks == {1.0}, "every word translates itself"
    assert "translations of 12 words" in capsys.readouterr().out


def test_dna(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stages").symlink_to(ROOT / "stages")
    shutil.copy(ROOT / "presets/demo.yaml", "demo.yaml")
    dna_control.main(Path("demo.yaml"))
    files = {split: f"data/own/dna.{split}.csv" for split in dna_control.ROWS}
    assert list(checked().arms) == ["scratch", "general"]
    texts = []
    for split, name in files.items():
        with Path(name).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert Counter(row["label"] for row in rows) == dict.fromkeys(dna_control.LABELS, dna_control.ROWS[split] // 2)
        texts += [row["text"] for row in rows]
        for number, row in enumerate(rows, 1):
            letters = dna_control.sequence(split, number, row["label"])
            assert (len(letters), row["label"] == "motif") == (dna_control.LENGTH, dna_control.MOTIF in letters)
    assert len({word for text in texts for word in text.split()}) == 4
    assert len(set(texts)) > 0.99 * len(texts)


def test_params_that_exist_nowhere_else_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("stages", "presets"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "params.yaml").write_text("mine: 1\n")
    with pytest.raises(BadParams, match="neither committed nor a preset"):
        dna_control.main(Path("presets/smoke.yaml"))
    with pytest.raises(BadParams, match="file not found"):
        dna_control.main(Path("presets/smok.yaml"), force=True)
    assert (tmp_path / "params.yaml").read_text() == "mine: 1\n"
    assert not (tmp_path / "data").exists()
    dna_control.main(Path("presets/smoke.yaml"), force=True)
    assert (tmp_path / "params.yaml").read_text() != "mine: 1\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        *((f"{name} --help", 0, f"usage: python -m examples.{name} ") for name in EXAMPLES),
        *((name, 2, "the following arguments are required: ") for name in EXAMPLES if name != "docstrings"),
        ("probes task", 2, "the following arguments are required: CHECKPOINT"),
        ("probes nowhere scratch", 65, "AB-050 nowhere/task.json: no such file\n  name a folder that `dvc repro val"),
        ("probes tags scratch", 65, "AB-111 tags: a set of the type sequence_labelling with the target spans\n  name"),
        ("probes task nowhere", 65, "AB-128 nowhere: "),
        ("cross_lingual nowhere scratch", 65, "AB-050 nowhere: cannot be read: No such file or directory\n"),
        ("cross_lingual bytes scratch", 65, "AB-001 bytes: byte 0 is not UTF-8\n"),
        ("cross_lingual few scratch", 65, "AB-056 few:1: expected two words with a tab between them\n"),
        ("dna_control nowhere", 78, "AB-114 nowhere: file not found\n"),
        ("what_is_learned_when nowhere", 65, "AB-050 nowhere: cannot be read: "),
        ("what_is_learned_when few", 65, "AB-019 few: 2 lines with text, expected 21 or more\n"),
        ("what_is_learned_when few many", 2, "argument STEPS: invalid positive value: 'many'"),
        ("what_is_learned_when few 0", 2, "argument STEPS: invalid positive value: '0'"),
    ],
)
def test_what_cannot_be_used(
    arguments: str,
    code: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny_tasks.task(tmp_path / "task", "single_sentence", (8, 8, 8), "class")
    tiny_tasks.task(tmp_path / "tags", "sequence_labelling", (8, 8, 8), "spans")
    Path("few").write_text("a word\n\nanother\n")
    Path("bytes").write_bytes(b"\xff\n")
    name, *rest = arguments.split()
    monkeypatch.setattr("sys.argv", [f"{name}.py", *rest])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / f"examples/{name}.py"), run_name="__main__")
    said = capsys.readouterr()
    assert (ended.value.code or 0) == code
    assert words in (said.err if code else said.out)


def test_what_is_learned_when(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(tiny.sentences("general", 600)), encoding="utf-8")
    table = what_is_learned_when.main(text, 40)
    assert [*table] == ["masked", "frequent", "0", "1", "3", "10", "30", "40"]
    assert table["masked"]["all"] > table["masked"]["frequent"] > 20
    assert table["0"]["all"] < 0.1, "random weights"
    assert table["40"]["all"] > table["3"]["all"]
    assert table["frequent"]["frequent"] > table["frequent"]["all"] > table["frequent"].get("rare", 0.0) == 0
    rows = capsys.readouterr().out.splitlines()[-8:]
    assert any(row.startswith("punctuation ") for row in rows)
