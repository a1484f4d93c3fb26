"""A step of masked-language modelling as the three stages take it: where it begins, what is refused before it begins,
what it writes, and that it repeats."""

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import BertForMaskedLM, BertForSequenceClassification, BertModel

from adaptbert.config.plan import seed_of_replicate
from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.text import Extension
from adaptbert.core.files import read_json, write_json
from adaptbert.mlm.masked_lm import MaskedBatches
from adaptbert.mlm.records import StepMetrics
from adaptbert.mlm.step import is_random, measured_steps
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.device import BF16, FLOAT32
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.text.vocabulary_extension import extend_vocabulary
from tests.support import tiny, tiny_params
from tests.support.checkpoint_edits import edit
from tests.support.hub_cache import REVISION, in_cache
from tests.support.known import known
from tests.support.processors import FAST, ON_CPU, SLOW, processor
from tests.support.short_runs import Stop, until
from tests.support.steps import DOMAIN, GENERAL, LOCAL, PRETRAIN, SCRATCH, SMALL, TASK, Steps

FILES = ["card.json", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
MEASURES = {"bits_per_char", "mlm_loss", "masked_accuracy"}


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


# ---- what is written


def test_files_and_metrics(trained: Steps) -> None:
    outputs = trained.outputs()
    expected = {f"models/{SCRATCH}/{name}" for name in FILES if name != "model.safetensors"}
    for name in (PRETRAIN, DOMAIN, GENERAL, TASK):
        expected |= {f"metrics/{name}.json", *(f"models/{name}/{file}" for file in FILES)}
    assert set(outputs) == expected
    for name, content in outputs.items():
        assert not (name.endswith(".safetensors") and b"pooler" in content), name
        if name.endswith(".json") and "tokenizer" not in name:
            assert str(trained.root) not in content.decode(), name
            assert not re.search(r"20\d\d-\d\d|\d\d:\d\d|/tmp|seconds|run_id", content.decode()), name
    metrics = trained.metrics(DOMAIN)
    assert (metrics["checkpoint"], metrics["from"]) == (DOMAIN, PRETRAIN)
    assert (metrics["steps"], metrics["tokens"]) == (62, 62 * 128), "8,000 / 128"
    assert metrics["tflop"] > 0
    assert metrics["parameters"] == sum(tensor.numel() for tensor in weights_of(trained.folder(PRETRAIN)).values())
    assert set(metrics["before"]) == set(metrics["after"]) == {"general", "domain"}
    assert set(metrics["after"]["domain"]) == MEASURES
    assert [point["step"] for point in metrics["curve"]] == [6, 62]
    last, masking = metrics["curve"][-1], metrics["masking"]
    assert last["domain/bits_per_char"] == metrics["after"]["domain"]["bits_per_char"]
    assert last["train/mlm_loss"] < metrics["curve"][0]["train/mlm_loss"]
    assert last["tokens"] == pytest.approx(metrics["tokens"], rel=0.02), "what was really read"
    assert (masking["unit"], masking["probability"], masking["specials"]) == ("token", 0.15, 0)
    assert masking["documents"] > 300
    assert masking["rate_latin"] == pytest.approx(0.15, abs=0.03)
    assert masking["rate"] == pytest.approx(0.15, abs=0.02)


def test_a_checkpoint_is_measured_on_all_text_by_the_same_masks(trained: Steps, steps: Steps) -> None:
    """Each begins where the one below ended, on its own text as on others; and with nothing measured before."""
    random, below, domain = (trained.measure(name) for name in (SCRATCH, PRETRAIN, DOMAIN))
    assert trained.metrics(PRETRAIN)["before"]["general"] == pytest.approx(random["general"])
    assert random["general"]["mlm_loss"] == pytest.approx(np.log(tiny.tokenizer().size), rel=0.03)
    assert set(below) == set(domain) == {"general", "domain", "section"}
    assert trained.metrics(DOMAIN)["before"] == {name: below[name] for name in ("general", "domain")}
    assert trained.metrics(DOMAIN)["after"] == {name: domain[name] for name in ("general", "domain")}
    assert trained.metrics(TASK)["before"] == {name: domain[name] for name in ("general", "section")}
    control = trained.metrics(GENERAL)
    assert control["before"] == {name: below[name] for name in ("domain", "general")}
    assert [control[name] for name in ("tokens", "steps")] == [62 * 128, 62], "token for token as long as the domain"
    edit(steps.folder(PRETRAIN), "card.json", measured={})
    again = steps.measure(PRETRAIN)
    for text, measures in below.items():
        assert again[text] == pytest.approx(measures, rel=1e-6)


def test_a_pass_of_the_control_is_as_long_as_one_of_the_domain(steps: Steps) -> None:
    """With what is replayed, which is half of it here; general text alone would be another number of tokens."""
    lengths = {}
    for corpus in ("domain", "general"):
        steps.domain_transfer(corpus, replay=0.5, passes=1)
        lengths[corpus] = steps.metrics(f"domain_transfer/{corpus}-small-1")["tokens"]
    general, domain = (read_json(steps.root / f"data/corpora/{name}/corpus.json")["tokens"] for name in tiny.WORDS)
    assert lengths["general"] == lengths["domain"] == pytest.approx(2 * domain, rel=0.02)
    assert general < 1.5 * domain


def test_training_on_a_text_teaches_that_text(trained: Steps) -> None:
    for own, other in ((DOMAIN, GENERAL), (GENERAL, DOMAIN)):
        text = "domain" if own == DOMAIN else "general"
        before, after = (trained.metrics(own)[when][text]["bits_per_char"] for when in ("before", "after"))
        assert after < min(before, trained.measure(other)[text]["bits_per_char"])


def test_the_card_names_all_text_from_the_first_step_on_and_the_weights_before(trained: Steps) -> None:
    cards = {name: Checkpoint.load(trained.folder(name)).card for name in (SCRATCH, PRETRAIN, DOMAIN, GENERAL, TASK)}
    replayed = [("general", 31 * 128), ("domain", 62 * 128), ("general", 62 * 128)]
    expected = {
        SCRATCH: [],
        PRETRAIN: replayed[:1],
        DOMAIN: replayed,
        GENERAL: [("general", 31 * 128), ("general", 62 * 128)],  # nothing to replay
        TASK: [*replayed, ("section", 6 * 128)],
    }
    for name, card in cards.items():
        assert card is not None
        assert (card.checkpoint, card.tokenizer) == (name, tiny.tokenizer().fingerprint)
        assert [(text["name"], text["trained_tokens"]) for text in card.texts or []] == expected[name]
    digests = {text["digest"] for text in cards[DOMAIN].texts}
    assert digests == {read_json(trained.root / f"data/corpora/{kind}/corpus.json")["digest"] for kind in tiny.WORDS}
    lineage = [cards[name].init for name in (PRETRAIN, DOMAIN, TASK)]
    assert lineage == [SCRATCH, cards[PRETRAIN].weights, cards[DOMAIN].weights]
    assert (cards[DOMAIN].params["replay_fraction"], cards[DOMAIN].params["seed"]) == (0.1, 1)


@ON_CPU
def test_twice_gives_equal_bytes(trained: Steps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another folder, after other random numbers were drawn, in the precision that a measurement chose; a replicate
    has a seed of its own."""
    processor(monkeypatch, SLOW)
    again = Steps(tmp_path)
    torch.manual_seed(99)
    np.random.seed(99)
    again.pretrain(tokens=4_000, precision="auto")
    again.domain_transfer("domain", tokens=8_000, precision="auto")
    expected, outputs = trained.outputs(), again.outputs()
    assert [name for name, content in outputs.items() if content != expected[name]] == []
    assert f"models/{DOMAIN}/model.safetensors" in outputs
    again.domain_transfer(replicate="2", tokens=8_000)
    assert not equal(weights_of(again.folder(DOMAIN)), weights_of(trained.folder(DOMAIN)))
    assert Checkpoint.load(again.folder(DOMAIN)).card.params["seed"] == seed_of_replicate(1, 2) != 1


@ON_CPU
@pytest.mark.usefixtures("save_every_step")
@pytest.mark.parametrize(("began", "name", "now"), [(FAST, BF16, SLOW), (SLOW, FLOAT32, FAST)])
def test_an_interrupted_step_goes_on_in_its_precision(
    steps: Steps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, began: float, name: str, now: float
) -> None:
    steps.pretrain(precision=name)
    undisturbed, work, of = steps.outputs(), tiny.work(tmp_path), MaskedBatches.of
    monkeypatch.setattr(tiny, "work", lambda _: work)
    processor(monkeypatch, began)
    with monkeypatch.context() as interrupted:
        interrupted.setattr(MaskedBatches, "of", lambda *given: until(of(*given), 3))
        with pytest.raises(Stop):
            steps.pretrain(precision="auto")
    processor(monkeypatch, now)
    steps.pretrain(precision="auto")
    assert "resumed after step 3 of 6" in capsys.readouterr().out
    assert steps.outputs() == undisturbed


def test_a_micro_batch_that_is_not_written_is_decided_before_the_run(trained: Steps, steps: Steps) -> None:
    """The card names it, and the bytes are those of a run that names it."""
    steps.pretrain(tokens=4_000, micro_batch_tokens=None)
    expected = trained.outputs()
    assert {name: content == expected[name] for name, content in steps.outputs().items() if PRETRAIN in name} == {
        name: True for name in expected if PRETRAIN in name
    }


def test_the_masking_rate_of_a_run_in_phases(steps: Steps) -> None:
    """It is lower in the second half of the steps."""
    masking = {"probability": 0.4, "decay_probability": 0.1}
    steps.domain_transfer(tokens=8_000, schedule="wsd", decay_fraction=0.5, masking=masking)
    of = steps.metrics(DOMAIN)["masking"]
    assert of["probability"] == 0.25
    assert of["rate"] == pytest.approx(0.25, abs=0.02)


def test_causal_steps_come_before_the_masked_ones(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps.domain_transfer(tokens=5_120, causal_share=0.5)
    metrics = steps.metrics(DOMAIN)
    assert "predicted from those before it in the first 20 steps, then masked again" in capsys.readouterr().out
    assert metrics["masking"]["rate"] == pytest.approx(metrics["masking"]["probability"], abs=0.03)
    read = metrics["tokens"] / TokenizedCorpus.load(steps.root / "data/corpora/domain").lengths.mean()
    assert metrics["masking"]["documents"] == pytest.approx(read / 2, rel=0.15), "those of the masked steps"
    assert "train/loss" in metrics["curve"][-1]
    assert metrics["after"]["domain"]["bits_per_char"] < metrics["before"]["domain"]["bits_per_char"]
    monkeypatch.setattr("adaptbert.mlm.step.way_of", lambda _: "padded")
    place = "AB-111 params.yaml: domain_transfer: causal_share 0.5, and"
    steps.refuse(lambda: steps.domain_transfer(causal_share=0.5), place)


def test_no_step_keeps_the_weights(steps: Steps) -> None:
    steps.domain_transfer(steps=0)
    metrics = steps.metrics(DOMAIN)
    assert (metrics["steps"], metrics["tokens"], metrics["curve"]) == (0, 0, [])
    assert metrics["after"] == metrics["before"]
    assert equal(weights_of(steps.folder(PRETRAIN)), weights_of(steps.folder(DOMAIN)))
    below, here = (Checkpoint.load(steps.folder(name)).texts for name in (PRETRAIN, DOMAIN))
    assert below == here, "nothing was read"
    record = StepMetrics.read(steps.root / f"metrics/{DOMAIN}.json")
    assert json.dumps(record.as_json()) == json.dumps(metrics)
    assert (record.sentence, record.random_head, record.masking.measures) == (None, None, {})


@pytest.mark.parametrize(
    ("way", "documents", "is_padded"),
    [("own", None, None), ("packed", None, None), ("masked_3d", "packed by masks", None), ("padded", "padded", True)],
)
def test_how_documents_were_computed_is_recorded(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, way: str, documents: str | None, is_padded: bool | None
) -> None:
    monkeypatch.setattr("adaptbert.mlm.step.way_of", lambda _: way)
    steps.domain_transfer(steps=0)
    assert steps.metrics(DOMAIN).get("documents") == documents
    assert known(Checkpoint.load(steps.folder(DOMAIN)).card).padded is is_padded


@pytest.mark.parametrize("objective", ["nsp", "sop"])
def test_a_sentence_objective(steps: Steps, objective: str) -> None:
    """Both parts are reported, and the next step trains without the objective."""
    steps.domain_transfer(sentence_objective=objective)
    metrics = steps.metrics(DOMAIN)
    assert metrics["sentence"]["objective"] == objective
    assert metrics["sentence"]["pairs"] > metrics["sentence"]["unpaired"]
    last = metrics["curve"][-1]
    assert last["train/loss"] == pytest.approx(last["train/mlm_loss"] + last["train/sentence_loss"], abs=1e-5)
    for text in tiny.WORDS:
        assert last[f"sentence_loss/{text}"] == pytest.approx(np.log(2), abs=0.2), "hardly trained"
        assert 0 <= last[f"sentence_accuracy/{text}"] <= 1
    assert set(metrics["after"]["domain"]) == MEASURES
    assert read_json(steps.folder(DOMAIN) / "config.json")["architectures"] == ["BertForPreTraining"]
    steps.task_transfer()
    assert not any("seq_relationship" in name for name in weights_of(steps.folder(TASK)))


# ---- where a step begins


@pytest.fixture
def public(steps: Steps) -> Path:
    """A checkpoint of somebody else with the same vocabulary, whose head was never trained."""
    tiny.public(steps.init)
    return steps.init


HUB = "acme/tiny-bert"


@pytest.mark.parametrize("base", [Base(checkpoint=HUB, revision=REVISION), Base(checkpoint=HUB), LOCAL], ids=str)
def test_a_public_checkpoint_is_taken_as_it_is(steps: Steps, public: Path, base: Base) -> None:
    in_cache("tiny-bert", public)
    steps.pretrain(base, tokens=0)
    assert equal(weights_of(public), weights_of(steps.folder(PRETRAIN)))
    metrics = steps.metrics(PRETRAIN)
    assert metrics["tokens"] == metrics["steps"] == 0
    assert metrics["before"] == metrics["after"]
    assert not Checkpoint.load(steps.folder(SCRATCH)).has_weights
    assert read_json(steps.folder(SCRATCH) / "config.json")["num_hidden_layers"] == 2


NOTHING = "README.md"
"""A file in the place of general text (adaptbert.config.plan)."""


@pytest.mark.parametrize("base", [SMALL, LOCAL], ids=["random", "public"])
def test_without_general_text_a_base_is_passed_on(steps: Steps, public: Path, base: Base) -> None:
    """Nothing is measured on the way; the steps after it are, on their own text, and train as from any checkpoint."""
    (steps.root / "data" / NOTHING).touch()
    steps.pretrain(base, text=NOTHING, tokens=0)
    metrics = steps.metrics(PRETRAIN)
    assert (metrics["tokens"], metrics["before"], metrics["after"], metrics["curve"]) == (0, {}, {}, [])
    card = Checkpoint.load(steps.folder(PRETRAIN)).card
    assert card is not None
    assert (card.texts, card.measured) == ([], {})
    if base is LOCAL:
        assert equal(weights_of(public), weights_of(steps.folder(PRETRAIN)))
    steps.domain_transfer(beside="domain", replay=0)
    steps.task_transfer(beside="section")
    domain, task = steps.metrics(DOMAIN), steps.metrics(TASK)
    assert (set(domain["after"]), set(task["after"])) == ({"domain"}, {"section"})
    assert domain["after"]["domain"]["mlm_loss"] < domain["before"]["domain"]["mlm_loss"]
    assert domain["random_head"] is True, "that its weights are random, nobody could tell before there was a text"


@pytest.mark.parametrize("count", [0, 2])
def test_a_pooler_is_passed_on_to_fine_tuning(steps: Steps, count: int) -> None:
    """As BertModel saves itself it has one, which masked-language modelling does not use."""
    torch.manual_seed(0)
    model = BertModel(tiny.config())
    model.save_pretrained(str(steps.init))
    tiny.tokenizer().save(steps.init)
    steps.pretrain(LOCAL, steps=count)
    steps.domain_transfer(steps=2)
    for name in (PRETRAIN, DOMAIN):
        loaded, drawn = Checkpoint.load(steps.folder(name)).model_and_drawn("sequence", 1)
        assert isinstance(loaded, BertForSequenceClassification)
        assert equal(dict(loaded.bert.pooler.named_parameters()), dict(model.pooler.named_parameters())), name
        assert not any("pooler" in weight for weight in drawn), name
        assert BertForMaskedLM.from_pretrained(str(steps.folder(name))).bert.pooler is None


def extended(steps: Steps) -> Tokenizer:
    """data/tokenizer and all texts by a tokenizer with more words than that of models/init."""
    shutil.copytree(steps.folder(PRETRAIN), steps.init)
    config = Extension(corpora=["domain"], num_new_tokens=12, min_frequency=2)
    pieces, _ = extend_vocabulary(tiny.tokenizer(), [text for _, text in tiny.rows("domain", 60)], config)
    pieces.save(steps.root / "data/tokenizer")
    for kind in tiny.WORDS:
        tiny.corpus(steps.root / "data/corpora" / kind, kind, 120, pieces=pieces)
    tiny.heldout(steps.root / "data/heldout", pieces)
    return pieces


def test_a_checkpoint_takes_an_extended_vocabulary(steps: Steps, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a step of training: old rows as they were, new ones the means; the next step finds nothing special."""
    pieces, old = extended(steps), tiny.tokenizer()
    assert pieces.size > old.size
    steps.pretrain(LOCAL, steps=0)
    assert f"vocabulary: {old.size} -> {pieces.size} tokens" in capsys.readouterr().out
    metrics, card = steps.metrics(PRETRAIN), read_json(steps.folder(PRETRAIN) / "card.json")
    grown = {"from": old.fingerprint, "new_tokens": pieces.size - old.size}
    assert metrics["vocabulary"] == card["vocabulary"] == grown
    assert (card["tokenizer"], metrics["before"]) == (pieces.fingerprint, metrics["after"])
    before, after = weights_of(steps.init), weights_of(steps.folder(PRETRAIN))
    name = "bert.embeddings.word_embeddings.weight"
    assert torch.equal(after[name][: old.size], before[name])
    ids = old.encode([pieces.tokens[-1]])[0].ids
    torch.testing.assert_close(after[name][-1], before[name][ids].mean(0))
    assert all(torch.equal(before[key], after[key]) for key in before if before[key].shape == after[key].shape)
    assert Checkpoint.load(steps.folder(SCRATCH)).config().vocab_size == pieces.size
    steps.domain_transfer()
    assert steps.metrics(DOMAIN)["before"]["general"] == metrics["after"]["general"]
    assert "vocabulary" not in steps.metrics(DOMAIN)


@pytest.mark.parametrize("how", ["trained", "no head", "drawn"])
def test_a_random_head_is_reported_recorded_and_warmed_up(
    how: str, steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    """By missing weights, or by its loss; it is not forgotten in the step after."""
    steps.pretrain(steps=0 if how == "drawn" else 60, learning_rate=1e-2)
    shutil.copytree(steps.folder(PRETRAIN), steps.init)
    (steps.init / "card.json").unlink()
    if how == "no head":
        encoder = {name: value for name, value in weights_of(steps.init).items() if not name.startswith("cls.")}
        save_file(encoder, steps.init / "model.safetensors", {"format": "pt"})
    steps.pretrain(LOCAL, steps=0)
    steps.domain_transfer(steps=0)
    printed = capsys.readouterr().out
    said = printed.count("was never trained")
    assert "set head_warmup_steps" not in printed, "these steps train nothing: a later one may have it"
    if how == "trained":
        assert said == 0
        assert "random_head" not in steps.metrics(PRETRAIN)
        return
    assert said == 2
    steps.task_transfer(steps=1)
    assert "mean nothing, and no comparison with it does; set head_warmup_steps" in capsys.readouterr().out
    assert steps.metrics(PRETRAIN)["random_head"] is steps.metrics(DOMAIN)["random_head"] is True
    assert read_json(steps.folder(PRETRAIN) / "card.json")["random_head"] is True
    if how == "no head":
        steps.pretrain(LOCAL, steps=0, head_warmup_steps=60, learning_rate=1e-2)
        assert "was never trained: 60 steps train it alone first" in capsys.readouterr().out
        warmed = steps.metrics(PRETRAIN)
        assert (warmed["random_head"], warmed["steps"], warmed["tokens"]) == (False, 60, 0)
        assert warmed["tflop"] > 0, "it costs, and no token of it has trained the encoder"
        assert read_json(steps.folder(PRETRAIN) / "card.json")["random_head"] is False
        before, after = weights_of(steps.init), weights_of(steps.folder(PRETRAIN))
        assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize(
    ("drawn", "losses", "untrained"),
    [
        ([], [0.99, 0.97], True),
        ([], [0.99, 0.7], False),
        ([], [0.3, 0.2], False),
        (["cls.predictions.bias"], [0.3], True),
        (["bert.pooler.dense.weight", "cls.seq_relationship.bias"], [0.3], False),
    ],
)
def test_signs_of_a_random_head(drawn: list[str], losses: list[float], untrained: bool) -> None:
    measured = {str(number): {"mlm_loss": loss * math.log(21_128)} for number, loss in enumerate(losses)}
    assert is_random(BertForMaskedLM(tiny.config()), drawn, measured, 21_128) is untrained


# ---- what is refused


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("wide-bert", {"hidden_size": 1_000_000_000}, "^AB-124 acme/wide-bert: hidden_size: "),
        ("odd-bert", {"intermediate_size": 65}, "^AB-132 acme/odd-bert: weights and config.json disagree: bert.enco"),
        ("typo", None, "^AB-128 acme/typo: cannot be loaded from the hub"),
    ],
)
def test_a_model_of_the_hub_is_held_as_a_folder_is(
    steps: Steps, public: Path, name: str, change: dict[str, Any] | None, message: str
) -> None:
    if change is not None:
        edit(public, "config.json", **change)
        in_cache(name, public)
    steps.refuse(lambda: steps.pretrain(Base(checkpoint=f"acme/{name}"), tokens=0), message)


def test_a_vocabulary_that_is_no_extension(steps: Steps) -> None:
    """Two old tokens have changed ids, or a text is of the old tokenizer: the check has no hole."""
    pieces = extended(steps)
    file = steps.root / "data/tokenizer/tokenizer.json"
    content = read_json(file)
    vocabulary = content["model"]["vocab"]
    vocabulary["the"], vocabulary["of"] = vocabulary["of"], vocabulary["the"]
    write_json(file, content)
    both = r"made with tokenizer \w{12}, the checkpoint .* has \w{12}"
    steps.refuse(lambda: steps.pretrain(LOCAL, steps=0), rf"AB-129 .*data/tokenizer: {both}")
    pieces.save(steps.root / "data/tokenizer")
    steps.refuse(lambda: steps.domain_transfer(replay=0), "AB-129 domain: made with tokenizer")
    tiny.corpus(steps.root / "data/corpora/general", "general", 120)
    steps.refuse(lambda: steps.pretrain(LOCAL, steps=0), "AB-129 general: made with tokenizer")


def test_documents_that_do_not_fit(steps: Steps) -> None:
    problem = r"AB-111 params.yaml: {}: a document has \d\d tokens, {} is {}\n  lower tokenize.max_length or raise {}"
    too_small = problem.format("domain_transfer", "block_size", 16, "block_size")
    steps.refuse(lambda: steps.domain_transfer(block_size=16, replay=0.9), too_small)
    small = SMALL.model_copy(update={"max_positions": 32})
    steps.refuse(lambda: steps.pretrain(small), problem.format("pretrain", "max_positions", 32, "max_positions"))


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"micro_batch_tokens": 100}, "global_batch_tokens 128 is not a multiple of micro_batch_tokens 100"),
        ({"block_size": 256}, "block_size 256 is larger than micro_batch_tokens 128"),
        (
            {"micro_batch_tokens": None, "global_batch_tokens": 101_000, "block_size": 13_000},
            "global_batch_tokens 101000 has no equal parts from block_size 13000 to 16384",
        ),
        ({"decay_fraction": 0.2}, "decay_fraction 0.2 and schedule linear"),
        ({"schedule": "wsd", "warmup_fraction": 0.9}, "warmup_fraction 0.9 \\+ decay_fraction 0.2 is above 1"),
        ({"schedule": "wsd", "causal_share": 0.9}, "causal_share 0.9 \\+ decay_fraction 0.2 is above 1"),
        ({"sentence_objective": "nsp", "causal_share": 0.5}, "causal_share 0.5 and sentence_objective nsp"),
        ({"masking": {"probability": 0.3, "decay_probability": 0.15}}, "the learning rate has no decay phase"),
        ({"masking": {"probability": 0.15, "unit": "ngram"}}, "unit is ngram and ngram is missing"),
        (
            {"masking": {"probability": 0.15, "unit": "word", "ngram": {"longest": 3, "geometric": 0.0}}},
            "unit is word and ngram is given",
        ),
    ],
)
def test_contradictions(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        tiny_params.step(**values)


@given(st.integers(0, 100_000), st.integers(1, 20))
def test_measured_steps(steps: int, count: int) -> None:
    points = measured_steps(steps, count)
    assert len(points) <= count
    assert points == sorted(set(points))
    if steps == 0:
        assert points == []
    else:
        assert points[-1] == steps
        assert points[0] == steps or 1 <= points[0] <= max(1, steps // 10 + 1)
