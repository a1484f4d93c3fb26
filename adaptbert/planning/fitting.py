"""Values that fit the width and the kind of a base with weights, and batches that fit the length of a text: what `new`
writes, `import` prints, and the warnings about rates and steps compare with. Random weights have defaults of their own.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptbert.config.plan import FINETUNE, PRETRAIN
from adaptbert.config.recipe import SECTIONS
from adaptbert.config.schema.bases import TRANSFERS, Base
from adaptbert.core.files import read_json

CONFIG = "config.json"
USUAL_WIDTH = 768
"""Width of BERT base, whose defaults those of a base with weights are (Devlin et al. 2019; Gururangan et al. 2020)."""
FITTED = (*TRANSFERS, FINETUNE)
"""The sections whose learning rate follows from the width."""
OF_KIND: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "modernbert": {
        **{step: {"masking": {"probability": 0.3}} for step in (PRETRAIN, *TRANSFERS)},
        FINETUNE: {"learning_rate": 8e-5},
    },
}
"""model_type -> section -> what its makers train with, where the default is another.

ModernBERT: the masking rate of all its phases (Warner et al. 2024, section 2.2.2), and the rate of their example of
fine-tuning (AnswerDotAI/ModernBERT, examples/finetune_modernbert_on_glue.ipynb). Their weight decay of 1e-5 is not
multiplied by the learning rate of 8e-4 (table 3), so that the default's 0.01 is about the same. DeBERTa base was
fine-tuned around the default (He et al. 2021, table 9), RoBERTa large somewhat below (Liu et al. 2019, table 10);
ELECTRA base at 1e-4 with rates that fall from layer to layer (google-research/electra), on average about the same.
"""
STABLE: Mapping[str, str] = {
    r"modernbert-(base|large)": "answerdotai/{name}-training-checkpoints, folder context-extension (Composer)",
    r"mmbert-base": "jhu-clsp/mmBERT-checkpoints, file mmbert-base/extension/mmbert-base-ext.pt (Composer)",
    r"mmbert-small": "jhu-clsp/mmBERT-checkpoints, folder mmbert-small/ext (Composer)",
    r"ettin-encoder-\w+": "the tags ext... of jhu-clsp/{name} (hf download --revision TAG)",
}
"""The name of a checkpoint whose learning rate was brought down to nearly 0 at the end of its training -> where its
makers publish that from before (AnswerDotAI/ModernBERT, issues 153 and 222; JHU-CLSP/mmBERT, issue 6; README of
JHU-CLSP/ettin-encoder-vs-decoder)."""
WIDTHS = ("hidden_size", "dim", "d_model", "emb_dim")
"""Names of the width in config.json: of most kinds, of DistilBERT, of Funnel, of XLM."""
NARROWEST = 128
"""Width of the narrowest encoder that was tried."""
NEAR = 1.5
"""A default that is right up to this factor stays."""
ENOUGH_STEPS = 200
"""Optimizer steps of a step of masked-language modelling, as far as small batches give as many."""
SMALLEST_BATCH = 1024
"""Tokens of the smallest batch, that of random weights."""
BATCH = "global_batch_tokens"
RANDOM_TOKENS, FEWEST_RANDOM_TOKENS = 6_000_000, 1_000_000
"""Tokens of general pre-training of random weights: the usual, and the fewest. After 110,000 tokens 26 of 27
fine-tunings gave every row the same answer; after a million none did."""
HEAD_WARMUP_STEPS = 100
"""Steps for a head that was never trained: the loss of MiniLM's fell from 10.5 to 7.5 in 30 steps of 1,024 tokens."""
HEAD_ALONE = {"head_warmup_steps": HEAD_WARMUP_STEPS, BATCH: SMALLEST_BATCH}
"""Values of general pre-training that trains nothing else."""
NARROW_WIDTH, NARROW = 256, {"learning_rate": 1e-3}
"""Fine-tuning of random weights that are narrower: 75 steps at the default taught nothing, these something."""


def factor(section: str, width: int | None) -> float:
    """Factor by which learning rates of a base with weights differ from the defaults: that of Adam goes with 1 / width
    (Yang et al. 2022, "Tensor Programs V", table 3), of an encoder of unknown width not at all.

    Fine-tuning of narrow encoders goes with its square: so were the rates that dev sets chose for widths of 128, 256
    and 384 (0.001, 0.0004, 0.0001). At 0.0002 a checkpoint of 128 had a span F1 of 8 after 251 steps, at 0.001 and
    twice the steps one of 33.
    """
    times = USUAL_WIDTH / width if width else 1.0
    if max(times, 1 / times) <= NEAR:
        return 1.0
    return min(times, USUAL_WIDTH / NARROWEST) ** 2 if section == FINETUNE and times > 1 else times


def usual_rate(section: str, base: Base) -> float:
    """The default of a section at the width of the base, or the rate of its makers where that is higher."""
    rate = float(defaults(section, random=base.is_random)["learning_rate"])
    if base.is_random:
        return rate
    times, own = factor(section, width(base)), _of_makers(section, base).get("learning_rate", 0.0)
    return max(rate if times == 1 else float(f"{rate * times:.0e}"), float(f"{own * min(1, times):.0e}"))


def width(base: Base) -> int | None:
    """Width of the encoder of a base with weights, by its config.json, if that lies on this machine."""
    read = config(base)
    hidden = next((read[name] for name in WIDTHS if name in read), None)
    return hidden if isinstance(hidden, int) and hidden > 0 else None


def config(base: Base) -> Mapping[str, Any]:
    """The config.json of a base with weights, if it lies on this machine; else nothing."""
    place: Any = base.checkpoint and Path(base.checkpoint, CONFIG)
    if place and not base.is_folder:
        from huggingface_hub import try_to_load_from_cache

        place = try_to_load_from_cache(str(base.checkpoint), CONFIG, revision=base.revision)
    try:
        read = read_json(Path(place)) if isinstance(place, str | Path) else None
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, Mapping) else {}  # no object: `adaptbert check` says so


def values(tokens: Mapping[str, float], base: Base) -> dict[str, dict[str, Any]]:
    """Step -> what `new` writes of it: a budget for random weights; for others the rate, and the batch for the text.

    Args:
        tokens: of the text of each step, as far as they are known.
        base: where its weights lie now.
    """
    if base.is_random:
        rates_of_narrow = {FINETUNE: NARROW} if (base.hidden_size or USUAL_WIDTH) < NARROW_WIDTH else {}
        return {PRETRAIN: {"tokens": RANDOM_TOKENS}, **{step: {} for step in FITTED}, **rates_of_narrow}
    fitted = of_base(base)
    for step, amount in tokens.items():
        usual = defaults(step)
        size = batch(usual["passes"] * amount, usual[BATCH])
        fitted[step] |= {BATCH: size} if size < usual[BATCH] else {}
    return fitted


def of_base(base: Base) -> dict[str, dict[str, Any]]:
    """Section -> the learning rate, masking and dropout that fit the base, where these are not the default."""
    fitted: dict[str, dict[str, Any]] = {}
    # ModernBERT's config.json leaves out the 0.1 behind its attention.
    shares = [value for key, value in config(base).items() if "dropout" in key and "classifier" not in key]
    dropout = {"dropout": 0.0} if shares and not any(shares) else {}
    for section in (PRETRAIN, *FITTED):
        of_makers = {key: value for key, value in _of_makers(section, base).items() if key != "learning_rate"}
        fitted[section] = {**of_makers, **dropout}
        if section in FITTED and (rate := usual_rate(section, base)) != defaults(section)["learning_rate"]:
            fitted[section] |= {"learning_rate": rate}
    return fitted


def decayed(name: str) -> Iterator[str]:
    """A notice of a checkpoint that is one of `STABLE` by its name, that of its folder or on the hub."""
    name = name.rpartition("/")[2]
    for known, place in STABLE.items():
        if re.fullmatch(known, name, re.IGNORECASE):
            yield (
                "notice: its learning rate was brought down to nearly 0; long training on much text goes on better "
                "from before that, by schedule: wsd and warmup_fraction: 0. Its makers publish that as "
                f"{place.format(name=name)}; the state of the optimizer is not taken over"
            )


def _of_makers(section: str, base: Base) -> Mapping[str, Any]:
    return OF_KIND.get(str(config(base).get("model_type")), {}).get(section, {})


def batch(tokens: float, usual: int) -> int:
    """Tokens an optimizer step, so that so many are enough steps: a power of two, or the default, which is the most."""
    size = SMALLEST_BATCH
    while 2 * size <= min(usual, tokens / ENOUGH_STEPS):
        size *= 2
    return min(size, usual)


def defaults(section: str, *, random: bool = False) -> dict[str, Any]:
    """What a section has where nothing of it is written: for random weights, or for those of a checkpoint."""
    return SECTIONS[section].cls.filled({}, random=random)
