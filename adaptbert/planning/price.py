"""How long a recipe takes on this machine: `adaptbert plan --price`, and `adaptbert new --minutes`.

Tokens follow from budgets, texts and rows (adaptbert.planning.workload). Tokens a second are measured: a model of
random weights reads random ids, by our encoder, loss and optimizer, one micro-batch after another for some seconds. So
neither text nor weights need to be there, and how long it takes does not depend on either.
"""

import math
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import psutil
import torch
from rich import box
from rich.table import Table

from adaptbert.comparison.training_length import steps_to_learn
from adaptbert.config import plan_file
from adaptbert.config.plan import FINETUNE, PRETRAIN
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import DOMAIN_TRANSFER, GENERAL
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.core.english import amount, duration, token_count
from adaptbert.mlm.masked_lm import MaskedBatch, MaskedLM
from adaptbert.mlm.micro_batch import micro_batch
from adaptbert.model.checkpoint import random_weights
from adaptbert.model.checkpoint_files import CONFIG, check_folder, hugging_face_config, written_config
from adaptbert.model.classes import class_of
from adaptbert.model.device import BF16, chosen, fastest_device
from adaptbert.model.encoder import Tokens, encode
from adaptbert.model.flops import training_flop
from adaptbert.model.optimizer import Optimization, adamw
from adaptbert.model.packing import pack
from adaptbert.model.proof import prepare
from adaptbert.planning import fitting, workload
from adaptbert.planning.workload import Amounts, Training
from adaptbert.runtime.libraries import JOBS, keep_freed_memory, threads

START = time.process_time()
"""Seconds of processor time in which a stage starts: it imports what this module does."""
PREPARED = 1_000_000
"""Tokens that are collected, validated and tokenised in the time in which a stage starts: it took 5 seconds where a
million tokens of Chinese news took 5, and of English docstrings 6."""
BACKWARD = 3
"""Tokens that are read in the time in which one is trained on."""
SECONDS, FEWER_SECONDS = 8.0, 3.0
"""Seconds of measuring: for `plan --price`, and for `new`, which is less exact."""
FIRST_TOKENS = 512
"""Tokens of the first steps; as many as a second allows follow, a micro-batch at most."""
EXAMPLE_TOKENS = 32
"""Tokens of a document or an example of which nothing is known."""
Values = Mapping[str, Mapping[str, Any]]
"""Step -> what differs from its defaults."""
SHARES = tuple(share / 100 for share in (90, 80, 70, 60, 50, 40, 30, 25, 20, 15, 12, 10, 8, 6, 5, 4, 3, 2, 1, 0))
"""Shares of the largest budget, tried one after another."""


# ---- the speed of this machine


class Speeds(NamedTuple):
    """Speeds of a recipe on this machine.

    Attributes:
        configs: base -> config of its model.
        tokens: base, and whether it is fine-tuned -> tokens a second, in one of the stages that run side by side.
        start: seconds in which a stage starts.
        jobs: stages that train side by side.
        busy: cores that other processes used meanwhile; the speeds are those without them.
        slower: how many times as long a step took beside them.
    """

    configs: dict[str, Any]
    tokens: dict[tuple[str, bool], float]
    start: float
    jobs: int
    busy: float = 0.0
    slower: float = 1.0


def measured(recipe: Recipe, planned: Sequence[Training], seconds: float) -> Speeds:
    """Measures one training of each kind and base; all measurements take about so many seconds."""
    keep_freed_memory()
    torch.set_num_threads(int(threads().partition(",")[0]))
    samples = {(each.base, each.step == FINETUNE): each for each in planned}
    configs = {base: model_config(recipe, base) for base in recipe.bases}
    jobs = 1 if fastest_device().type == "cuda" else JOBS
    tokens, slower, began = dict[tuple[str, bool], float](), list[float](), _spent()
    with _neighbours(jobs - 1):
        for (base, is_labelled), each in samples.items():
            values, step = each.values, _step(configs[base], each)
            most = values.micro_batch_size * _length(each) if is_labelled else micro_batch(values, configs[base])
            tokens[base, is_labelled], times = _tokens_per_second(step, most, seconds / len(samples))
            slower.append(times)
    passed, busy, own = (after - before for before, after in zip(began, _spent(), strict=True))
    return Speeds(configs, tokens, START, jobs, (busy - own) / passed, median(slower or [1.0]))


def _spent() -> tuple[float, float, float]:
    """Seconds by the clock, of all cores that worked, and of this process with those that it has waited for."""
    cores = psutil.cpu_times()
    return time.perf_counter(), sum(cores) - cores.idle - getattr(cores, "iowait", 0.0), sum(os.times()[:4])


@contextmanager
def _neighbours(count: int) -> Iterator[None]:
    """Processes that calculate beside the block, as the other stages will: cores share caches and arithmetic units."""
    number = threads().partition(",")[0]
    env = {**os.environ, "OMP_NUM_THREADS": number, "OPENBLAS_NUM_THREADS": number}
    with ExitStack() as running:
        for _ in range(count):
            process = running.enter_context(
                subprocess.Popen([sys.executable, "-m", "adaptbert.planning.neighbour"], env=env)
            )
            running.callback(process.kill)
        yield


def model_config(recipe: Recipe, base: str) -> Any:
    weights = recipe.bases[base]
    if weights.is_random:
        return random_weights(weights, recipe.values("tokenizer", {"base": base}).vocabulary_size, 0)
    source = str(weights.checkpoint)
    if weights.is_folder:
        check_folder(Path(source))
    values = written_config(source, None if weights.is_folder else weights.revision or "main")
    return hugging_face_config(values, f"{source}/{CONFIG}")


def _length(training: Training) -> int:
    """Tokens of a document or an example, on average; a longer text is cut into several documents."""
    amount, most = training.amount, training.values.block_size
    return int(min(most, max(3, amount.tokens / amount.rows))) if amount and amount.rows else min(most, EXAMPLE_TOKENS)


def _step(config: Any, training: Training) -> Callable[[int], int]:
    """An optimizer step on about so many tokens; it returns how many these were."""
    values, device, draw = training.values, fastest_device(), np.random.default_rng(0)
    model = class_of(config, "masked_lm")(config)
    prepare(model)
    model.to(device)
    module = MaskedLM(model, Optimization(values, steps=1))  # in train mode
    optimizer, length = adamw(model, values), _length(training)
    is_labelled, is_half = training.step == FINETUNE, chosen(values.precision) == BF16

    def step(about: int) -> int:
        tokens = max(1, about // length) * length
        rows = pack(np.full(tokens // length, length), values.block_size)
        ids = torch.from_numpy(draw.integers(config.vocab_size, size=tokens))
        share = 1 / length if is_labelled else values.predicted_share
        places = torch.from_numpy(np.sort(draw.choice(tokens, max(1, round(tokens * share)), replace=False)))
        counts = {"tokens": tokens, "chosen": len(places)}
        batch = MaskedBatch(rows, ids, places, ids[places], counts=counts).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=is_half):
            if is_labelled:  # a head costs next to nothing
                loss = encode(model.base_model, batch.rows, Tokens(batch.ids), batch.chosen).float().square().mean()
            else:
                loss = module.training_step(batch, 0)  # type: ignore[assignment]
            torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), values.clip_norm)
        optimizer.step()
        optimizer.zero_grad()
        return tokens

    return step


def _tokens_per_second(step: Callable[[int], int], most: int, seconds: float) -> tuple[float, float]:
    """The median of the steps in so many seconds of work, three at least, after three that warm up: the first one of a
    size costs several times as much as those after it; and how much longer they took by the clock. A micro-batch has so
    many tokens at most."""

    def timed(about: int) -> tuple[float, float, int]:
        began, clock = _clock(), time.perf_counter()
        tokens = step(about)
        return max(1e-6, _clock() - began), time.perf_counter() - clock, tokens

    size = min(most, FIRST_TOKENS)
    timed(size)
    took, _, tokens = timed(size)
    size = min(most, max(size, int(tokens / took)))
    step(size)
    steps = [timed(size)]
    while len(steps) < 3 or sum(took for took, *_ in steps) < seconds:
        steps.append(timed(size))
    took, passed, _ = map(sum, zip(*steps, strict=True))
    return median(tokens / took for took, _, tokens in steps), passed / took


def _clock() -> float:
    """Seconds of a GPU, when it has done its work; of a CPU those of this process, for which it does not matter
    how busy the machine is."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time() / torch.get_num_threads()


# ---- what trainings take


class Price(NamedTuple):
    """A step on one text or task from one base: all trainings that are due, of every replicate, seed and trial.

    The minutes are those of one device, of optimizer steps and of the evaluation of fine-tuning.
    """

    step: str
    text: str
    base: str
    trainings: int
    tokens: float
    tflop: float
    minutes: float


def prices(planned: Sequence[Training], due: Collection[str], speeds: Speeds) -> list[Price]:
    """Prices of the stages that are due, in the order of training; none where everything is up to date."""
    priced = []
    for each in planned:
        if count := sum(stage in due for stage in each.stages):
            is_labelled, amount = each.step == FINETUNE, each.amount
            runs, full_runs = _runs(each) if is_labelled else (1, 1.0)
            tokens = count * full_runs * (each.tokens or 0)
            read = tokens
            if is_labelled and amount is not None:  # dev after each epoch, and test once
                evaluated = math.ceil(each.values.epochs) * amount.dev + amount.test
                read += count * runs * evaluated / BACKWARD
            minutes = read / speeds.tokens[each.base, is_labelled] / 60
            name = f"{each.text}, {each.entry.arm}" if each.entry.has_own_values else each.text
            # [CLS] and [SEP] of short texts are counted as if they were masked.
            rows = amount.rows * tokens / amount.tokens if amount and amount.tokens else 0
            masked = 0 if is_labelled else round(tokens * each.values.predicted_share)
            config, block = speeds.configs[each.base], each.values.block_size
            flop = training_flop(config, round(tokens), block, round(rows) if is_labelled else masked, masked)
            priced.append(Price(each.step, name, each.base, count * runs, tokens, flop / 1e12, minutes))
    return priced


def minutes(planned: Sequence[Training], priced: Sequence[Price], due: Collection[str], speeds: Speeds) -> float:
    """Minutes of the recipe: texts are prepared; then stages of one kind run side by side, one kind after another, and
    each has to start."""
    texts = {
        (each.text, each.base): each.amount.tokens for each in planned if each.amount and f"tokenize@{each.base}" in due
    }
    total = sum(texts.values()) / PREPARED * speeds.start / 60
    for kind, count in Counter(stage.partition("@")[0] for stage in due).items():
        trained = sum(each.minutes for each in priced if each.step == kind)
        total += (trained + count * speeds.start / 60) / min(count, speeds.jobs)
    return total


def about(total: float, speeds: Speeds) -> str:
    """Words for so many minutes of an idle machine, and for those beside the processes that are busy now."""
    alone = duration(60 * total)
    if speeds.busy < 0.5 or speeds.slower < 1.2:
        return f"{alone} by `make recipe`, where nothing else runs"
    beside = f"{duration(60 * total * speeds.slower)} by `make recipe`"
    return f"{beside} while other processes use {speeds.busy:.1f} cores, as now; {alone} where nothing else runs"


def table(priced: Sequence[Price]) -> Table:
    """Table with the sums in the last row."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("step", "text or task", "base", "trainings", "tokens", "TFLOP", "minutes"):
        shown.add_column(name, justify="left" if name in ("step", "text or task", "base") else "right")
    sums = (sum(figures) for figures in zip(*(each[3:] for each in priced), strict=True)) if priced else (0, 0, 0, 0)
    for each in [*priced, Price("all", "", "", *sums)]:
        figures = f"{each.trainings:,}", token_count(round(each.tokens)), amount(each.tflop), amount(each.minutes)
        shown.add_row(*each[:3], *figures)
    return shown


def _runs(training: Training) -> tuple[int, float]:
    """Trainings of a cell, and to how many on all its labels they amount.

    A trial of a search with another number of epochs counts as one with the usual number.
    """
    values: Finetune = training.values
    seeds, curve, search = len(values.seeds), values.label_counts or [], values.search
    rows = training.amount.rows if training.amount else 1
    trials = 0 if search is None else search.seeds * search.trials
    shares = sum(min(1.0, count / min(values.labels or rows, rows)) for count in curve)
    return seeds * (1 + len(curve)) + trials, seeds * (1 + shares) + trials


# ---- budgets for so many minutes


class Budgets:
    """Budgets of one recipe with values, all of which is due; `planned` is trained with those that nobody limits."""

    def __init__(self, recipe: Callable[[Values], Recipe], values: Values, amounts: Amounts) -> None:
        self._recipe, self._amounts, first = recipe, amounts, recipe(values)
        self._bases, self._plan = first.bases, plan_file.expand(first)
        self._due = plan_file.stages_of(self._plan)
        self.planned = self.trainings(values)
        self.speeds = measured(first, self.planned, FEWER_SECONDS)

    def minutes(self, values: Values) -> float:
        """Minutes of the whole recipe."""
        planned = self.trainings(values)
        return minutes(planned, prices(planned, self._due, self.speeds), self._due, self.speeds)

    def within(self, minutes: float, values: Values, *, fewer_labels: bool = False) -> Values:
        """The values with which it takes so long at most; if none are, those with which it takes least.

        No step before fine-tuning gets more tokens than a limit, which falls to where they are steps enough; after it
        labels.
        """
        usual = values
        for cut in [*((share, 1.0) for share in SHARES), *((0.0, share) for share in SHARES if fewer_labels)]:
            if self.minutes(values) <= minutes:
                break
            values = self._scaled(usual, *cut)
        return values

    def trainings(self, values: Values) -> list[Training]:
        """What is trained with these values."""
        return workload.trainings(self._recipe(values), self._plan, self._amounts)

    def _scaled(self, values: Values, tokens: float, labels: float) -> Values:
        """Values with these shares of the largest budget and of the labels; what is enough now stays enough."""
        scaled = {step: dict(each) for step, each in values.items()}
        limit = tokens * max(map(_budget, self.planned))
        for each in self.planned:
            if each.step == FINETUNE and labels < 1 and each.amount is not None:
                every = each.amount.rows
                least = steps_to_learn(each.amount.classes) * each.values.global_batch_size / each.values.epochs
                rows = _rounded_up(max(min(least, every), labels * every))
                scaled[FINETUNE] |= {"labels": rows} if rows < every else {}
            elif _budget(each) and (each.step, each.text) != (DOMAIN_TRANSFER, GENERAL):  # it gets what the domain gets
                batch = max(fitting.SMALLEST_BATCH, each.values.block_size)
                least = fitting.ENOUGH_STEPS * batch
                if each.step == PRETRAIN and self._bases[each.base].is_random:
                    least = fitting.FEWEST_RANDOM_TOKENS
                rounded = _rounded_up(min(_budget(each), max(least, limit)))
                size = max(batch, fitting.batch(rounded, each.values.global_batch_tokens))
                batches = {fitting.BATCH: size} if size < each.values.global_batch_tokens else {}
                scaled[each.step] |= {"tokens": rounded, **batches}
        return scaled


def _budget(training: Training) -> float:
    """Tokens of masked-language modelling, without those that warm up its head."""
    if training.step == FINETUNE or not training.tokens:
        return 0.0
    return float(training.tokens - training.values.head_warmup_steps * training.values.global_batch_tokens)


def _rounded_up(number: float) -> int:
    """The number rounded up to two digits."""
    unit = 10 ** max(0, len(str(int(number))) - 2)
    return int(-(-number // unit) * unit)
