"""`adaptbert price`: tokens, operations and minutes of each step that DVC would train, at the speed measured here.

Operations follow from budgets, batches and examples. Minutes follow from them at the speed of some steps of one rung,
and of some steps of fine-tuning, whose small batches run at another speed. The trainers of the stages do these steps,
in a folder that is removed at the end; no test row is read.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rich import box
from rich.table import Table

from adaptbert.codes import Code
from adaptbert.comparison.amounts import amount
from adaptbert.config import plan as planning
from adaptbert.config import plan_file
from adaptbert.config.plan import DOMAIN_TRANSFER, PRETRAIN, SCRATCH, TASK_TRANSFER, Plan
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.bases import GENERAL
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.core.files import make_folder
from adaptbert.data import labelled_set
from adaptbert.data.task_description import FILE, TaskDescription
from adaptbert.errors import BadData
from adaptbert.mlm.masked_lm import MaskedBatches
from adaptbert.mlm.step import Step, train
from adaptbert.model.checkpoint import Checkpoint, random_weights, save
from adaptbert.model.checkpoint_files import Provenance
from adaptbert.model.flops import training_flop
from adaptbert.model.precision import chosen as precision_of
from adaptbert.runtime.locks import ROOT
from adaptbert.runtime.mlflow import Run
from adaptbert.runtime.stage import checked
from adaptbert.tasks.seed_run import SeedInputs, SeedRun, flop_of, train_seed
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.training import ranks
from adaptbert.training.document_stream import optimizer_steps
from adaptbert.training.resume import Work
from adaptbert.training.savepoints import Savepoints

WARM_UP = 5
"""Steps that do not count, because kernels are compiled and memory is taken in them."""
SAMPLED = 50
"""About so many micro-batches of a rung are read, evenly over it, to count what is masked."""
FINETUNE = "finetune"
TOKENIZED, VALIDATED = Path("data/tokenized"), Path("data/validated")


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


def prices(steps: int) -> list[Price]:
    """In the order of training, base by base; none where everything is up to date.

    Args:
        steps: optimizer steps that a speed is measured on.

    Raises:
        BadParams: params.yaml is wrong or plan.json older.
        BadData: a text is not tokenised yet, a task not validated, or DVC cannot say what is due.
    """
    recipe = checked()
    plan_file.check(recipe)
    make_folder(ROOT)
    plan = planning.read()
    pending = _pending(plan)
    with TemporaryDirectory(dir=ROOT, prefix="price-") as folder:
        benches = [_Bench(recipe, plan, pending, base, steps, Path(folder)) for base in recipe.bases]
        # All have checked their inputs.
        return [price for bench in benches for price in (*bench.rungs(), *bench.cells())]


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


@dataclass
class _Bench:
    """What is due of one start.

    Attributes:
        plan: of all starts.
        pending: rungs and cells that are due, of all starts.
        work: a folder that is removed at the end.
    """

    recipe: Recipe
    plan: Plan
    pending: Set[str]
    start: str
    steps: int
    work: Path

    def __post_init__(self) -> None:
        self.seed = self.recipe.seed
        self.tokenized = TOKENIZED / self.start
        self.due: dict[tuple[str, Path], list[Any]] = {}
        """Rungs by step and text: all of a step on one text have one price."""
        for stage in (PRETRAIN, DOMAIN_TRANSFER, TASK_TRANSFER):
            for key, entry in getattr(self.plan, stage).items():
                if entry.base == self.start and f"{stage}/{key}" in self.pending:
                    self.due.setdefault((stage, self._text(stage, entry)), []).append(entry)
        self.due_cells: dict[tuple[str, str], list[Any]] = {}
        """Cells of a task have one price; those of an arm with values of its own another."""
        for key, cell in self.plan.finetune.items():
            if cell.base == self.start and f"{FINETUNE}/{key}" in self.pending:
                arm = cell.arm if cell.has_own_values else ""
                self.due_cells.setdefault((cell.task, arm), []).append(cell)
        needed = [
            *(self.tokenized / kind / GENERAL for kind in ("heldout", "corpora")),
            *(text for _, text in self.due),
        ]
        if not all((folder / "corpus.json").is_file() for folder in needed):
            problem = "the text of this base is not tokenised, or not all of it"
            raise BadData(
                Code.NO_TOKENIZED_TEXT, self.tokenized, problem, f"run `dvc repro tokenize@{self.start}` first"
            )
        for task, _ in self.due_cells:
            folder = VALIDATED / "tasks" / task
            if not all((folder / name).is_file() for name in (FILE, "train.parquet", "dev.parquet")):
                problem = "the rows of this task are not validated, or not all of them"
                raise BadData(Code.NO_TOKENIZED_TEXT, folder, problem, "run `dvc repro validate` first")
        self.checkpoint = self._checkpoint()

    def rungs(self) -> Iterator[Price]:
        """Each step on each text; general pre-training may have no budget."""
        values = {key: self._values(key[0], entries[0]) for key, entries in self.due.items()}
        planned = {key: self._planned(*key, values[key]) for key in self.due}
        planned = {key: each for key, each in planned.items() if each[0]}
        if not planned:
            return
        *_, (stage, text) = planned
        speed = self._speed(text, values[stage, text])
        for key, (tokens, row, masked) in planned.items():
            trainings = len(self.due[key])
            tflop = trainings * self._tflop(tokens, row, masked)
            yield Price(key[0], key[1].name, self.start, trainings, trainings * tokens, tflop, tflop / speed)

    def cells(self) -> Iterator[Price]:
        """Each task, and each arm with values of its own."""
        speed = None
        for (task, arm), cells in self.due_cells.items():
            values = self._values(FINETUNE, cells[0])
            values = values.model_copy(update={"precision": precision_of(values.precision)})
            request, labels = self._request(task, values)
            speed = self._speed_of_tasks(request) if speed is None else speed
            # Each example once an epoch.
            epochs = request.steps * values.global_batch_size / len(request.examples)
            sizes = {"tokens": len(request.examples.ids), "places": len(request.examples.places)}
            runs, full_runs = _runs(values, labels)
            passes = len(cells) * full_runs * epochs
            tflop = passes * flop_of(values, self.checkpoint.config(), sizes) / 1e12
            name = task if not arm else f"{task}, {arm}"
            yield Price(FINETUNE, name, self.start, len(cells) * runs, passes * sizes["tokens"], tflop, tflop / speed)

    def _values(self, stage: str, entry: Any) -> Any:
        """Those in force for an entry of plan.json."""
        return self.recipe.values(stage, entry.names())

    def _text(self, stage: str, entry: Any) -> Path:
        """The tokenised text that a rung is trained on, without replay."""
        if stage == TASK_TRANSFER:
            return self.tokenized / "tasks" / str(entry.task)
        return self.tokenized / "corpora" / (GENERAL if stage == PRETRAIN else str(entry.corpus))

    def _checkpoint(self) -> Checkpoint:
        """The general rung of the start if it is up to date, else what `pretrain` begins with."""
        rung = Path("models") / PRETRAIN / self.start
        if f"{PRETRAIN}/{self.start}" not in self.pending and rung.is_dir():
            return Checkpoint.load(rung)
        weights = self.recipe.bases[self.start]
        words = Path("data/tokenizer") / self.start
        tokenizer = Tokenizer.load(words)
        if weights.is_random:
            config = random_weights(weights, tokenizer.size, tokenizer.pad)
            untrained = Provenance(stage=PRETRAIN, rung=f"{SCRATCH}/{self.start}", params={}, init=None)
            save(self.work / self.start, config, tokenizer, untrained)
            return Checkpoint.load(self.work / self.start)
        return Checkpoint.of(weights).extended(tokenizer, words)

    def _tflop(self, tokens: int, row: float, masked: float) -> float:
        decoded = round(tokens * masked)
        return training_flop(self.checkpoint.config(), tokens, row, decoded, decoded) / 1e12

    def _planned(self, stage: str, text: Path, values: Any) -> tuple[int, float, float]:
        """Tokens of the whole budget of a rung, those of a packed row, and the share of all that is masked."""
        corpus = TokenizedCorpus.load(text)
        if stage == DOMAIN_TRANSFER and text.name != GENERAL:
            replay = TokenizedCorpus.load(self.tokenized / "corpora" / GENERAL)
            corpus = corpus.mixed_with(replay, values.replay_fraction, self.seed)
        longest = min(values.block_size, self.checkpoint.longest)
        batches = MaskedBatches.of(values, corpus, self.checkpoint.tokenizer, longest, self.seed)
        tokens = (values.head_warmup_steps + optimizer_steps(values, corpus.tokens)) * values.global_batch_tokens
        # [CLS] and [SEP] are never masked, which short texts have many of: the share is that of some micro-batches.
        count = tokens // values.micro_batch_tokens
        read = [batches(k).counts for k in range(0, count, max(1, count // SAMPLED))]
        masked = sum(each["chosen"] for each in read) / max(1, sum(each["tokens"] for each in read))
        return tokens, float(values.block_size), masked

    def _speed(self, text: Path, values: Any) -> float:
        """TFLOP that a device does in a minute of a rung."""
        measure, heldout = self.recipe.values("measure", {"base": self.start}), [self.tokenized / "heldout" / GENERAL]
        speed = _Speedometer()
        for steps in (WARM_UP, self.steps):
            changes = {
                "tokens": None,
                "passes": None,
                "steps": steps,
                "head_warmup_steps": 0,
                "measurements": 1,
            }
            short, corpus = values.model_copy(update=changes), TokenizedCorpus.load(text)
            # As a rung of domain transfer, so that what is known of these weights is not measured again.
            trial = Step(DOMAIN_TRANSFER, self.checkpoint, corpus, short, measure, self.seed, heldout)
            with TemporaryDirectory(dir=self.work) as folder:
                trained = train(trial, f"trial of {text.name}", Work(Path(folder), ""), speed)
        counts = trained.counts
        world = ranks.count(values.global_batch_tokens // values.micro_batch_tokens)
        minutes = world * counts["tokens"] / speed.tokens_per_second / 60
        return self._tflop(trained.metrics.tokens, values.block_size, counts["chosen"] / counts["tokens"]) / minutes

    def _request(self, task: str, values: Finetune) -> tuple[SeedRun, int]:
        """The inputs of the first seed, and how many labels it has."""
        folder = VALIDATED / "tasks" / task
        described, rows = TaskDescription.read(folder), labelled_set.split(folder, "train")
        request = SeedInputs(self.checkpoint, folder, described, rows, values).of(values.seeds[0])
        return request, labelled_set.used(rows, values.labels)

    def _speed_of_tasks(self, request: SeedRun) -> float:
        """TFLOP that a device does in a minute of fine-tuning."""
        speed = _Speedometer()
        for steps in (WARM_UP, self.steps):
            epochs = steps * request.params.global_batch_size / len(request.examples)
            changes = {"epochs": epochs, "early_stopping": None}
            short = replace(request, params=request.params.model_copy(update=changes))
            with TemporaryDirectory(dir=self.work) as folder:
                trained = train_seed(short, Savepoints(Path(folder)), speed)
        counts = trained.fitted.counts
        minutes = ranks.count(request.accumulate) * counts["tokens"] / speed.tokens_per_second / 60
        return flop_of(request.params, trained.model.config, counts) / 1e12 / minutes


def _pending(plan: Plan) -> Set[str]:
    """Rungs and cells, `<stage>/<key>`, that DVC would train: changed, without metrics, or upon another such rung."""
    status = subprocess.run([sys.executable, "-m", "dvc", "status", "--json"], capture_output=True, text=True)
    if status.returncode:
        problem = f"DVC cannot say what is due: {' '.join(status.stderr.split())}"
        raise BadData(Code.DVC, "dvc status", problem, "mend that, then ask for the price again")
    changed, pending = json.loads(status.stdout), set[str]()
    for stage in (PRETRAIN, DOMAIN_TRANSFER, TASK_TRANSFER, FINETUNE):
        for key, entry in getattr(plan, stage).items():
            # `pretrain` writes the random weights of a start, too.
            below = entry.checkpoint.replace(f"{SCRATCH}/", f"{PRETRAIN}/")
            if f"{stage}@{key}" in changed or below in pending or not Path(f"metrics/{stage}/{key}.json").is_file():
                pending.add(f"{stage}/{key}")
    return pending


def _runs(values: Finetune, labels: int) -> tuple[int, float]:
    """Trainings of a cell, and to how many on all its labels they amount.

    A trial of a search with another number of epochs counts as one with the usual number.
    """
    seeds, curve, search = len(values.seeds), values.label_counts or [], values.search
    trials = 0 if search is None else search.seeds * search.trials
    shares = sum(min(1.0, count / labels) for count in curve)
    return seeds * (1 + len(curve)) + trials, seeds * (1 + shares) + trials
