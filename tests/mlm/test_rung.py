"""One step up the ladder, as the three stages take it: what is written, and that it repeats."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from adaptbert.config.plan import seed_of_replicate
from adaptbert.core.files import read_json, write_json
from adaptbert.errors import UserError
from adaptbert.mlm.rung_metrics import RungMetrics
from adaptbert.model.checkpoint import Checkpoint
from tests.support import tiny
from tests.support.rungs import DOMAIN, GENERAL, PRETRAIN, SCRATCH, TASK, Ladder

FILES = ["card.json", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
RUNGS = [PRETRAIN, DOMAIN, GENERAL, TASK]


def test_what_is_written(trained_ladder: Ladder) -> None:
    assert sorted(trained_ladder.outputs()) == sorted(
        [
            *(f"models/{SCRATCH}/{name}" for name in FILES if name != "model.safetensors"),
            *(f"models/{rung}/{name}" for rung in RUNGS for name in FILES),
            *(f"metrics/{rung}.json" for rung in RUNGS),
        ]
    )


def test_no_output_contains_the_time_or_the_machine(trained_ladder: Ladder) -> None:
    for name, content in trained_ladder.outputs().items():
        if name.endswith(".json") and "tokenizer" not in name:
            text = content.decode()
            assert str(trained_ladder.root) not in text, name
            assert not re.search(r"20\d\d-\d\d|\d\d:\d\d|/tmp|seconds|run_id", text), name


def test_metrics(trained_ladder: Ladder) -> None:
    metrics = trained_ladder.metrics(DOMAIN)
    assert metrics["rung"] == DOMAIN
    assert metrics["from"] == PRETRAIN
    assert metrics["steps"] == 62  # 8,000 / 128
    assert metrics["tokens"] == 62 * 128
    assert metrics["tflop"] > 0
    assert metrics["parameters"] == sum(
        tensor.numel() for tensor in load_file(trained_ladder.root / f"models/{PRETRAIN}/model.safetensors").values()
    )
    assert set(metrics["before"]) == set(metrics["after"]) == {"general", "domain"}
    assert set(metrics["after"]["domain"]) == {"bits_per_char", "mlm_loss", "masked_accuracy"}
    assert [point["step"] for point in metrics["curve"]] == [6, 62]
    last = metrics["curve"][-1]
    assert last["domain/bits_per_char"] == metrics["after"]["domain"]["bits_per_char"]
    assert last["train/mlm_loss"] < metrics["curve"][0]["train/mlm_loss"]
    assert last["tokens"] == pytest.approx(metrics["tokens"], rel=0.02), "what was really read"
    assert metrics["masking"]["specials"] == 0
    assert metrics["masking"]["documents"] > 300
    assert (metrics["masking"]["unit"], metrics["masking"]["probability"]) == ("token", 0.15)
    assert metrics["masking"]["rate_latin"] == pytest.approx(0.15, abs=0.03)
    assert metrics["masking"]["rate"] == pytest.approx(0.15, abs=0.02)


def test_a_rung_is_measured_on_all_text_by_the_same_masks(ladder: Ladder, trained_ladder: Ladder) -> None:
    """Each rung begins where the one below ended, on its own text as on others; and with nothing measured before."""
    random, below, domain = (trained_ladder.measure(rung) for rung in (SCRATCH, PRETRAIN, DOMAIN))
    assert trained_ladder.metrics(PRETRAIN)["before"]["general"] == pytest.approx(random["general"])
    assert random["general"]["mlm_loss"] == pytest.approx(np.log(tiny.tokenizer().size), rel=0.03)
    assert set(below) == set(domain) == {"general", "domain", "section"}
    assert trained_ladder.metrics(DOMAIN)["before"] == {name: below[name] for name in ("general", "domain")}
    assert trained_ladder.metrics(DOMAIN)["after"] == {name: domain[name] for name in ("general", "domain")}
    assert trained_ladder.metrics(TASK)["before"] == {name: domain[name] for name in ("general", "section")}
    control = trained_ladder.metrics(GENERAL)
    assert control["before"] == {"general": below["general"]}
    assert [control[name] for name in ("tokens", "steps")] == [62 * 128, 62], "token for token as long as the domain"
    card = read_json(ladder.root / "models" / PRETRAIN / "card.json")
    write_json(ladder.root / "models" / PRETRAIN / "card.json", card | {"measured": {}})
    again = ladder.measure(PRETRAIN)
    for text, measures in below.items():
        assert again[text] == pytest.approx(measures, rel=1e-6)


def test_training_on_a_text_teaches_that_text(trained_ladder: Ladder) -> None:
    domain, general = (trained_ladder.metrics(rung) for rung in (DOMAIN, GENERAL))
    on_domain, on_general = (trained_ladder.measure(rung) for rung in (DOMAIN, GENERAL))
    for text, better, worse in (("domain", domain, on_general), ("general", general, on_domain)):
        assert better["after"][text]["bits_per_char"] < better["before"][text]["bits_per_char"]
        assert better["after"][text]["bits_per_char"] < worse[text]["bits_per_char"]


def test_the_ledger_names_all_text_from_the_first_rung_on(trained_ladder: Ladder) -> None:
    def ledger(rung: str) -> list[tuple[str, int]]:
        texts = Checkpoint.load(trained_ladder.root / "models" / rung).texts
        return [(text["name"], text["trained_tokens"]) for text in texts]

    assert ledger(SCRATCH) == []
    assert ledger(PRETRAIN) == [("general", 31 * 128)]
    replayed = [("general", 31 * 128), ("domain", 62 * 128), ("general", 62 * 128)]
    assert ledger(DOMAIN) == replayed
    assert ledger(GENERAL) == [("general", 31 * 128), ("general", 62 * 128)], "nothing to replay"
    assert ledger(TASK) == [*replayed, ("section", 6 * 128)]
    digests = {text["digest"] for text in Checkpoint.load(trained_ladder.root / "models" / DOMAIN).texts}
    assert digests == {
        read_json(trained_ladder.root / f"data/corpora/{kind}/corpus.json")["digest"] for kind in tiny.WORDS
    }


def test_lineage_is_by_content(trained_ladder: Ladder) -> None:
    cards = {
        rung: card
        for rung in (PRETRAIN, DOMAIN, TASK)
        if (card := Checkpoint.load(trained_ladder.root / "models" / rung).card)
    }
    first, second, third = cards.values()
    assert first.init == SCRATCH
    assert second.init == first.weights
    assert third.init == second.weights
    assert [card.rung for card in cards.values()] == list(cards)
    assert {card.tokenizer for card in cards.values()} == {tiny.tokenizer().fingerprint}
    assert second.params["replay_fraction"] == 0.1
    assert second.params["seed"] == 1


def test_twice_gives_equal_bytes(trained_ladder: Ladder, tmp_path: Path) -> None:
    """In another folder, after other random numbers were drawn."""
    again = Ladder(tmp_path)
    torch.manual_seed(99)
    np.random.seed(99)
    more = 8_000
    again.pretrain(tokens=4_000)
    again.domain_transfer("domain", tokens=more)
    expected, metrics = trained_ladder.outputs(), again.outputs()
    for name, content in metrics.items():
        assert content == expected[name], name
    assert f"models/{DOMAIN}/model.safetensors" in metrics


def test_no_step_keeps_the_weights(ladder: Ladder) -> None:
    ladder.domain_transfer(steps=0)
    metrics = ladder.metrics(DOMAIN)
    assert (metrics["steps"], metrics["tokens"], metrics["curve"]) == (0, 0, [])
    assert metrics["after"] == metrics["before"]
    below, here = (load_file(ladder.root / f"models/{rung}/model.safetensors") for rung in (PRETRAIN, DOMAIN))
    assert all(torch.equal(below[name], here[name]) for name in below)
    texts = [Checkpoint.load(ladder.root / f"models/{rung}").texts for rung in (PRETRAIN, DOMAIN)]
    assert texts[0] == texts[1], "nothing was read"


@pytest.mark.parametrize("objective", ["nsp", "sop"])
def test_a_rung_with_a_sentence_objective(ladder: Ladder, objective: str) -> None:
    """Both parts are reported, and the next rung trains without the objective."""
    ladder.domain_transfer(sentence_objective=objective)
    metrics = ladder.metrics(DOMAIN)
    assert metrics["sentence"]["objective"] == objective
    assert metrics["sentence"]["pairs"] > metrics["sentence"]["unpaired"]
    last = metrics["curve"][-1]
    assert last["train/loss"] == pytest.approx(last["train/mlm_loss"] + last["train/sentence_loss"], abs=1e-5)
    for text in tiny.WORDS:
        assert last[f"sentence_loss/{text}"] == pytest.approx(np.log(2), abs=0.2), "hardly trained"
        assert 0 <= last[f"sentence_accuracy/{text}"] <= 1
    assert set(metrics["after"]["domain"]) == {"bits_per_char", "mlm_loss", "masked_accuracy"}
    config = read_json(ladder.root / f"models/{DOMAIN}/config.json")
    assert config["architectures"] == ["BertForPreTraining"]
    ladder.task_transfer()
    names = load_file(ladder.root / f"models/{TASK}/model.safetensors")
    assert not any("seq_relationship" in name for name in names)


def test_a_rung_with_a_length_schedule(ladder: Ladder) -> None:
    """The budget stays, and the pieces are more than the documents."""
    schedule = {"short_share": 0.5, "short_length": 16}
    ladder.domain_transfer(steps=20)
    plain = ladder.metrics(DOMAIN)
    ladder.domain_transfer(steps=20, lengths=schedule)
    metrics = ladder.metrics(DOMAIN)
    assert (metrics["tokens"], metrics["steps"]) == (plain["tokens"], plain["steps"]) == (20 * 128, 20)
    assert metrics["curve"][-1]["tokens"] == pytest.approx(20 * 128, rel=0.03)
    assert metrics["after"] != plain["after"]
    card = read_json(ladder.root / f"models/{DOMAIN}/card.json")
    assert card["params"]["lengths"] == schedule


def test_what_fails_on_the_way_leaves_the_old_rung(ladder: Ladder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full while the metrics are written; then the checkpoint of a rung that was there before stays."""
    ladder.domain_transfer()
    before = ladder.outputs()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    monkeypatch.setattr("transformers.modeling_utils.safe_save_file", full)
    with pytest.raises(UserError, match="no space left"):
        ladder.domain_transfer(seed=2)
    with pytest.raises(UserError, match="no space left"):
        ladder.pretrain(seed=2)
    assert ladder.outputs() == before


def test_a_draw_has_a_seed_of_its_own_and_the_first_that_of_params(ladder: Ladder) -> None:
    ladder.domain_transfer()
    first = ladder.outputs()
    ladder.domain_transfer(replicate="2")
    assert ladder.outputs()[f"models/{DOMAIN}/model.safetensors"] != first[f"models/{DOMAIN}/model.safetensors"]
    assert Checkpoint.load(ladder.root / "models" / DOMAIN).card.params["seed"] == seed_of_replicate(1, 2) != 1


def test_the_metrics_are_read_whole(ladder: Ladder) -> None:
    """With a sentence objective, and with no step at all."""
    ladder.domain_transfer(sentence_objective="sop")
    ladder.domain_transfer("general", steps=0)
    for rung in (DOMAIN, GENERAL):
        path = ladder.root / f"metrics/{rung}.json"
        metrics = RungMetrics.read(path)
        assert json.dumps(metrics.as_json()) == json.dumps(read_json(path))
        assert (metrics.sentence is not None) == (rung == DOMAIN) == bool(metrics.masking.measures)
        assert metrics.random_head is None
