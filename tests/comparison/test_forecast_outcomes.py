"""A forecast beside its outcome: where a difference lies, what training took, and what was known before."""

import dataclasses
from pathlib import Path

import pytest

from adaptbert.base.files import read_json, write_json
from adaptbert.comparison.forecast_outcomes import GainOutcome
from adaptbert.comparison.forecasts import Price, Range
from adaptbert.comparison.report.markdown import in_markdown
from adaptbert.comparison.report.page import render
from adaptbert.comparison.report.sentences import forecasts
from adaptbert.comparison.tables.metrics_json import summary
from adaptbert.comparison.tables.text_table import comparison_table
from adaptbert.errors import BadData
from tests.support.forecasting import made_forecast, recorded
from tests.support.judged_steps import difference
from tests.support.page_reader import Reader
from tests.support.simulated import Simulated, compared, simulate

TASKS = ("section", "mention")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    return simulate(tmp_path_factory.mktemp("recipe"), seeds=(1, 2, 3), draws=2)


def forecast_of(
    made: Simulated, trained: tuple[str, ...] = (), ranges: tuple[Range, ...] = (recorded("domain_text", 0.0, 12.4),)
) -> None:
    """A forecast of half the TFLOP that simulated cells take.

    Args:
        trained: keys of cells that were there already.
    """
    prices = [
        Price(stage="finetune", key=key, trained=key in trained, runs=3, tflop=0.6, minutes=2.0)
        for key in made.ladder.finetune
    ]
    write_json(made.root / "forecasts/small.json", made_forecast(prices, ranges).as_json())


def test_a_difference_lies_inside_above_or_below() -> None:
    def gain(mean: float, half: float) -> GainOutcome:
        return GainOutcome("section", "domain_text", recorded("domain_text", 0.0, 2.0), difference(mean, half), True)

    def place(mean: float, half: float) -> tuple[str, bool]:
        return gain(mean, half).place, gain(mean, half).is_sure

    assert place(0.01, 0.005) == ("inside", True)
    assert place(0.01, 0.015) == ("inside", False), "its interval goes beyond both ends"
    assert place(0.03, 0.005) == ("above", True)
    assert place(-0.01, 0.02) == ("below", False)
    assert place(0.02, 0.001)[0] == "inside", "an end belongs to the range"
    assert forecasts.place(gain(0.03, 0.005)).en == "above the range, with its whole interval"
    assert forecasts.place(gain(-0.01, 0.02)).en == "below the range; its interval reaches into it"
    assert forecasts.place(gain(0.01, 0.015)).en == "inside the range; its interval reaches beyond it"


def test_the_outcome_beside_the_forecast(made: Simulated) -> None:
    forecast_of(made)
    comparison = compared(made)
    (outcome,) = comparison.forecasts
    cells = len(made.ladder.finetune)
    price = outcome.price
    assert (price.outputs, price.missing) == (cells, 0)
    assert (price.forecast, price.measured) == (pytest.approx(0.6 * cells), pytest.approx(1.2 * cells))
    assert [(gain.task, gain.step) for gain in outcome.gains] == [
        ("section", "domain_text"),
        ("mention", "domain_text"),
    ]
    for gain in outcome.gains:
        task = next(task for task in comparison.tasks if task.name == gain.task)
        step = task.step("domain_text")
        assert step is not None
        assert gain.difference == step.difference
        assert gain.before
    values = summary(comparison)
    written = values["forecasts"]["small"]
    assert written["tflop"] == [round(0.6 * cells, 6), round(1.2 * cells, 6)]
    assert [gain[:4] for gain in written["gains"]] == [
        [name, "domain_text", 0.0, 12.4] for name in ("section", "mention")
    ]
    assert "section" in comparison_table(values), "it is no task"


def test_the_page_has_both(made: Simulated) -> None:
    forecast_of(made, ranges=(recorded("domain_text", 0.0, 12.4, records_of="domain_transfer"),))
    (outcome,) = compared(made).forecasts
    assert outcome.unrecorded == ["task_transfer_after_domain"]
    text = in_markdown(compared(made))
    assert "## Forecast and outcome" in text
    assert "- section, The domain text itself: recorded 0.0 to +12.4, measured " in text
    page = render(compared(made))
    read = Reader(page)
    assert "forecast" in read.ids
    assert set(read.labelled_by) <= set(read.ids)
    section = page[page.index('<section id="forecast">') :].partition("</section>")[0]
    for part in (
        "0.0 to +12.4",
        "0.0 到 +12.4",
        "of the nearest question: Domain transfer",
        "it was to take".capitalize(),
        "No gain is recorded for <code>task_transfer_after_domain</code>.",
    ):
        assert part in section


def test_without_a_forecast_the_page_is_silent(made: Simulated) -> None:
    (made.root / "forecasts/small.json").unlink(missing_ok=True)
    comparison = compared(made)
    assert comparison.forecasts == []
    assert 'id="forecast"' not in render(comparison)
    assert summary(comparison)["forecasts"] == {}


def test_a_forecast_after_the_result_says_so(made: Simulated) -> None:
    forecast_of(made, trained=("section-domain-small-1",))
    (outcome,) = compared(made).forecasts
    assert [(gain.task, gain.before) for gain in outcome.gains] == [("section", False), ("mention", True)]
    assert "made after the result" in forecasts.place(outcome.gains[0]).en
    assert "预测作于结果之后" in forecasts.place(outcome.gains[0]).zh
    assert " of 1 differences" in forecasts.summary(outcome).en
    assert outcome.price.outputs == len(made.ladder.finetune) - 1
    late = dataclasses.replace(outcome, gains=outcome.gains[:1])
    assert forecasts.summary(late).en.startswith("No gain was forecast before")


def test_what_is_not_trained_yet_is_counted(made: Simulated) -> None:
    prices = [Price(stage="finetune", key="section-domain-small-1", trained=False, runs=3, tflop=0.6, minutes=2.0)]
    write_json(made.root / "forecasts/small.json", made_forecast(prices, []).as_json())
    metrics = made.root / "metrics/finetune/section-domain-small-1.json"
    values = metrics.read_bytes()
    metrics.unlink()
    (outcome,) = compared(made).forecasts
    metrics.write_bytes(values)
    assert (outcome.price.outputs, outcome.price.missing, outcome.gains) == (0, 1, [])
    assert forecasts.price(outcome).en.endswith("Nothing that it priced has been trained since.")


def test_what_was_trained_otherwise_than_forecast_is_named(made: Simulated) -> None:
    """A forecast of another ladder, of other values, and of a rung that a stop rule ended."""
    key, *others = made.ladder.finetune
    asis = Price(stage="finetune", key=key, trained=False, runs=3, tflop=1.2, minutes=2.0)
    gone = Price(stage="task_transfer", key="section-of_before-small-1", trained=False, runs=1, tflop=3, minutes=2.0)
    write_json(made.root / "forecasts/small.json", made_forecast([asis, gone], []).as_json())
    (outcome,) = compared(made).forecasts
    rungs = len(made.ladder.domain_transfer) + len(made.ladder.task_transfer)
    price = outcome.price
    assert (price.added, price.dropped, price.missing) == (len(others) + rungs, 1, 0)
    assert (price.ended_early, price.differing) == ([], [])
    assert [text.en for text in forecasts.changes(outcome)] == [
        f"Rungs and cells of today’s ladder that the forecast does not have: {len(others) + rungs}.",
        "Rungs and cells of the forecast that the ladder no longer names: 1.",
    ]

    forecast_of(made)
    (outcome,) = compared(made).forecasts
    assert outcome.price.differing == [f"finetune/{key}" for key in made.ladder.finetune], "twice the TFLOP"
    named, *more = forecasts.changes(outcome)[1:]
    assert more == []
    first = "`, `".join(outcome.price.differing[:3])
    assert named.en.startswith(f"A tenth more or less than forecast was taken by `{first}` and ")
    assert "A tenth more or less than forecast was taken by <code>finetune/" in render(compared(made))

    small = Price(stage="finetune", key=key, trained=False, runs=3, tflop=1.2026, minutes=2.0)
    write_json(made.root / "forecasts/small.json", made_forecast([small], []).as_json())
    assert compared(made).forecasts[0].price.differing == [], "each of three runs was rounded to 0.001 TFLOP"

    stopped = dataclasses.replace(outcome, price=dataclasses.replace(price, ended_early=["domain_transfer/domain"]))
    assert forecasts.changes(stopped)[-1].en == (
        "A stop rule ended rungs that were priced with their whole budgets: `domain_transfer/domain`."
    )


def test_a_damaged_forecast_is_named(made: Simulated, tmp_path: Path) -> None:
    forecast_of(made)
    path = made.root / "forecasts/small.json"
    write_json(path, {**read_json(path), "steps": "fifty"})
    with pytest.raises(BadData, match=r"AB-122 .*forecasts/small.json: steps: expected a valid integer"):
        compared(made)
    path.unlink()
