"""The search tries what optuna asks for, and dev chooses; fewer labels; a killed cell goes on in the run it was in."""

from collections.abc import Mapping
from contextlib import nullcontext
from math import log10, nan
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from adaptbert.config.schema.finetuning import Search
from adaptbert.core.files import read_json
from adaptbert.tasks.extra_runs import best, search, search_seeds
from adaptbert.tasks.module import FineTuning
from adaptbert.training.stability import Diverged
from tests.support import tiny, tiny_params
from tests.support.cells import Project

pytest.importorskip("optuna", reason="an extra: pip install 'adaptbert[search]'")

KINDS = {"section": ("single_sentence", "class")}
USUAL = tiny_params.cell(learning_rate=1e-3)
FEW = {"trials": 4, "learning_rate": [1e-9, 1e-1], "epochs": [1.0, 2.0], "seeds": 2}
MANY = {"trials": 14, "learning_rate": [1e-6, 1e-1], "epochs": [1.0, 5.0, 9.0], "seeds": 1}


def config(**values: Any) -> Search:
    return Search.model_validate(FEW | values)


def peak(values: Mapping[str, Any]) -> float:
    """Best where the learning rate is 1e-3 and there are 5 epochs."""
    return -abs(log10(values["learning_rate"]) + 3) - abs(values["epochs"] - 5) / 10


def test_the_first_of_the_best_is_chosen_and_never_one_without_a_score() -> None:
    assert best([0.1, 0.5, 0.5, 0.2]) == 1
    assert best([None, 0.1, None, 0.2]) == 3
    results = search(config(**MANY), USUAL, 1, lambda values: None if values["epochs"] < 5 else peak(values))
    assert {values["epochs"] < 5 for values, _ in results} == {True, False}
    assert results[best([score for _, score in results])][0]["epochs"] >= 5


@pytest.mark.parametrize("sizes", [None, [8, 16, 32]])
def test_optuna_is_deterministic_and_spends_as_much_on_every_arm(sizes: list[int] | None) -> None:
    """Equal scores give equal points, so an interrupted search can be repeated; and an arm that is better the longer it
    trains gets no more training than another."""
    values = config(**{**MANY, "trials": 40, "global_batch_size": sizes})
    first, again, other = (
        [point for point, _ in search(values, USUAL, 1, score)] for score in (peak, peak, lambda point: -peak(point))
    )
    assert first == again
    assert first != other, "it learns from scores"
    for points in (first, other):
        assert len({tuple(point.values()) for point in points}) == len(points) == 40
        assert [point["epochs"] for point in points] == [1.0, 5.0, 9.0] * 13 + [1.0]
        assert all(1e-6 <= point["learning_rate"] <= 1e-1 for point in points)
        assert {point["global_batch_size"] for point in points} <= {*(sizes or [16])}


def test_the_luck_of_a_search_is_that_of_its_replicate() -> None:
    """Its spread would be missing from intervals if all replicates began at the same points."""
    values = config(**MANY)
    begun = {replicate: [point for point, _ in search(values, USUAL, replicate, peak)][:10] for replicate in (0, 1, 2)}
    rates = [{point["learning_rate"] for point in points} for points in begun.values()]
    assert [len(each) for each in rates] == [10] * 3
    assert len(set.union(*rates)) == 30
    assert len({*search_seeds(config(), 0), *search_seeds(config(), 1), *search_seeds(config(), 2)}) == 6
    other_arm = search(values, USUAL, 2, lambda point: -peak(point))
    assert [point for point, _ in other_arm][:10] == begun[2], "until optuna learns, arms try the same points"


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, dict[str, Any], Any]:
    """The metrics, and the run that was told; a child is its attribute."""
    project, run = Project(tmp_path_factory.mktemp("project"), KINDS), MagicMock()
    run.child.side_effect = lambda name, _: nullcontext(getattr(run, name))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tiny, "no_record", lambda: run)
        metrics = project.finetune("section", "general", seeds=[1], search=config(), precision="auto")
    return project, metrics, run


def test_the_dev_split_chooses_and_the_seeds_train_with_it(searched: Any) -> None:
    project, whole, _ = searched
    metrics, rows = whole["search"], whole["search"]["trials"]
    assert [(row["global_batch_size"], row["epochs"]) for row in rows] == [(16, 1.0), (16, 2.0)] * 2
    scores = [row["dev/f1_macro"] for row in rows]
    assert len(set(scores)) > 1
    assert metrics["chosen"] == scores.index(max(scores)) + 1
    assert scores == [pytest.approx(sum(row["seeds"]) / 2) for row in rows]
    assert metrics["seeds"] == search_seeds(config(), 0) == search_seeds(config(seeds=3), 0)[:2]
    assert len(set(metrics["seeds"])) == 2
    assert min(metrics["seeds"]) > 1_000_000, "people write small ones, and these are those of no result"

    chosen = rows[metrics["chosen"] - 1]
    card = read_json(project.root / "models/finetune/section-general/card.json")
    assert card["params"]["learning_rate"] == chosen["learning_rate"]
    assert card["params"]["epochs"] == whole["epochs"] == chosen["epochs"]
    assert metrics["tokens"] == sum(row["tokens"] for row in rows)
    assert whole["cost"]["tokens"] == whole["tokens"] + metrics["tokens"]
    assert whole["cost"]["tflop"] == pytest.approx(whole["tflop"] + metrics["tflop"], abs=2e-3)
    assert rows[1]["tokens"] > 1.9 * rows[0]["tokens"], "twice the epochs, two seeds each"


def told(run: MagicMock) -> dict[str, float]:
    return {name: value for each in run.log_metrics.call_args_list for name, value in each.args[0].items()}


def test_each_trial_is_a_child_run_with_its_values(searched: Any) -> None:
    _, metrics, run = searched
    search = metrics["search"]
    trials = [(number, row, seed) for number, row in enumerate(search["trials"], 1) for seed in search["seeds"]]
    children = [(f"trial {n} section-general seed {s}", {"trial": f"trial {n}", "seed": str(s)}) for n, _, s in trials]
    assert [each.args for each in run.child.call_args_list] == [*children, ("seed 1 section-general", {"seed": "1"})]
    assert told(run)["cost/tokens"] == metrics["cost"]["tokens"]
    for (_, row, seed), (name, _) in zip(trials, children, strict=True):
        child, values = getattr(run, name), ("learning_rate", "global_batch_size", "epochs")
        child.log_params.assert_called_once_with({name: row[name] for name in values})
        assert told(child)["dev/f1_macro"] == row["seeds"][search["seeds"].index(seed)]
        assert not [metric for metric in told(child) if metric.startswith(("test/", "cost/"))]
    assert run.set_tags.call_args_list[0].args[0]["precision"] in ("32-true", "bf16-mixed"), "what auto chose"


def test_the_chosen_values_alone_give_the_same_seeds(tmp_path: Path, searched: Any) -> None:
    _, whole, _ = searched
    search = whole["search"]
    values = {name: search["trials"][search["chosen"] - 1][name] for name in ("learning_rate", "epochs")}
    alone = Project(tmp_path, KINDS).finetune("section", "general", seeds=[1], precision="auto", **values)
    assert "search" not in alone
    assert alone["cost"] == {"tokens": alone["tokens"], "tflop": alone["tflop"]}
    assert alone["seeds"] == whole["seeds"]


def test_a_trial_that_diverges_costs_what_it_was_trained_and_is_not_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its losses are no numbers from the second step on."""
    project, values = Project(tmp_path, KINDS), config(trials=2, epochs=None)
    step, (of_first, _) = FineTuning.training_step, search(values, USUAL, 0, lambda _: 0.0)[0]

    def spoilt(self: Any, batch: Any, k: int) -> Any:
        self.calls = getattr(self, "calls", 0) + 1
        is_spoilt = self._optim.learning_rate == of_first["learning_rate"] and self.calls > batch.in_step
        return step(self, batch, k) * (nan if is_spoilt else 1.0)

    monkeypatch.setattr(FineTuning, "training_step", spoilt)
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


def test_replicates_of_a_checkpoint_that_is_trained_once_search_by_themselves(tmp_path: Path) -> None:
    project, values = Project(tmp_path, KINDS), config(trials=1, epochs=None, seeds=1)
    of_each = [project.finetune("section", "general", replicate=n, seeds=[1], search=values)["search"] for n in (1, 2)]
    assert [each["seeds"] for each in of_each] == [search_seeds(values, 1), search_seeds(values, 2)]
    first, second = (each["trials"][0]["learning_rate"] for each in of_each)
    assert first != second


@pytest.mark.usefixtures("save_every_step")
def test_a_killed_cell_goes_on_in_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a trial, between trials, in a seed and in the learning curve; what was done is not done again, and the bytes
    agree, with layers that learn at rates of their own."""
    values = {"seeds": [1, 2], "search": config(trials=2, epochs=None, seeds=1), "label_counts": [32, 48]}
    values |= {"epochs": 1.0, "layer_decay": 0.7}
    whole, broken = Project(tmp_path / "whole", KINDS), Project(tmp_path / "broken", KINDS)
    whole.finetune("section", "general", **values)
    steps = broken.finetune_over_kills([3, 6, 14, 19, 26], monkeypatch, "section", "general", **values)
    assert broken.outputs() == whole.outputs()
    assert steps == 2 * 6 + 2 * 6 + 2 * 2 + 2 * 3, "no step was trained twice"


def test_fewer_labels(tmp_path: Path) -> None:
    """What runs on so many labels alone would be; the other runs are as they were."""
    project, counts = Project(tmp_path, KINDS), [16, 48]

    def of(seeds: list[int], labels: int, **more: Any) -> dict[str, Any]:
        return project.finetune(
            "section", "scratch", seeds=seeds, labels=labels, epochs=2.0, learning_rate=1e-2, **more
        )

    metrics = of([1, 2], 64, label_counts=counts)
    points, each = metrics["learning_curve"], [of([seed], 64) for seed in (1, 2)]
    assert (metrics["labels"], [point["labels"] for point in points]) == (64, counts)
    for point in points:
        alone = of([1, 2], point["labels"])
        for one, other in zip(point["seeds"], alone["seeds"], strict=True):
            assert one.items() <= other.items()
        assert {"tokens": point["tokens"], "tflop": point["tflop"]} == alone["cost"]
    assert [one["seeds"][0] for one in each] == metrics["seeds"]
    assert metrics["cost"]["tokens"] == sum(one["tokens"] for one in [*each, *points])
