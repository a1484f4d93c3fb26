"""`adaptbert release` on real models with real DVC: what it writes, what it refuses by name, kills."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from adaptbert.core.files import read_json, write_json
from adaptbert.data import labelled_set
from adaptbert.linear.model import LinearModel
from adaptbert.prediction.predictor import Predictor
from adaptbert.release.record import FILE, Release
from tests.support import finished as finished_recipe
from tests.support.commands import run
from tests.support.finished import MOOD, commit, compare
from tests.support.imports import ROOT
from tests.support.project import dvc
from tests.support.shared import made_once

NAMED = ("--arm", "general", "--reason", "It is what the service runs today.")
FIRST = Path("releases/mood/1")
CELL = "mood-general-base"


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def write(folder: Path) -> Path:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            finished_recipe.make(folder)
        return folder

    return made_once(tmp_path_factory, "finished", write)


@pytest.fixture
def project(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is the current folder."""
    subprocess.run(["cp", "-a", f"{finished}/.", str(tmp_path)], check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "dvc"))
    return tmp_path


def released(*options: str) -> Path:
    done = run("release", "mood", *options)
    assert done.exit_code == 0, done.stderr
    return Path(done.stdout.partition(":")[0])


def refused(*options: str, exit_code: int = 65) -> str:
    """The message; nothing is written."""
    done = run("release", "mood", *options)
    assert (done.exit_code, "Traceback" in done.stderr, Path("releases").exists()) == (exit_code, False, False)
    return done.stderr


def answers_alike(folder: Path) -> None:
    """The released model answers the test rows as the released predictions say."""
    rows = labelled_set.split(MOOD, "test")
    written = pq.read_table(folder / "predictions.parquet").to_pylist()
    answers = Predictor.load(folder / "model").predict([{"id": row["id"], "text": row["text"]} for row in rows])
    assert [(row["id"], row["label"]) for row in rows] == [(each["id"], each["gold"]) for each in written]
    assert [each["label"] for each in answers] == [each["predicted"] for each in written]
    confidences = [each["confidence"] for each in answers]
    assert confidences == pytest.approx([each["confidence"] for each in written], abs=1e-5)


def sums_agree(folder: Path) -> None:
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {line.partition(":")[0] for line in done.stdout.splitlines()} == files - {"SHA256SUMS"}


def test_an_arm_with_a_reason(project: Path) -> None:
    folder = released(*NAMED)
    assert folder == FIRST
    record = Release.read(folder / FILE)
    assert (record.task, record.version, record.kind, record.arm) == ("mood", 1, "encoder", "general")
    assert (record.cell, record.supported, record.reason) == (CELL, False, NAMED[3])
    card = read_json(folder / "model/card.json")
    assert record.seed == card["task"]["seed"]
    answers_alike(folder)
    sums_agree(folder)
    locked = Path("dvc.lock").read_text()
    for path in (f"models/finetune/{CELL}", "data/own/mood.train.csv", "metrics/comparison.json"):
        assert f"md5: {record.made_from[path]}" in locked, path
    own = card["task"]["scores"][f"test/{record.metric}"]
    for name in ("README.md", "README.zh-CN.md"):
        text = (folder / name).read_text(encoding="utf-8")
        assert f"{100 * own:.1f}" in text
        assert NAMED[3] in text
        assert f"`data/own/mood.test.csv` (md5 `{record.made_from['data/own/mood.test.csv']}`)" in text


def test_the_linear_model(project: Path) -> None:
    folder = released("--arm", "tfidf_logistic", "--reason", "It costs little.")
    record = Release.read(folder / FILE)
    assert (record.kind, record.arm, record.cell, record.base, record.seed) == ("linear", "tfidf_logistic", "", "", 0)
    answers_alike(folder)
    sums_agree(folder)
    assert LinearModel.load(folder / "model").names == ["code", "prose"]


def test_dvc_has_each_release_and_none_is_written_over(project: Path) -> None:
    first = released(*NAMED)
    before = {path: path.read_bytes() for path in first.rglob("*") if path.is_file()}
    assert released(*NAMED) == Path("releases/mood/2")
    assert {path: path.read_bytes() for path in first.rglob("*") if path.is_file()} == before
    subprocess.run(["rm", "-r", "releases/mood/1", "releases/mood/2"], check=True)
    assert released(*NAMED) == Path("releases/mood/3"), "a clone has the record alone"
    done = dvc("checkout", "releases/mood/1.dvc")
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in first.rglob("*") if path.is_file()} == before


def test_what_the_comparison_does_not_support_needs_a_reason(project: Path) -> None:
    said = refused()
    assert "AB-230 metrics/comparison.json: mood: undecided: " in said
    assert "general or tfidf_logistic --reason '...'" in said
    assert "AB-111 --reason: an arm is named without a reason" in refused("--arm", "general", exit_code=78)
    assert "AB-111" in refused("--reason", "Because.", exit_code=78)
    unknown = refused("--arm", "genral", "--reason", "Because.", exit_code=78)
    assert "AB-099 --arm: 'genral' is neither an arm of mood nor its linear model (did you mean 'general'?)" in unknown
    done = run("release", "moood")
    assert "AB-099 TASK: 'moood' is no task of metrics/comparison.json (did you mean 'mood'?)" in done.stderr


def test_a_reason_is_one_line_without_credentials(project: Path) -> None:
    """Bytes of a terminal that is not UTF-8 come as half characters."""
    folder = released("--arm", "general", "--reason", "https://me:secretword@host\n\n# asked\udcff")
    assert Release.read(folder / FILE).reason == r"https://***@host # asked\xff"
    assert "for this reason: https://***@host # asked" in (folder / "README.md").read_text(encoding="utf-8")


def test_test_text_in_training_needs_a_reason(project: Path) -> None:
    warned = read_json(Path("metrics/validate.json"))
    warned["tasks"]["mood"]["train"]["warnings"] = {"rows_sharing_a_text_with_test": 7}
    write_json(Path("metrics/validate.json"), warned)
    compare()
    commit()
    assert "AB-230 metrics/comparison.json: mood: leaky: 7 training rows share a text with test rows" in refused()
    assert run("release", "mood", *NAMED).exit_code == 0
    card = Path("releases/mood/1/README.md").read_text(encoding="utf-8")
    assert "**The comparison does not support this model.** 7 training rows share a text with test rows" in card


# ---- planted faults, each refused by name whatever the reason


def test_a_seed_or_an_arm_without_a_result(project: Path) -> None:
    metrics = Path("metrics/finetune/mood-scratch-base.json")
    metrics.unlink()
    compare()
    assert "mood: incomplete: without a result: mood-scratch" in refused(*NAMED)


@pytest.mark.parametrize(
    "path",
    [f"models/finetune/{CELL}/model.safetensors", f"predictions/{CELL}.parquet", f"{MOOD}/test.parquet"],
)
def test_a_flipped_bit(project: Path, path: str) -> None:
    """Even where size and time of the file are those of before, by which DVC would trust it."""
    file = Path(path)
    content, times = bytearray(file.read_bytes()), file.stat()
    content[len(content) // 2] ^= 1
    file.chmod(0o644)
    file.write_bytes(content)
    subprocess.run(["touch", "-d", f"@{times.st_mtime:.9f}", path], check=True)
    place = path.removesuffix("/model.safetensors").removesuffix("/test.parquet")
    said = refused(*NAMED)
    assert f"AB-124 {place}: md5 " in said
    assert "dvc checkout --force" in said


def test_a_model_that_is_not_here(project: Path) -> None:
    subprocess.run(["rm", "-r", f"models/finetune/{CELL}"], check=True)
    assert f"AB-124 models/finetune/{CELL}: missing, and dvc.lock has it" in refused(*NAMED)


def test_results_of_other_parameters(project: Path) -> None:
    document = json.loads(Path("params.yaml").read_text())
    for name, text, said in (
        (
            "finetune",
            {"seeds": 4, "max_length": 48},
            "AB-230 metrics/comparison.json: out of date: DVC would run ",
        ),
        ("tasks", {"mood": document["tasks"]["mood"] | {"positive": "code"}}, "AB-210 plan.json: older than params"),
    ):
        Path("params.yaml").write_text(json.dumps(document | {name: text}))
        assert said in refused(*NAMED, exit_code=78 if "AB-210" in said else 65)


def test_a_lock_with_both_sides_of_a_merge_or_cut_short(project: Path) -> None:
    lock = Path("dvc.lock")
    whole = lock.read_text()
    for text in (f"<<<<<<< HEAD\n{whole}=======\n{whole}>>>>>>> other\n", whole[: len(whole) // 2], "no lock\n"):
        lock.write_text(text)
        assert "AB-230 dvc.lock: not as DVC writes it" in refused(*NAMED)


def test_nothing_was_compared(project: Path) -> None:
    Path("metrics/comparison.json").unlink()
    assert "AB-230 metrics/comparison.json: missing: nothing was compared" in refused(*NAMED)


@pytest.mark.slow
def test_a_kill_leaves_nothing_half(project: Path) -> None:
    """In the middle of the writing, and between the folder and its record in DVC."""
    killed("adaptbert.release.folder.cards")
    assert [path.name[0] for path in Path("releases/mood").iterdir()] == ["."]
    killed("adaptbert.project.dvc_files.record")
    assert sorted(path.name for path in Path("releases/mood").iterdir()) == ["1"]
    assert released(*NAMED) == Path("releases/mood/2")
    assert sorted(path.name for path in Path("releases/mood").iterdir() if path.name[0] != ".") == [
        "1",
        "1.dvc",
        "2",
        "2.dvc",
    ]


def killed(function: str) -> None:
    """The command, killed where it calls this function."""
    code = f"""
import os, signal, sys
from unittest.mock import patch
from adaptbert.cli import app
with patch({function!r}, lambda *_: os.kill(os.getpid(), signal.SIGKILL)):
    app(["release", "mood", *sys.argv[1:]])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *NAMED],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == -9, done.stderr
