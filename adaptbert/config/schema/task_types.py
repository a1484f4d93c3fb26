"""The task types: one `TaskSpec` each, from the columns of a row to the options of fine-tuning that belong to it.

A spec is what a row holds (`TASK_TYPES`) with what is predicted from it (`TARGETS`): types share what they have in
common. What else belongs to a target is a `ByTarget`: heads (adaptbert.tasks.heads), scores
(adaptbert.tasks.metrics.scoring), baselines (adaptbert.comparison.baselines).
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from adaptbert.config.schema.section import Contradiction, Decoder, LongText, Positions, Section

if TYPE_CHECKING:  # every stage knows the types of tasks, but only one depends on the options of fine-tuning
    from adaptbert.config.schema.finetuning import Finetune

TaskName = Literal[
    "text-classification",
    "text-pair-classification",
    "multi-label",
    "regression",
    "question-answering",
    "token-classification",
]
"""What a user writes as `type`."""
Type = Literal[TaskName, "text-pair-multi-label", "text-pair-regression", "token-tags"]
"""Task types as task.json, card.json and metrics name them; params.yaml has `pair: true`, or `tag_scheme: none`."""
TaskType = Literal["single_sentence", "sentence_pair", "extractive_answer", "sequence_labelling"]
Target = Literal["class", "labels", "number", "answer", "spans", "tags"]
CellType = Literal["text", "texts", "number", "answers"]
"""A text, a list of texts, a number, or a list of answers (text and offset of each)."""


class TextOptions(Section):
    """How texts are encoded, as the card of a checkpoint keeps it."""

    long_text: LongText
    stride: Positions | None = None

    def _agree(self) -> None:
        if (self.stride is not None) != (self.long_text == "windows"):
            raise Contradiction(f"long_text '{self.long_text}' and stride {self.stride}: windows need one, others none")

    @classmethod
    def of(cls, values: "Finetune") -> "TextOptions":
        stride = _stride(values, values.max_length - 2) if values.long_text == "windows" else None
        return cls(long_text=values.long_text, stride=stride)


class PairOptions(Section):
    """How pairs of texts are encoded."""

    long_text: Literal["head", "head_tail"]

    @classmethod
    def of(cls, values: "Finetune") -> "PairOptions":
        if values.long_text == "windows":
            raise Contradiction("long_text 'windows' and a pair of texts", "write head or head_tail", key="long_text")
        return cls(long_text=values.long_text)


class AnswerOptions(Section):
    """How contexts are encoded and answers selected."""

    max_question: Positions
    stride: Positions
    max_answer: Positions

    @classmethod
    def of(cls, values: "Finetune") -> "AnswerOptions":
        length = values.max_length
        question, answer = values.max_question or length // 4, values.max_answer or length // 4
        room = length - 3 - question
        if room < 1:
            problem = f"max_question {question} leaves no room for the context in max_length {length}"
            remedy = f"write a max_question of at most {length - 4}, better a quarter of that"
            raise Contradiction(problem, remedy, key="max_question")
        shown = f"three less, and max_question {question} of them may be the question's"
        return cls(max_question=question, stride=_stride(values, room, shown), max_answer=answer)


class TokenOptions(Section):
    """How words are encoded and tagged."""

    stride: Positions
    decoder: Decoder | None = None

    @classmethod
    def of(cls, values: "Finetune") -> "TokenOptions":
        return cls(stride=_stride(values, values.max_length - 2), decoder=values.decoder)


TaskOptions = TextOptions | PairOptions | AnswerOptions | TokenOptions


def _stride(values: "Finetune", room: int, held: str = "two less") -> int:
    """Half of the room of a window where it is left out.

    Args:
        held: how many tokens of a text `max_length` holds.
    """
    stride = values.stride or (room + 2) // 2
    if stride > room:
        problem = f"stride {stride} leaves out tokens: max_length {values.max_length} holds {held}"
        raise Contradiction(problem, f"write a stride of at most {room}", key="stride")
    return stride


@dataclass(frozen=True)
class TaskTypeSpec:
    """What a row holds.

    Attributes:
        inputs: column -> cell type, in the order in which a model reads them.
        options: of fine-tuning, which only such rows have.
        shared: inputs that rows may have in common, such as the context of several questions: a split by hash keeps
            such rows together, and validation counts those whose context is in two splits. Empty: all inputs.
        aligned: what refers to positions of the inputs, which no pattern may change then; empty: nothing.
    """

    inputs: Mapping[str, CellType]
    options: type[TaskOptions]
    shared: tuple[str, ...] = ()
    aligned: str = ""


TASK_TYPES: Mapping[TaskType, TaskTypeSpec] = {
    "single_sentence": TaskTypeSpec({"text": "text"}, TextOptions),
    "sentence_pair": TaskTypeSpec({"text_a": "text", "text_b": "text"}, PairOptions),
    "extractive_answer": TaskTypeSpec(
        {"context": "text", "question": "text"}, AnswerOptions, ("context",), "answers and their offsets"
    ),
    "sequence_labelling": TaskTypeSpec({"tokens": "texts"}, TokenOptions, aligned="tokens and tags"),
}
ONLY_SOME = {key for of_rows in TASK_TYPES.values() for key in of_rows.options.model_fields}
"""Keys of `finetune` that only some task types have."""


@dataclass(frozen=True)
class TargetSpec:
    """What is predicted from a row, as used to read, validate, predict and compare.

    Attributes:
        column: of the gold label.
        cell: type of that column.
        answer, answer_cell: name and type of a predicted answer.
        classes: what is classified, with a probability for each class: a row or each of its words; None: there are no
            classes.
        takes: keys of tasks.<name> that belong to the target.
        needs: those of them that are required.
        labels: the labels of a cell.
        fewest_labels: that the training rows must have.
        marks_spans: whether tags encode spans, which files may do in several schemes.
        metrics: their names; arms are compared by the first, unless `compare.metric` names another.
        like: another target, of which it has what it does not say itself.
    """

    column: str
    cell: CellType
    answer: str
    answer_cell: CellType
    classes: Literal["row", "word"] | None = None
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    labels: Callable[[Any], Iterable[str]] = field(default=lambda cell: ())
    fewest_labels: int = 0
    marks_spans: bool = False
    metrics: tuple[str, ...] = ()
    like: Target | None = None

    @property
    def has_confidence(self) -> bool:
        """Whether an answer has a probability."""
        return self.answer_cell != "number"

    def gold(self, cell: Any) -> Any:
        """The gold answer of a cell, in the form in which answers are compared with it."""
        return [answer["text"] for answer in cell] if self.cell == "answers" else cell


_NAMES = ("labels", "map_labels")
"""The label set, and the names of labels in the files."""

TARGETS: dict[Target, TargetSpec] = {
    "class": TargetSpec(
        "label", "text", "label", "text",
        classes="row",
        takes=("positive", *_NAMES),
        labels=lambda label: [label],
        fewest_labels=2,
        metrics=("f1_macro", "accuracy", "f1_positive"),
    ),
    "labels": TargetSpec(
        "labels", "texts", "labels", "texts",
        classes="row",
        takes=("separator", *_NAMES),
        labels=list,
        fewest_labels=1,
        metrics=("f1_macro", "f1_micro", "exact_match"),
    ),
    "number": TargetSpec(
        "value", "number", "value", "number",
        takes=("range",),
        metrics=("pearson", "spearman", "rmse"),
    ),
    "answer": TargetSpec(
        "answers", "answers", "answer", "text",
        takes=("no_answer",),
        needs=("no_answer",),
        metrics=("f1_answer", "exact_match"),
    ),
    "spans": TargetSpec(
        "tags", "texts", "tags", "texts",
        classes="word",
        takes=("tag_scheme", "repair_tags", *_NAMES),
        needs=("tag_scheme",),
        labels=lambda tags: [tag[2:] for tag in tags if tag.startswith("B-")],
        fewest_labels=1,
        marks_spans=True,
        metrics=("f1_span", "precision_span", "recall_span"),
    ),
}  # fmt: skip

TARGETS["tags"] = replace(
    TARGETS["spans"],
    like="spans",
    takes=_NAMES,
    needs=(),
    labels=list,
    fewest_labels=2,
    marks_spans=False,
    metrics=("accuracy", "f1_macro"),
)


def comparable(target: Target, positive: str | None) -> tuple[str, ...]:
    """The metrics by which arms of a task may be compared: higher is better, and 1 is the most.

    Args:
        positive: the label whose own F1 is reported.
    """
    left_out = {"rmse", *([] if positive is not None else ["f1_positive"])}
    return tuple(name for name in TARGETS[target].metrics if name not in left_out)


Value = TypeVar("Value")


class ByTarget(dict[Target, Value]):
    """What belongs to each target; one without an entry has that of the target that it is like."""

    def __missing__(self, target: Target) -> Value:
        like = TARGETS[target].like
        if like is None:
            raise KeyError(target)
        return self[like]


@dataclass(frozen=True)
class TaskSpec:
    """A task type; `other_keys` are those of a task in params.yaml that name it where `type: <name>` does not."""

    name: Type
    task_type: TaskType
    target: Target
    other_keys: Mapping[str, Any] = field(default_factory=dict)

    @property
    def written(self) -> dict[str, Any]:
        """The keys of a task in params.yaml that name it."""
        return {"type": self.name, **self.other_keys}

    @property
    def rows(self) -> TaskTypeSpec:
        return TASK_TYPES[self.task_type]

    @property
    def output(self) -> TargetSpec:
        return TARGETS[self.target]

    def options(self, values: "Finetune") -> TaskOptions:
        """Options of this type.

        Raises:
            Contradiction: a window would leave out tokens, or pairs are to be read in windows.
        """
        return self.rows.options.of(values)

    def check(self, values: "Finetune") -> None:
        """Refuse options that such a task does not have.

        Raises:
            Contradiction: as of `options`, or weights of classes where there are none.
        """
        if values.class_weights is not None and self.output.classes != "row":
            problem = f"class_weights and type '{self.name}': only texts and pairs with labels have them"
            raise Contradiction(problem, key="class_weights")
        self.options(values)


SPECS: Mapping[str, TaskSpec] = {
    spec.name: spec
    for spec in (
        TaskSpec("text-classification", "single_sentence", "class"),
        TaskSpec("text-pair-classification", "sentence_pair", "class"),
        TaskSpec("multi-label", "single_sentence", "labels"),
        TaskSpec("text-pair-multi-label", "sentence_pair", "labels", {"type": "multi-label", "pair": True}),
        TaskSpec("regression", "single_sentence", "number"),
        TaskSpec("text-pair-regression", "sentence_pair", "number", {"type": "regression", "pair": True}),
        TaskSpec("question-answering", "extractive_answer", "answer"),
        TaskSpec("token-classification", "sequence_labelling", "spans"),
        TaskSpec("token-tags", "sequence_labelling", "tags", {"type": "token-classification", "tag_scheme": "none"}),
    )
}


def spec_of(task_type: str, target: str) -> TaskSpec:
    """The type of such rows with this target."""
    return next(spec for spec in SPECS.values() if (spec.task_type, spec.target) == (task_type, target))


def written(answer: Any) -> str:
    """A predicted or gold answer, as written to a file of predictions."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def parsed(text: str, cell: CellType) -> Any:
    """The answer of this type that `written` wrote."""
    return text if cell == "text" else json.loads(text)
