"""From a release to the champion of its task: what is said, what is refused, and when the alias moves."""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.config.schema.comparison import Compare
from adaptbert.errors import BadData
from adaptbert.release.challenge import Challenge, challenge
from adaptbert.release.record import FILE, RELEASES, Release
from adaptbert.release.registry import CHAMPION, FORCE, SERVE, Registry, check_sums


def folder_of(task: str, number: int | None) -> Path:
    """The folder of a release; of the last one where no number is given.

    Raises:
        BadData: there is none, or DVC has to fetch it first.
    """
    numbers = Release.numbers(task)
    if not numbers or (number is not None and number not in numbers):
        there = ", ".join(map(str, numbers)) or "none"
        problem = f"no release {'' if number is None else f'{number} '}of this task; there: {there}"
        raise BadData(Code.FILE, RELEASES / task, problem, f"make one: adaptbert release {task}")
    folder = RELEASES / task / str(numbers[-1] if number is None else number)
    if not folder.is_dir():
        raise BadData(Code.FILE, folder, f"not here, only its record {folder}.dvc", f"fetch it: dvc pull {folder}.dvc")
    return folder


def promote(registry: Registry, folder: Path, compare: Compare, reason: str) -> Iterator[str]:
    """Register a release and give it the alias.

    Args:
        reason: why it is to have the alias whatever the test shows; empty: the test decides.

    Yields:
        What happened, a line each.

    Raises:
        BadData: the files of the release changed; or the alias did not move, because the champion is shown to be
            better, or cannot be compared.
    """
    check_sums(folder)
    release = Release.read(folder / FILE)
    version, champion = registry.version(folder, release), registry.champion(release.task)
    run = registry.run_name(version)
    no_run = "a linear model has none" if release.kind == "linear" else "this store has none that made these weights"
    of_run = f"of the run '{run}'" if run else f"without a run: {no_run}"
    yield f"{folder}: version {version.version} of the registered model '{release.task}', {of_run}"
    if champion is not None and str(champion.version) == str(version.version):  # MLflow gives numbers and texts
        yield f"{folder} is the {CHAMPION} already"
        return
    why = "the first"
    if champion is not None:
        why = yield from _challenged(registry, champion, folder, compare, reason)
    registry.crown(version, f"forced: {reason}" if reason else why)
    yield f"{folder} is the {CHAMPION}; serve it: {SERVE.format(release.task)}"


def _challenged(
    registry: Registry, champion: Any, folder: Path, compare: Compare, reason: str
) -> Generator[str, None, str]:
    """What the test shows against the champion, in lines and as the reason to move the alias."""
    before = f"release {champion.tags.get('release', '?')} (version {champion.version})"
    try:
        with registry.evidence(champion) as held:
            shown = challenge(folder, held, compare)
    except BadData as error:
        if not reason:
            raise
        yield f"  not compared with the {CHAMPION}, {before}: {error.problem}"
        return ""
    ours, theirs = (f"{100 * score:.1f}" for score in shown.scores)
    yield f"  test/{shown.metric}: {ours}; of the {CHAMPION}, {before}: {theirs}"
    yield f"  difference: {_gap(shown)}: {shown.verdict}"
    if shown.is_worse and not reason:
        problem = f"a loss against the {CHAMPION}, {before}: {_gap(shown)}"
        raise BadData(Code.CHALLENGE, folder, problem, f"the {CHAMPION} stays; {FORCE}")
    return f"{shown.verdict} against {before}: {_gap(shown)}"


def _gap(shown: Challenge) -> str:
    gap = shown.difference
    ends = "" if gap.low is None or gap.high is None else f" ({100 * gap.low:+.1f} to {100 * gap.high:+.1f})"
    return f"{100 * gap.mean:+.1f} points{ends}"
