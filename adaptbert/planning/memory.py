"""How much memory of a device a stage needs, by which the flow decides how many of them share one.

An estimate from params.yaml and the plan: no weights are loaded. It is to be above what is needed, because a stage for
which memory runs out ends, and one that waits costs minutes.

python -m adaptbert.planning.memory    prints `needs` as JSON
"""

import json
from typing import Any

from adaptbert.config import plan as planning
from adaptbert.config import recipe as recipes
from adaptbert.config.plan import FINETUNE, MEASURE, TRAINED
from adaptbert.config.recipe import Recipe
from adaptbert.mlm.heldout_evaluation import BATCH_TOKENS
from adaptbert.mlm.micro_batch import division, kept_bytes, micro_batch
from adaptbert.mlm.token_loss import SCORES
from adaptbert.model.classes import class_of, without_weights
from adaptbert.model.device import BF16, chosen
from adaptbert.planning import workload
from adaptbert.planning.price import model_config
from adaptbert.planning.workload import Training
from adaptbert.tasks import seed_run
from adaptbert.tasks.outputs import PREDICT_TOKENS

CONTEXT, MARGIN = 0.6 * 2**30, 1.25
"""Bytes that CUDA takes in each process; times all else, for gaps and for what an operation holds for a moment."""
WEIGHT, SCORE = 22, 16
"""Bytes of a weight: in float32 with its gradient, AdamW's two means and a copy of the best, and in bfloat16 for the
products; of a score over the vocabulary: the four copies of `SCORES`."""


def needs() -> dict[str, tuple[int, int]]:
    """Stage that calculates on a device -> the devices that it takes of those that are here; bytes of each."""
    recipe, plan = recipes.read(), planning.read()
    configs = {base: model_config(recipe, base) for base in recipe.bases}
    read = {base: (1, memory(config, 0, BATCH_TOKENS, BATCH_TOKENS)) for base, config in configs.items()}
    needed = {f"{step}@{key}": read[e.base] for step in (*TRAINED, MEASURE) for key, e in plan.table(step).items()}
    for each in workload.trainings(recipe, plan, workload.Amounts(recipe)):
        needed |= dict.fromkeys(each.stages, _of_training(configs[each.base], recipe, each))
    return needed


def _of_training(config: Any, recipe: Recipe, training: Training) -> tuple[int, int]:
    values, is_half = training.values, chosen(training.values.precision) == BF16
    if training.step != FINETUNE:
        batch = micro_batch(values, config)
        tokens = batch + values.block_size  # a document more than on average
        scored = tokens if values.causal_share else tokens * values.masking_rate
        return division(values, batch)[0], memory(config, tokens, BATCH_TOKENS, scored, is_half)
    options, length = recipe.tasks[training.text].spec.rows.options.model_fields, int(values.max_length)
    if training.amount is not None and (values.long_text == "windows" or "long_text" not in options):
        length = max(length, 3 * training.amount.long)  # windows overlap
    return seed_run.division(values)[0], memory(config, values.micro_batch_size * length, PREDICT_TOKENS, 0, is_half)


def memory(config: Any, tokens: int, read: int, scored: float, is_half: bool = False) -> int:
    """Bytes of one device for a model of this config.

    Args:
        tokens: of a forward pass that a backward pass follows.
        read: of one without, which holds what one layer computes.
        scored: tokens for each of which there is a score of every token of the vocabulary.
    """
    model = without_weights(config, class_of(config, "masked_lm"))
    weights, token = sum(each.numel() for each in model.parameters()), kept_bytes(config, is_half=is_half)
    if config.model_type != "bert":  # it may keep the scores of attention
        token += 10 * config.num_attention_heads * min(512, config.max_position_embeddings)
    kept = max(tokens * config.num_hidden_layers, read) * token
    return int(MARGIN * (WEIGHT * weights + kept + SCORE * min(scored * config.vocab_size, SCORES)) + CONTEXT)


if __name__ == "__main__":
    print(json.dumps(needs()))
