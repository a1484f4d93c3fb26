"""plan.json and the metrics of rungs -> `Rung`s."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from adaptbert.comparison.rungs import Cost, Masks, Rung
from adaptbert.config.plan import DOMAIN_TRANSFER, MEASURE, PRETRAIN, RANDOM, SCRATCH, TASK_TRANSFER, Plan
from adaptbert.config.schema.bases import Climb
from adaptbert.mlm.records import CheckpointMeasures, HeldOutMeasures, MaskingMetrics, StepMetrics


def read_rungs(plan: Plan, cells: Path) -> dict[str, Rung]:
    """Folder below models/ -> the rung; every draw is one.

    Args:
        cells: folder of the metrics.
    """
    rungs: dict[str, Rung] = {}
    for folder, below in plan.parents().items():
        rungs[folder] = _rung(folder, plan, rungs[below] if below is not None else None, cells)
    return rungs


def public_checkpoints(plan: Plan, cells: Path) -> dict[str, str]:
    """Start -> the checkpoint that it began from, for those that did not begin with random weights."""
    began = {start: cells / PRETRAIN / f"{start}.json" for start in plan.pretrain}
    checkpoints = {start: StepMetrics.read(path).init for start, path in began.items() if path.is_file()}
    return {start: name for start, name in checkpoints.items() if name != f"{SCRATCH}/{start}"}


def on_checkpoints(plan: Plan, rungs: Mapping[str, Rung], cells: Path) -> set[str]:
    """The `group`s of rungs that are public checkpoints as they were published, or stand on them."""
    trained = {rung.start for rung in rungs.values() if rung.climb == Climb() and rung.tokens}
    published = public_checkpoints(plan, cells).keys() - trained
    return {rung.group for rung in rungs.values() if rung.start in published and not rung.climb.is_random}


def _rung(folder: str, plan: Plan, below: Rung | None, cells: Path) -> Rung:
    stage, _, key = folder.partition("/")
    path = cells / PRETRAIN / f"{key}.json" if stage == SCRATCH else cells / f"{folder}.json"
    start, task, draw = key, None, 0
    if stage == DOMAIN_TRANSFER:
        start, draw = plan.domain_transfer[key].base, plan.domain_transfer[key].replicate
    elif stage == TASK_TRANSFER:
        of_task = plan.task_transfer[key]
        start, task, draw = of_task.base, of_task.task, of_task.replicate
    name = plan.shown()[folder]
    group = name.removesuffix(f"-{draw}")  # no other part of a name is a number
    rung = Rung(
        name=name,
        group=group,
        path=group.removesuffix(f"/{start}").removesuffix(f"-{start}"),
        start=start,
        task=task,
        draw=draw,
        below=below.group if below is not None else None,
        climb=plan.climb(folder),
        missing=True,
        tokens=0,
        tflop=0.0,
        total=None,
        before={},
        after={},
        curve=[],
    )
    if not path.is_file():
        return rung
    on_all_text = _on_all_text(cells / MEASURE / f"{f'{RANDOM}-{key}' if stage == SCRATCH else key}.json")
    return _measured(rung, folder, StepMetrics.read(path), on_all_text, below)


def _on_all_text(path: Path) -> dict[str, float]:
    return _bits(CheckpointMeasures.read(path).texts) if path.is_file() else {}


def _measured(rung: Rung, folder: str, metrics: StepMetrics, on_all_text: dict[str, float], below: Rung | None) -> Rung:
    if below is None:
        # Random weights were measured before the first step of general pre-training, unless that began from others.
        bits = on_all_text | (_bits(metrics.before) if metrics.init == folder else {})
        return replace(rung, missing=False, total=Cost(0, 0.0), before=bits, after=bits, curve=[(0, bits)])
    if folder.startswith(f"{PRETRAIN}/") and metrics.init != f"{SCRATCH}/{rung.start}":
        rung = replace(rung, below=metrics.init)  # a public checkpoint, which is no rung
    spent, before = below.total, below.after | _bits(metrics.before)
    after = on_all_text | _bits(metrics.after)
    return replace(
        rung,
        missing=False,
        tokens=metrics.tokens,
        tflop=metrics.tflop,
        total=Cost(spent.tokens + metrics.tokens, spent.tflop + metrics.tflop) if spent is not None else None,
        before=before,
        after=after,
        curve=_curve(metrics, before, after),
        masks=_masks(metrics.masking),
        random_head=bool(metrics.random_head),
    )


def _curve(
    metrics: StepMetrics, before: dict[str, float], after: dict[str, float]
) -> list[tuple[int, dict[str, float]]]:
    """Tokens and bits; between the first point and the last those of the texts that the rung is measured on."""
    suffix = "/bits_per_char"
    curve = [(0, before)]
    for point in metrics.curve:
        bits = {name.removesuffix(suffix): bits for name, bits in point.measures.items() if name.endswith(suffix)}
        curve.append((round(metrics.tokens * point.step / max(1, metrics.steps)), bits))
    if curve[-1][0] == metrics.tokens:
        curve.pop()
    return [*curve, (metrics.tokens, after)]


def _masks(masking: MaskingMetrics) -> Masks | None:
    return Masks(masking.unit, masking.probability, masking.measures) if masking.measures else None


def _bits(measured: Mapping[str, HeldOutMeasures]) -> dict[str, float]:
    return {name: measures.bits_per_char for name, measures in measured.items()}
