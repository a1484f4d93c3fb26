"""A fine-tuned checkpoint that predicts on new, unlabelled rows: an answer for each of them, in their order.

It uses the functions and the batches of evaluation (`adaptbert.tasks.module.logits`), so equal rows in equal order
get bit-identical results. Rows that cannot be answered do not count towards a batch, except after hundreds of them in
succession: then the waiting rows are answered at once, in a smaller batch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import Field

from adaptbert.codes import Code
from adaptbert.config.schema.task_types import TARGETS, Target
from adaptbert.config.schema.training import Precision
from adaptbert.core.record import validated
from adaptbert.data import tag_schemes
from adaptbert.data.cleaning import moved_back
from adaptbert.data.fields import pattern_problem
from adaptbert.data.layout import Layout
from adaptbert.data.rows import Row
from adaptbert.errors import BadData, BadParams
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.checkpoint_files import CARD, COPY, FileConfig, TaskCard, incomplete_task
from adaptbert.model.device import chosen, fastest_device
from adaptbert.model.families import family_of
from adaptbert.prediction.inputs import Reader

if TYPE_CHECKING:
    import pandas as pd

    from adaptbert.tasks.head import TaskHead
    from adaptbert.text.tokenizer import Tokenizer

HELD = 4
"""Groups of rows held in memory at most: millions of bad rows may follow one that can be answered."""
PRECISIONS = get_args(Precision)
Request = Mapping[str, Any] | str | Sequence[str]
"""A row to predict on."""
Answer = dict[str, Any]


class Evaluated(FileConfig):
    """How a cell was evaluated: of the `params` of its card."""

    block_size: Annotated[int, Field(ge=3, le=10_000_000)]
    precision: Literal["bf16-mixed", "32-true"]


class Predictor:
    """A model, its tokenizer, and how it was evaluated. See `load`."""

    def __init__(
        self, model: Any, head: "TaskHead", tokenizer: "Tokenizer", task: TaskCard, evaluated: Evaluated
    ) -> None:
        self.model, self._head, self._tokenizer, self._task = model, head, tokenizer, task
        self._evaluated = evaluated
        self.task_name, self.task_type = task.name, task.shape
        self.target: Target = task.target

    @classmethod
    def load(cls, folder: str | Path, precision: str | None = None) -> Self:
        """A folder that `finetune` wrote, on the GPU where there is one.

        Args:
            precision: `bf16-mixed`, `32-true`, or `auto`: what this device does well; None: that of evaluation.

        Raises:
            BadData: no fine-tuned checkpoint, a damaged one, or one with the tokenizer of another.
            BadParams: an unknown precision.
        """
        import torch

        from adaptbert.tasks.heads import load_fine_tuned

        if precision is not None and precision not in PRECISIONS:
            problem = f"'{precision}' is unknown"
            raise BadParams(Code.CONTRADICTION, "precision", problem, f"write one of {', '.join(PRECISIONS)}")
        checkpoint = Checkpoint.load(Path(folder))
        task, evaluated, head = _evaluation(checkpoint, Path(folder))
        with torch.random.fork_rng(devices=[]):  # weights are drawn on the processor
            model, head = load_fine_tuned(checkpoint, head)
        for weight in model.parameters():
            # The alignment of memory-mapped weights varies, and a library splits a vector sum by alignment: copy them.
            weight.data = weight.data.clone()
        model.to(fastest_device())
        evaluated = evaluated.model_copy(update={"precision": chosen(precision or evaluated.precision)})
        return cls(model, head, checkpoint.tokenizer, task, evaluated)

    def predict(self, rows: Iterable[Request], *, probabilities: bool = False) -> list[Answer]:
        """`answers`, all of them at once."""
        return list(self.answers(rows, probabilities=probabilities))

    def frame(self, rows: Iterable[Request], *, probabilities: bool = False) -> "pd.DataFrame":
        """`answers` as a table of pandas, with the index of its rows; what an answer lacks is missing there."""
        import pandas as pd

        index = rows.index if isinstance(rows, pd.DataFrame | pd.Series) else None
        return pd.DataFrame(self.predict(rows, probabilities=probabilities), index=index)

    def answers(self, rows: Iterable[Request], *, probabilities: bool = False) -> Iterator[Answer]:
        """An answer for each row, in their order; rows are taken as they are needed.

        Args:
            rows: mappings or a table of pandas, with the inputs of the task type by their names (`text`; `text_a`,
                `text_b`; `context`, `question`; `tokens`, or `text`, which is split into words), and optionally `id`;
                others are ignored; without it the index of pandas. Or a text, a pair of texts, or a list of tokens.
            probabilities: add those of all classes; for an extractive answer, its offsets and the no-answer score.

        Yields:
            The keys that docs/how-to/predict.md describes; for a row that cannot be answered, only `id` and `error`.

        Raises:
            BadData: an input is missing.
        """
        reader = self.reader({})

        def read() -> Iterator[Row]:
            for line, (label, row) in enumerate(_each(rows), 1):
                place = f"rows[{line - 1}]"
                record = label | self._record(row, place)
                reader.check(list(record), place, lambda name: f"give every row a value under '{name}'")
                yield reader.read(Row(id="", file="", line=line, values=record), place)

        for batch in self.answered(read(), probabilities=probabilities):
            yield from batch

    def _record(self, row: Request, place: str) -> dict[str, Any]:
        if isinstance(row, Mapping):
            return dict(row)
        given, layout = (list(row) if isinstance(row, list | tuple) else [row]), Layout(self.task_type)
        if layout.is_tagged:
            return {"tokens": given} if isinstance(row, list | tuple) else {"text": row}
        if len(given) > len(layout.inputs):
            problem = f"{len(given)} texts, and this model reads {' and '.join(layout.inputs)}"
            raise BadData(Code.COLUMNS, place, problem, "give it one value for each, or a mapping")
        return dict(zip(layout.inputs, given, strict=False))

    def reader(self, columns: Mapping[str, str]) -> Reader:
        """A reader of rows for this model; it applies the `replace` patterns that collect_task applied to the task, and
        knows the columns of its files.

        Args:
            columns: name of an input, or `id`, -> its name in the rows.
        """
        return Reader(self.task_type, columns, self._task.replace, self._task.columns)

    def are_alike(self, answers: Iterable[Answer]) -> bool:
        """Whether one of these rows is answered like the other, as by a model that learned nothing else."""
        name = TARGETS[self.target].answer
        return self._head.is_degenerate([answer[name] for answer in answers if name in answer])

    def answered(self, rows: Iterable[Row], *, probabilities: bool = False) -> Iterator[list[Answer]]:
        """Answers to rows that a reader has converted, a batch at a time; see `answers`."""
        for batch in self._batches(rows):
            good = [row for row in batch if row.problem is None]
            answers = iter(self._predicted(good, probabilities=probabilities) if good else [])
            yield [
                {"id": row.id, **next(answers)}
                if row.problem is None
                else {"id": row.id, "error": f"{row.problem.code.shown} {row.problem.reason}"}
                for row in batch
            ]

    def _batches(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        from adaptbert.tasks.module import PREDICT_ROWS

        waiting: list[Row] = []
        good = yielded = 0
        for row in rows:
            waiting.append(row)
            good += row.problem is None
            # A bad row waits only behind good rows. `good` counts on, so that batches stay those of evaluation.
            if good == yielded or good % PREDICT_ROWS == 0 or len(waiting) == HELD * PREDICT_ROWS:
                yield waiting
                waiting, yielded = [], good
        yield waiting

    def _predicted(self, rows: list[Row], *, probabilities: bool) -> list[Answer]:
        from adaptbert.tasks.module import logits

        inputs, output, head = [row.values for row in rows], TARGETS[self.target], self._head
        examples = head.examples(inputs, self._tokenizer, self._task.max_length)
        evaluated = self._evaluated
        scores = logits(self.model, head, examples, evaluated.block_size, evaluated.precision)
        answers, confidence, details = head.decode(inputs, examples, scores, self._task.tuned)
        predictions = self._shown(rows, answers)
        more: list[dict[str, Any]] = details() if probabilities else [{} for _ in rows]
        for prediction, sure, detail, row in zip(predictions, confidence.tolist(), more, rows, strict=True):
            if output.has_confidence:
                prediction["confidence"] = sure
            if detail.get("end"):
                places = moved_back(row.values["original"], [(detail["start"], detail["end"])])
                ((detail["start"], detail["end"]),) = places
            prediction.update(detail)
        return predictions

    def _shown(self, rows: list[Row], answers: list[Any]) -> list[Answer]:
        """The answers by their name, with the words and entities that belong to them."""
        output = TARGETS[self.target]
        predictions = []
        for row, answer in zip(rows, answers, strict=True):
            words = {"tokens": row.values["tokens"]} if output.classes == "word" else {}
            of_tags = {"entities": entities(answer, row)} if output.marks_spans else {}
            predictions.append({**words, output.answer: answer, **of_tags})
        return predictions


def _each(rows: Any) -> Iterable[tuple[dict[str, str], Any]]:
    """Each row, after its label in the index of pandas; one row is no list of letters, and a table none of columns."""
    is_table = hasattr(rows, "columns")
    if not is_table and not hasattr(rows, "iloc"):
        return (({}, row) for row in ([rows] if isinstance(rows, str | Mapping) else rows))
    cells = rows.astype(object).where(rows.notna(), None)
    each = cells.to_dict("records") if is_table else cells
    return zip(({"id": str(label)} for label in rows.index), each, strict=True)


def entities(tags: list[str], row: Row) -> list[dict[str, Any]]:
    """Type, offsets and text of each entity, from BIO tags."""
    marked = []
    for first, last, kind in tag_schemes.spans(tags, "bio"):
        start, end = row.values["places"][first][0], row.values["places"][last - 1][1]
        marked.append({"type": kind, "start": start, "end": end, "text": row.values["original"][start:end]})
    return marked


def _evaluation(checkpoint: Checkpoint, folder: Path) -> tuple[TaskCard, Evaluated, "TaskHead"]:
    """How a cell was evaluated, and its head.

    Raises:
        BadData: the card is incomplete, or card, config and head disagree.
    """
    if checkpoint.card is None or checkpoint.card.task is None:
        problem = "not a checkpoint that was fine-tuned on a task"
        raise BadData(Code.NOT_FINE_TUNED, folder, problem, "name a folder below models/finetune")
    from adaptbert.tasks.heads import from_card

    card = folder / CARD
    task, config = checkpoint.card.task, checkpoint.config()
    try:
        head = from_card(task)
    except (KeyError, ValueError):
        raise incomplete_task(card) from None
    if misread := pattern_problem(task.replace):
        raise BadData(Code.DAMAGED_CHECKPOINT, card, misread, COPY)
    read = validated(Evaluated, checkpoint.card.params, f"{card}: params", COPY)
    room = min(read.block_size, family_of(config).longest(config))
    if task.max_length > room:
        problem = f"task.max_length {task.max_length}, but the encoder reads {room} tokens"
        raise BadData(Code.DAMAGED_CHECKPOINT, card, problem, COPY)
    expected = head.config()
    if config.num_labels != expected["num_labels"]:
        problem = f"head has {config.num_labels} labels, task has {expected['num_labels']}"
        raise BadData(Code.OTHER_ARCHITECTURE, folder, problem, COPY)
    if config.id2label != expected.get("id2label", config.id2label):
        raise BadData(Code.OTHER_ARCHITECTURE, folder, "the labels of config.json are not those of card.json", COPY)
    return task, read, head
