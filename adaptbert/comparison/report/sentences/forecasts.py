"""A forecast and its outcome, in words."""

from collections.abc import Sequence

from adaptbert.comparison.amounts import amount
from adaptbert.comparison.forecast_outcomes import ForecastOutcome, GainOutcome
from adaptbert.comparison.report.terms import Words, listed, number, same, step_name

NAMED = 3
"""So many rungs or cells are named in a sentence."""
PLACES = {
    "inside": Words("inside the range", "在范围之内"),
    "above": Words("above the range", "高于该范围"),
    "below": Words("below the range", "低于该范围"),
}
"""Where a difference lies beside the recorded gains."""


def price(outcome: ForecastOutcome) -> Words:
    """What training was to take, and what it took."""
    forecast, cost = outcome.forecast, outcome.price
    machine = f"{forecast.machine.processor}, {forecast.machine.precision}"
    made = Words(
        f"Forecast of the start `{forecast.start}` of {forecast.made} UTC ({machine}).",
        f"起点 `{forecast.start}` 的预测，作于 {forecast.made} UTC（{machine}）。",
    )
    if cost.outputs == 0:
        return made + Words("Nothing that it priced has been trained since.", "其中估过价的部分此后都还没有训练。")
    predicted, measured, minutes = amount(cost.forecast), amount(cost.measured), amount(cost.minutes)
    made += Words(
        f"What has been trained since ({cost.outputs} rungs and cells) was to take {predicted} TFLOP and took "
        f"{measured} TFLOP. It was to take {minutes} device-minutes; results hold no times, and MLflow has them as "
        "cost/seconds.",
        f"此后训练的部分（{cost.outputs} 个级与单元）预计 {predicted} TFLOP，实际 {measured} TFLOP；"
        f"预计 {minutes} 设备分钟。结果文件不含时间，实际时间见 MLflow 的 cost/seconds。",
    )
    if cost.missing:
        made += Words(f"{cost.missing} are not trained yet.", f"还有 {cost.missing} 个尚未训练。")
    return made


def changes(outcome: ForecastOutcome) -> list[Words]:
    """What was trained otherwise than forecast, so that forecast and outcome are of different ladders."""
    cost = outcome.price
    counted = (
        (
            cost.added,
            "Rungs and cells of today’s ladder that the forecast does not have",
            "现在的阶梯中不在预测之内的级与单元",
        ),
        (
            cost.dropped,
            "Rungs and cells of the forecast that the ladder no longer names",
            "预测中已不在阶梯之内的级与单元",
        ),
    )
    sentences = [Words(f"{en}: {number}.", f"{zh}：{number} 个。") for number, en, zh in counted if number]
    if cost.ended_early:
        names = _first(cost.ended_early)
        sentences.append(
            Words(
                f"A stop rule ended rungs that were priced with their whole budgets: {names.en}.",
                f"停止规则提前结束了按全部预算估价的级：{names.zh}。",
            )
        )
    if cost.differing:
        names = _first(cost.differing)
        sentences.append(
            Words(
                f"A tenth more or less than forecast was taken by {names.en}. Values or text that changed since can do "
                "that, and early stopping.",
                f"与预测相差一成以上的有 {names.zh}。此后取值或文本有变、或者早停，都会造成这样的差别。",
            )
        )
    return sentences


def _first(names: Sequence[str]) -> Words:
    if len(names) > NAMED:
        shown, more = "`, `".join(names[:NAMED]), len(names) - NAMED
        return Words(f"`{shown}` and {more} more", f"`{shown}` 等（另外还有 {more} 个）")
    return listed([same(f"`{name}`") for name in names])


def summary(outcome: ForecastOutcome) -> Words:
    """How many of the differences lie where others have lain, and of which questions nothing is recorded."""
    sentence = _places(outcome)
    if outcome.unrecorded:
        names = listed([same(f"`{name}`") for name in outcome.unrecorded])
        sentence += Words(f"No gain is recorded for {names.en}.", f"{names.zh} 没有记录到的提升。")
    return sentence


def _places(outcome: ForecastOutcome) -> Words:
    gains = [gain for gain in outcome.gains if gain.before]
    if not gains:
        return Words("No gain was forecast before its result was there.", "没有任何一项提升是在得到结果之前预测的。")
    inside = sum(gain.place == "inside" for gain in gains)
    return Words(
        f"{inside} of {len(gains)} differences lie inside the range of recorded gains. A range of other people’s data "
        "is no prediction: a difference inside confirms nothing, and one outside is a finding only with its whole "
        "interval.",
        f"{len(gains)} 个差别中有 {inside} 个落在已有记录的提升范围之内。该范围来自他人的数据，并非预言："
        "落在范围之内并不证实什么，整个区间都在范围之外才算有所发现。",
    )


def records(gain: GainOutcome) -> Words:
    """Whose gains make up the range."""
    forecast = gain.forecast
    whose = Words("of this project", "来自本项目") if forecast.own else Words("published", "已发表")
    text = Words(f"{forecast.records} results, {whose.en}", f"{forecast.records} 个结果，{whose.zh}")
    if forecast.records_of != forecast.question.partition("/")[0]:
        nearest = step_name(forecast.records_of, forecast.records_of)
        text = Words(f"{text.en}, of the nearest question: {nearest.en}", f"{text.zh}，属于最接近的问题：{nearest.zh}")
    return text


def ends(gain: GainOutcome) -> Words:
    """The range in points."""
    low, high = (f"{'+' if value > 0 else ''}{number(value, 1)}" for value in (gain.forecast.low, gain.forecast.high))
    return Words(f"{low} to {high}", f"{low} 到 {high}")


def place(gain: GainOutcome) -> Words:
    """Where the difference lies, whether its interval does too, and whether it was known already."""
    text = PLACES[gain.place]
    if gain.is_sure:
        text = Words(f"{text.en}, with its whole interval", f"{text.zh}（整个区间亦然）")
    elif gain.difference.low is not None:
        beyond = Words("beyond it", "超出范围") if gain.place == "inside" else Words("into it", "伸入范围")
        text = Words(f"{text.en}; its interval reaches {beyond.en}", f"{text.zh}；其区间{beyond.zh}")
    if not gain.before:
        text = Words(f"{text.en}; forecast made after the result", f"{text.zh}；预测作于结果之后")
    return text
