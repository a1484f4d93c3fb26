"""Where the facts point: each compared with another fact or with a record, never with a threshold of our own."""

from collections.abc import Mapping, Sequence

from adaptbert.base.ladder import GENERAL
from adaptbert.comparison.forecasts import Gap, Overlap, Points, Sign, TextFacts
from adaptbert.project.forecast.outcomes import OVERLAP_WITH_GENERAL, gains_of_domains
from adaptbert.project.forecast.texts import MOST_WORDS


def signs(texts: Mapping[str, TextFacts], overlaps: Sequence[Overlap], gaps: Sequence[Gap], steps: int) -> list[Sign]:
    """Of the domain corpora; of the tasks where there is none.

    Args:
        steps: of a trial.
    """
    others = [name for name in texts if name != GENERAL]
    named = [name for name in others if texts[name].kind == "corpus"] or others
    pointing = [_overlap(each) for each in overlaps if each.texts[0] == GENERAL and each.texts[1] in named]
    pointing += [_unknown(name, texts[name], texts[GENERAL]) for name in named]
    return [*pointing, *(_gap(each, steps) for each in gaps)]


def _overlap(overlap: Overlap) -> Sign:
    """Beside the domains of the published study: lower than in most of them points toward a gain."""
    name, fact = overlap.texts[1], f"shared words of {overlap.texts[1]} and general text"
    shown = f"{overlap.share:.0%} of the {overlap.words:,} most frequent words"
    if overlap.words < MOST_WORDS:
        few = f"{name} or general text has too few words to be compared with records, which are of {MOST_WORDS:,}"
        return Sign(fact=fact, points="open", words=f"{shown}; {few}")
    below = [domain for domain, share in OVERLAP_WITH_GENERAL.items() if share > overlap.share]
    points: Points = "toward" if 2 * len(below) > len(OVERLAP_WITH_GENERAL) else "away"
    if 2 * len(below) == len(OVERLAP_WITH_GENERAL):
        points = "open"
    gains = gains_of_domains()
    records = ", ".join(
        f"{domain} {share:.0%}: {gains[domain][0]:+.1f} to {gains[domain][1]:+.1f}"
        for domain, share in OVERLAP_WITH_GENERAL.items()
    )
    return Sign(fact=fact, points=points, words=f"{shown}; recorded domains and their gains: {records}")


def _unknown(name: str, text: TextFacts, general: TextFacts) -> Sign:
    """More unknown tokens than in general text: the vocabulary was made for other words."""
    rates = f"{text.unknown_rate:.1%}", f"{general.unknown_rate:.1%}"
    points: Points = (
        "open" if rates[0] == rates[1] else "toward" if text.unknown_rate > general.unknown_rate else "away"
    )
    return Sign(
        fact=f"unknown tokens of {name}",
        points=points,
        words=f"{rates[0]}, in general text {rates[1]}" + "; `extend` in `tokenizer` adds words" * (points == "toward"),
    )


def _gap(gap: Gap, steps: int) -> Sign:
    """What the text teaches beyond as much general text."""
    fact = f"{steps} steps on {gap.text}"
    if gap.meaningless:
        return Sign(
            fact=fact, points="open", words="the weights, or their head, were never trained: nothing to compare"
        )
    changed = gap.after_own[GENERAL] - gap.before[GENERAL]
    words = (
        f"{_apart(-gap.gain)} bits per character of {gap.text} than after as many steps on general text; general text"
        f" itself takes {_apart(changed)} than before; one trial of each, and bits are no scores"
    )
    return Sign(fact=fact, points="toward" if gap.gain > 0 else "away", words=words)


def _apart(difference: float) -> str:
    return f"{abs(difference):.3f} {'more' if difference > 0 else 'fewer'}"
