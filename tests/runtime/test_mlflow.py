"""The record in a real MLflow store; what a store that fails does to a stage is in test_mlflow_failures."""

import re
import threading
import time
from pathlib import Path

import pytest

from adaptbert.runtime import progress
from adaptbert.runtime.mlflow import Store, open_run
from adaptbert.runtime.signals import Interrupted
from tests.support.stores import client, runs


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, mlflow_tables: bytes) -> Path:
    """A project with a store of its own."""
    root = tmp_path_factory.mktemp("project")
    (root / "mlflow.db").write_bytes(mlflow_tables)
    (root / "params.yaml").write_text("seed: 1\n")
    return root


@pytest.fixture
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(open_run.__wrapped__, "__defaults__", (250.0,))  # a busy machine makes all calls, too
    return project


def test_everything_that_a_run_holds(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_STAGE", "finetune@section-domain-small-2")
    monkeypatch.setenv("DVC_EXP_NAME", "calm-lion")
    (inside / "card.json").write_text("{}")
    (inside / "figures/more").mkdir(parents=True)
    for name in ("a.txt", "more/b.txt"):
        (inside / "figures" / name).write_text("a")
    params = {"finetune.section.optim.learning_rate": 4e-4, "seed": 1}
    labels = {"task": "section", "arm": "domain", "base": "small", "replicate": "2"}
    with open_run("finetune", labels, params, inside / "params.yaml") as run:
        for step in (1, 5, 9):
            run.log_metrics({"train/loss": 1 / step, "train/learning_rate": 0.1}, step)
        run.log_metrics({"test/f1_macro": 0.5})
        run.set_tags({"checkpoint": "abc"})
        run.log_artifact(inside / "card.json")
        run.log_artifact(inside / "figures")
        run.log_input("tasks/section", "f" * 64, "training")
        with run.child("seed 1 section-domain-small-2", {"seed": "1"}) as child:
            child.log_metrics({"test/f1_macro": 0.25}, 7)

    (parent,) = runs(inside, "tags.stage = 'finetune' and tags.arm = 'domain'")
    assert parent.info.status == "FINISHED"
    assert parent.info.run_name == "domain section small-2"
    assert parent.data.params == {"finetune.section.optim.learning_rate": "0.0004", "seed": "1", **labels}
    assert parent.data.metrics["test/f1_macro"] == 0.5
    assert parent.data.metrics["cost/seconds"] > 0
    tags = parent.data.tags
    assert {"stage": "finetune", "checkpoint": "abc", **labels}.items() <= tags.items()
    assert {"dvc.stage": "finetune@section-domain-small-2", "dvc.experiment": "calm-lion"}.items() <= tags.items()
    history = client(inside).get_metric_history(parent.info.run_id, "train/loss")
    assert [(point.step, point.value) for point in history] == [(1, 1.0), (5, 0.2), (9, 1 / 9)]
    (data,) = parent.inputs.dataset_inputs
    assert (data.dataset.name, data.dataset.digest) == ("tasks/section", "f" * 36)
    assert [(tag.key, tag.value) for tag in data.tags] == [("mlflow.data.context", "training")]

    names = {item.path for item in client(inside).list_artifacts(parent.info.run_id)}
    assert names == {"params.yaml", "environment.txt", "card.json", "a.txt", "more"}
    assert [a.path for a in client(inside).list_artifacts(parent.info.run_id, "more")] == ["more/b.txt"]
    assert (inside / "mlartifacts").is_dir(), "beside the store, wherever the process was started"

    (child_run,) = runs(inside, f"tags.mlflow.parentRunId = '{parent.info.run_id}'")
    assert (child_run.info.status, child_run.info.run_name) == ("FINISHED", "seed 1 section-domain-small-2")
    assert child_run.data.metrics == {"test/f1_macro": 0.25}
    assert {"seed": "1", **labels}.items() <= child_run.data.tags.items()
    assert "stage" not in child_run.data.tags, "a search for stages leaves seeds out"


def test_a_stage_that_raises_is_marked_failed_with_its_child(inside: Path) -> None:
    def fail() -> None:
        with open_run("failing", {}, {}, inside / "params.yaml") as run, run.child("seed", {}) as child:
            child.log_metrics({"a": 1.0})
            raise RuntimeError("the reason")

    with pytest.raises(RuntimeError, match="the reason"):
        fail()
    (parent,) = runs(inside, "tags.stage = 'failing'")
    (child,) = runs(inside, f"tags.mlflow.parentRunId = '{parent.info.run_id}'")
    assert (parent.info.status, child.info.status) == ("FAILED", "FAILED")
    assert child.data.metrics == {"a": 1.0}, "metrics of the first process stay"


def test_many_values_are_logged_in_full(inside: Path) -> None:
    """More than the store takes in one call: a large recipe, a long curve."""
    params = {f"overrides.cell{number}.from": "x" * 7000 for number in range(250)}
    with open_run("large", {}, params, inside / "params.yaml") as run:
        for step in range(2_500):
            run.log_metrics({"train/loss": float(step)}, step)
        run.set_tags({f"tag{number}": "v" for number in range(150)})
        run.log_metrics({"last": 1.0})
    (logged,) = runs(inside, "tags.stage = 'large'")
    assert len(logged.data.params) == 250
    assert len(client(inside).get_metric_history(logged.info.run_id, "train/loss")) == 2_500
    assert logged.data.metrics["last"] == 1.0
    assert len([name for name in logged.data.tags if name.startswith("tag")]) == 150


def test_a_stage_that_was_stopped_goes_on_in_its_own_run(inside: Path, tmp_path: Path) -> None:
    """A curve is one curve, without a step twice and without a second run."""

    def part(steps: range) -> str:
        with open_run("stopped", {}, {"a": 1}, inside / "params.yaml") as run:
            run.go_on(tmp_path / "work")
            with run.child("seed 1", {"seed": "1"}) as child:
                child.go_on(tmp_path / "work/seed-1")
                for step in steps:
                    child.log_metrics({"train/loss": 1 / step}, step)
            if steps.start == 1:
                raise Interrupted("SIGTERM after step 4")
        return run.id

    with pytest.raises(Interrupted):
        part(range(1, 5))
    (stopped,) = runs(inside, "tags.stage = 'stopped'")
    assert stopped.info.status == "KILLED"
    assert part(range(3, 7)) == stopped.info.run_id
    (parent,) = runs(inside, "tags.stage = 'stopped'")
    assert (parent.info.status, parent.data.tags["resumed"]) == ("FINISHED", "true")
    (child,) = runs(inside, f"tags.mlflow.parentRunId = '{parent.info.run_id}'")
    history = client(inside).get_metric_history(child.info.run_id, "train/loss")
    assert [(point.step, point.value) for point in history] == [(step, 1 / step) for step in range(1, 7)]
    client(inside).delete_run(parent.info.run_id)
    assert part(range(3, 7)) != parent.info.run_id, "a run that was removed meanwhile is made anew"


def test_stages_of_a_recipe_lie_below_its_run(inside: Path) -> None:
    """One run per recipe, identified by the values of params.yaml: every stage uses it, the last ends it."""
    own, quick = {}, inside / "quick.yaml"
    quick.write_text("seed: 13\n")
    for seed in (11, 12):
        params = inside / f"params-{seed}.yaml"
        for comment in ("", "# the same\n"):
            params.write_text(f"{comment}seed: {seed}\n")
            with open_run("finetune", {"task": "section", "arm": f"arm{seed}"}, {}, params):
                pass
        (recipe,) = [run for run in runs(inside, "tags.stage = 'recipe'") if run.data.params == {"seed": str(seed)}]
        assert recipe.info.status == "SCHEDULED", "no process that could be killed, and not through"
        below = runs(inside, f"tags.mlflow.parentRunId = '{recipe.info.run_id}'")
        assert [run.info.run_name for run in below] == [f"arm{seed} section"] * 2
        assert {run.data.tags["recipe"] for run in below} == {recipe.info.run_name}
        assert re.fullmatch(rf"{inside.name} [0-9a-f]{{7}}", recipe.info.run_name)
        own[seed] = recipe.info.run_id

    connect = Store._connect
    with pytest.MonkeyPatch.context() as patch:  # all calls are queued before the first is made
        patch.setattr(Store, "_connect", lambda store: (time.sleep(0.5), connect(store)))
        with open_run("compare", {}, {}, quick):
            pass
    (recipe,) = [run for run in runs(inside, "tags.stage = 'recipe'") if run.data.params == {"seed": "13"}]
    assert [item.path for item in client(inside).list_artifacts(recipe.info.run_id)] == ["quick.yaml"]

    with open_run("compare", {}, {}, inside / "params-12.yaml") as run:
        run.conclude_recipe({"section/domain": 59.3, "section/differences/recipe": 3.1})
    first, second = (client(inside).get_run(own[seed]) for seed in (11, 12))
    assert (first.info.status, second.info.status) == ("SCHEDULED", "FINISHED")
    assert second.data.metrics == {"section/domain": 59.3, "section/differences/recipe": 3.1}
    assert [item.path for item in client(inside).list_artifacts(own[12])] == ["params-12.yaml"]


def test_the_load_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under MLflow's own names, without a thread; and a failure stops nothing."""
    monkeypatch.delenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", raising=False)
    threads = {thread.name for thread in threading.enumerate()}
    load = progress.load_of_machine()
    assert load["system/cpu_utilization_percentage"] >= 0
    assert 0 < load["system/system_memory_usage_percentage"] < 100
    assert 10 < load["system/process_memory_megabytes"] < 100_000, "in megabytes, and of Python more than ten"
    assert {thread.name for thread in threading.enumerate()} == threads
    monkeypatch.setattr(progress, "_monitor", lambda: 1)
    assert progress.load_of_machine() == {}
    monkeypatch.undo()
    monkeypatch.setenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "false")
    assert progress.load_of_machine() == {}
