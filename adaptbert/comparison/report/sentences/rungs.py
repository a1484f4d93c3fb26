"""Rungs -> sentences in both languages: bits per character on held-out text, and the masking audit."""

from collections.abc import Sequence

from adaptbert.base.ladder import Climb
from adaptbert.comparison.records import Comparison
from adaptbert.comparison.report.terms import MINUS, Words, bits_change, listed, points, same
from adaptbert.comparison.rungs import Draws, Masks, grouped

MASKING_RATE_TOLERANCE = 0.01
MASKING_SHARE_TOLERANCE = 0.005
"""Smaller differences occur by chance on a short run and do not matter on a long one."""
MASKED_WHOLE_MOST = 0.01
EVERY_RUNG = Words("every trained rung", "每个训练过的级")


def reading(comparison: Comparison) -> list[Words]:
    """How each domain-transfer rung changed bits per character; an increase on general text is forgetting."""
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
    if several:
        sentences.append(
            Words(
                "Bits are counted per character and not per token, so that starts with different tokenizers can be "
                "compared; which pieces of the text are masked does depend on the tokenizer.",
                "比特数按字符而不是按词元计算，因此分词器不同的起点之间也可以比较；不过掩盖哪些片段仍取决于分词器。",
            )
        )
    corpora = {source.name for source in comparison.sources if source.kind == "corpus"}
    for rung in grouped(comparison.rungs):
        climb = rung.first.climb
        corpus = climb.corpora[-1] if climb.corpora and not climb.with_task_text else None
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
        elif corpus is not None and corpus in rung.after:
            sentences.append(_reading(rung, corpus, [name for name in comparison.heldout if name in corpora]))
    if all(rung.climb in (Climb(), Climb(is_random=True)) for rung in comparison.rungs):
        sentences.append(
            Words(
                "The ladder has no rung above general pre-training.",
                "阶梯在通用预训练之上没有别的级。",
            )
        )
    return sentences


def _reading(rung: Draws, corpus: str, corpora: Sequence[str]) -> Words:
    """The change of bits per character on the rung's own corpus and on the others.

    Args:
        corpora: with held-out text, general text first. The start of a rung may not have been measured on all of it:
            random weights are, only where an arm fine-tunes them.
    """
    before, after, n = rung.before[corpus], rung.after[corpus], len(rung.each(corpus))
    of_draws = Words(f" (mean of {n} draws)", f"（{n} 次独立训练的均值）") if n > 1 else Words("", "")
    sentence = Words(
        f"{rung.name}{of_draws.en}: held-out {corpus} text goes from {before:.2f} to {after:.2f} bits per character "
        f"({bits_change(after - before)}).",
        f"{rung.name}{of_draws.zh}：留出的 {corpus} 文本从每字符 {before:.2f} 比特变为 {after:.2f}"
        f"（{bits_change(after - before)}）。",
    )
    others = [name for name in corpora if name != corpus and name in rung.before and name in rung.after]
    for name in others:
        before, after = rung.before[name], rung.after[name]
        moved = bits_change(after - before)
        word = Words("worse", "变差") if moved.startswith("+") else Words("better", "变好")
        if name == "general" and moved.startswith("+"):
            word = Words("forgetting", "遗忘")
        if float(moved.replace(MINUS, "-")) == 0:
            word = Words("unchanged", "不变")
        sentence += Words(
            f"On {name} text: {before:.2f} to {after:.2f} ({moved}, {word.en}).",
            f"{name} 文本：{before:.2f} 到 {after:.2f}（{moved}，{word.zh}）。",
        )
    return sentence


def masking(comparison: Comparison) -> list[Words]:
    """Rungs whose masks differ from the configuration, and those without an audit; else one sentence."""
    masked = [(rung.name, rung.masks) for rung in comparison.rungs if rung.masks is not None]
    sentences = [trouble for name, masks in masked for trouble in _mask_troubles(name, masks)]
    unknown = [same(rung.name) for rung in comparison.rungs if rung.below is not None and rung.masks is None]
    if masked and not sentences:
        names = listed([same(name) for name, _ in masked]) if unknown or len(masked) == 1 else EVERY_RUNG
        sentences.append(
            Words(
                f"The masks of {names.en} match the configuration, and no special token was masked.",
                f"{names.zh}的掩码都符合设定，没有特殊词元被掩盖。",
            )
        )
    if masked and unknown:
        names = listed(unknown)
        sentences.append(Words(f"No masking audit: {names.en}.", f"没有掩码审计：{names.zh}。"))
    return sentences


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
