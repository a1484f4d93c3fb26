"""The search: what optuna asks for is tried; the dev split chooses, and a killed search goes on."""

from collections.abc import Mapping
from math import log10, nan
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config.schema.finetuning import Search
from adaptbert.core.files import read_json
from adaptbert.runtime import mlflow as tracking
from adaptbert.runtime.mlflow import EXPERIMENT
from adaptbert.tasks.extra_runs import best, search, search_seeds
from adaptbert.tasks.module import FineTuning
from adaptbert.training.resume import Work
from adaptbert.training.stability import Diverged
from tests.support import tiny, tiny_params
from tests.support.cells import Project
from tests.support.short_runs import Stop

pytest.importorskip("optuna", reason="an extra: pip install 'adaptbert[search]'")

KINDS = {"section": ("single_sentence", "class")}
USUAL = tiny_params.cell(learning_rate=1e-3)
FEW = {"trials": 4, "learning_rate": [1e-9, 1e-2], "epochs": [1.0, 2.0], "seeds": 2}
MANY = {"trials": 14, "learning_rate": [1e-6, 1e-1], "epochs": [1.0, 5.0, 9.0], "seeds": 1}


def config(**values: Any) -> Search:
    return Search.model_validate(FEW | values)


def trials(metrics: Mapping[str, Any]) -> list[Any]:
    return [(row["learning_rate"], row["global_batch_size"], row["epochs"]) for row in metrics["search"]["trials"]]


def test_the_first_of_the_best_is_chosen_and_never_one_without_a_score() -> None:
    assert best([0.1, 0.5, 0.5, 0.2]) == 1
    assert best([None, 0.1, None, 0.2]) == 3
    results = search(config(**MANY), USUAL, lambda values: None if values["epochs"] < 5 else peak(values))
    assert {values["epochs"] < 5 for values, _ in results} == {True, False}
    assert results[best([score for _, score in results])][0]["epochs"] >= 5


def peak(values: Mapping[str, Any]) -> float:
    """Best where the learning rate is 1e-3 and there are 5 epochs."""
    return -abs(log10(values["learning_rate"]) + 3) - abs(values["epochs"] - 5) / 10


@pytest.mark.parametrize("sizes", [None, [8, 16, 32]])
def test_optuna_is_deterministic_and_spends_as_much_on_every_arm(sizes: list[int] | None) -> None:
    """Equal scores give equal points, so an interrupted search can be repeated; and an arm that is better the longer it
    trains gets no more training than another."""
    values = config(**{**MANY, "trials": 40, "global_batch_size": sizes})
    first, again = (search(values, USUAL, peak) for _ in range(2))
    other = search(values, USUAL, lambda tried: -peak(tried))
    assert first == again
    assert [tried for tried, _ in other] != [tried for tried, _ in first], "it learns from scores"
    for points in ([tried for tried, _ in first], [tried for tried, _ in other]):
        assert len({tuple(point.values()) for point in points}) == len(points) == 40
        assert [point["epochs"] for point in points] == [1.0, 5.0, 9.0] * 13 + [1.0]
        assert all(1e-6 <= point["learning_rate"] <= 1e-1 for point in points)
        assert {point["global_batch_size"] for point in points} <= {*(sizes or [16])}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("project"), KINDS)


@pytest.fixture(scope="module")
def searched(project: Project) -> dict[str, Any]:
    return project.finetune("section", "general", seeds=[1], search=config())


def test_the_dev_split_chooses_and_the_seeds_train_with_it(project: Project, searched: dict[str, Any]) -> None:
    metrics, rows = searched["search"], searched["search"]["trials"]
    assert [(row["global_batch_size"], row["epochs"]) for row in rows] == [(16, 1.0), (16, 2.0)] * 2
    scores = [row["dev/f1_macro"] for row in rows]
    assert len(set(scores)) > 1
    assert metrics["chosen"] == scores.index(max(scores)) + 1
    assert scores == [pytest.approx(sum(row["seeds"]) / 2) for row in rows]
    assert metrics["seeds"] == search_seeds(config()) == search_seeds(config(seeds=3))[:2]
    assert len(set(metrics["seeds"])) == 2
    assert min(metrics["seeds"]) > 1_000_000, "people write small ones, and these are those of no result"

    chosen, card = rows[metrics["chosen"] - 1], read_json(project.root / "models/finetune/section-general/card.json")
    assert card["params"]["learning_rate"] == chosen["learning_rate"]
    assert card["params"]["epochs"] == searched["epochs"] == chosen["epochs"]
    assert metrics["tokens"] == sum(row["tokens"] for row in rows)
    assert searched["cost"]["tokens"] == searched["tokens"] + metrics["tokens"]
    assert searched["cost"]["tflop"] == pytest.approx(searched["tflop"] + metrics["tflop"], abs=2e-3)
    assert rows[1]["tokens"] > 1.9 * rows[0]["tokens"], "twice the epochs, two seeds each"


def test_the_chosen_values_alone_give_the_same_seeds(project: Project, searched: dict[str, Any]) -> None:
    other = project.finetune("section", "scratch", seeds=[1], search=config())
    assert trials(other) == trials(searched), "every arm is searched alike"
    chosen = other["search"]["trials"][other["search"]["chosen"] - 1]
    alone = project.finetune(
        "section", "scratch", seeds=[1], learning_rate=chosen["learning_rate"], epochs=chosen["epochs"]
    )
    assert "search" not in alone
    assert alone["cost"] == {"tokens": alone["tokens"], "tflop": alone["tflop"]}
    assert alone["seeds"] == other["seeds"]


def diverge(monkeypatch: pytest.MonkeyPatch, config: Search, number: int) -> None:
    """The first trials of a search have losses that are no numbers, from the second step on."""
    step, trials = FineTuning.training_step, search(config, USUAL, lambda _: 0.0)
    rates = [values["learning_rate"] for values, _ in trials[:number]]

    def spoilt(self: Any, *arguments: Any) -> Any:
        loss = step(self, *arguments)
        rate = self.trainer.optimizers[0].param_groups[0]["initial_lr"]
        return loss * (nan if rate in rates and self.trainer.global_step else 1.0)

    monkeypatch.setattr(FineTuning, "training_step", spoilt)


def test_a_trial_that_diverges_costs_what_it_was_trained_and_is_not_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, values = Project(tmp_path, KINDS), config(trials=2, epochs=None)
    diverge(monkeypatch, values, 1)
    metrics = project.finetune("section", "general", seeds=[1], search=values)
    first, second = metrics["search"]["trials"]
    assert (first["dev/f1_macro"], first["seeds"]) == (None, [None, None])
    assert metrics["search"]["chosen"] == 2
    assert len(second["seeds"]) == 2
    assert None not in second["seeds"]
    steps = 2 * 96 // 16
    # A step that counted and three that did not, of twelve.
    assert first["tokens"] == pytest.approx(second["tokens"] * 4 / steps, rel=0.1)
    assert first["tflop"] == pytest.approx(second["tflop"] * first["tokens"] / second["tokens"], rel=0.1, abs=2e-3)
    assert metrics["search"]["tokens"] == first["tokens"] + second["tokens"]
    with pytest.raises(Diverged, match="AB-158 section-general: search: all 1 trials diverged"):
        project.finetune("section", "general", seeds=[1], search=config(trials=1, epochs=None, seeds=1))


def test_each_trial_is_a_child_run_with_its_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    project = Project(tmp_path, KINDS)
    with tracking.open_run("finetune", {"task": "section", "start": "small"}, {}, tmp_path / "params.yaml") as run:
        monkeypatch.setattr(tiny, "no_record", lambda: run)
        values = {"search": config(trials=2, seeds=1), "label_counts": [32], "precision": "auto"}
        metrics = project.finetune("section", "general", seeds=[1], epochs=1.0, **values)
    store = MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    experiment = store.get_experiment_by_name(EXPERIMENT)
    assert experiment is not None
    runs = store.search_runs([experiment.experiment_id], order_by=["attributes.start_time"])
    (cell,) = [run for run in runs if run.data.tags.get("stage") == "finetune"]
    children = {run.data.tags["trial"]: run for run in runs if "trial" in run.data.tags}
    assert list(children) == ["trial 1", "trial 2", "32 labels"]
    assert "seed 1 section-general" in {run.info.run_name for run in runs}
    for run in children.values():
        assert (run.data.tags["mlflow.parentRunId"], run.data.tags["start"]) == (cell.info.run_id, "small")
    for name, row in zip(["trial 1", "trial 2"], metrics["search"]["trials"], strict=True):
        assert float(children[name].data.params["learning_rate"]) == row["learning_rate"]
        assert children[name].data.metrics["dev/f1_macro"] == pytest.approx(row["dev/f1_macro"])
        assert not [metric for metric in children[name].data.metrics if metric.startswith("test/")]
    assert cell.data.metrics["cost/tokens"] == metrics["cost"]["tokens"]
    assert cell.data.tags["precision"] in ("32-true", "bf16-mixed"), "what auto chose"


@pytest.mark.usefixtures("save_every_step")
@pytest.mark.parametrize("kill_at", [3, 8, 14])
def test_a_killed_search_goes_on_in_its_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_at: int) -> None:
    """In a trial, between trials and in the learning curve; what was done is not done again, and the bytes agree."""
    values = {"seeds": [1, 2], "search": config(trials=2, epochs=None, seeds=1), "label_counts": [32, 48]}
    values |= {"epochs": 1.0}
    whole, broken = Project(tmp_path / "whole", KINDS), Project(tmp_path / "broken", KINDS)
    whole.finetune("section", "general", **values)

    steps = 0
    step = FineTuning.training_step

    def counted(self: Any, *arguments: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == kill_at:
            raise Stop
        return step(self, *arguments)

    monkeypatch.setattr(FineTuning, "training_step", counted)
    monkeypatch.setattr(tiny, "work", lambda beside: Work(tmp_path / ".work", code=""))
    with pytest.raises(Stop):
        broken.finetune("section", "general", **values)
    before, steps = steps, 100
    broken.finetune("section", "general", **values)
    assert broken.outputs() == whole.outputs()
    total = 2 * 6 + 2 * 6 + 2 * 2 + 2 * 3
    assert steps - 100 == total - (before - 1), "no step was trained twice"


def test_fewer_labels(tmp_path: Path) -> None:
    project, counts = Project(tmp_path, KINDS), [16, 48]
    values = {"seeds": [1, 2], "epochs": 2.0, "learning_rate": 1e-2}
    metrics = project.finetune("section", "scratch", label_counts=counts, **values)
    assert [point["labels"] for point in metrics["learning_curve"]] == counts
    for point in metrics["learning_curve"]:
        alone = project.finetune("section", "scratch", labels=point["labels"], **values)
        for one, other in zip(point["seeds"], alone["seeds"], strict=True):
            assert one.items() <= other.items(), "what a run on so many labels alone would be"
        assert {"tokens": point["tokens"], "tflop": point["tflop"]} == alone["cost"]
    plain = project.finetune("section", "scratch", **values)
    assert plain["seeds"] == metrics["seeds"], "the run on all labels is as it was"
    assert metrics["cost"]["tokens"] == 2 * metrics["tokens"] + sum(row["tokens"] for row in metrics["learning_curve"])
