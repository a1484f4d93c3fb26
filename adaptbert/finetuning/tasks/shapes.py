"""Shapes by name; a new shape is one new file, and three lines here.

A task of a user's own needs nothing here when its shape and target are known: params name them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from adaptbert.base.config import Config
from adaptbert.finetuning.tasks import sentence_pair, single_sentence
from adaptbert.finetuning.tasks.examples import Batch, Examples
from adaptbert.finetuning.tasks.extractive_answer import THRESHOLD, ExtractiveAnswer, ExtractiveAnswerConfig
from adaptbert.finetuning.tasks.pooling import Reading
from adaptbert.finetuning.tasks.sentence_pair import SentencePairConfig
from adaptbert.finetuning.tasks.sentences import Sentences
from adaptbert.finetuning.tasks.sequence_labelling import COMMONEST, SequenceLabelling, SequenceLabellingConfig
from adaptbert.finetuning.tasks.single_sentence import SingleSentenceConfig
from adaptbert.finetuning.tasks.targets import SETTLED, target_of
from adaptbert.tokenization.store.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

Row = Mapping[str, Any]


class Shape(Protocol):
    """How rows become tokens, where the head looks, and what its scores mean.

    Attributes:
        classes: of the head, in the order of their numbers; none where it does not tell classes apart.
        metric: by which cells are compared, see `adaptbert.finetuning.metrics.contract.COMPARED_BY`.
    """

    classes: list[str]
    metric: str

    @property
    def reading(self) -> Reading:
        """How the vectors of the head come from the encoder."""
        ...

    def extend(self, model: Any) -> "Shape":
        """Before anything is learned: the model gets what its Hugging Face class lacks. Returns the model's shape."""
        ...

    def hugging_face_class(self) -> Any:
        """The model whose head this shape trains."""
        ...

    def config(self) -> dict[str, Any]:
        """What the Hugging Face config says of the head."""
        ...

    def examples(self, rows: Sequence[Row], tokenizer: Tokenizer, max_length: int) -> Examples:
        """Rows as tokens, `max_length` at most in an example. What is right is not looked at."""
        ...

    def targets(self, rows: Sequence[Row], examples: Examples) -> NDArray[Any]:
        """What is right at each place of the examples of these rows, (places, ...)."""
        ...

    def unanswerable(self, rows: Sequence[Row], examples: Examples) -> dict[str, int]:
        """Rows whose right answer cannot be found in their examples, by reason; the same reasons for all rows."""
        ...

    def logits(self, model: Any, hidden: "Tensor") -> "Tensor":
        """Scores, (places, scores), from the hidden states at the places, (places, hidden)."""
        ...

    def loss(self, logits: "Tensor", batch: Batch) -> "Tensor":
        """What is trained: one number, the mean over a batch."""
        ...

    def log_probabilities(self, logits: "Tensor", batch: Batch) -> "Tensor":
        """Of all outcomes of each thing that is asked, in any layout."""
        ...

    def settle(self, model: Any) -> "Shape":
        """After training: the model answers by itself as it will when it is opened elsewhere. Returns its shape."""
        ...

    def tune(self, rows: Sequence[Row], examples: Examples, logits: NDArray[np.float64]) -> dict[str, float]:
        """What is chosen on the dev rows and kept with the checkpoint, by name."""
        ...

    def answers(
        self, rows: Sequence[Row], examples: Examples, logits: NDArray[np.float64], tuned: Mapping[str, float]
    ) -> tuple[list[Any], NDArray[np.float64]]:
        """The answer to each row, and how probable it is by the model (NaN where that means nothing), (rows,)."""
        ...

    def details(
        self, rows: Sequence[Row], examples: Examples, logits: NDArray[np.float64], tuned: Mapping[str, float]
    ) -> list[dict[str, Any]]:
        """What the scores say of each row beside its answer: `probabilities` of the classes where there are some, of a
        row or of each of its words; of an extractive answer where it stands and how near it was to no answer.
        """
        ...

    def gold(self, rows: Sequence[Row]) -> list[Any]:
        """The right answers."""
        ...

    def score(self, gold: Sequence[Any], answers: Sequence[Any]) -> dict[str, float]:
        """Metrics by name."""
        ...

    def is_degenerate(self, answers: Sequence[Any]) -> bool:
        """Whether the model answers the same whatever it is asked."""
        ...


class ShapeConfig(Config):
    """The options of a shape, under its name: one of these, that of the task."""

    single_sentence: SingleSentenceConfig | None = None
    sentence_pair: SentencePairConfig | None = None
    extractive_answer: ExtractiveAnswerConfig | None = None
    sequence_labelling: SequenceLabellingConfig | None = None

    @property
    def given(self) -> list[str]:
        """The shapes whose options there are; it should be one."""
        return [name for name in MAKERS if getattr(self, name) is not None]

    def options(self) -> Any:
        """Of the one shape."""
        (shape,) = self.given
        return getattr(self, shape)


MAKERS: dict[str, Callable[[Mapping[str, Any], Any], Shape]] = {
    "single_sentence": lambda about, options: Sentences(
        partial(single_sentence.arrange, options), target_of(about), options
    ),
    "sentence_pair": lambda about, options: Sentences(
        partial(sentence_pair.arrange, options), target_of(about), options
    ),
    "extractive_answer": ExtractiveAnswer,
    "sequence_labelling": SequenceLabelling,
}
"""Shape -> from task.json and the options to the shape."""


def shape_of(about: Mapping[str, Any], options: Config) -> Shape:
    """The shape of a task.

    Args:
        about: task.json; while it is trained with `class_weights`, one for each of its labels.
        options: of this shape.
    """
    return MAKERS[about["shape"]](about, options)


def from_card(task: Mapping[str, Any]) -> Shape:
    """The shape of a fine-tuned checkpoint.

    Args:
        task: of its card; `max_length` and `tuned` stand there, too.

    Raises:
        KeyError, ValueError: it does not say all.
    """
    config = ShapeConfig.model_validate({task["shape"]: task["options"]})
    if problem := mismatch(config, task["shape"], task["target"], task["max_length"]):
        raise ValueError(problem[0])
    settled = {"range": SETTLED} if task["target"] == "number" else {}
    if task["target"] == "tags" and not 0 <= task["tuned"][COMMONEST] < len(task["labels"]):
        raise ValueError(f"{COMMONEST} is not the number of a label")
    if task["target"] == "answer" and task["no_answer"] and THRESHOLD not in task["tuned"]:
        raise KeyError(THRESHOLD)
    return shape_of({**task, **settled}, config.options())


def mismatch(config: ShapeConfig, shape: str, target: str, max_length: int) -> tuple[str, str] | None:
    """Why the options do not belong to a task of this shape and target, and what to write; None where they do."""
    if config.given != [shape]:
        problem = f"options of {' and '.join(config.given) or 'no shape'}, but the task's shape is {shape}"
        return problem, f"write `{_block(shape, target, max_length)}`{' in their place' if config.given else ''}"
    if shape == "sequence_labelling" and (config.options().tag_scheme is None) != (target == "tags"):
        problem = f"target '{target}' and tag_scheme '{config.options().tag_scheme}': spans need one, tags take none"
        return problem, f"{'take tag_scheme out of' if target == 'tags' else 'write tag_scheme: bio into'} {shape}"
    return None


def _block(shape: str, target: str, max_length: int) -> str:
    """Options of a shape as they may stand below finetune.<task>."""
    if shape == "extractive_answer":
        question = max_length // 4
        return f"{shape}: {{max_question: {question}, stride: {(max_length - question) // 2}, max_answer: {question}}}"
    if shape == "sequence_labelling":
        scheme = "tag_scheme: bio, " if target == "spans" else ""
        return f"{shape}: {{{scheme}stride: {max_length // 2}}}"
    return f"{shape}: {{long_text: head}}"
