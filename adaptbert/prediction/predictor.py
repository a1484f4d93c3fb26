"""A model of a task that predicts on new, unlabelled rows: an answer for each of them, in their order.

Equal rows in equal order get results that are bit-identical to those of evaluation. Rows that cannot be answered do not
count towards a batch, except after hundreds of them in succession: then the waiting rows are answered at once, in a
smaller batch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptbert.codes import Code
from adaptbert.data import tag_schemes
from adaptbert.data.cleaning import moved_back
from adaptbert.data.fields import pattern_problem
from adaptbert.data.layout import Layout
from adaptbert.data.rows import Problem, Row
from adaptbert.errors import BadData, UserError
from adaptbert.linear.model import FILE, LinearModel
from adaptbert.model.checkpoint_files import CARD, COPY
from adaptbert.prediction.inputs import Reader
from adaptbert.tasks.metrics.scoring import are_alike

if TYPE_CHECKING:
    import pandas as pd

    from adaptbert.prediction.fine_tuned import FineTuned

HELD = 4
"""Groups of rows held in memory at most: millions of bad rows may follow one that can be answered."""
Request = Mapping[str, Any] | str | Sequence[str]
"""A row to predict on."""
Answer = dict[str, Any]


class Predictor:
    """A fine-tuned checkpoint or a linear model, and how rows are read for it. See `load`."""

    def __init__(self, model: "FineTuned | LinearModel") -> None:
        self._model, self.task = model, model.task

    @classmethod
    def load(cls, folder: str | Path, precision: str | None = None) -> "Predictor":
        """A folder that `finetune` wrote, on the GPU where there is one; or a linear model that `compare` wrote.

        Args:
            precision: `bf16-mixed`, `32-true`, or `auto`: what this device does well; None: that of evaluation. A
                linear model has one.

        Raises:
            BadData: no fine-tuned checkpoint, a damaged one, or one with the tokenizer of another.
            BadParams: an unknown precision.
        """
        model, described = _opened(Path(folder), precision)
        if misread := pattern_problem(model.task.replace):
            raise BadData(Code.DAMAGED_CHECKPOINT, described, misread, COPY)
        return cls(model)

    def predict(self, rows: Iterable[Request], *, probabilities: bool = False) -> list[Answer]:
        """`answers`, all of them at once."""
        return list(self.answers(rows, probabilities=probabilities))

    def frame(self, rows: Iterable[Request], *, probabilities: bool = False) -> "pd.DataFrame":
        """`answers` as a table of pandas, with the index of its rows; what an answer lacks is missing there."""
        import pandas as pd

        index = rows.index if isinstance(rows, pd.DataFrame | pd.Series) else None
        return pd.DataFrame(self.predict(rows, probabilities=probabilities), index=index)

    def answers(
        self, rows: Iterable[Request], *, probabilities: bool = False, longest: int | None = None
    ) -> Iterator[Answer]:
        """An answer for each row, in their order; rows are taken as they are needed.

        Args:
            rows: mappings or a table of pandas, with the inputs of the task type by their names (`text`; `text_a`,
                `text_b`; `context`, `question`; `tokens`, or `text`, which is split into words), and optionally `id`;
                others are ignored; without it the index of pandas. Or a text, a pair of texts, or a list of tokens.
            probabilities: add those of all classes; for an extractive answer, its offsets and the no-answer score.
            longest: most characters of a row that comes from outside of the program: a longer one has an `error`, and
                so has one without an input, which else is a mistake of the program.

        Yields:
            The keys that docs/how-to/predict.md describes; for a row that cannot be answered, only `id` and `error`.

        Raises:
            BadData: an input is missing.
        """
        reader, numbered = Reader(self.task, {}), enumerate(_each(rows), 1)
        if longest is None:
            read = (self._read(reader, line, *each) for line, each in numbered)
        else:
            read = (self._read_any(longest, reader, line, *each) for line, each in numbered)
        for batch in self.answered(read, probabilities=probabilities):
            yield from batch

    def _read(self, reader: Reader, line: int, label: dict[str, str], row: Any) -> Row:
        place = f"rows[{line - 1}]"
        record = label | self._record(row, place)
        reader.check(list(record), place, lambda name: f"give every row a value under '{name}'")
        return reader.read(Row(id="", file="", line=line, values=record), place)

    def _read_any(self, longest: int, reader: Reader, line: int, label: dict[str, str], row: Any) -> Row:
        """The same of a row that may be anything: what is wrong with it is its own problem."""
        place, bare = f"rows[{line - 1}]", Row(id=str(line), file="", line=line, values={})
        try:
            record = label | self._record(row, place)
            with suppress(UserError):  # `read` says which input the row lacks
                reader.check(list(record), place, str)
            size, problem = reader.characters(record), None
            if size > longest:
                problem = Problem(Code.TOO_LONG, f"{size:,} characters, and at most {longest:,} are read")
            return reader.read(bare._replace(values=record, problem=problem), place)
        except UserError as error:
            return bare._replace(problem=Problem(error.code, error.problem, error.remedy))

    def _record(self, row: Request, place: str) -> dict[str, Any]:
        if isinstance(row, Mapping):
            return dict(row)
        given, layout = (list(row) if isinstance(row, list | tuple) else [row]), Layout(self.task.task_type)
        if layout.is_tagged:
            return {"tokens": given} if isinstance(row, list | tuple) else {"text": row}
        if len(given) > len(layout.inputs):
            problem = f"{len(given)} texts, and this model reads {' and '.join(layout.inputs)}"
            raise BadData(Code.COLUMNS, place, problem, "give it one value for each, or a mapping")
        return dict(zip(layout.inputs, given, strict=False))

    def are_alike(self, answers: Iterable[Answer]) -> bool:
        """Whether one of these rows is answered like the other, as by a model that learned nothing else."""
        name = self.task.spec.output.answer
        return are_alike([answer[name] for answer in answers if name in answer], self.task.target)

    def answered(self, rows: Iterable[Row], *, probabilities: bool = False) -> Iterator[list[Answer]]:
        """Answers to rows that a reader has converted, a batch at a time; see `answers`."""
        for batch in self._batches(rows):
            good = [row for row in batch if row.problem is None]
            answers = iter(self._predicted(good, probabilities=probabilities) if good else [])
            yield [
                {
                    "id": row.id,
                    **row.values.get("kept", {}),
                    **({"error": f"{bad.code.shown} {bad.reason}"} if (bad := row.problem) else next(answers)),
                }
                for row in batch
            ]

    def _batches(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        waiting: list[Row] = []
        most = self._model.rows_at_once
        good = yielded = 0
        for row in rows:
            waiting.append(row)
            good += row.problem is None
            # A bad row waits only behind good rows. `good` counts on, so that batches stay those of evaluation.
            if good == yielded or good % most == 0 or len(waiting) == HELD * most:
                yield waiting
                waiting, yielded = [], good
        yield waiting

    def _predicted(self, rows: list[Row], *, probabilities: bool) -> list[Answer]:
        output = self.task.spec.output
        answers, confidence, details = self._model.decode([row.values for row in rows])
        more: list[dict[str, Any]] = details() if probabilities else [{} for _ in rows]
        predictions = []
        for row, answer, sure, detail in zip(rows, answers, confidence.tolist(), more, strict=True):
            words = {"tokens": row.values["tokens"]} if output.classes == "word" else {}
            of_tags = {"entities": entities(answer, row)} if output.marks_spans else {}
            if detail.get("end"):
                places = moved_back(row.values["original"], [(detail["start"], detail["end"])])
                ((detail["start"], detail["end"]),) = places
            known = {} if isnan(sure) else {"confidence": sure}
            predictions.append({**words, output.answer: answer, **of_tags, **known, **detail})
        return predictions


def _opened(folder: Path, precision: str | None) -> "tuple[FineTuned | LinearModel, Path]":
    """The model of a folder, and the file that describes it."""
    if (folder / FILE).is_file():
        return LinearModel.load(folder), folder / FILE
    from adaptbert.prediction.fine_tuned import FineTuned  # imports torch, without which a linear model answers

    return FineTuned(folder, precision), folder / CARD


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
