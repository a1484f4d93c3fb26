"""Gains that were published or measured in this project: the only ground that a forecast has for a range.

A record is of one question (adaptbert.comparison.questions) and one task, in points. Published ones and studies of this
project are told apart, because texts, budgets, metrics and starts differ.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from adaptbert.comparison.forecasts import Range


@dataclass(frozen=True)
class Record:
    """One measured gain.

    Attributes:
        gain: in points.
        study: with the place where it is written.
    """

    question: str
    gain: float
    study: str
    task: str


@dataclass(frozen=True)
class Scores:
    """A row of a published table, in points: mean test scores of RoBERTa-base and after further training."""

    task: str
    domain: str
    general: float
    dapt: float
    tapt: float
    both: float


GURURANGAN = "Gururangan et al. 2020 (arXiv 2004.10964), table 5"
"""RoBERTa-base, means of five seeds; macro-F1, micro-F1 for CHEMPROT and RCT. The figures were compared with two
transcriptions of the table, not with the paper itself."""
TABLE_5 = (
    Scores("CHEMPROT", "BioMed", 81.9, 84.2, 82.6, 84.4),
    Scores("RCT", "BioMed", 87.2, 87.6, 87.7, 87.8),
    Scores("ACL-ARC", "CS", 63.0, 75.4, 67.4, 75.6),
    Scores("SCIERC", "CS", 77.3, 80.8, 79.3, 81.3),
    Scores("HYPERPARTISAN", "News", 86.6, 88.2, 90.4, 90.0),
    Scores("AGNEWS", "News", 93.9, 93.9, 94.5, 94.6),
    Scores("HELPFULNESS", "Reviews", 65.1, 66.5, 68.5, 68.7),
    Scores("IMDB", "Reviews", 95.0, 95.4, 95.5, 95.6),
)
OVERLAP_WITH_GENERAL = {"CS": 0.192, "BioMed": 0.273, "Reviews": 0.345, "News": 0.541}
"""Domain -> share of its 10,000 most frequent words, without stop words, that are among those of text like RoBERTa's
(the same, figure 2); the least like it first. Compared with transcriptions as well."""

WEIBO, BIOMEDICAL = "docs/results/weibo.md", "docs/results/biomedical.md"
OWN_GAINS = {
    "domain_transfer": (4.5, 0.9, 5.7, 3.2, -0.3),
    "domain_text": (4.7, 1.7, 6.6, 0.2, 0.5),
    "task_transfer_after_domain": (1.2, None, 0.3, 1.3, 0.7),
    "right_domain": (2.1, None, 4.7, 3.8, 1.3),
}
"""By task of `OWN_TASKS`: encoders of 4 x 256 trained from random weights, three draws, three seeds, macro-F1 or F1 of
entities. No verdict was a gain: the spread of these means is large."""
OWN_TASKS = {
    "ewect_usual": WEIBO,
    "ewect_virus": WEIBO,
    "rct_sections": BIOMEDICAL,
    "chemprot": BIOMEDICAL,
    "ncbi_disease": BIOMEDICAL,
}
OWN = tuple(
    Record(question, gain, study, task)
    for question, gains in OWN_GAINS.items()
    for (task, study), gain in zip(OWN_TASKS.items(), gains, strict=True)
    if gain is not None
)
"""Studies of this project that trained each rung several times."""

NEAREST = {
    "domain_text": "domain_transfer",
    "task_transfer_after_general_long": "task_transfer",
    "task_transfer_from_scratch": "task_transfer",
}
"""Question without records -> the one whose records come nearest: no published study here has the control of equally
much general text."""


def published() -> list[Record]:
    """All gains of the published tables."""
    gains = [
        (
            row.task,
            {
                "domain_transfer": row.dapt - row.general,
                "task_transfer": row.tapt - row.general,
                "task_transfer_after_domain": row.both - row.dapt,
            },
        )
        for row in TABLE_5
    ]
    return [
        Record(question, round(gain, 1), GURURANGAN, task)
        for task, of_task in gains
        for question, gain in of_task.items()
    ]


def gains_of_domains() -> dict[str, tuple[float, float]]:
    """Domain of the published tables -> the least and the largest gain of domain transfer, in points."""
    gains: dict[str, list[float]] = {}
    for row in TABLE_5:
        gains.setdefault(row.domain, []).append(round(row.dapt - row.general, 1))
    return {domain: (min(own), max(own)) for domain, own in gains.items()}


def ranges(questions: Iterable[str], worth: float) -> list[Range]:
    """The range of the records of each question, published ones and own ones apart; none where nothing is recorded.

    Args:
        questions: primary ones, `domain_text/news` with the name of an arm.
        worth: the smallest gain worth having, in points.
    """
    recorded = []
    for question in questions:
        name = question.partition("/")[0]
        for records, own in ((published(), False), (OWN, True)):
            exact = [record for record in records if record.question == name]
            near = [record for record in records if record.question == NEAREST.get(name)]
            if of := exact or near:
                recorded.append(_range(question, of, own, worth))
    return recorded


def _range(question: str, records: list[Record], own: bool, worth: float) -> Range:
    gains = [record.gain for record in records]
    return Range(
        question=question,
        records_of=records[0].question,
        own=own,
        low=min(gains),
        high=max(gains),
        records=len(gains),
        reach=sum(gain >= worth for gain in gains),
        worth=worth,
        sources=list(dict.fromkeys(record.study for record in records)),
    )
