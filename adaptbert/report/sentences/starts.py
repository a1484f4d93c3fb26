"""Rankings of starts -> sentences in both languages: their order, unequal budgets, what was made once."""

from adaptbert.comparison.records import ArmOfBases, Ranking, Standing
from adaptbert.report.language import EMPTY, Text, listed, moved, points, t
from adaptbert.report.terms import METRICS, STANDS
from adaptbert.statistics.verdicts import ADJUSTMENT


def order(ranking: Ranking, confidence: float) -> Text:
    """Which start is first and by which scores; how far behind the others are in that arm."""
    scores = {start: f" {points(ranking.dev[start])}" if start in ranking.dev else "" for start in ranking.order}
    sentences = t(
        "In the order of their {metric} on the dev split, in the arm {arm}: {names}.",
        metric=METRICS[ranking.metric],
        arm=ranking.arm,
        names=listed([f"{start}{score}" for start, score in scores.items()]),
    )
    for standing in ranking.arms[0].standings[1:]:
        sentences += _behind(standing, ranking.order[0], confidence)
    return sentences


def headline(ranking: Ranking) -> Text:
    """The starts of a task in one sentence, for the top of the page."""
    first, second, *_ = ranking.order
    if ranking.is_tied:
        return t(
            "On {task}, {first} and {second} are equal on the dev split (arm {arm}).",
            task=ranking.task,
            first=first,
            second=second,
            arm=ranking.arm,
        )
    verdict = next((each.verdict for each in ranking.arms[0].standings if each.base == second), None)
    return t(
        "On {task}, {first} is ahead of {others} on the dev split (arm {arm}); on the test split, {second}: {stands}.",
        task=ranking.task,
        first=first,
        others=listed(ranking.order[1:]),
        arm=ranking.arm,
        second=second,
        stands=STANDS[verdict or "untested"],
    )


def _behind(standing: Standing, first: str, confidence: float) -> Text:
    difference = standing.difference
    if difference is None or standing.verdict is None:
        return t("On the test split, {start} and {first} share no seed.", start=standing.base, first=first)
    stands, interval = STANDS[standing.verdict], EMPTY
    if difference.low is not None and difference.high is not None:
        interval = t(
            " ({level:percent} % interval {low} to {high}{adjusted})",
            level=confidence,
            low=moved(difference.low),
            high=moved(difference.high),
            adjusted=adjusted(standing.p_holm),
        )
    return t(
        "On the test split, {start} differs from {first} by {size} points{interval}: {stands}.",
        start=standing.base,
        first=first,
        size=moved(difference.mean),
        interval=interval,
        stands=stands,
    )


def adjusted(p: float | None) -> Text:
    """The p-value after an interval; empty without one."""
    return EMPTY if p is None else t(", {method}-adjusted p {p:p}", method=ADJUSTMENT, p=p)


def budgets(ranking: Ranking) -> Text | None:
    """Arms that were not trained on as many tokens from every start; None where there are none."""
    unequal = [_amounts(arm) for arm in ranking.arms if not arm.same_tokens]
    if not unequal:
        return None
    return t("A difference may be due to unequal budgets: {arms}.", arms=listed(unequal))


def _amounts(arm: ArmOfBases) -> Text:
    spent = [t("{start} {tokens:millions} M", start=start, tokens=cost.tokens) for start, cost in arm.costs.items()]
    return t("{arm} ({spent} tokens)", arm=arm.arm, spent=listed(spent))


def made_here(ranking: Ranking) -> Text | None:
    """The starts of which there is one draw, whatever is trained above them; None where there are none."""
    if not ranking.made_here:
        return None
    return t(
        "{names} began with weights that were made here, once: differences from them have no verdict.",
        names=listed(ranking.made_here),
    )
