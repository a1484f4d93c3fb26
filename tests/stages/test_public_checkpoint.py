"""A ladder that starts from a public checkpoint: by its name on the hub, and from a folder; no step is spent on it.

The hub's stand-in is what a download leaves behind: a cache in Hugging Face's own layout, read with the hub offline.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from adaptbert.base.files import read_json

REVISION = "0123456789abcdef0123456789abcdef01234567"
CHANGES = {
    "tiny-bert": {},
    "wide-bert": {"hidden_size": 1_000_000_000},
    "odd-bert": {"intermediate_size": 65},
}
"""The checkpoints of the hub, all with the same weights, and what differs in their config.json."""

PARAMS = {
    "masking": {"unit": "token", "probability": 0.15, "mask_share": 0.8, "random_share": 0.1, "keep_share": 0.1},
    "optim": {
        "learning_rate": 1e-3,
        "weight_decay": 0.01,
        "warmup_fraction": 0.1,
        "betas": [0.9, 0.98],
        "epsilon": 1e-6,
        "clip_norm": 1.0,
    },
    "budget": {"tokens": 0},
    "global_batch_tokens": 256,
    "micro_batch_tokens": 256,
    "dropout": 0.0,
    "block_size": 64,
    "sentence_objective": "none",
    "head_warmup_steps": 0,
    "precision": "32-true",
    "measurements": 1,
}

CASES = {
    "revision": {"init": "acme/tiny-bert", "revision": REVISION},
    "branch": {"init": "acme/tiny-bert", "revision": "main"},
    "folder": {"init": "models/init/local"},
    "typo": {"init": "acme/typo", "revision": "main"},
    "wide": {"init": "acme/wide-bert", "revision": "main"},
    "odd": {"init": "acme/odd-bert", "revision": "main"},
}

SCRIPT = """
import json
import sys
from pathlib import Path
import torch
from transformers import BertConfig, BertForMaskedLM
from adaptbert.base.start import StartConfig
from adaptbert.errors import UserError
from adaptbert.pretraining.heldout_evaluation import MeasureConfig
from adaptbert.runtime.params.params_file import parse
from adaptbert.runtime.tracking.run import Run
from adaptbert.tokenization import corpus_writer
from adaptbert.tokenization.store.tokenizer import Tokenizer, VocabularyConfig
from adaptbert.training.resume import Work
from stages.pretrain import PretrainParams, pretrain

cache, revision = Path(sys.argv[1]), sys.argv[2]
changes, values, cases = map(json.loads, sys.argv[3:])

texts = [f"the {a} cat saw a {b} dog near the {c} house" for a in ("red", "old") for b in ("big", "sad")
         for c in ("blue", "tall", "wide")] * 4
tokenizer = Tokenizer.train(lambda: texts, VocabularyConfig(vocabulary_size=120, lowercase=True, min_frequency=1))
torch.manual_seed(0)
model = BertForMaskedLM(BertConfig(vocab_size=tokenizer.size, hidden_size=32, num_hidden_layers=1,
                                   num_attention_heads=2, intermediate_size=64, max_position_embeddings=64))
of_hub = {cache / f"models--acme--{name}/snapshots" / revision: change for name, change in changes.items()}
for folder, change in {**of_hub, Path("models/init/local"): {}}.items():
    folder.mkdir(parents=True)
    model.save_pretrained(str(folder))
    tokenizer.save(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
for name in changes:
    (cache / f"models--acme--{name}/refs").mkdir()
    (cache / f"models--acme--{name}/refs/main").write_text(revision)
rows = [(str(i), text) for i, text in enumerate(texts)]
corpus_writer.write(Path("data/text"), rows, tokenizer, 32)
corpus_writer.write(Path("data/heldout/general"), rows[:10], tokenizer, 32)
Path("data/tokenizer").mkdir()
tokenizer.save(Path("data/tokenizer"))

params = parse(PretrainParams, values, "pretrain", Path("params.yaml"))
for name, start in cases.items():
    weights = parse(StartConfig, start, "ladder.starts.local", Path("params.yaml"))
    here = Path(name)
    try:
        pretrain(params, start="local", weights=weights, seed=1,
                 measure=MeasureConfig(probability=0.15, max_tokens=1000, seed=0),
                 init=Path("models/init/local"), tokenizer=Path("data/tokenizer"), text=Path("data/text"),
                 heldout=Path("data/heldout"), scratch=here / "scratch", out=here / "pretrain",
                 metrics=here / "pretrain.json", work=Work(here / ".work", code=[]), run=Run())
    except UserError as error:
        here.mkdir(exist_ok=True)
        (here / "error.txt").write_text(str(error))
"""


@dataclass(frozen=True)
class Trained:
    """One process that has trained every case, in a project whose text was tokenised for the public checkpoint."""

    root: Path

    def error(self, case: str) -> str:
        return (self.root / case / "error.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    home, root = tmp_path_factory.mktemp("hub"), tmp_path_factory.mktemp("project")
    environment = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(Path.cwd())}
    values = map(json.dumps, (CHANGES, PARAMS, CASES))
    command = [sys.executable, "-c", SCRIPT, str(home / "hub"), REVISION, *values]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return Trained(root)


@pytest.mark.parametrize("case", ["revision", "branch", "folder"])
def test_a_public_checkpoint_is_the_general_rung_as_it_is(trained: Trained, case: str) -> None:
    before = load_file(trained.root / "models/init/local/model.safetensors")
    after = load_file(trained.root / case / "pretrain/model.safetensors")
    assert before.keys() == after.keys()
    assert all((before[name] == after[name]).all() for name in before)
    metrics = read_json(trained.root / case / "pretrain.json")
    assert metrics["tokens"] == metrics["steps"] == 0
    assert metrics["before"] == metrics["after"]
    assert not (trained.root / case / "scratch/model.safetensors").exists()
    assert read_json(trained.root / case / "scratch/config.json")["num_hidden_layers"] == 1


def test_a_name_that_is_not_there_is_one_clear_line(trained: Trained) -> None:
    assert trained.error("typo").startswith("AB-128 acme/typo: cannot be loaded from the hub")


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("wide", "AB-122 acme/wide-bert: hidden_size: "),
        ("odd", "AB-133 acme/odd-bert: weights and config.json disagree: bert.encoder.layer.0"),
    ],
)
def test_a_model_of_the_hub_is_held_as_a_folder_is(trained: Trained, case: str, words: str) -> None:
    assert trained.error(case).startswith(words)
    assert not (trained.root / case / "pretrain").exists()
