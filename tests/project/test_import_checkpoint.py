"""`adaptbert import`: public checkpoints with all their oddities come into models/init with every number as it was."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForMaskedLM, BertForPreTraining, BertModel
from typer.testing import CliRunner, Result

from adaptbert.base.files import read_json
from adaptbert.cli import app
from adaptbert.model import checkpoint
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.tokenization.store.tokenizer import Tokenizer
from tests.support import tiny
from tests.support.messages import messages_in

State = dict[str, torch.Tensor]
INIT = Path("models/init")
README = "what lies here"
DECODER, EMBEDDINGS = "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"
IDS = torch.tensor([[2, 17, 9, 33, 101, 3], [2, 8, 8, 120, 44, 3]])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    (root / INIT).mkdir(parents=True)
    (root / INIT / "README.md").write_text(README)
    (root / "params.yaml").touch()
    monkeypatch.chdir(root)
    return root


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
    """The decoder is the embedding matrix itself, as in a model in memory."""
    return {**weights, DECODER: weights[EMBEDDINGS]}


def of_2019(weights: State) -> State:
    return {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in weights.items()
    }


def encoder_alone(weights: State) -> State:
    return {name.removeprefix("bert."): tensor for name, tensor in weights.items() if name.startswith("bert.")}


def without(*beginnings: str) -> Callable[[State], State]:
    return lambda weights: {name: value for name, value in weights.items() if not name.startswith(beginnings)}


def with_buffers(weights: State) -> State:
    return {**weights, "bert.embeddings.position_ids": torch.arange(tiny.POSITIONS)[None]}


def with_other_heads(weights: State) -> State:
    return {**weights, "classifier.weight": torch.ones(3, 32), "classifier.bias": torch.ones(3)}


def bias_of_the_decoder(weights: State) -> State:
    return {name.replace("predictions.bias", "predictions.decoder.bias"): value for name, value in weights.items()}


def save_source(folder: Path, weights: State | None = None, *, legacy: bool = False) -> Path:
    """A folder as the hub has them: config.json, pytorch_model.bin, vocab.txt."""
    folder.mkdir(parents=True)
    MODEL.config.save_pretrained(str(folder))
    (folder / "vocab.txt").write_text("\n".join(tiny.tokenizer().tokens) + "\n", encoding="utf-8")
    content = tied(state()) if weights is None else weights
    torch.save(content, folder / "pytorch_model.bin", _use_new_zipfile_serialization=not legacy)
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["import", *arguments])


def brought(*arguments: str) -> str:
    """What the command says where all is well."""
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    assert not [path for path in Path("models").iterdir() if path.name != "init"]
    return done.output


def hidden(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(IDS).last_hidden_state


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(IDS).logits


def same_encoder(pooler: bool = True) -> bool:
    model = BertModel.from_pretrained(str(INIT), dtype=torch.float32).eval()
    with torch.no_grad():
        ours, theirs = model(IDS), MODEL.bert(IDS)
    assert not pooler or torch.equal(ours.pooler_output, theirs.pooler_output)
    return torch.equal(ours.last_hidden_state, theirs.last_hidden_state)


def same_head() -> bool:
    original = MODEL(IDS).prediction_logits.detach()
    return torch.equal(logits(BertForMaskedLM.from_pretrained(str(INIT)).eval()), original)


# ---- what comes in


ODDITIES: dict[str, tuple[Callable[[State], State], bool, bool]] = {
    "tied": (tied, True, True),
    "no decoder": (lambda weights: weights, True, True),
    "names of 2019": (lambda weights: of_2019(tied(weights)), True, True),
    "encoder alone": (encoder_alone, False, True),
    "encoder alone, names of 2019": (lambda weights: of_2019(encoder_alone(weights)), False, True),
    "no head": (without("cls."), False, True),
    "no pooler": (without("bert.pooler.", "cls.seq"), True, False),
    "neither": (without("bert.pooler.", "cls."), False, False),
    "buffers": (with_buffers, True, True),
    "other heads": (with_other_heads, True, True),
    "bias of the decoder": (bias_of_the_decoder, True, True),
}
"""The change, and whether a masked-LM head and a pooler come out of it."""


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
@pytest.mark.parametrize("oddity", ODDITIES)
def test_a_pickle_is_the_same_model(project: Path, oddity: str, legacy: bool) -> None:
    change, has_head, has_pooler = ODDITIES[oddity]
    source = save_source(project / "source", change(state()), legacy=legacy)
    said = brought(str(source))
    assert same_encoder(has_pooler)
    assert not has_head or same_head()
    assert ("no head for masked-language modelling" in said, "no pooler" in said) == (not has_head, not has_pooler)
    assert sorted(path.name for path in INIT.iterdir()) == [
        "README.md", "config.json", "model.safetensors", "tokenizer.json",
        "tokenizer_config.json", "vocab.txt",
    ]  # fmt: skip
    assert (INIT / "README.md").read_text() == README
    written = load_file(INIT / "model.safetensors")
    assert not [name for name in written if not name.startswith(("bert.", "cls.")) or name.endswith("position_ids")]
    _, drawn = Checkpoint.load(INIT).model_and_drawn(BertForMaskedLM, 0)
    assert bool(drawn) == (not has_head)


def test_what_is_said(project: Path) -> None:
    source = save_source(project / "tiny-roberta-wwm", with_other_heads(state()))
    for name in ("tf_model.h5", "flax_model.msgpack"):
        (source / name).touch()
    said = brought(str(source))
    parameters = sum(parameter.numel() for parameter in MODEL.parameters())
    size = (INIT / "model.safetensors").stat().st_size / 1000
    assert said.splitlines() == [
        "models/init: config.json, model.safetensors, tokenizer.json, tokenizer_config.json, vocab.txt",
        f"BERT with 2 layers of 32, 64 positions; {parameters:,} parameters, float32, {size:.1f} kB",
        "vocabulary: 150 tokens",
        "its name says RoBERTa, its architecture is BERT: it was trained in RoBERTa's way and works here",
        "notice: assumed: Latin letters are lower-cased (no file says so; BERT lower-cases by default, and the "
        "vocabulary has 0 of the 26 capital letters). Chinese characters have no case",
        "with masked-LM head, pooler, next-sentence head",
        "files left out: flax_model.msgpack, tf_model.h5",
        "in the weights but not used: classifier.weight, classifier.bias",
        "in params.yaml, write",
        "  pretrain.init: models/init",
        "  tokenizer.source: init",
        "and take out pretrain.encoder and the other keys of tokenizer: a checkpoint brings its own",
        "now run: adaptbert check",
    ]


def test_what_a_model_without_head_and_pooler_needs_is_said(project: Path) -> None:
    said = brought(str(save_source(project / "source", without("bert.pooler.", "cls.")(state()))))
    assert (
        "notice: no head for masked-language modelling: it begins untrained; `pretrain.head_warmup_steps: 300` trains "
        "it first\nnotice: no pooler: fine-tuning on sentences and pairs begins with an untrained one\n"
    ) in said
    assert "\nwith " not in said


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays(project: Path, dtype: torch.dtype) -> None:
    half = {name: tensor.to(dtype) for name, tensor in state().items()}
    said = brought(str(save_source(project / "source", tied(half))))
    assert f"parameters, {str(dtype).removeprefix('torch.')}, " in said
    written = load_file(INIT / "model.safetensors")
    assert written
    assert all(torch.equal(tensor, half[name]) for name, tensor in written.items())
    model = Checkpoint.load(INIT).model(BertForMaskedLM, 0)
    assert all(tensor.dtype == torch.float32 for tensor in model.parameters())


def test_a_decoder_of_its_own_is_named(project: Path) -> None:
    odd = {**state(), DECODER: state()[EMBEDDINGS] + 1}
    said = brought(str(save_source(project / "source", odd)))
    assert f"notice: {DECODER} was left out: config.json ties it to the word embeddings, from which its values" in said
    assert "differ" not in brought(str(save_source(project / "as it should be")), "--force")


@pytest.mark.parametrize("suffix", ["bin", "safetensors"])
def test_parts_become_one_file(project: Path, suffix: str) -> None:
    source = save_source(project / "source")
    (source / "pytorch_model.bin").unlink()
    stem = "pytorch_model" if suffix == "bin" else "model"
    names = sorted(state())
    table = {name: f"{stem}-0000{1 + number % 2}-of-00002.{suffix}" for number, name in enumerate(names)}
    for file in set(table.values()):
        part = {name: tensor for name, tensor in state().items() if table[name] == file}
        (torch.save if suffix == "bin" else save_file)(part, source / file)
    index = source / f"{stem}.{suffix}.index.json"
    index.write_text(json.dumps({"weight_map": table}))
    brought(str(source))
    assert same_encoder()
    assert same_head()
    (source / f"{stem}-00002-of-00002.{suffix}").unlink()
    assert (
        f"AB-137 {source}: {index.name} names {stem}-00002-of-00002.{suffix}, which is missing"
        in run(str(source)).output
    )
    index.write_text(json.dumps({"weight_map": {"a": f"../x.{suffix}"}}))
    assert f"AB-122 {index}: names no files of weights (*.{suffix})" in run(str(source)).output


def test_safetensors_are_copied(project: Path) -> None:
    source = save_source(project / "source")
    save_file(with_other_heads(of_2019(state())), source / "model.safetensors")
    said = brought(str(source))
    assert (INIT / "model.safetensors").read_bytes() == (source / "model.safetensors").read_bytes()
    assert "files left out: pytorch_model.bin\n" in said
    assert "in the weights but not used: classifier.bias, classifier.weight\n" in said
    assert "with masked-LM head, pooler, next-sentence head\n" in said
    assert same_encoder()


def test_a_rung_of_this_project_keeps_its_card(project: Path) -> None:
    tiny.pretrained(project / "models/domain")
    shutil.move(project / "models/domain", project / "rung")
    brought("rung")
    assert Checkpoint.load(INIT).digest == Checkpoint.load(project / "rung").digest
    assert Checkpoint.load(INIT).name == "pretrain"


def test_an_archive_of_2019(project: Path) -> None:
    """HFL's: bert_config.json, in which no kind of model is named."""
    source = save_source(project / "source", of_2019(tied(state())), legacy=True)
    config = {name: value for name, value in read_json(source / "config.json").items() if name != "model_type"}
    (source / "config.json").unlink()
    (source / "bert_config.json").write_text(json.dumps({**config, "architectures": None}))
    note = "bert_config.json names no model_type: bert was added, because the weights have the shapes of a BERT"
    assert f"notice: {note}\n" in brought(str(source))
    assert same_encoder()


def test_tensors_that_share_memory(project: Path) -> None:
    """Safetensors stores each apart."""
    weights = state()
    layers = [f"bert.encoder.layer.{number}.output.dense.bias" for number in range(2)]
    weights[layers[1]] = weights[layers[0]]
    several = torch.stack([weights[name] for name in sorted(weights) if name.endswith("query.bias")])
    for number in range(2):
        weights[f"bert.encoder.layer.{number}.attention.self.query.bias"] = several[number]
    brought(str(save_source(project / "source", weights)))
    written = load_file(INIT / "model.safetensors")
    assert weights.keys() - written.keys() == {"cls.predictions.decoder.bias"}
    assert all(torch.equal(written[name], weights[name]) for name in written)


def test_whoever_may_read_the_config_may_read_the_weights(project: Path) -> None:
    brought(str(save_source(project / "source")))
    assert (INIT / "model.safetensors").stat().st_mode == (INIT / "config.json").stat().st_mode


# ---- the tokenizer


def test_check_and_the_stages_read_one_tokenizer(project: Path) -> None:
    """`check` reads tokenizer.json, the stage `tokenizer` hands on what it loads, and `pretrain` compares."""
    brought(str(save_source(project / "source")))
    loaded = Tokenizer.load(INIT)
    loaded.save(project / "tokenizer")
    assert Tokenizer.load(project / "tokenizer").fingerprint == loaded.fingerprint == tiny.tokenizer().fingerprint
    known = tokenizers.Tokenizer.from_file(str(INIT / "tokenizer.json"))
    for text in tiny.sentences("general", 50):
        ids = known.encode(text, add_special_tokens=False).ids
        assert ids == loaded.encode([text])[0].ids


def cased(folder: Path) -> None:
    """Exchange the tokenizer for one with capitals, in tokenizer.json alone."""
    (folder / "vocab.txt").unlink()
    tiny.tokenizer(lowercase=False).save(folder)
    (folder / "tokenizer_config.json").unlink()


def test_rules_of_tokenizer_json_hold(project: Path) -> None:
    """transformers would lower-case: it reads the rules of tokenizer_config.json only."""
    source = save_source(project / "source")
    cased(source)
    assert Tokenizer.load(source).fingerprint != tiny.tokenizer(lowercase=False).fingerprint
    said = brought(str(source))
    assert "notice: assumed: Latin letters are kept as they are (tokenizer.json says so)." in said
    assert Tokenizer.load(INIT).fingerprint == tiny.tokenizer(lowercase=False).fingerprint


def test_a_vocabulary_of_capitals_keeps_them(project: Path) -> None:
    source = save_source(project / "source")
    tokens = tiny.tokenizer().tokens
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    (source / "vocab.txt").write_text("\n".join([*tokens[: -len(letters)], *letters]) + "\n", encoding="utf-8")
    said = brought(str(source))
    assert "kept as they are (no file says so; the vocabulary has 26 of the 26 capital letters)" in said
    assert Tokenizer.load(INIT).backend.normalizer.normalize_str("A") == "A"


@pytest.mark.parametrize("lowercase", [True, False])
def test_what_the_source_says_is_not_changed(project: Path, lowercase: bool) -> None:
    source = save_source(project / "source")
    text = json.dumps({"do_lower_case": lowercase})
    (source / "tokenizer_config.json").write_text(text)
    said = brought(str(source))
    assert (INIT / "tokenizer_config.json").read_text() == text
    assert "assumed" not in said
    assert ("words with capitals become [UNK]" in said) == (not lowercase)


# ---- what is there already


def test_the_same_again_changes_nothing(project: Path) -> None:
    source = save_source(project / "source")
    brought(str(source))
    times = {path.name: path.stat().st_mtime_ns for path in INIT.iterdir()}
    assert brought(str(source)).startswith("models/init: already there, nothing was written\n")
    assert {path.name: path.stat().st_mtime_ns for path in INIT.iterdir()} == times


def test_another_checkpoint_stays_until_it_is_forced_out(project: Path) -> None:
    brought(str(save_source(project / "one")))
    (INIT / "model.safetensors.dvc").write_text("record")
    before = {path.name: path.read_bytes() for path in INIT.iterdir()}
    other = save_source(project / "other", {name: tensor + 1 for name, tensor in state().items()})
    done = run(str(other))
    assert (done.exit_code, messages_in(done.output)) == (
        65,
        [
            "error: AB-202 models/init: holds another checkpoint (config.json, model.safetensors, tokenizer.json, "
            "tokenizer_config.json and more)\n  say --force to replace it, or choose another folder with --to"
        ],
    )
    assert {path.name: path.read_bytes() for path in INIT.iterdir()} == before
    said = brought(str(other), "--force")
    assert "DVC has records of the files of before (model.safetensors.dvc): run `dvc add` on the new ones" in said
    assert not same_encoder(pooler=False)
    assert (INIT / "README.md").read_text() == README
    assert (INIT / "model.safetensors.dvc").read_text() == "record"


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda: (INIT / "notes.txt").touch(), "error: AB-202 models/init: holds notes.txt, which is no file of a"),
        (lambda: (INIT / "old").mkdir(), "error: AB-202 models/init: holds old, which is no file of a checkpoint\n"),
        (lambda: (INIT / ".git").mkdir(), "error: AB-202 models/init: holds the folder .git\n  move it away"),
    ],
)
def test_files_of_others_are_never_replaced(project: Path, harm: Callable[[], object], words: str) -> None:
    harm()
    names = sorted(INIT.iterdir())
    done = run(str(save_source(project / "source")), "--force")
    assert done.exit_code == 65
    assert done.output.startswith(words)
    assert sorted(INIT.iterdir()) == names


def test_another_target(project: Path) -> None:
    said = brought(str(save_source(project / "source")), "--to", "elsewhere/bert")
    assert Checkpoint.load(Path("elsewhere/bert")).has_weights
    assert "the stages read models/init only: import with --to models/init to train with this checkpoint" in said
    assert "now run" not in said
    assert [path.name for path in INIT.iterdir()] == ["README.md"]


def test_a_linked_target_stays_a_link(project: Path) -> None:
    shutil.move(INIT, project / "disk")
    INIT.symlink_to(project / "disk")
    brought(str(save_source(project / "source")))
    assert INIT.is_symlink()
    assert (project / "disk/model.safetensors").is_file()


# ---- a model of the hub


REVISION = "0123456789abcdef0123456789abcdef01234567"
HUB = """
import json, sys
from pathlib import Path
from typer.testing import CliRunner
from adaptbert.cli import app
said = {}
for case, arguments in json.loads(sys.argv[1]).items():
    done = CliRunner().invoke(app, ["import", *arguments, "--to", f"models/{case}"])
    said[case] = [done.exit_code, done.output]
Path("said.json").write_text(json.dumps(said))
"""
CASES = {
    "main": ["acme/tiny-bert"],
    "commit": ["acme/tiny-bert", "--revision", REVISION],
    "branch": ["acme/tiny-bert", "--revision", "v2"],
    "typo": ["acme/typo"],
    "roberta": ["acme/roberta"],
    "no-weights": ["acme/no-weights"],
    "code": ["acme/code"],
}


def in_cache(cache: Path, name: str, source: Path) -> Path:
    """What a download of `acme/<name>` leaves behind: blobs, and a snapshot of links to them."""
    home = cache / f"models--acme--{name}"
    snapshot = home / "snapshots" / REVISION
    snapshot.mkdir(parents=True)
    (home / "refs").mkdir()
    (home / "refs/main").write_text(REVISION)
    (home / "blobs").mkdir()
    for number, file in enumerate(sorted(source.iterdir())):
        shutil.copy(file, home / f"blobs/{number}")
        (snapshot / file.name).symlink_to(f"../../blobs/{number}")
    return snapshot


def test_a_model_of_the_hub(project: Path, tmp_path: Path) -> None:
    home = tmp_path / "hub"
    source = save_source(tmp_path / "source")
    in_cache(home / "hub", "tiny-bert", source)
    (source / "pytorch_model.bin").unlink()
    in_cache(home / "hub", "no-weights", source)
    torch.save({"weights": Runs(project / "ran")}, source / "pytorch_model.bin")
    in_cache(home / "hub", "code", source)
    (source / "config.json").write_text(json.dumps({"model_type": "roberta"}))
    in_cache(home / "hub", "roberta", source)
    environment = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HUB, json.dumps(CASES)]
    subprocess.run(command, env=environment, check=True, timeout=200)
    said = read_json(Path("said.json"))
    for case in ("main", "commit"):
        assert said[case][0] == 0, said[case]
        assert said[case][1].startswith(f"acme/tiny-bert: commit {REVISION}\nmodels/{case}: config.json, model.safet")
        shutil.rmtree(INIT)
        shutil.move(f"models/{case}", INIT)
        assert same_encoder()
    place = "error: AB-128 acme/typo: no such folder here, and it cannot be loaded from the hub: "
    assert said["typo"][1].startswith(place)
    assert "HF_HUB_OFFLINE=1 allows only what was downloaded before" in said["typo"][1]
    assert said["branch"][1].startswith("error: AB-128 acme/tiny-bert: ")
    assert said["roberta"][1].startswith("error: AB-132 acme/roberta/config.json: a model of the kind roberta, ")
    assert said["no-weights"][1].startswith("error: AB-137 acme/no-weights: no weights of torch: neither ")
    assert said["code"][1].startswith("error: AB-201 acme/code/pytorch_model.bin: the pickle holds more than tensors")
    assert {case for case, (code, _) in said.items() if code == 65} == set(CASES) - {"main", "commit"}
    assert not Path("ran").exists()
    assert not [path.name for path in Path("models").iterdir() if path.name != "init"]


class Runs:
    """A pickle of it makes a file when Python's own unpickler opens it."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch '{self.file}'",)


# ---- the shape of bert-base-chinese


@pytest.mark.slow
def test_bert_base_chinese(project: Path) -> None:
    """Random weights in its real shape; the vocabulary has its size, and 5,000 Chinese characters."""
    shape = BertConfig(vocab_size=21128, hidden_size=768, num_hidden_layers=12, num_attention_heads=12)
    torch.manual_seed(1)
    model = BertForPreTraining(shape).eval()
    source = project / "bert-base-chinese"
    source.mkdir()
    shape.save_pretrained(str(source))
    config = read_json(source / "config.json")
    (source / "config.json").write_text(json.dumps({**config, "model_type": "bert", "directionality": "bidi"}))
    characters = [chr(0x4E00 + number) for number in range(5000)]
    tokens = ["[PAD]", *(f"[unused{n}]" for n in range(1, 100)), "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters]
    tokens += [f"##{number}" for number in range(21128 - len(tokens))]
    (source / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    weights = of_2019({**model.state_dict(), "bert.embeddings.position_ids": torch.arange(512)[None]})
    torch.save(weights, source / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    said = brought(str(source))
    assert "BERT with 12 layers of 768, 512 positions; 102,882,442 parameters, float32, 411.6 MB\n" in said
    ours = BertModel.from_pretrained(str(INIT)).eval()
    assert torch.equal(hidden(ours), hidden(model.bert))
    assert checkpoint.Checkpoint.load(INIT).tokenizer.size == 21128
