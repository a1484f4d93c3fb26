"""Rankings of starts -> sentences in both languages: their order, unequal budgets, what was made once."""

from adaptbert.comparison.starts import ArmFromStarts, Ranking, Standing
from adaptbert.report.terms import METRICS, STANDS, Words, listed, millions, moved, p_value, percent, points, same
from adaptbert.statistics.multiplicity import ADJUSTMENT


def order(ranking: Ranking, confidence: float) -> Words:
    """Which start is first and by which scores; how far behind the others are in that arm."""
    metric = METRICS[ranking.metric]
    scored = {start: f" {points(ranking.dev[start])}" if start in ranking.dev else "" for start in ranking.order}
    names = listed([same(f"{start}{score}") for start, score in scored.items()])
    lead = Words(
        f"In the order of their {metric.en} on the dev split, in the arm {ranking.arm}: {names.en}.",
        f"按组 {ranking.arm} 在开发集上的{metric.zh} 排序：{names.zh}。",
    )
    for standing in ranking.arms[0].standings[1:]:
        lead += _behind(standing, ranking, confidence)
    return lead


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


def budgets(ranking: Ranking) -> Words | None:
    """Arms that were not trained on as many tokens from every start; None where there are none."""
    unequal = [arm for arm in ranking.arms if not arm.same_tokens]
    if not unequal:
        return None
    arms = listed([_amounts(arm) for arm in unequal])
    return Words(
        f"Budgets differ, so that a difference may be due to the amount of training: {arms.en}.",
        f"预算不同，差别可能来自训练量：{arms.zh}。",
    )


def _amounts(arm: ArmFromStarts) -> Words:
    amounts = {start: millions(cost.tokens) for start, cost in arm.costs.items()}
    spent = listed([Words(f"{start} {tokens} M", f"{start} {tokens} 百万") for start, tokens in amounts.items()])
    return Words(f"{arm.arm} ({spent.en} tokens)", f"{arm.arm}（{spent.zh}词元）")


def made_here(ranking: Ranking) -> Words | None:
    """The starts of which there is one draw, whatever is trained above them; None where there are none."""
    if not ranking.made_here:
        return None
    names = listed([same(start) for start in ranking.made_here])
    return Words(
        f"The weights that {names.en} began with were made here and once (random weights, or general pre-training): "
        "differences from them have no verdict, however often the rungs above were trained.",
        f"{names.zh} 开始时的权重是在本项目中得到的，而且只做了一次（随机权重或通用预训练）：无论其上各级训练多少次，"
        "与它们的差别都不下结论。",
    )
