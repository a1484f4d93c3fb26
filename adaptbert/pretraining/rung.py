"""One step up the ladder: masked-language modelling from a checkpoint on a corpus, measured before and after.

pretrain, domain_transfer and task_transfer are this operation with three sets of values.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptbert.base.files import write_json
from adaptbert.codes import Code
from adaptbert.model.precision import settle
from adaptbert.pretraining.heldout_evaluation import HeldOut, MeasureConfig, named, unnamed
from adaptbert.pretraining.masking_audit import audit_metrics
from adaptbert.pretraining.rung_config import RungConfig
from adaptbert.pretraining.sentence_pairs import head_of
from adaptbert.runtime.tracking.run import Run

if TYPE_CHECKING:
    from adaptbert.model.checkpoint import Checkpoint
    from adaptbert.tokenization.store.tokenized_corpus import TokenizedCorpus
    from adaptbert.training.resume import Work

RANDOM_HEAD = (
    "the head of masked-language modelling in {name} was never trained: bits per character of this rung mean nothing,"
    " and no comparison with it does; set head_warmup_steps (some hundreds) to train the head alone first"
)


@dataclass(frozen=True)
class Where:
    """Names and places of a rung.

    Attributes:
        stage: that trains it.
        rung: its folder below models/.
        heldout: folder of the held-out sets.
        out: the checkpoint to write.
        metrics: the JSON file to write.
    """

    stage: str
    rung: str
    heldout: Path
    out: Path
    metrics: Path


def climb(
    start: "Checkpoint",
    corpus: "TokenizedCorpus",
    params: RungConfig,
    measure: MeasureConfig,
    seed: int,
    where: Where,
    work: "Work",
    run: Run,
) -> None:
    """Train from `start` on `corpus`, from where an earlier process stopped; write the checkpoint and its metrics.

    Raises:
        BadData: the corpus was made with another tokenizer, or its documents do not fit rows or positions.
    """
    from transformers import BertForMaskedLM, BertForPreTraining

    from adaptbert.errors import BadData
    from adaptbert.model import checkpoint
    from adaptbert.model.architecture import parameters
    from adaptbert.model.card import CARD
    from adaptbert.model.flops import training_flop
    from adaptbert.pretraining.batch_schedule import Curriculum
    from adaptbert.pretraining.masked_lm import LOSS_NAME, PAIR_PARTS, MaskedLM
    from adaptbert.pretraining.sentence_evaluation import HeldOutPairs
    from adaptbert.pretraining.untrained_head import is_near_chance, is_random
    from adaptbert.training import distributed as ranks
    from adaptbert.training.loop import fit
    from adaptbert.training.plan import Plan

    start.check_tokenizer(corpus.fingerprint, corpus.texts[0]["name"])
    tokenizer = start.tokenizer
    head = head_of(params.sentence_objective)
    model, drawn = start.model_and_drawn(
        BertForPreTraining if head else BertForMaskedLM,
        seed,
        hidden_dropout_prob=params.dropout,
        attention_probs_dropout_prob=params.dropout,
    )
    longest = int(corpus.lengths.max())
    for limit, name in ((params.block_size, "block_size"), (model.config.max_position_embeddings, "max_positions")):
        if longest > limit:
            problem = f"a document has {longest} tokens, {name} is {limit}"
            remedy = f"lower tokenize.max_length or raise {name}"
            raise BadData(Code.CONTRADICTION, f"params.yaml: {where.stage}", problem, remedy)

    room = min(params.block_size, model.config.max_position_embeddings)
    curriculum = Curriculum.of(corpus, params, tokenizer, room, seed)
    steps, row = curriculum.steps, curriculum.row
    heldout = HeldOut(where.heldout, measure, tokenizer, params.block_size)
    heldout_pairs = HeldOutPairs(heldout, head, room) if head else None

    def key(precision: str) -> dict[str, Any]:
        return {
            "params": {**params.model_dump(), "precision": precision},
            "seed": seed,
            "devices": ranks.count(curriculum.accumulate),
            "measure": measure.model_dump(),
            "init": [start.digest, start.tokenizer.fingerprint, start.base.fingerprint if start.base else None],
            "texts": [*corpus.texts, len(corpus.lengths), *corpus.segmentation],
            "heldout": heldout.digests,
        }

    precision = settle(f"{where.stage}.precision", params.precision, lambda name: work.is_begun(key(name)))
    params = params.model_copy(update={"precision": precision})
    work.begin(key(precision))
    run.go_on(work.run)
    module = MaskedLM(model, params.optim, curriculum.body_steps, params.head_warmup_steps)
    before = start.measured or heldout.measure(model, params.precision)
    began_random = start.has_weights and (
        start.has_random_head or (not start.card and is_random(drawn, before, tokenizer.size))
    )
    if began_random:
        print(f"  warning: {RANDOM_HEAD.format(name=start.name)}")
    run.log_metrics(named(before), step=0)
    for text in corpus.texts:
        run.log_input(str(text["name"]), str(text["digest"]), "training")
    run.set_tags({"rung": where.rung, "init": start.digest, "precision": precision})
    print(f"{where.rung}: {corpus.tokens:,} tokens of text, {steps:,} steps of {params.global_batch_tokens:,} tokens")

    def measure_now(step: int) -> Mapping[str, float]:
        sentences = heldout_pairs.measure(model, params.precision) if heldout_pairs else {}
        return {**named(heldout.measure(model, params.precision)), **sentences}

    points = measured_steps(steps, params.measurements)

    def flop(counts: Mapping[str, int]) -> float:
        return training_flop(model.config, counts["tokens"], row, counts["chosen"], counts["chosen"])

    names = ("train/loss", PAIR_PARTS) if head else (LOSS_NAME, ())
    plan = Plan(steps, curriculum.accumulate, params.optim.clip_norm, params.precision, seed, *names)
    fitted = fit(module, curriculum.batches, plan, run, dict.fromkeys(points, measure_now), work.savepoints(), flop)
    after = unnamed(fitted.curve[-1], heldout.sets) if fitted.curve else before

    tokens, decoded = round(steps * params.global_batch_tokens), fitted.counts.get("chosen", 0)
    needed = decoded + fitted.counts.get("pairs", 0)
    facts: dict[str, Any] = {
        "rung": where.rung,
        "from": start.name,
        "tokens": tokens,
        "steps": steps,
        "tflop": round(training_flop(model.config, tokens, row, needed, decoded) / 1e12, 3),
        "parameters": parameters(model),
    }
    still_random = began_random and (steps == 0 or is_near_chance(after, tokenizer.size))
    notes: dict[str, Any] = {}  # what is told only where it is so
    if start.base:
        notes["vocabulary"] = {"from": start.base.fingerprint, "new_tokens": tokenizer.size - start.base.size}
    if began_random:
        notes["random_head"] = still_random
        run.set_tags({"random_head": "yes" if still_random else "warmed up"})
    ledger = [*start.texts, *({**text, "trained_tokens": tokens} for text in corpus.texts)] if steps else start.texts
    start.hand_on_pooler(model)
    card = checkpoint.save(
        where.out,
        model,
        tokenizer,
        {
            "stage": where.stage,
            "rung": where.rung,
            "params": {**params.model_dump(), "seed": seed},
            "init": start.digest,
            "texts": ledger,
            "measured": after,
            **notes,
        },
    )
    if head:
        facts["sentence"] = {
            "objective": params.sentence_objective,
            **{name: fitted.counts.get(name, 0) for name in ("pairs", "unpaired")},
        }
        print(f"  {facts['sentence']['pairs']:,} pairs, {facts['sentence']['unpaired']:,} documents too short for one")
    audit = audit_metrics(fitted.counts)
    masking = {"unit": params.masking.unit, "probability": params.masking.probability, **audit}
    measures = {"before": before, "after": after, "curve": fitted.curve, "masking": masking}
    write_json(where.metrics, {**facts, **notes, **measures})
    work.finish(where.metrics)
    run.set_tags({"checkpoint": str(card["weights"])})
    run.log_metrics({"cost/tokens": tokens, "cost/tflop": facts["tflop"], **{f"mask/{k}": v for k, v in audit.items()}})
    run.log_artifact(where.out / CARD)
    run.log_artifact(where.metrics)
    print(
        "  bits per character: "
        + ", ".join(f"{t} {before[t]['bits_per_char']:.3f} -> {after[t]['bits_per_char']:.3f}" for t in after)
    )


def measured_steps(steps: int, count: int) -> list[int]:
    """At most `count` steps that grow by a constant factor up to the last one, from a tenth of the run on."""
    if steps == 0:
        return []
    if count == 1:
        return [steps]
    first = math.log(max(1.0, steps / 10))
    last = math.log(steps)
    return sorted({round(math.exp(first + (last - first) * i / (count - 1))) for i in range(count)})
