"""Learning rates and batches that fit the width of a base with weights, and the length of a text: what `new` writes,
`import` prints, and the warnings about rates and steps compare with. Random weights have defaults of their own.
"""

from collections.abc import Mapping
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
NARROWEST = 128
"""Width of the narrowest encoder that was tried."""
NEAR = 1.5
"""A default that is right up to this factor stays."""
ENOUGH_STEPS = 200
"""Optimizer steps of a step of masked-language modelling, as far as small batches give as many."""
SMALLEST_BATCH = 1024
"""Tokens of the smallest batch, that of random weights."""
BATCHES = ("global_batch_tokens", "micro_batch_tokens")
RANDOM_TOKENS, FEWEST_RANDOM_TOKENS = 6_000_000, 1_000_000
"""Tokens of general pre-training of random weights: the usual, and the fewest. After 110,000 tokens 26 of 27
fine-tunings gave every row the same answer; after a million none did."""
HEAD_WARMUP_STEPS = 100
"""Steps for a head that was never trained: the loss of MiniLM's fell from 10.5 to 7.5 in 30 steps of 1,024 tokens."""
NARROW_WIDTH, NARROW = 256, {"learning_rate": 1e-3}
"""Fine-tuning of random weights that are narrower: 75 steps at the default taught nothing, these something."""


def factor(section: str, width: int | None) -> float:
    """Factor by which learning rates of a base with weights differ from the defaults: that of Adam goes with 1 / width
    (Yang et al. 2022, "Tensor Programs V", table 3).

    Fine-tuning of narrow encoders goes with its square: so were the rates that dev sets chose for widths of 128, 256
    and 384 (0.001, 0.0004, 0.0001). At 0.0002 a checkpoint of 128 had a span F1 of 8 after 251 steps, at 0.001 and
    twice the steps one of 33.

    Args:
        width: of its encoder; None: not known here.
    """
    times = USUAL_WIDTH / width if width else 1.0
    if max(times, 1 / times) <= NEAR:
        return 1.0
    return min(times, USUAL_WIDTH / NARROWEST) ** 2 if section == FINETUNE and times > 1 else times


def usual_rate(section: str, base: Base) -> float:
    """The default of a section, at the width of the base."""
    rate = float(SECTIONS[section][0].filled({}, random=base.is_random)["learning_rate"])
    return rate if base.is_random or (times := factor(section, width(base))) == 1 else float(f"{rate * times:.0e}")


def width(base: Base) -> int | None:
    """Width of the encoder of a base with weights, by its config.json, if that lies on this machine."""
    hidden = config(base).get("hidden_size")
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
    fitted: dict[str, dict[str, Any]] = {PRETRAIN: {}, **rates(base)}
    for step, amount in tokens.items():
        section: Any = SECTIONS[step][0]
        usual = _defaults(step)
        size = batch(section.usual_budget.trained["passes"] * amount, usual["global_batch_tokens"])
        fitted[step] |= {key: size for key in BATCHES if size < usual[key]}
    return fitted


def rates(base: Base) -> dict[str, dict[str, Any]]:
    """Section -> its learning rate, where that is not the default."""
    usual = {section: usual_rate(section, base) for section in FITTED}
    defaults = {section: _defaults(section)["learning_rate"] for section in FITTED}
    return {name: {"learning_rate": rate} if rate != defaults[name] else {} for name, rate in usual.items()}


def batch(tokens: float, usual: int) -> int:
    """Tokens an optimizer step, so that so many are enough steps: a power of two, or the default, which is the most."""
    size = SMALLEST_BATCH
    while 2 * size <= min(usual, tokens / ENOUGH_STEPS):
        size *= 2
    return min(size, usual)


def _defaults(section: str) -> dict[str, Any]:
    return SECTIONS[section][0].filled({}, random=False)
