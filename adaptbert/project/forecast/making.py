"""`adaptbert forecast`: makes the forecast of a start and writes it, unless that would hide what was said before."""

import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from adaptbert.base.expansion import PRETRAIN
from adaptbert.base.files import make_folder, write_json
from adaptbert.codes import Code
from adaptbert.comparison.forecasts import FOLDER, Facts, Forecast, Machine, path_of
from adaptbert.errors import BadData
from adaptbert.project.forecast import outcomes, prices, signs, texts, trials
from adaptbert.project.forecast.trials import Trials, Weights
from adaptbert.project.one_start import OneStart, tokenized_start

PACKAGES = ("adaptbert", "torch", "transformers", "pytorch-lightning", "numpy")
CPU = Path("/proc/cpuinfo")


def forecast(start: str | None, steps: int, *, again: bool) -> Forecast:
    """Make the forecast of a start and write it to forecasts/<start>.json.

    Args:
        start: None: the only one.
        steps: optimizer steps of each trial.
        again: whether to overwrite a forecast that was made before its outcome.

    Raises:
        UserError: see `tokenized_start`; or there is a forecast already, and an outcome of it.
    """
    read = tokenized_start(start, "forecast")
    path = path_of(read.start)
    if not again:
        _refuse_to_hide(path, read)
    with trials.weights_of(read) as weights:
        made = _made(read, weights, steps)
    make_folder(FOLDER)
    write_json(path, made.as_json())
    return made


def _refuse_to_hide(path: Path, read: OneStart) -> None:
    """A forecast is worth something because it was made before: once there is an outcome it stays."""
    if not path.is_file():
        return
    prices = [price for price in Forecast.read(path).prices if price.stage != PRETRAIN]  # which no forecast waits for
    due = [f"{price.stage}/{price.key}" for price in prices if not price.trained]
    since = [output for output in due if read.is_trained(output)]
    if since:
        problem = f"made before {len(since)} of its rungs and cells were trained, which is its worth"
        remedy = f"keep it; or overwrite it: adaptbert forecast --start {read.start} --again"
        raise BadData(Code.FORECAST_THERE, path, problem, remedy)


def _made(read: OneStart, weights: Weights, steps: int) -> Forecast:
    folders = texts.names_of(read)
    facts, shared = texts.text_facts(folders), texts.overlaps(folders, weights.checkpoint.tokenizer)
    tried = trials.run_trials(read, weights, steps)
    priced, rates = prices.prices_of(read, weights, tried)
    section = read.values("compare")
    return Forecast(
        start=read.start,
        weights=weights.name,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        params=read.digest,
        versions={name: metadata.version(name) for name in PACKAGES},
        machine=_machine(tried),
        steps=steps,
        facts=Facts(
            texts=facts,
            overlaps=shared,
            gaps=tried.gaps,
            signs=signs.signs(facts, shared, tried.gaps, steps),
            ranges=outcomes.ranges(section.primary, section.worth),
        ),
        rates=[tried.rate, *rates],
        prices=priced,
        arms=prices.by_arm(read, priced),
        total=prices.sum_of(priced),
    )


def _machine(tried: Trials) -> Machine:
    import torch

    return Machine(processor=_processor(torch), threads=torch.get_num_threads(), precision=tried.precision)


def _processor(torch: Any) -> str:
    """The name of the GPU, else that of the processor, else its architecture."""
    if torch.cuda.is_available():
        return str(torch.cuda.get_device_name())
    lines = CPU.read_text(encoding="utf-8").splitlines() if CPU.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(names), "") or platform.processor() or os.uname().machine
