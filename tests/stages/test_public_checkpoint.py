"""A ladder that starts from a public checkpoint: by its name on the hub, and from a folder; no step is spent on it.

The hub's stand-in is what a download leaves behind: a cache in Hugging Face's own layout, read with the hub offline.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adaptbert.base.files import read_json
from tests.support.messages import messages_in

NAME, REVISION = "acme/tiny-bert", "0123456789abcdef0123456789abcdef01234567"

PREPARE = """
import sys
from pathlib import Path
import torch
from transformers import BertConfig, BertForMaskedLM
from adaptbert.tokenization import corpus_writer
from adaptbert.tokenization.store.tokenizer import Tokenizer, VocabularyConfig

cache, work = Path(sys.argv[1]), Path(sys.argv[2])
texts = [f"the {a} cat saw a {b} dog near the {c} house" for a in ("red", "old") for b in ("big", "sad")
         for c in ("blue", "tall", "wide")] * 4
tokenizer = Tokenizer.train(lambda: texts, VocabularyConfig(vocabulary_size=120, lowercase=True, min_frequency=1))
torch.manual_seed(0)
model = BertForMaskedLM(BertConfig(vocab_size=tokenizer.size, hidden_size=32, num_hidden_layers=1,
                                   num_attention_heads=2, intermediate_size=64, max_position_embeddings=64))
for folder in (cache, work / "models/local"):
    folder.mkdir(parents=True)
    model.save_pretrained(str(folder))
    tokenizer.save(folder)
rows = [(str(i), text) for i, text in enumerate(texts)]
corpus_writer.write(work / "data/text", rows, tokenizer, 32)
corpus_writer.write(work / "data/heldout/general", rows[:10], tokenizer, 32)
(work / "data/tokenizer").mkdir()
tokenizer.save(work / "data/tokenizer")
"""

TRAIN = """
import sys
from pathlib import Path
from adaptbert.pretraining.heldout_evaluation import MeasureConfig
from adaptbert.runtime.params.params_file import parse
from adaptbert.runtime.tracking.run import Run
from adaptbert.training.resume import Work
from stages.pretrain import PretrainParams, pretrain
import json

params = parse(PretrainParams, json.loads(sys.argv[1]), "pretrain", Path("params.yaml"))
pretrain(params, seed=1, measure=MeasureConfig(probability=0.15, max_tokens=1000, seed=0), init=Path("models/init"),
         tokenizer=Path("data/tokenizer"), text=Path("data/text"), heldout=Path("data/heldout"),
         scratch=Path("models/scratch"), out=Path("models/pretrain"), metrics=Path("metrics/pretrain.json"),
         work=Work(Path(".work"), code=[]), run=Run())
"""

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


def run(script: str, *arguments: str, cwd: Path, hub: Path) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "HF_HOME": str(hub), "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The cache, and a project whose text was tokenised with the tokenizer of the public checkpoint."""
    home, work = tmp_path_factory.mktemp("hub"), tmp_path_factory.mktemp("work")
    model = home / "hub" / "models--acme--tiny-bert"
    done = run(PREPARE, str(model / "snapshots" / REVISION), str(work), cwd=work, hub=home)
    assert done.returncode == 0, done.stderr
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(REVISION)
    return home, work


@pytest.mark.parametrize(("init", "revision"), [(NAME, REVISION), (NAME, "main"), ("models/local", None)])
def test_a_public_checkpoint_is_the_general_rung_as_it_is(
    hub: tuple[Path, Path], init: str, revision: str | None
) -> None:
    home, work = hub
    done = run(TRAIN, json.dumps({**PARAMS, "init": init, "revision": revision}), cwd=work, hub=home)
    assert done.returncode == 0, done.stderr
    from safetensors.numpy import load_file

    before = load_file(work / "models/local/model.safetensors")
    after = load_file(work / "models/pretrain/model.safetensors")
    assert before.keys() == after.keys()
    assert all((before[name] == after[name]).all() for name in before)
    metrics = read_json(work / "metrics/pretrain.json")
    assert metrics["tokens"] == metrics["steps"] == 0
    assert metrics["before"] == metrics["after"]
    assert not (work / "models/scratch/model.safetensors").exists()
    assert read_json(work / "models/scratch/config.json")["num_hidden_layers"] == 1


def test_a_name_that_is_not_there_is_one_clear_line(hub: tuple[Path, Path]) -> None:
    home, work = hub
    params = json.dumps({**PARAMS, "init": "acme/typo", "revision": "main"})
    done = run(TRAIN, params, cwd=work, hub=home)
    assert done.returncode == 1
    assert "AB-128 acme/typo: cannot be loaded from the hub" in messages_in(done.stderr)[-1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden_size": 1_000_000_000}, "AB-122 acme/tiny-bert: hidden_size: "),
        ({"intermediate_size": 65}, "AB-133 acme/tiny-bert: weights and config.json disagree: bert.encoder.layer.0"),
    ],
)
def test_a_model_of_the_hub_is_held_as_a_folder_is(
    hub: tuple[Path, Path], tmp_path: Path, changes: dict[str, int], words: str
) -> None:
    home, work = hub
    shutil.copytree(home, tmp_path / "hub")
    (config,) = (tmp_path / "hub").rglob(f"{REVISION}/config.json")
    config.write_text(json.dumps(read_json(config) | changes), encoding="utf-8")
    done = run(TRAIN, json.dumps({**PARAMS, "init": NAME, "revision": "main"}), cwd=work, hub=tmp_path / "hub")
    assert done.returncode == 1
    assert words in messages_in(done.stderr)[-1]
