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


def verdict(results: Results) -> str:
    """How often verdicts err on simulated studies, a row a world; what is shown, a row a design; and what happens where
    a part is left out."""
    by_world: dict[str, list[Results]] = {}
    for name, measured in results["worlds"].items():
        by_world.setdefault(name.rpartition(", ")[0], []).append(measured)
    rows, tasks = [], [*next(iter(results["worlds"].values()))["today"]["wrong"]]
    for world, designs in by_world.items():
        today, before = ([each[rule] for each in designs] for rule in ("today", "pooled"))
        equal = _range(each["by_truth"]["1"]["all equal"] for each in today)
        worst = [
            " / ".join(f"{100 * max(each['wrong'][n] for each in rule):.1f}" for n in tasks) for rule in (today, before)
        ]
        covered, told = (
            min(each["covered"][0] for each in today),
            [each["power"]["shown"] for each in designs if "power" in each],
        )
        rows.append([world, equal, *worst, f"{100 * covered:.1f}", _range(told)])
    count = " / ".join(tasks)
    head = [
        "world",
        "errs, all equal, 1 task",
        f"worst truth, {count} tasks",
        f"the same, spread pooled, {count} tasks",
    ]
    errs = _markdown([*head, "least coverage", "power where .8 is told"], rows)
    base = {name.rpartition(", ")[2]: each for name, each in results["worlds"].items() if name.startswith("base, ")}
    gains = [*next(iter(base.values()))["today"]["shown"]]
    shown = [
        [
            design,
            *(
                f"{100 * each['today']['shown'][gain]:.0f} ({100 * each['pooled']['shown'][gain]:.0f})"
                for gain in gains
            ),
            _widths(each),
        ]
        for design, each in base.items()
    ]
    power = _markdown(["draws x seeds", *gains, "half-width: half, 99 % of studies at most"], shown)
    left_out = {rule: [each[rule] for each in results["worlds"].values() if rule in each] for rule in LEFT_OUT}
    parts = _markdown(
        ["without", f"worst truth of any world, {count} tasks"],
        [
            [label, " / ".join(f"{100 * max(each['wrong'][n] for each in left_out[rule]):.1f}" for n in tasks)]
            for rule, label in LEFT_OUT.items()
        ],
    )
    about = (
        f"{results['studies']:,} simulated studies of four tasks, or twice and four times as many of two and one, in "
        "each world and with 2, 3 and 5 draws and 3 and 5 seeds: in %, the lowest and the highest, or the worst. A "
        "study errs if any gain or loss of its questions is wrong. Truths: all arms equal; only more training helps, "
        "only the domain text, only the task text, by ten points; the domain text by two; domain transfer by two, "
        "which task transfer takes again. Base world, standard deviations in points: draw 1, seed 1.2, seed by arm "
        "0.3, rest 1, rows 0.6."
    )
    shows = (
        "A true gain of the recipe that is shown in the base world, in % (in brackets: by the spread of all arms "
        "pooled)."
    )
    return "\n\n".join([errs, about, power, shows, parts])


LEFT_OUT = {
    "draws as seeds": "replicates: each run taken for a seed",
    "no rows": "test rows",
    "groups ignored": "groups of four test rows",
    "no first question": "an order of questions",
}
"""Rule with a part left out -> the part."""


def _widths(measured: Results) -> str:
    return ", ".join(f"{measured['today']['half_width'][share]:.1f}" for share in ("0.5", "0.99"))


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


TUNED, SHORT, EIGHT = "fine-tuning, 32 short texts", "base, short texts", "8 layers of 512, short texts"
WIDE_128, WIDE_512 = "base, 128 tokens", "base, 512 tokens"
GOALS = {
    WIDE_128: ("575k, then 750k; 1.4 x the best peer", "440k tokens, estimated for eager steps; the limit is 1.53 M"),
    WIDE_512: ("545k, then 650k; 1.4 x the best peer", "nothing measured or estimated yet; the limit is 1.41 M tokens"),
    SHORT: ("436k, then 650k; 2 x the best peer", "305k tokens, measured under a profiler; the limit is 1.56 M"),
    EIGHT: ("1.1 M, then 2.0 M", "515k tokens, measured; the limit is 5 M"),
    TUNED: ("5,900 texts, then 9,000; 2.5 x the best peer", "780 to 1,019 texts, measured; the limit is 20,000"),
}
"""What a GPU trains -> the goals of design, of tokens a second or of texts; and what they are set against."""
ABOUT_GOALS = (
    "Goals are of one H200. The first is estimated for static shapes and CUDA graphs, the second for all that is "
    "designed; its memory and its products set the limit. The peer is transformers' Trainer, in turn with ours."
)
NOT_RUN = "not run"


def targets(results: Results) -> str:
    """Speeds of what a GPU trains beside the goals, ours alone and in turn with peers; what was not run, it says."""
    alone = results.get("graphs", {}).get("works", {})
    parts = [values.get("works", {}) for name, values in results.items() if name.startswith("peers")]
    beside = {name: measured for part in parts for name, measured in part.items()}
    peers = list(dict.fromkeys(peer for each in beside.values() for peer in _rates(each) if "ours" not in peer))
    rows = []
    for name, (goal, _) in GOALS.items():
        modes, rates = [alone.get(name, {}).get(mode, {}) for mode in ("eager", "graphs")], _rates(beside.get(name, {}))
        speeds = [*(next(iter(mode.values()), None) for mode in modes), *(rates.get(peer) for peer in peers)]
        shown = [NOT_RUN if speed is None else f"{speed:,}" for speed in speeds]
        share = f"{max(mode['share_of_peak'] for mode in modes if mode):.0%}" if any(modes) else NOT_RUN
        theirs = [rates[peer] for peer in peers if peer in rates]
        ratio = max(rate for peer, rate in rates.items() if "ours" in peer) / max(theirs) if theirs else None
        rows.append([name, *shown[:2], share, *shown[2:], f"{ratio:.2f}" if ratio else NOT_RUN, goal])
    head = ["speed a second", "ours, eager", "ours, graphs", "share of peak", *peers, "x the best peer", "goal"]
    against = "\n".join(f"- {name}: the goal is set against {before}." for name, (_, before) in GOALS.items())
    return f"{_markdown(head, rows)}\n\n{ABOUT_GOALS}\n\n{against}"


def _rates(measured: Results) -> dict[str, int]:
    """Texts a second, or tokens, by contender."""
    return next((rates for name, rates in measured.items() if name.endswith("_per_second")), {})


def gpu_check(results: Results) -> str:
    """What is right on a device, attention by length and dropout, and speeds where they were measured."""
    rows: dict[str, dict[str, str]] = {}
    for name, milliseconds in results["attention"]["milliseconds"].items():
        layout, length, dropout = name.split(", ")
        rows.setdefault(length, {})[f"{layout}, {dropout}"] = f"{milliseconds:.2f}"
    right = {name: value for part in results.values() for name, value in part.get("right", {}).items()}
    checks = [f"{name}: {str(value).lower()}" for name, value in right.items()]
    about = f"{'; '.join(checks)}. Peak {results['env']['peak_tflop_per_second']} TFLOP/s."
    head = ["attention, ms", *next(iter(rows.values()))]
    shown = [_markdown(head, [[length, *row.values()] for length, row in rows.items()]), about]
    return "\n\n".join([targets(results), *shown] if "graphs" in results else shown)


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
