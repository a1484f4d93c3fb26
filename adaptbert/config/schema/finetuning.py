"""The section `finetune`: defaults after Devlin et al. 2019, appendix A.3; random weights learn at a higher rate."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from adaptbert.base.task_types import Target, TaskType
from adaptbert.codes import Code
from adaptbert.config.schema import bounds
from adaptbert.config.schema.section import FromWeights, Section, Seed, contradiction
from adaptbert.config.schema.training import Rate, Training

Count = Annotated[int, Field(gt=0, le=bounds.ROWS)]
Size = Annotated[int, Field(gt=0, le=bounds.BATCH_EXAMPLES)]
Epochs = Annotated[float, Field(gt=0, le=bounds.EPOCHS)]
Positions = Annotated[int, Field(gt=0, le=bounds.POSITIONS)]
LongText = Literal["head", "head_tail", "windows"]
Decoder = Literal["softmax", "crf"]
ClassWeights = Literal["balanced"] | dict[str, Annotated[float, Field(gt=0)]]


class Freeze(Section):
    """The frozen parts. Freezing everything is the feature-based approach of Devlin et al. 2019, section 5.3."""

    layers: Annotated[int, Field(ge=0, le=bounds.LAYERS)] | Literal["all"]
    """Number of frozen layers, from the lowest; `all` trains only the head (and the pooler, which belongs to it)."""
    embeddings: bool
    """Whether they are frozen too. If not, gradients pass through all layers and hardly any time is saved."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.layers == 0 and not self.embeddings:
            raise contradiction("layers 0 and embeddings false freeze nothing", "leave the block out")
        return self

    @property
    def is_everything(self) -> bool:
        """Whether only the head is trained."""
        return self.layers == "all" and self.embeddings


class GradualUnfreezing(Section):
    """Training from the top: Howard and Ruder 2018, "Universal Language Model Fine-tuning", section 3.3.

    The first epoch trains the head alone, each later one `layers_per_epoch` layers more; the embeddings come last.
    """

    layers_per_epoch: Annotated[int, Field(ge=1, le=bounds.LAYERS)]
    """In the paper 1; with 12 layers and few epochs a larger value is needed to train all of them."""


class RDrop(Section):
    """The weight of the divergence. Twice the forward passes, so nearly twice the time."""

    weight: Annotated[float, Field(gt=0)]
    """The paper's alpha (Liang et al. 2021): 1 to 5 for classification there."""


class EarlyStopping(Section):
    """Keeps the weights of the epoch with the best dev score, by the metric that arms are compared by.

    The rule is the same for every arm and uses dev only (Prechelt 1998, "Early Stopping - But When?").
    """

    patience: Annotated[int, Field(ge=1, le=bounds.EPOCHS)]
    """The run ends after so many consecutive epochs without improvement."""


class Search(Section):
    """The values that are tried before the seeds are trained (the extra `search`). A value that is left out is that of
    the task."""

    trials: Annotated[int, Field(gt=0, le=bounds.TRIALS)]
    """How many; optuna's TPE sampler chooses the next by those before."""
    learning_rate: Annotated[list[Rate], Field(max_length=bounds.VALUES)]
    """The lowest and the highest to try."""
    global_batch_size: Annotated[list[Size], Field(max_length=bounds.VALUES)] | None = None
    """Values to try."""
    epochs: Annotated[list[Epochs], Field(max_length=bounds.VALUES)] | None = None
    """Values to try, in turn, so that the trials of each arm cost the same."""
    seeds: Annotated[int, Field(gt=0, le=bounds.RUNS)]
    """Runs of each trial, the same for every trial and arm and none of them that of a result; the mean of their scores
    on the dev split decides, the earlier trial where two are equal."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        for name, values, example in (
            ("global_batch_size", self.global_batch_size, [16, 32]),
            ("epochs", self.epochs, [3, 5]),
        ):
            if values is not None and (not values or len(set(values)) != len(values)):
                raise contradiction(f"{name} {values}: give at least one value, each once", f"write e.g. {example}")
        rates = self.learning_rate
        if len(rates) != 2 or rates[0] >= rates[1]:
            problem = f"learning_rate {rates}: it takes the lowest and the highest"
            raise contradiction(problem, "write e.g. [1.0e-5, 2.0e-4]")
        if self.epochs is not None and self.trials < len(self.epochs):
            problem = f"trials {self.trials} < {len(self.epochs)} values of epochs, and each is to be tried"
            raise contradiction(problem, "raise trials, or take values of epochs out")
        return self


class SingleSentenceOptions(Section):
    """How texts are encoded, as the card of a checkpoint keeps it."""

    long_text: LongText
    stride: Positions | None = None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if (self.stride is not None) != (self.long_text == "windows"):
            raise contradiction(f"long_text '{self.long_text}' and stride {self.stride}: windows need one, others none")
        return self


class SentencePairOptions(Section):
    """How pairs are encoded."""

    long_text: Literal["head", "head_tail"]


class ExtractiveAnswerOptions(Section):
    """How contexts are encoded and answers selected."""

    max_question: Positions
    stride: Positions
    max_answer: Positions


class SequenceLabellingOptions(Section):
    """How words are encoded and tagged."""

    stride: Positions
    decoder: Decoder | None = None


TaskOptions = SingleSentenceOptions | SentencePairOptions | ExtractiveAnswerOptions | SequenceLabellingOptions
OPTIONS: dict[TaskType, type[TaskOptions]] = {
    "single_sentence": SingleSentenceOptions,
    "sentence_pair": SentencePairOptions,
    "extractive_answer": ExtractiveAnswerOptions,
    "sequence_labelling": SequenceLabellingOptions,
}
ONLY_SOME = ("long_text", "stride", "max_question", "max_answer", "decoder")
"""Keys of the section that only some task types have."""


def _counted(value: object) -> object:
    """A number of seeds as these seeds."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    if not 0 < value <= bounds.RUNS:
        remedy = f"write how many, from 1 to {bounds.RUNS}, or a list"
        raise contradiction(f"{value} is out of range", remedy, Code.BAD_OPTION)
    return list(range(1, value + 1))


class Finetune(Training):
    """Supervised fine-tuning of a task, whatever its arm."""

    seeds: Annotated[list[Seed], Field(max_length=bounds.RUNS), BeforeValidator(_counted)] = [1, 2, 3]
    """A number, or a list: one run each, of the head, the order of the examples and dropout (and, from random weights,
    of all weights)."""
    labels: Annotated[int, Field(ge=0, le=bounds.ROWS)] = 0
    """Rows of the training split that are used; 0 = all."""
    epochs: Epochs = 4
    """Passes over the training rows; a fraction is allowed."""
    learning_rate: Annotated[Rate, FromWeights(4e-4, 3e-5)]
    """At its highest, after the warm-up."""
    warmup_fraction: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Share of the optimizer steps in which the learning rate rises from 0; it then falls to 0."""
    betas: list[Annotated[float, Field(ge=0, lt=1)]] = [0.9, 0.999]
    """Decay of the running means of the gradient and of its square."""
    epsilon: Annotated[float, Field(gt=0, lt=1)] = 1e-8
    """Added to the denominator of AdamW."""
    global_batch_size: Size = 32
    """Examples an optimizer step."""
    micro_batch_size: Size = 32
    """Examples a forward pass."""
    max_length: Annotated[int, Field(ge=8, le=bounds.POSITIONS)] = 128
    """Tokens of the longest example; `long_text` and `stride` say what becomes of a longer row."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Of hidden states, attention and the input of the head."""
    long_text: LongText = "head"
    """Of a text longer than `max_length`: its beginning; the first quarter and the rest from the end; or all of it in
    windows, whose scores are averaged (not for pairs, whose longer text is cut first, then both alike)."""
    stride: Positions | None = None
    """Tokens by which a window begins after the one before it: of a long text in `windows`, of a context, of a row of
    tokens. Left out: half of the room of a window."""
    max_question: Positions | None = None
    """Of `question-answering`: tokens of the longest question; a longer one is truncated. The context gets the rest of
    `max_length`. Left out: a quarter of `max_length`."""
    max_answer: Positions | None = None
    """Of `question-answering`: tokens of the longest answer. Left out: a quarter of `max_length`."""
    decoder: Decoder | None = None
    """Of `token-classification`: whether tags are trained word by word (softmax), or as sequences with transition
    scores (crf). Left out: softmax. Neither predicts illegal sequences."""
    class_weights: ClassWeights | None = None
    """How much the loss of each label counts: `balanced`, or a weight for every label. For texts and pairs with labels.
    Left out: all alike."""
    freeze: Freeze | None = None
    """Left out: all of the encoder learns."""
    gradual_unfreezing: GradualUnfreezing | None = None
    """Left out: all of it learns from the first step."""
    r_drop: RDrop | None = None
    """Left out: one pass a batch."""
    early_stopping: EarlyStopping | None = None
    """Left out: all epochs are trained, and the last weights are kept."""
    search: Search | None = None
    """Left out: the values above are trained with as they stand."""
    label_counts: Annotated[list[Count], Field(max_length=bounds.VALUES)] | None = None
    """Training on so many of the labels as well, each number a part of the next, with all seeds and as many epochs: a
    learning curve. Left out: on all of them only."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise contradiction(f"seeds {self.seeds}: give at least one, each once", "write e.g. [1, 2, 3]")
        if self.global_batch_size % self.micro_batch_size:
            nearest = max(1, round(self.global_batch_size / self.micro_batch_size)) * self.micro_batch_size
            raise contradiction(
                f"global_batch_size {self.global_batch_size} is not a multiple of"
                f" micro_batch_size {self.micro_batch_size}",
                f"write global_batch_size: {nearest}",
            )
        if self.max_length > self.block_size:
            raise contradiction(
                f"max_length {self.max_length} is larger than block_size {self.block_size}",
                f"write block_size: {self.max_length}",
            )
        for size in (self.search and self.search.global_batch_size) or []:
            if size % self.micro_batch_size:
                raise contradiction(
                    f"search.global_batch_size {size} is not a multiple of micro_batch_size {self.micro_batch_size}"
                )
        return self

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        epochs = [self.epochs, *((self.search and self.search.epochs) or [])]  # trials must not contradict them either
        for wrong, message in (
            (self.freeze and self.gradual_unfreezing, "freeze and gradual_unfreezing: give one of them"),
            (self.r_drop and self.dropout == 0, "r_drop and dropout 0.0: both passes would be the same"),
            (
                self.r_drop and self.decoder == "crf",
                "r_drop and decoder 'crf': it compares words one by one, a CRF knows rows",
            ),
            (
                self.gradual_unfreezing and min(epochs) <= 1,
                f"gradual_unfreezing and epochs {min(epochs)}: only the head would learn",
            ),
            (
                self.early_stopping and min(epochs) <= 1,
                f"early_stopping and epochs {min(epochs)}: nothing to choose from",
            ),
            (
                self.layer_decay is not None and self.freeze is not None and self.freeze.is_everything,
                f"layer_decay {self.layer_decay} and all layers frozen: it would do nothing",
            ),
        ):
            if wrong:
                raise contradiction(message)
        return self

    @model_validator(mode="after")
    def _counts_agree(self) -> Self:
        counts = self.label_counts
        if counts is not None and (not counts or counts != sorted(set(counts))):
            raise contradiction(f"label_counts {counts}: give at least one, the fewest first", "write e.g. [100, 300]")
        if counts is not None and 0 < self.labels <= counts[-1]:
            raise contradiction(
                f"label_counts {counts} and labels {self.labels}: all are trained on anyway; give fewer"
            )
        return self

    def options(self, shape: TaskType) -> TaskOptions:
        """Of the rows of a task.

        Raises:
            Contradiction: a window would leave out tokens, or pairs are to be read in windows.
        """
        if shape == "sentence_pair":
            if self.long_text == "windows":
                raise contradiction(
                    "long_text 'windows' and a pair of texts", "write head or head_tail", key="long_text"
                )
            return SentencePairOptions(long_text=self.long_text)
        room, shown = self.max_length - 2, f"max_length {self.max_length} holds two less"
        if shape == "extractive_answer":
            question = self.max_question or self.max_length // 4
            room = self.max_length - 3 - question
            if room < 1:
                problem = f"max_question {question} leaves no room for the context in max_length {self.max_length}"
                remedy = f"write a max_question of at most {self.max_length - 4}, better a quarter of that"
                raise contradiction(problem, remedy, key="max_question")
            shown = f"max_length {self.max_length} holds three less, and max_question {question} of them may be the"
            shown += " question's"
        stride = self.stride or (room + 2) // 2
        has_windows = shape != "single_sentence" or self.long_text == "windows"
        if has_windows and stride > room:
            remedy = f"write a stride of at most {room}"
            raise contradiction(f"stride {stride} leaves out tokens: {shown}", remedy, key="stride")
        if shape == "extractive_answer":
            answer = self.max_answer or self.max_length // 4
            return ExtractiveAnswerOptions(max_question=question, stride=stride, max_answer=answer)
        if shape == "sequence_labelling":
            return SequenceLabellingOptions(stride=stride, decoder=self.decoder)
        return SingleSentenceOptions(long_text=self.long_text, stride=stride if has_windows else None)

    def check_target(self, shape: TaskType, target: Target) -> None:
        """Refuse options that the rows of a task do not have.

        Raises:
            Contradiction: weights of classes, or R-Drop, where there are none.
        """
        if self.class_weights is not None and (target not in ("class", "labels")):
            problem = f"class_weights and target '{target}': only texts and pairs with labels have them"
            raise contradiction(problem, key="class_weights")
        if self.r_drop is not None and target == "number":
            raise contradiction("r_drop and a number: regression has no classes", "remove the key", key="r_drop")
        self.options(shape)
