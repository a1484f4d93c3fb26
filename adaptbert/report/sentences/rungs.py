"""Rungs -> sentences in both languages: bits per character on held-out text, and the masking audit."""

from adaptbert.comparison.records import Comparison
from adaptbert.comparison.rungs import Masks, grouped
from adaptbert.report.terms import Words, points

MASKING_RATE_TOLERANCE = 0.01
MASKING_SHARE_TOLERANCE = 0.005
"""Smaller differences occur by chance on a short run and do not matter on a long one."""
MASKED_WHOLE_MOST = 0.01


def reading(comparison: Comparison) -> list[Words]:
    """What a reader of the bits per character has to know: where they began, and which mean nothing."""
    sentences, several = [], len(comparison.starts) > 1
    for start, begun in comparison.began_from.items():
        of_start = Words(f" of {start}", f"起点 {start} 的") if several else Words("", "")
        sentences.append(
            Words(
                f"General pre-training{of_start.en} started from {begun}, whose earlier training is not counted on "
                "this page.",
                f"{of_start.zh}通用预训练从 {begun} 开始；它此前在别处的训练不计入本页的任何合计。",
            )
        )
    for rung in grouped(comparison.rungs):
        for draw in rung.rungs:
            if draw.missing:
                sentences.append(Words(f"{draw.name} has no measurements.", f"{draw.name} 没有测量结果。"))
        if rung.first.random_head:
            sentences.append(
                Words(
                    f"The masked-LM head of {rung.name} was never trained: its bits per character are meaningless and "
                    "cannot be compared with those of other rungs.",
                    f"{rung.name} 的掩码语言模型头从未训练：它的每字符比特数没有意义，不能与其他级比较。",
                )
            )
    return sentences


def masking(comparison: Comparison) -> list[Words]:
    """Rungs whose masks differ from the configuration."""
    masked = [(rung.name, rung.masks) for rung in comparison.rungs if rung.masks is not None]
    return [trouble for name, masks in masked for trouble in _mask_troubles(name, masks)]


def _mask_troubles(name: str, masks: Masks) -> list[Words]:
    audit, sentences = masks.audit, []
    if audit["specials"]:
        sentences.append(
            Words(
                f"{name}: {audit['specials']:,.0f} special tokens were masked; none should be.",
                f"{name}：有 {audit['specials']:,.0f} 个特殊词元被掩盖，本应一个也没有。",
            )
        )
    if abs(audit["rate"] - masks.probability) > MASKING_RATE_TOLERANCE:
        actual, configured = points(audit["rate"]), points(masks.probability)
        sentences.append(
            Words(
                f"{name}: {actual} % of the tokens were masked (configured: {configured} %).",
                f"{name}：实际掩盖了 {actual}% 的词元（设定为 {configured}%）。",
            )
        )
    kinds = {
        "documents_without": Words("have no mask", "完全没有掩码"),
        "documents_whole": Words("are masked completely", "全部被掩盖"),
    }
    for key, what in kinds.items():
        expected = audit[f"{key}_expected"]
        error = (expected * (1 - expected) / audit["documents"]) ** 0.5
        if abs(audit[key] - expected) > max(MASKING_SHARE_TOLERANCE, 5 * error):
            actual, due = points(audit[key]), points(expected)
            sentences.append(
                Words(
                    f"{name}: {actual} % of the documents {what.en}; {due} % are expected from their lengths.",
                    f"{name}：{actual}% 的文档{what.zh}，而按长度应为 {due}%。",
                )
            )
    if audit["documents_whole"] > MASKED_WHOLE_MOST:
        share = points(audit["documents_whole"])
        sentences.append(
            Words(
                f"{name}: {share} % of the documents are masked completely and leave no context to predict from, "
                "because one masking unit spans the whole document. Use shorter units or longer documents.",
                f"{name}：{share}% 的文档全部被掩盖，没有可供预测的上下文：一个掩码单位就有整个文档那么长。"
                "请缩短掩码单位或加长文档。",
            )
        )
    return sentences
