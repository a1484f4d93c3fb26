"""The section `finetune`: defaults after Devlin et al. 2019, appendix A.3; random weights learn at a higher rate."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from adaptbert.codes import Code
from adaptbert.config.schema.section import Contradiction, Decoder, FromWeights, LongText, Positions, Section, Seed
from adaptbert.config.schema.training import Fraction, Rate, Training

Count = Annotated[int, Field(gt=0, le=1_000_000_000)]
Size = Annotated[int, Field(gt=0, le=65_536)]
Epochs = Annotated[float, Field(gt=0, le=1_000)]
ClassWeights = Literal["balanced"] | dict[str, Annotated[float, Field(gt=0)]]


class EarlyStopping(Section):
    """Keeps the weights of the epoch with the best dev score, by the metric that arms are compared by.

    The rule is the same for every arm and uses dev only (Prechelt 1998, "Early Stopping - But When?").
    """

    patience: Annotated[int, Field(ge=1, le=1_000)]
    """The run ends after so many consecutive epochs without improvement."""


class Search(Section):
    """The values that are tried before the seeds are trained (the extra `search`). A value that is left out is that of
    the task."""

    trials: Annotated[int, Field(gt=0, le=10_000)]
    """How many; optuna's TPE sampler chooses the next by those before."""
    learning_rate: Annotated[list[Rate], Field(max_length=50)]
    """The lowest and the highest to try."""
    global_batch_size: Annotated[list[Size], Field(max_length=50)] | None = None
    """Values to try."""
    epochs: Annotated[list[Epochs], Field(max_length=50)] | None = None
    """Values to try, in turn, so that the trials of each arm cost the same."""
    seeds: Annotated[int, Field(gt=0, le=100)]
    """Runs of each trial, the same for every trial and arm of a replicate and none of them that of a result; the mean
    of their scores on the dev split decides."""

    def _agree(self) -> None:
        for name, values, example in (
            ("global_batch_size", self.global_batch_size, [16, 32]),
            ("epochs", self.epochs, [3, 5]),
        ):
            if values is not None and (not values or len(set(values)) != len(values)):
                raise Contradiction(f"{name} {values}: give at least one value, each once", f"write e.g. {example}")
        rates = self.learning_rate
        if len(rates) != 2 or rates[0] >= rates[1]:
            problem = f"learning_rate {rates}: it takes the lowest and the highest"
            raise Contradiction(problem, "write e.g. [1.0e-5, 2.0e-4]")
        if self.epochs is not None and self.trials < len(self.epochs):
            problem = f"trials {self.trials} < {len(self.epochs)} values of epochs, and each is to be tried"
            raise Contradiction(problem, "raise trials, or take values of epochs out")


def _counted(value: object) -> object:
    """A number of seeds as these seeds."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    if not 0 < value <= 100:
        remedy = "write how many, from 1 to 100, or a list"
        raise Contradiction(f"{value} is out of range", remedy, Code.BAD_OPTION)
    return list(range(1, value + 1))


class Finetune(Training):
    """Supervised fine-tuning of a task, whatever its arm."""

    seeds: Annotated[list[Seed], Field(max_length=100), BeforeValidator(_counted)] = [1, 2, 3]
    """A number, or a list: one run each, of the head, the order of the examples and dropout (and, from random weights,
    of all weights)."""
    labels: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    """Rows of the training split that are used; 0 = all."""
    epochs: Epochs = 4
    """Passes over the training rows; a fraction is allowed."""
    learning_rate: Annotated[Rate, FromWeights(random=4e-4, trained=3e-5)]
    warmup_fraction: Fraction = 0.1
    betas: list[Fraction] = [0.9, 0.999]
    epsilon: Annotated[float, Field(gt=0, lt=1)] = 1e-8
    global_batch_size: Size = 32
    """Examples an optimizer step."""
    micro_batch_size: Size = 32
    """Examples a forward pass."""
    max_length: Annotated[int, Field(ge=8, le=8_192)] = 128
    """Tokens of the longest example; `long_text` and `stride` say what becomes of a longer row."""
    dropout: Fraction = 0.1
    """Dropout of hidden states, attention and the input of the head."""
    long_text: LongText = "head"
    """What is read of a text longer than `max_length`: its beginning; the first quarter and the rest from the end; or
    all of it in windows, whose scores are averaged (not for pairs, whose longer text is cut first, then both alike)."""
    stride: Positions | None = None
    """Tokens by which a window begins after the one before it: of a long text in `windows`, of a context, of a row of
    tokens. Left out: half of the room of a window."""
    max_question: Positions | None = None
    """Tokens of the longest question (`question-answering`); a longer one is truncated. The context gets the rest of
    `max_length`. Left out: a quarter of `max_length`."""
    max_answer: Positions | None = None
    """Tokens of the longest answer (`question-answering`). Left out: a quarter of `max_length`."""
    decoder: Decoder | None = None
    """Whether tags (`token-classification`) are trained word by word (softmax), or as sequences with transition
    scores (crf). Left out: softmax. Neither predicts illegal sequences."""
    class_weights: ClassWeights | None = None
    """How much the loss of each label counts: `balanced`, or a weight for every label. For texts and pairs with labels.
    Left out: all alike."""
    early_stopping: EarlyStopping | None = None
    """When training stops early; left out: all epochs are trained, and the last weights are kept."""
    search: Search | None = None
    """What is searched for; left out: the values above are trained with as they stand."""
    label_counts: Annotated[list[Count], Field(max_length=50)] | None = None
    """Training on so many of the labels as well, each number a part of the next, with all seeds and as many epochs: a
    learning curve. Left out: on all of them only."""

    def _agree(self) -> None:
        super()._agree()
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise Contradiction(f"seeds {self.seeds}: give at least one, each once", "write e.g. [1, 2, 3]")
        self.check_batches("size")
        if self.max_length > self.block_size:
            problem = f"max_length {self.max_length} is larger than block_size {self.block_size}"
            raise Contradiction(problem, f"write block_size: {self.max_length}")
        for size in (self.search and self.search.global_batch_size) or []:
            if size % self.micro_batch_size:
                problem = f"search.global_batch_size {size} is not a multiple of micro_batch_size"
                raise Contradiction(f"{problem} {self.micro_batch_size}")
        epochs = min([self.epochs, *((self.search and self.search.epochs) or [])])
        if self.early_stopping and epochs <= 1:
            raise Contradiction(f"early_stopping and epochs {epochs}: nothing to choose from")
        counts = self.label_counts
        if counts is not None and (not counts or counts != sorted(set(counts))):
            raise Contradiction(f"label_counts {counts}: give at least one, the fewest first", "write e.g. [100, 300]")
        if counts is not None and 0 < self.labels <= counts[-1]:
            problem = f"label_counts {counts} and labels {self.labels}: all are trained on anyway; give fewer"
            raise Contradiction(problem)
