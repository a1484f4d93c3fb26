"""A release against the champion of its task: both on the same test rows, paired, by the metric of the release."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from adaptbert.codes import Code
from adaptbert.comparison.scores import ResampledRows
from adaptbert.config.schema.comparison import Compare
from adaptbert.config.schema.task_types import SPECS, TARGETS, parsed
from adaptbert.data import labelled_set
from adaptbert.errors import BadData
from adaptbert.release.record import FILE, PREDICTIONS, Release
from adaptbert.release.registry import FORCE
from adaptbert.statistics.intervals import Difference, difference
from adaptbert.statistics.study import RowScores, row_variance
from adaptbert.statistics.variance import ROWS, over_chi_squared, variance_of
from adaptbert.statistics.verdicts import Verdict, judge
from adaptbert.tasks.metrics.scoring import SCORING, limits, right_answers


@dataclass(frozen=True)
class Challenge:
    """The score of the release and that of the champion on all test rows, and what their difference shows.

    Both are single models, so the interval covers test rows alone: another seed of the same arm is another model.
    """

    metric: str
    scores: tuple[float, float]
    difference: Difference
    verdict: Verdict

    @property
    def is_worse(self) -> bool:
        """Whether the release is shown to score lower; where all rows differ alike there is no interval to show it."""
        return self.verdict == "loss" or (self.verdict == "not_tested" and self.difference.mean < 0)


def challenge(release: Path, champion: Path, compare: Compare) -> Challenge:
    """Compare two releases by their answers to the test rows in data/validated.

    Args:
        release, champion: folders.
        compare: its confidence and smallest gain worth having.

    Raises:
        BadData: the releases are of different task types or metrics, answered other rows than those, or the rows are
            not there.
    """
    new, old = (Release.read(folder / FILE) for folder in (release, champion))
    for what, own, other in (("task type", new.type, old.type), ("metric", new.metric, old.metric)):
        if own != other:
            problem = f"its {what} is {own}, that of the champion, release {old.version}, is {other}"
            raise BadData(Code.CHALLENGE, _named(new), problem, f"they cannot be compared; {FORCE}")
    folder = Path("data/validated/tasks", new.task)
    if not folder.is_dir():
        remedy = f"fetch the test rows with `dvc pull`, or run `dvc repro validate`; {FORCE}"
        raise BadData(Code.FILE, folder, "no such folder, and the test compares answers to its rows", remedy)
    rows = ResampledRows(folder, labelled_set.test_groups(Path("data/raw/tasks", new.task)), new.metric)
    answers = [_answers(path, record, rows) for path, record in ((release, new), (champion, old))]
    gold, score = right_answers(rows.rows, rows.task.target), SCORING[rows.task.target].score
    ours, theirs = (score(gold, own, rows.task)[rows.metric] for own in answers)
    beside = RowScores(rows.resampled(answers[0])) - RowScores(rows.resampled(answers[1]))
    df = max(2, rows.groups) - 1
    variance = variance_of({"rows": row_variance(beside, rows.groups) * over_chi_squared(df, ROWS)})
    low, high = limits(rows.metric)
    shown = difference(ours - theirs, variance, 1, 0, compare.confidence, (low - high, high - low))
    ((judgement,),) = judge([[shown]], compare.min_gain / 100, compare.confidence)
    return Challenge(rows.metric, (ours, theirs), shown, judgement.verdict)


def _answers(folder: Path, release: Release, rows: ResampledRows) -> list[Any]:
    """What a release answered to each of the rows, in their order."""
    target = SPECS[release.type].target
    output = TARGETS[target]
    table = pq.read_table(folder / PREDICTIONS, columns=["id", "gold", "predicted"]).to_pylist()
    answers = {row["id"]: parsed(row["predicted"], output.answer_cell) for row in table}
    gold = {row["id"]: parsed(row["gold"], output.cell) for row in table}
    right = right_answers(rows.rows, rows.task.target)
    expected = {row["id"]: answer for row, answer in zip(rows.rows, right, strict=True)}
    if gold != expected:
        same = len([name for name in gold.keys() & expected.keys() if gold[name] == expected[name]])
        here = f"{same:,} are in {rows.data}, of {len(expected):,}"
        problem = f"it answered another test set: of its {len(gold):,} rows, {here}"
        raise BadData(Code.CHALLENGE, _named(release), problem, f"release both from one test set; {FORCE}")
    return [answers[name] for name in expected]


def _named(release: Release) -> str:
    return f"releases/{release.task}/{release.version}"
