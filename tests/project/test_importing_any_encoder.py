"""`adaptbert import` of a base of any kind: what transformers has written comes out as it was, and what is said of it
is so; what is no encoder of transformers is refused before anything is allocated."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from safetensors.torch import load_file
from tokenizers import Regex
from tokenizers import Tokenizer as Backend
from tokenizers.normalizers import Lowercase, Replace, Sequence
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForPreTraining,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)

from adaptbert.errors import BadData
from adaptbert.model.checkpoint import Checkpoint, quiet
from adaptbert.model.encoder import WORDS
from adaptbert.text.tokenizer import Tokenizer
from tests.support import commands
from tests.support.checkpoint_edits import edit
from tests.support.encoders import CASES, Case
from tests.support.family_tokenizers import TEXTS, family_tokenizer
from tests.support.hub_cache import in_cache
from tests.support.messages import messages_in

INIT, SOURCE = Path("models/init/source"), Path("source")
ODD = ("The patient's glucose fell.  To 4.2", "Naïve ＦＵＬＬ width，好的。", "<mask> [MASK] 😀")
KINDS = ("roberta", "xlm-roberta", "modernbert", "deberta-v2", "electra", "distilbert", "ernie", "mpnet", "ultrabert")
BY_KIND = {kind: next(case for case in CASES if case.kind == kind) for kind in KINDS}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path(".dvc").mkdir()
    INIT.parent.mkdir(parents=True)
    with quiet():
        yield


def brought(source: str = "source") -> str:
    done = commands.run("import", source, "--base", "source")
    assert done.exit_code == 0, done.output
    return done.output


def refused(source: str = "source") -> str:
    done = commands.run("import", source, "--base", "source")
    assert done.exit_code == 65, done.output
    assert [*INIT.parent.iterdir()] == []
    (message,) = messages_in(done.output)
    return message.removeprefix("error: ")


def as_a_pickle() -> None:
    """As older checkpoints are on the hub, with tied weights twice."""
    weights = AutoModelForMaskedLM.from_pretrained(SOURCE).state_dict()
    torch.save(weights, SOURCE / "pytorch_model.bin")
    (SOURCE / "model.safetensors").unlink()


# ---- what is brought


@pytest.mark.parametrize(
    ("case", "is_pickled"),
    [*((case, False) for case in BY_KIND.values()), (BY_KIND["roberta"], True), (BY_KIND["ernie"], True)],
)
@torch.no_grad()
def test_the_same_model_and_tokenizer(case: Case, is_pickled: bool) -> None:
    case.save(SOURCE)
    theirs, tokens = AutoModelForMaskedLM.from_pretrained(SOURCE).eval(), AutoTokenizer.from_pretrained(SOURCE)
    if is_pickled:
        as_a_pickle()
    said = brought()
    ours, info = AutoModelForMaskedLM.from_pretrained(INIT, output_loading_info=True)
    assert not any(info.values())
    encoded = tokens(*ODD[:2], return_tensors="pt")
    assert torch.equal(ours.eval()(**encoded).logits, theirs(**encoded).logits)
    again = AutoTokenizer.from_pretrained(INIT)
    assert [again(text)["input_ids"] for text in ODD] == [tokens(text)["input_ids"] for text in ODD]
    assert again(*ODD[:2]) == tokens(*ODD[:2])
    sizes = (
        f"{case.kind.upper()} with 3 layers of 32, {Checkpoint.load(INIT).longest} positions; vocabulary: {len(tokens)}"
    )
    assert sizes in said
    assert "with masked-LM head" in said
    assert "head_warmup_steps" not in said
    assert f"documents are {WORDS[case.way]}: proven on these weights" in said
    assert ("told apart by separators alone" in said) == (case.kind not in ("electra", "ernie"))
    assert "not used" not in said
    assert "around a text" not in said


def test_a_tokenizer_that_puts_no_special_tokens_around_a_text() -> None:
    """Taken, as its rules say so; a file that has lost its post_processor looks the same."""
    BY_KIND["modernbert"].save(SOURCE)
    edit(SOURCE, "tokenizer.json", post_processor=None)
    assert "notice: its tokenizer puts no special tokens around a text" in brought()


@pytest.mark.parametrize(
    ("kind", "head", "unused"),
    [
        ("electra", AutoModelForPreTraining, "discriminator_predictions."),
        ("roberta", AutoModel, "pooler.dense."),  # as e5 and bge are published
        ("distilbert", AutoModel, ""),
        ("modernbert", AutoModelForSequenceClassification, "classifier."),
        ("deberta-v2", AutoModelForSequenceClassification, "classifier."),
    ],
)
def test_weights_without_a_head_for_masked_words(kind: str, head: Any, unused: str) -> None:
    case = BY_KIND[kind]
    case.tokenizer().save_pretrained(SOURCE)
    head.from_config(case.config()).save_pretrained(SOURCE)
    said = brought()
    assert "notice: no head for masked-language modelling: it begins untrained" in said
    assert "with masked-LM head" not in said
    alone = "{head_warmup_steps: 100, global_batch_tokens: 1024}"
    assert said.splitlines()[-1].startswith(f"  pretrain: {alone}    (trains the head")
    assert not unused or f"in the weights but not used: {unused}" in said
    _, drawn = Checkpoint.load(INIT).model_and_drawn("masked_lm", 0)
    assert drawn


DEBERTA = {"unk_id": 3, "pad_id": 0, "bos_id": 1, "eos_id": 2, "pad_piece": "[PAD]", "unk_piece": "[UNK]"}
DEBERTA |= {"bos_piece": "[CLS]", "eos_piece": "[SEP]"}


@pytest.mark.parametrize("rules", ["nmt_nfkc", "identity"])
@pytest.mark.parametrize(
    ("kind", "name", "pieces"), [("deberta-v2", "spm.model", DEBERTA), ("xlm-roberta", "sentencepiece.bpe.model", {})]
)
def test_a_vocabulary_of_sentencepiece_is_converted(kind: str, name: str, pieces: dict[str, Any], rules: str) -> None:
    """A text has the pieces that sentencepiece itself gives it: full-width letters, Chinese punctuation, spaces."""
    SOURCE.mkdir()
    AutoModelForMaskedLM.from_config(BY_KIND[kind].config(vocab_size=500)).save_pretrained(SOURCE)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS),
        model_prefix="trained",
        vocab_size=400,
        hard_vocab_limit=False,
        normalization_rule_name=rules,
        minloglevel=2,
        **pieces,
    )
    Path("trained.model").rename(SOURCE / name)
    if kind == "deberta-v2":  # whose class adds the mask
        with pytest.raises(BadData, match=r"no token for: mask.*\n.*`adaptbert import FOLDER` converts its vocabulary"):
            Tokenizer.load(SOURCE)
    said = brought()
    assert f"tokenizer.json is made of {name}\n" in said
    assert sorted(path.name for path in INIT.iterdir()) == sorted(
        ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    )
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(SOURCE / name))
    stock, ours = AutoTokenizer.from_pretrained(INIT), Tokenizer.load(INIT)
    for text in (*ODD[:2], "今天天气很好，我们去公园。", "  two  spaces "):
        assert stock.tokenize(text) == theirs.encode(text, out_type=str)
        assert ours.encode([text])[0].ids == stock(text, add_special_tokens=False)["input_ids"]


def test_vocab_json_and_merges_txt_are_converted() -> None:
    BY_KIND["roberta"].save(SOURCE)
    rules = json.loads((SOURCE / "tokenizer.json").read_text())["model"]
    (SOURCE / "vocab.json").write_text(json.dumps(rules["vocab"]))
    merges = "\n".join(" ".join(pair) for pair in rules["merges"])
    (SOURCE / "merges.txt").write_text(f"#version: 0.2\n{merges}\n")
    stock = family_tokenizer("roberta")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (SOURCE / name).unlink()
    assert "tokenizer.json is made of vocab.json and merges.txt\n" in brought()
    again = AutoTokenizer.from_pretrained(INIT)
    assert again(*ODD[:2])["input_ids"] == stock(*ODD[:2])["input_ids"]


@pytest.mark.parametrize("kind", ["roberta", "modernbert"])
def test_by_its_name_on_the_hub(kind: str) -> None:
    BY_KIND[kind].save(SOURCE)
    in_cache(kind, SOURCE)
    there = Checkpoint.from_hub(f"acme/{kind}", "main")
    assert there.tokenizer.fingerprint == Tokenizer.load(SOURCE).fingerprint
    stock = AutoModelForMaskedLM.from_pretrained(SOURCE).state_dict()
    assert all(torch.equal(weight, stock[name]) for name, weight in there.model("masked_lm", 0).state_dict().items())


@pytest.mark.parametrize("more", [Replace(Regex(" {2,}"), " "), Lowercase()])
@pytest.mark.parametrize("kind", ["xlm-roberta", "roberta"])
def test_the_rules_of_the_file_are_those_of_every_checkpoint(tmp_path: Path, kind: str, more: Any) -> None:
    """Whatever the class of the tokenizer makes of its vocabulary; with the roles and inputs of that class."""
    BY_KIND[kind].save(SOURCE)
    file, text = SOURCE / "tokenizer.json", "The  PATIENT's\nglucose, ＦＵＬＬ."
    rules = Backend.from_file(str(file))
    rules.normalizer = Sequence([*([rules.normalizer] if rules.normalizer else []), more])
    rules.save(str(file))
    in_cache(f"{kind}-with-rules", SOURCE)
    brought()
    for ours in (Tokenizer.load(INIT), Tokenizer.load(f"acme/{kind}-with-rules")):
        ours.save(tmp_path)
        stock, of_class = AutoTokenizer.from_pretrained(tmp_path), family_tokenizer(kind)
        assert ours.single(ours.encode([text])[0].ids) == stock(text)["input_ids"] == rules.encode(text).ids
        assert stock("a", "b").keys() == of_class("a", "b").keys()
        assert stock.special_tokens_map == of_class.special_tokens_map
        assert Tokenizer.load(tmp_path).fingerprint == ours.fingerprint


def test_code_that_transformers_has_taken_over() -> None:
    """As in EuroBERT's config.json."""
    case = next(case for case in CASES if case.kind == "eurobert")
    case.save(SOURCE)
    edit(SOURCE, "config.json", auto_map={"AutoConfig": "configuration_eurobert.EuroBertConfig"})
    assert "EUROBERT with " in brought()


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("ModernBERT-base", "answerdotai/ModernBERT-base-training-checkpoints, folder context-extension"),
        ("ModernBERT-large", "answerdotai/ModernBERT-large-training-checkpoints, folder context-extension"),
        ("mmBERT-base", "jhu-clsp/mmBERT-checkpoints, file mmbert-base/extension/mmbert-base-ext.pt"),
        ("mmBERT-small", "jhu-clsp/mmBERT-checkpoints, folder mmbert-small/ext"),
        ("ettin-encoder-17m", "the tags ext... of jhu-clsp/ettin-encoder-17m"),
        ("BioClinical-ModernBERT-base", None),
    ],
)
def test_where_the_stable_phase_is_published(name: str, place: str | None) -> None:
    BY_KIND["modernbert"].save(Path(name))
    said = brought(name)
    assert ("its learning rate was brought down to nearly 0" in said) == (place is not None)
    assert place is None or place in said


# ---- what is refused


def config(**changes: Any) -> Callable[[], object]:
    return lambda: edit(SOURCE, "config.json", **changes)


def alone(name: str, content: Any) -> Callable[[], object]:
    """A file of weights in the place of the others."""
    return lambda: ((SOURCE / "model.safetensors").unlink(), torch.save(content, SOURCE / name))


def pieces(change: Callable[[dict[str, Any]], object]) -> Callable[[], object]:
    """Other rules of a tokenizer whose class has none of its own."""

    def changed() -> None:
        shutil.rmtree(SOURCE)
        BY_KIND["modernbert"].save(SOURCE)
        rules = json.loads((SOURCE / "tokenizer.json").read_text(encoding="utf-8"))
        change(rules)
        (SOURCE / "tokenizer.json").write_text(json.dumps(rules), encoding="utf-8")

    return changed


WITHOUT_A_SECOND = {"pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]}
WITHOUT_ITS_TOKENS = {"special_tokens": {}}
OF_A_TRAINING = (
    "the checkpoint of a training program, such as Composer or fairseq, and none of transformers\n  convert it"
)
NOT_RUN = "its model is code, which is not run (auto_map)\n  name a checkpoint without code"
REFUSED: list[tuple[Callable[[], object], str]] = [
    (
        config(model_type="bart"),
        "AB-132 source/config.json: model_type bart is an encoder with a decoder\n  name the ch",
    ),
    (config(model_type="gpt2"), "AB-132 source/config.json: model_type gpt2, of which transformers "),
    (config(model_type="neobert", auto_map={"AutoConfig": "model.NeoBERTConfig"}), NOT_RUN),
    (config(auto_map={"AutoConfig": "acme/x--configuration.OtherConfig"}), NOT_RUN),
    (config(position_embedding_type="relative_key"), "relative positions are not supported"),
    (
        config(model_type="eurobert", rope_scaling={"rope_type": "longrope", "factor": 4.0}),
        "AB-132 source/config.json: the positions of a short text depend on the longest beside it (longrope)",
    ),
    (config(quantization_config={"bits": 4}), "the weights are quantized (quantization_config)"),
    (
        config(model_type="modernbert"),
        "AB-124 source/config.json: cannot be used: Validation error for field 'classifier_d",
    ),
    (config(model_type="modernbert", classifier_dropout=0, classifier_activation="x"), "cannot be used: KeyError: 'x'"),
    (
        config(num_hidden_layers=4),
        "weights and config.json disagree: roberta.encoder.layer.3.attention.output.LayerNorm",
    ),
    (
        config(pad_token_id=5),
        "AB-129 source: positions are counted without token 5, which is not that of padding alone",
    ),
    (
        lambda: (config(pad_token_id=2)(), edit(SOURCE, "tokenizer_config.json", pad_token="</s>")),
        "AB-129 source: positions are counted without token 2, which is not that of padding alone",
    ),
    (config(hidden_size=10**9), "AB-124 source/config.json: hidden_size: expected less than or equal to 65536, found"),
    (config(hidden_size=20_000, intermediate_size=20_000), " numbers, and the encoder has 7,2"),
    (config(model_type="distilbert", dim="32"), 'AB-124 source/config.json: dim: expected a valid integer, found "32"'),
    (
        config(model_type="electra", embedding_size=10**9),
        "AB-124 source/config.json: embedding_size: 1000000000 is out",
    ),
    (
        config(model_type="bert"),
        "the weights are named as those of roberta, and model_type is bert\n  write their model",
    ),
    (config(model_type=...), "the weights are named as those of roberta, and model_type is bert"),
    (
        pieces(
            lambda rules: rules.update(normalizer={"type": "Replace", "pattern": {"Regex": "[a-z]"}, "content": ""})
        ),
        "tokenizer cannot be loaded: its rules leave nothing of a Latin letter, or lose a text of a pair",
    ),
    (  # at which the tokenizers library panics
        pieces(lambda rules: rules["post_processor"].update(WITHOUT_ITS_TOKENS)),
        "tokenizer cannot be loaded: ",
    ),
    (
        pieces(lambda rules: rules["post_processor"].update(WITHOUT_A_SECOND)),
        "tokenizer cannot be loaded: its rules leave nothing of a Latin letter, or lose a text of a pair",
    ),
    (alone("ep0-ba52988-rank0.pt", {}), f"AB-132 source: ep0-ba52988-rank0.pt is {OF_A_TRAINING}"),
    (alone("pytorch_model.bin", {"state": {"model": {"a": torch.ones(1)}}}), f"model.bin: is {OF_A_TRAINING}"),
]


@pytest.mark.parametrize(("change", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(change: Callable[[], object], words: str) -> None:
    BY_KIND["roberta"].save(SOURCE)
    change()
    assert words in refused()


@pytest.mark.parametrize(
    ("kind", "files", "words"),
    [
        ("deberta-v2", {"spm.model": b"\x00garbage"}, "AB-124 source/spm.model: cannot be converted: "),
        ("deberta-v2", {"spm.model": b""}, "AB-124 source/spm.model: cannot be converted: "),
        ("roberta", {"vocab.json": b"{", "merges.txt": b"a b"}, "AB-124 source/vocab.json: cannot be converted: "),
        (
            "roberta",
            {"vocab.json": b'{"<s>": 0}'},
            "AB-128 source: vocab.json alone, and BPE needs vocab.json and merges",
        ),
        ("roberta", {"merges.txt": b"a b"}, "AB-128 source: merges.txt alone, and BPE needs vocab.json and merges.txt"),
    ],
)
def test_a_vocabulary_that_is_damaged(kind: str, files: dict[str, bytes], words: str) -> None:
    BY_KIND[kind].save(SOURCE)
    (SOURCE / "tokenizer.json").unlink()
    for name, content in files.items():
        (SOURCE / name).write_bytes(content)
    assert words in refused()


def test_a_file_of_a_training_program() -> None:
    torch.save({}, "ep0-ba52988-rank0.pt")
    assert refused("ep0-ba52988-rank0.pt").startswith(f"AB-132 ep0-ba52988-rank0.pt: is {OF_A_TRAINING}")


def test_a_left_over_weight_of_the_encoder() -> None:
    """With and without the prefix of a model around the encoder."""
    for class_, name in (
        (AutoModelForMaskedLM, "electra.encoder.layer.0.x.weight"),
        (AutoModel, "encoder.layer.0.x.weight"),
    ):
        BY_KIND["electra"].tokenizer().save_pretrained(SOURCE)
        model = class_.from_config(BY_KIND["electra"].config())
        model.save_pretrained(SOURCE, state_dict=model.state_dict() | {name: torch.ones(3)})
        assert name in load_file(SOURCE / "model.safetensors")
        assert "weights and config.json disagree: " in refused()


def test_a_kind_has_its_own_defaults() -> None:
    """Of a config.json that says little."""
    BY_KIND["xlm-roberta"].save(SOURCE)
    edit(SOURCE, "config.json", pad_token_id=..., bos_token_id=..., use_cache=False)
    brought()
    assert Checkpoint.load(INIT).config().pad_token_id == AutoConfig.for_model("xlm-roberta").pad_token_id == 1


@torch.no_grad()
def test_positions_that_turn_as_an_older_file_says() -> None:
    """What the scale refers to may stand beside it."""
    next(case for case in CASES if case.kind == "eurobert").save(SOURCE)
    scale = {"rope_type": "yarn", "factor": 4.0}
    edit(SOURCE, "config.json", rope_parameters=..., rope_scaling=scale, original_max_position_embeddings=24)
    brought()
    stock, ours = AutoModelForMaskedLM.from_pretrained(SOURCE), Checkpoint.load(INIT).model("masked_lm", 0)
    ids = torch.arange(20)[None]
    assert torch.equal(ours.eval()(input_ids=ids).logits, stock.eval()(input_ids=ids).logits)


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("longformer", {"attention_window": [8]}, "AssertionError: `len(config.attention_window)`"),
        ("eurobert", {"num_key_value_heads": 0}, "ZeroDivisionError: "),
        ("eurobert", {"head_dim": 0}, "ZeroDivisionError: "),
        ("roc_bert", {"shape_vocab_size": 0}, "IndexError: "),
    ],
)
def test_sizes_that_a_class_cannot_use(kind: str, values: dict[str, Any], words: str) -> None:
    next(case for case in CASES if case.kind == kind).save(SOURCE)
    edit(SOURCE, "config.json", **values)
    assert f"AB-124 source: config.json cannot be used: {words}" in refused()
