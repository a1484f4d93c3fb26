"""Every rung and every cell of a start with its price, and the sums by arm of what is not there yet."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from adaptbert.base.expansion import DOMAIN_TRANSFER
from adaptbert.base.ladder import GENERAL
from adaptbert.comparison.forecasts import Price, Rate, Sum
from adaptbert.pretraining.batch_schedule import BatchSchedule
from adaptbert.project.forecast import fine_tuning
from adaptbert.project.forecast.fine_tuning import CellPrice
from adaptbert.project.forecast.trials import Trials, Weights, rung_tflop
from adaptbert.project.one_start import OneStart
from adaptbert.tokenization.store.tokenized_corpus import TokenizedCorpus

CELLS = "finetune"


def prices_of(inputs: OneStart, weights: Weights, trials: Trials) -> tuple[list[Price], list[Rate]]:
    """The price of every rung and cell, and the speeds of fine-tuning.

    Draws of a rung have one price. Cells of a task are timed once, those of a variant, whose arm has values of its own,
    once more.
    """
    prices, cells = [], dict[tuple[str, str], CellPrice]()
    of_rungs: dict[tuple[str, str], float] = {}
    for rung in inputs.rungs():
        stage, _, key = rung.partition("/")
        alike = (stage, inputs.text(rung).name)
        if alike not in of_rungs:
            of_rungs[alike] = _tflop(inputs, weights, trials, rung)
        seconds = of_rungs[alike] / trials.rate.tflop_per_second
        prices.append(_price(stage, key, inputs.is_trained(rung), 1, of_rungs[alike], seconds))
    for key, entry in inputs.cells().items():
        of_cell = (entry.task, entry.of_arm)
        if of_cell not in cells:
            cells[of_cell] = fine_tuning.price_of(inputs, weights, key)
        cell = cells[of_cell]
        seconds = cell.tflop / cell.rate.tflop_per_second
        prices.append(_price(CELLS, key, inputs.is_trained(f"{CELLS}/{key}"), cell.runs, cell.tflop, seconds))
    return prices, [cell.rate for cell in cells.values()]


def _price(stage: str, key: str, trained: bool, runs: int, tflop: float, seconds: float) -> Price:
    return Price(
        stage=stage, key=key, trained=trained, runs=runs, tflop=round(tflop, 6), minutes=round(seconds / 60, 4)
    )


def _tflop(inputs: OneStart, weights: Weights, trials: Trials, rung: str) -> float:
    """Of a rung with its whole budget."""
    values, tokenizer = inputs.rung_values(rung), weights.checkpoint.tokenizer
    corpus = TokenizedCorpus.load(inputs.text(rung))
    if rung.startswith(f"{DOMAIN_TRANSFER}/") and values.budget.passes is not None:
        corpus = _as_trained(inputs, corpus, values)
    config = weights.checkpoint.config()
    room = min(values.block_size, config.max_position_embeddings)
    schedule = BatchSchedule.of(corpus, values, tokenizer, room, inputs.seed)
    chosen = trials.chosen * values.masking.probability / trials.probability
    return rung_tflop(config, schedule.steps * values.global_batch_tokens, schedule.row, chosen)


def _as_trained(inputs: OneStart, corpus: TokenizedCorpus, values: Any) -> TokenizedCorpus:
    """The text of domain transfer: a half of it for each draw if params say so, and replay."""
    if values.draw_text:
        corpus = corpus.half(inputs.seed)
    if corpus.texts[0]["name"] == GENERAL:
        return corpus
    replay = TokenizedCorpus.load(inputs.tokenized / "corpora" / GENERAL)
    return corpus.mixed_with(replay, values.replay_fraction, inputs.seed)


def sum_of(prices: Iterable[Price]) -> Sum:
    """Of those that were not there yet."""
    due = [price for price in prices if not price.trained]
    rungs, cells = [each for each in due if each.stage != CELLS], [each for each in due if each.stage == CELLS]
    return Sum(
        rungs=sum(each.tflop > 0 for each in rungs),
        runs=sum(each.runs for each in cells),
        rungs_minutes=round(sum(each.minutes for each in rungs), 4),
        runs_minutes=round(sum(each.minutes for each in cells), 4),
        tflop=round(sum(each.tflop for each in due), 6),
    )


def by_arm(inputs: OneStart, prices: Sequence[Price]) -> dict[str, Sum]:
    """What each arm still needs: its rungs with all those below, and its cells; over all tasks and draws."""
    priced: Mapping[str, Price] = {f"{price.stage}/{price.key}": price for price in prices}
    below, needed = inputs.ladder.starts_of_rungs(), dict[str, dict[str, Price]]()
    for key, cell in inputs.cells().items():
        own = needed.setdefault(cell.arm, {})
        own[f"{CELLS}/{key}"] = priced[f"{CELLS}/{key}"]
        rung: str | None = cell.rung
        while rung is not None:
            if rung in priced:  # random weights have no price
                own[rung] = priced[rung]
            rung = below[rung]
    return {arm: sum_of(own.values()) for arm, own in needed.items()}
