"""The examples run, on tiny checkpoints and sets, and their measures are what they say."""

import csv
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from adaptbert.runtime.params import params_file as params
from adaptbert.runtime.params.all_sections import check_all
from examples import cross_lingual, dna_control, probes, what_is_learned_when
from tests.support import tiny, tiny_tasks
from tests.support.imports import ROOT

pytestmark = pytest.mark.slow


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
    files = dna_control.write_rows(dna_control.FOLDER)
    dna_control.write_params(Path("demo.yaml"), files)
    document = params.read(Path("params.yaml"))
    check_all(document, Path("params.yaml"))
    assert list(document["ladder"]["arms"]) == ["scratch", "general"]
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
