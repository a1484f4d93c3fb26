"""Each option of fine-tuning in whole runs: resumed, priced, saved and opened again, refused where it cannot be."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForTokenClassification

from adaptbert.config.schema.finetuning import Freeze, GradualUnfreezing, RDrop
from adaptbert.data import labelled_set as labelled
from adaptbert.errors import BadData, UserError
from adaptbert.prediction.predictor import Predictor
from adaptbert.tasks.labelled_batch import LabelledBatch, batch_of
from adaptbert.tasks.module import FineTuning, UnfreezingBatches
from adaptbert.tasks.restore import load_fine_tuned
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from tests.support import tiny, tiny_params, tiny_tasks
from tests.support.cells import Project
from tests.support.short_runs import EPOCH, STEPS, Stop, changed, first_batch, made, model_of, plan, until, weights

KINDS = {"section": ("single_sentence", "class"), "mention": ("sequence_labelling", "spans")}


# Resume: each option in the middle of its run


OPTIONS: dict[str, dict[str, Any]] = {
    "layer_decay": {"layer_decay": 0.7},
    "freeze": {"freeze": Freeze(layers=1, embeddings=True)},
    "gradual": {},
    "r_drop": {"r_drop": RDrop(weight=1.0)},
}


@pytest.mark.usefixtures("save_every_step")
@pytest.mark.parametrize("name", OPTIONS)
def test_a_resumed_run_has_the_same_bits(tmp_path: Path, name: str) -> None:
    def run(folder: Path, stop_at: int | None) -> dict[str, torch.Tensor]:
        module, stream = made(**OPTIONS[name])
        batches: Callable[[int], LabelledBatch] = stream
        if name == "gradual":
            batches = UnfreezingBatches(stream, GradualUnfreezing(layers_per_epoch=1), 2, EPOCH, 2)

        fit(module, until(batches, stop_at), plan(), tiny.no_record(), savepoints=Savepoints(folder))
        return weights(module)

    straight = run(tmp_path / "straight", None)
    for stop_at in (5, 11):
        with pytest.raises(Stop):
            run(tmp_path / "resumed", stop_at)
    assert not changed(straight, run(tmp_path / "resumed", None))


# Whole cells: what is saved opens, and answers alike


CELLS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "crf": ("mention", {"decoder": "crf"}, {}),
    "weights": ("section", {}, {"class_weights": {"code": 0.1, "prose": 4.0}}),
    "early": ("section", {}, {"early_stopping": {"patience": 1}, "epochs": 6.0}),
    "gradual": ("section", {}, {"gradual_unfreezing": {"layers_per_epoch": 1}}),
    "rdrop": ("section", {}, {"r_drop": {"weight": 4.0}}),
    "frozen": ("section", {}, {"freeze": {"layers": "all", "embeddings": True}}),
}
SETTINGS = {"seeds": [1], "epochs": 3.0, "learning_rate": 5e-3}


def answers_of(project: Project, task: str) -> list[tuple[Any, Any]]:
    return [(row["predicted"], row["confidence"]) for row in project.predictions(f"{task}-general")]


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, dict[str, list[tuple[Any, Any]]]]:
    """Both tasks without any option: what the tests compare with."""
    project = Project(tmp_path_factory.mktemp("project"), KINDS, (64, 24, 24))
    answers = {}
    for task in KINDS:
        project.finetune(task, "general", **SETTINGS)
        answers[task] = answers_of(project, task)
    return project, answers


@pytest.mark.parametrize("name", CELLS)
def test_it_does_something_and_the_folder_is_enough_to_predict(usual: Any, name: str) -> None:
    project, without = usual
    task, options, more = CELLS[name]
    metrics = project.finetune(task, "general", options, **{**SETTINGS, **more})
    recorded = answers_of(project, task)
    assert recorded != without[task]

    folder = project.root / f"models/finetune/{task}-general"
    answers = list(Predictor.load(folder).answers(labelled.split(project.root / "data" / task, "test")))
    texts = [answer["label"] if task == "section" else json.dumps(answer["tags"]) for answer in answers]
    assert texts == [answer for answer, _ in recorded]
    assert [answer["confidence"] for answer in answers] == pytest.approx([sure for _, sure in recorded], abs=1e-5)
    if "early_stopping" in more:
        assert metrics["seeds"][0]["kept_step"] <= metrics["seeds"][0]["steps"]
    held = load_file(folder / "model.safetensors")
    assert {key.split(".")[0] for key in held} - {"bert", "classifier"} == ({"crf"} if "decoder" in options else set())
    if "decoder" in options:
        assert (held["crf.between"] != 0).any(), "it was learnt"
        stock = AutoModelForTokenClassification.from_pretrained(str(folder))
        assert torch.equal(stock.classifier.weight, held["classifier.weight"]), "stock transformers opens it"


def test_only_what_finetune_wrote_is_opened(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="not a checkpoint of `finetune`"):
        load_fine_tuned(tiny.pretrained(tmp_path / "pretrain"))


def test_a_crf_is_trained_on_windows_as_well() -> None:
    """A window that begins within a span is no mistake of the span: its loss stays that of a few words."""
    shape = tiny_tasks.shape_of("sequence_labelling", "spans", stride=4, decoder="crf")
    rows = [{"id": "a", "tokens": ["estimator"] + ["matrix"] * 30, "tags": ["B-OBJ"] + ["I-OBJ"] * 30}]
    model = model_of(shape, 0.0)
    shape = shape.extend(model)
    examples = shape.examples(rows, tiny.tokenizer(), 12)
    targets = shape.targets(rows, examples)
    assert len(examples) > 3
    assert targets[:, 1].tolist() == [1] + [0] * 29 + [2]
    batch = batch_of(examples.labelled(targets), 64)
    module = FineTuning(model, shape, tiny_params.optim(), STEPS)
    assert 0 < float(module.training_step(batch, 0).detach()) < 3


def test_another_process_gets_one_crf_and_not_two() -> None:
    """What the loss uses is what is trained there."""
    shape = tiny_tasks.shape_of("sequence_labelling", "spans", decoder="crf")
    model = model_of(shape)
    module = FineTuning(model, shape.extend(model), tiny_params.optim(), STEPS)
    sent: Any = pickle.loads(pickle.dumps(module))  # noqa: S301 - as ranks do
    assert sent.model.crf is sent._shape._crf
    batch = first_batch(shape, "sequence_labelling", target="spans")
    sent.training_step(batch, 0).backward()
    assert sent.model.crf.between.grad.abs().sum() > 0


# Refusals


LONG = rf"AB-111 .*: max_length 128 is larger than the {tiny.POSITIONS} positions of pretrain\n  lower max_length to 64"


@pytest.mark.parametrize(
    ("task", "changes", "message"),
    [
        ("section", {"freeze": {"layers": 3, "embeddings": True}}, "freeze.layers 3, but the encoder has 2"),
        ("section", {"class_weights": {"code": 1.0}}, "class_weights of 'code', but the labels are 'code', 'prose'"),
        ("section", {"label_counts": [64]}, r"AB-111 .*label_counts: label_counts \[64\], but there are 64 labels"),
        ("section", {"max_length": 128, "block_size": 128}, LONG),
        ("score", {"r_drop": {"weight": 1.0}}, "r_drop and target 'number'"),
    ],
)
def test_what_the_task_or_the_encoder_does_not_have(
    tmp_path: Path, task: str, changes: dict[str, Any], message: str
) -> None:
    project = Project(tmp_path, {**KINDS, "score": ("single_sentence", "number")}, (64, 24, 24))
    with pytest.raises(UserError, match=message):
        project.finetune(task, "general", **changes)
    assert project.outputs() == {}
