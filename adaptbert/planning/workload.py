"""What a plan trains: how much there is to train on, how long each training is, and which are too short.

Lines of `adaptbert plan`, its notices, and what its prices are made of. Rows, classes and tokens are exact as far as
the stages have validated and tokenised the files as they are now; before, they follow from the files: all rows of small
ones, the first rows of others, and as many as they have lines.
"""

import gzip
import math
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from adaptbert.comparison.training_length import steps_to_learn
from adaptbert.config.plan import FINETUNE, TRAINED, Entry, Plan
from adaptbert.config.recipe import Recipe, budget
from adaptbert.config.schema.bases import DOMAIN_TRANSFER, GENERAL
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.config.schema.mlm import MlmStep
from adaptbert.config.schema.sources import Source, Task
from adaptbert.core.files import read_json
from adaptbert.data import scripts
from adaptbert.data.files import Files
from adaptbert.data.formats import FORMATS, format_of
from adaptbert.data.label_names import of_cell
from adaptbert.data.layout import as_text
from adaptbert.data.task_description import FILE, TaskDescription
from adaptbert.errors import UserError
from adaptbert.planning import fitting
from adaptbert.planning.preflight import ROWS, is_small
from adaptbert.training.document_stream import steps_of

TOKENIZED, VALIDATED = Path("data/tokenized"), Path("data/validated/tasks")
_TOKEN = re.compile(rf"[{scripts.CHINESE}]|[^\W{scripts.CHINESE}]{{1,8}}|[^\w\s]")
"""A token, about: an ideograph, up to eight other letters, or a sign. By the vocabularies of BERT 1 % less than the
tokens of Chinese posts and news, 2 % more than those of English abstracts and news."""
MOST_TIMES = 1.75
"""Most that a step counts: half of one at half the usual learning rate of its base, at a higher rate more, up to so
much: 50 steps at 2.5 times that rate taught nothing."""
FEWEST_MLM_STEPS = 50
"""Steps of masked-language modelling: 12 and 26 steps of 32,768 tokens changed a small checkpoint by 0.01 bits per
character, 211 of 4,096 on the same text by 0.20."""
FULL_STEP = 16_384
"""Tokens of a step of masked-language modelling that takes a GPU as long as its host, with BERT base 30 ms."""
_LONG = 0.1
"""Share of the rows of a task that are longer than the length which is called long."""


# ---- how much there is to train on


class Amount(NamedTuple):
    """Amount of a text, or of the training rows of a task.

    Attributes:
        is_exact: whether the tokens were counted.
        classes: labels of a task, those that were seen; 0: no row has a class.
        shares: of the rows, by each class that they have.
        dev, test: tokens of the other splits of a task.
        test_rows: rows of its test split.
        long: tokens of the shortest of its long rows, about.
    """

    rows: float
    tokens: float
    is_exact: bool = False
    classes: int = 0
    shares: tuple[float, ...] = ()
    dev: float = 0
    test: float = 0
    test_rows: float = 0
    long: int = 0

    def part(self, share: float) -> "Amount":
        """A share of it."""
        return self._replace(rows=self.rows * share, tokens=self.tokens * share)


class Amounts:
    """Amounts of a recipe; each file is read once, and outputs of stages where they can be those of this recipe."""

    def __init__(self, recipe: Recipe, *, with_outputs: bool = True) -> None:
        self.recipe, self._with_outputs = recipe, with_outputs
        self._seen: dict[tuple[str, str], Amount | None] = {}

    def corpus(self, name: str, base: str) -> Amount | None:
        """Amount of a corpus; None where it cannot be read, which `adaptbert check` reports."""
        source = self.recipe.corpora[name]
        if counted := self._output(source.path, TOKENIZED / base / "corpora" / name / "corpus.json", read_json):
            return Amount(counted["texts"], counted["tokens"], True)
        return self._read(source, source.path, "")

    def task(self, name: str, base: str) -> Amount | None:
        """The same of the rows that a task is trained on."""
        task = self.recipe.tasks[name]
        if (amount := self._read(task, task.train, "train")) is None:
            return None
        shares = task.split.shares() if task.split is not None else {}
        dev, test = (
            amount.part(shares[split]) if split in shares else self._read(task, path, split) or Amount(0, 0)
            for split, path in (("dev", task.dev), ("test", task.test))
        )
        amount = amount.part(1 - sum(shares.values()))
        amount = amount._replace(dev=dev.tokens, test=test.tokens, test_rows=test.rows)
        described: TaskDescription | None = self._output(
            task.train, VALIDATED / name / FILE, lambda file: TaskDescription.read(file.parent)
        )
        if described is not None:
            amount = amount._replace(rows=described.rows["train"], classes=len(described.labels))
            if counted := self._output(task.train, TOKENIZED / base / "tasks" / name / "corpus.json", read_json):
                amount = amount._replace(tokens=counted["tokens"], is_exact=True)
        return amount

    def _read(self, source: Source, place: str, split: str) -> Amount | None:
        """Amount by the rows of a file, or of all files of a folder."""
        if (key := (source.key, split)) not in self._seen:
            self._seen[key] = None
            with suppress(UserError, OSError):
                path = Path(place)
                self._seen[key] = _of_rows(Files(path, source, split, None if is_small([path]) else ROWS))
        return self._seen[key]

    def _output(self, source: str, output: Path, read: Callable[[Path], Any]) -> Any:
        """The output of a stage, if it is younger than the file that it was made of."""
        with suppress(OSError, ValueError, KeyError, UserError):  # missing; by an older version
            if self._with_outputs and output.stat().st_mtime >= Path(source).stat().st_mtime:
                return read(output)
        return None


def _of_rows(files: Files) -> Amount | None:
    source, layout, is_whole = files.config, files.layout, files.head is None
    scheme = source.span_scheme if isinstance(source, Task) else None
    rows = tokens = 0.0
    labels, lengths = Counter[str](), list[int]()
    for name, of_file in groupby(files.rows(), lambda row: row.file):
        last, before = 1, len(lengths)
        for row in of_file:
            last = row.line
            if row.problem is None:
                text = " ".join(as_text(row.values[field]) for field in layout.inputs)
                lengths.append(len(_TOKEN.findall(text)) + 2)
                for field in layout.outputs:
                    labels.update({*of_cell(row.values[field], layout, scheme)})
        times = 1 if is_whole else max(1.0, _lines(files.path / name if files.path.is_dir() else files.path) / last)
        rows, tokens = rows + times * (len(lengths) - before), tokens + times * sum(lengths[before:])
    if not rows:
        return None
    known = {*source.labels} if isinstance(source, Task) and source.labels else set()
    shares = tuple(count / len(lengths) for count in labels.values())
    long = sorted(lengths)[int((1 - _LONG) * len(lengths))]
    return Amount(rows, tokens, False, len({*labels} | known), shares, long=long)


def _lines(path: Path) -> int:
    """Lines of a file; for one without lines its rows, where that is known."""
    kind = format_of(path)
    if kind == "parquet":
        import pyarrow.parquet as pq

        return int(pq.read_metadata(path).num_rows)
    if kind is not None and FORMATS[kind].made_of != "lines":
        return 0
    with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


# ---- how long each training is


class Training(NamedTuple):
    """A step on one text or task from one base with some values: all checkpoints or cells of these.

    Attributes:
        entries: key in the plan -> entry.
        values: of its section.
        amount: of its text or task; None where that cannot be read.
        tokens, steps: of one training, or of a cell of one seed on all its labels; None where the text is not known.
    """

    step: str
    text: str
    base: str
    entries: dict[str, Entry]
    values: Any
    amount: Amount | None
    tokens: float | None
    steps: int | None

    @property
    def entry(self) -> Entry:
        """One of them; all have these values."""
        return next(iter(self.entries.values()))

    @property
    def stages(self) -> list[str]:
        """Stages as DVC names them."""
        return [f"{self.step}@{key}" for key in self.entries]

    def __str__(self) -> str:
        if self.step == FINETUNE:
            length = f"{len(self.values.seeds)} seeds of {self.values.epochs:g} epochs"
        elif self.tokens is None or self.steps is None:
            length = "{:,} {}".format(*budget(self.values))
        else:
            is_exact = budget(self.values)[1] != "passes" or (self.amount is not None and self.amount.is_exact)
            tokens = round(self.tokens, 0 if is_exact else 2 - len(str(round(self.tokens))))
            length = f"{'' if is_exact else 'about '}{tokens:,.0f} tokens, {self.steps:,} steps"
            if warmup := self.values.head_warmup_steps:
                length += f", {warmup:,} of them for the head"
            elif self.amount is not None and self.amount.tokens:
                passes = self.tokens / self.amount.tokens
                number = f"{passes:,.0f}" if passes >= 10 else f"{passes:.2g}"
                length += f", {'' if self.amount.is_exact else 'about '}{number} pass{'' if number == '1' else 'es'}"
        return f"{self.step:16} {self.text:16} {self.base:12} {len(self.entries):4} x {length}"


def trainings(recipe: Recipe, plan: Plan, amounts: Amounts) -> list[Training]:
    """Trainings in their order; a checkpoint that is taken as it is has none."""
    by_kind: dict[tuple[str, ...], Training] = {}
    for step in TRAINED:
        for key, entry in plan.table(step).items():
            values, text = recipe.values(step, entry.names()), entry.corpus or entry.task or GENERAL
            kind = (step, text, entry.base, values.model_dump_json())
            if kind not in by_kind and (step == FINETUNE or budget(values)[0] or values.head_warmup_steps):
                amount = (amounts.task if text == entry.task else amounts.corpus)(text, entry.base)
                if step == FINETUNE:
                    length = _of_seed(values, amount)
                else:
                    is_mixed = step == DOMAIN_TRANSFER and entry.beside != text
                    is_control = is_mixed and text == GENERAL
                    of_pass = amounts.corpus(entry.beside, entry.base) if is_control else amount
                    length = _of_step(values, of_pass, is_mixed=is_mixed)
                by_kind[kind] = Training(step, text, entry.base, {}, values, amount, *length)
            if kind in by_kind:
                by_kind[kind].entries[key] = entry
    return [*by_kind.values()]


def _of_step(values: MlmStep, amount: Amount | None, *, is_mixed: bool) -> tuple[float | None, int | None]:
    """Tokens and optimizer steps of masked-language modelling, by the text of which a pass is counted."""
    size, unit = budget(values)
    if unit == "passes" and amount is None:
        return None, None
    tokens: float = size
    if unit == "passes" and amount is not None:
        tokens = size * amount.tokens / (1 - (getattr(values, "replay_fraction", 0.0) if is_mixed else 0.0))
    steps = size if unit == "steps" else steps_of(tokens, values.global_batch_tokens)
    steps += values.head_warmup_steps
    return (tokens if unit == "tokens" and not values.head_warmup_steps else steps * values.global_batch_tokens), steps


def _of_seed(values: Finetune, amount: Amount | None) -> tuple[float | None, int | None]:
    """The same of fine-tuning."""
    if amount is None:
        return None, None
    rows, length = min(values.labels or amount.rows, amount.rows), amount.tokens / amount.rows
    length = length if values.long_text == "windows" else min(length, values.max_length)
    return values.epochs * rows * length, steps_of(values.epochs * rows, values.global_batch_size)


# ---- notices


def notices(recipe: Recipe, planned: Sequence[Training]) -> list[str]:
    """A line for each step on a text that is too short to learn much, one for all in which a GPU would wait, and for
    each task about the shortest of its cells: where one class will be predicted, labels are so few that some classes
    are never shown, or rows are cut."""
    known = [each for each in planned if each.steps is not None]
    steps = [each for each in known if each.step != FINETUNE]
    lines = [*(line for each in steps for line in _few_steps(recipe, each)), *_small_steps(recipe, steps)]
    for task in recipe.tasks:
        cells = [each for each in known if (each.step, each.text) == (FINETUNE, task)]
        if cells:
            shortest = min(cells, key=lambda each: _usual_steps(recipe, each)[0])
            lines += [*_few_labels(recipe, shortest), *_short_fine_tuning(recipe, shortest), *_cut(recipe, shortest)]
    return lines


def _few_steps(recipe: Recipe, training: Training) -> Iterator[str]:
    steps, values = training.steps or 0, training.values
    if steps >= FEWEST_MLM_STEPS:
        return
    place = recipe.place(training.step, training.entry.names(), budget(values)[1])
    batch = values.global_batch_tokens
    smaller = max(fitting.batch(training.tokens or 0, batch), values.block_size)
    or_batch = f", or {_batch_keys(fitting.BATCH, values)}: {smaller:_}" if smaller < batch else ""
    yield (
        f"{place}: {training.text}: {steps:,} step{'' if steps == 1 else 's'} of {batch:,} tokens: too few to learn "
        f"much from; write tokens: {FEWEST_MLM_STEPS * batch:_}{or_batch}"
    )


def _small_steps(recipe: Recipe, known: Sequence[Training]) -> Iterator[str]:
    """One line for all steps that are too small for a GPU of this machine, and could be larger without being few."""
    larger = {}
    for each in known:
        if each.values.global_batch_tokens < (size := fitting.batch(each.tokens or 0, FULL_STEP)):
            place = _batch_keys(str(recipe.place(each.step, each.entry.names(), fitting.BATCH)), each.values)
            larger[place] = f"{place}: {size:_} in place of {each.values.global_batch_tokens:_}"
    if larger and shutil.which("nvidia-smi"):  # torch takes seconds to import: it is asked only beside a driver
        from adaptbert.model.device import fastest_device

        if fastest_device().type == "cuda":
            because = f"a GPU waits for its host in steps of fewer than {FULL_STEP:,} tokens"
            yield f"{because}; larger ones, which train another model: {', '.join(larger.values())}"


def _batch_keys(batch: str, values: MlmStep) -> str:
    """The key of the batch, with all that have to be written for another."""
    return batch if values.micro_batch_tokens is None else f"{batch} and micro_batch_tokens"


def _few_labels(recipe: Recipe, training: Training) -> Iterator[str]:
    amount, labels = training.amount, training.values.labels
    if amount is None or not amount.shares or not 0 < labels < amount.rows:
        return
    shown = sum(1 - (1 - share) ** labels for share in amount.shares)
    if round(shown) < amount.classes:
        place = recipe.place(FINETUNE, training.entry.names(), "labels")
        yield (
            f"{place}: {training.text}: the {labels:,} rows of a seed show about {shown:.0f} of the {amount.classes} "
            "classes that it is scored on; raise labels, or write 0 for all rows"
        )


def _short_fine_tuning(recipe: Recipe, training: Training) -> Iterator[str]:
    values, amount, steps = training.values, training.amount, training.steps or 0
    assert amount is not None  # its steps are known
    enough, few, times = steps_to_learn(amount.classes), *_usual_steps(recipe, training)
    if few >= enough:
        return
    of_classes, short = "", "have hardly begun to learn"
    if amount.classes:
        of_classes, short = f" for {amount.classes} classes", "often predict one class"
    at_rate = "" if times == 1 else f" at {times:.2g} times the usual learning rate"
    or_labels = ", or raise labels" if values.labels and values.labels < amount.rows else ""
    yield (
        f"{recipe.place(FINETUNE, training.entry.names(), 'epochs')}: {training.text}: {steps:,} steps{of_classes}"
        f"{at_rate}: models this short {short}; raise epochs to {math.ceil(values.epochs * enough / few)}{or_labels}"
    )


def _cut(recipe: Recipe, training: Training) -> Iterator[str]:
    """Rows of which the end is not read."""
    amount, values, spec = training.amount, training.values, recipe.tasks[training.text].spec
    if amount is None or amount.long <= values.max_length or "long_text" not in spec.rows.options.model_fields:
        return  # other types of task read long rows in windows
    if values.long_text != "windows":
        place, long = recipe.place(FINETUNE, training.entry.names(), "max_length"), 10 * round(amount.long / 10)
        yield (
            f"{place}: {training.text}: one row in ten has more than about {long:,} tokens, of which "
            f"{values.max_length} are read; for more: docs/how-to/own-task.md#long-documents"
        )


def _usual_steps(recipe: Recipe, training: Training) -> tuple[float, float]:
    """Steps at the usual rate of its base to which those of a fine-tuning amount; and its share of that rate."""
    times = float(training.values.learning_rate) / fitting.usual_rate(FINETUNE, recipe.bases[training.base])
    return (training.steps or 0) * min(MOST_TIMES, times), times
