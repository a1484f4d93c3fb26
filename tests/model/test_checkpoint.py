"""A checkpoint is an ordinary Hugging Face folder that repeats. Where something is wrong with it, there is one error of
the user's, at once, and never an answer of random weights."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer, BertModel

from adaptbert.codes import Code
from adaptbert.core.files import file_digest, read_json
from adaptbert.core.printable import printable
from adaptbert.errors import BadData, UserError
from adaptbert.model import checkpoint
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.checkpoint_files import Architecture, hugging_face_config, old_use
from adaptbert.prediction.predictor import Predictor
from adaptbert.text.tokenizer import Tokenizer
from tests.support import tiny
from tests.support.cells import Project
from tests.support.checkpoint_edits import edit, sealed
from tests.support.encoders import NAMED
from tests.support.harming import harmed
from tests.support.predicting import ANSWER, CLASS, KINDS, model

TAGS = "sequence_labelling_tags"
ROWS = [{"text": "The shape of the array."}, {"text": "bread, or \ue000 fish"}]
WEIGHTS = "model.safetensors"
Harm = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A pre-trained one."""
    tiny.pretrained(tmp_path / "model")
    return tmp_path / "model"


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    return all(torch.equal(other.state_dict()[name], tensor) for name, tensor in one.state_dict().items())


# ---- written and read


def test_round_trip(folder: Path, tmp_path: Path) -> None:
    """Also by transformers itself: nothing of ours is in it."""
    base = Checkpoint.load(folder)
    ours = base.model("masked_lm", seed=0, dropout=0.1)
    texts, measured = [{"name": "general", "digest": "d", "tokens": 5, "trained_tokens": 9}], {"a": {"mlm_loss": 1.0}}
    saved = tmp_path / "again"
    card = checkpoint.save(saved, ours, base.tokenizer, tiny.card("x", texts=texts, measured=measured))
    again = Checkpoint.load(saved)
    assert (again.card, again.texts, again.measured) == (card, texts, measured)
    assert again.digest == card.weights == file_digest(saved / WEIGHTS)
    assert again.tokenizer.fingerprint == base.tokenizer.fingerprint
    assert same(ours, again.model("masked_lm", seed=9))
    assert same(ours, AutoModelForMaskedLM.from_pretrained(str(saved)))
    stock = AutoTokenizer.from_pretrained(str(saved))
    ids = stock("the shape of bread")["input_ids"]
    assert ids[1:-1] == tiny.tokenizer().encode(["the shape of bread"])[0].ids
    assert stock.model_max_length == ours.config.max_position_embeddings
    written = (saved / "config.json").read_text(encoding="utf-8")
    assert not [word for word in ("adaptbert", "attn_implementation") if word in written]
    assert len({path.stat().st_mode & 0o777 for path in saved.iterdir()}) == 1, "who may read the config"


def test_scratch_is_an_architecture_and_each_seed_draws_its_own_weights(tmp_path: Path) -> None:
    scratch = tiny.scratch(tmp_path / "scratch")
    assert not (tmp_path / "scratch" / WEIGHTS).exists()
    assert not scratch.has_weights
    assert scratch.card.weights is None
    one, again, other = (scratch.model("masked_lm", seed) for seed in (1, 1, 2))
    query = "bert.encoder.layer.0.attention.self.query.weight"
    assert same(one, again)
    assert not torch.equal(one.state_dict()[query], other.state_dict()[query])
    assert one.state_dict()[query].std() == pytest.approx(0.02, rel=0.1)
    AutoConfig.from_pretrained(str(tmp_path / "scratch"))
    AutoTokenizer.from_pretrained(str(tmp_path / "scratch"))


def test_a_new_head_is_drawn_with_the_seed_and_the_encoder_is_loaded(folder: Path) -> None:
    base = Checkpoint.load(folder)
    one, again, other = (base.model("sequence", seed, num_labels=3) for seed in (1, 1, 2))
    assert same(one, again)
    assert not torch.equal(one.classifier.weight, other.classifier.weight)
    assert not torch.equal(one.bert.pooler.dense.weight, other.bert.pooler.dense.weight)
    saved = load_file(folder / WEIGHTS)
    for name, tensor in one.bert.encoder.state_dict().items():
        assert torch.equal(tensor, saved[f"bert.encoder.{name}"])


@pytest.mark.parametrize(("kind", "own"), [("bert", "classifier"), ("roberta", "classifier.dense")])
def test_the_head_of_another_task_is_not_gone_on_with(kind: str, own: str, tmp_path: Path) -> None:
    """As in a classifier that was published: no arm but that without further training would have its head."""
    NAMED[kind].model("sequence", num_labels=3).save_pretrained(tmp_path)
    Tokenizer(NAMED[kind].tokenizer()).save(tmp_path)
    base, saved = Checkpoint.load(tmp_path), load_file(tmp_path / WEIGHTS)
    one, again, other = (base.model("sequence", seed, num_labels=3) for seed in (1, 1, 2))
    assert same(one, again)
    assert same(one.base_model.encoder, other.base_model.encoder)
    heads = [model.get_submodule(own).weight for model in (one, other)]
    assert not torch.equal(*heads)
    assert not any(torch.equal(head, saved[f"{own}.weight"]) for head in heads)
    assert heads[0].std().item() == pytest.approx(0.02, rel=0.3)


def test_an_encoder_without_any_head_is_enough(tmp_path: Path) -> None:
    """As BertModel saves itself: other names, a pooler, no decoder."""
    torch.manual_seed(0)
    public = BertModel(tiny.config())
    public.save_pretrained(str(tmp_path))
    tiny.tokenizer().save(tmp_path)
    assert same(public.encoder, Checkpoint.load(tmp_path).model("masked_lm", seed=1).bert.encoder)


def test_half_precision_weights_become_float32_and_the_card_of_another_project_is_none(folder: Path) -> None:
    (folder / "card.json").write_text('{"license": "mit"}', encoding="utf-8")
    halves = {name: tensor.bfloat16() for name, tensor in load_file(folder / WEIGHTS).items()}
    save_file(halves, folder / WEIGHTS, metadata={"format": "pt"})
    edit(folder, "config.json", dtype="bfloat16")
    loaded = Checkpoint.load(folder)
    assert loaded.card is None
    assert {parameter.dtype for parameter in loaded.model("masked_lm", seed=0).parameters()} == {torch.float32}


def test_nothing_is_left_when_saving_fails(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    base, before = Checkpoint.load(folder), tiny.folder_bytes(folder)
    monkeypatch.setattr(checkpoint, "write_json", full)
    for target in (tmp_path / "new", folder):
        with pytest.raises(UserError, match="no space left"):
            checkpoint.save(target, base.model("masked_lm", 0), base.tokenizer, tiny.card("new"))
    assert tiny.folder_bytes(folder) == before, "the old one stays"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


USES: list[dict[str, Any]] = [
    {"is_decoder": True, "add_cross_attention": True, "use_cache": False},
    {"output_attentions": True, "output_hidden_states": True, "return_dict": False},
    {"chunk_size_feed_forward": 8, "gradient_checkpointing": True, "torchscript": True},
    {"id2label": {"0": "a"}, "label2id": {"a": 0}, "problem_type": "regression"},
    {"finetuning_task": "x", "num_beams": 4, "pruned_heads": {}, "tokenizer_class": "BertTokenizer"},
    {"bos_token_id": 0, "eos_token_id": 2, "output_past": True},
    {"\x1b[31m": True},
]
"""Keys that say what a model was used for."""
WITHOUT_EFFECT = {"finetuning_task", "num_beams", "pruned_heads", "tokenizer_class"}
WITHOUT_EFFECT |= {"bos_token_id", "eos_token_id", "output_past"}


@pytest.mark.parametrize("use", USES, ids=range(len(USES)))
def test_the_architecture_of_a_base_is_kept_and_not_its_use(folder: Path, use: dict[str, Any]) -> None:
    (folder / "card.json").unlink()
    edit(folder, "config.json", hidden_dropout_prob=0.3, position_embedding_type="absolute")
    plain = Checkpoint.load(folder)
    configs = [plain.config(), plain.model("spans", 0, num_labels=2).config]
    edit(folder, "config.json", **use)
    used = Checkpoint.load(folder)
    assert [used.config(), used.model("spans", 0, num_labels=2).config] == configs
    assert used.config().hidden_dropout_prob == 0.3
    notice = "".join(old_use(read_json(folder / "config.json"))).removeprefix("notice: ")
    known = [key for key in use if key not in WITHOUT_EFFECT]
    words, _, keys = notice.partition(": ")
    assert words == ("of config.json the architecture is kept, not what the model was used for" if known else "")
    assert sorted(filter(None, keys.split(", "))) == sorted(map(printable, known))


# ---- what is wrong with one


@pytest.mark.parametrize("made", [tiny.pretrained, tiny.scratch])
@pytest.mark.parametrize("changes", [{"hidden_size": 10**9}, {"hidden_act": "gelo"}])
def test_scratch_is_checked_alike(tmp_path: Path, changes: dict[str, Any], made: Any) -> None:
    """Its sizes are confirmed by no tensor."""
    made(tmp_path)
    edit(tmp_path, "config.json", **changes)
    for remains in (lambda: edit(tmp_path, "card.json", config=...), (tmp_path / "card.json").unlink):
        remains()
        with pytest.raises(BadData):
            Checkpoint.load(tmp_path).model("masked_lm", 0)


@pytest.mark.parametrize("key", Architecture.model_fields)
def test_no_value_of_the_config_is_without_type_and_bounds(key: str) -> None:
    for value in (10**12, -2, [1]):
        with pytest.raises(BadData, match=rf"^AB-124 config.json: .*{key}"):
            hugging_face_config({"model_type": "bert", "vocab_size": 60, key: value}, "config.json")


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("bert", "hidden_dropout_prob"),
        ("roberta", "layer_norm_eps"),
        ("modernbert", "norm_eps"),
        ("albert", "initializer_range"),
    ],
)
def test_no_rate_is_negative_or_no_number(kind: str, key: str) -> None:
    for value in (-0.1, float("nan"), float("inf"), "much"):
        with pytest.raises(BadData, match=rf"^AB-124 config.json: .*{key}"):
            hugging_face_config({"model_type": kind, key: value}, "config.json")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    tasks = (CLASS, ANSWER, TAGS)
    trained_project = Project(tmp_path_factory.mktemp("project"), {task: KINDS[task] for task in tasks}, (48, 24, 24))
    for task in tasks:
        trained_project.finetune(task, "general", seeds=[1], epochs=1.0)
    return trained_project


def bytes_of_weights(harm: Callable[[bytes], bytes]) -> Harm:
    return lambda folder: (folder / WEIGHTS).write_bytes(harm((folder / WEIGHTS).read_bytes()))


def without_card(harm: Harm) -> Harm:
    """As another project would have left it."""
    return lambda folder: ((folder / "card.json").unlink(), harm(folder))


def config(**changes: Any) -> Harm:
    return lambda folder: edit(folder, "config.json", **changes)


def no_weights(folder: Path) -> None:
    (folder / WEIGHTS).unlink()


def resealed(harm: Harm) -> Harm:
    """The card gets the digests of the harmed files, so that these do not give the harm away."""
    return lambda folder: (harm(folder), sealed(folder))


def card(**changes: Any) -> Harm:
    return lambda folder: edit(folder, "card.json", **changes)


def tensors(**changes: Any) -> Harm:
    """By their names with `__` for a dot; `...` removes one."""

    def harm(folder: Path) -> None:
        weights = load_file(folder / WEIGHTS) | {name.replace("__", "."): value for name, value in changes.items()}
        kept = {name: value for name, value in weights.items() if value is not ...}
        save_file(kept, folder / WEIGHTS, {"format": "pt"})

    return harm


def tokenizer(change: Callable[[dict[str, Any]], object], **kind: Any) -> Harm:
    """tokenizer.json; the class of tokenizer_config.json as well."""

    def harm(folder: Path) -> None:
        edit(folder, "tokenizer_config.json", **kind)
        content = read_json(folder / "tokenizer.json")
        change(content)
        (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")

    return harm


def text_in(name: str, content: bytes) -> Harm:
    return lambda folder: (folder / name).write_bytes(content)


def too_large(folder: Path) -> None:
    with (folder / "config.json").open("wb") as file:
        file.truncate(1 << 34)


QUERY = "bert.encoder.layer.0.attention.self.query.weight"
IN_QUERY = QUERY.replace(".", "__")
ANY_RULES = {"tokenizer_class": "PreTrainedTokenizerFast"}
"""A class that takes all rules from tokenizer.json; BERT's own has them from elsewhere."""
DAMAGED, OTHER, NO = Code.DAMAGED_CHECKPOINT, Code.OTHER_ARCHITECTURE, Code.NOT_A_CHECKPOINT
WRONG: list[tuple[Harm, Code, str]] = [
    (config(hidden_size=1_000_000_000), DAMAGED, r"config.json: hidden_size: .*, found 1000000000\n  copy"),
    (config(hidden_size="32"), DAMAGED, 'hidden_size: expected a valid integer, found "32"'),
    (config(hidden_size=...), OTHER, "weights and config.json disagree"),
    (config(num_hidden_layers=200, hidden_size=65_536), DAMAGED, "parameters, more than"),
    (config(num_hidden_layers=900), DAMAGED, "num_hidden_layers: expected less than or equal to 200, found 900"),
    (config(num_hidden_layers=3), OTHER, "bert.encoder.layer.2"),
    (config(num_attention_heads=3), DAMAGED, "no multiple of 3 heads"),
    (config(vocab_size=10), Code.TOKENIZER, "tokenizer"),
    (config(id2label={"x": "code"}), DAMAGED, "id2label"),
    (config(id2label={"0": "a", "1": "b", "2": "c"}), OTHER, "head has 3 labels, task has 2"),
    (config(id2label={"0": "prose", "1": "code"}), OTHER, "the labels of config.json are not those of card.json"),
    (config(hidden_act="gelo"), DAMAGED, "gelo"),
    (config(layer_norm_eps=float("nan")), DAMAGED, "layer_norm_eps"),
    (config(pad_token_id=10**6), DAMAGED, "pad_token_id"),
    (config(problem_type="guess"), DAMAGED, "problem_type"),
    (config(model_type={"a": 1}), OTHER, "model_type"),
    (config(quantization_config={"load_in_4bit": True}), OTHER, "quantized"),
    (text_in("config.json", b"[" * 1_000_000), DAMAGED, "not a JSON object"),
    (tensors(**{IN_QUERY: ...}), OTHER, QUERY),
    (tensors(bert__encoder__layer__0__more=torch.ones(2)), OTHER, "layer.0.more"),
    (tensors(**{IN_QUERY: torch.ones(32, 31)}), OTHER, QUERY),
    (tensors(**{IN_QUERY: torch.ones(32, 32, dtype=torch.int64)}), OTHER, f"{QUERY} is I64"),
    (tensors(**{IN_QUERY: torch.full((32, 32), torch.nan)}), DAMAGED, f"{QUERY} holds NaN"),
    (tensors(classifier__weight=...), OTHER, "classifier.weight is missing"),
    (tensors(classifier__weight=torch.ones(3, 32)), OTHER, "classifier.weight"),
    (tensors(classifier__bias=torch.tensor([0.0, torch.inf])), DAMAGED, "classifier.bias holds NaN"),
]  # fmt: skip
WRONG = [(resealed(harm), code, words) for harm, code, words in WRONG] + [
    (bytes_of_weights(lambda all_: all_[:-9] + b"?" + all_[-8:]), DAMAGED, WEIGHTS),
    (no_weights, DAMAGED, f"{WEIGHTS}: file is missing"),
    (without_card(no_weights), DAMAGED, f"{WEIGHTS}: file is missing"),
    (without_card(lambda folder: (folder / WEIGHTS).rename(folder / "a.bin")), Code.UNSAFE_WEIGHTS, "adaptbert import"),
    (without_card(bytes_of_weights(lambda content: content[:-100])), DAMAGED, WEIGHTS),
    (without_card(bytes_of_weights(lambda _: b"")), DAMAGED, WEIGHTS),
    (without_card(bytes_of_weights(lambda _: b"not at all a file of tensors")), DAMAGED, WEIGHTS),
    (config(auto_map={"AutoModel": "evil.Model"}), OTHER, r"code, which is not run \(auto_map\)\n  name a checkpoint"),
    (config(_attn_implementation_internal="evil"), OTHER, "could run code"),
    (config(pruned_heads={"0": [1]}), OTHER, r"heads were pruned \(pruned_heads\)\n  name the checkpoint that"),
    (config(position_embedding_type="relative_key"), OTHER, "relative positions are not supported"),
    (lambda folder: (folder / "config.json").unlink(), NO, "no config.json"),
    (lambda folder: folder.rename(folder.with_name("mode")), NO, "did you mean 'mode'"),
    (too_large, DAMAGED, "17,179,869,184 bytes of JSON"),
    (card(weights=None), DAMAGED, "`weights` is null, but finetune/.* was trained: its answers would be those of ran"),
    (card(weights=None, checkpoint="scratch"), DAMAGED, "`weights` is null"),
    (card(weights=None, checkpoint="scratch", task=...), DAMAGED, f"there is {WEIGHTS}, which would not be read"),
    (card(weights="abc"), DAMAGED, "card.json: weights"),
    (card(weights="0" * 64), DAMAGED, "sha256 mismatch"),
    (card(config="0" * 64), DAMAGED, "config.json: sha256 mismatch"),
    (card(tokenizer="0" * 64), Code.TOKENIZER, "card says 000"),
    (card(params=[]), DAMAGED, "card.json: params"),
    (card(params__block_size=10**12), DAMAGED, "block_size"),
    (card(params__block_size=8), DAMAGED, "task.max_length 64, but the encoder reads 8"),
    (card(params__precision="8-bit"), DAMAGED, "precision"),
    (card(texts={}), DAMAGED, "texts"),
    (card(task=...), Code.NOT_FINE_TUNED, "not a checkpoint that was fine-tuned"),
    (card(task=5), DAMAGED, "task"),
    (card(task__options=...), Code.NOT_FINE_TUNED, "does not say how the task was read"),
    (card(task__type="circle"), DAMAGED, "task.type"),
    (card(task__type="text-pair-classification", task__options={}), Code.NOT_FINE_TUNED, "does not say"),
    (card(task__type="regression"), OTHER, "head has 2 labels, task has 1"),
    (card(task__labels=["code", "code"]), DAMAGED, "a label twice"),
    (card(task__labels=["prose", "code"]), OTHER, "not those of card.json"),
    (card(task__max_length=512), DAMAGED, "task.max_length 512, but the encoder reads 64"),
    (card(task__tuned={"threshold": "hot"}), DAMAGED, "task.tuned.threshold"),
    (card(task__replace=[["("]]), DAMAGED, "task.replace"),
    (text_in("tokenizer.json", b"{}"), NO, ""),
    (text_in("tokenizer.json", b"[" * 100_000), NO, ""),
    (text_in("tokenizer_config.json", b'{"tokenizer_class": 7'), NO, ""),
    (lambda folder: (folder / "tokenizer.json").unlink(), NO, ""),
    (tokenizer(lambda content: content.pop("model")), NO, ""),
    (tokenizer(lambda content: content["model"].update(vocab={})), NO, ""),
    (tokenizer(lambda content: content["model"]["vocab"].update({"xy": 4_000_000_000})), NO, ""),
    (tokenizer(lambda content: content["model"]["vocab"].update({"xy": 150})), Code.TOKENIZER, ""),
    (tokenizer(lambda content: content["model"].update(unk_token="[UNJ]"), **ANY_RULES), NO, ""),
    (tokenizer(lambda content: content.update(normalizer=None), **ANY_RULES), Code.TOKENIZER, ""),
    (lambda folder: edit(folder, "tokenizer_config.json", do_lower_case=False), Code.TOKENIZER, ""),
    (lambda folder: edit(folder, "tokenizer_config.json", do_lower_case="no"), NO, ""),
    (lambda folder: tiny.tokenizer(lowercase=False).save(folder), Code.TOKENIZER, ""),
]  # fmt: skip


@pytest.mark.parametrize(("harm", "code", "words"), WRONG, ids=range(len(WRONG)))
def test_one_that_is_wrong(project: Project, tmp_path: Path, harm: Harm, code: Code, words: str) -> None:
    folder = shutil.copytree(model(project, CLASS), tmp_path / "model")
    harm(folder)
    refused(folder, code, words)


UNTUNED = [(ANSWER, {"task__tuned": {}}), (ANSWER, {"task__no_answer": ...}), (TAGS, {"task__tuned": {"other": 3.0}})]


@pytest.mark.parametrize(("task", "changes"), UNTUNED)
def test_what_was_tuned_is_missing(project: Project, tmp_path: Path, task: str, changes: Any) -> None:
    folder = shutil.copytree(model(project, task), tmp_path / "model")
    edit(folder, "card.json", **changes)
    refused(folder, Code.NOT_FINE_TUNED, "does not say how the task was read")


@pytest.mark.parametrize("name", ["config.json", "card.json", WEIGHTS, "tokenizer.json"])
def test_something_else_in_place_of_a_file(project: Project, tmp_path: Path, name: str) -> None:
    """A link to a file is one."""
    folder = shutil.copytree(model(project, CLASS), tmp_path / "model")
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    assert len(list(Predictor.load(folder).answers(ROWS))) == 2
    (tmp_path / name).unlink()
    refused(folder, Code.FILE, f"{name}: no file, or a link to none")
    (folder / name).unlink()
    (folder / name).mkdir()
    refused(folder, Code.FILE, f"{name}: no file, or a link to none")


def refused(folder: Path, code: Code, words: str) -> None:
    """As one error; numbers are cut of which a machine has not enough, or which would keep it busy for ever."""
    with pytest.raises(BadData, match=rf"(?s)^{code.shown} .*{words}") as caught:
        list(Predictor.load(folder).answers(ROWS))
    assert caught.value.exit_code == 65


# ---- random damage


@pytest.fixture(scope="module")
def intact(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a property; each puts back what it harmed."""
    return shutil.copytree(model(project, CLASS), tmp_path_factory.mktemp("intact") / "model")


def answers_or_says_why(folder: Path, name: str, content: bytes) -> None:
    """Nothing but a `UserError`, or an answer to every row."""
    whole = {file: (folder / file).read_bytes() for file in (name, "card.json")}
    (folder / name).write_bytes(content)
    answers: list[dict[str, Any]] = []
    try:
        if name == "config.json":
            sealed(folder)
        answers = list(Predictor.load(folder).answers(ROWS, probabilities=True))
    except UserError:
        return
    finally:
        for file, before in whole.items():
            (folder / file).write_bytes(before)
    assert [set(answer) for answer in answers] == [{"id", "label", "confidence", "probabilities"}] * 2


JSON_FILES = ["config.json", "card.json", "tokenizer.json", "tokenizer_config.json"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(st.text(max_size=4), inside, max_size=2),
    max_leaves=3,
)


@settings(max_examples=25)
@given(name=st.sampled_from(JSON_FILES), draw=st.data())
def test_changed_bytes(intact: Path, name: str, draw: st.DataObject) -> None:
    answers_or_says_why(intact, name, harmed(draw, (intact / name).read_bytes()))


@settings(max_examples=25)
@given(name=st.sampled_from(["config.json", "card.json"]), draw=st.data(), value=VALUES)
def test_changed_values(intact: Path, name: str, draw: st.DataObject, value: Any) -> None:
    values = read_json(intact / name)
    values[draw.draw(st.sampled_from(sorted(values)))] = value
    answers_or_says_why(intact, name, json.dumps(values).encode())
