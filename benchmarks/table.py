"""benchmarks/results/*.json -> the tables of docs/benchmarks.md, so that no figure is typed by hand.

    python -m benchmarks.table          # print them

`python -m tests.documents` writes them into the document.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from adaptbert.base.files import read_json

RESULTS = Path(__file__).parent / "results"
Kept = dict[str, Any]


def speeds(unit: str) -> Callable[[Kept], str]:
    """Ratios of ours to each peer: median (lowest to highest) of the rounds."""

    def rendered(kept: Kept) -> str:
        first = next(iter(kept["settings"].values()))
        peers = list(first[f"ratio_{unit}"])
        extras = {
            "share of peak": lambda found: f"{found['share_of_peak']:.0%}",
            "GiB, ours and peers": lambda found: ", ".join(map(str, found["device_gib"].values())),
        }
        there = {"share of peak": "share_of_peak" in first, "GiB, ours and peers": "device_gib" in first}
        shown = [name for name in extras if there[name]]
        clocks = [(peer, clock) for peer in peers for clock in ("wall", "cpu")]
        head = ["setting", f"{unit} a second, ours", *(f"x {peer}, {clock}" for peer, clock in clocks), *shown]
        rows = [
            [
                name,
                f"{found[f'{unit}_per_second']['ours']:,}",
                *(_spread(found[f"ratio_{unit}"][peer][clock]) for peer, clock in clocks),
                *(extras[extra](found) for extra in shown),
            ]
            for name, found in kept["settings"].items()
        ]
        rounds = f"{kept['rounds']} interleaved rounds: median (lowest to highest)."
        return f"{_markdown(head, rows)}\n\n{rounds}"

    return rendered


def profile(kept: Kept) -> str:
    """Shares of a step, a column a setting."""
    settings = kept["settings"]
    kinds = next(iter(settings.values()))["share"]
    rows = [[kind, *(f"{found['share'][kind]:.1%}" for found in settings.values())] for kind in kinds]
    rows.append(["milliseconds a step", *(f"{found['milliseconds_per_step']:g}" for found in settings.values())])
    return _markdown(["part of a step", *settings], rows)


def quality(kept: Kept) -> str:
    """Held-out loss at equal tokens and time to the same loss, a row a peer."""
    rows = []
    for peer, found in kept["comparison"].items():
        interval = found["difference"]
        between = "-" if interval["low"] is None else f"{interval['low']:+.4f} to {interval['high']:+.4f}"
        losses = [f"{found['loss_ours']:.4f}", f"{found['loss_peer']:.4f}", f"{interval['mean']:+.4f}"]
        rows.append([peer, *losses, between, _spread(found["time_to_same_loss"])])
    shape, corpus = kept["setting"], kept["corpus"]
    about = (
        f"{kept['seeds']} seeds, {kept['steps']} steps of {shape['documents']} documents; {shape['layers']} layers of"
        f" {shape['hidden']}, vocabulary {shape['vocabulary']:,}; text: {kept['text']}, {corpus['tokens']:,} tokens."
    )
    head = ["peer", "loss, ours", "loss, peer", "difference", "95 % interval", "x faster to the same loss"]
    return f"{_markdown(head, rows)}\n\n{about}"


def tokenising(kept: Kept) -> str:
    """Stock over ours in time and bytes, ours over stock in the speed of masking."""
    rows = [[f"tokenising, {what}", _spread(ratio)] for what, ratio in kept["tokenising"]["stock to ours"].items()]
    rows += [[f"masking by {unit}", _spread(found["ours to stock"])] for unit, found in kept["masking"].items()]
    about = f"{kept['lines']:,} lines, {kept['processes']} processes, {kept['rounds']} interleaved rounds."
    return f"{_markdown(['what', 'times less or faster than stock'], rows)}\n\n{about}"


def scale(kept: Kept) -> str:
    """Seconds a line and memory, a row a number of lines."""
    rows = [
        [
            f"{int(lines):,}",
            f"{found['tokenise']['seconds']:.1f}",
            f"{found['microseconds_per_line']:.1f}",
            str(found.get("growth", "")),
            *(f"{found[step]['peak_resident_mb']:.0f}" for step in ("tokenise", "read")),
        ]
        for lines, found in kept["lines"].items()
    ]
    head = ["lines", "tokenising, s", "microseconds a line", "growth", "peak MB, tokenising", "peak MB, reading"]
    return _markdown(head, rows)


def real_sets(kept: Kept) -> str:
    """Scores on the test split beside what they are held against, a row a set and metric."""
    rows = []
    for name, found in kept["sets"].items():
        trained = [f"{found['labels']:,}", f"{found['epochs']:g}", f"{found['learning_rate']:.0e}", f"{found['batch']}"]
        for metric, mark in found["marks"].items():
            scores = [seed[f"test/{metric}"] for seed in found["seeds"]]
            score = f"**{fmean(scores):.3f}**"
            if len(scores) > 1:
                score += f" ({min(scores):.3f} to {max(scores):.3f})"
            floor = f"{mark['floor']:.3f} {mark['simple']}"
            goal = "-" if mark["goal"] is None else f"{mark['goal']:.2f}"
            rows.append([name, metric, score, floor, goal, *trained, f"{len(scores)}", f"{found['seconds']:,}"])
    head = ["set", "metric", "score", "floor", "goal", "labels", "epochs", "rate", "batch", "seeds", "seconds"]
    return f"{_markdown(head, rows)}\n\nThe mean of the seeds (lowest to highest); seconds of all seeds together."


# A new benchmark gets a line here.
TABLES: dict[str, tuple[str, Callable[[Kept], str]]] = {
    "masked_lm": ("Masked LM", speeds("tokens")),
    "masked_lm-profile": ("Where the time of a step goes", profile),
    "finetuning": ("Fine-tuning", speeds("examples")),
    "finetuning-profile": ("Where the time of a step of fine-tuning goes", profile),
    "quality": ("Quality at equal tokens", quality),
    "tokenising": ("Tokenising and masking", tokenising),
    "scale": ("Scale", scale),
    "real_sets": ("Real sets", real_sets),
    "masked_lm-gpu": ("Masked LM on a GPU", speeds("tokens")),
    "masked_lm-gpu-profile": ("Where the time of a step goes on a GPU", profile),
    "finetuning-gpu": ("Fine-tuning on a GPU", speeds("examples")),
    "finetuning-gpu-profile": ("Where the time of a step of fine-tuning goes on a GPU", profile),
}


def tables(results: Path = RESULTS) -> str:
    """Markdown of all that was kept."""
    kept = {path.stem: read_json(path) for path in results.glob("*.json")}
    if unknown := sorted(set(kept) - set(TABLES)):
        raise ValueError(f"benchmarks/table.py knows no table for {', '.join(unknown)}")
    parts = []
    for name, (title, render) in TABLES.items():
        if name in kept:
            found = kept[name]["machine"]
            device = "" if found["device"] == "cpu" else f"{found['device']}, "
            where = (
                f"{device}{found['processor']}, {found['threads']} threads; torch {found['torch']},"
                f" transformers {found['transformers']}."
            )
            parts.append(f"### {title}\n\n{render(kept[name])}\n\n{where}\n")
    return "\n".join(parts) or "No results are kept yet.\n"


def _spread(ratio: dict[str, float]) -> str:
    return f"{ratio['median']:.2f} ({ratio['lowest']:.2f} to {ratio['highest']:.2f})"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(tables(), end="")
