"""A forecast of a small project: the same facts twice, prices of what is missing, and nothing else written."""

import shutil
from pathlib import Path

import pytest
from dvc.repo import Repo

from adaptbert.base.files import write_json
from adaptbert.comparison.forecasts import Forecast
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.pretraining.heldout_evaluation import MeasureConfig, sets_in
from adaptbert.pretraining.rung_measures import measure_rung
from adaptbert.project.forecast.making import forecast
from adaptbert.project.forecast.trials import rung_tflop
from tests.support import tiny
from tests.support.forecasting import TASKS, document, tokenized_project, with_general_rung
from tests.support.imports import ROOT

STEPS = 3
STAGES = ("pretrain", "domain_transfer", "task_transfer", "finetune")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Forecast]:
    """A project with a general rung and its forecast; the tests only look."""
    root = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(root)
        tokenized_project(root, document())
        with_general_rung(root)
        before = {folder: tiny.folder_bytes(root / folder) for folder in ("models", "data", "metrics")}
        made = forecast(None, STEPS, again=False)
        assert {folder: tiny.folder_bytes(root / folder) for folder in before} == before, "it writes its own file alone"
        assert list((root / ".work").iterdir()) == []
    return root, made


def test_the_same_twice_but_for_times(made: tuple[Path, Forecast], monkeypatch: pytest.MonkeyPatch) -> None:
    root, first = made
    monkeypatch.chdir(root)
    second = forecast("small", STEPS, again=True)
    assert second.facts == first.facts
    assert [(p.stage, p.key, p.trained, p.runs, p.tflop) for p in second.prices] == [
        (p.stage, p.key, p.trained, p.runs, p.tflop) for p in first.prices
    ]
    assert Forecast.read(root / "forecasts/small.json") == second


def test_bits_are_those_of_measure_on_held_out_text(made: tuple[Path, Forecast]) -> None:
    """The same masks; test rows are not there at all."""
    root, first = made
    (gap,) = first.facts.gaps
    heldout = [path for path in sets_in(root / "data/tokenized/small/heldout") if path.name in gap.before]
    config = MeasureConfig(probability=0.15, max_tokens=4_000, seed=0)
    measured = measure_rung(Checkpoint.load(root / "models/pretrain/small"), heldout, config, seed=1)
    assert gap.before == {name: values.bits_per_char for name, values in measured.texts.items()}
    assert set(gap.before) == set(gap.after_own) == set(gap.after_general) == {"general", "domain"}
    assert gap.after_own != gap.after_general
    assert not gap.meaningless
    assert not any((root / f"data/validated/tasks/{task}/test.parquet").exists() for task in TASKS)


def test_prices_are_of_what_dvc_misses(made: tuple[Path, Forecast], tmp_path: Path) -> None:
    """Each rung and cell whose outputs DVC does not find, once, with its draws and seeds."""
    root, first = made
    for name in ("params.yaml", "ladder.yaml"):
        shutil.copy(root / name, tmp_path)
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    shutil.copytree(root / "metrics", tmp_path / "metrics")
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    with Repo(str(tmp_path)) as repo:
        stages = [stage for stage in repo.index.stages if stage.name.partition("@")[0] in STAGES]
        missing = {
            stage.name
            for stage in stages
            if not all(out.exists for out in stage.outs if out.def_path.startswith("metrics/"))
        }
    due = [price for price in first.prices if not price.trained]
    assert {f"{price.stage}@{price.key}" for price in due} == missing
    assert len(first.prices) == len(stages) == len(missing) + 1, "the general rung is there"
    assert first.total.tflop == pytest.approx(sum(price.tflop for price in due))
    assert first.total.minutes == pytest.approx(sum(price.minutes for price in due), abs=1e-3)
    assert first.total.rungs == sum(price.stage != "finetune" for price in due) == 8, "four rungs of two draws"
    assert first.total.runs == 2 * 2 * 7, "two tasks, two seeds; one cell of general, two draws of three other arms"
    assert first.arms["domain"].rungs == 2
    assert first.arms["domain_task"].rungs == 6, "two draws of domain transfer and of task transfer on two tasks"
    assert sum(arm.tflop for arm in first.arms.values()) > first.total.tflop, "arms share rungs"


def test_the_price_of_a_rung_is_that_of_its_budget(made: tuple[Path, Forecast]) -> None:
    root, first = made
    config = Checkpoint.load(root / "models/pretrain/small").config()
    tokens = 20 * 2048  # 40,000 tokens in steps of 2,048
    price = next(price for price in first.prices if price.key == "domain-small-1")
    low, high = (rung_tflop(config, tokens, 64, chosen) for chosen in (0.10, 0.20))
    assert low < price.tflop < high, "about 15 % of the tokens are masked"
    seconds = price.tflop / first.rates[0].tflop_per_second
    assert price.minutes == pytest.approx(seconds / 60, abs=1e-4)


def test_random_weights_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tokenized_project(tmp_path, document())
    first = forecast(None, STEPS, again=False)
    assert first.weights == "random weights"
    assert [gap.meaningless for gap in first.facts.gaps] == [True]
    assert not (tmp_path / "models").exists()
    with_general_rung(tmp_path)
    second = forecast(None, STEPS, again=False)  # `pretrain` alone is no outcome of it
    assert second.weights == "models/pretrain/small"


def test_without_a_domain_corpus_the_text_of_tasks_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tokenized_project(tmp_path, document(arms={"general": {}, "task": {"task_transfer": "own"}}, draws=1))
    with_general_rung(tmp_path)
    made = forecast(None, STEPS, again=False)
    assert [gap.text for gap in made.facts.gaps] == list(TASKS)
    assert made.facts.ranges[-1].question == "task_transfer_after_domain"


def test_an_outcome_keeps_its_forecast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tokenized_project(tmp_path, document())
    with_general_rung(tmp_path)
    forecast(None, STEPS, again=False)
    write_json(tmp_path / "metrics/domain_transfer/domain-small-1.json", {})
    with pytest.raises(Exception, match=r"AB-219 forecasts/small.json: made before 1 of its rungs and cells"):
        forecast(None, STEPS, again=False)
    again = forecast(None, STEPS, again=True)
    assert [price.key for price in again.prices if price.trained] == ["small", "domain-small-1"]
