"""Rungs -> sentences in both languages: bits per character on held-out text, and the masking audit."""

from collections.abc import Iterator

from adaptbert.comparison.records import Comparison, Masks
from adaptbert.report.language import EMPTY, Text, t

MASKING_RATE_TOLERANCE = 0.01
MASKING_SHARE_TOLERANCE = 0.005
"""Smaller differences occur by chance on a short run and do not matter on a long one."""
MASKED_WHOLE_MOST = 0.01


def reading(comparison: Comparison) -> list[Text]:
    """What a reader of the bits per character has to know: where they began, and which mean nothing."""
    sentences = []
    for start, checkpoint in comparison.began_from.items():
        of_start = t(" of {start}", start=start) if len(comparison.bases) > 1 else EMPTY
        sentences.append(
            t(
                "General pre-training{of_start} started from {checkpoint}, whose earlier training is not counted here.",
                of_start=of_start,
                checkpoint=checkpoint,
            )
        )
    for rung in comparison.checkpoints:
        sentences += [t("{rung} has no measurements.", rung=draw.name) for draw in rung.replicates if draw.missing]
        if rung.first.random_head:
            sentences.append(
                t(
                    "The masked-LM head of {rung} was never trained: its bits per character mean nothing.",
                    rung=rung.name,
                )
            )
    return sentences


def masking(comparison: Comparison) -> list[Text]:
    """Rungs whose masks differ from the configuration."""
    masked = [(each.name, each.masks) for _, each in comparison.trained() if each.masks is not None]
    return [t("{name}: {fact}", name=name, fact=each) for name, masks in masked for each in _troubles(masks)]


def _troubles(masks: Masks) -> Iterator[Text]:
    audit = masks.audit
    if audit["specials"]:
        yield t("{count:,.0f} special tokens were masked; none should be.", count=audit["specials"])
    if abs(audit["rate"] - masks.probability) > MASKING_RATE_TOLERANCE:
        yield t(
            "{actual:points} % of the tokens were masked (configured: {configured:points} %).",
            actual=audit["rate"],
            configured=masks.probability,
        )
    kinds = {"documents_without": t("have no mask"), "documents_whole": t("are masked completely")}
    for key, what in kinds.items():
        expected = audit[f"{key}_expected"]
        error = (expected * (1 - expected) / audit["documents"]) ** 0.5
        if abs(audit[key] - expected) > max(MASKING_SHARE_TOLERANCE, 5 * error):
            yield t(
                "{actual:points} % of the documents {what}; {expected:points} % are expected from their lengths.",
                actual=audit[key],
                what=what,
                expected=expected,
            )
    if audit["documents_whole"] > MASKED_WHOLE_MOST:
        yield t(
            "{share:points} % of the documents are masked completely: use shorter masking units or longer documents.",
            share=audit["documents_whole"],
        )
