"""A params.yaml of the schema before starts and arms had names, small, with all that the schema had."""

from pathlib import Path

import pytest

from adaptbert.runtime.params import params_file as params
from tests.support.imports import ROOT

_OF_RUNG = "weight_decay: 0.01, warmup_fraction: 0.06, betas: [0.9, 0.98], epsilon: 1.0e-6, clip_norm: 1.0"
_OF_TASK = "weight_decay: 0.01, warmup_fraction: 0.1, betas: [0.9, 0.999], epsilon: 1.0e-8, clip_norm: 1.0"

RUNG = f"""\
  masking: {{unit: token, probability: 0.3, mask_share: 0.8, random_share: 0.1, keep_share: 0.1}}
  optim: {{learning_rate: 1.0e-3, {_OF_RUNG}}}
  budget: {{tokens: 600_000}}    # what the rung costs
  global_batch_tokens: 1024
  micro_batch_tokens: 1024
  head_warmup_steps: 0
  dropout: 0.0                 # of hidden states
  block_size: 128
  sentence_objective: none
  precision: auto
  measurements: 4
"""

SETS = """\
collect:                       # unlabelled text
  general: {source: installed_docs, path: data/sources/general.txt}
  domain:
    source: installed_docs
    path: data/sources/domain.txt

collect_task:                  # labelled sets
  section:                     # one class a sentence
    source: installed_docs
    shape: single_sentence
    target: class
    train: data/sources/domain.txt
    dev: data/sources/domain.txt
    test: data/sources/domain.txt
    rows: {train: 1500, dev: 300, test: 1000}
  mention:
    source: installed_docs
    shape: sequence_labelling
    target: spans
    tag_scheme: bio
    train: data/sources/domain.txt
    dev: data/sources/domain.txt
    test: data/sources/domain.txt
    rows: {train: 3000, dev: 300, test: 1000}

validate: {min_characters: 2, max_characters: 200000, max_bad_fraction: 0.01}
"""

TRAINED = """\
tokenizer:
  source: train                # train | init (the tokenizer in models/init) | the name of a model on the hub
  corpora: [general, domain]   # text of the vocabulary
  vocabulary_size: 8000
  lowercase: true
  min_frequency: 2
"""

TOKENIZE = """\
tokenize:
  max_length: 128
  heldout_fraction: 0.02
  words:
    segmenter: none
    dictionary: data/sources/words.txt

measure: {probability: 0.15, max_tokens: 10000, seed: 0}
"""

SCRATCH = """\
pretrain:
  init: scratch                # scratch | models/init (a Hugging Face folder) | the name of a model on the hub
  revision: main               # of a model on the hub
  encoder: {layers: 2, hidden_size: 256, heads: 4, intermediate_size: 1_024, max_positions: 512}
"""

LADDER = """\
ladder:                        # rungs (checkpoints) and cells (task x arm) to train
  domain_transfer:
    - domain
    - general
  task_transfer:
    section-general: {task: section, from: pretrain}
    section-domain:  {task: section, from: domain_transfer/domain}
  finetune:                    # a comment of mine
    section-scratch:      {task: section, arm: scratch,      from: scratch}
    section-general:      {task: section, arm: general,      from: pretrain}
    section-general_long: {task: section, arm: general_long, from: domain_transfer/general}
    section-domain:       {task: section, arm: domain,       from: domain_transfer/domain}
    section-task:         {task: section, arm: task,         from: task_transfer/section-general}
    section-domain_task:  {task: section, arm: domain_task,  from: task_transfer/section-domain}
    mention-general:      {task: mention, arm: general,      from: pretrain}
    mention-domain:       {task: mention, arm: domain,       from: domain_transfer/domain}
"""

FINETUNE = f"""\
finetune:                      # one section per task; further options: docs/how-to/fine-tuning-options.md
  section:
    seeds: [1, 2, 3]
    labels: 600                # 0 = all
    epochs: 4
    optim: {{learning_rate: 4.0e-4, {_OF_TASK}}}
    global_batch_size: 32
    micro_batch_size: 32
    max_length: 128
    single_sentence: {{long_text: head}}  # the beginning
    block_size: 128
    dropout: 0.1
    precision: auto
    early_stopping: {{patience: 1}}
  mention:
    seeds: [1, 2, 3]
    labels: 0
    epochs: 6                  # more of them
    optim: {{learning_rate: 2.0e-4, {_OF_TASK}, layer_decay: 0.9}}
    global_batch_size: 32
    micro_batch_size: 32
    max_length: 128
    sequence_labelling: {{tag_scheme: bio, stride: 64}}
    block_size: 128
    dropout: 0.1
    precision: auto

compare: {{confidence: 0.95, baseline_seed: 1}}
"""


def text(ladder: str = LADDER, tokenizer: str = TRAINED, start: str = SCRATCH, finetune: str = FINETUNE) -> str:
    """The file, with other sections in place of these."""
    transfer = f"domain_transfer:\n{RUNG}  replay_fraction: 0.05\n\ntask_transfer:\n{RUNG}"
    parts = ["# What I compare.\n\nseed: 1                        # of all\n", ladder, SETS, tokenizer, TOKENIZE]
    return "\n".join([*parts, start + RUNG, transfer, finetune])


def place(root: Path, content: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with this params.yaml, in which the process stands."""
    for name in ("stages", "presets"):
        (root / name).symlink_to(ROOT / name)
    (root / "data").mkdir()
    (root / "data/sources").symlink_to(ROOT / "data/sources")
    (root / "params.yaml").write_text(content, encoding="utf-8")
    monkeypatch.chdir(root)
    return root


def loaded(content: str, folder: Path) -> dict[str, object]:
    """The values of a text."""
    (folder / "loaded.yaml").write_text(content, encoding="utf-8")
    return params.read(folder / "loaded.yaml")
