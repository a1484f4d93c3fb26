"""One rung of the ladder: masked-language modelling from a checkpoint on a corpus, measured before and after.

pretrain, domain_transfer and task_transfer are this operation with three sets of values. This module computes;
adaptbert.mlm.rung_outputs writes the results.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transformers import BertForMaskedLM, BertForPreTraining

from adaptbert.codes import Code
from adaptbert.config.schema.mlm import MlmStep
from adaptbert.config.schema.text import Measure
from adaptbert.errors import BadData
from adaptbert.mlm.batch_schedule import BatchSchedule
from adaptbert.mlm.heldout_evaluation import HeldOut, named, unnamed
from adaptbert.mlm.masked_lm import LOSS_NAME, PAIR_PARTS, MaskedLM
from adaptbert.mlm.sentence_evaluation import HeldOutPairs
from adaptbert.mlm.sentence_pairs import head_of
from adaptbert.mlm.untrained_head import is_near_chance, is_random
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.flops import training_flop
from adaptbert.model.precision import named_precision
from adaptbert.runtime.tracking.run import Run
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training import distributed
from adaptbert.training.loop import fit
from adaptbert.training.plan import Fitted, Plan
from adaptbert.training.resume import Work

Measures = dict[str, dict[str, float]]
"""Held-out text -> `mlm_loss`, `bits_per_char`, `masked_accuracy`."""

RANDOM_HEAD = (
    "the head of masked-language modelling in {name} was never trained: bits per character of this rung mean nothing,"
    " and no comparison with it does; set head_warmup_steps (some hundreds) to train the head alone first"
)


@dataclass(frozen=True)
class RungRun:
    """The inputs of a rung.

    Attributes:
        stage: the one that trains it.
        rung: its folder below models/.
        heldout: folders of the held-out sets that it is measured on while it is trained.
    """

    stage: str
    rung: str
    start: Checkpoint
    corpus: TokenizedCorpus
    params: MlmStep
    measure: Measure
    seed: int
    heldout: Sequence[Path]


@dataclass(frozen=True)
class TrainedRung:
    """The results of training a rung.

    Attributes:
        run: with the name of the precision that was used.
        model: has the head of masked-language modelling.
        parameters: of the model.
        steps: those of the budget, and of the warm-up of the head.
        row: tokens of a packed row, the mean over these steps.
        untrained_head: whether the head is still at chance level; None where it had been trained before.
    """

    run: RungRun
    model: Any
    parameters: int
    steps: int
    row: float
    fitted: Fitted
    before: Measures
    after: Measures
    untrained_head: bool | None

    @property
    def tokens(self) -> int:
        """As in params; the actual number differs a little, because documents are read whole."""
        return round(self.steps * self.run.params.global_batch_tokens)

    @property
    def tflop(self) -> float:
        """10^12 floating-point operations."""
        decoded = self.fitted.counts.get("chosen", 0)
        needed = decoded + self.fitted.counts.get("pairs", 0)
        return round(training_flop(self.model.config, self.tokens, self.row, needed, decoded) / 1e12, 3)


def train_rung(rung: RungRun, work: Work, run: Run) -> TrainedRung:
    """Train, resuming where an earlier process stopped.

    Raises:
        BadData: the corpus was made with another tokenizer, or its documents do not fit rows or positions.
    """
    _check(rung)
    start, tokenizer = rung.start, rung.start.tokenizer
    model, drawn = _model(rung)
    room = min(rung.params.block_size, model.config.max_position_embeddings)
    schedule = BatchSchedule.of(rung.corpus, rung.params, tokenizer, room, rung.seed)
    heldout = HeldOut(rung.heldout, rung.measure, tokenizer, rung.params.block_size)
    pairs = _heldout_pairs(rung, heldout, room)

    rung = _begin(rung, schedule, heldout, work)
    run.go_on(work.run)
    module = MaskedLM(model, rung.params, schedule.body_steps, rung.params.head_warmup_steps)
    precision = rung.params.precision
    before = heldout.measure(model, precision, _known(rung))
    began_untrained = start.has_weights and (
        start.has_random_head or (start.card is None and is_random(drawn, before, tokenizer.size))
    )
    run.log_metrics(named(before), step=0)
    _report_beginning(rung, schedule, began_untrained, run)

    def measure(_step: int) -> dict[str, float]:
        sentences = pairs.measure(model, precision) if pairs else {}
        return {**named(heldout.measure(model, precision)), **sentences}

    measure_at = dict.fromkeys(measured_steps(schedule.steps, rung.params.measurements), measure)
    fitted = fit(module, schedule.batches, _plan(rung, schedule), run, measure_at, work.savepoints())
    after = unnamed(fitted.curve[-1], heldout.sets) if fitted.curve else before
    return TrainedRung(
        run=rung,
        model=model,
        parameters=model.num_parameters(),
        steps=schedule.steps,
        row=schedule.row,
        fitted=fitted,
        before=before,
        after=after,
        untrained_head=(schedule.steps == 0 or is_near_chance(after, tokenizer.size)) if began_untrained else None,
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


def _check(rung: RungRun) -> None:
    """Refuse a corpus with another tokenizer or too long documents."""
    rung.start.check_tokenizer(rung.corpus.fingerprint, rung.corpus.texts[0]["name"])
    longest = int(rung.corpus.lengths.max())
    positions = rung.start.config().max_position_embeddings
    for limit, name in ((rung.params.block_size, "block_size"), (positions, "max_positions")):
        if longest > limit:
            problem = f"a document has {longest} tokens, {name} is {limit}"
            remedy = f"lower tokenize.max_length or raise {name}"
            raise BadData(Code.CONTRADICTION, f"params.yaml: {rung.stage}", problem, remedy)


def _known(rung: RungRun) -> Measures:
    """What the start was measured to be on these texts; one from elsewhere was measured on others of the same names."""
    return {} if rung.stage == "pretrain" else rung.start.measured


def _model(rung: RungRun) -> tuple[Any, frozenset[str]]:
    """The model, and the names of the weights that were drawn."""
    return rung.start.model_and_drawn(
        BertForPreTraining if head_of(rung.params.sentence_objective) else BertForMaskedLM,
        rung.seed,
        hidden_dropout_prob=rung.params.dropout,
        attention_probs_dropout_prob=rung.params.dropout,
    )


def _begin(rung: RungRun, schedule: BatchSchedule, heldout: HeldOut, work: Work) -> RungRun:
    """Find the unfinished run with the same key, or begin one; returns the rung with the precision of that run."""

    def key(precision: str) -> dict[str, Any]:
        return _resume_key(rung, precision, distributed.count(schedule.accumulate), heldout.digests)

    precision = named_precision(f"{rung.stage}.precision", rung.params.precision, lambda name: work.is_begun(key(name)))
    work.begin(key(precision))
    return replace(rung, params=rung.params.model_copy(update={"precision": precision}))


def _resume_key(rung: RungRun, precision: str, devices: int, heldout: Mapping[str, str]) -> dict[str, Any]:
    """Everything that decides the result except code and machine."""
    start = rung.start
    return {
        "params": {**rung.params.model_dump(), "precision": precision},
        "seed": rung.seed,
        "devices": devices,
        "measure": rung.measure.model_dump(),
        "init": [start.digest, start.tokenizer.fingerprint, start.base.fingerprint if start.base else None],
        "texts": [*rung.corpus.texts, len(rung.corpus.lengths), *rung.corpus.segmentation],
        "heldout": heldout,
    }


def _report_beginning(rung: RungRun, schedule: BatchSchedule, began_untrained: bool, run: Run) -> None:
    if began_untrained:
        print(f"  warning: {RANDOM_HEAD.format(name=rung.start.name)}")
    for text in rung.corpus.texts:
        run.log_input(str(text["name"]), str(text["digest"]), "training")
    run.set_tags({"rung": rung.rung, "init": rung.start.digest, "precision": rung.params.precision})
    batch = rung.params.global_batch_tokens
    print(f"{rung.rung}: {rung.corpus.tokens:,} tokens of text, {schedule.steps:,} steps of {batch:,} tokens")


def _heldout_pairs(rung: RungRun, heldout: HeldOut, room: int) -> HeldOutPairs | None:
    head = head_of(rung.params.sentence_objective)
    return HeldOutPairs(heldout, head, room) if head else None


def _plan(rung: RungRun, schedule: BatchSchedule) -> Plan:
    params = rung.params
    loss_name, parts = ("train/loss", PAIR_PARTS) if head_of(params.sentence_objective) else (LOSS_NAME, ())
    steps, accumulate, clip_norm = schedule.steps, schedule.accumulate, params.clip_norm
    return Plan(steps, accumulate, clip_norm, params.precision, rung.seed, loss_name, parts)
