"""The forecast as tables and sentences of a terminal; the price, the recorded gains and what to do come last."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from adaptbert.base.ladder import GENERAL
from adaptbert.comparison.amounts import amount
from adaptbert.comparison.forecasts import Facts, Forecast, Range, Sum, path_of

POINTS = {"toward": "toward a gain", "away": "away from one", "open": "nowhere"}


def show(forecast: Forecast, console: Console) -> None:
    """Print all of it."""
    for part in _parts(forecast):
        console.print(part, highlight=False)


def _parts(forecast: Forecast) -> Iterator[RenderableType]:
    machine = forecast.machine
    yield (
        f"\nForecast of the start {forecast.start}, {forecast.made} UTC, from {forecast.weights}\n"
        f"on {machine.processor}, {machine.threads} threads, {machine.precision}\n"
    )
    yield _texts(forecast.facts)
    yield _overlaps(forecast.facts)
    if forecast.facts.gaps:
        yield _gaps(forecast)
    yield _signs(forecast.facts)
    yield _prices(forecast)
    yield _rates(forecast)
    yield from _ranges(forecast.facts)
    yield _next(forecast)


def _table(title: str, first: str, numbers: Sequence[str] = (), texts: Sequence[str] = ()) -> Table:
    """With a column of names, columns of numbers, and columns of text."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right")
    for name in texts:
        table.add_column(name)
    return table


def _texts(facts: Facts) -> Table:
    numbers = ["tokens", "characters a token", "unknown tokens", "rows rejected", "rows repeated"]
    table = _table("The training text", "text", numbers)
    for name, text in facts.texts.items():
        shares = [f"{share:.2%}" for share in (text.unknown_rate, text.rejected, text.duplicates)]
        kind = "" if text.kind == "corpus" else " (task)"
        table.add_row(f"{name}{kind}", f"{text.tokens:,}", f"{text.characters_per_token:.2f}", *shares)
    return table


def _overlaps(facts: Facts) -> Table:
    table = _table("Most frequent words in common", "texts", ["in common", "of so many words of each"])
    for each in facts.overlaps:
        table.add_row(" and ".join(each.texts), f"{each.share:.1%}", f"{each.words:,}")
    return table


def _gaps(forecast: Forecast) -> Table:
    title = f"Bits per character of held-out text, before and after {forecast.steps} steps (lower is better)"
    trained = [gap.text for gap in forecast.facts.gaps]
    table = _table(title, "held-out text", ["before", "after general text", *(f"after {name}" for name in trained)])
    first = forecast.facts.gaps[0]
    for name in (GENERAL, *trained):
        after = [first.after_general, *(gap.after_own for gap in forecast.facts.gaps)]
        table.add_row(name, f"{first.before[name]:.3f}", *(f"{bits[name]:.3f}" for bits in after))
    return table


def _signs(facts: Facts) -> Table:
    title = "Where the facts point (an order seen in few studies, no law)"
    table = _table(title, "fact", texts=["points", "figures"])
    for sign in facts.signs:
        table.add_row(sign.fact, POINTS[sign.points], sign.words)
    return table


def _prices(forecast: Forecast) -> Table:
    numbers = ["rungs", "minutes", "runs of fine-tuning", "minutes", "minutes in all", "TFLOP"]
    table = _table("Price of what is not trained yet, with all draws and seeds", "arm", numbers)
    for arm, price in forecast.arms.items():
        table.add_row(arm, *_price(price))
    table.add_section()
    table.add_row("all arms", *_price(forecast.total))
    return table


def _price(price: Sum) -> list[str]:
    minutes = [amount(value) for value in (price.rungs_minutes, price.runs_minutes, price.minutes)]
    return [f"{price.rungs:,}", minutes[0], f"{price.runs:,}", minutes[1], minutes[2], amount(price.tflop)]


def _rates(forecast: Forecast) -> str:
    measured = "; ".join(
        f"{rate.training} {rate.seconds_per_step:.3g} s a step, {rate.tflop_per_second:.3g} TFLOP/s"
        for rate in forecast.rates
    )
    return (
        "Arms share rungs, so all arms cost less than their sum. Minutes are those of one device and of optimizer steps"
        " alone: start-up, evaluation and saving come on top; early stopping ends sooner; other work on this machine"
        f" makes it slower. Measured here: {measured}. The first speed is taken for all rungs, by their TFLOP.\n"
    )


def _ranges(facts: Facts) -> Iterator[RenderableType]:
    if not facts.ranges:
        yield "No gain is recorded for any primary question of params.yaml, nor for one like it: there is no range.\n"
        return
    title = "Gains that were measured before, in points: what has been seen, not what is expected here"
    table = _table(title, "primary question", ["lowest", "highest"], ["records"])
    for each in facts.ranges:
        table.add_row(each.question, f"{each.low:+.1f}", f"{each.high:+.1f}", _records(each))
    yield table
    sources = dict.fromkeys(source for each in facts.ranges for source in each.sources)
    yield f"From {'; '.join(sources)}: other text, other starts, other metrics. There is no point estimate.\n"


def _records(each: Range) -> str:
    whose = "of this project" if each.own else "published"
    records = f"{each.reach} of {each.records} {whose} are {each.worth:.1f} or more (compare.worth)"
    if each.records_of != each.question.partition("/")[0]:
        records += f"; they are of {each.records_of}, the nearest question with records"
    return records


def _next(forecast: Forecast) -> str:
    path, lines = path_of(forecast.start), ["What to do now"]
    if forecast.weights == "random weights":
        lines.append(
            "- The weights are random, so bits per character say nothing yet: dvc repro pretrain, then this command"
            " once more."
        )
    if forecast.total.tflop == 0:
        lines.append("- Everything is trained already: this is no forecast, and the report has the outcome.")
        return "\n".join(lines)
    lines += [
        "- Too dear? Take an arm out of ladder.arms, lower ladder.draws or a budget, then: adaptbert ladder, and this"
        " command once more.",
        f"- Else commit {path}, which is written, and: dvc repro. The report sets the forecast beside the outcome.",
    ]
    return "\n".join(lines)
