"""A linear model answers from its files as it did before; equal rows give equal bytes, damaged files are refused."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from adaptbert.comparison.baselines import BASELINES, STRENGTHS, keep_linear_models
from adaptbert.errors import BadData
from adaptbert.linear.model import FILE, LinearModel
from tests.support import tiny, tiny_tasks
from tests.support.imports import ROOT

FITTED = [kind for kind in tiny_tasks.KINDS if kind[1] != "answer"]


@pytest.mark.parametrize(("shape", "target"), FITTED)
def test_what_was_kept_answers_as_what_was_fitted(tmp_path: Path, shape: str, target: str) -> None:
    """Rows of words that it never saw as well, and of none."""
    data = tiny_tasks.task(tmp_path / "data/task", shape, (120, 24, 24), target)
    keep_linear_models(tmp_path / "kept", [data], 1)
    train, dev, test = (
        tiny_tasks.labelled("domain", shape, count, seed, target) for count, seed in ((120, 10), (24, 11), (80, 3))
    )
    *_, model = BASELINES[target](tiny_tasks.described(shape, target), train, dev, 1).values()
    assert isinstance(model, LinearModel)
    kept = LinearModel.load(tmp_path / "kept/task")
    for rows in (test, tiny_tasks.labelled("general", shape, 40, 4, target), test[:1]):
        answers, sure, details = kept.decode(rows)
        expected, as_sure, of_each = model.decode(rows)
        assert (answers, details()) == (expected, of_each())
        assert np.array_equal(sure, as_sure, equal_nan=True)
        assert len(answers) == len(sure) == len(rows)


def test_its_probabilities_are_those_of_scikit_learn() -> None:
    train, dev, test = (
        tiny_tasks.labelled("domain", "single_sentence", count, seed) for count, seed in ((200, 1), (40, 2), (60, 3))
    )
    *_, model = BASELINES["class"](tiny_tasks.described("single_sentence"), train, dev, 1).values()
    assert isinstance(model, LinearModel)
    terms = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    features = terms.fit_transform(row["text"] for row in train)
    peers = [
        LogisticRegression(C=c, solver="newton-cg", tol=1e-8).fit(features, [row["label"] for row in train])
        for c in STRENGTHS
    ]
    scores = [peer.score(terms.transform(row["text"] for row in dev), [row["label"] for row in dev]) for peer in peers]
    expected = peers[int(np.argmax(scores))].predict_proba(terms.transform(row["text"] for row in test))
    probabilities = [list(each["probabilities"].values()) for each in model.decode(test)[2]()]
    assert np.allclose(probabilities, expected, atol=1e-6)


def test_equal_rows_give_equal_bytes_in_any_process(tmp_path: Path) -> None:
    """Whatever the order of sets and the number of threads; without a time in the file."""
    data = [
        tiny_tasks.task(tmp_path / "data" / str(n), shape, (80, 24, 24), target)
        for n, (shape, target) in enumerate(FITTED)
    ]
    code = (
        "import sys; from pathlib import Path; from adaptbert.comparison.baselines import keep_linear_models as keep; "
    )
    code += "keep(Path(sys.argv[1]), map(Path, sys.argv[2:]), 1)"
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": seed}
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / seed), *map(str, data)], check=True, cwd=ROOT, env=env
        )
    one, other = (tiny.folder_bytes(tmp_path / seed) for seed in ("1", "2"))
    assert len(one) == len(data)
    assert one == other


def test_a_task_with_one_answer_has_none(tmp_path: Path) -> None:
    data = tiny_tasks.task(tmp_path / "data/task", "single_sentence", (1, 4, 4))
    keep_linear_models(tmp_path / "kept", [data], 1)
    assert list((tmp_path / "kept").iterdir()) == []


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def _other(file: Path) -> None:
    save_file({"weights": np.zeros(7)}, file)


def _no_task(file: Path) -> None:
    save_file(load_file(file), file, {"model": "{}"})


@pytest.mark.parametrize("harm", [_cut, _other, _no_task, Path.unlink])
def test_damaged_files_are_refused(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    keep_linear_models(tmp_path / "kept", [tiny_tasks.task(tmp_path / "data/task", "single_sentence")], 1)
    LinearModel.load(tmp_path / "kept/task")
    harm(file := tmp_path / "kept/task" / FILE)
    with pytest.raises(BadData) as caught:
        LinearModel.load(tmp_path / "kept/task")
    assert str(file) in str(caught.value)
    assert "dvc checkout --force" in str(caught.value)
