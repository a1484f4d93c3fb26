"""Rankings of starts -> sentences in both languages: their order, their budgets, and what was repeated."""

from adaptbert.comparison.report.terms import (
    METRICS,
    STANDS,
    Words,
    listed,
    millions,
    moved,
    p_value,
    percent,
    points,
    same,
)
from adaptbert.comparison.starts import ArmFromStarts, Ranking, Standing
from adaptbert.comparison.statistics.multiplicity import ADJUSTMENT


def order(ranking: Ranking, confidence: float) -> Words:
    """Which start is first and by which scores; how far behind the others are in that arm."""
    metric = METRICS[ranking.metric]
    scored = {start: f" {points(ranking.dev[start])}" if start in ranking.dev else "" for start in ranking.order}
    names = listed([same(f"{start}{score}") for start, score in scored.items()])
    lead = Words(
        f"In the order of their {metric.en} on the dev split, in the arm {ranking.arm}: {names.en}. (This arm has the "
        "best dev score, as a mean over starts.)",
        f"按组 {ranking.arm} 在开发集上的{metric.zh} 排序：{names.zh}。"
        "（这一组在开发集上的得分最高，按各起点的均值。）",
    )
    if ranking.is_tied:
        lead += Words("The first two are equal there and have no order.", "前两个得分相同，没有先后。")
    for standing in ranking.arms[0].standings[1:]:
        lead += _behind(standing, ranking, confidence)
    return lead + Words(
        f"{ranking.order[0]} comes first by the dev scores of the very runs that are compared here, which favours it.",
        f"{ranking.order[0]} 排在第一，依据的是这里所比较的同样这些微调的开发集得分，这对它有利。",
    )


def headline(ranking: Ranking) -> Words:
    """The starts of a task in one sentence, for the top of the page."""
    first, *others = ranking.order
    rest, task, arm = listed([same(start) for start in others]), ranking.task, ranking.arm
    if ranking.is_tied:
        return Words(
            f"On {task}, {first} and {others[0]} are equal on the dev split (arm {arm}).",
            f"在 {task} 上，{first} 与 {others[0]} 在开发集上相同（组 {arm}）。",
        )
    second = next((each for each in ranking.arms[0].standings if each.start == others[0]), None)
    stands = STANDS[second.verdict] if second is not None and second.verdict is not None else STANDS["untested"]
    return Words(
        f"On {task}, {first} is ahead of {rest.en} on the dev split (arm {arm}); on the test split, {others[0]}: "
        f"{stands.en}.",
        f"在 {task} 上，{first} 在开发集上领先于 {rest.zh}（组 {arm}）；在测试集上，{others[0]}：{stands.zh}。",
    )


def _behind(standing: Standing, ranking: Ranking, confidence: float) -> Words:
    first, difference = ranking.order[0], standing.difference
    if difference is None or standing.verdict is None:
        return Words(
            f"On the test split, {standing.start} and {first} share no seed.",
            f"在测试集上，{standing.start} 与 {first} 没有共同的种子。",
        )
    size, stands = moved(difference.mean), STANDS[standing.verdict]
    lead = Words(
        f"On the test split, {standing.start} differs from {first} by {size.en} points",
        f"在测试集上，{standing.start} 与 {first} 相差 {size.zh} 分",
    )
    if difference.low is None or difference.high is None:
        return Words(f"{lead.en} ({stands.en}).", f"{lead.zh}（{stands.zh}）。")
    low, high, level = moved(difference.low), moved(difference.high), percent(confidence)
    p = "" if standing.p_holm is None else f", {ADJUSTMENT}-adjusted p {p_value(standing.p_holm)}"
    p_zh = "" if standing.p_holm is None else f"，{ADJUSTMENT} 校正 p {p_value(standing.p_holm)}"
    return Words(
        f"{lead.en} ({level} % interval {low.en} to {high.en}{p}): {stands.en}.",
        f"{lead.zh}（{level}% 区间 {low.zh} 到 {high.zh}{p_zh}）：{stands.zh}。",
    )


def budgets(ranking: Ranking) -> Words:
    """Whether the starts were trained on as many tokens and with as much computing, and where not."""
    unequal = [arm for arm in ranking.arms if not arm.same_tokens]
    if unequal:
        arms = listed([_amounts(arm) for arm in unequal])
        return Words(
            f"Budgets differ, so that a difference may be due to the amount of training: {arms.en}.",
            f"预算不同，差别可能来自训练量：{arms.zh}。",
        )
    if any(not arm.same_tflop for arm in ranking.arms):
        return Words(
            "Every arm was trained on the same number of tokens from each start; the TFLOP differ, because the models "
            "do.",
            "每一组从各起点训练的词元数都相同；TFLOP 不同，因为模型不同。",
        )
    return Words(
        "Budgets are equal: every arm was trained on the same number of tokens from each start, with as many TFLOP.",
        "预算相同：每一组从各起点训练的词元数与 TFLOP 都相同。",
    )


def _amounts(arm: ArmFromStarts) -> Words:
    amounts = {start: millions(cost.tokens) for start, cost in arm.costs.items()}
    spent = listed([Words(f"{start} {tokens} M", f"{start} {tokens} 百万") for start, tokens in amounts.items()])
    return Words(f"{arm.arm} ({spent.en} tokens)", f"{arm.arm}（{spent.zh}词元）")


def repeated(ranking: Ranking) -> Words:
    """How often the rungs were trained, and what follows for another training."""
    return _draws(ranking) + _made_here(ranking)


def _made_here(ranking: Ranking) -> Words:
    """The starts of which there is one draw, whatever is trained above them."""
    if not ranking.made_here:
        return Words("", "")
    names = listed([same(start) for start in ranking.made_here])
    return Words(
        f"The weights that {names.en} began with were made here and once (random weights, or general pre-training): "
        "differences from them have no verdict, however often the rungs above were trained.",
        f"{names.zh} 开始时的权重是在本项目中得到的，而且只做了一次（随机权重或通用预训练）：无论其上各级训练多少次，"
        "与它们的差别都不下结论。",
    )


def _draws(ranking: Ranking) -> Words:
    fewest, most = ranking.draws
    if most == 0:
        return Words("Nothing was trained above the starts.", "起点之上没有训练任何一级。")
    if most == 1:
        return Words(
            "Every start has one draw of each rung: these results say nothing about another draw of training.",
            "每个起点的每一级都只训练了一次：这些结果不说明重新训练会怎样。",
        )
    draws = f"{most}" if fewest == most else f"{fewest} – {most}"
    return Words(
        f"Every start has {draws} draws of each rung, and the intervals cover them.",
        f"每个起点的每一级独立训练了 {draws} 次，区间涵盖各次训练。",
    )
