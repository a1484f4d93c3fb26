"""The figures of `adaptbert probe` as tables of a terminal: a row for each rung, a column for each layer."""

from collections.abc import Iterator, Mapping

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from adaptbert.project.probes.making import CKA, FIRST, MEAN, STATIC, Probes
from adaptbert.project.probes.measures import by_chance


def show(probes: Probes, console: Console) -> None:
    """Print all of it."""
    for part in _parts(probes):
        console.print(part, highlight=False)


def _parts(probes: Probes) -> Iterator[RenderableType]:
    for task, metric in probes.metrics.items():
        yield _scores(probes, task, metric)
        if any(figure.kind == CKA and figure.task == task for figure in probes.figures):
            yield _layers(probes, task, CKA, f"{task}: likeness to the rung below, linear CKA of mean vectors", 1.0)
    if probes.pairs:
        kinds = {
            "mrr": "as they are",
            "mrr_centred": "without the mean of each language",
            "mrr_shifted": "the first language moved by the difference of the means",
        }
        for kind, how in kinds.items():
            title = f"Translations of {probes.pairs:,} pairs, mean reciprocal rank x 100, vectors {how}"
            yield _layers(probes, "", kind, f"{title} (by chance {100 * by_chance(probes.pairs):.1f})", 100.0)
    yield _note(probes)


def _scores(probes: Probes, task: str, metric: str) -> Table:
    title = f"{task}: frozen probes on the dev split, {metric} x 100, of mean vectors by layer"
    first, static = _of(probes, task, FIRST), _of(probes, task, STATIC)
    last = max(layer for _, layer in first)
    columns = {"static": _column(static, -1), **_by_layer(probes, task, MEAN), f"[CLS] {last}": _column(first, last)}
    return _table(title, columns, 100.0)


def _layers(probes: Probes, task: str, kind: str, title: str, times: float) -> Table:
    static = _column(_of(probes, task, kind), -1)
    return _table(title, {**({"static": static} if static else {}), **_by_layer(probes, task, kind)}, times)


def _table(title: str, columns: Mapping[str, Mapping[str, float]], times: float) -> Table:
    """Columns of rung -> figure, for the rungs that the last of them has."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("rung", no_wrap=True)
    for name in columns:
        table.add_column(name.replace("[", r"\["), justify="right")
    digits = 3 if times == 1 else 1
    for rung in list(columns.values())[-1]:
        table.add_row(rung, *(f"{times * column[rung]:.{digits}f}" for column in columns.values()))
    return table


def _by_layer(probes: Probes, task: str, kind: str) -> dict[str, dict[str, float]]:
    values = _of(probes, task, kind)
    return {str(layer): _column(values, layer) for layer in sorted({layer for _, layer in values if layer >= 0})}


def _column(values: Mapping[tuple[str, int], float], layer: int) -> dict[str, float]:
    return {rung: value for (rung, own), value in values.items() if own == layer}


def _of(probes: Probes, task: str, kind: str) -> dict[tuple[str, int], float]:
    return {
        (figure.rung, figure.layer): figure.value
        for figure in probes.figures
        if figure.task == task and figure.kind == kind
    }


def _note(probes: Probes) -> str:
    lines = [
        "Layer 0 is the embeddings, static the word embeddings without position and context. scratch has random"
        " weights: what a probe finds there needs no pre-training. One draw of each rung and the labels of the first"
        " seed: these figures describe, and no interval belongs to them. Train and dev rows are read, the test split is"
        " not.",
        f"All figures: {', '.join(str(file) for file in probes.files.values())}",
    ]
    if probes.untrained:
        missing = ", ".join(probes.untrained)
        lines.append(f"Not below models/, so left out (`dvc checkout` brings back what was trained): {missing}")
    lines += [f"{task} has no probe: {reason}." for task, reason in probes.left_out.items()]
    return "\n".join(lines)
