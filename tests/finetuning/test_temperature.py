"""A cell's temperature is that of its dev scores, and what it says of test is what the predictions file says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit, softmax

from adaptbert.base.files import read_json, write_json
from adaptbert.comparison.evaluation.inspection import inspect_cells
from adaptbert.comparison.records import Tempered
from adaptbert.finetuning import temperature
from adaptbert.prediction.predictor import Predictor
from adaptbert.rows import labelled_set as labelled
from tests.support import tiny, tiny_params, tiny_tasks
from tests.support.cells import Project
from tests.support.simulated import ARMS, compared, simulate

KINDS = {
    "section": ("single_sentence", "class"),
    "themes": ("sentence_pair", "labels"),
    "score": ("single_sentence", "number"),
    "mention": ("sequence_labelling", "spans"),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Trained until they are too sure."""
    made = Project(tmp_path_factory.mktemp("project"), KINDS, (64, 60, 80))
    for task in KINDS:
        made.finetune(
            task, "general", seeds=[1, 2], epochs=6.0, optim=tiny_params.optim(learning_rate=5e-3), dropout=0.0
        )
    return made


def metrics(project: Project, task: str) -> list[dict[str, Any]]:
    seeds: list[dict[str, Any]] = read_json(project.root / f"metrics/{task}-general.json")["seeds"]
    return seeds


@pytest.mark.parametrize("task", ["section", "themes"])
def test_it_has_the_highest_likelihood_on_dev_for_the_kept_weights(project: Project, task: str) -> None:
    """The likelihood is written anew, over what the saved model says of the dev rows."""
    seeds = metrics(project, task)
    card = read_json(project.root / f"models/finetune/{task}-general/card.json")
    value = card["task"]["tuned"]["temperature"]
    assert value in [seed["tuned"]["temperature"] for seed in seeds]
    assert len({seed["tuned"]["temperature"] for seed in seeds}) == 2
    predictor = Predictor.load(project.root / f"models/finetune/{task}-general")
    dev = labelled.split(project.root / "data" / task, "dev")
    probabilities = [answer["probabilities"] for answer in predictor.answers(dev, probabilities=True)]
    names = list(probabilities[0])
    chances = np.array([[row[name] for name in names] for row in probabilities])
    gold = [{row["label"]} if task == "section" else set(row["labels"]) for row in dev]
    right = np.array([[name in labels for name in names] for labels in gold])

    def unlikely(temperature: float) -> float:
        if task == "section":
            return -float(np.log(softmax(np.log(chances) / temperature, -1)[right]).sum())
        yes = expit(np.log(chances / (1 - chances)) / temperature)
        return -float(np.log(np.where(right, yes, 1 - yes)).sum())

    minimum = optimize.minimize_scalar(unlikely, bounds=(0.02, 50), method="bounded", options={"xatol": 1e-7})
    assert value == pytest.approx(minimum.x, rel=1e-2)


@pytest.mark.parametrize("task", ["section", "themes"])
def test_its_error_without_it_is_that_of_the_predictions(project: Project, task: str) -> None:
    seeds = metrics(project, task)
    calibration = inspect_cells([project.root / f"predictions/{task}-general.parquet"], KINDS[task][1]).calibration
    assert calibration is not None
    assert sum(seed["ece"] for seed in seeds) / 2 == pytest.approx(calibration.ece, abs=1e-6)
    assert all(0 <= seed["ece_tempered"] <= 1 and seed["ece_tempered"] != seed["ece"] for seed in seeds)


def test_it_belongs_to_the_kept_weights(tmp_path: Path) -> None:
    project = Project(tmp_path, {"section": KINDS["section"]}, (64, 60, 40))
    project.finetune(
        "section",
        "general",
        seeds=[1],
        epochs=8.0,
        optim=tiny_params.optim(learning_rate=2e-2),
        early_stopping={"patience": 2},
    )
    (seed,) = metrics(project, "section")
    by_step = {point["step"]: point["tuned/temperature"] for point in seed["curve"]}
    assert seed["tuned"]["temperature"] == by_step[seed["kept_step"]]
    assert len(set(by_step.values())) == len(by_step)


@pytest.mark.parametrize("task", ["score", "mention"])
def test_other_targets_have_none(project: Project, task: str) -> None:
    for seed in metrics(project, task):
        assert "temperature" not in seed["tuned"]
        assert not {"ece", "ece_tempered"} & seed.keys()


@pytest.mark.parametrize("target", ["class", "labels"])
def test_what_is_too_sure_is_mended_and_what_is_certain_has_a_temperature(target: str) -> None:
    """Scores three times as large as is true; and some at which a probability is 0 or 1 in all its digits."""
    shape, dice = tiny_tasks.shape_of("single_sentence", target), np.random.default_rng(1)
    classes, rows = len(shape.classes), 1500
    true = dice.normal(0, 1.5, (rows, classes))
    if target == "class":
        chosen = (softmax(true, -1).cumsum(-1) < dice.random((rows, 1))).sum(-1).clip(max=classes - 1)
        labelled_rows = [{"text": "x", "label": shape.classes[number]} for number in chosen]
    else:
        yes = dice.random(true.shape) < expit(true)
        labelled_rows = [{"text": "x", "labels": [shape.classes[n] for n in np.flatnonzero(row)]} for row in yes]
    examples = shape.examples(labelled_rows, tiny.tokenizer(), 16)
    tuned = temperature.fitted(shape, labelled_rows, examples, 3 * true)
    assert tuned["temperature"] == pytest.approx(3, rel=0.1)
    errors = temperature.judged(shape, labelled_rows, examples, 3 * true, tuned)
    assert errors["ece_tempered"] < errors["ece"] / 2
    assert np.isfinite(temperature.fitted(shape, labelled_rows, examples, 500 * true)["temperature"])


def test_the_comparison_takes_it_from_the_chosen_arm(tmp_path: Path) -> None:
    made = simulate(tmp_path, tasks=["section"], seeds=(1, 2))
    for number, arm in enumerate(ARMS):
        path = made.cell(arm)
        cell = read_json(path)
        for seed in cell["seeds"]:
            error = 0.1 * number + 0.02 * seed["seed"]
            seed |= {"tuned": {"temperature": number + seed["seed"] / 4}, "ece": 0.9, "ece_tempered": error}
        write_json(path, cell)
    (task,) = compared(made).tasks
    number = list(ARMS).index(str(task.chosen))
    arm = task.arm(str(task.chosen))
    assert arm is not None
    (draw,) = arm.by_draw
    temperatures = {(draw, 1): number + 0.25, (draw, 2): number + 0.5}
    assert task.tempered == Tempered(temperatures, pytest.approx(0.1 * number + 0.03))
