"""Rules of the section `compare`: its questions are about arms that are there, and repeated training answers them."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptbert.base.ladder import LadderConfig
from adaptbert.codes import Code
from adaptbert.comparison.questions import (
    AGAIN,
    PRIMARY,
    QUESTIONS,
    again_pairs,
    named_pairs,
    pairs,
    without_variants,
)
from adaptbert.errors import BadParams, UserError, nearest

OF_GENERAL_PRETRAINING = {"pretrain", "climb"}
"""Questions of random weights beside trained ones: no number of draws repeats what they differ in."""


def check(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[UserError]:
    """Questions and arms that do not exist, and names that are taken."""
    compare = document["compare"]
    own = compare.get("questions", {})
    for name, arms in own.items():
        place = f"{file}: compare.questions.{name}"
        if name in (*QUESTIONS, AGAIN):
            problem = f"'{name}' is a question already"
            yield BadParams(Code.BAD_NAME, place, problem, "give this one another name")
        for arm in arms:
            if arm not in ladder.arms:
                problem = f"'{arm}' is no arm{nearest(arm, list(ladder.arms))}"
                yield BadParams(Code.UNKNOWN_KEY, place, problem, "name two arms of ladder.arms")
    known = [*QUESTIONS, AGAIN, *own]
    for name in compare.get("primary", PRIMARY):
        question, _, arm = name.partition("/")
        if question not in known or (arm and arm not in ladder.arms):
            problem = f"'{name}' is no question{nearest(name, known)}"
            remedy = f"write one of {', '.join(known)}"
            yield BadParams(Code.UNKNOWN_KEY, f"{file}: compare.primary", problem, remedy)


def notices(document: Mapping[str, Any], ladder: LadderConfig, file: Path) -> Iterator[str]:
    """Why there will be no verdict: no task asks a primary question, or rungs are trained once.

    Args:
        document: one that `check` lets pass.
    """
    compare = document["compare"]
    primary = list(compare.get("primary", PRIMARY))
    answered = set(_answerable(document, ladder, compare.get("questions", {}))) & {
        name.partition("/")[0] for name in primary
    }
    if not answered:
        known = ", ".join(dict.fromkeys(_answerable(document, ladder, compare.get("questions", {})))) or "none"
        lacking = f"no task has the arms for {' or '.join(primary) or 'a question'}, so there will be no verdict"
        yield f"{file}: compare.primary: {lacking}; questions that the arms answer: {known}"
    elif answered <= OF_GENERAL_PRETRAINING:
        yield (
            f"{file}: compare.primary: {' and '.join(sorted(answered))} cannot have a verdict, because general "
            "pre-training is done once for each start, whatever ladder.draws says; its interval is of these weights"
        )
    elif ladder.draws == 1 and any(arm.climb.corpora or arm.climb.with_task_text for arm in ladder.arms.values()):
        yield (
            f"{file}: ladder.draws: with 1 draw there is no verdict on a step, only a description of these weights; "
            "write 2 or more"
        )


def _answerable(document: Mapping[str, Any], ladder: LadderConfig, own: Mapping[str, tuple[str, str]]) -> Iterable[str]:
    for task in document["collect_task"]:
        for start in ladder.starts:
            climbs = {name: arm.climb for name, arm in ladder.arms_of(task, start).items()}
            compared = pairs(without_variants(climbs, document["finetune"], ladder.again))
            every = [*compared, *again_pairs(climbs, ladder.again), *named_pairs(climbs, own)]
            yield from (pair.question for pair in every)
