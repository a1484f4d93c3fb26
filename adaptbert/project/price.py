"""`adaptbert price`: tokens, operations and minutes of each step that is not trained yet, at the speed measured here.

The operations of a rung follow from its own batches, and its minutes from the speed of some steps of one rung. Each
task is fine-tuned for some steps, because its rows and its head decide how fast that is. The trainers of the stages do
that, in a folder that is removed at the end; no test row is read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rich import box
from rich.table import Table

from adaptbert.base import expansion
from adaptbert.base.expansion import DOMAIN_TRANSFER, PRETRAIN, SCRATCH, TASK_TRANSFER, Expansion
from adaptbert.base.files import make_folder
from adaptbert.base.ladder import ALL, GENERAL
from adaptbert.base.start import StartConfig
from adaptbert.codes import Code
from adaptbert.comparison.amounts import amount
from adaptbert.errors import BadData, BadParams, nearest
from adaptbert.finetuning.cell_config import CellConfig
from adaptbert.finetuning.seed_inputs import HeldOutRows, SeedInputs, SeedRun, flop_of
from adaptbert.finetuning.seed_run import train_seed
from adaptbert.finetuning.tasks.shapes import shape_of
from adaptbert.model.card import Provenance
from adaptbert.model.checkpoint import Checkpoint, save
from adaptbert.model.flops import training_flop
from adaptbert.model.precision import chosen as precision_of
from adaptbert.pretraining.batch_schedule import BatchSchedule
from adaptbert.pretraining.heldout_evaluation import MeasureConfig
from adaptbert.pretraining.rung import RungRun, train_rung
from adaptbert.rows import labelled_set
from adaptbert.rows.task_description import TaskDescription
from adaptbert.runtime.locks import ROOT
from adaptbert.runtime.params import expanded_ladder, params_file
from adaptbert.runtime.params.all_sections import check_all
from adaptbert.runtime.stage import PARAMS
from adaptbert.runtime.tracking.run import Run
from adaptbert.tokenization.store.tokenized_corpus import TokenizedCorpus
from adaptbert.tokenization.store.tokenizer import Tokenizer
from adaptbert.training import distributed
from adaptbert.training.document_stream import BudgetConfig
from adaptbert.training.resume import Work
from adaptbert.training.savepoints import Savepoints

WARM_UP, STEPS_OF_TASK = 5, 20
"""Steps that do not count, because kernels are compiled and memory is taken in them; steps of a task that do."""
FINETUNE = "finetune"
TOKENIZED, VALIDATED = Path("data/tokenized"), Path("data/validated")


@dataclass(frozen=True)
class OneStart:
    """The project as one start sees it.

    Attributes:
        document: params.yaml, valid.
        ladder: of all starts.
    """

    document: Mapping[str, Any]
    ladder: Expansion
    start: str

    @property
    def seed(self) -> int:
        return int(self.document["seed"])

    @property
    def tokenized(self) -> Path:
        return TOKENIZED / self.start

    def parsed(self, kind: type[Any], place: str) -> Any:
        """A section that is read as it stands."""
        return params_file.parse(kind, params_file.section(self.document, place, PARAMS), place, PARAMS)

    def values(self, stage: str, entry: Any) -> Any:
        """The values of a stage that are in force for an entry of ladder.yaml, typed as the stage has them."""
        return import_module(f"stages.{stage}").STAGE.params_of(self.document, entry.names(), PARAMS)

    def rungs(self) -> dict[str, Any]:
        """`<stage>/<key>` -> its entry in ladder.yaml: the trained rungs of this start, the lower ones first."""
        stages = (PRETRAIN, DOMAIN_TRANSFER, TASK_TRANSFER)
        entries = {f"{stage}/{key}": each for stage in stages for key, each in getattr(self.ladder, stage).items()}
        return {folder: entry for folder, entry in entries.items() if entry.start == self.start}

    def text(self, rung: str) -> Path:
        """The tokenised text that a rung is trained on, without replay."""
        stage, entry = rung.partition("/")[0], self.rungs()[rung]
        if stage == TASK_TRANSFER:
            return self.tokenized / "tasks" / str(entry.task)
        return self.tokenized / "corpora" / (GENERAL if stage == PRETRAIN else str(entry.corpus))

    def rung_values(self, rung: str) -> Any:
        return self.values(rung.partition("/")[0], self.rungs()[rung])


def tokenized_start(start: str | None) -> OneStart:
    """The project as a start sees it.

    Args:
        start: None: the only one.

    Raises:
        BadParams: params.yaml is wrong or ladder.yaml older; there is no such start, or several and none is named.
        BadData: the text of the start is not tokenised yet.
    """
    document = params_file.read(PARAMS)
    check_all(document, PARAMS)
    expanded_ladder.check(document, PARAMS)
    starts = list(document["ladder"]["starts"])
    if start is None and len(starts) > 1:
        problem = f"there are {len(starts)} starts: {', '.join(starts)}"
        raise BadParams(Code.UNKNOWN_KEY, "--start", problem, f"name one: adaptbert price --start {starts[0]}")
    name = starts[0] if start is None else start
    if name not in starts:
        problem = f"no start '{name}'{nearest(name, starts)}"
        raise BadParams(Code.UNKNOWN_KEY, "--start", problem, f"{PARAMS} has {', '.join(starts)}")
    read = OneStart(document, expansion.read(), name)
    needed = [read.tokenized / kind / GENERAL for kind in ("heldout", "corpora")]
    if any(not (folder / "corpus.json").is_file() for folder in (*needed, *map(read.text, read.rungs()))):
        problem = "the text of this start is not tokenised, or not all of it"
        raise BadData(Code.NO_TOKENIZED_TEXT, read.tokenized, problem, f"run `dvc repro tokenize@{name}` first")
    return read


class Price(NamedTuple):
    """A step on one text or task: all trainings of it that are not there yet, of every draw, seed and trial.

    The minutes are those of one device and of optimizer steps alone.
    """

    step: str
    text: str
    trainings: int
    tokens: float
    tflop: float
    minutes: float


def prices(inputs: OneStart, steps: int) -> list[Price]:
    """In the order of training; none where everything is trained.

    Args:
        steps: optimizer steps that the speed of rungs is measured on.
    """
    make_folder(ROOT)
    with TemporaryDirectory(dir=ROOT, prefix="price-") as folder:
        bench = _Bench(inputs, _checkpoint(inputs, Path(folder)), Path(folder))
        return [*bench.rungs(steps), *bench.cells()]


def table(priced: Sequence[Price]) -> Table:
    """With the sums in the last row."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("step", "text or task", "trainings", "tokens", "TFLOP", "minutes"):
        shown.add_column(name, justify="left" if name in ("step", "text or task") else "right")
    trainings, tokens = sum(each.trainings for each in priced), sum(each.tokens for each in priced)
    total = Price(
        "all", "", trainings, tokens, sum(each.tflop for each in priced), sum(each.minutes for each in priced)
    )
    for each in [*priced, total]:
        figures = f"{each.trainings:,}", f"{each.tokens:,.0f}", amount(each.tflop), amount(each.minutes)
        shown.add_row(each.step, each.text, *figures)
    return shown


def _checkpoint(inputs: OneStart, work: Path) -> Checkpoint:
    """The general rung of the start if it is there, else what `pretrain` begins with."""
    start, rung = inputs.start, Path("models") / PRETRAIN / inputs.start
    if _is_trained(f"{PRETRAIN}/{start}") and rung.is_dir():
        return Checkpoint.load(rung)
    weights = inputs.parsed(StartConfig, f"ladder.starts.{start}")
    words = Path("data/tokenizer") / start
    tokenizer = Tokenizer.load(words)
    if weights.encoder is not None:
        config = weights.encoder.hugging_face(tokenizer.size, tokenizer.pad)
        untrained = Provenance(stage=PRETRAIN, rung=f"{SCRATCH}/{start}", params={}, init=None)
        save(work / SCRATCH, config, tokenizer, untrained)
        return Checkpoint.load(work / SCRATCH)
    init = Path(inputs.ladder.pretrain[start].init)
    public = Checkpoint.load(init) if weights.is_folder else Checkpoint.from_hub(weights.init, weights.hub_revision)
    return public.extended(tokenizer, words)


class _Speedometer(Run):
    """A run that nobody keeps, but for the speed of training at its last step, pauses left out."""

    tokens_per_second = 0.0

    def log_metrics(self, metrics: Mapping[str, float], step: int = 0) -> None:
        self.tokens_per_second = metrics.get("train/tokens_per_second", self.tokens_per_second)


@dataclass(frozen=True)
class _Bench:
    inputs: OneStart
    checkpoint: Checkpoint
    work: Path

    def rungs(self, steps: int) -> Iterator[Price]:
        """All rungs of a step on one text have one price."""
        alike: dict[tuple[str, str], list[str]] = {}
        for rung in self.inputs.rungs():
            if not _is_trained(rung):
                alike.setdefault((rung.partition("/")[0], self.inputs.text(rung).name), []).append(rung)
        planned = {key: (rungs, *self._planned(rungs[0])) for key, rungs in alike.items()}
        planned = {key: each for key, each in planned.items() if each[1]}  # general pre-training may have no budget
        if not planned:
            return
        tried, *_, usual = [*planned.values()][-1]
        self._trial(tried[0], WARM_UP)
        masked, speed = self._trial(tried[0], steps)
        for key, (rungs, tokens, row, probability) in planned.items():
            tflop = len(rungs) * self._tflop(tokens, row, masked * probability / usual)
            yield Price(*key, len(rungs), len(rungs) * tokens, tflop, tflop / speed / 60)

    def _tflop(self, tokens: int, row: float, masked: float) -> float:
        decoded = round(tokens * masked)
        return training_flop(self.checkpoint.config(), tokens, row, decoded, decoded) / 1e12

    def _planned(self, rung: str) -> tuple[int, float, float]:
        """Tokens of the whole budget of a rung, and of a packed row; the chance of a token to be masked."""
        values, corpus = self.inputs.rung_values(rung), TokenizedCorpus.load(self.inputs.text(rung))
        if rung.startswith(f"{DOMAIN_TRANSFER}/") and values.budget.passes is not None:
            if values.draw_text:
                corpus = corpus.half(self.inputs.seed)
            if corpus.texts[0]["name"] != GENERAL:
                replay = TokenizedCorpus.load(self.inputs.tokenized / "corpora" / GENERAL)
                corpus = corpus.mixed_with(replay, values.replay_fraction, self.inputs.seed)
        room = min(values.block_size, self.checkpoint.config().max_position_embeddings)
        schedule = BatchSchedule.of(corpus, values, self.checkpoint.tokenizer, room, self.inputs.seed)
        return schedule.steps * values.global_batch_tokens, schedule.row, values.masking.probability

    def _trial(self, rung: str, steps: int) -> tuple[float, float]:
        """The share of tokens that were masked, and the TFLOP that a device does in a second."""
        changes = {"budget": BudgetConfig(steps=steps), "head_warmup_steps": 0, "lengths": None, "measurements": 1}
        values, speed = self.inputs.rung_values(rung).model_copy(update=changes), _Speedometer()
        corpus, heldout = TokenizedCorpus.load(self.inputs.text(rung)), [self.inputs.tokenized / "heldout" / GENERAL]
        # As a rung of domain transfer, so that what is known of these weights is not measured again.
        names, measure = (DOMAIN_TRANSFER, f"trial of {rung}"), self.inputs.parsed(MeasureConfig, "measure")
        trial = RungRun(*names, self.checkpoint, corpus, values, measure, self.inputs.seed, heldout)
        with TemporaryDirectory(dir=self.work) as folder:
            trained = train_rung(trial, Work(Path(folder), ()), speed)
        counts = trained.fitted.counts
        masked = counts["chosen"] / counts["tokens"]
        world = distributed.count(values.global_batch_tokens // values.micro_batch_tokens)
        seconds = world * counts["tokens"] / speed.tokens_per_second
        return masked, self._tflop(trained.tokens, trained.row, masked) / seconds

    def cells(self) -> Iterator[Price]:
        """Cells of a task have one price; those of an arm with values of its own another."""
        alike: dict[tuple[str, str], list[Any]] = {}
        for key, cell in self.inputs.ladder.finetune.items():
            if cell.start == self.inputs.start and not _is_trained(f"{FINETUNE}/{key}"):
                alike.setdefault((cell.task, cell.of_arm), []).append(cell)
        for (task, arm), cells in alike.items():
            values = self.inputs.values(FINETUNE, cells[0])
            values = values.model_copy(update={"precision": precision_of(values.precision)})
            print(f"timing the fine-tuning of {task}: {WARM_UP} steps, then {STEPS_OF_TASK} that count", flush=True)
            request = self._request(task, values)
            self._fine_tune(request, WARM_UP)
            figures = self._fine_tune(request, STEPS_OF_TASK)
            runs, full_runs = _runs(values, labelled_set.used(_train(task), values.labels))
            of_steps = (each * len(cells) * full_runs * request.steps for each in figures)
            yield Price(FINETUNE, task if arm == ALL else f"{task}, {arm}", len(cells) * runs, *of_steps)

    def _request(self, task: str, values: CellConfig) -> SeedRun:
        """The inputs of the first seed."""
        folder, tokenizer = VALIDATED / "tasks" / task, self.checkpoint.tokenizer
        described = TaskDescription.read(folder)
        shape = shape_of(described, values.options())
        held_out = HeldOutRows(folder, lambda rows: shape.examples(rows, tokenizer, values.max_length))
        return SeedInputs(self.checkpoint, described, _train(task), held_out).of(values.seeds[0], values)

    def _fine_tune(self, request: SeedRun, steps: int) -> tuple[float, float, float]:
        """Tokens, TFLOP and device-minutes of a step of the whole encoder."""
        epochs = steps * request.params.global_batch_size / len(request.examples)
        changes = {"epochs": epochs, "early_stopping": None, "gradual_unfreezing": None}
        params, speed = request.params.model_copy(update=changes), _Speedometer()
        short = SeedRun(request.start, params, request.shape, request.examples, request.held_out)
        with TemporaryDirectory(dir=self.work) as folder:
            trained = train_seed(short, params.seeds[0], Savepoints(Path(folder)), speed)
        counts = trained.fitted.counts
        tflop = flop_of(request.params, trained.model.config, counts) / 1e12
        minutes = distributed.count(request.accumulate) * counts["tokens"] / speed.tokens_per_second / 60
        return counts["tokens"] / short.steps, tflop / short.steps, minutes / short.steps


def _is_trained(output: str) -> bool:
    """Whether a rung or cell, `<stage>/<key>`, has its metrics, which its stage writes last."""
    return Path(f"metrics/{output}.json").is_file()


def _train(task: str) -> list[dict[str, Any]]:
    return labelled_set.split(VALIDATED / "tasks" / task, "train")


def _runs(values: CellConfig, labels: int) -> tuple[int, float]:
    """Trainings of a cell, and to how many on all its labels they amount.

    A trial of a search with another number of epochs counts as one with the usual number.
    """
    seeds, curve, search = len(values.seeds), values.label_counts or [], values.search
    trials = 0 if search is None else search.seeds * search.trials
    shares = sum(min(1.0, count / labels) for count in curve)
    return seeds * (1 + len(curve)) + trials, seeds * (1 + shares) + trials
