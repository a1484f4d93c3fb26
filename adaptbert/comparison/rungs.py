"""Records of rungs: bits per character, cost and masks of each draw, and the draws of a rung together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from adaptbert.comparison.questions import role
from adaptbert.config.schema.bases import Climb


@dataclass(frozen=True)
class Cost:
    """What training took, e.g. weights before fine-tuning, summed over a rung and all the rungs below it."""

    tokens: int
    tflop: float


@dataclass(frozen=True)
class Masks:
    """The configured masking of a rung, and the audit of its actual masks.

    Attributes:
        audit: `adaptbert.mlm.masking.audit_metrics`.
    """

    unit: str
    probability: float
    audit: dict[str, float]


@dataclass(frozen=True)
class Rung:
    """One checkpoint of the ladder; all figures are None or empty where its metrics are missing.

    Attributes:
        name: in tables and on the page; with the draw where there are several.
        group: the same without the draw: all draws of a rung have one.
        path: the same without draw and start: how it was trained.
        start: what its weights began with, a key of `ladder.starts`.
        task: whose text it was trained on; None below task transfer.
        draw: from 1; 0 for a rung that is made once for each start.
        below: the `group` of the rung whose weights it began with, or a public checkpoint; None for random weights.
        climb: what its weights have been trained on.
        tokens, tflop: of this rung alone.
        total: with the rungs below; None where one of them is missing.
        before, after: held-out set -> bits per character.
        curve: (tokens trained in this rung, held-out set -> bits per character), the beginning and the end included.
        masks: None where nothing was trained.
        random_head: whether the head that these figures were measured with was never trained.
    """

    name: str
    group: str
    path: str
    start: str
    task: str | None
    draw: int
    below: str | None
    climb: Climb
    missing: bool
    tokens: int
    tflop: float
    total: Cost | None
    before: dict[str, float]
    after: dict[str, float]
    curve: list[tuple[int, dict[str, float]]]
    masks: Masks | None = None
    random_head: bool = False

    @property
    def role(self) -> str:
        """How far up the ladder it stands: one of `adaptbert.comparison.questions.ROLES`, or `other`."""
        return role(self.climb) or "other"


@dataclass(frozen=True)
class Draws:
    """All draws of a rung: figures are means over those that were measured."""

    name: str
    rungs: Sequence[Rung]

    @property
    def first(self) -> Rung:
        """The first that was measured; where none was, the first."""
        return next((rung for rung in self.rungs if not rung.missing), self.rungs[0])

    @property
    def below(self) -> str | None:
        """The name of the rung that it starts from, without a draw: each draw starts from its own."""
        return self.first.below

    @property
    def missing(self) -> bool:
        """Whether no draw was measured."""
        return self.first.missing

    @property
    def before(self) -> dict[str, float]:
        return _means(rung.before for rung in self.rungs)

    @property
    def after(self) -> dict[str, float]:
        return _means(rung.after for rung in self.rungs)

    @property
    def masks(self) -> Masks | None:
        """Rates of all draws as means; masked special tokens are added up."""
        audits = [rung.masks for rung in self.rungs if rung.masks is not None]
        if not audits:
            return None
        audit = _means(masks.audit for masks in audits)
        specials = sum(masks.audit["specials"] for masks in audits)
        return Masks(audits[0].unit, audits[0].probability, {**audit, "specials": specials})

    def each(self, heldout: str) -> list[float]:
        """Bits per character of every draw that was measured on this text."""
        return [rung.after[heldout] for rung in self.rungs if heldout in rung.after]


def grouped(rungs: Iterable[Rung]) -> list[Draws]:
    """The draws of each rung together, in the order of the first."""
    groups: dict[str, list[Rung]] = {}
    for rung in rungs:
        groups.setdefault(rung.group, []).append(rung)
    return [Draws(name, draws) for name, draws in groups.items()]


def _means(draws: Iterable[Mapping[str, float]]) -> dict[str, float]:
    measured: dict[str, list[float]] = {}
    for bits in draws:
        for name, value in bits.items():
            measured.setdefault(name, []).append(value)
    return {name: mean(values) for name, values in measured.items()}
