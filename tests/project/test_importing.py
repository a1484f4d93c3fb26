"""`adaptbert import`: every number as it was, under the names of today. No code of a pickle runs; what is missing,
damaged or no BERT is refused, and then nothing is written.
"""

import json
import os
import pickle
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer as Backend
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import AutoTokenizer, BertForMaskedLM, BertForPreTraining, BertModel
from typer.testing import Result

from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.encoder import Tokens, encode
from adaptbert.model.packing import pack
from adaptbert.project.importing import name_of
from adaptbert.text.tokenizer import Tokenizer
from tests.support import commands, tiny
from tests.support.checkpoint_edits import edit
from tests.support.messages import messages_in

State = dict[str, Any]
BASES, INIT = Path("models/init"), Path("models/init/source")
"""The second is where `run` imports to."""
BIN, CONFIG, VOCABULARY = "source/pytorch_model.bin", "source/config.json", "source/vocab.txt"
SAFE = Path("source/model.safetensors")
DECODER, EMBEDDINGS = "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"
TYPES, QUERY = "bert.embeddings.token_type_embeddings.weight", "bert.encoder.layer.0.attention.self.query.weight"
DISAGREE = "AB-132 source: weights and config.json disagree: "
IDS = torch.tensor([[2, 17, 9, 33, 101, 3], [2, 8, 8, 120, 44, 3]])
FORMATS = pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
"""Formats of pickles."""


def random_model() -> Any:
    """No weight is as it was born, so that none can be mixed up with another, or be drawn anew unseen."""
    torch.manual_seed(7)
    model = BertForPreTraining(tiny.config()).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    return model


MODEL = random_model()


def state() -> State:
    return {name: tensor.clone() for name, tensor in MODEL.state_dict().items() if name != DECODER}


def tied(weights: State) -> State:
    """The decoder is the embedding matrix itself, as in a model in memory, and as a pickle usually has it."""
    return {**weights, DECODER: weights[EMBEDDINGS]}


def renamed(weights: State, *pairs: tuple[str, str]) -> State:
    for old, new in pairs:
        weights = {name.replace(old, new): tensor for name, tensor in weights.items()}
    return weights


def of_2019(weights: State) -> State:
    return renamed(weights, ("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta"))


def without(weights: State, *beginnings: str) -> State:
    return {name: value for name, value in weights.items() if not name.startswith(beginnings)}


def below(prefix: str, weights: State) -> State:
    return {prefix + name: tensor for name, tensor in weights.items()}


def save(content: Any, legacy: bool = False) -> None:
    torch.save(content, BIN, _use_new_zipfile_serialization=not legacy)


def run(*arguments: str) -> Result:
    return commands.run("import", *arguments, *([] if "--base" in arguments else ["--base", "source"]))


def brought(source: str = "source") -> str:
    """What the command says where all is well."""
    done = run(source)
    assert done.exit_code == 0, done.output
    return done.output


def refused(*arguments: str, code: int = 65) -> str:
    """The one message; nothing was written."""
    done = run(*(arguments or ("source",)))
    assert done.exit_code == code, done.output
    assert not isinstance(done.exception, Exception) or isinstance(done.exception, SystemExit)
    (message,) = messages_in(done.output)
    assert message.count("\n") == 1, "a place and a problem, a remedy"
    assert [*BASES.iterdir()] == []
    return message.removeprefix("error: ")


@pytest.fixture(autouse=True)
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty project with a folder `source`, as the hub has them; at the end nothing may lie beside the base."""
    monkeypatch.chdir(tmp_path)
    for folder in (Path(".dvc"), BASES, Path("source")):
        folder.mkdir(parents=True)
    MODEL.config.save_pretrained("source")
    Path(VOCABULARY).write_text("\n".join(tiny.tokenizer().tokens) + "\n", encoding="utf-8")
    save(tied(state()))
    yield Path("source")
    assert {path.name for path in (*Path("models").iterdir(), *BASES.iterdir())} <= {"init", "source"}


# ---- weights that are brought

ENCODER = renamed(without(state(), "cls."), ("bert.", ""))
BUFFERS = {"bert.embeddings.position_ids": torch.arange(tiny.POSITIONS)[None]}
OTHER_HEADS = {"classifier.weight": torch.ones(3, 32), "classifier.bias": torch.ones(3)}
ODDITIES: dict[str, tuple[State, bool, bool]] = {
    "tied": (tied(state()), True, True),
    "no decoder": (state(), True, True),
    "names of 2019": (of_2019(tied(state())), True, True),
    "encoder alone": (ENCODER, False, True),
    "encoder alone, names of 2019": (of_2019(ENCODER), False, True),
    "no head": (without(state(), "cls."), False, True),
    "no pooler": (without(state(), "bert.pooler.", "cls.seq"), True, False),
    "neither": (without(state(), "bert.pooler.", "cls."), False, False),
    "buffers": (state() | BUFFERS, True, True),
    "other heads": (state() | OTHER_HEADS, True, True),
    **{f"below {prefix}": (below(prefix, state()), True, True) for prefix in ("module.", "bert.", "net.model.")},
    "encoder alone, below encoder.": (below("encoder.", ENCODER), False, True),
    "bias of the decoder": (renamed(state(), ("predictions.bias", "predictions.decoder.bias")), True, True),
    "no tensors beside them": (tied(state()) | {"epoch": 3, "words": ["a"]}, True, True),
}
"""The weights, and whether a masked-LM head and a pooler come out of them."""


@pytest.mark.parametrize(
    ("oddity", "kind"), [*((each, "zip") for each in ODDITIES), ("tied", "legacy"), ("below module.", "safetensors")]
)
@torch.no_grad()
def test_the_same_model(oddity: str, kind: str) -> None:
    weights, has_head, has_pooler = ODDITIES[oddity]
    if kind == "safetensors":
        save_file(weights, SAFE)
    else:
        save(weights, kind == "legacy")
    said = brought()
    assert ("notice: the weights are those of a module around the model: " in said) == ("below" in oddity)
    assert ("in the weights but not used: epoch, words\n" in said) == ("beside" in oddity)
    ours, theirs = BertModel.from_pretrained(str(INIT), dtype=torch.float32).eval()(IDS), MODEL.bert(IDS)
    assert torch.equal(ours.last_hidden_state, theirs.last_hidden_state)
    assert not has_pooler or torch.equal(ours.pooler_output, theirs.pooler_output)
    if has_head:
        assert torch.equal(BertForMaskedLM.from_pretrained(str(INIT)).eval()(IDS).logits, MODEL(IDS).prediction_logits)
    assert ("no head for masked-language modelling" in said, "no pooler" in said) == (not has_head, not has_pooler)
    files = ["config.json", "model.safetensors", "tokenizer_config.json", "vocab.txt"]
    assert sorted(path.name for path in INIT.iterdir()) == files
    assert len({path.stat().st_mode for path in INIT.iterdir()}) == 1, "who may read one may read all"
    written = load_file(INIT / "model.safetensors")
    assert not [name for name in written if not name.startswith(("bert.", "cls.")) or name.endswith("position_ids")]
    _, drawn = Checkpoint.load(INIT).model_and_drawn("masked_lm", 0)
    assert bool(drawn) == (not has_head)


def test_what_is_said() -> None:
    save(state() | OTHER_HEADS)
    for name in ("tf_model.h5", "flax_model.msgpack"):
        Path("source", name).touch()
    parameters = sum(parameter.numel() for parameter in MODEL.parameters())
    assert brought().splitlines() == [
        "models/init/source:",
        "BERT with 2 layers of 32, 64 positions; vocabulary: 150 tokens, embeddings: 150 rows",
        "notice: assumed: Latin letters are lower-cased (no file says so; BERT lower-cases by default, and the "
        "vocabulary has 0 of the 26 capital letters). Chinese characters have no case",
        f"{parameters:,} parameters, float32",
        "with masked-LM head, pooler, next-sentence head",
        "in the weights but not used: classifier.bias, classifier.weight",
        "documents are packed: proven on these weights",
        "files left out: flax_model.msgpack, tf_model.h5",
        "capital letters: become small ones (the tokenizer lower-cases)",
        "accents and other marks: are stripped (é becomes e)",
        "to train from it, write into params.yaml, then run `adaptbert plan` and `adaptbert check`:",
        "  base: models/init/source    (beside other bases: source: models/init/source below `bases`)",
        *(
            f"  {section}: {{learning_rate: {rate}}}    (fitted to it; beside other bases in overrides.source)"
            for section, rate in (("domain_transfer", "1.0e-3"), ("task_transfer", "2.0e-3"), ("finetune", "1.0e-3"))
        ),
    ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays(dtype: torch.dtype) -> None:
    half = {name: tensor.to(dtype) for name, tensor in state().items()}
    save(half)
    assert f" parameters, {str(dtype).removeprefix('torch.')}\n" in brought()
    written = load_file(INIT / "model.safetensors")
    assert written
    assert all(torch.equal(tensor, half[name]) for name, tensor in written.items())


def test_safetensors_are_copied() -> None:
    save_file(of_2019(state()) | OTHER_HEADS, SAFE)
    said = brought()
    assert (INIT / "model.safetensors").read_bytes() == SAFE.read_bytes()
    assert "files left out: pytorch_model.bin\n" in said
    assert "in the weights but not used: classifier.bias, classifier.weight\n" in said


def test_one_type_of_tokens() -> None:
    """A pair is read with it: the second text has the row of the first."""
    config(type_vocab_size=1)()
    save(state() | {TYPES: state()[TYPES][:1]})
    assert "notice: the two texts of a pair are told apart by separators alone\n" in brought()
    model, rows = Checkpoint.load(INIT).encoder(), pack(np.array([4]), 4)
    plain, pair = (encode(model, rows, Tokens(IDS[0, :4], each)) for each in (None, torch.tensor([0, 0, 1, 1])))
    assert torch.equal(plain, pair)


def test_a_checkpoint_of_this_project_keeps_its_card() -> None:
    tiny.pretrained(Path("ours").absolute())
    brought("ours")
    assert Checkpoint.load(INIT).digest == Checkpoint.load("ours").digest
    assert Checkpoint.load(INIT).name == "pretrain"


def test_an_archive_of_2019() -> None:
    """HFL's: bert_config.json, in which no kind of model is named."""
    config(model_type=None, architectures=None)()
    Path(CONFIG).rename("source/bert_config.json")
    brought()
    assert json.loads((INIT / "config.json").read_text())["model_type"] == "bert"


def test_tensors_that_share_memory() -> None:
    """Safetensors stores each apart."""
    weights = state()
    first, second = (f"bert.encoder.layer.{number}.output.dense.bias" for number in range(2))
    weights[second] = weights[first]
    save(weights)
    brought()
    written = load_file(INIT / "model.safetensors")
    assert all(torch.equal(written[name], weights[name]) for name in (first, second))


# ---- what is refused

Act = Callable[[], object]


def weights(*, only: Any = None, **tensors: Any) -> Act:
    """A pickle of a BERT of which some tensors are others; or of something else."""
    return lambda: save(tied(state()) | tensors if only is None else only)


def config(**changes: Any) -> Act:
    """Other values in config.json; None: a key that is not there."""
    values = {name: value for name, value in {**CONFIG_OF_A_BERT, **changes}.items() if value is not None}
    return lambda: Path(CONFIG).write_text(json.dumps(values))


def gone(name: str, beside: str = "") -> Act:
    """A file is missing, and another one there."""
    return lambda: (Path(name).unlink(), Path("source", beside).touch())


CONFIG_OF_A_BERT = MODEL.config.to_dict()
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 409\n"
NOT_READ = "neither model.safetensors nor pytorch_model.bin (those of TensorFlow or Flax are not read)"
NO_VOCABULARY = "neither tokenizer.json nor a vocabulary (vocab.txt, one of sentencepiece, vocab.json with merges.txt)"
PART = "model-00001-of-00003.safetensors"
POINTER = "a pointer of Git LFS, not the weights themselves\n  run `git lfs pull`"
REFUSED: list[tuple[Act, str]] = [
    # weights of another model
    (weights(**{QUERY: torch.ones(32, 31)}), f"{DISAGREE}{QUERY}\n"),
    (weights(**{QUERY: torch.ones(32, 32).int()}), f"AB-132 {BIN}: {QUERY} holds int32: the weights are quantized\n"),
    (weights(**{QUERY: torch.full((32, 32), torch.nan)}), f"AB-124 {BIN}: {QUERY} holds NaN or Inf\n"),
    (weights(**{"bert.adapter.weight": torch.ones(3)}), f"{DISAGREE}bert.adapter.weight\n"),
    (weights(**{"cls.predictions.bias": torch.ones(151)}), f"{DISAGREE}cls.predictions."),
    (weights(**{"bert.pooler.dense.weight": torch.ones(32, 31)}), f"{DISAGREE}bert.pooler.dense.weight\n"),
    (weights(only=without(tied(state()), QUERY)), f"{DISAGREE}{QUERY}\n"),
    (
        weights(**{QUERY.replace("query", "distance_embedding"): torch.ones(127, 16)}),
        f"{DISAGREE}{QUERY.replace('query', 'distance_embedding')}\n",
    ),
    # files that hold something else
    (weights(args=Namespace(lr=1)), f"AB-119 {BIN}: the pickle holds more than tensors, it names argparse.Namespace"),
    (weights(only={"model": {}, "epoch": 3}), f"AB-132 {BIN}: holds no tensors by name; found a dict\n  take the fi"),
    (weights(only={"state_dict": {"a": torch.ones(2)}}), f"AB-132 {BIN}: holds no tensors by name; found a dict with"),
    (lambda: Path(BIN).write_text(LFS), f"AB-124 {BIN}: {POINTER}"),
    (lambda: SAFE.write_text(LFS), f"AB-124 {SAFE}: {POINTER}"),
    (lambda: SAFE.write_text("{}"), f"AB-124 {SAFE}: bad safetensors file: "),
    (lambda: save_file({**state(), QUERY: torch.full((32, 32), torch.inf)}, SAFE), f"AB-124 {SAFE}: {QUERY} holds NaN"),
    # another config
    (config(hidden_size=64), f"{DISAGREE}bert.embeddings.LayerNorm.bias, "),
    (config(vocab_size=149), "AB-129 source: tokenizer 150 tokens, embeddings 149\n"),
    (config(hidden_size="32"), 'AB-124 source/config.json: hidden_size: expected a valid integer, found "32"'),
    (config(hidden_act="gelo"), "AB-124 source: config.json cannot be used: KeyError: "),
    (lambda: Path(CONFIG).write_text("{"), "AB-124 source/config.json: not a JSON object\n"),
    (config(model_type="electra"), "AB-132 source: weights and config.json disagree: electra.embeddings."),
    (
        lambda: Path(VOCABULARY).write_text(Path(VOCABULARY).read_text().replace("[MASK]\n", "")),
        "AB-129 source: the tokenizer has no token for: mask ([MASK])\n  take a checkpoint",
    ),
    # files that are missing, or something else
    (gone(CONFIG), "AB-128 source: no config.json: not a Hugging Face folder\n  there are pytorch_model.bin, vocab.t"),
    (gone(VOCABULARY), f"AB-128 source: no tokenizer: {NO_VOCABULARY}\n  there are config.json, pytorch_model.bin"),
    (gone(BIN, "tf_model.h5"), f"AB-124 source: no weights of torch: {NOT_READ}\n  there are config.json, tf_model."),
    (gone(BIN, PART), f"AB-124 source: weights in several parts ({PART}) are not read\n  load the model, write it as"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_bert_is_refused(change: Act, words: str) -> None:
    change()
    assert refused("./source").startswith(words)


class Runs:
    """A pickle of it makes the file `ran` when Python's own unpickler opens it."""

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, ("touch ran",)


@FORMATS
@pytest.mark.parametrize("content", [{**tied(state()), "bert.extra": Runs()}, Runs()], ids=["among", "alone"])
def test_code_in_a_pickle_is_not_run(content: Any, legacy: bool) -> None:
    save(content, legacy)
    assert refused() == (
        f"AB-119 {BIN}: the pickle holds more than tensors, it names posix.system: nothing of it was run, nothing was "
        "written\n  do not open this file with other programs, which would run it; take the model from its authors"
    )
    assert not Path("ran").exists()
    torch.load(BIN, weights_only=False)
    assert Path("ran").exists(), "the file is what this test takes it for"


EVAL = b"\x80\x02cbuiltins\neval\nX\x14\x00\x00\x00open('ran', 'w').id()\x85R."
PROGRAMS = [EVAL, *(pickle.dumps({"a": 1, "x": Runs()}, protocol) for protocol in (0, 2, 5))]


@pytest.mark.parametrize("content", PROGRAMS, ids=range(len(PROGRAMS)))
def test_bytes_of_another_program(content: bytes) -> None:
    Path(BIN).write_bytes(content)
    assert refused().startswith((f"AB-124 {BIN}: ", f"AB-119 {BIN}: "))
    assert not Path("ran").exists()


@pytest.mark.parametrize("content", [b"", b"<html>Sign in</html>", b"PK\x03\x04" + bytes(100), 0.001, 0.3, 0.99999])
@FORMATS
def test_a_pickle_that_is_cut_or_none(content: bytes | float, legacy: bool) -> None:
    """Or of which this share is there."""
    save(tied(state()), legacy)
    all_of_it = Path(BIN).read_bytes()
    Path(BIN).write_bytes(content if isinstance(content, bytes) else all_of_it[: int(len(all_of_it) * content)])
    message = refused()
    assert message.startswith(f"AB-124 {BIN}: cannot be read: ")
    assert message.endswith("\n  copy the whole checkpoint again")
    assert "weights_only" not in message


# ---- what it is pointed at


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("bert-base-chinese", "bert_base_chinese"),
        ("MacBERT-v1.1", "macbert_v1_1"),
        ("2024-bert", "bert"),
        ("模型", "public"),
        ("x" * 60, "x" * 40),
    ],
)
def test_the_name_of_the_base_is_that_of_the_model(model: str, name: str) -> None:
    assert name_of(model) == name


def test_what_is_there_is_not_replaced() -> None:
    brought()
    before = tiny.folder_bytes(INIT)
    save({name: value + 1 for name, value in state().items()})
    done = run("source")
    assert (done.exit_code, done.output) == (
        65,
        "error: AB-197 models/init/source: is there already, and is not replaced\n"
        "  take it, in `new` by --base models/init/source; or remove it, or import under another name: --base NAME\n",
    )
    assert tiny.folder_bytes(INIT) == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["acme/tiny-bert"], 65, "AB-128 acme/tiny-bert: no such folder\n  name a folder; one of the hub's is"),
        (["source", "--base", "My-Bert"], 78, "AB-112 --base My-Bert: 'My-Bert' cannot be the name of a"),
        ([BIN], 65, f"AB-128 {BIN}: is a file, and a checkpoint is a folder\n  name a folder; "),
    ],
)
def test_names_and_options(arguments: list[str], code: int, words: str) -> None:
    assert refused(*arguments, code=code).startswith(words)
    assert Path(BIN).is_file()


# ---- the tokenizer: lower-casing as its source says


def capitals() -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    Path(VOCABULARY).write_text("\n".join([*tiny.tokenizer().tokens[: -len(letters)], *letters]) + "\n")


def rules() -> None:
    """transformers would lower-case: it reads the rules of tokenizer_config.json only."""
    Path(VOCABULARY).unlink()
    tiny.tokenizer(lowercase=False).save(Path("source"))
    Path("source/tokenizer_config.json").unlink()
    assert Tokenizer.load(Path("source")).fingerprint != tiny.tokenizer(lowercase=False).fingerprint


@pytest.mark.parametrize(
    ("change", "shown", "a_capital_becomes"),
    [
        (None, "lower-cased (no file says so; BERT lower-cases by default", "a"),
        (rules, "kept as they are (tokenizer.json says so).", "A"),
        (capitals, "kept as they are (no file says so; the vocabulary has 26 of the 26 capital letters)", "A"),
    ],
)
def test_lower_casing_is_assumed(change: Callable[[], None] | None, shown: str, a_capital_becomes: str) -> None:
    if change is not None:
        change()
    assert f"notice: assumed: Latin letters are {shown}" in brought()
    imported = Tokenizer.load(INIT)
    assert imported.backend.normalizer.normalize_str("A") == a_capital_becomes
    if change is not capitals:
        assert imported.fingerprint == tiny.tokenizer(lowercase=change is None).fingerprint


CODE = ", and only rules in vocab.txt or tokenizer.json are read\n  take a checkpoint whose tokenizer is rules"


@pytest.mark.parametrize(
    ("about", "config", "words"),
    [
        ({"tokenizer_class": "BertJapaneseTokenizer"}, {}, f"by code (BertJapaneseTokenizer){CODE}"),
        (
            {"do_lower_case": False},
            {"tokenizer_class": "BertJapaneseTokenizer"},
            f"by code (BertJapaneseTokenizer){CODE}",
        ),
        ({"tokenizer_class": "KoBertTokenizer"}, {}, f"by code (KoBertTokenizer){CODE}"),
        ({"auto_map": {"AutoTokenizer": ["a.My", None]}}, {}, f"by code (auto_map){CODE}"),
        (
            {},
            {"auto_map": {"AutoModel": "a.My"}},
            "its model is code, which is not run (auto_map)\n  name a checkpoint",
        ),
        (
            {},
            {"pruned_heads": {"1": [0]}},
            "heads were pruned (pruned_heads)\n  name the checkpoint that they were pruned",
        ),
    ],
)
def test_another_kind_of_checkpoint_is_no_damaged_one(
    about: dict[str, Any], config: dict[str, Any], words: str
) -> None:
    Path("source/tokenizer_config.json").write_text(json.dumps(about))
    edit(Path("source"), "config.json", **config)
    message = refused()
    assert words in message
    assert "copy the whole" not in message


def test_a_decoder_is_imported_as_an_encoder() -> None:
    edit(Path("source"), "config.json", is_decoder=True, id2label={"0": "a"})
    notice = "notice: of config.json the architecture is kept, not what the model was used for: "
    (line,) = [line for line in brought().splitlines() if line.startswith(notice)]
    assert {*line.removeprefix(notice).split(", ")} == {"is_decoder", "id2label"}


@pytest.mark.parametrize("lowercase", [True, False])
def test_what_the_source_says_is_not_changed(source: Path, lowercase: bool) -> None:
    text = json.dumps({"do_lower_case": lowercase})
    (source / "tokenizer_config.json").write_text(text)
    assert "assumed" not in brought()
    assert (INIT / "tokenizer_config.json").read_text() == text


@pytest.mark.parametrize("about", [{"tokenizer_class": "BertTokenizer", "do_lower_case": True}, None])
@pytest.mark.parametrize(
    "change",
    [
        {"normalizer": Lowercase()},
        {"pre_tokenizer": WhitespaceSplit()},
        {"model": {"max_input_chars_per_word": 200}},
        {},
    ],
)
def test_the_rules_of_the_file_are_kept(about: dict[str, Any] | None, change: dict[str, Any]) -> None:
    """Every text is read as the file says, also by a tokenizer that was saved from it."""
    tiny.tokenizer().save(Path("source"))
    file, config_file = Path("source/tokenizer.json"), Path("source/tokenizer_config.json")
    backend = Backend.from_file(str(file))
    for name, value in change.items():
        if isinstance(value, dict):
            for key, each in value.items():
                setattr(getattr(backend, name), key, each)
        else:
            setattr(backend, name, value)
    backend.save(str(file))
    config_file.unlink() if about is None else config_file.write_text(json.dumps(about))
    brought()
    Tokenizer.load(INIT).save(Path("again"))
    text = "the r\u00e9sum\u00e9 stood, by a house:\u597d\u7684\x00 " + "a" * 120
    ids = backend.encode(text, add_special_tokens=False).ids
    assert all(Tokenizer.load(folder).encode([text])[0].ids == ids for folder in (INIT, Path("again")))
    assert AutoTokenizer.from_pretrained("again")(text, add_special_tokens=False)["input_ids"] == ids
