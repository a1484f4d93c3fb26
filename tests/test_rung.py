"""One step up the ladder, as the three stages take it: what is written, that it repeats, and what is refused before."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from transformers import BertForMaskedLM, BertForSequenceClassification, BertModel

from adaptbert.architecture import EncoderConfig
from adaptbert.checkpoint import Checkpoint
from adaptbert.errors import BadData
from adaptbert.outputs import read_json
from adaptbert.rung import measured_steps
from adaptbert.stream import BudgetConfig
from adaptbert.tokenization import Tokenizer
from adaptbert.vocabulary import ExtensionConfig, extend_vocabulary
from stages.domain_transfer import DomainTransferParams, domain_transfer
from stages.pretrain import PretrainParams, pretrain
from stages.task_transfer import TaskTransferParams, task_transfer
from tests import tiny

ENCODER = EncoderConfig(layers=2, hidden_size=32, heads=2, intermediate_size=64, max_positions=tiny.POSITIONS)


class Ladder:
    """A project's folders, and its stages with the paths that dvc.yaml gives them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        tiny.tokenizer().save(self.made("data/tokenizer"))
        for kind in tiny.WORDS:
            tiny.corpus(self.made("data/corpora") / kind, kind, 120)
        tiny.corpus(self.made("data/tasks") / "section", "domain", 40, seed=10)
        tiny.heldout(self.made("data/heldout"))

    def made(self, folder: str) -> Path:
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        return self.root / folder

    def metrics(self, name: str) -> dict[str, Any]:
        return read_json(self.root / f"metrics/{name}.json")

    def pretrain(self, seed: int = 1, **changes: Any) -> None:
        values = {"init": "scratch", "encoder": ENCODER} | changes
        pretrain(
            PretrainParams(**tiny.rung_values(**values)),
            seed=seed,
            measure=tiny.MEASURE,
            init=self.root / "models/init",
            tokenizer=self.root / "data/tokenizer",
            text=self.root / "data/corpora/general",
            heldout=self.root / "data/heldout",
            scratch=self.root / "models/scratch",
            out=self.root / "models/pretrain",
            metrics=self.root / "metrics/pretrain.json",
            work=tiny.work(self.root),
            run=tiny.no_record(),
        )

    def domain_transfer(self, corpus: str = "domain", replay: float = 0.1, seed: int = 1, **changes: Any) -> None:
        domain_transfer(
            DomainTransferParams(**tiny.rung_values(**changes), replay_fraction=replay),
            corpus=corpus,
            seed=seed,
            measure=tiny.MEASURE,
            init=self.root / "models/pretrain",
            text=self.root / f"data/corpora/{corpus}",
            replay=self.root / "data/corpora/general",
            heldout=self.root / "data/heldout",
            out=self.root / f"models/domain_transfer/{corpus}",
            metrics=self.root / f"metrics/domain_transfer/{corpus}.json",
            work=tiny.work(self.root),
            run=tiny.no_record(),
        )

    def task_transfer(self, **changes: Any) -> None:
        task_transfer(
            TaskTransferParams(**tiny.rung_values(**changes)),
            task="section",
            seed=1,
            measure=tiny.MEASURE,
            init=self.root / "models/domain_transfer/domain",
            text=self.root / "data/tasks/section",
            heldout=self.root / "data/heldout",
            out=self.root / "models/task_transfer/section-domain",
            metrics=self.root / "metrics/task_transfer/section-domain.json",
            work=tiny.work(self.root),
            run=tiny.no_record(),
        )

    def outputs(self) -> dict[str, bytes]:
        return {
            f"{folder}/{name}": content
            for folder in ("models", "metrics")
            if (self.root / folder).is_dir()
            for name, content in tiny.folder_bytes(self.root / folder).items()
        }


@pytest.fixture(scope="module")
def climbed(tmp_path_factory: pytest.TempPathFactory) -> Ladder:
    """All rungs; the tests only look."""
    ladder = Ladder(tmp_path_factory.mktemp("ladder"))
    more = BudgetConfig(tokens=8_000)
    ladder.pretrain(budget=BudgetConfig(tokens=4_000))
    ladder.domain_transfer("domain", budget=more)
    ladder.domain_transfer("general", budget=more)
    ladder.task_transfer()
    return ladder


@pytest.fixture
def ladder(climbed: Ladder, tmp_path: Path) -> Ladder:
    """The data and the first rung alone, to be climbed or spoilt."""
    shutil.copytree(climbed.root / "data", tmp_path / "data")
    for rung in ("scratch", "pretrain"):
        shutil.copytree(climbed.root / "models" / rung, tmp_path / "models" / rung)
    copy = Ladder.__new__(Ladder)
    copy.root = tmp_path
    return copy


FILES = ["card.json", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


def test_what_is_written(climbed: Ladder) -> None:
    assert sorted(climbed.outputs()) == sorted(
        [
            *(f"models/scratch/{name}" for name in FILES if name != "model.safetensors"),
            *(
                f"models/{rung}/{name}"
                for rung in (
                    "pretrain",
                    "domain_transfer/domain",
                    "domain_transfer/general",
                    "task_transfer/section-domain",
                )
                for name in FILES
            ),
            "metrics/pretrain.json",
            "metrics/domain_transfer/domain.json",
            "metrics/domain_transfer/general.json",
            "metrics/task_transfer/section-domain.json",
        ]
    )


def test_nothing_written_knows_the_time_or_the_machine(climbed: Ladder) -> None:
    for name, content in climbed.outputs().items():
        if name.endswith(".json") and "tokenizer" not in name:
            text = content.decode()
            assert str(climbed.root) not in text, name
            assert not re.search(r"20\d\d-\d\d|\d\d:\d\d|/tmp|seconds|run_id", text), name


def test_metrics(climbed: Ladder) -> None:
    found = climbed.metrics("domain_transfer/domain")
    assert found["rung"] == "domain_transfer/domain"
    assert found["from"] == "pretrain"
    assert found["steps"] == 62  # 8,000 / 128
    assert found["tokens"] == 62 * 128
    assert found["tflop"] > 0
    assert found["parameters"] == sum(
        tensor.numel() for tensor in load_file(climbed.root / "models/pretrain/model.safetensors").values()
    )
    assert set(found["before"]) == set(found["after"]) == {"general", "domain"}
    assert set(found["after"]["domain"]) == {"bits_per_char", "mlm_loss", "masked_accuracy"}
    assert [point["step"] for point in found["curve"]] == [6, 62]
    last = found["curve"][-1]
    assert last["domain/bits_per_char"] == found["after"]["domain"]["bits_per_char"]
    assert last["train/mlm_loss"] < found["curve"][0]["train/mlm_loss"]
    assert last["tokens"] == pytest.approx(found["tokens"], rel=0.02), "what was really read"
    assert found["masking"]["specials"] == 0
    assert found["masking"]["documents"] > 300
    assert (found["masking"]["unit"], found["masking"]["probability"]) == ("token", 0.15)
    assert found["masking"]["rate_latin"] == pytest.approx(0.15, abs=0.03)
    assert found["masking"]["rate"] == pytest.approx(0.15, abs=0.02)


def test_every_rung_begins_where_the_one_below_ended(climbed: Ladder) -> None:
    assert climbed.metrics("domain_transfer/domain")["before"] == climbed.metrics("pretrain")["after"]
    below = climbed.metrics("domain_transfer/domain")["after"]
    assert climbed.metrics("task_transfer/section-domain")["before"] == below
    pieces = tiny.tokenizer().size
    assert climbed.metrics("pretrain")["before"]["general"]["mlm_loss"] == pytest.approx(np.log(pieces), rel=0.03)


def test_training_on_a_text_teaches_that_text(climbed: Ladder) -> None:
    domain, general = (climbed.metrics(f"domain_transfer/{corpus}") for corpus in ("domain", "general"))
    for text, better, worse in (("domain", domain, general), ("general", general, domain)):
        assert better["after"][text]["bits_per_char"] < better["before"][text]["bits_per_char"]
        assert better["after"][text]["bits_per_char"] < worse["after"][text]["bits_per_char"]


def test_the_control_is_trained_token_for_token_as_long(climbed: Ladder) -> None:
    domain, general = (climbed.metrics(f"domain_transfer/{corpus}") for corpus in ("domain", "general"))
    assert (domain["tokens"], domain["steps"]) == (general["tokens"], general["steps"])
    assert domain["before"] == general["before"]


def test_the_ledger_names_all_text_from_the_first_rung_on(climbed: Ladder) -> None:
    def ledger(rung: str) -> list[tuple[str, int]]:
        texts = Checkpoint.load(climbed.root / "models" / rung).texts
        return [(text["name"], text["trained_tokens"]) for text in texts]

    assert ledger("scratch") == []
    assert ledger("pretrain") == [("general", 31 * 128)]
    replayed = [("general", 31 * 128), ("domain", 62 * 128), ("general", 62 * 128)]
    assert ledger("domain_transfer/domain") == replayed
    assert ledger("domain_transfer/general") == [("general", 31 * 128), ("general", 62 * 128)], "nothing to replay"
    assert ledger("task_transfer/section-domain") == [*replayed, ("section", 6 * 128)]
    digests = {text["digest"] for text in Checkpoint.load(climbed.root / "models/domain_transfer/domain").texts}
    assert digests == {read_json(climbed.root / f"data/corpora/{kind}/corpus.json")["digest"] for kind in tiny.WORDS}


def test_lineage_is_by_content(climbed: Ladder) -> None:
    cards = {
        rung: Checkpoint.load(climbed.root / "models" / rung).card
        for rung in ("pretrain", "domain_transfer/domain", "task_transfer/section-domain")
    }
    first, second, third = cards.values()
    assert first["init"] == "scratch"
    assert second["init"] == first["weights"]
    assert third["init"] == second["weights"]
    assert [card["rung"] for card in cards.values()] == list(cards)
    assert {card["tokenizer"] for card in cards.values()} == {tiny.tokenizer().fingerprint}
    assert second["params"]["replay_fraction"] == 0.1
    assert second["params"]["seed"] == 1


def test_twice_gives_equal_bytes(climbed: Ladder, tmp_path: Path) -> None:
    """In another folder, after other random numbers were drawn."""
    again = Ladder(tmp_path)
    torch.manual_seed(99)
    np.random.seed(99)
    more = BudgetConfig(tokens=8_000)
    again.pretrain(budget=BudgetConfig(tokens=4_000))
    again.domain_transfer("domain", budget=more)
    expected, found = climbed.outputs(), again.outputs()
    for name, content in found.items():
        assert content == expected[name], name
    assert "models/domain_transfer/domain/model.safetensors" in found


def test_another_seed_gives_other_weights(ladder: Ladder, climbed: Ladder) -> None:
    ladder.pretrain(seed=2, budget=BudgetConfig(tokens=4_000))
    name = "models/pretrain/model.safetensors"
    assert ladder.outputs()[name] != climbed.outputs()[name]


def test_no_step_keeps_the_weights(ladder: Ladder) -> None:
    ladder.domain_transfer(budget=BudgetConfig(steps=0))
    found = ladder.metrics("domain_transfer/domain")
    assert (found["steps"], found["tokens"], found["curve"]) == (0, 0, [])
    assert found["after"] == found["before"]
    below, here = (
        load_file(ladder.root / f"models/{rung}/model.safetensors") for rung in ("pretrain", "domain_transfer/domain")
    )
    assert all(torch.equal(below[name], here[name]) for name in below)
    texts = [Checkpoint.load(ladder.root / f"models/{rung}").texts for rung in ("pretrain", "domain_transfer/domain")]
    assert texts[0] == texts[1], "nothing was read"


@pytest.mark.parametrize("objective", ["nsp", "sop"])
def test_a_rung_with_a_sentence_objective(ladder: Ladder, objective: str) -> None:
    """Both parts are told, equal bytes come again, and the next rung goes on without it."""
    ladder.domain_transfer(sentence_objective=objective)
    found, bytes_of = ladder.metrics("domain_transfer/domain"), ladder.outputs()
    assert found["sentence"]["objective"] == objective
    assert found["sentence"]["pairs"] > found["sentence"]["unpaired"]
    last = found["curve"][-1]
    assert last["train/loss"] == pytest.approx(last["train/mlm_loss"] + last["train/sentence_loss"], abs=1e-5)
    for text in tiny.WORDS:
        assert last[f"sentence_loss/{text}"] == pytest.approx(np.log(2), abs=0.2), "hardly trained"
        assert 0 <= last[f"sentence_accuracy/{text}"] <= 1
    assert set(found["after"]["domain"]) == {"bits_per_char", "mlm_loss", "masked_accuracy"}
    ladder.domain_transfer(sentence_objective=objective)
    assert ladder.outputs() == bytes_of
    config = read_json(ladder.root / "models/domain_transfer/domain/config.json")
    assert config["architectures"] == ["BertForPreTraining"]
    ladder.task_transfer()
    names = load_file(ladder.root / "models/task_transfer/section-domain/model.safetensors")
    assert not any("seq_relationship" in name for name in names)


def test_a_rung_with_a_length_schedule(ladder: Ladder) -> None:
    """The budget stays, the pieces are more than the documents, and equal bytes come again."""
    budget, schedule = BudgetConfig(steps=20), {"short_share": 0.5, "short_length": 16}
    ladder.domain_transfer(budget=budget)
    plain = ladder.metrics("domain_transfer/domain")
    ladder.domain_transfer(budget=budget, lengths=schedule)
    found, bytes_of = ladder.metrics("domain_transfer/domain"), ladder.outputs()
    assert (found["tokens"], found["steps"]) == (plain["tokens"], plain["steps"]) == (20 * 128, 20)
    assert found["curve"][-1]["tokens"] == pytest.approx(20 * 128, rel=0.03)
    assert found["after"] != plain["after"]
    ladder.domain_transfer(budget=budget, lengths=schedule)
    assert ladder.outputs() == bytes_of
    card = read_json(ladder.root / "models/domain_transfer/domain/card.json")
    assert card["params"]["lengths"] == schedule


def test_a_local_checkpoint_is_the_start(ladder: Ladder, climbed: Ladder, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(climbed.root / "models/pretrain", ladder.root / "models/init")
    ladder.pretrain(init=str(ladder.root / "models/init"), encoder=None, budget=BudgetConfig(steps=2))
    assert ladder.metrics("pretrain")["before"] == climbed.metrics("pretrain")["after"]
    assert not Checkpoint.load(ladder.root / "models/scratch").has_weights
    assert "note" not in capsys.readouterr().out
    shutil.copytree(climbed.root / "models/pretrain", ladder.root / "elsewhere")
    ladder.pretrain(init=str(ladder.root / "elsewhere"), encoder=None, budget=BudgetConfig(steps=0))
    assert "note: DVC cannot see changes in" in capsys.readouterr().out


@pytest.mark.parametrize("steps", [0, 2])
def test_a_pooler_is_passed_on_to_fine_tuning(ladder: Ladder, steps: int) -> None:
    """As BertModel saves itself it has one, which masked-language modelling does not use."""
    torch.manual_seed(0)
    public = BertModel(tiny.config())
    public.save_pretrained(str(ladder.made("models/init")))
    tiny.tokenizer().save(ladder.root / "models/init")
    ladder.pretrain(init=str(ladder.root / "models/init"), encoder=None, budget=BudgetConfig(steps=steps))
    ladder.domain_transfer(budget=BudgetConfig(steps=2))
    for rung in ("pretrain", "domain_transfer/domain"):
        start = Checkpoint.load(ladder.root / "models" / rung)
        model, drawn = start.model_and_drawn(BertForSequenceClassification, 1)
        assert torch.equal(model.bert.pooler.dense.weight, public.pooler.dense.weight), rung
        assert torch.equal(model.bert.pooler.dense.bias, public.pooler.dense.bias), rung
        assert not any("pooler" in name for name in drawn), rung
        assert BertForMaskedLM.from_pretrained(start.source).bert.pooler is None


def test_without_a_pooler_there_is_none_to_pass_on(climbed: Ladder) -> None:
    for name, content in climbed.outputs().items():
        assert not (name.endswith(".safetensors") and b"pooler" in content), name


def extended(ladder: Ladder) -> Tokenizer:
    """data/tokenizer and all texts by a tokenizer with more words than that of models/init."""
    shutil.copytree(ladder.root / "models/pretrain", ladder.root / "models/init")
    words = [text for _, text in tiny.rows("domain", 60)]
    config = ExtensionConfig(corpora=["domain"], num_new_tokens=12, min_frequency=2)
    pieces = extend_vocabulary(tiny.tokenizer(), words, config).tokenizer
    pieces.save(ladder.root / "data/tokenizer")
    for kind in tiny.WORDS:
        tiny.corpus(ladder.root / "data/corpora" / kind, kind, 120, pieces=pieces)
    tiny.heldout(ladder.root / "data/heldout", pieces)
    return pieces


def test_a_checkpoint_takes_an_extended_vocabulary_by_an_explicit_step(
    ladder: Ladder, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a step of training: old rows as they were, new ones the means; the next rung finds nothing special."""
    pieces, old = extended(ladder), tiny.tokenizer()
    assert pieces.size > old.size
    changes = {"init": str(ladder.root / "models/init"), "encoder": None, "budget": BudgetConfig(steps=0)}
    ladder.pretrain(**changes)
    assert f"vocabulary: {old.size} -> {pieces.size} tokens" in capsys.readouterr().out
    found, card = ladder.metrics("pretrain"), read_json(ladder.root / "models/pretrain/card.json")
    assert found["vocabulary"] == card["vocabulary"] == {"from": old.fingerprint, "new_tokens": pieces.size - old.size}
    assert (card["tokenizer"], found["before"]) == (pieces.fingerprint, found["after"])
    before, after = (load_file(ladder.root / f"models/{rung}/model.safetensors") for rung in ("init", "pretrain"))
    name = "bert.embeddings.word_embeddings.weight"
    assert torch.equal(after[name][: old.size], before[name])
    ids = old.encode([pieces.tokens[-1]])[0].ids
    torch.testing.assert_close(after[name][-1], before[name][ids].mean(0))
    assert all(torch.equal(before[key], after[key]) for key in before if before[key].shape == after[key].shape)
    assert Checkpoint.load(ladder.root / "models/scratch").config().vocab_size == pieces.size

    ladder.domain_transfer()
    above = ladder.metrics("domain_transfer/domain")
    assert above["before"] == found["after"]
    assert "vocabulary" not in above


@pytest.mark.usefixtures("no_training")
def test_a_vocabulary_that_is_no_extension_is_refused(ladder: Ladder) -> None:
    """Two old tokens have changed ids, or a text is of the old tokenizer: the check has no hole."""
    pieces = extended(ladder)
    file = ladder.root / "data/tokenizer/tokenizer.json"
    content = read_json(file)
    vocabulary = content["model"]["vocab"]
    vocabulary["the"], vocabulary["of"] = vocabulary["of"], vocabulary["the"]
    file.write_text(json.dumps(content), encoding="utf-8")
    start = {"init": str(ladder.root / "models/init"), "encoder": None, "budget": BudgetConfig(steps=0)}
    refused(ladder, lambda: ladder.pretrain(**start), "AB-129 .*data/tokenizer: made with tokenizer")
    pieces.save(ladder.root / "data/tokenizer")
    refused(ladder, lambda: ladder.domain_transfer(replay=0), "AB-129 domain: made with tokenizer")
    tiny.corpus(ladder.root / "data/corpora/general", "general", 120)
    refused(ladder, lambda: ladder.pretrain(**start), "AB-129 general: made with tokenizer")


def refused(ladder: Ladder, climb: Any, message: str) -> None:
    """With this message, before anything is trained or written."""
    before = ladder.outputs()
    with pytest.raises(BadData, match=message):
        climb()
    assert ladder.outputs() == before
    hidden = [path for path in ladder.root.rglob(".*") if ".part" in path.name]
    assert hidden == []


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(*_: object) -> None:
        raise AssertionError("training has begun")

    monkeypatch.setattr("adaptbert.training.fit", fit)


@pytest.mark.usefixtures("no_training")
def test_text_of_another_tokenizer_is_refused(ladder: Ladder) -> None:
    other = tiny.tokenizer(lowercase=False)
    for kind in tiny.WORDS:
        tiny.corpus(ladder.root / "data/corpora" / kind, kind, 30, pieces=other)
    made_with = f"made with tokenizer {other.fingerprint[:12]}, the checkpoint "
    refused(ladder, ladder.domain_transfer, f"AB-129 domain: {made_with}pretrain has")
    shutil.rmtree(ladder.root / "models")
    refused(ladder, ladder.pretrain, f"AB-129 general: {made_with}scratch has")


@pytest.mark.usefixtures("no_training")
def test_documents_that_do_not_fit_are_refused(ladder: Ladder) -> None:
    longest = max(
        int(length)
        for kind in tiny.WORDS
        for length in np.diff(np.fromfile(ladder.root / f"data/corpora/{kind}/offsets.bin", np.int64))
    )
    refused(
        ladder,
        lambda: ladder.domain_transfer(block_size=16, replay=0.9),
        rf"AB-111 params.yaml: domain_transfer: a document has {longest} tokens, block_size is 16; lower tokenize",
    )
    small = ENCODER.model_copy(update={"max_positions": 32})
    refused(
        ladder,
        lambda: ladder.pretrain(encoder=small),
        r"AB-111 params.yaml: pretrain: a document has \d+ tokens, max_positions is 32; .* or raise max_positions",
    )


@pytest.mark.usefixtures("no_training")
def test_a_damaged_start_is_refused(ladder: Ladder) -> None:
    weights = ladder.root / "models/pretrain/model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-5] ^= 4
    weights.write_bytes(content)
    refused(ladder, ladder.domain_transfer, "AB-124")


def test_what_fails_on_the_way_leaves_the_old_rung(ladder: Ladder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full while the metrics are written; then the checkpoint of a rung that was there before stays."""
    ladder.domain_transfer()
    before = ladder.outputs()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    monkeypatch.setattr("transformers.modeling_utils.safe_save_file", full)
    with pytest.raises(OSError, match="No space left"):
        ladder.domain_transfer(seed=2)
    with pytest.raises(OSError, match="No space left"):
        ladder.pretrain(seed=2)
    assert ladder.outputs() == before


@given(st.integers(0, 100_000), st.integers(1, 20))
def test_measured_steps(steps: int, count: int) -> None:
    points = measured_steps(steps, count)
    assert len(points) <= count
    assert points == sorted(set(points))
    if steps == 0:
        assert points == []
    else:
        assert points[-1] == steps
        assert points[0] >= 1
        assert points[0] == steps or points[0] <= max(1, steps // 10 + 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"micro_batch_tokens": 100}, "global_batch_tokens 128 is not a multiple of micro_batch_tokens 100"),
        (
            {"lengths": {"short_share": 0.5, "short_length": 65}},
            "lengths.short_length 65 is larger than block_size 64",
        ),
        ({"block_size": 256}, "block_size 256 is larger than micro_batch_tokens 128"),
    ],
)
def test_contradictions(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny.rung(**changes)


@pytest.mark.parametrize(("init", "encoder"), [("scratch", None), ("models/init", ENCODER)])
def test_scratch_needs_an_encoder_and_nothing_else_takes_one(init: str, encoder: EncoderConfig | None) -> None:
    with pytest.raises(ValueError, match=f"init is {init} and encoder is"):
        PretrainParams(**tiny.rung_values(init=init, encoder=encoder))


def test_the_card_is_plain_json(climbed: Ladder) -> None:
    card = json.loads((climbed.root / "models/pretrain/card.json").read_text(encoding="utf-8"))
    assert list(card) == ["stage", "rung", "params", "init", "texts", "measured", "weights", "tokenizer"]
