"""The two recipes: a commit's own smoke preset, and one of four task types.

`SCHEMAS` is the only place that knows how params.yaml is written: one writer for each schema, and a commit gets the
first that accepts its preset.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

OWN = "data/own"
"""Where the tool puts the files of `tiny_sets`, from the root of a clone."""


class Schema(NamedTuple):
    """How one version of params.yaml is written.

    Attributes:
        fits: whether the document of a smoke preset is of this schema.
        four_types: turns it into the recipe of four task types.
        prepare: arguments of `adaptbert` after each change of params.yaml.
        plan: the file that `prepare` writes.
        places: of the values that `messages` makes wrong, as a path of keys, and of two checkpoints,
            as a path of folders.
    """

    fits: Callable[[Any], bool]
    four_types: Callable[[Any], None]
    prepare: list[list[str]]
    plan: str
    places: dict[str, tuple[str, ...]]


def load(path: Path) -> Any:
    """With its comments, so that a commit's own file is edited as a user would."""
    return _yaml().load(path.read_text(encoding="utf-8"))


def dump(document: Any, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        _yaml().dump(document, file)


def schema(document: Any) -> Schema:
    """Of a document.

    Raises:
        LookupError: none fits; `SCHEMAS` needs another writer.
    """
    fitting = [each for each in SCHEMAS if each.fits(document)]
    if not fitting:
        raise LookupError(
            "no schema of benchmarks/same_results/recipes.py fits this preset: SCHEMAS needs a writer for it"
        )
    return fitting[0]


def _yaml() -> YAML:
    yaml = YAML()
    yaml.width, yaml.preserve_quotes = 10_000, True
    return yaml


def _ladder_four_types(document: Any) -> None:
    """Of the schema with a section `ladder` and a block `all` in each step."""
    document["ladder"]["draws"] = 2
    document["ladder"]["starts"]["small"]["encoder"] = {
        "layers": 2,
        "hidden_size": 32,
        "heads": 2,
        "intermediate_size": 64,
        "max_positions": 64,
    }
    document["ladder"]["arms"] = {
        "scratch": {"pretrain": "none", "tasks": ["answers"]},
        "general": {"tasks": ["mood"]},
        "domain": {"domain_transfer": "domain"},
        "task": {"task_transfer": "own", "tasks": ["mood"]},
        "domain_task": {"domain_transfer": "domain", "task_transfer": "own", "tasks": ["mood"]},
    }
    document["collect"] = {
        "general": {"source": "files", "path": f"{OWN}/general.txt"},
        "domain": {"source": "files", "path": f"{OWN}/domain.jsonl", "columns": {"text": "body"}},
    }
    tasks: dict[str, tuple[str, dict[str, Any]]] = {
        "mood": (
            "csv",
            {"shape": "single_sentence", "target": "class", "columns": {"text": "comment", "label": "mood"}},
        ),
        "terms": ("conll", {"shape": "sequence_labelling", "target": "spans", "tag_scheme": "bio"}),
        "pairs": (
            "jsonl",
            {"shape": "sentence_pair", "target": "class", "columns": {"text_a": "a", "text_b": "b", "label": "same"}},
        ),
        "answers": (
            "json",
            {
                "shape": "extractive_answer",
                "target": "answer",
                "format": "squad",
                "no_answer": True,
                "columns": {"id": "id", "group": "title"},
            },
        ),
    }
    document["collect_task"] = {
        name: {
            "source": "files",
            **values,
            **{split: f"{OWN}/{name}.{split}.{suffix}" for split in ("train", "dev", "test")},
        }
        for name, (suffix, values) in tasks.items()
    }
    document["validate"] |= {"max_characters": 2000, "max_bad_fraction": 0.3}
    document["tokenizer"]["all"]["vocabulary_size"] = 500
    document["tokenize"]["all"] |= {"max_length": 48, "heldout_fraction": 0.1}
    document["measure"]["max_tokens"] = 1000
    usual = {"global_batch_tokens": 512, "micro_batch_tokens": 256, "block_size": 48, "precision": "32-true"}
    for step, changes in {
        "pretrain": {"budget": {"steps": 16}, "sentence_objective": "sop", "dropout": 0.1},
        "domain_transfer": {
            "budget": {"steps": 12},
            "replay_fraction": 0.1,
            "lengths": {"short_share": 0.5, "short_length": 24},
        },
        "task_transfer": {"budget": {"passes": 2}, "head_warmup_steps": 2, "sentence_objective": "nsp"},
    }.items():
        document[step]["all"] |= usual | changes
    document["pretrain"]["all"]["masking"]["unit"] = "word"
    document["domain_transfer"]["all"]["masking"] |= {"unit": "ngram", "ngram": {"longest": 3, "geometric": 0}}
    # Until c2d5c0e a cell said how spans are tagged and who searches; what it says here is all that is left since.
    said = "tag_scheme" in document["finetune"]["mention"]["sequence_labelling"]
    spans, sampler = ({"tag_scheme": "bio"}, {"sampler": "optuna"}) if said else ({}, {})
    document["finetune"] = {
        "all": document["finetune"]["all"]
        | {"seeds": [1, 2, 3], "labels": 48, "global_batch_size": 16, "micro_batch_size": 8, "max_length": 48}
        | {"block_size": 48, "precision": "32-true"},
        "mood": {
            "single_sentence": {"long_text": "head_tail"},
            "optim": {"layer_decay": 0.9},
            "r_drop": {"weight": 1.0},
            "class_weights": "balanced",
            "label_counts": [24],
        },
        "terms": {
            "sequence_labelling": {**spans, "stride": 24, "decoder": "crf"},
            "freeze": {"layers": 1, "embeddings": True},
        },
        "pairs": {
            "sentence_pair": {"long_text": "head"},
            "gradual_unfreezing": {"layers_per_epoch": 1},
            "search": {"learning_rate": [1.0e-4, 1.0e-3], "seeds": 1, "trials": 2, **sampler},
        },
        "answers": {
            "extractive_answer": {"max_question": 12, "stride": 16, "max_answer": 6},
            "early_stopping": {"patience": 1},
            "epochs": 3,
        },
    }
    document["compare"]["primary"] = ["task_transfer_after_domain"]


SCHEMAS = [
    Schema(
        fits=lambda document: "ladder" in document,
        four_types=_ladder_four_types,
        prepare=[["ladder"]],
        plan="ladder.yaml",
        places={
            "steps": ("pretrain", "all", "budget", "steps"),
            "learning_rate": ("pretrain", "all", "optim", "learning_rate"),
            "sentence_objective": ("pretrain", "all", "sentence_objective"),
            "unit": ("pretrain", "all", "masking", "unit"),
            "probability": ("pretrain", "all", "masking", "probability"),
            "mask_share": ("pretrain", "all", "masking", "mask_share"),
            "micro_batch": ("pretrain", "all", "micro_batch_tokens"),
            "vocabulary_size": ("tokenizer", "all", "vocabulary_size"),
            "vocabulary_sise": ("tokenizer", "all", "vocabulary_sise"),
            "tokeniser": ("tokeniser",),
            "heads": ("ladder", "starts", "small", "encoder", "heads"),
            "max_positions": ("ladder", "starts", "small", "encoder", "max_positions"),
            "freeze_pairs": ("finetune", "pairs", "freeze"),
            "pairs_options": ("finetune", "pairs", "sequence_labelling"),
            "seeds": ("finetune", "all", "seeds"),
            "train": ("collect_task", "mood", "train"),
            "columns": ("collect_task", "mood", "columns"),
            "answers_format": ("collect_task", "answers", "format"),
            "tag_scheme": ("collect_task", "terms", "tag_scheme"),
            "general_path": ("collect", "general", "path"),
            "primary": ("compare", "primary"),
            "confidence": ("compare", "confidence"),
            "arm_corpus": ("ladder", "arms", "domain", "domain_transfer"),
            "new_arm": ("ladder", "arms", "Own-Arm"),
            "other_arm": ("ladder", "arms", "other"),
            "fine_tuned": ("models", "finetune", "mood-general-small"),
            "pretrained": ("models", "pretrain", "small"),
        },
    )
]
