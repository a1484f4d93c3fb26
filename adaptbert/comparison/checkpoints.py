"""plan.json and the metrics of the steps before fine-tuning -> `Checkpoint`s."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from adaptbert.comparison.records import Checkpoint, Masks, Replicate
from adaptbert.config.plan import MEASURE, PRETRAIN, SCRATCH, Plan
from adaptbert.config.schema.bases import RANDOM, TRANSFERS, TrainedOn
from adaptbert.core.record import Cost
from adaptbert.mlm.records import CheckpointMeasures, HeldOutMeasures, StepMetrics

Bits = dict[str, float]
"""Held-out set -> bits per character."""


def read_checkpoints(plan: Plan, metrics: Path) -> dict[str, Checkpoint]:
    """Folder below models/ -> the checkpoint, with that one replicate; in the order of training."""
    replicates = {entry.replicate for step in TRANSFERS for entry in plan.table(step).values()}
    several_bases, several = len(plan.pretrain) > 1, len(replicates) > 1
    found, nothing = dict[str, Checkpoint](), Cost(tokens=0, tflop=0.0)

    def on_all_text(key: str) -> Bits:
        """Bits of planned checkpoints: the file of an arm that is gone may still lie there."""
        path = metrics / MEASURE / f"{key}.json"
        is_planned = key in plan.measure and path.is_file()
        return _bits(CheckpointMeasures.read(path).texts) if is_planned else {}

    for base in plan.pretrain:
        scratch, pretrain = (f"{step}/{base}" if several_bases else step for step in (SCRATCH, PRETRAIN))
        measured, random = _metrics(metrics / PRETRAIN / f"{base}.json"), Replicate(scratch, 0)
        public = measured.init if measured is not None and measured.init != f"{SCRATCH}/{base}" else None
        if measured is not None:  # before the first step: random weights, unless that began from others
            bits = on_all_text(f"{RANDOM}-{base}") | ({} if public else _bits(measured.before))
            random = Replicate(scratch, 0, nothing, nothing, bits, bits, [(0, bits)])
        found[f"{SCRATCH}/{base}"] = Checkpoint(scratch, SCRATCH, base, None, None, TrainedOn(is_random=True), [random])
        below = replace(random, after={}) if public else random  # a public checkpoint did not begin with these weights
        replicate = _trained(pretrain, 0, measured, on_all_text(base), below)
        found[f"{PRETRAIN}/{base}"] = Checkpoint(
            pretrain, PRETRAIN, base, None, public or scratch, TrainedOn(), [replicate], public is not None
        )
    for step in TRANSFERS:
        for key, entry in plan.table(step).items():
            begun = found[entry.checkpoint]
            trained_on = begun.trained_on.after(step, entry.corpus)
            path = f"{step}/{'-'.join(trained_on.path(entry.task))}"
            name = f"{path}-{entry.base}" if several_bases else path
            own = f"{name}-{entry.replicate}" if several else name
            measured = _metrics(metrics / step / f"{key}.json")
            replicate = _trained(own, entry.replicate, measured, on_all_text(key), begun.replicates[0])
            found[f"{step}/{key}"] = Checkpoint(
                name, path, entry.base, entry.task or None, begun.name, trained_on, [replicate]
            )
    return found


def together(checkpoints: Iterable[Checkpoint]) -> list[Checkpoint]:
    """The replicates of each together, in the order of the first."""
    by_name: dict[str, Checkpoint] = {}
    for each in checkpoints:
        there = by_name.get(each.name)
        by_name[each.name] = replace(there, replicates=[*there.replicates, *each.replicates]) if there else each
    return list(by_name.values())


def published(checkpoints: Mapping[str, Checkpoint]) -> set[str]:
    """The names of those that are public checkpoints as they were published, or stand on them."""
    bases = {each.base for each in checkpoints.values() if each.is_published}
    return {each.name for each in checkpoints.values() if each.base in bases and not each.trained_on.is_random}


def _trained(name: str, number: int, measured: StepMetrics | None, on_all_text: Bits, below: Replicate) -> Replicate:
    if measured is None:
        return Replicate(name, number)
    before, after = below.after | _bits(measured.before), on_all_text | _bits(measured.after)
    cost = Cost(tokens=measured.tokens, tflop=measured.tflop)
    masking = measured.masking
    return Replicate(
        name,
        number,
        cost=cost,
        total=None if below.total is None else Cost.total([below.total, cost]),
        before=before,
        after=after,
        curve=_curve(measured, before, after),
        masks=Masks(masking.probability, dict(masking.measures)) if masking.measures else None,
        random_head=bool(measured.random_head),
        documents=measured.documents or "packed",
        parameters=measured.parameters,
    )


def _curve(measured: StepMetrics, before: Bits, after: Bits) -> list[tuple[int, Bits]]:
    """Tokens and bits; between the first point and the last those of the texts that the step is measured on."""
    suffix = "/bits_per_char"
    curve = [(0, before)]
    for point in measured.curve:
        bits = {name.removesuffix(suffix): bits for name, bits in point.measures.items() if name.endswith(suffix)}
        curve.append((round(measured.tokens * point.step / max(1, measured.steps)), bits))
    if curve[-1][0] == measured.tokens:
        curve.pop()
    return [*curve, (measured.tokens, after)]


def _metrics(path: Path) -> StepMetrics | None:
    return StepMetrics.read(path) if path.is_file() else None


def _bits(measured: Mapping[str, HeldOutMeasures]) -> Bits:
    return {name: measures.bits_per_char for name, measures in measured.items()}
