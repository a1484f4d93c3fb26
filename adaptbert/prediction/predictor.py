"""A fine-tuned checkpoint that answers rows: chunks of rows in, an answer for each of them out, in their order.

By the very functions that evaluated it, in forward passes that are cut alike (`adaptbert.finetuning.module.logits`):
equal rows in equal order get the bits that the test set got. Rows that cannot be answered do not count, but where there
are hundreds of them in a row: then what waits is answered, and the rest of its group apart.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import Field

from adaptbert.base.record import validated
from adaptbert.base.task_types import Target, TaskType
from adaptbert.codes import Code
from adaptbert.collection.readers import replacing
from adaptbert.collection.readers.lines import check_name
from adaptbert.errors import BadData, BadParams
from adaptbert.finetuning.tasks.shapes import Shape, from_card
from adaptbert.model.card import CARD, TaskCard, incomplete_task
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.checkpoint_files import COPY, FileConfig
from adaptbert.model.precision import Precision, chosen
from adaptbert.prediction.request_rows import Asked, Reader
from adaptbert.rows import tag_schemes
from adaptbert.rows.cleaning import moved_back
from adaptbert.rows.targets import TARGETS

if TYPE_CHECKING:
    from adaptbert.tokenization.store.tokenizer import Tokenizer

MANY_ROWS = 2048
"""Rows at once where forward passes are cut by tokens."""
HELD = 4
"""Rows that are held at most, in groups: behind one that can be answered may come millions that cannot."""
PRECISIONS = get_args(Precision)


class Evaluated(FileConfig):
    """How a cell was evaluated: of the `params` of its card."""

    block_size: Annotated[int, Field(ge=3, le=10_000_000)]
    precision: Literal["bf16-mixed", "32-true"]


class Predictor:
    """A model, its tokenizer, and how it was evaluated. See `load`."""

    def __init__(
        self,
        model: Any,
        shape: Shape,
        tokenizer: "Tokenizer",
        task: TaskCard,
        evaluated: Evaluated,
        batch_tokens: int | None = None,
    ) -> None:
        self._model, self._shape, self._tokenizer = model, shape, tokenizer
        self._task, self._block_size = task, evaluated.block_size
        self._precision = evaluated.precision
        self._batch_tokens = batch_tokens
        self.task_type: TaskType = task.shape
        self.target: Target = task.target

    @classmethod
    def load(cls, folder: str | Path, precision: str | None = None, batch_tokens: int | None = None) -> "Predictor":
        """A folder that `finetune` wrote, on the GPU where there is one.

        Args:
            precision: `bf16-mixed`, `32-true`, or `auto`: what this device does well; None: that of evaluation.
            batch_tokens: about so many tokens in a forward pass; None: as evaluation cut them. Changes speed, and the
                last bits of probabilities.

        Raises:
            BadData: no fine-tuned checkpoint, a damaged one, or one with the tokenizer of another.
            BadParams: an unknown precision.
        """
        import torch

        from adaptbert.finetuning.restore import load_fine_tuned

        if precision is not None and precision not in PRECISIONS:
            problem = f"'{precision}' is unknown"
            raise BadParams(Code.CONTRADICTION, "precision", problem, f"write one of {', '.join(PRECISIONS)}")
        if batch_tokens is not None and batch_tokens < 1:
            raise BadParams(Code.OUT_OF_RANGE, "batch_tokens", f"{batch_tokens} is out of range", "write 1 or more")
        check_name(Path(folder))
        found = Checkpoint.load(Path(folder))
        task, evaluated = _evaluation(found, Path(folder))
        with torch.random.fork_rng():
            model, shape = load_fine_tuned(found)
        for weight in model.parameters():
            # Weights of a mapped file begin anywhere; where they begin decides how a library cuts the sum of a vector.
            weight.data = weight.data.clone()
        model.to("cuda" if torch.cuda.is_available() else "cpu")
        evaluated = evaluated.model_copy(update={"precision": chosen(precision or evaluated.precision)})
        return cls(model, shape, found.tokenizer, task, evaluated, batch_tokens)

    def answers(
        self, rows: Iterable[Mapping[str, Any]], *, probabilities: bool = False, top: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """An answer for each row, in their order; rows are taken as they are needed.

        Args:
            rows: the inputs of the task type by their names (`text`; `text_a`, `text_b`; `context`, `question`;
                `tokens`, or `text` whose words are to be found), and `id` where there is one. What else they hold is
                not read.
            probabilities: tell those of all classes; of an extractive answer its place and the score of none.
            top: tell only so many, the most probable first.

        Yields:
            What docs/how-to/predict.md says; of a row that cannot be answered only `id` and `error`.
        """
        reader = self.reader({})

        def read() -> Iterator[Asked]:
            for line, row in enumerate(rows, 1):
                reader.check(list(row), f"rows[{line - 1}]", lambda name: f"give every row a value under '{name}'")
                yield reader.read(row, line, f"rows[{line - 1}]")

        yield from self.answered(read(), probabilities=probabilities, top=top)

    def reader(self, columns: Mapping[str, str]) -> Reader:
        """Of rows that this model answers, whose text is changed as that of its task was (`replace` of collect_task).

        Args:
            columns: our name of an input, or `id`, -> the user's.
        """
        return Reader(self.task_type, columns, self._task.replace)

    def answered(
        self, rows: Iterable[Asked], *, probabilities: bool = False, top: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """The same for rows that were read already."""
        from adaptbert.finetuning.module import PREDICT_ROWS

        self.check_top(top)
        size = PREDICT_ROWS if self._batch_tokens is None else MANY_ROWS
        waiting: list[Asked] = []
        good = told = 0
        for row in rows:
            waiting.append(row)
            good += row.problem is None
            # What cannot be answered waits only behind what can. Groups are counted on, whenever some are told.
            if good == told or good % size == 0 or len(waiting) == HELD * size:
                yield from self._answered(waiting, probabilities=probabilities, top=top)
                waiting, told = [], good
        yield from self._answered(waiting, probabilities=probabilities, top=top)

    def check_top(self, top: int | None) -> None:
        """Refuse what cannot be told."""
        if top is not None and top < 1:
            raise BadParams(Code.OUT_OF_RANGE, "top", f"{top} is out of range", "write 1 or more")
        if top is not None and TARGETS[self.target].classes is None:
            problem = f"the target '{self.target}' has no classes"
            raise BadParams(Code.CONTRADICTION, "top", problem, "leave it out")

    def _answered(self, rows: list[Asked], *, probabilities: bool, top: int | None) -> Iterator[dict[str, Any]]:
        good = [row for row in rows if row.problem is None]
        found = iter(self._found(good, probabilities=probabilities, top=top) if good else [])
        for row in rows:
            if row.problem is None:
                yield {"id": row.id, **next(found)}
            else:
                yield {"id": row.id, "error": f"{row.problem.code.shown} {row.problem.reason}"}

    def _found(self, asked: list[Asked], *, probabilities: bool, top: int | None) -> list[dict[str, Any]]:
        from adaptbert.finetuning.module import logits

        rows = [row.values for row in asked]
        shape, tuned, output = self._shape, self._task.tuned, TARGETS[self.target]
        examples = shape.examples(rows, self._tokenizer, self._task.max_length)
        scores = logits(self._model, shape, examples, self._block_size, self._precision, self._batch_tokens)
        answers, confidence = shape.answers(rows, examples, scores, tuned)
        found: list[dict[str, Any]] = [{output.answer: answer} for answer in answers]
        if output.has_confidence:
            for told, sure in zip(found, confidence.tolist(), strict=True):
                told["confidence"] = sure
        if output.marks_spans:
            for told, row in zip(found, asked, strict=True):
                told["entities"] = entities(told["tags"], row)
        if probabilities or top is not None:
            for told, more, row in zip(found, shape.details(rows, examples, scores, tuned), asked, strict=True):
                told.update(_shown(more, row, top))
        return found


def entities(tags: list[str], row: Asked) -> list[dict[str, Any]]:
    """Type, characters and text of each, from BIO tags."""
    found = []
    for first, last, kind in tag_schemes.spans(tags, "bio"):
        start, end = row.places[first][0], row.places[last - 1][1]
        found.append({"type": kind, "start": start, "end": end, "text": row.text[start:end]})
    return found


def _shown(details: dict[str, Any], row: Asked, top: int | None) -> dict[str, Any]:
    """Places as they were in the text that was given, and of the classes the most probable ones."""
    shown = dict(details)
    if shown.get("end"):
        ((shown["start"], shown["end"]),) = moved_back(row.text, [(shown["start"], shown["end"])])
    if top is not None:
        every = shown["probabilities"]
        shown["probabilities"] = [_best(word, top) for word in every] if isinstance(every, list) else _best(every, top)
    return shown


def _best(probabilities: dict[str, float], top: int) -> dict[str, float]:
    return dict(sorted(probabilities.items(), key=lambda found: -found[1])[:top])


def _evaluation(found: Checkpoint, folder: Path) -> tuple[TaskCard, Evaluated]:
    """How a cell was evaluated; a card that does not say all, or not what config.json says, and another's head are
    refused."""
    if found.card is None or found.card.task is None:
        problem = "not a checkpoint that was fine-tuned on a task"
        raise BadData(Code.NOT_FINE_TUNED, folder, problem, "name a folder below models/finetune")
    card = folder / CARD
    task, config = found.card.task, found.config()
    try:
        shape = from_card(task.as_json())
    except (KeyError, ValueError):
        raise incomplete_task(card) from None
    if misread := replacing.problem(task.replace):
        raise BadData(Code.BAD_CONFIG, card, misread, COPY)
    read = validated(Evaluated, found.card.params, f"{card}: params", COPY)
    room = min(read.block_size, config.max_position_embeddings)
    if misread := shape.pooling.problem(config.num_hidden_layers):
        raise BadData(Code.BAD_CONFIG, card, misread, COPY)
    if task.max_length > room:
        problem = f"task.max_length {task.max_length}, but the encoder reads {room} tokens"
        raise BadData(Code.BAD_CONFIG, card, problem, COPY)
    head = shape.config()
    if config.num_labels != head["num_labels"]:
        problem = f"head has {config.num_labels} labels, task has {head['num_labels']}"
        raise BadData(Code.HEAD_DOES_NOT_FIT, folder, problem, COPY)
    if config.id2label != head.get("id2label", config.id2label):
        raise BadData(Code.HEAD_DOES_NOT_FIT, folder, "the labels of config.json are not those of card.json", COPY)
    return task, read
