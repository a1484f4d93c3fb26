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
Results = dict[str, Any]


def speeds(unit: str) -> Callable[[Results], str]:
    """Ratios of ours to each peer: median (lowest to highest) of the rounds."""

    def rendered(results: Results) -> str:
        first = next(iter(results["settings"].values()))
        peers = list(first[f"ratio_{unit}"])
        extras = {
            "share of peak": lambda setting: f"{setting['share_of_peak']:.0%}",
            "share of peak at the roofline": lambda setting: f"{setting['roofline']['share_of_peak']:.0%}",
            "x stock defaults at the roofline": lambda setting: f"{setting['roofline']['ratio']['stock defaults']:.1f}",
            "GiB, ours and peers": lambda setting: ", ".join(map(str, setting["device_gib"].values())),
        }
        bound = first.get("roofline", {})
        there = {
            "share of peak": "share_of_peak" in first,
            "share of peak at the roofline": "share_of_peak" in bound,
            "x stock defaults at the roofline": bool(bound),
            "GiB, ours and peers": "device_gib" in first,
        }
        shown = [name for name in extras if there[name]]
        clocks = [(peer, clock) for peer in peers for clock in ("wall", "cpu")]
        head = ["setting", f"{unit} a second, ours", *(f"x {peer}, {clock}" for peer, clock in clocks), *shown]
        rows = [
            [
                name,
                f"{setting[f'{unit}_per_second']['ours']:,}",
                *(_spread(setting[f"ratio_{unit}"][peer][clock]) for peer, clock in clocks),
                *(extras[extra](setting) for extra in shown),
            ]
            for name, setting in results["settings"].items()
        ]
        rounds = f"{results['rounds']} interleaved rounds: median (lowest to highest)."
        if precision := first.get("precision"):
            rounds += f" `auto` is {precision} there."
        return f"{_markdown(head, rows)}\n\n{rounds}"

    return rendered


def profile(results: Results) -> str:
    """Shares of a step, a column a setting."""
    settings = results["settings"]
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


def ladder(results: Results) -> str:
    """What DVC itself costs, a row a number of starts and draws."""
    rows = [
        [
            *size.split("x"),
            str(measured["stages"]),
            f"{measured['lines_of_lock']:,}",
            f"{measured['status_seconds']:.1f}",
            f"{measured['repro_of_nothing_seconds']:.1f}",
            f"{measured['processor_seconds_per_stage']:.2f}",
            f"{measured['repro_processor_seconds']:.0f}",
        ]
        for size, measured in results["sizes"].items()
    ]
    head = ["starts", "draws", "stages", "lines of dvc.lock", "`dvc status`, s", "`dvc repro` of nothing, s"]
    head += ["`dvc repro` of all: processor s a stage", "in all"]
    about = f"Six arms and two tasks; medians of {results['rounds']} rounds. The stages themselves do nothing here."
    return f"{_markdown(head, rows)}\n\n{about}"


def busy(results: Results) -> str:
    """Speed alone and beside another process, a row a way to wait."""
    usual = next(iter(results["ways"].values()))
    rows = [
        [
            name,
            *(_spread(places[place]) for place in usual),
            *(f"{places[place]['median'] / usual[place]['median']:.2f}" for place in usual),
        ]
        for name, places in results["ways"].items()
    ]
    head = ["threads that wait", *(f"documents a second, {place}" for place in usual)]
    head += [f"to the default, {place}" for place in usual]
    about = f"`{results['setting']}`, {results['rounds']} interleaved rounds: median (lowest to highest)."
    return f"{_markdown(head, rows)}\n\n{about}"


def draws(results: Results) -> str:
    """How far apart the draws of one rung lie, a row a task."""
    rows = [
        [
            task,
            f"{measured['draws']} x {measured['seeds']}",
            f"{measured['sd_between_draws']:.2f}",
            f"{measured['sd_between_seeds']:.2f}",
            f"{measured['sd_of_the_rest']:.2f}",
            f"{measured['called_different']} of {measured['ways_to_make_two_arms']}",
            f"{measured['pairs_called_different_by_the_first_version']} of {measured['pairs_of_draws']}",
        ]
        for task, measured in results["tasks"].items()
    ]
    head = ["task", "draws x seeds", "sd between draws", "between seeds", "rest", "two arms of half the draws differ"]
    head.append("two draws differ, by a paired t-test over seeds")
    ((unit, budget),) = results["budget"].items()
    about = f"Points; the arm `{results['arm']}` of the demonstration, with {budget:,} {unit} of domain transfer."
    return f"{_markdown(head, rows)}\n\n{about} The arms are equal."


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
        today, first = ([world["equal_arms"][rule] for world in worlds] for rule in ("today", "first version"))
        repeated = [world for world in worlds if "power" in world]
        rows.append(
            [
                size,
                _range(each["domain_text"] for each in today),
                _range(each["any"] for each in today),
                _range([*(each["covered"] for each in today), *(each["most_covered"] for each in today)]),
                _range(world["power"]["shown"] for world in repeated),
                _range(world["called"]["no_difference"] for world in repeated),
                _widths(world["half_width"] for world in repeated),
                _range(each["domain_text"] for each in first),
                _range(each["any"] for each in first),
            ]
        )
    head = ["draws x seeds", "`domain_text` errs", "a task errs", "interval covers", "power where .8 is told"]
    head += [
        "unequal called equal",
        "half-width of the interval: half, 99 % of studies at most",
        "first version: `domain_text` errs",
        "first version: a task errs",
    ]
    about = (
        f"{results['studies']:,} simulated studies for each of the spreads (between draws 0 to 1 point, test rows 0 to "
        "1.2; of a seed 1.0), all arms equal: lowest to highest, in %. With one draw no verdict is given; the row "
        "shows what its intervals would say. Half-widths in points. Last rows: the draws and runs of an arm of "
        "`domain_text` lie twice as far apart as those of the others, and power is promised by what the others "
        "suggest; a seed does the same to arms of one kind (0.55 or 1 point); rows do something to each single run "
        "(1.2 points)."
    )
    return f"{_markdown(head, rows)}\n\n{about}"


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
        trained = [
            f"{result['labels']:,}",
            f"{result['epochs']:g}",
            f"{result['learning_rate']:.0e}",
            f"{result['batch']}",
        ]
        for metric, mark in result["marks"].items():
            scores = [seed[f"test/{metric}"] for seed in result["seeds"]]
            score = f"**{fmean(scores):.3f}**"
            if len(scores) > 1:
                score += f" ({min(scores):.3f} to {max(scores):.3f})"
            floor = f"{mark['floor']:.3f} {mark['simple']}"
            goal = "-" if mark["goal"] is None else f"{mark['goal']:.2f}"
            rows.append([name, metric, score, floor, goal, *trained, f"{len(scores)}", f"{result['seconds']:,}"])
    head = ["set", "metric", "score", "floor", "goal", "labels", "epochs", "rate", "batch", "seeds", "seconds"]
    return f"{_markdown(head, rows)}\n\nThe mean of the seeds (lowest to highest); seconds of all seeds together."


def same_results(results: Results) -> str:
    """What two commits have in common, a row a kind, and what differs on purpose."""
    columns = ("compared", "equal", "mapped", "gone", "new", "changed")
    rows = [[kind, *(f"{counts.get(name, 0):,}" for name in columns)] for kind, counts in results["kinds"].items()]
    entries = [
        [entry["section"], f"`{entry['pattern']}`".replace("|", r"\|"), f"{entry['values']:,}", entry["why"]]
        for entry in results["table"]
    ]
    about = f"`{results['old'][:7]}` and `{results['new'][:7]}`; nothing differs that has no entry."
    parts = [_markdown(["kind", *columns], rows), about]
    return "\n\n".join([*parts, _markdown(["on purpose", "pattern", "values", "why"], entries)] if entries else parts)


# A new benchmark gets a line here.
TABLES: dict[str, tuple[str, Callable[[Results], str]]] = {
    "masked_lm": ("Masked LM", speeds("tokens")),
    "masked_lm-avx512_core": ("Masked LM without instructions for bfloat16 (AVX-512)", speeds("tokens")),
    "masked_lm-avx2": ("Masked LM with AVX2 alone", speeds("tokens")),
    "masked_lm-profile": ("Where the time of a step goes", profile),
    "finetuning": ("Fine-tuning", speeds("examples")),
    "finetuning-avx512_core": ("Fine-tuning without instructions for bfloat16 (AVX-512)", speeds("examples")),
    "finetuning-avx2": ("Fine-tuning with AVX2 alone", speeds("examples")),
    "finetuning-profile": ("Where the time of a step of fine-tuning goes", profile),
    "quality": ("Quality at equal tokens", quality),
    "busy": ("On a busy machine", busy),
    "tokenising": ("Tokenising and masking", tokenising),
    "scale": ("Scale", scale),
    "ladder": ("DVC's share", ladder),
    "draws": ("Draws of one rung", draws),
    "verdict": ("How often verdicts err", verdict),
    "real_sets": ("Real sets", real_sets),
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
