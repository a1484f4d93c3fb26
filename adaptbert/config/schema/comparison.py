"""The section `compare`: how arms are compared."""

from typing import Annotated

from pydantic import Field

from adaptbert.config.schema.section import Name, Section

ORDER = ("recipe", "domain_transfer", "task_transfer", "domain_text")
"""Whether all of it pays; then which step does, and whether it is the text. What a user asks first has all power."""


class Compare(Section):
    """How arms are compared."""

    replicates: Annotated[int, Field(ge=1, le=100)] = 2
    """Every step above general pre-training is trained so many times, each time with other seeds; of one there is no
    verdict."""
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    """Confidence of every interval; 1 - confidence is the level of every verdict, which at 0.5 is a coin's."""
    min_gain: Annotated[float, Field(gt=0, le=100)] = 1.0
    """The smallest gain worth having, in points (scores times 100)."""
    metric: str | None = None
    """Metric that compares arms in the tasks that have it, such as `accuracy`; the others by the first of theirs."""
    order: list[str] = list(ORDER)
    """Questions that get a verdict, in all tasks: the first by itself, the others when it has shown a gain or a loss;
    all others are described. `domain_transfer/news` is the one of an arm `news` beside another domain corpus."""
    questions: dict[Name, Annotated[list[Name], Field(min_length=2, max_length=2)]] = {}
    """Further questions by name: an arm and the arm that it is compared with."""
    baseline_seed: Annotated[int, Field(ge=0, lt=2**32)] = 1
    """Seed of the logistic regression among the baselines."""
