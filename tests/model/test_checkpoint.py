"""A checkpoint is an ordinary Hugging Face folder that repeats, and is refused when anything is wrong with it."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
)

from adaptbert.core.files import file_digest
from adaptbert.errors import BadData, UserError
from adaptbert.model import checkpoint
from adaptbert.model.checkpoint import Checkpoint
from tests.support import tiny
from tests.support.checkpoint_edits import edit


def without_card(folder: Path) -> Path:
    """As another project would have left it."""
    (folder / "card.json").unlink()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny.pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_stock_transformers_opens_it(tmp_path: Path) -> None:
    """Nothing of ours is in it."""
    start = tiny.pretrained(tmp_path / "start", seed=4)
    ours = start.model(BertForMaskedLM, seed=0, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1)
    checkpoint.save(tmp_path / "saved", ours, start.tokenizer, tiny.card("pretrain"))
    stock = AutoModelForMaskedLM.from_pretrained(str(tmp_path / "saved")).state_dict()
    assert all(torch.equal(stock[name], tensor) for name, tensor in ours.state_dict().items())
    tokenizer = AutoTokenizer.from_pretrained(str(tmp_path / "saved"))
    text = tiny.sentences("domain", 1)[0]
    assert tokenizer(text)["input_ids"][1:-1] == tiny.tokenizer().encode([text])[0].ids
    written = (tmp_path / "saved/config.json").read_text(encoding="utf-8")
    assert "adaptbert" not in written
    assert "attn_implementation" not in written
    assert not list((tmp_path / "saved").glob("*.bin"))


def test_round_trip(folder: Path, tmp_path: Path) -> None:
    start = Checkpoint.load(folder)
    model = start.model(BertForMaskedLM, seed=0)
    texts = [{"name": "general", "digest": "d", "tokens": 5, "trained_tokens": 9}]
    measured = {"general": {"mlm_loss": 1.0}}
    card = checkpoint.save(tmp_path / "again", model, start.tokenizer, tiny.card("x", texts=texts, measured=measured))
    again = Checkpoint.load(tmp_path / "again")
    assert again.card == card
    assert again.texts == texts
    assert again.measured == measured
    assert again.digest == card.weights == file_digest(tmp_path / "again/model.safetensors")
    assert again.tokenizer.fingerprint == start.tokenizer.fingerprint
    for name, tensor in again.model(BertForMaskedLM, seed=9).state_dict().items():
        assert torch.equal(tensor, model.state_dict()[name]), name


def test_who_may_read_the_config_may_read_the_weights(folder: Path) -> None:
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        (folder / "config.json").stat().st_mode & 0o777
    }


def test_scratch_is_an_architecture_and_each_seed_draws_its_own_weights(tmp_path: Path) -> None:
    scratch = tiny.scratch(tmp_path / "scratch")
    assert not (tmp_path / "scratch/model.safetensors").exists()
    assert not scratch.has_weights
    assert scratch.card.weights is None
    one, same, other = (scratch.model(BertForMaskedLM, seed) for seed in (1, 1, 2))
    name = "bert.encoder.layer.0.attention.self.query.weight"
    assert torch.equal(one.state_dict()[name], same.state_dict()[name])
    assert not torch.equal(one.state_dict()[name], other.state_dict()[name])
    assert one.state_dict()[name].std() == pytest.approx(0.02, rel=0.1)
    AutoConfig.from_pretrained(str(tmp_path / "scratch"))
    AutoTokenizer.from_pretrained(str(tmp_path / "scratch"))


def test_a_new_head_is_drawn_with_the_seed_and_the_encoder_is_loaded(folder: Path) -> None:
    start = Checkpoint.load(folder)
    one, same, other = (start.model(BertForSequenceClassification, seed, num_labels=3) for seed in (1, 1, 2))
    assert torch.equal(one.classifier.weight, same.classifier.weight)
    assert not torch.equal(one.classifier.weight, other.classifier.weight)
    assert not torch.equal(one.bert.pooler.dense.weight, other.bert.pooler.dense.weight)
    saved = load_file(folder / "model.safetensors")
    for name, tensor in one.bert.encoder.state_dict().items():
        assert torch.equal(tensor, saved[f"bert.encoder.{name}"])


def test_an_encoder_without_any_head_is_enough(tmp_path: Path) -> None:
    """As BertModel saves itself: other names, a pooler, no decoder."""
    torch.manual_seed(0)
    model = BertModel(tiny.config())
    model.save_pretrained(str(tmp_path))
    tiny.tokenizer().save(tmp_path)
    loaded = Checkpoint.load(tmp_path).model(BertForMaskedLM, seed=1)
    for name, tensor in model.encoder.state_dict().items():
        assert torch.equal(loaded.bert.encoder.state_dict()[name], tensor)


def test_nothing_is_left_when_saving_fails(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    start, before = Checkpoint.load(folder), tiny.folder_bytes(folder)
    monkeypatch.setattr(checkpoint, "write_json", full)
    for target in (tmp_path / "new", folder):
        with pytest.raises(UserError, match="no space left"):
            checkpoint.save(target, start.model(BertForMaskedLM, 0), start.tokenizer, tiny.card("new"))
    assert tiny.folder_bytes(folder) == before, "the old one stays"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def weights(folder: Path, harm: Callable[[bytes], bytes]) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(harm(file.read_bytes()))


def flipped(content: bytes) -> bytes:
    return content[:-1000] + bytes([content[-1000] ^ 8]) + content[-999:]


def only_a_pickle(folder: Path) -> None:
    (without_card(folder) / "model.safetensors").rename(folder / "pytorch_model.bin")


DIGEST = r"AB-124 .*model.safetensors: sha256 mismatch: card \w{12}, file \w{12}\n.*"
MISSING = r"AB-124 .*model.safetensors: file is missing\n  copy the whole checkpoint"
PICKLE = r"AB-119 .*: only pickled weights \(\*.bin\)\n  move them elsewhere: `adaptbert import"
DAMAGED = r"AB-124 .*: bad safetensors file: .*\n  copy the whole checkpoint"
CODE = r"AB-124 .*: config key {} not allowed: it could run code\n  remove the key"
EVIL = {"AutoModel": "evil.Model"}


REFUSED: list[tuple[Callable[[Path], object], str]] = [
    (lambda folder: weights(folder, flipped), DIGEST),
    (lambda folder: (folder / "model.safetensors").unlink(), MISSING),
    (lambda folder: (without_card(folder) / "model.safetensors").unlink(), MISSING),
    (only_a_pickle, PICKLE),
    (lambda folder: weights(without_card(folder), lambda content: content[:-100]), DAMAGED),
    (lambda folder: weights(without_card(folder), lambda _: b""), DAMAGED),
    (lambda folder: weights(without_card(folder), lambda _: b"not at all a file of tensors"), DAMAGED),
    (lambda folder: edit(folder, "config.json", auto_map=EVIL), CODE.format("auto_map")),
    (lambda folder: edit(folder, "config.json", _attn_implementation_internal=EVIL), CODE.format("_attn_implem.*")),
]


@pytest.mark.parametrize(("harm", "message"), REFUSED)
def test_what_is_refused(folder: Path, harm: Callable[[Path], object], message: str) -> None:
    harm(folder)
    with pytest.raises(BadData, match=message):
        Checkpoint.load(folder).model(BertForMaskedLM, seed=0)


def test_half_precision_weights_become_float32(folder: Path) -> None:
    weights = without_card(folder) / "model.safetensors"
    save_file({name: t.bfloat16() for name, t in load_file(weights).items()}, weights, metadata={"format": "pt"})
    edit(folder, "config.json", dtype="bfloat16")
    model = Checkpoint.load(folder).model(BertForMaskedLM, seed=0)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_a_card_that_another_project_wrote(folder: Path) -> None:
    (folder / "card.json").write_text('{"license": "mit"}', encoding="utf-8")
    assert Checkpoint.load(folder).card is None, "not ours: the folder is taken as any other"


def test_not_a_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"AB-128 .*: no config.json: not a Hugging Face folder\n.*"):
        Checkpoint.load(tmp_path)
    (tmp_path / "mood-general").mkdir()
    with pytest.raises(BadData, match=r"no such folder \(did you mean 'mood-general'\?\)\n  there are mood-general"):
        Checkpoint.load(tmp_path / "mood-genral")
