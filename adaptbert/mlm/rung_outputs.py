"""The outputs of a trained rung: checkpoint and metrics as files, its figures in the tracking run, a summary line."""

from pathlib import Path

from adaptbert.core.files import write_json
from adaptbert.core.record import CurvePoint
from adaptbert.mlm.masking_audit import audit_metrics
from adaptbert.mlm.rung import Measures, TrainedRung
from adaptbert.mlm.rung_metrics import HeldOutMeasures, MaskingMetrics, RungMetrics, SentenceCounts, VocabularyGrowth
from adaptbert.model import checkpoint
from adaptbert.model.card import CARD, Card, Provenance
from adaptbert.runtime.tracking.run import Run
from adaptbert.training.resume import Work


def keep_rung(trained: TrainedRung, out: Path, metrics_file: Path, work: Work, run: Run) -> None:
    """Write the folder of the checkpoint and, last, the metrics file; log and report."""
    metrics = metrics_of(trained)
    trained.run.start.hand_on_pooler(trained.model)
    card = checkpoint.save(out, trained.model, trained.run.start.tokenizer, provenance_of(trained, metrics))
    if metrics.sentence:
        print(f"  {metrics.sentence.pairs:,} pairs, {metrics.sentence.unpaired:,} documents too short for one")
    write_json(metrics_file, metrics.as_json())
    work.finish(metrics_file)
    _log(metrics, card, run)
    run.log_artifact(out / CARD)
    run.log_artifact(metrics_file)
    bits = {name: (metrics.before[name].bits_per_char, after.bits_per_char) for name, after in metrics.after.items()}
    print("  bits per character: " + ", ".join(f"{name} {was:.3f} -> {now:.3f}" for name, (was, now) in bits.items()))


def metrics_of(trained: TrainedRung) -> RungMetrics:
    """The metrics file."""
    rung, counts, start = trained.run, trained.fitted.counts, trained.run.start
    params, sentence, vocabulary = rung.params, None, None
    if params.sentence_objective != "none":
        pairs, unpaired = counts.get("pairs", 0), counts.get("unpaired", 0)
        sentence = SentenceCounts(objective=params.sentence_objective, pairs=pairs, unpaired=unpaired)
    if start.base:
        new_tokens = start.tokenizer.size - start.base.size
        vocabulary = VocabularyGrowth(start=start.base.fingerprint, new_tokens=new_tokens)
    masking = {"unit": params.masking.unit, "probability": params.masking.probability, **audit_metrics(counts)}
    return RungMetrics(
        rung=rung.rung,
        start=start.name,
        tokens=trained.tokens,
        steps=trained.steps,
        tflop=trained.tflop,
        parameters=trained.parameters,
        sentence=sentence,
        vocabulary=vocabulary,
        random_head=trained.untrained_head,
        before=_typed(trained.before),
        after=_typed(trained.after),
        curve=[CurvePoint.model_validate(point) for point in trained.fitted.curve],
        masking=MaskingMetrics.model_validate(masking),
    )


def provenance_of(trained: TrainedRung, metrics: RungMetrics) -> Provenance:
    """The card without the digests of the other files."""
    rung, start = trained.run, trained.run.start
    read = [{**text, "trained_tokens": trained.tokens} for text in rung.corpus.texts] if trained.steps else []
    return Provenance(
        stage=rung.stage,
        rung=rung.rung,
        params={**rung.params.model_dump(), "seed": rung.seed},
        init=start.digest,
        texts=[*start.texts, *read],
        measured=trained.after,
        vocabulary=metrics.vocabulary.as_json() if metrics.vocabulary else None,
        random_head=trained.untrained_head,
    )


def _typed(measures: Measures) -> dict[str, HeldOutMeasures]:
    return {name: HeldOutMeasures.model_validate(values) for name, values in measures.items()}


def _log(metrics: RungMetrics, card: Card, run: Run) -> None:
    tags = {} if metrics.random_head is None else {"random_head": "yes" if metrics.random_head else "warmed up"}
    run.set_tags({**tags, "checkpoint": str(card.weights)})
    mask = {f"mask/{name}": value for name, value in metrics.masking.measures.items()}
    run.log_metrics({"cost/tokens": metrics.tokens, "cost/tflop": metrics.tflop, **mask})
