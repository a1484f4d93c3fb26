"""One rung of the ladder: masked-language modelling from a checkpoint on a corpus, measured before and after.

pretrain, domain_transfer and task_transfer are this operation with three sets of values.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transformers import BertForMaskedLM, BertForPreTraining

from adaptbert.codes import Code
from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.mlm import MlmStep
from adaptbert.config.schema.text import Measure
from adaptbert.core.files import atomic_write, write_json
from adaptbert.core.record import CurvePoint
from adaptbert.errors import BadData
from adaptbert.mlm.batch_schedule import BatchSchedule
from adaptbert.mlm.heldout_evaluation import HeldOut, named, unnamed
from adaptbert.mlm.masked_lm import LOSS_NAME, PAIR_PARTS, MaskedLM
from adaptbert.mlm.masking_audit import audit_metrics
from adaptbert.mlm.rung_metrics import HeldOutMeasures, MaskingMetrics, RungMetrics, SentenceCounts, VocabularyGrowth
from adaptbert.mlm.sentence_evaluation import HeldOutPairs
from adaptbert.model import checkpoint
from adaptbert.model.card import CARD, Provenance
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.flops import training_flop
from adaptbert.model.precision import named_precision
from adaptbert.runtime.mlflow import Run
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.training import ranks
from adaptbert.training.arguments import Fitted, TrainingArguments
from adaptbert.training.loop import fit
from adaptbert.training.resume import Work

Measures = dict[str, dict[str, float]]
"""Held-out text -> `mlm_loss`, `bits_per_char`, `masked_accuracy`."""

NEAR_CHANCE = 0.8
"""Of ln V, the loss of a random head: a head with a higher loss on every held-out text was never trained.

V is the size of the vocabulary. A model of token frequencies alone gives the entropy of single tokens: 0.66 to 0.70
ln V with BERT's vocabularies on encyclopaedic and biomedical English, mixed Chinese and Weibo posts.
"""
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
        steps: those of the budget, and of the warm-up of the head.
        row: tokens of a packed row, the mean over these steps.
        untrained_head: whether the head is still at chance level; None where it had been trained before.
    """

    run: RungRun
    model: Any
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


def make_rung(
    stage: str,
    start: Checkpoint,
    params: MlmStep,
    *,
    seed: int,
    measure: Measure,
    text: Path,
    heldout: Sequence[Path],
    out: Path,
    metrics: Path,
    work: Work,
    run: Run,
    replay: tuple[Path, float] | None = None,
) -> None:
    """The stages pretrain, domain_transfer and task_transfer: open the text, train, write the rung.

    Args:
        heldout: folders of the held-out sets that the rung is measured on while it is trained.
        replay: another text, and its share of the tokens.
    """
    corpus = TokenizedCorpus.load(text)
    if replay is not None and replay[0] != text:
        corpus = corpus.mixed_with(TokenizedCorpus.load(replay[0]), replay[1], seed)
    rung = RungRun(stage, f"{stage}/{out.name}", start, corpus, params, measure, seed, heldout)
    keep_rung(train_rung(rung, work, run), out, metrics, work, run)


@contextmanager
def opened_base(base: Base, tokenizer: Path, scratch: Path) -> Iterator[Checkpoint]:
    """Random weights or a public checkpoint, with the tokenizer of the ladder.

    Args:
        scratch: gets the architecture without weights, the rung of an arm that skips pre-training, when the block ends
            without an error.
    """
    vocabulary = Tokenizer.load(tokenizer)
    public = None
    if base.is_random:
        config = checkpoint.random_weights(base, vocabulary.size, vocabulary.pad)
    else:
        public = Checkpoint.of(base).extended(vocabulary, tokenizer)
        if public.base:
            sizes = f"{public.base.size:,} -> {public.tokenizer.size:,} tokens"
            print(f"vocabulary: {sizes}; the embeddings grow to match")
        vocabulary, config = public.tokenizer, public.config()
    untrained = Provenance(stage="pretrain", rung=f"scratch/{scratch.name}", params={}, init=None)
    with atomic_write(scratch) as part:
        checkpoint.save(part, config, vocabulary, untrained)
        yield public or Checkpoint.load(part)


def train_rung(rung: RungRun, work: Work, run: Run) -> TrainedRung:
    """Train, resuming where an earlier process stopped.

    Raises:
        BadData: the corpus was made with another tokenizer, or its documents do not fit rows or positions.
    """
    _check(rung)
    params, start, tokenizer = rung.params, rung.start, rung.start.tokenizer
    objective = params.sentence_objective
    model, drawn = start.model_and_drawn(
        BertForMaskedLM if objective == "none" else BertForPreTraining,
        rung.seed,
        hidden_dropout_prob=params.dropout,
        attention_probs_dropout_prob=params.dropout,
    )
    room = min(params.block_size, model.config.max_position_embeddings)
    schedule = BatchSchedule.of(rung.corpus, params, tokenizer, room, rung.seed)
    heldout = HeldOut(rung.heldout, rung.measure, tokenizer, params.block_size)
    pairs = None if objective == "none" else HeldOutPairs(heldout, objective, room)

    precision = _begin(rung, ranks.count(schedule.accumulate), heldout, work)
    rung = replace(rung, params=params.model_copy(update={"precision": precision}))
    run.go_on(work.run)
    module = MaskedLM(model, params, schedule.body_steps, params.head_warmup_steps)
    # What a start from elsewhere was measured to be is of other texts of the same names.
    before = heldout.measure(model, precision, {} if rung.stage == "pretrain" else start.measured)
    began_untrained = start.has_weights and (
        start.has_random_head or (start.card is None and is_random(drawn, before, tokenizer.size))
    )
    run.log_metrics(named(before), step=0)
    _report_beginning(rung, schedule, began_untrained, run)

    def measure(_step: int) -> dict[str, float]:
        sentences = pairs.measure(model, precision) if pairs else {}
        return {**named(heldout.measure(model, precision)), **sentences}

    loss_name, parts = (LOSS_NAME, ()) if objective == "none" else ("train/loss", PAIR_PARTS)
    plan = TrainingArguments(
        schedule.steps, schedule.accumulate, params.clip_norm, precision, rung.seed, loss_name, parts
    )
    measure_at = dict.fromkeys(measured_steps(schedule.steps, params.measurements), measure)
    fitted = fit(module, schedule.batches, plan, run, measure_at, work.savepoints())
    after = unnamed(fitted.curve[-1], heldout.sets) if fitted.curve else before
    untrained = (schedule.steps == 0 or is_random((), after, tokenizer.size)) if began_untrained else None
    return TrainedRung(rung, model, schedule.steps, schedule.row, fitted, before, after, untrained)


def is_random(drawn: Iterable[str], measured: Mapping[str, Mapping[str, float]], vocabulary: int) -> bool:
    """Whether the head of masked-language modelling was never trained: some public checkpoints come without it, or with
    a random one. Nothing fails then, but all measures are at chance level.

    Args:
        drawn: names of the weights that the checkpoint lacks.
        measured: `mlm_loss` in nats a token, by held-out text.
        vocabulary: number of tokens of the decoder.
    """
    is_near_chance = min(metrics["mlm_loss"] for metrics in measured.values()) > NEAR_CHANCE * math.log(vocabulary)
    return is_near_chance or any(name.startswith("cls.predictions.") for name in drawn)


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


def _begin(rung: RungRun, devices: int, heldout: HeldOut, work: Work) -> str:
    """Find the unfinished run with the same key, or begin one; the name of the precision of that run."""
    start = rung.start

    def key(precision: str) -> dict[str, Any]:
        """Everything that decides the result except code and machine."""
        return {
            "params": {**rung.params.model_dump(), "precision": precision},
            "seed": rung.seed,
            "devices": devices,
            "measure": rung.measure.model_dump(),
            "init": [start.digest, start.tokenizer.fingerprint, start.base.fingerprint if start.base else None],
            "texts": [*rung.corpus.texts, len(rung.corpus.lengths), *rung.corpus.segmentation],
            "heldout": heldout.digests,
        }

    precision = named_precision(f"{rung.stage}.precision", rung.params.precision, lambda name: work.is_begun(key(name)))
    work.begin(key(precision))
    return precision


def _report_beginning(rung: RungRun, schedule: BatchSchedule, began_untrained: bool, run: Run) -> None:
    if began_untrained:
        print(f"  warning: {RANDOM_HEAD.format(name=rung.start.name)}")
    for text in rung.corpus.texts:
        run.log_input(str(text["name"]), str(text["digest"]), "training")
    run.set_tags({"rung": rung.rung, "init": rung.start.digest, "precision": rung.params.precision})
    batch = rung.params.global_batch_tokens
    print(f"{rung.rung}: {rung.corpus.tokens:,} tokens of text, {schedule.steps:,} steps of {batch:,} tokens")


def keep_rung(trained: TrainedRung, out: Path, metrics_file: Path, work: Work, run: Run) -> None:
    """Write the folder of the checkpoint and, last, the metrics file; log and report."""
    rung, counts, start = trained.run, trained.fitted.counts, trained.run.start
    params, sentence, vocabulary = rung.params, None, None
    if params.sentence_objective != "none":
        pairs, unpaired = counts.get("pairs", 0), counts.get("unpaired", 0)
        sentence = SentenceCounts(objective=params.sentence_objective, pairs=pairs, unpaired=unpaired)
    if start.base:
        new_tokens = start.tokenizer.size - start.base.size
        vocabulary = VocabularyGrowth(start=start.base.fingerprint, new_tokens=new_tokens)
    before, after = (
        {name: HeldOutMeasures.model_validate(values) for name, values in measures.items()}
        for measures in (trained.before, trained.after)
    )
    mask = audit_metrics(counts)
    metrics = RungMetrics(
        rung=rung.rung,
        start=start.name,
        tokens=trained.tokens,
        steps=trained.steps,
        tflop=trained.tflop,
        parameters=trained.model.num_parameters(),
        sentence=sentence,
        vocabulary=vocabulary,
        random_head=trained.untrained_head,
        before=before,
        after=after,
        curve=[CurvePoint.model_validate(point) for point in trained.fitted.curve],
        masking=MaskingMetrics.model_validate(
            {"unit": params.masking.unit, "probability": params.masking.probability, **mask}
        ),
    )
    read = [{**text, "trained_tokens": trained.tokens} for text in rung.corpus.texts] if trained.steps else []
    provenance = Provenance(
        stage=rung.stage,
        rung=rung.rung,
        params={**params.model_dump(), "seed": rung.seed},
        init=start.digest,
        texts=[*start.texts, *read],
        measured=trained.after,
        vocabulary=vocabulary.as_json() if vocabulary else None,
        random_head=trained.untrained_head,
    )
    start.hand_on_pooler(trained.model)
    card = checkpoint.save(out, trained.model, start.tokenizer, provenance)
    if sentence:
        print(f"  {sentence.pairs:,} pairs, {sentence.unpaired:,} documents too short for one")
    write_json(metrics_file, metrics.as_json())
    work.finish(metrics_file)
    warmed = {None: {}, True: {"random_head": "yes"}, False: {"random_head": "warmed up"}}[trained.untrained_head]
    run.set_tags({**warmed, "checkpoint": str(card.weights)})
    masked = {f"mask/{name}": value for name, value in mask.items()}
    run.log_metrics({"cost/tokens": metrics.tokens, "cost/tflop": metrics.tflop, **masked})
    run.log_artifact(out / CARD)
    run.log_artifact(metrics_file)
    bits = [f"{name} {before[name].bits_per_char:.3f} -> {now.bits_per_char:.3f}" for name, now in after.items()]
    print("  bits per character: " + ", ".join(bits))
