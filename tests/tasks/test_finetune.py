"""A task in one arm: all seeds, the test set opened last, the best on dev kept, the same bytes twice.

Of every task type: it learns, and its folder alone is enough to answer alike, here and with transformers.
"""

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
from transformers import AutoModelForTokenClassification, pipeline

from adaptbert.config.schema.task_types import TARGETS, spec_of, written
from adaptbert.core.files import read_json
from adaptbert.data import labelled_set as labelled
from adaptbert.errors import BadData, UserError
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.prediction.predictor import Predictor
from adaptbert.tasks import seed_run
from adaptbert.tasks.heads import load_fine_tuned
from adaptbert.tasks.metrics.cell_metrics import CellMetrics
from adaptbert.tasks.metrics.scoring import COMPARED_BY, SCORING
from tests.support import tiny, tiny_tasks
from tests.support.cells import Project
from tests.support.predicting import KINDS as EVERY

KINDS: dict[str, Any] = {"section": ("single_sentence", "class"), "mention": ("sequence_labelling", "spans")}
SPLITS = {"train": 96, "dev": 24, "test": 32}
SEEDS = [3, 1, 2]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Both tasks from a checkpoint with weights; the tests only look."""
    project = Project(tmp_path_factory.mktemp("project"), KINDS)
    for task in KINDS:
        project.finetune(task, "general", epochs=4.0, seeds=SEEDS, learning_rate=1e-2)
    return project


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """All task types trained once; texts of up to 90 tokens are read in windows or cut."""
    made = Project(tmp_path_factory.mktemp("every"), EVERY, (512, 48, 48))
    tiny.pretrained(made.root / "models/pretrain", initializer_range=0.15)  # of vectors apart more is learnt in a step
    learnt = {"seeds": [1], "epochs": 6.0, "dropout": 0.0, "learning_rate": 5e-3, "max_length": 48}
    for task, (kind, target) in EVERY.items():
        windows = {"long_text": "windows", "stride": 20} if kind == "single_sentence" else {}
        hard = kind == "sentence_pair" or target == "labels"
        made.finetune(task, "general", windows, **learnt, labels=0 if hard else 192)
    return made


@pytest.fixture
def fresh(tmp_path: Path) -> Project:
    return Project(tmp_path, {**KINDS, "score": ("single_sentence", "number")})


def read_metrics(project: Project, task: str) -> dict[str, Any]:
    metrics: dict[str, Any] = read_json(project.root / f"metrics/{task}-general.json")
    return metrics


def answers_alike(project: Project, task: str, recorded: list[dict[str, Any]]) -> None:
    """The checkpoint, opened again from the disk, gives these predictions."""
    rows = labelled.split(project.root / "data" / task, "test")
    answers = list(Predictor.load(project.root / f"models/finetune/{task}-general").answers(rows))
    for answer, row in zip(answers, recorded, strict=True):
        assert written(answer[TARGETS[KINDS[task][1]].answer]) == row["predicted"]
        assert answer["confidence"] == pytest.approx(row["confidence"], abs=1e-5)


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
    assert [seed["seed"] for seed in metrics["seeds"]] == SEEDS
    for seed in metrics["seeds"]:
        assert [point["step"] for point in seed["curve"]] == [6, 12, 18, 24]
        assert seed["curve"][-1][f"dev/{metric}"] == seed[f"dev/{metric}"]
        assert seed["curve"][-1]["train/loss"] < seed["curve"][0]["train/loss"]


@pytest.mark.parametrize("task", KINDS)
def test_the_predictions_have_the_scores_and_the_checkpoint_is_the_best_on_dev(project: Project, task: str) -> None:
    """Of every seed there are predictions, for each row of the test set."""
    rows, metrics, (kind, name) = project.predictions(f"{task}-general"), read_metrics(project, task), KINDS[task]
    test, target = labelled.split(project.root / "data" / task, "test"), TARGETS[name]
    for number, seed in enumerate(metrics["seeds"]):
        own = rows[number * len(test) : (number + 1) * len(test)]
        assert [(row["seed"], row["id"]) for row in own] == [(seed["seed"], row["id"]) for row in test]
        predicted, gold = [target.read_answer(row["predicted"]) for row in own], [row[target.column] for row in test]
        assert [target.read_gold(row["gold"]) for row in own] == gold
        score = SCORING[name].score(gold, predicted, tiny_tasks.described(kind, name))
        assert {f"test/{name}": value for name, value in score.items()}.items() <= seed.items()
        assert all(0 < row["confidence"] <= 1 for row in own)
    assert len(rows) == len(SEEDS) * len(test)
    best = max(metrics["seeds"], key=lambda seed: seed[f"dev/{metrics['metric']}"])  # the first of equals
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


# Every task type


COLUMNS = {"single_sentence": ["text"], "sentence_pair": ["text_a", "text_b"]}


@pytest.mark.parametrize("task", EVERY)
def test_it_learns_what_can_be_learnt(every: Project, task: str) -> None:
    metrics = read_metrics(every, task)
    metric = COMPARED_BY[EVERY[task][1]]  # type: ignore[index]
    assert metrics["metric"] == metric
    assert metrics["seeds"][0][f"test/{metric}"] > 0.85
    assert not metrics["seeds"][0]["degenerate"]
    record = CellMetrics.read(every.root / f"metrics/{task}-general.json")
    assert record.as_json() == metrics, "what a stage writes is read whole"
    assert (record.unanswerable is None) == (EVERY[task][1] != "answer")


@pytest.mark.parametrize("task", [task for task, (kind, _) in EVERY.items() if kind in COLUMNS])
def test_the_pipeline_of_transformers_answers_alike(every: Project, task: str) -> None:
    kind, target = EVERY[task]
    columns = COLUMNS[kind]

    def fits(row: dict[str, Any]) -> bool:
        texts = [row[column] for column in columns]
        return sum(len(encoding.ids) + 1 for encoding in tiny.tokenizer().encode(texts)) < 48 and all(texts)

    folder = str(every.root / f"models/finetune/{task}-general")
    run = pipeline("text-classification", model=folder, device="cpu", top_k=None)
    rows = {row["id"]: row for row in labelled.split(every.root / "data" / task, "test")}
    short = [row for row in every.predictions(f"{task}-general") if fits(rows[row["id"]])][:20]
    assert len(short) > 10
    for row in short:
        texts = [rows[row["id"]][column] for column in columns]
        predictions: Any = run([texts[0] if len(texts) == 1 else {"text": texts[0], "text_pair": texts[1]}])[0]
        scores = {prediction["label"]: prediction["score"] for prediction in predictions}
        if TARGETS[target].answer_cell == "text":
            best = max(scores, key=lambda label: scores[label])
            assert (best, scores[best]) == (row["predicted"], pytest.approx(row["confidence"], abs=1e-4))
        elif target == "labels":
            assert sorted(label for label, score in scores.items() if score > 0.5) == json.loads(row["predicted"])
            assert min(max(score, 1 - score) for score in scores.values()) == pytest.approx(row["confidence"], abs=1e-4)
        else:
            assert list(scores.values()) == [pytest.approx(json.loads(row["predicted"]), abs=1e-2)]


# Options: each does something, and the folder is enough to predict


OPTIONS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "crf": ("mention", {"decoder": "crf"}, {}),
    "weights": ("section", {}, {"class_weights": {"code": 0.1, "prose": 4.0}}),
    "early": ("section", {}, {"early_stopping": {"patience": 1}, "epochs": 6.0}),
    "decay": ("section", {}, {"layer_decay": 0.5}),
}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, dict[str, list[dict[str, Any]]]]:
    """Both tasks without any option: what the tests compare with."""
    project = Project(tmp_path_factory.mktemp("usual"), KINDS, (64, 24, 24))
    for task in KINDS:
        project.finetune(task, "general", seeds=[1], epochs=3.0, learning_rate=5e-3)
    return project, {task: project.predictions(f"{task}-general") for task in KINDS}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_does_something_and_the_folder_is_enough_to_predict(usual: Any, name: str) -> None:
    project, without = usual
    task, options, more = OPTIONS[name]
    metrics = project.finetune(task, "general", options, **{"seeds": [1], "epochs": 3.0, "learning_rate": 5e-3, **more})
    recorded = project.predictions(f"{task}-general")
    assert recorded != without[task]
    answers_alike(project, task, recorded)
    if "early_stopping" in more:
        assert metrics["seeds"][0]["kept_step"] <= metrics["seeds"][0]["steps"]
    folder = project.root / f"models/finetune/{task}-general"
    held = load_file(folder / "model.safetensors")
    assert {key.split(".")[0] for key in held} - {"bert", "classifier"} == ({"crf"} if "decoder" in options else set())
    if "decoder" in options:
        assert (held["crf.between"] != 0).any(), "it was learnt"
        stock = AutoModelForTokenClassification.from_pretrained(str(folder))
        assert torch.equal(stock.classifier.weight, held["classifier.weight"]), "stock transformers opens it"


def test_only_what_finetune_wrote_is_opened(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="not a checkpoint of `finetune`"):
        load_fine_tuned(tiny.pretrained(tmp_path / "pretrain"))


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
    assert metrics["seeds"][0]["degenerate"]
    rows = labelled.split(fresh.root / "data/section", "train")
    lengths = [len(encoding.ids) + 2 for encoding in tiny.tokenizer().encode([row["text"] for row in rows])]
    assert metrics["seeds"][0]["cut"] == sum(length > 12 for length in lengths) > 0


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


def test_each_seed_has_labels_of_its_own_in_every_arm_alike(fresh: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a point of the learning curve, whose rows are among those of the same seed."""
    trained: list[set[bytes]] = []
    real = seed_run.LabelledBatches

    def noted(examples: Any, *others: Any) -> Any:
        trained.append({examples.take(np.array([number])).ids.tobytes() for number in range(len(examples))})
        return real(examples, *others)

    monkeypatch.setattr(seed_run, "LabelledBatches", noted)
    for arm in ("general", "scratch"):
        metrics = fresh.finetune("section", arm, labels=40, label_counts=[20], seeds=[1, 2])
        assert metrics["labels"] == 40
    assert trained[:4] == trained[4:], "the same for every arm"
    first, second, fewer, fewer_second = trained[:4]
    assert (len(first), len(second), len(fewer), len(fewer_second)) == (40, 40, 20, 20)
    assert fewer < first
    assert fewer_second < second
    assert 0 < len(first & second) < 40, "two draws of 40 of 96"
    each = [fresh.finetune("section", "scratch", labels=40, seeds=[seed])["tokens"] for seed in (1, 2)]
    assert sum(each) + metrics["learning_curve"][0]["tokens"] == metrics["cost"]["tokens"], "that of every seed"


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
