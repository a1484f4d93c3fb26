"""`adaptbert plan --price`: tokens, operations and minutes of each step that is due, at the speed measured here.

Operations follow from budgets, batches and examples. Minutes follow from them at the speed of some steps of one
training, and of some steps of fine-tuning, whose small batches run at another speed. The trainers of the stages do
these steps, in a folder that is removed at the end; no test row is read.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rich import box
from rich.table import Table

from adaptbert.codes import Code
from adaptbert.config.plan import FINETUNE, PRETRAIN, SCRATCH, Entry, Plan
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import DOMAIN_TRANSFER, GENERAL, TRANSFERS
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.core.files import make_folder
from adaptbert.data.task_description import FILE
from adaptbert.errors import BadData
from adaptbert.mlm.masked_lm import MaskedBatches
from adaptbert.mlm.step import Step, optimizer_steps, train
from adaptbert.model.checkpoint import Checkpoint, random_weights, save
from adaptbert.model.checkpoint_files import Provenance
from adaptbert.model.device import chosen as precision_of
from adaptbert.model.flops import training_flop
from adaptbert.project.amounts import VALIDATED
from adaptbert.project.dvc_files import due
from adaptbert.report.language import amount
from adaptbert.runtime.locks import ROOT
from adaptbert.runtime.mlflow import Run
from adaptbert.tasks.seed_run import SeedRun, TaskRun, flop_of, train_seed
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.training import ranks
from adaptbert.training.resume import Work
from adaptbert.training.savepoints import Savepoints

WARM_UP = 5
"""Steps that do not count, because kernels are compiled and memory is taken in them."""
SAMPLED = 50
"""About so many micro-batches of a training are read, evenly over it, to count what is masked."""
TOKENIZED = Path("data/tokenized")


class Price(NamedTuple):
    """A step on one text or task from one base: all trainings that are due, of every replicate, seed and trial.

    The minutes are those of one device and of optimizer steps alone.
    """

    step: str
    text: str
    base: str
    trainings: int
    tokens: float
    tflop: float
    minutes: float


def prices(recipe: Recipe, plan: Plan, steps: int) -> list[Price]:
    """In the order of training, base by base; none where everything is up to date.

    Args:
        steps: optimizer steps that a speed is measured on.

    Raises:
        BadData: a text is not tokenised yet, a task not validated, or DVC cannot say what is due.
    """
    make_folder(ROOT)
    pending = {stage.replace("@", "/") for stage in due().stages}
    with TemporaryDirectory(dir=ROOT, prefix="price-") as folder:
        benches = [_Bench(recipe, plan, pending, base, steps, Path(folder)) for base in recipe.bases]
        # All have checked their inputs.
        return [price for bench in benches for price in (*bench.transfers(), *bench.cells())]


def table(priced: Sequence[Price]) -> Table:
    """With the sums in the last row."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("step", "text or task", "base", "trainings", "tokens", "TFLOP", "minutes"):
        shown.add_column(name, justify="left" if name in ("step", "text or task", "base") else "right")
    sums = (sum(figures) for figures in zip(*(each[3:] for each in priced), strict=True)) if priced else (0, 0, 0, 0)
    for each in [*priced, Price("all", "", "", *sums)]:
        figures = f"{each.trainings:,}", f"{each.tokens:,.0f}", amount(each.tflop), amount(each.minutes)
        shown.add_row(*each[:3], *figures)
    return shown


class _Speedometer(Run):
    """A run that nobody keeps, but for the speed of training at its last step, pauses left out."""

    tokens_per_second = 0.0

    def log_metrics(self, metrics: Mapping[str, float], step: int = 0) -> None:
        self.tokens_per_second = metrics.get("train/tokens_per_second", self.tokens_per_second)


class _Bench:
    """What is due of one base.

    Args:
        plan: of all bases.
        pending: checkpoints and cells that are due, of all bases.
        work: a folder that is removed at the end.
    """

    def __init__(self, recipe: Recipe, plan: Plan, pending: Set[str], base: str, steps: int, work: Path) -> None:
        self.recipe, self.pending, self.base, self.steps, self.work = recipe, pending, base, steps, work
        self.tokenized = TOKENIZED / base
        self.due: dict[tuple[str, Path], list[Entry]] = {}
        """Checkpoints by step and text: all of a step on one text have one price."""
        for stage in (PRETRAIN, *TRANSFERS) if recipe.has_general_text else TRANSFERS:
            for entry in self._pending(plan, stage):
                self.due.setdefault((stage, self._text(entry)), []).append(entry)
        self.due_cells: dict[tuple[str, str], list[Entry]] = {}
        """Cells of a task have one price; those of an arm with values of its own another."""
        for cell in self._pending(plan, FINETUNE):
            self.due_cells.setdefault((cell.task, cell.arm if cell.has_own_values else ""), []).append(cell)
        needed = [*(text for _, text in self.due), *(self._heldout(text) for _, text in self.due)]
        if recipe.has_general_text:
            needed.append(self.tokenized / "corpora" / GENERAL)
        if not all((folder / "corpus.json").is_file() for folder in needed):
            problem, remedy = "the text of this base is not tokenised, or not all of it", f"dvc repro tokenize@{base}"
            raise BadData(Code.NO_TOKENIZED_TEXT, self.tokenized, problem, f"run `{remedy}` first")
        for task, _ in self.due_cells:
            folder = VALIDATED / task
            if not all((folder / name).is_file() for name in (FILE, "train.parquet", "dev.parquet")):
                problem = "the rows of this task are not validated, or not all of them"
                raise BadData(Code.NO_TOKENIZED_TEXT, folder, problem, "run `dvc repro validate` first")
        self.checkpoint = self._checkpoint()

    def _pending(self, plan: Plan, stage: str) -> list[Entry]:
        return [
            each
            for key, each in plan.table(stage).items()
            if each.base == self.base and f"{stage}/{key}" in self.pending
        ]

    def transfers(self) -> Iterator[Price]:
        """Each step on each text; general pre-training may have no budget."""
        values = {key: self.recipe.values(key[0], entries[0].names()) for key, entries in self.due.items()}
        planned = {key: each for key in self.due if (each := self._planned(*key, values[key]))[0]}
        if not planned:
            return
        *_, (stage, text) = planned
        speed = self._speed(text, values[stage, text])
        for key, (tokens, row, masked) in planned.items():
            trainings = len(self.due[key])
            tflop = trainings * self._tflop(tokens, row, masked)
            yield Price(key[0], key[1].name, self.base, trainings, trainings * tokens, tflop, tflop / speed)

    def cells(self) -> Iterator[Price]:
        """Each task, and each arm with values of its own."""
        speed = None
        for (task, arm), cells in self.due_cells.items():
            values = self.recipe.values(FINETUNE, cells[0].names())
            values = values.model_copy(update={"precision": precision_of(values.precision)})
            request, labels = self._request(task, values)
            speed = self._speed_of_tasks(request) if speed is None else speed
            # Each example once an epoch.
            epochs = request.steps * values.global_batch_size / len(request.train.examples)
            sizes = {"tokens": len(request.train.examples.ids), "places": len(request.train.examples.places)}
            runs, full_runs = _runs(values, labels)
            passes = len(cells) * full_runs * epochs
            tflop = passes * flop_of(values, self.checkpoint.config(), sizes) / 1e12
            name = task if not arm else f"{task}, {arm}"
            yield Price(FINETUNE, name, self.base, len(cells) * runs, passes * sizes["tokens"], tflop, tflop / speed)

    def _text(self, entry: Entry) -> Path:
        """The tokenised text that a checkpoint is trained on, without replay."""
        return self.tokenized / ("tasks" if entry.task else "corpora") / (entry.task or entry.corpus or GENERAL)

    def _heldout(self, text: Path) -> Path:
        return self.tokenized / "heldout" / text.name

    def _checkpoint(self) -> Checkpoint:
        """That after general pre-training if it is up to date, else what `pretrain` begins with."""
        folder = Path("models") / PRETRAIN / self.base
        if f"{PRETRAIN}/{self.base}" not in self.pending and folder.is_dir():
            return Checkpoint.load(folder)
        weights = self.recipe.bases[self.base]
        words = Path("data/tokenizer") / self.base
        tokenizer = Tokenizer.load(words)
        if weights.is_random:
            config = random_weights(weights, tokenizer.size, tokenizer.pad)
            untrained = Provenance(stage=PRETRAIN, checkpoint=f"{SCRATCH}/{self.base}", params={}, init=None)
            save(self.work / self.base, config, tokenizer, untrained)
            return Checkpoint.load(self.work / self.base)
        return Checkpoint.of(weights).extended(tokenizer, words)

    def _tflop(self, tokens: int, row: float, masked: float) -> float:
        decoded = round(tokens * masked)
        return training_flop(self.checkpoint.config(), tokens, row, decoded, decoded) / 1e12

    def _planned(self, stage: str, text: Path, values: Any) -> tuple[int, float, float]:
        """Tokens of the whole budget, those of a packed row, and the share of all that is masked."""
        corpus = TokenizedCorpus.load(text)
        if stage == DOMAIN_TRANSFER and text.name != GENERAL and values.replay_fraction:
            replay = TokenizedCorpus.load(self.tokenized / "corpora" / GENERAL)
            corpus = corpus.mixed_with(replay, values.replay_fraction, self.recipe.seed)
        longest = min(values.block_size, self.checkpoint.longest)
        batches = MaskedBatches.of(values, corpus, self.checkpoint.tokenizer, longest, self.recipe.seed)
        tokens = (values.head_warmup_steps + optimizer_steps(values, corpus.tokens)) * values.global_batch_tokens
        # [CLS] and [SEP] are never masked, which short texts have many of: the share is that of some micro-batches.
        count = tokens // values.micro_batch_tokens
        read = [batches(k).counts for k in range(0, count, max(1, count // SAMPLED))]
        masked = sum(each["chosen"] for each in read) / max(1, sum(each["tokens"] for each in read))
        return tokens, float(values.block_size), masked

    def _speed(self, text: Path, values: Any) -> float:
        """TFLOP that a device does in a minute of masked-language modelling."""
        measure, heldout = self.recipe.values("measure", {"base": self.base}), [self._heldout(text)]
        speed = _Speedometer()
        for steps in (WARM_UP, self.steps):
            budget = {"tokens": None, "passes": None, "steps": steps}
            changes = {**budget, "head_warmup_steps": 0, "measurements": 1}
            short, corpus = values.model_copy(update=changes), TokenizedCorpus.load(text)
            # As domain transfer, so that what is known of these weights is not measured again.
            trial = Step(DOMAIN_TRANSFER, self.checkpoint, corpus, short, measure, self.recipe.seed, heldout)
            with TemporaryDirectory(dir=self.work) as folder:
                trained = train(trial, f"trial of {text.name}", Work(Path(folder), ""), speed)
        counts = trained.counts
        world = ranks.count(values.global_batch_tokens // values.micro_batch_tokens)
        minutes = world * counts["tokens"] / speed.tokens_per_second / 60
        return self._tflop(trained.metrics.tokens, values.block_size, counts["chosen"] / counts["tokens"]) / minutes

    def _request(self, task: str, values: Finetune) -> tuple[SeedRun, int]:
        """The inputs of the first seed, and how many labels it has."""
        run = TaskRun(f"trial of {task}", task, "", self.checkpoint, values, VALIDATED / task)
        return run.of(values.seeds[0]), run.labels

    def _speed_of_tasks(self, request: SeedRun) -> float:
        """TFLOP that a device does in a minute of fine-tuning."""
        speed = _Speedometer()
        for steps in (WARM_UP, self.steps):
            epochs = steps * request.params.global_batch_size / len(request.train.examples)
            changes = {"epochs": epochs, "early_stopping": None}
            short = replace(request, params=request.params.model_copy(update=changes))
            with TemporaryDirectory(dir=self.work) as folder:
                trained = train_seed(short, Savepoints(Path(folder)), speed)
        counts = trained.fitted.counts
        minutes = ranks.count(request.accumulate) * counts["tokens"] / speed.tokens_per_second / 60
        return flop_of(request.params, trained.model.config, counts) / 1e12 / minutes


def _runs(values: Finetune, labels: int) -> tuple[int, float]:
    """Trainings of a cell, and to how many on all its labels they amount.

    A trial of a search with another number of epochs counts as one with the usual number.
    """
    seeds, curve, search = len(values.seeds), values.label_counts or [], values.search
    trials = 0 if search is None else search.seeds * search.trials
    shares = sum(min(1.0, count / labels) for count in curve)
    return seeds * (1 + len(curve)) + trials, seeds * (1 + shares) + trials
