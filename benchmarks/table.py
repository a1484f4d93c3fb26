"""benchmarks/results/*.json -> the tables of docs/benchmarks.md, so that no figure is typed by hand.

    python -m benchmarks.table          # print them

`python -m tests.documents` writes them into the document.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from adaptbert.core.files import read_json

RESULTS = Path(__file__).parent / "results"
Results = dict[str, Any]


def speeds(unit: str) -> Callable[[Results], str]:
    """Ratios of ours to each peer by the clock: median (lowest to highest) of the rounds."""

    def rendered(results: Results) -> str:
        first = next(iter(results["settings"].values()))
        peers = list(first[f"ratio_{unit}"])
        extras: dict[str, Callable[[Results], str]] = {}
        if "share_of_peak" in first:
            extras["share of peak"] = lambda setting: f"{setting['share_of_peak']:.0%}"
        if "gib" in first:
            extras["GiB, ours and peers"] = lambda setting: ", ".join(map(str, setting["gib"].values()))
        rows = [
            [
                name,
                f"{setting[f'{unit}_per_second']['ours']:,}",
                *(_spread(setting[f"ratio_{unit}"][peer]["wall"]) for peer in peers),
                *(extra(setting) for extra in extras.values()),
            ]
            for name, setting in results["settings"].items()
        ]
        head = ["setting", f"{unit} a second, ours", *(f"x {peer}" for peer in peers), *extras]
        about = f"{results['rounds']} rounds; `auto` is {first['precision']} there."
        return f"{_markdown(head, rows)}\n\n{about}"

    return rendered


PROFILED = ("mini-short-30k", "mini-large-30k", "mini-packed128-30k")
"""Settings whose profile is shown; the files have those of all."""


def profile(results: Results) -> str:
    """Shares of a step, a column a setting."""
    settings = {name: results["settings"][name] for name in PROFILED if name in results["settings"]}
    settings = settings or results["settings"]
    kinds = next(iter(settings.values()))["share"]
    rows = [[kind, *(f"{setting['share'][kind]:.1%}" for setting in settings.values())] for kind in kinds]
    rows.append(["milliseconds a step", *(f"{setting['milliseconds_per_step']:g}" for setting in settings.values())])
    return _markdown(["part of a step", *settings], rows)


def quality(results: Results) -> str:
    """Held-out loss at equal tokens and time to the same loss, a row a peer."""
    rows = []
    for peer, measured in results["comparison"].items():
        interval = measured["difference"]
        between = "-" if interval["low"] is None else f"{interval['low']:+.4f} to {interval['high']:+.4f}"
        losses = [f"{measured['loss_ours']:.4f}", f"{measured['loss_peer']:.4f}", f"{interval['mean']:+.4f}"]
        rows.append([peer, *losses, between, _spread(measured["time_to_same_loss"])])
    shape, corpus = results["setting"], results["corpus"]
    about = (
        f"{results['seeds']} seeds, {results['steps']} steps of {shape['documents']} documents; "
        f"{shape['layers']} layers of {shape['hidden']}, vocabulary {shape['vocabulary']:,}; "
        f"text: {results['text']}, {corpus['tokens']:,} tokens."
    )
    head = ["peer", "loss, ours", "loss, peer", "difference", "95 % interval", "x faster to the same loss"]
    return f"{_markdown(head, rows)}\n\n{about}"


def tokenising(results: Results) -> str:
    """Stock over ours in time and bytes, ours over stock in the speed of masking."""
    rows = [[f"tokenising, {what}", _spread(ratio)] for what, ratio in results["tokenising"]["stock to ours"].items()]
    rows += [[f"masking by {unit}", _spread(ratios["ours to stock"])] for unit, ratios in results["masking"].items()]
    about = f"{results['lines']:,} lines, {results['processes']} processes, {results['rounds']} interleaved rounds."
    return f"{_markdown(['what', 'times less or faster than stock'], rows)}\n\n{about}"


def scale(results: Results) -> str:
    """Seconds a line and memory, a row a number of lines."""
    rows = [
        [
            f"{int(lines):,}",
            f"{size['tokenise']['seconds']:.1f}",
            f"{size['microseconds_per_line']:.1f}",
            str(size.get("growth", "")),
            *(f"{size[step]['peak_resident_mb']:.0f}" for step in ("tokenise", "read")),
        ]
        for lines, size in results["lines"].items()
    ]
    head = ["lines", "tokenising, s", "microseconds a line", "growth", "peak MB, tokenising", "peak MB, reading"]
    return _markdown(head, rows)


OF_ALL_SIZES = ("one arm twice as far apart", "seed x kind 0.55", "seed x kind 1", "rows x run 1.2")
"""Spreads of the simulated studies that have a row of their own."""


def verdict(results: Results) -> str:
    """How often verdicts err on simulated studies, a row a number of draws and seeds: the range over all spreads."""
    by_size: dict[str, list[Results]] = {}
    for name, world in results["worlds"].items():
        size, _, spreads = name.partition(", ")
        apart = next((each for each in OF_ALL_SIZES if spreads.endswith(each)), None)
        by_size.setdefault(f"all, {apart}" if apart else size, []).append(world)
    rows = []
    for size, worlds in by_size.items():
        today = [world["errors"]["today"] for world in worlds]
        repeated = [world for world in worlds if "power" in world]
        rows.append(
            [
                size,
                _range(each["any"]["all equal"] for each in today),
                _range(share for each in today for share in each["any"].values()),
                _range(share for each in today for share in (each["covered"], each["most_covered"])),
                _range(world["power"]["shown"] for world in repeated),
                _range(world["power"]["before"] for world in repeated),
                _range(world["called"]["equivalent"] for world in repeated),
                _widths(world["half_width"] for world in repeated),
            ]
        )
    head = ["draws x seeds", "errs, all equal", "errs, any truth", "interval covers", "power where .8 is told"]
    head += ["the same before", "unequal called equivalent", "half-width: half, 99 % of studies at most"]
    about = (
        f"{results['studies']:,} simulated studies of two tasks for each spread (draws 0 to 1 point, test rows 0 to "
        "1.2, a seed 1.0): lowest to highest, in %; half-widths in points. A study errs if any gain or loss of its "
        "eight questions is wrong. Truths: all arms equal; only more training helps, only the domain text, only the "
        "task text, by ten points; the domain text by two; domain transfer by two, which task transfer takes again. "
        "With one draw no verdict is given: its rows show what the intervals would say. Last rows: the runs of one arm "
        "lie twice as far apart, and power is promised by the others; a seed does the same to arms of one kind; rows "
        "change each single run."
    )
    others = ["before", "draws as seeds", "no rows", "no first question"]
    worlds = [world for world in results["worlds"].values() if "power" in world]
    left_out = [
        [
            rule,
            *(
                _range(each["errors"][rule]["any"][truth] for each in worlds)
                for truth in worlds[0]["errors"][rule]["any"]
            ),
        ]
        for rule in ("today", *others)
    ]
    sabotage = _markdown(["rule", *worlds[0]["errors"]["today"]["any"]], left_out)
    return f"{_markdown(head, rows)}\n\n{about}\n\n{sabotage}"


def _widths(widths: Iterable[Results]) -> str:
    """The largest over all settings."""
    each = list(widths)
    return ", ".join(f"{max(width[share] for width in each):.1f}" for share in ("half", "99 %")) if each else "-"


def _range(shares: Iterable[float]) -> str:
    """The lowest and the highest of shares, in per cent."""
    numbers = [100 * share for share in shares]
    return f"{min(numbers):.1f} to {max(numbers):.1f}" if numbers else "-"


def real_sets(results: Results) -> str:
    """Scores on the test split beside the floor and the goal, a row a set and metric."""
    rows = []
    for name, result in results["sets"].items():
        for metric, mark in _shown(result["marks"]).items():
            scores = [seed[f"test/{metric}"] for seed in result["seeds"]]
            score = f"**{fmean(scores):.3f}**"
            if len(scores) > 1:
                score += f" ({min(scores):.3f} to {max(scores):.3f})"
            floor = f"{mark['floor']:.3f} {mark['simple']}"
            goal = "-" if mark["goal"] is None else f"{mark['goal']:.2f}"
            rows.append([name, metric, score, floor, goal, f"{result['labels']:,}"])
    head = ["set", "metric", "score", "floor", "goal", "labels"]
    return f"{_markdown(head, rows)}\n\nThe mean of the seeds (lowest to highest)."


def _shown(marks: Results) -> Results:
    """The metrics that have a goal, otherwise the first."""
    with_goal = {metric: mark for metric, mark in marks.items() if mark["goal"] is not None}
    return with_goal or dict(list(marks.items())[:1])


def same_results(results: Results) -> str:
    """What two commits have in common, a row a kind."""
    columns = ("compared", "equal", "mapped", "gone", "new", "changed")
    rows = [[kind, *(f"{counts.get(name, 0):,}" for name in columns)] for kind, counts in results["kinds"].items()]
    about = (
        f"`{results['old'][:7]}` and `{results['new'][:7]}`, written by `--keep`; "
        "`benchmarks/same_results/names.yaml` names what differs."
    )
    return f"{_markdown(['kind', *columns], rows)}\n\n{about}"


def gpu_check(results: Results) -> str:
    """What is right on a device, attention by length and dropout, and the shares of a step."""
    kinds = {text: text.partition(", ")[2] for text in results["attention"]["milliseconds"]}
    rows = [
        [kind, *(f"{results['attention']['milliseconds'][f'{layout}, {kind}']:.2f}" for layout in ("flat", "rows"))]
        for kind in dict.fromkeys(kinds.values())
    ]
    right = {**results["tests"]["right"], **results["right"]["right"]}
    step = {name: f"{share:.0%}" for name, share in results["host"]["share"].items() if share >= 0.005}
    checks = [f"{name}: {str(value).lower()}" for name, value in right.items()]
    about = (
        f"{'; '.join(checks)}. With the same bits a step takes {results['right']['times as long with the same bits']} "
        f"times as long. Peak {results['env']['peak_tflop_per_second']} TFLOP/s. A step of "
        f"{results['host']['setting']} took {results['host']['milliseconds_per_step']} ms under the profiler: "
        f"{', '.join(f'{name} {share}' for name, share in step.items())}."
    )
    return f"{_markdown(['attention, forward and backward', 'flat, ms', 'rows, ms'], rows)}\n\n{about}"


# A new benchmark gets a line here.
TABLES: dict[str, tuple[str, Callable[[Results], str]]] = {
    "masked_lm": ("Masked LM", speeds("tokens")),
    "masked_lm-encoders": ("Masked LM of other types", speeds("tokens")),
    "masked_lm-avx512_core": ("Masked LM without instructions for bfloat16 (AVX-512)", speeds("tokens")),
    "masked_lm-avx2": ("Masked LM with AVX2 alone", speeds("tokens")),
    "masked_lm-profile": ("Where the time of a step goes", profile),
    "finetuning": ("Fine-tuning", speeds("examples")),
    "finetuning-avx512_core": ("Fine-tuning without instructions for bfloat16 (AVX-512)", speeds("examples")),
    "finetuning-avx2": ("Fine-tuning with AVX2 alone", speeds("examples")),
    "finetuning-profile": ("Where the time of a step of fine-tuning goes", profile),
    "quality": ("Quality at equal tokens", quality),
    "tokenising": ("Tokenising and masking", tokenising),
    "scale": ("Scale", scale),
    "verdict": ("How often verdicts err", verdict),
    "real_sets": ("Real sets", real_sets),
    "gpu_check": ("One GPU", gpu_check),
    "same_results": ("The same results", same_results),
    "masked_lm-gpu": ("Masked LM on a GPU", speeds("tokens")),
    "masked_lm-gpu-profile": ("Where the time of a step goes on a GPU", profile),
    "finetuning-gpu": ("Fine-tuning on a GPU", speeds("examples")),
    "finetuning-gpu-profile": ("Where the time of a step of fine-tuning goes on a GPU", profile),
}


def tables(folder: Path = RESULTS) -> str:
    """The tables of all results, as Markdown."""
    results = {path.stem: read_json(path) for path in folder.glob("*.json")}
    if unknown := sorted(set(results) - set(TABLES)):
        raise ValueError(f"benchmarks/table.py knows no table for {', '.join(unknown)}")
    parts = []
    for name, (title, render) in TABLES.items():
        if name in results:
            machine = results[name]["machine"]
            device = "" if machine["device"] == "cpu" else f"{machine['device']}, "
            isa = f" ({machine['instructions']})" if "instructions" in machine else ""
            where = (
                f"{device}{machine['processor']}{isa}, {machine['threads']} threads; torch {machine['torch']},"
                f" transformers {machine['transformers']}."
            )
            parts.append(f"### {title}\n\n{render(results[name])}\n\n{where}\n")
    return "\n".join(parts) or "No results are kept yet.\n"


def _spread(ratio: dict[str, float]) -> str:
    return f"{ratio['median']:.2f} ({ratio['lowest']:.2f} to {ratio['highest']:.2f})"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(tables(), end="")
