"""A task in one arm: all seeds, the test set opened last, the best on dev kept, the same bytes twice.

tests/prediction shows that every task type learns, and that its folder is enough to answer alike.
"""

import re
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForTokenClassification

from adaptbert.config.schema.task_types import TARGETS, parsed, spec_of, written
from adaptbert.core.files import read_json
from adaptbert.data import labelled_set as labelled
from adaptbert.errors import UserError
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.prediction.predictor import Predictor
from adaptbert.tasks.metrics.scoring import COMPARED_BY, SCORING
from adaptbert.tasks.seed_run import TaskRun
from tests.support import tiny, tiny_params, tiny_tasks
from tests.support.cells import Project

KINDS: dict[str, Any] = {"section": ("single_sentence", "class"), "mention": ("sequence_labelling", "spans")}
OTHERS: dict[str, Any] = {"score": ("single_sentence", "number"), "words": ("sequence_labelling", "tags")}
SPLITS = {"train": 96, "dev": 24, "test": 32}
SEEDS = [3, 1, 2]
LEARNT = {"epochs": 4.0, "learning_rate": 1e-2}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Both tasks from a checkpoint with weights; the tests only look."""
    project = Project(tmp_path_factory.mktemp("project"), KINDS)
    for task in KINDS:
        project.finetune(task, "general", seeds=SEEDS, **LEARNT)
    return project


@pytest.fixture
def fresh(tmp_path: Path) -> Project:
    return Project(tmp_path, KINDS | OTHERS)


def read_metrics(project: Project, task: str) -> dict[str, Any]:
    metrics: dict[str, Any] = read_json(project.root / f"metrics/{task}-general.json")
    return metrics


def answers_alike(project: Project, task: str, recorded: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the checkpoint, opened again from the disk, answers: these predictions."""
    rows = labelled.split(project.root / "data" / task, "test")
    predictor = Predictor.load(project.root / f"models/finetune/{task}-general")
    answers = predictor.predict(rows, probabilities=True)
    for answer, row in zip(answers, recorded, strict=True):
        assert written(answer[TARGETS[predictor.task.target].answer]) == row["predicted"]
        assert answer["confidence"] == pytest.approx(row["confidence"], abs=1e-5)
    return answers


# What is written


@pytest.mark.parametrize("task", KINDS)
def test_what_is_written(project: Project, task: str) -> None:
    folder = project.root / f"models/finetune/{task}-general"
    names = ["card.json", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    card = read_json(folder / "card.json")
    assert card["checkpoint"] == f"finetune/{task}-general"
    assert card["init"] == Checkpoint.load(project.root / "models/pretrain").digest
    for name in ("card.json", "config.json"):
        text = (folder / name).read_text(encoding="utf-8")
        assert str(project.root) not in text
        assert not re.search(r"20\d\d-\d\d|\d\d:\d\d|seconds|run_id", text), "no time and no run"

    metrics, metric = read_metrics(project, task), COMPARED_BY[KINDS[task][1]]
    expected = {"task": task, "arm": "general", "from": "pretrain", "metric": metric, "labels": 96, "examples": 96}
    expected |= {"type": spec_of(*KINDS[task]).name, "steps": 24}  # 4 * 96 / 16
    assert expected.items() <= metrics.items()
    assert [seed["seed"] for seed in metrics["seeds"] if "restarted" not in seed] == SEEDS
    for seed in metrics["seeds"]:
        assert [point["step"] for point in seed["curve"]] == [6, 12, 18, 24]
        assert seed["curve"][-1][f"dev/{metric}"] == seed[f"dev/{metric}"]
        assert seed["curve"][-1]["train/loss"] < seed["curve"][0]["train/loss"]


@pytest.mark.parametrize("task", KINDS)
def test_the_predictions_have_the_scores_and_the_checkpoint_is_the_best_on_dev(project: Project, task: str) -> None:
    """Every seed has predictions, for each row of the test set: those of its last run, where one failed."""
    rows, metrics, (kind, name) = project.predictions(f"{task}-general"), read_metrics(project, task), KINDS[task]
    test, target = labelled.split(project.root / "data" / task, "test"), TARGETS[name]
    last = {seed["seed"]: seed for seed in metrics["seeds"]}
    for number, seed in enumerate(last.values()):
        own = rows[number * len(test) : (number + 1) * len(test)]
        assert [(row["seed"], row["id"]) for row in own] == [(seed["seed"], row["id"]) for row in test]
        predicted = [parsed(row["predicted"], target.answer_cell) for row in own]
        gold = [row[target.column] for row in test]
        assert [parsed(row["gold"], target.cell) for row in own] == gold
        score = SCORING[name].score(gold, predicted, tiny_tasks.described(kind, name))
        assert {f"test/{name}": value for name, value in score.items()}.items() <= seed.items()
        assert all(0 < row["confidence"] <= 1 for row in own)
    assert len(rows) == len(SEEDS) * len(test)
    learned = [seed for seed in metrics["seeds"] if not seed["failed"]]
    best = max(learned, key=lambda seed: seed[f"dev/{metrics['metric']}"])  # the first of equals
    answers_alike(project, task, [row for row in rows if row["seed"] == best["seed"]])


def test_twice_gives_equal_bytes(tmp_path: Path) -> None:
    outputs = []
    for number in (0, 1):
        project = Project(tmp_path / str(number), KINDS)
        torch.manual_seed(number)
        np.random.seed(number)
        for task in KINDS:
            project.finetune(task, "general", precision="bf16-mixed", epochs=1.0)
        outputs.append(project.outputs())
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) == 14


# Options: each does something, and the folder is enough to predict


OPTIONS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "crf": ("mention", {"decoder": "crf"}, {}),
    "crf of tags": ("words", {"decoder": "crf"}, {}),
    "weights": ("section", {}, {"class_weights": {"code": 0.1, "prose": 4.0}}),
    "early": ("section", {}, {"early_stopping": {"patience": 1}}),
    "decay": ("section", {}, {"layer_decay": 0.5}),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_does_something_and_the_folder_is_enough_to_predict(
    project: Project, fresh: Project, name: str
) -> None:
    task, options, more = OPTIONS[name]
    metrics = fresh.finetune(task, "general", options, seeds=[1], **LEARNT, **more)
    recorded, (seed,) = fresh.predictions(f"{task}-general"), metrics["seeds"]
    if task in KINDS:
        assert recorded != [row for row in project.predictions(f"{task}-general") if row["seed"] == 1]
    answers = answers_alike(fresh, task, recorded)
    if name == "early":
        scores = {point["step"]: point["dev/f1_macro"] for point in seed["curve"]}
        assert (seed["kept_step"], seed["steps"]) == (max(scores, key=lambda step: scores[step]), max(scores))
    folder = fresh.root / f"models/finetune/{task}-general"
    held = load_file(folder / "model.safetensors")
    assert {key.split(".")[0] for key in held} - {"bert", "classifier"} == ({"crf"} if "decoder" in options else set())
    if "decoder" in options:
        assert (held["crf.between"] != 0).any(), "it was learnt"
        stock = AutoModelForTokenClassification.from_pretrained(str(folder))
        assert torch.equal(stock.classifier.weight, held["classifier.weight"]), "stock transformers opens it"
        words = [sum(word.values()) for answer in answers for word in answer["probabilities"]]
        assert words == pytest.approx([1.0] * len(words), abs=1e-4)


# Seeds, splits and labels


def test_a_seed_decides_all_of_random_weights(fresh: Project) -> None:
    words = []
    for seed in (1, 2):
        metrics = fresh.finetune("section", "scratch", seeds=[seed], learning_rate=1e-12, epochs=0.1)
        assert (metrics["from"], metrics["steps"]) == ("scratch", 1)
        held = load_file(fresh.root / "models/finetune/section-scratch/model.safetensors")
        words.append(held["bert.embeddings.word_embeddings.weight"])
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
    spy("adaptbert.tasks.head.TaskHead.examples", lambda arguments: f"tokenises {len(arguments[1])}")
    spy("adaptbert.tasks.seed_run.fit", lambda _: "trains")
    search = {"trials": 2, "learning_rate": [1e-9, 1e-2], "seeds": 2}
    fresh.finetune("section", "general", seeds=[1, 2], epochs=2.0, label_counts=[32], search=search)
    train, dev, test = (["opens " + name, f"tokenises {rows}"] for name, rows in SPLITS.items())
    assert events == [*train, *dev, *["trains"] * 4, "trains", *test, "trains", *["tokenises 32", "trains"] * 2]


def test_cut_rows_and_a_seed_that_predicts_one_class_are_counted(fresh: Project) -> None:
    metrics = fresh.finetune("section", "general", seeds=[1], max_length=12, learning_rate=1e-12, epochs=0.1)
    assert len({row["predicted"] for row in fresh.predictions("section-general")}) == 1
    assert metrics["seeds"][0]["failed"]
    rows = labelled.split(fresh.root / "data/section", "train")
    lengths = [len(encoding.ids) + 2 for encoding in tiny.tokenizer().encode([row["text"] for row in rows])]
    assert metrics["seeds"][0]["cut"] == sum(length > 12 for length in lengths) > 0


def test_unanswerable_rows_are_reported_and_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of every split."""
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


def test_each_seed_has_labels_of_its_own_in_every_arm_alike(fresh: Project) -> None:
    """With a point of the learning curve, whose rows are among those of the same seed."""
    start, data = Checkpoint.load(fresh.root / "models/pretrain"), fresh.root / "data/section"
    params, pool = tiny_params.cell(labels=40), labelled.split(data, "train")
    task = TaskRun("section-general", "section", "general", 0, start, params, data, tiny.work(data), tiny.no_record())
    for seed in (1, 2):
        for run, count in ((task.of(seed), 40), (task.of(seed, 20), 20)):
            assert run.train.rows == labelled.subset(pool, count, seed)
            assert len(run.train.examples) == count


# Refusals


LONG = rf"AB-111 .*: max_length 128 is larger than the {tiny.POSITIONS} positions of pretrain\n  lower max_length to 64"


@pytest.mark.parametrize(
    ("task", "changes", "message"),
    [
        ("section", {"class_weights": {"code": 1.0}}, "class_weights of 'code', but the labels are 'code', 'prose'"),
        ("section", {"label_counts": [96]}, r"AB-111 .*label_counts: label_counts \[96\], but there are 96 labels"),
        ("section", {"max_length": 128, "block_size": 128}, LONG),
        ("score", {"class_weights": "balanced"}, "AB-111 .*only texts and pairs with labels"),
    ],
)
def test_what_the_task_or_the_encoder_does_not_have(
    fresh: Project, task: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        fresh.finetune(task, "general", **changes)
    assert fresh.outputs() == {}
