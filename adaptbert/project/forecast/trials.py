"""Short trials of masked-language modelling: what some steps on a text teach, and how long a step takes here.

They use the trainer of the rungs with its measures on held-out text, in a folder that is removed at the end.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adaptbert.base.expansion import DOMAIN_TRANSFER, PRETRAIN, TASK_TRANSFER
from adaptbert.base.files import make_folder
from adaptbert.base.ladder import GENERAL
from adaptbert.comparison.forecasts import Gap, Rate
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.flops import training_flop
from adaptbert.pretraining.rung import RungRun, train_rung
from adaptbert.project.one_start import OneStart
from adaptbert.runtime.locks import ROOT
from adaptbert.runtime.tracking.run import Run
from adaptbert.tokenization.store.tokenized_corpus import TokenizedCorpus
from adaptbert.training import distributed
from adaptbert.training.document_stream import BudgetConfig
from adaptbert.training.resume import Work

WARM_UP = 5
"""Steps of a first trial that counts for nothing: kernels are compiled and memory is taken in them."""

Bits = dict[str, float]


class Speedometer(Run):
    """A run that nobody keeps, but for the speed of training at its last step, pauses left out."""

    tokens_per_second = 0.0

    def log_metrics(self, metrics: Mapping[str, float], step: int = 0) -> None:
        self.tokens_per_second = metrics.get("train/tokens_per_second", self.tokens_per_second)


@dataclass(frozen=True)
class Trial:
    """Some steps on a text.

    Attributes:
        before, after: held-out text -> bits per character.
        untrained_head: whether these bits come from a head that was never trained.
        chosen: masked tokens, as a share of all.
        tflop: of its steps.
        seconds: that its steps took, times the devices.
    """

    before: Bits
    after: Bits
    untrained_head: bool
    precision: str
    chosen: float
    tflop: float
    seconds: float


@dataclass(frozen=True)
class Trials:
    """All trials of a start.

    Attributes:
        probability: of masking in them.
        chosen: masked tokens at that probability, as a share of all.
    """

    gaps: list[Gap]
    rate: Rate
    precision: str
    probability: float
    chosen: float


@dataclass(frozen=True)
class Weights:
    """What trials begin from.

    Attributes:
        name: for the user.
        work: a folder for what training writes.
    """

    checkpoint: Checkpoint
    name: str
    is_random: bool
    work: Path


@contextmanager
def weights_of(inputs: OneStart) -> Iterator[Weights]:
    """The general rung of the start if it is there, else what `pretrain` would begin with.

    What is written lies in a folder below .work that is removed after this block.
    """
    make_folder(ROOT)
    with TemporaryDirectory(dir=ROOT, prefix="forecast-") as temporary:
        work = Path(temporary)
        rung = Path("models") / PRETRAIN / inputs.start
        if inputs.is_trained(f"{PRETRAIN}/{inputs.start}") and rung.is_dir():
            yield Weights(Checkpoint.load(rung), rung.as_posix(), False, work)
        else:
            source = inputs.weights
            name = "random weights" if source.is_random else source.init
            yield Weights(_untrained(inputs, work), name, source.is_random, work)


def _untrained(inputs: OneStart, work: Path) -> Checkpoint:
    """The outcome of the stage `pretrain` with a budget of 0."""
    module, start = import_module(f"stages.{PRETRAIN}"), inputs.start
    nothing = {"budget": BudgetConfig(steps=0), "head_warmup_steps": 0}
    module.pretrain(
        inputs.values(PRETRAIN, start=start).model_copy(update=nothing),
        start=start,
        weights=inputs.weights,
        seed=inputs.seed,
        measure=inputs.measure,
        init=Path(inputs.ladder.pretrain[start].init),
        tokenizer=Path("data/tokenizer") / start,
        text=inputs.tokenized / "corpora" / GENERAL,
        heldout=inputs.heldout,
        scratch=work / "scratch",
        out=work / PRETRAIN,
        metrics=work / "metrics.json",
        work=Work(work / "untrained", ()),
        run=Run(),
    )
    return Checkpoint.load(work / PRETRAIN)


def tried_rungs(inputs: OneStart) -> list[str]:
    """A rung for each text that is tried: domain corpora; where there is none, the tasks of task transfer."""
    by_text: dict[str, dict[str, str]] = {DOMAIN_TRANSFER: {}, TASK_TRANSFER: {}}
    for rung in inputs.rungs():
        stage, text = rung.partition("/")[0], inputs.text(rung).name
        if stage in by_text and text != GENERAL:
            by_text[stage].setdefault(text, rung)
    return list((by_text[DOMAIN_TRANSFER] or by_text[TASK_TRANSFER]).values())


def run_trials(inputs: OneStart, weights: Weights, steps: int) -> Trials:
    """Train on each text and as long on general text, from the same weights with the same values.

    Only held-out text is measured: the held-out share of the corpora, the dev split of a task. The test split of a
    task is not tokenised at all.
    """
    rungs = tried_rungs(inputs) or [f"{PRETRAIN}/{inputs.start}"]
    general = inputs.tokenized / "corpora" / GENERAL
    bench = _Bench(inputs, weights, [GENERAL, *(inputs.text(rung).name for rung in rungs)])
    values = inputs.rung_values(rungs[0])
    bench.train(general, _shortened(values, WARM_UP))
    alike, gaps, timed = dict[str, Trial](), list[Gap](), list[Trial]()
    for rung in rungs:
        text, short = inputs.text(rung), _shortened(inputs.rung_values(rung), steps)
        key = short.model_dump_json()
        if key not in alike:
            alike[key] = bench.train(general, short)
            timed.append(alike[key])
        if text != general:
            timed.append(bench.train(text, short))
            gaps.append(_gap(text.name, timed[-1], alike[key], weights))
    seconds, tflop, count = sum(each.seconds for each in timed), sum(each.tflop for each in timed), steps * len(timed)
    stage = rungs[0].partition("/")[0]
    rate = Rate(training=stage, steps=count, seconds_per_step=seconds / count, tflop_per_second=tflop / seconds)
    return Trials(gaps, rate, timed[0].precision, values.masking.probability, timed[0].chosen)


def _gap(text: str, own: Trial, general: Trial, weights: Weights) -> Gap:
    return Gap(
        text=text,
        before=own.before,
        after_own=own.after,
        after_general=general.after,
        meaningless=weights.is_random or own.untrained_head,
    )


def _shortened(values: Any, steps: int) -> Any:
    """The values of a rung for a trial: so many steps on whole documents, measured at the end."""
    changes = {"budget": BudgetConfig(steps=steps), "head_warmup_steps": 0, "lengths": None, "measurements": 1}
    return values.model_copy(update=changes)


@dataclass(frozen=True)
class _Bench:
    """What all trials have in common.

    Attributes:
        heldout: names of the held-out texts that are measured before and after.
    """

    inputs: OneStart
    weights: Weights
    heldout: Sequence[str]

    def train(self, text: Path, values: Any) -> Trial:
        """Train on a text with these values of a rung.

        Args:
            text: folder of the tokenised text.
        """
        heldout = [self.inputs.heldout / name for name in dict.fromkeys(self.heldout)]
        corpus, speed, start = TokenizedCorpus.load(text), Speedometer(), self.weights.checkpoint
        # As a rung of domain transfer, so that what is known of these weights is not measured again.
        stage, name = DOMAIN_TRANSFER, f"trial on {text.name}"
        rung = RungRun(stage, name, start, corpus, values, self.inputs.measure, self.inputs.seed, heldout)
        with TemporaryDirectory(dir=self.weights.work) as folder:
            trained = train_rung(rung, Work(Path(folder), ()), speed)
        counts = trained.fitted.counts
        chosen = counts["chosen"] / counts["tokens"]
        world = distributed.count(values.global_batch_tokens // values.micro_batch_tokens)
        return Trial(
            before={name: measures["bits_per_char"] for name, measures in trained.before.items()},
            after={name: measures["bits_per_char"] for name, measures in trained.after.items()},
            untrained_head=trained.untrained_head is not None,
            precision=str(trained.run.params.precision),
            chosen=chosen,
            tflop=rung_tflop(trained.model.config, trained.tokens, trained.row, chosen),
            seconds=world * counts["tokens"] / speed.tokens_per_second,
        )


def rung_tflop(config: Any, tokens: int, row: float, chosen: float) -> float:
    """10^12 floating-point operations of a rung.

    Args:
        config: of the model.
        row: tokens of a packed row.
        chosen: masked tokens, as a share of all.
    """
    decoded = round(tokens * chosen)
    return training_flop(config, tokens, row, decoded, decoded) / 1e12
