"""Records of a forecast beside its outcome: ranges of gain and differences, prices and what training took."""

from dataclasses import dataclass
from typing import Literal

from adaptbert.comparison.forecasts import Forecast, Range
from adaptbert.comparison.statistics.intervals import Difference

Place = Literal["inside", "above", "below"]


@dataclass(frozen=True)
class GainOutcome:
    """One recorded range beside the difference of one task.

    Attributes:
        task: its name on the page.
        step: the question, as in `Task.steps`.
        before: whether none of the two arms' cells had results when the forecast was made.
    """

    task: str
    step: str
    forecast: Range
    difference: Difference
    before: bool

    @property
    def place(self) -> Place:
        """Where the difference lies, whatever its interval covers."""
        points = round(100 * self.difference.mean, 6)
        if points < self.forecast.low:
            return "below"
        return "above" if points > self.forecast.high else "inside"

    @property
    def is_sure(self) -> bool:
        """Whether the whole interval of the difference lies on the same side of the ends of the range."""
        low, high = self.difference.low, self.difference.high
        if low is None or high is None:
            return False
        inside = self.forecast.low <= 100 * low and 100 * high <= self.forecast.high
        return {"inside": inside, "above": 100 * low > self.forecast.high, "below": 100 * high < self.forecast.low}[
            self.place
        ]


@dataclass(frozen=True)
class PriceOutcome:
    """What was to be trained when the forecast was made, as far as it has been trained since.

    Attributes:
        outputs: rungs and cells that have results now.
        missing: those that still have none.
        dropped: those that the ladder no longer names.
        added: what the ladder names today and the forecast did not price.
        ended_early: rungs among `outputs` that a stop rule ended.
        differing: of the other outputs those that took less or more than was forecast, by a tenth or more.
        forecast, measured: TFLOP of `outputs`.
        minutes: forecast for them; outputs of stages hold no times (docs/decisions/0003), so there is no outcome.
    """

    outputs: int
    missing: int
    dropped: int
    added: int
    ended_early: list[str]
    differing: list[str]
    forecast: float
    measured: float
    minutes: float


@dataclass(frozen=True)
class ForecastOutcome:
    """The forecast of one start beside its outcome.

    Attributes:
        unrecorded: primary questions of which the forecast has no recorded gain.
    """

    forecast: Forecast
    price: PriceOutcome
    gains: list[GainOutcome]
    unrecorded: list[str]

    @property
    def start(self) -> str:
        return self.forecast.start
