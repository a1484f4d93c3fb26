"""Each option of fine-tuning does what it says: the same run with it and without it, looked at from outside."""

import json
import pickle
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional
from transformers import BertModel

from adaptbert import class_weights
from adaptbert.adversarial import AdversarialConfig, worst
from adaptbert.architecture import training_flop
from adaptbert.cell import CellConfig
from adaptbert.checkpoint import Checkpoint
from adaptbert.depth import depths
from adaptbert.early_stopping import Best
from adaptbert.encoder import encode
from adaptbert.errors import BadData, BadParams, UserError
from adaptbert.fine_tuned import opened
from adaptbert.finetuning import FineTuning, LabelledBatch, LabelledBatches, Thawing, batch_of, logits
from adaptbert.freezing import FreezeConfig, GradualUnfreezingConfig, freeze
from adaptbert.layer_mix import means
from adaptbert.one_seed import flop_of
from adaptbert.optim import adamw
from adaptbert.params import parse
from adaptbert.pooling import Reading
from adaptbert.r_drop import RDropConfig, divergence
from adaptbert.savepoints import Savepoints
from adaptbert.tasks import labelled
from adaptbert.tasks.shapes import Shape
from adaptbert.training import Fitted, Plan, fit
from tests import tiny
from tests.cells import Project

STEPS = 8
EPOCH = 2.0
KINDS = {"section": ("single_sentence", "class"), "mention": ("sequence_labelling", "spans")}


def model_of(shape: Shape, dropout: float = 0.2) -> Any:
    torch.manual_seed(0)
    config = tiny.config()
    config.update(shape.config())
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = config.classifier_dropout = dropout
    return shape.hugging_face_class()(config)


def made(**options: Any) -> tuple[FineTuning, LabelledBatches]:
    """A run on 32 single sentences, 16 a step, two micro-batches each."""
    shape = tiny.shape_of("single_sentence")
    rows = tiny.labelled("domain", "single_sentence", 32, 1)
    examples = shape.examples(rows, tiny.tokenizer(), 64)
    model = model_of(shape)
    if frozen := options.pop("freeze", None):
        freeze(model, frozen)
    optim = tiny.optim(**options.pop("optim", {}))
    module = FineTuning(model, shape, optim, STEPS, options.pop("second_pass", None))
    return module, LabelledBatches(examples.labelled(shape.targets(rows, examples)), 3, 8, 64)


def plan(steps: int = STEPS) -> Plan:
    return Plan(steps, 2, 1.0, "32-true", 3, "train/loss")


def trained(**options: Any) -> dict[str, torch.Tensor]:
    module, batches = made(**options)
    fit(module, batches, plan(), tiny.no_record())
    return weights(module)


def weights(module: FineTuning) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().clone() for name, tensor in module.model.named_parameters()}


def changed(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> set[str]:
    return {name for name in one if not torch.equal(one[name], other[name])}


def first_batch(shape: Shape, kind: str, count: int = 12, target: str | None = None) -> LabelledBatch:
    rows = tiny.labelled("domain", kind, count, 1, target)
    examples = shape.examples(rows, tiny.tokenizer(), 64)
    return batch_of(examples.labelled(shape.targets(rows, examples)), 64)


# Depth: what the rate and the frozen part go by


def test_depths_are_those_of_the_layers() -> None:
    found = depths(name for name, _ in made()[0].model.named_parameters())
    assert found["bert.embeddings.LayerNorm.weight"] == 0
    assert found["bert.encoder.layer.0.output.dense.bias"] == 1
    assert found["bert.encoder.layer.1.attention.self.query.weight"] == 2
    assert found["bert.pooler.dense.weight"] == found["classifier.bias"] == 3
    assert set(depths(["classifier.weight"]).values()) == {1}


def test_each_layer_learns_at_its_own_rate_all_along_the_schedule() -> None:
    module, _ = made(optim={"layer_decay": 0.5, "learning_rate": 8e-3})
    configured = module.configure_optimizers()
    optimizer, schedule = configured["optimizer"], configured["lr_scheduler"]["scheduler"]
    of = {id(p): n for n, p in module.model.named_parameters()}
    deep = depths(of.values())
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(of), "each once"
    for step in range(STEPS):
        share = tiny.optim().rate(step, STEPS)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                expected = 8e-3 * share * 0.5 ** (3 - deep[of[id(parameter)]])
                assert group["lr"] == pytest.approx(expected, rel=1e-9)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(8e-3 * share), "the rate that is logged is the head's"
        optimizer.step()
        schedule.step()


def test_a_low_decay_leaves_the_embeddings_nearly_where_they_were() -> None:
    before = weights(made()[0])
    name = "bert.embeddings.position_embeddings.weight"
    usual, decayed = ((trained(optim=o)[name] - before[name]).norm() for o in ({}, {"layer_decay": 0.1}))
    assert 0 < decayed < usual / 50


# Freezing


@pytest.mark.parametrize(
    ("config", "frozen"),
    [
        ({"layers": "all", "embeddings": True}, {0, 1, 2}),
        ({"layers": 1, "embeddings": True}, {0, 1}),
        ({"layers": 1, "embeddings": False}, {1}),
        ({"layers": 0, "embeddings": True}, {0}),
    ],
)
def test_what_is_frozen_stays_and_the_optimizer_knows_nothing_of_it(config: dict[str, Any], frozen: set[int]) -> None:
    module, batches = made(freeze=FreezeConfig.model_validate(config))
    before = weights(module)
    deep = depths(before)
    fit(module, batches, plan(), tiny.no_record())
    assert {deep[name] for name in changed(before, weights(module))} == {0, 1, 2, 3} - frozen
    held = sum(len(group["params"]) for group in adamw(module.model, tiny.optim()).param_groups)
    assert held == sum(deep[name] not in frozen for name in before)


def test_there_is_no_graph_below_what_learns() -> None:
    """Where the time is saved: the frozen layers are computed without keeping anything for a backward pass."""
    seen: list[bool] = []
    for config in (None, FreezeConfig(layers="all", embeddings=True)):
        module, batches = made(freeze=config)
        hook = module.model.bert.encoder.layer[1].output.LayerNorm.register_forward_hook(
            lambda _, __, out: seen.append(out.requires_grad)
        )
        module.training_step(batches(0), 0)
        hook.remove()
    assert seen == [True, False]


def test_layers_thaw_from_the_top_epoch_by_epoch() -> None:
    config = GradualUnfreezingConfig(layers_per_epoch=1)
    assert [config.frozen(epoch, 2) for epoch in range(5)] == [3, 2, 1, 0, 0]
    assert [GradualUnfreezingConfig(layers_per_epoch=5).frozen(epoch, 12) for epoch in range(4)] == [13, 8, 3, 0]
    for epochs in range(1, 5):
        module, batches = made()
        before = weights(module)
        fit(module, Thawing(batches, config, 2, EPOCH, 2), plan(int(epochs * EPOCH)), tiny.no_record())
        learnt = {depths(before)[name] for name in changed(before, weights(module))}
        assert learnt == set(range(max(0, 4 - epochs), 4)), f"after {epochs} epochs"


# R-Drop and FGM


def test_divergence_is_the_symmetric_one_of_kullback_and_leibler() -> None:
    torch.manual_seed(1)
    one, other = torch.randn(2, 7, 4).log_softmax(-1)
    expected = (
        functional.kl_div(other, one, reduction="batchmean", log_target=True)
        + functional.kl_div(one, other, reduction="batchmean", log_target=True)
    ) / 2
    torch.testing.assert_close(divergence(one, other), expected)
    assert divergence(one, one) == 0


@pytest.mark.parametrize(("kind", "target"), [(k, t) for k, t in tiny.KINDS if t != "number" and k != "sentence_pair"])
def test_every_shape_knows_its_probabilities(kind: str, target: str) -> None:
    """They sum to the number of things that are asked; and two passes with dropout do not agree."""
    shape = tiny.shape_of(kind, target)
    batch = first_batch(shape, kind, target=target)
    module = FineTuning(model_of(shape), shape, tiny.optim(), STEPS)
    torch.manual_seed(2)
    one, other = (shape.log_probabilities(module._logits(batch), batch).detach() for _ in range(2))
    asked = {"labels": 2 * batch.size, "answer": 2 * batch.size}.get(target, len(batch.owners))
    assert float(one.exp().sum()) == pytest.approx(asked, rel=1e-4)
    assert float(divergence(one, other)) > 0


def test_r_drop_makes_passes_agree() -> None:
    """The weight pulls both passes together."""
    found = []
    for weight in (1e-9, 20.0):
        module, batches = made(second_pass=RDropConfig(weight=weight), optim={"learning_rate": 1e-2})
        fit(module, batches, plan(), tiny.no_record())
        torch.manual_seed(5)
        batch = batches(0)
        with torch.no_grad():
            told = [module._shape.log_probabilities(module._logits(batch), batch) for _ in range(40)]
        found.append(sum(float(divergence(one, other)) for one, other in pairwise(told)))
    assert found[1] < 0.75 * found[0]


def test_the_move_is_along_the_gradient_and_raises_the_loss() -> None:
    shape = tiny.shape_of("single_sentence")
    model = model_of(shape, dropout=0.0)
    module, batch = FineTuning(model, shape, tiny.optim(), STEPS), first_batch(shape, "single_sentence")
    lengths = torch.as_tensor(batch.rows.bounds).diff()
    at: list[torch.Tensor] = []

    def loss(shift: torch.Tensor) -> torch.Tensor:
        at.append(shift.detach().clone())
        return shape.loss(module._logits(batch, shift), batch)

    both = AdversarialConfig(epsilon=0.5).loss(loss, lengths, 32)
    assert (at[0] == 0).all()
    norms = torch.stack([part.norm() for part in at[1].split(lengths.tolist())])
    torch.testing.assert_close(norms, torch.full_like(norms, 0.5), msg="each example by epsilon")
    clean, moved, away = (float(loss(shift).detach()) for shift in (at[0], at[1], -at[1]))
    assert away < clean < moved
    assert float(both.detach()) == pytest.approx((clean + moved) / 2, rel=1e-5)
    assert (worst(torch.zeros(3, 2), torch.tensor([2, 1]), 1.0) == 0).all(), "no gradient, no move"


@pytest.mark.parametrize("second_pass", [RDropConfig(weight=1.0), AdversarialConfig(epsilon=1.0)], ids=["rdrop", "fgm"])
def test_a_second_pass_changes_what_is_learnt_and_is_the_same_twice(second_pass: Any) -> None:
    usual, one, other = trained(), trained(second_pass=second_pass), trained(second_pass=second_pass)
    assert changed(usual, one)
    assert not changed(one, other)


# Resume: each option in the middle of its run


class Stop(Exception):
    pass


OPTIONS: dict[str, dict[str, Any]] = {
    "layer_decay": {"optim": {"layer_decay": 0.7}},
    "freeze": {"freeze": FreezeConfig(layers=1, embeddings=True)},
    "gradual": {},
    "r_drop": {"second_pass": RDropConfig(weight=1.0)},
    "adversarial": {"second_pass": AdversarialConfig(epsilon=1.0)},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_resumed_run_has_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("ADAPTBERT_SAVE_SECONDS", "0")
    monkeypatch.setattr("adaptbert.training.SAVE_SHARE", 0)

    def run(folder: Path, stop_at: int | None) -> dict[str, torch.Tensor]:
        module, stream = made(**OPTIONS[name])
        batches: Callable[[int], LabelledBatch] = stream
        if name == "gradual":
            batches = Thawing(stream, GradualUnfreezingConfig(layers_per_epoch=1), 2, EPOCH, 2)

        def stopping(k: int) -> LabelledBatch:
            if k == stop_at:
                raise Stop
            return batches(k)

        fit(module, stopping, plan(), tiny.no_record(), savepoints=Savepoints(folder))
        return weights(module)

    straight = run(tmp_path / "straight", None)
    for stop_at in (5, 11):
        with pytest.raises(Stop):
            run(tmp_path / "resumed", stop_at)
    assert not changed(straight, run(tmp_path / "resumed", None))


# Early stopping

SCORES = {2: 0.3, 4: 0.6, 6: 0.5, 8: 0.6, 10: 0.4, 12: 0.9}


def stopped(folder: Path, patience: int | None, stop_at: int | None = None) -> tuple[Fitted, dict[str, torch.Tensor]]:
    """Dev scores are given: the third measurement in a row that is not better is the fifth."""
    module, batches = made()

    def batch(k: int) -> LabelledBatch:
        if k == stop_at:
            raise Stop
        return batches(k)

    best = None if patience is None else Best("dev/score", patience)
    measure_at = dict.fromkeys(SCORES, lambda step: {"dev/score": SCORES[step]})
    fitted = fit(module, batch, plan(12), tiny.no_record(), measure_at, Savepoints(folder), best=best)
    return fitted, weights(module)


def test_the_best_weights_are_kept_and_patience_ends_the_run(tmp_path: Path) -> None:
    fitted, kept = stopped(tmp_path / "early", 3)
    assert fitted.step == 4, "the first of equals"
    assert [point["step"] for point in fitted.curve] == [2, 4, 6, 8, 10]
    module, batches = made()
    with pytest.raises(Stop):
        fit(module, until(batches, 8), plan(12), tiny.no_record())
    assert not changed(kept, weights(module)), "the weights after step 4 of the same schedule"
    patient, _ = stopped(tmp_path / "patient", 4)
    assert (patient.step, patient.curve[-1]["step"]) == (12, 12)
    without, _ = stopped(tmp_path / "without", None)
    assert (without.step, len(without.curve)) == (12, 6)


def test_two_processes_stop_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 0 alone measures; the other hears of it. With two passes, layers that thaw and rates of their own."""

    def run(devices: int) -> tuple[Fitted, dict[str, torch.Tensor]]:
        monkeypatch.setenv("ADAPTBERT_DEVICES", str(devices))
        module, stream = made(second_pass=RDropConfig(weight=1.0), optim={"layer_decay": 0.8})
        batches = Thawing(stream, GradualUnfreezingConfig(layers_per_epoch=1), 2, EPOCH, 2)
        measure_at = dict.fromkeys(SCORES, lambda step: {"dev/score": SCORES[step]})
        fitted = fit(module, batches, plan(12), tiny.no_record(), measure_at, best=Best("dev/score", 3))
        return fitted, weights(module)

    (alone, one), (together, two) = run(1), run(2)
    assert (together.step, together.curve[-1]["step"]) == (alone.step, alone.curve[-1]["step"]) == (4, 10)
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, atol=5e-6, rtol=0)


def until(batches: LabelledBatches, end: int) -> Callable[[int], LabelledBatch]:
    def batch(k: int) -> LabelledBatch:
        if k == end:
            raise Stop
        return batches(k)

    return batch


@pytest.mark.parametrize("stop_at", [9, 17])
def test_a_resumed_run_keeps_and_stops_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_at: int) -> None:
    monkeypatch.setenv("ADAPTBERT_SAVE_SECONDS", "0")
    monkeypatch.setattr("adaptbert.training.SAVE_SHARE", 0)
    straight, kept = stopped(tmp_path / "straight", 3)
    with pytest.raises(Stop):
        stopped(tmp_path / "resumed", 3, stop_at)
    again, found = stopped(tmp_path / "resumed", 3)
    assert again == straight
    assert not changed(kept, found)
    over, after = stopped(tmp_path / "resumed", 3, stop_at=0)
    assert over == straight, "what was over is not trained again"
    assert not changed(kept, after)


def test_a_score_that_is_no_number_is_never_best() -> None:
    best = Best("dev/pearson", 2)
    seen = [best.observe(step, {"dev/pearson": value}) for step, value in enumerate([np.nan, 0.1, np.nan, 0.1], 1)]
    assert seen == [True, True, False, False]
    assert (best.step, best.is_over) == (2, True)
    again = Best("dev/pearson", 2)
    again.restore(json.loads(json.dumps(best.state())))
    assert again == best


# Class weights


def test_balanced_weights() -> None:
    targets = np.array([0, 0, 0, 1])
    assert class_weights.weights("balanced", "class", ["a", "b"], targets) == pytest.approx([4 / 6, 2.0])
    several = np.array([[1, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 1]], np.float32)
    assert class_weights.weights("balanced", "labels", ["a", "b", "c"], several) == [3.0, 1.0, 1.0]
    assert class_weights.weights({"b": 5.0, "a": 1.0}, "class", ["a", "b"], targets) == [1.0, 5.0]


def test_the_loss_is_weighted() -> None:
    from adaptbert.tasks.targets import OneLabel, SeveralLabels

    scores = torch.tensor([[1.0, -1.0], [0.5, 2.0], [0.0, 0.3]])
    each = functional.cross_entropy(scores, torch.tensor([0, 1, 0]), reduction="none")
    weighted = OneLabel(["a", "b"], [1.0, 3.0]).loss(scores, torch.tensor([0, 1, 0]))
    assert float(weighted) == pytest.approx(float((each[0] + 3 * each[1] + each[2]) / 3))
    yes = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    logs = -(
        torch.tensor([2.0, 5.0]) * yes * functional.logsigmoid(scores) + (1 - yes) * functional.logsigmoid(-scores)
    )
    assert float(SeveralLabels(["a", "b"], [2.0, 5.0]).loss(scores, yes)) == pytest.approx(float(logs.mean()))


# Which vectors


def test_vectors_are_those_of_the_hidden_states_of_transformers() -> None:
    """Last four, a mix with weights of its own, and the mean of all tokens, text by text through the stock model."""
    config = tiny.config()
    config.num_hidden_layers = 5
    torch.manual_seed(0)
    bert = BertModel(config).eval()
    mixed = torch.nn.Module()
    mixed.config = config
    Reading("mix").extend(mixed)
    with torch.no_grad():
        mixed.layer_mix.weights.copy_(torch.randn(6))
        mixed.layer_mix.scale.fill_(1.5)
    shares = torch.softmax(mixed.layer_mix.weights.detach(), 0)
    batch = first_batch(tiny.shape_of("single_sentence"), "single_sentence")
    lengths = torch.as_tensor(batch.rows.bounds).diff()
    with torch.no_grad():
        told = [bert(ids[None], output_hidden_states=True).hidden_states for ids in batch.ids.split(lengths.tolist())]
        last_four = encode(bert, batch.rows, batch.ids, batch.places, mix=Reading("last_four").mixer(mixed))
        mix = encode(bert, batch.rows, batch.ids, mix=Reading("mix").mixer(mixed))
        mean = means(encode(bert, batch.rows, batch.ids), lengths)
    close = partial(torch.testing.assert_close, atol=1e-5, rtol=1e-4)
    close(last_four, torch.stack([torch.stack(states[-4:]).mean(0)[0, 0] for states in told]))
    close(mix, torch.cat([1.5 * (shares[:, None, None] * torch.cat(states)).sum(0) for states in told]))
    close(mean, torch.stack([states[-1][0].mean(0) for states in told]))


# What a run costs


def test_cost_counts_what_is_computed() -> None:
    """Against a count by hand: 6 a weight and token that learns, 2 below; passes as many as there are."""
    config = tiny.config()  # 2 layers, 32, 64
    tokens, row, places = 1000, 64.0, 50
    projections, rest = 3 * 32 * 32, 32 * 32 + 2 * 32 * 64
    attention = 12 * row * 32 * tokens
    full = 6 * (tokens * (2 * projections + rest) + places * rest) + 2 * attention
    assert training_flop(config, tokens, row, places, 0) == full
    below = 4 * tokens * (projections + rest) + attention * 2 / 3
    assert training_flop(config, tokens, row, places, 0, frozen=1) == pytest.approx(full - below)
    assert training_flop(config, tokens, row, places, 0, frozen=2) == pytest.approx(full / 3)
    counts, shape = {"tokens": tokens, "places": places}, tiny.shape_of("single_sentence")
    usual = flop_of(tiny.cell(), shape, config, counts)
    for options, share in (
        ({"freeze": {"layers": "all", "embeddings": True}}, 1 / 3),
        ({"freeze": {"layers": "all", "embeddings": False}}, 1),
        ({"r_drop": {"weight": 1.0}}, 2),
        ({"adversarial": {"epsilon": 1.0}}, 7 / 3),
    ):
        assert flop_of(tiny.cell(**options), shape, config, counts) == pytest.approx(share * usual)
    assert flop_of(tiny.cell(), tiny.shape_of("single_sentence", pooling="mean"), config, counts) > 1.2 * usual


# Whole cells: what is saved opens, and answers alike


CELLS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "mean": ("section", {"pooling": "mean"}, {}),
    "cls": ("section", {"pooling": "cls"}, {}),
    "mix": ("section", {"layers": "mix"}, {}),
    "mix of words": ("mention", {"layers": "mix"}, {}),
    "crf": ("mention", {"decoder": "crf"}, {}),
    "crf iobes": ("mention", {"decoder": "crf", "tag_scheme": "iobes", "layers": "mix"}, {}),
    "weights": ("section", {}, {"class_weights": {"code": 0.1, "prose": 4.0}}),
    "early": ("section", {}, {"early_stopping": {"patience": 1}, "epochs": 6.0}),
    "gradual": ("section", {}, {"gradual_unfreezing": {"layers_per_epoch": 1}}),
    "rdrop": ("section", {}, {"r_drop": {"weight": 4.0}}),
    "fgm": ("section", {}, {"adversarial": {"epsilon": 2.0}}),
    "frozen": ("section", {}, {"freeze": {"layers": "all", "embeddings": True}}),
}
SETTINGS = {"seeds": [1], "epochs": 3.0, "optim": tiny.optim(learning_rate=5e-3)}


def answers_of(project: Project, task: str) -> list[tuple[Any, Any]]:
    return [(row["predicted"], row["confidence"]) for row in project.predictions(f"{task}-general")]


@pytest.fixture(scope="module")
def usual(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Project, dict[str, list[tuple[Any, Any]]]]:
    """Both tasks without any option: what the tests compare with."""
    project = Project(tmp_path_factory.mktemp("project"), KINDS, (64, 24, 24))
    found = {}
    for task in KINDS:
        project.finetune(task, "general", **SETTINGS)
        found[task] = answers_of(project, task)
    return project, found


@pytest.mark.parametrize("name", CELLS)
def test_it_does_something_and_the_folder_is_enough_to_predict(usual: Any, name: str) -> None:
    project, without = usual
    task, options, more = CELLS[name]
    metrics = project.finetune(task, "general", options, **{**SETTINGS, **more})
    found = answers_of(project, task)
    assert found != without[task]

    saved = Checkpoint.load(project.root / f"models/finetune/{task}-general")
    model, shape = opened(saved)
    rows = labelled.split(project.root / "data" / task, "test")
    examples = shape.examples(rows, saved.tokenizer, tiny.MAX_LENGTH)
    scores = logits(model, shape, examples, 64, "32-true")
    answers, confidence = shape.answers(rows, examples, scores, saved.card["task"]["tuned"])
    assert [answer if isinstance(answer, str) else json.dumps(answer) for answer in answers] == [a for a, _ in found]
    assert confidence.tolist() == pytest.approx([sure for _, sure in found], abs=1e-5)
    if "early_stopping" in more:
        assert metrics["seeds"][0]["kept_step"] <= metrics["seeds"][0]["steps"]
    held = load_file(f"{saved.source}/model.safetensors")
    ours = {key.split(".")[0] for key in held} - {"bert", "classifier"}
    assert ours == ({"crf"} if "decoder" in options else set()) | ({"layer_mix"} if "layers" in options else set())


def test_stock_transformers_opens_what_has_tensors_of_ours(usual: Any) -> None:
    from transformers import AutoModelForTokenClassification

    project, _ = usual
    project.finetune("mention", "general", {"decoder": "crf", "layers": "mix"}, **SETTINGS)
    folder = str(project.root / "models/finetune/mention-general")
    model = AutoModelForTokenClassification.from_pretrained(folder)
    held = load_file(f"{folder}/model.safetensors")
    assert torch.equal(model.classifier.weight, held["classifier.weight"])
    assert (held["crf.between"] != 0).any(), "it was learnt"
    assert (held["layer_mix.weights"] != 0).any()


def test_only_what_finetune_wrote_is_opened(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="not a checkpoint of `finetune`"):
        opened(tiny.pretrained(tmp_path / "pretrain"))


def test_a_crf_is_trained_on_windows_as_well() -> None:
    """A window that begins within a span is no mistake of the span: its loss stays that of a few words."""
    shape = tiny.shape_of("sequence_labelling", "spans", stride=4, decoder="crf")
    rows = [{"id": "a", "tokens": ["estimator"] + ["matrix"] * 30, "tags": ["B-OBJ"] + ["I-OBJ"] * 30}]
    model = model_of(shape, 0.0)
    shape = shape.extend(model)
    examples = shape.examples(rows, tiny.tokenizer(), 12)
    targets = shape.targets(rows, examples)
    assert len(examples) > 3
    assert targets[:, 1].tolist() == [1] + [0] * 29 + [2]
    batch = batch_of(examples.labelled(targets), 64)
    module = FineTuning(model, shape, tiny.optim(), STEPS)
    assert 0 < float(module.training_step(batch, 0).detach()) < 3


def test_another_process_gets_one_crf_and_not_two() -> None:
    """What the loss uses is what is trained there."""
    shape = tiny.shape_of("sequence_labelling", "spans", decoder="crf")
    model = model_of(shape)
    module = FineTuning(model, shape.extend(model), tiny.optim(), STEPS)
    sent: Any = pickle.loads(pickle.dumps(module))  # noqa: S301 - as ranks do
    assert sent.model.crf is sent._shape._crf
    batch = first_batch(shape, "sequence_labelling", target="spans")
    sent.training_step(batch, 0).backward()
    assert sent.model.crf.between.grad.abs().sum() > 0


# Refusals


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"freeze": {"layers": 0, "embeddings": False}}, "layers 0 and embeddings false freeze nothing"),
        (
            {"freeze": {"layers": 1, "embeddings": True}, "gradual_unfreezing": {"layers_per_epoch": 1}},
            "freeze and gradual_unfreezing: give one of them",
        ),
        ({"r_drop": {"weight": 1.0}, "adversarial": {"epsilon": 1.0}}, "r_drop and adversarial: give one of them"),
        ({"r_drop": {"weight": 1.0}, "dropout": 0.0}, "both passes would be the same"),
        (
            {"adversarial": {"epsilon": 1.0}, "freeze": {"layers": 0, "embeddings": True}},
            "adversarial and frozen embeddings",
        ),
        ({"gradual_unfreezing": {"layers_per_epoch": 1}, "epochs": 1.0}, "only the head would learn"),
        ({"early_stopping": {"patience": 1}, "epochs": 1.0}, "nothing to choose from"),
        (
            {"optim": {"layer_decay": 0.9}, "freeze": {"layers": "all", "embeddings": True}},
            "layer_decay 0.9 and all layers frozen",
        ),
        (
            {"class_weights": "balanced", "sequence_labelling": {"stride": 4, "tag_scheme": "io"}},
            "class_weights and options of sequence_labelling",
        ),
        (
            {"r_drop": {"weight": 1.0}, "sequence_labelling": {"stride": 4, "tag_scheme": "io", "decoder": "crf"}},
            "r_drop and decoder 'crf'",
        ),
        ({"early_stopping": {"patience": 0}}, "greater than or equal to 1"),
    ],
)
def test_contradictions(changes: dict[str, Any], message: str) -> None:
    optim = tiny.optim(**changes.get("optim", {}))
    with pytest.raises(ValueError, match=message):
        tiny.cell(**{**changes, "optim": optim})


@pytest.mark.parametrize(
    ("task", "options", "changes", "message"),
    [
        ("section", {}, {"freeze": {"layers": 3, "embeddings": True}}, "freeze.layers 3, but the encoder has 2"),
        ("section", {"layers": "last_four"}, {}, "layers 'last_four', but the encoder has 2"),
        ("section", {}, {"class_weights": {"code": 1.0}}, "class_weights of code, but the labels are code, prose"),
        ("score", {}, {"class_weights": "balanced"}, "class_weights and target 'number'"),
        ("score", {}, {"r_drop": {"weight": 1.0}}, "r_drop and target 'number'"),
    ],
)
def test_what_the_task_or_the_encoder_does_not_have(
    tmp_path: Path, task: str, options: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    project = Project(tmp_path, {**KINDS, "score": ("single_sentence", "number")})
    with pytest.raises(BadParams, match=message):
        project.finetune(task, "general", options, **changes)
    assert project.outputs() == {}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"class_weights": "balance"},
            "class_weights: expected 'balanced' or a valid dictionary, found text 'balance'",
        ),
        ({"class_weights": {"a": -1.0}}, "class_weights.a: -1.0 is out of range; it should be greater than 0"),
        ({"freeze": {"layers": "al", "embeddings": True}}, "freeze.layers: expected a valid integer or 'all', found"),
        ({"freeze": {"layers": 1, "embedings": True}}, "freeze.embedings: unknown key 'embedings' (did you mean"),
        ({"early_stopping": {}}, "early_stopping.patience: is missing"),
    ],
)
def test_a_wrong_value_is_told_in_one_line(changes: dict[str, Any], line: str) -> None:
    values = tiny.cell().model_dump(exclude_none=True) | changes
    with pytest.raises(UserError) as error:
        parse(CellConfig, values, "finetune.task", Path("params.yaml"))
    told = [found for found in str(error.value).splitlines() if f"finetune.task.{line}" in found]
    assert len(told) == 1, str(error.value)
    assert len(str(error.value).splitlines()) == (2 if "embedings" in line else 1)
