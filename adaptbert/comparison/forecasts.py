"""forecasts/<start>.json: what `adaptbert forecast` wrote before the GPU hours were spent.

Written by adaptbert.project.forecast, read by the stage `compare`, which puts it beside the outcome. Times and prices
belong to the machine that is named in it; everything in `facts` is the same for the same text, weights and params.
"""

from pathlib import Path
from typing import Literal, Self

from adaptbert.base.files import read_json
from adaptbert.base.record import Record, validated
from adaptbert.codes import Code
from adaptbert.errors import BadData

FOLDER = Path("forecasts")
Points = Literal["toward", "away", "open"]
"""Whether a fact speaks for a gain, against one, or neither."""


class TextFacts(Record):
    """The training text of a corpus, or of a task without its labels."""

    kind: Literal["corpus", "task"]
    tokens: int
    """[CLS] and [SEP] included."""
    characters_per_token: float
    """Without [CLS] and [SEP]."""
    unknown_rate: float
    """Share of the tokens that are [UNK]."""
    rejected: float
    """Share of the rows that `validate` rejected, of a task those of its training split."""
    duplicates: float
    """Share of the rows that repeat an earlier one; a part of `rejected`."""


class Overlap(Record):
    """The most frequent words of two texts."""

    texts: list[str]
    share: float
    """Of the words of one that are among those of the other."""
    words: int
    """So many of each: 10,000, or as many as the smaller vocabulary has."""


class Gap(Record):
    """Bits per character on held-out text, before and after equally long trainings on a text and on general text."""

    text: str
    before: dict[str, float]
    """Held-out text -> bits per character."""
    after_own: dict[str, float]
    after_general: dict[str, float]
    meaningless: bool
    """Whether the weights, or their head, were never trained, so that the bits compare nothing."""

    @property
    def gain(self) -> float:
        """Bits per character of this text that it teaches beyond what as much general text teaches."""
        return self.after_general[self.text] - self.after_own[self.text]


class Sign(Record):
    """A fact, and where it points."""

    fact: str
    points: Points
    words: str


class Range(Record):
    """The gains that others, or the project itself, measured for a question, in points."""

    question: str
    """A primary question."""
    records_of: str
    """The question of the records: the same, or the nearest one that there are records of."""
    own: bool
    """Whether these are studies of this project, and not published ones."""
    low: float
    high: float
    records: int
    reach: int
    """Of the records, so many are at least `worth`."""
    worth: float
    """`compare.worth`, the smallest gain worth having, in points."""
    sources: list[str]


class Facts(Record):
    """What does not depend on the machine."""

    texts: dict[str, TextFacts]
    overlaps: list[Overlap]
    gaps: list[Gap]
    signs: list[Sign]
    ranges: list[Range]


class Machine(Record):
    """Where the seconds were measured."""

    processor: str
    threads: int
    precision: str


class Rate(Record):
    """The speed of training, measured after some steps that are not counted."""

    training: str
    """`domain_transfer` or `task_transfer`, for all rungs; `finetune/<task>` for its cells."""
    steps: int
    seconds_per_step: float
    tflop_per_second: float
    """Of one device."""


class Price(Record):
    """One rung, or one cell with all its runs."""

    stage: str
    key: str
    trained: bool
    """Whether it was there already when the forecast was made, so that nothing of it was a forecast."""
    runs: int
    tflop: float
    minutes: float
    """Device-minutes of its optimizer steps; without start-up, evaluation and saving."""


class Sum(Record):
    """What is still to be trained."""

    rungs: int
    runs: int
    """Of fine-tuning: cells times seeds, with those of a search and of a learning curve."""
    rungs_minutes: float
    runs_minutes: float
    tflop: float

    @property
    def minutes(self) -> float:
        return self.rungs_minutes + self.runs_minutes


class Forecast(Record):
    """The forecast of one start."""

    start: str
    weights: str
    """What the trials began from: `models/pretrain/<start>`, a public checkpoint, or `random weights`."""
    made: str
    """The date in UTC."""
    params: str
    """sha256 of the values of params.yaml."""
    versions: dict[str, str]
    machine: Machine
    steps: int
    """Optimizer steps of a trial."""
    facts: Facts
    rates: list[Rate]
    prices: list[Price]
    arms: dict[str, Sum]
    """Arms share rungs, so their sums are more than `total`."""
    total: Sum

    @classmethod
    def read(cls, path: Path) -> Self:
        """The forecast in a file.

        Raises:
            BadData: it is no JSON, or not what `adaptbert forecast` writes.
        """
        remedy = "restore it (git checkout), or make it again: `adaptbert forecast --again`"
        try:
            values = read_json(path)
        except ValueError:
            raise BadData(Code.BAD_CONFIG, path, "not JSON", remedy) from None
        return validated(cls, values, path, remedy)


def path_of(start: str, folder: Path = FOLDER) -> Path:
    """The file of a start."""
    return folder / f"{start}.json"
