"""One cell of the comparison: all seeds, the test set opened last, the best on dev kept, the same bytes twice."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from adaptbert.core.files import read_json
from adaptbert.data import labelled_set as labelled
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.prediction.predictor import Predictor
from adaptbert.tasks import seed_run
from adaptbert.tasks.metrics.scores import classification_metrics, span_metrics
from adaptbert.tasks.seed_run import SeedRun
from tests.support import tiny
from tests.support.cells import Project

KINDS = {"section": ("single_sentence", "class"), "mention": ("sequence_labelling", "spans")}
SPLITS = {"train": 96, "dev": 24, "test": 32}


EPOCHS, SEEDS = 8.0, [3, 1, 2]
LEARNABLE = {"epochs": EPOCHS, "seeds": SEEDS, "learning_rate": 1e-2}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Both tasks from a rung with weights; the tests only look."""
    project = Project(tmp_path_factory.mktemp("project"), KINDS)
    for task in KINDS:
        project.finetune(task, "general", **LEARNABLE)
    return project


@pytest.fixture
def fresh(tmp_path: Path) -> Project:
    return Project(tmp_path, KINDS)


@pytest.mark.parametrize("task", KINDS)
def test_what_is_written(project: Project, task: str) -> None:
    folder = project.root / f"models/finetune/{task}-general"
    names = ["card.json", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    card = read_json(folder / "card.json")
    assert card["rung"] == f"finetune/{task}-general"
    assert card["init"] == Checkpoint.load(project.root / "models/pretrain").digest
    for name in ("card.json", "config.json"):
        text = (folder / name).read_text(encoding="utf-8")
        assert str(project.root) not in text
        assert not re.search(r"20\d\d-\d\d|\d\d:\d\d|seconds|run_id", text), "no time and no run"

    metrics = read_json(project.root / f"metrics/{task}-general.json")
    metric = {"section": "f1_macro", "mention": "f1_span"}[task]
    expected = {"task": task, "arm": "general", "from": "pretrain", "metric": metric, "labels": 96, "examples": 96}
    expected |= {"shape": KINDS[task][0], "target": KINDS[task][1], "steps": 48}  # 8 * 96 / 16
    assert expected.items() <= metrics.items()
    assert [seed["seed"] for seed in metrics["seeds"]] == SEEDS
    for seed in metrics["seeds"]:
        assert [point["step"] for point in seed["curve"]] == [6 * epoch for epoch in range(1, 9)]
        assert seed["curve"][-1][f"dev/{metric}"] == seed[f"dev/{metric}"]
        assert seed["curve"][-1]["train/loss"] < seed["curve"][0]["train/loss"]
    assert max(seed[f"test/{metric}"] for seed in metrics["seeds"]) > 0.6, "what can be learnt is learnt"


@pytest.mark.parametrize("task", KINDS)
def test_the_scores_are_those_of_the_predictions(project: Project, task: str) -> None:
    rows, metrics = project.predictions(f"{task}-general"), read_json(project.root / f"metrics/{task}-general.json")
    test = labelled.split(project.root / "data" / task, "test")
    for seed in metrics["seeds"]:
        own = [row for row in rows if row["seed"] == seed["seed"]]
        assert [row["id"] for row in own] == [row["id"] for row in test], "every row of the test set, once a seed"
        if task == "section":
            assert [row["gold"] for row in own] == [row["label"] for row in test]
            score = classification_metrics([row["gold"] for row in own], [row["predicted"] for row in own])
        else:
            gold, predicted = ([json.loads(row[column]) for row in own] for column in ("gold", "predicted"))
            assert gold == [row["tags"] for row in test]
            assert [len(tags) for tags in predicted] == [len(row["tokens"]) for row in test]
            score = span_metrics(gold, predicted)
        assert {f"test/{name}": value for name, value in score.items()}.items() <= seed.items()
        assert all(0 < row["confidence"] <= 1 for row in own)
    assert len(rows) == len(SEEDS) * len(test)


@pytest.mark.parametrize("task", KINDS)
def test_the_checkpoint_is_the_seed_that_is_best_on_dev(project: Project, task: str) -> None:
    """Opened again from the disk, it gives the predictions of that seed."""
    metrics = read_json(project.root / f"metrics/{task}-general.json")
    dev = f"dev/{metrics['metric']}"
    best = max(metrics["seeds"], key=lambda seed: seed[dev])  # the first of equals
    rows = labelled.split(project.root / "data" / task, "test")
    answers = list(Predictor.load(project.root / f"models/finetune/{task}-general").answers(rows))
    expected = [row for row in project.predictions(f"{task}-general") if row["seed"] == best["seed"]]
    texts = [answer["label"] if task == "section" else json.dumps(answer["tags"]) for answer in answers]
    assert texts == [row["predicted"] for row in expected]
    assert [answer["confidence"] for answer in answers] == pytest.approx(
        [row["confidence"] for row in expected], abs=1e-5
    )


@pytest.mark.parametrize("task", KINDS)
def test_twice_gives_equal_bytes(tmp_path: Path, task: str) -> None:
    outputs = []
    for number in (0, 1):
        project = Project(tmp_path / str(number), KINDS)
        torch.manual_seed(number)
        np.random.seed(number)
        project.finetune(task, "general", precision="bf16-mixed")
        outputs.append(project.outputs())
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) == 7


def test_a_seed_gives_the_same_whatever_came_before_it(fresh: Project) -> None:
    both = fresh.finetune("section", "general", seeds=[1, 2])["seeds"]
    alone = fresh.finetune("section", "general", seeds=[2])["seeds"]
    assert alone == both[1:]


def test_from_scratch_each_seed_has_its_own_weights(fresh: Project) -> None:
    """Without a step worth the name, the saved weights are those that the seed drew."""
    words = []
    for seed in (1, 2):
        metrics = fresh.finetune("section", "scratch", seeds=[seed], learning_rate=1e-12, epochs=0.1)
        assert metrics["from"] == "scratch"
        assert metrics["steps"] == 1
        weights = load_file(fresh.root / "models/finetune/section-scratch/model.safetensors")
        words.append(weights["bert.embeddings.word_embeddings.weight"])
    assert not torch.allclose(*words, atol=1e-3)


def test_each_split_is_opened_and_tokenised_once_and_test_last(fresh: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """For all trials and seeds; a point of a learning curve tokenises the rows of each seed. Test after all trials and
    the training of the first seed."""
    pytest.importorskip("optuna")
    events: list[str] = []

    def spy(what: str, name: Callable[[Any], str]) -> None:
        module, _, attribute = what.rpartition(".")
        real = getattr(resolve_name(module), attribute)

        def spied(*arguments: Any, **named: Any) -> Any:
            events.append(name(arguments))
            return real(*arguments, **named)

        monkeypatch.setattr(what, spied)

    spy("adaptbert.data.labelled_set.split", lambda arguments: f"opens {arguments[1]}")
    spy("adaptbert.tasks.shape.Shape.examples", lambda arguments: f"tokenises {len(arguments[1])}")
    spy("adaptbert.tasks.seed_run.fit", lambda _: "trains")
    search = {"trials": 2, "learning_rate": [1e-9, 1e-2], "seeds": 2}
    fresh.finetune("section", "general", seeds=[1, 2], epochs=2.0, label_counts=[32], search=search)
    train, dev, test = (["opens " + name, f"tokenises {rows}"] for name, rows in SPLITS.items())
    assert events == [*train, *dev, *["trains"] * 4, "trains", *test, "trains", *["tokenises 32", "trains"] * 2]


def test_cut_rows_and_a_seed_that_predicts_one_class_are_counted(fresh: Project) -> None:
    metrics = fresh.finetune("section", "general", seeds=[1], max_length=12, learning_rate=1e-12, epochs=0.1)
    assert len({row["predicted"] for row in fresh.predictions("section-general")}) == 1
    assert metrics["seeds"][0]["degenerate"]
    rows = labelled.split(fresh.root / "data/section", "train")
    lengths = [len(encoding.ids) + 2 for encoding in tiny.tokenizer().encode([row["text"] for row in rows])]
    assert metrics["seeds"][0]["cut"] == sum(length > 12 for length in lengths) > 0
    assert metrics["examples"] == 96


def test_unanswerable_rows_are_reported_and_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of every split."""
    project = Project(tmp_path, {"asked": ("extractive_answer", "answer")})
    metrics = project.finetune("asked", "general", {"max_answer": 2}, seeds=[1], epochs=0.2)
    printed = capsys.readouterr().out
    for split, count in SPLITS.items():
        rows = labelled.split(tmp_path / "data/asked", split)
        long = sum(answer["text"] == "bread or fish" for row in rows for answer in row["answers"])
        assert metrics["lost"][split] == {"answers_cut_away": 0, "answers_too_long": long}
        assert f"warning: {split}: answers_cut_away 0, answers_too_long {long} of {count} rows" in printed
        assert long > 0


def test_what_fails_at_the_end_leaves_nothing(fresh: Project) -> None:
    """The test set cannot be read when it is opened, after the training."""
    test = fresh.root / "data/section/test.parquet"
    test.write_bytes(test.read_bytes()[:200])
    with pytest.raises(Exception, match="Parquet"):
        fresh.finetune("section", "general", seeds=[1])
    assert fresh.outputs() == {}
    assert not list(fresh.root.rglob("*.part"))


# The labels of each seed


def test_each_seed_has_labels_of_its_own_in_every_arm_alike(fresh: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is trained on, with a point of the learning curve: its rows are among those of the same seed."""
    trained: list[set[bytes]] = []
    real = seed_run._batches

    def noted(request: SeedRun, *others: Any) -> Any:
        examples = [request.examples.take(np.array([number])) for number in range(len(request.examples))]
        trained.append({example.ids.tobytes() for example in examples})
        return real(request, *others)

    monkeypatch.setattr(seed_run, "_batches", noted)
    for arm in ("general", "scratch"):
        metrics = fresh.finetune("section", arm, labels=40, label_counts=[20], seeds=[1, 2])
        assert metrics["labels"] == 40
    general, scratch = trained[:4], trained[4:]
    assert general == scratch, "the same for every arm"
    first, second, fewer, fewer_second = general
    assert (len(first), len(second), len(fewer), len(fewer_second)) == (40, 40, 20, 20)
    assert fewer < first
    assert fewer_second < second
    assert 0 < len(first & second) < 40, "two draws of 40 of 96"


def test_the_cost_is_that_of_every_seed(fresh: Project) -> None:
    """Seeds with other labels read other numbers of tokens."""
    each = [fresh.finetune("section", "general", labels=40, seeds=[seed])["tokens"] for seed in (1, 2)]
    both = fresh.finetune("section", "general", labels=40, label_counts=[20], seeds=[1, 2])
    fewer = both["learning_curve"][0]["tokens"]
    assert each[0] != each[1]
    assert both["cost"]["tokens"] == sum(each) + fewer
