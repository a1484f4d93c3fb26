"""Words in both languages, and numbers as they are written in both."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from adaptbert.base.task_types import Target, TaskType
from adaptbert.comparison.amounts import amount
from adaptbert.statistics.verdicts import Verdict


@dataclass(frozen=True)
class Words:
    """One text in English and Chinese. The page has both, and its language selects the one that is shown."""

    en: str
    zh: str

    def __html__(self) -> str:
        return Markup('<span lang="en">{}</span><span lang="zh-Hans">{}</span>').format(_code(self.en), _code(self.zh))

    def __add__(self, other: "Words") -> "Words":
        return Words(f"{self.en} {other.en}".strip(), f"{self.zh}{other.zh}")


def _code(text: str) -> Markup:
    """Names between backticks are set as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def baseline_name(name: str, target: Target) -> Words:
    """What a baseline is called in a task with this target."""
    of_target = TARGET_WORDS[target].majority if name == "majority" else None
    return of_target or BASELINES[name]


def same(text: str) -> Words:
    """A name that is not translated."""
    return Words(text, text)


def listed(items: Sequence[Words]) -> Words:
    """`a, b and c`."""
    if len(items) < 2:
        return items[0] if items else Words("", "")
    en, zh = [item.en for item in items], [item.zh for item in items]
    first, last = "、".join(zh[:-1]), zh[-1]
    and_ = " " * first[-1].isascii() + "和" + " " * last[0].isascii()
    return Words(f"{', '.join(en[:-1])} and {en[-1]}", f"{first}{and_}{last}")


def svg_text(text: "str | Words", most: int | None = None) -> Markup:
    """As the content of an SVG <text>.

    Args:
        most: the width in columns (a Chinese character takes two); a longer name ends in an ellipsis, and its title
            is the full name.
    """
    if isinstance(text, str):
        return _cut(text, most)
    return Markup('<tspan lang="en">{}</tspan><tspan lang="zh-Hans">{}</tspan>').format(
        _cut(text.en, most), _cut(text.zh, most)
    )


def _cut(text: str, most: int | None) -> Markup:
    from rich.cells import cell_len

    room = len(text) if most is None else most
    shown = ""
    for character in text:
        room -= cell_len(character)
        if most is not None and room < 0:
            return Markup("{}…<title>{}</title>").format(shown[:-1], text)
        shown += character
    return escape(shown)


MINUS = "\N{MINUS SIGN}"
NOTHING = 1e-9
"""A difference of scores below this comes from the arithmetic."""


def number(value: float, places: int) -> str:
    """A number with the typographic minus, which is the only minus of the page; -0.0 becomes 0.0."""
    rounded = round(value, places)
    return f"{MINUS if rounded < 0 else ''}{abs(rounded):.{places}f}"


def plain(value: float) -> str:
    """A number with as many places as it has."""
    return f"{value + 0.0:g}".replace("-", MINUS)


def tick(value: float, *, signed: bool = False) -> str:
    """A number of an axis, with as many places as its step has; those beyond ten digits come from the arithmetic."""
    return f"{'+' if signed and value > 0 else ''}{value + 0.0:.10g}".replace("-", MINUS)


def points(score: float) -> str:
    """A score times 100."""
    return number(_hundredfold(score), 1)


def change(difference: float) -> str:
    """A difference of scores times 100, with its sign."""
    value = _hundredfold(difference)
    return f"{'+' if round(value, 1) > 0 else ''}{number(value, 1)}"


def moved(difference: float) -> Words:
    """A change inside a sentence: one that rounds to 0.0 is described by its bounds."""
    if not too_small(difference):
        return same(change(difference))
    end = "+0.1" if difference > 0 else f"{MINUS}0.1"
    return Words(f"between 0 and {end}", f"0 至 {end}")


def too_small(score: float) -> bool:
    """Whether a score, or a difference of scores, is not 0 and rounds to 0.0."""
    return abs(score) > NOTHING and round(_hundredfold(abs(score)), 1) == 0


def _hundredfold(score: float) -> float:
    """Of the six decimals of metrics/comparison.json: the table that is made of them has to show the same."""
    return 100 * round(score, 6)


def bits_change(difference: float) -> str:
    return f"{'+' if round(difference, 2) > 0 else ''}{number(difference, 2)}"


def p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def millions(tokens: int) -> str:
    """Tokens in millions."""
    return amount(tokens / 1e6).replace("-", MINUS)


ARMS = {
    "scratch": Words("random weights", "随机权重"),
    "general": Words("general pre-training", "通用预训练"),
    "general_long": Words("control: further training, on general text", "对照：继续训练，但用通用文本"),
    "domain": Words("general, then domain transfer", "通用预训练 → 领域迁移"),
    "task": Words("general, then task transfer", "通用预训练 → 任务迁移"),
    "domain_task": Words("general, domain, then task transfer", "通用预训练 → 领域迁移 → 任务迁移"),
    "scratch_task": Words("random weights, then task transfer", "随机权重 → 任务迁移"),
    "other": Words("trained otherwise", "其他训练方式"),
    "general_long_task": Words(
        "general, more general text, then task transfer", "通用预训练 → 继续用通用文本训练 → 任务迁移"
    ),
}
"""What an arm is, by the role of its rung."""
BASELINES = {
    "majority": Words("most frequent label", "最常见类别"),
    "tfidf_logistic": Words("TF-IDF + logistic regression", "TF-IDF + 逻辑回归"),
    "tfidf_ridge": Words("TF-IDF + ridge regression", "TF-IDF + 岭回归"),
    "embeddings_logistic": Words("mean input embedding + logistic regression", "输入嵌入均值 + 逻辑回归"),
    "embeddings_ridge": Words("mean input embedding + ridge regression", "输入嵌入均值 + 岭回归"),
    "question_overlap": Words("sentence most similar to the question", "与问题最相似的句子"),
    "word_majority": Words("most frequent tag of each word", "逐词最常见标签"),
    "window_logistic": Words("windowed logistic regression", "窗口特征 + 逻辑回归"),
}
STEPS = {
    "pretrain": Words("General pre-training", "通用预训练"),
    "more_training": Words("More training alone", "单纯增加训练"),
    "domain_transfer": Words("Domain transfer", "领域迁移"),
    "domain_text": Words("The domain text itself", "领域文本本身"),
    "task_transfer": Words("Task transfer", "任务迁移"),
    "task_transfer_after_domain": Words("Task transfer after domain", "领域迁移之后的任务迁移"),
    "task_transfer_after_general_long": Words("Task transfer after more training", "增加训练之后的任务迁移"),
    "task_transfer_from_scratch": Words("Task transfer from random weights", "从随机权重开始的任务迁移"),
    "aa": Words("The same training once more (A/A)", "同样的训练再做一次（A/A）"),
    "climb": Words("Pre-training with domain transfer", "通用预训练加领域迁移"),
}
"""What a step is called, by its question."""
VERDICTS: Mapping[Verdict, Words] = {
    "worth_it": Words("worth it", "值得"),
    "gain": Words("gain", "有提升"),
    "small_gain": Words("gain, less than worth having", "有提升，但小于值得的幅度"),
    "loss": Words("loss", "下降"),
    "no_difference": Words("no difference", "没有差别"),
    "no_worse": Words("no gain shown, no large loss", "未证实提升，无大幅下降"),
    "undecided": Words("undecided", "未定"),
    "one_draw": Words("one draw, no verdict", "只训练一次，无结论"),
    "descriptive": Words("described only", "只作描述"),
    "untested": Words("not testable", "无法检验"),
}
"""What is said of a step, by its verdict (adaptbert.statistics.verdicts)."""
STANDS: Mapping[Verdict, Words] = {
    "worth_it": Words("higher", "更高"),
    "gain": Words("higher", "更高"),
    "small_gain": Words("higher, by little", "略高"),
    "loss": Words("lower", "更低"),
    "no_difference": Words("no difference", "没有差别"),
    "no_worse": Words("not shown higher, not much lower", "未证实更高，也不会低很多"),
    "undecided": Words("undecided", "未定"),
    "one_draw": Words("one draw, no verdict", "只训练一次，无结论"),
    "untested": Words("not testable", "无法检验"),
}
"""A start beside the first of its ranking, by the verdict; it is never only described."""
STANDINGS = {
    "wins": Words("baseline better", "基线更好"),
    "ties": Words("no clear difference", "无明显差别"),
    "loses": Words("arm better", "该组更好"),
    "wins_once": Words("on these weights, baseline higher", "在这些权重上基线更高"),
    "ties_once": Words("on these weights, no clear difference", "在这些权重上无明显差别"),
    "loses_once": Words("on these weights, arm higher", "在这些权重上该组更高"),
    "higher": Words("baseline higher, not testable", "基线更高，无法检验"),
    "lower": Words("arm higher, not testable", "该组更高，无法检验"),
}
"""How the best baseline compares with the chosen arm; `once`: what was trained for that arm was trained once."""
METRICS = {
    "f1_macro": Words("macro-F1", "宏平均 F1"),
    "f1_span": Words("strict span F1", "严格片段 F1"),
    "f1_answer": Words("answer F1", "答案 F1"),
    "pearson": Words("Pearson's correlation", "皮尔逊相关系数"),
    "accuracy": Words("accuracy", "准确率"),
}
UNITS = {
    "token": Words("token", "词元"),
    "word": Words("word", "整词"),
    "ngram": Words("n-gram of words", "词的 n 元组"),
}
TOKEN_CLASSES = {
    "continuation": Words("continuation (##)", "后续子词（##）"),
    "chinese": Words("Chinese", "汉字"),
    "latin": Words("Latin", "拉丁字母"),
    "digit": Words("digits", "数字"),
    "punctuation": Words("punctuation", "标点"),
    "other": Words("other", "其他"),
}
KINDS: Mapping[tuple[TaskType, Target], Words] = {
    ("single_sentence", "class"): Words("single-sentence classification", "单句分类"),
    ("single_sentence", "labels"): Words("single-sentence multi-label classification", "单句多标签分类"),
    ("single_sentence", "number"): Words("single-sentence regression", "单句回归"),
    ("sentence_pair", "class"): Words("sentence-pair classification", "句对分类"),
    ("sentence_pair", "labels"): Words("sentence-pair multi-label classification", "句对多标签分类"),
    ("sentence_pair", "number"): Words("sentence-pair regression", "句对回归"),
    ("sequence_labelling", "spans"): Words("sequence labelling: spans", "序列标注：片段"),
    ("sequence_labelling", "tags"): Words("sequence labelling: a tag per word", "序列标注：逐词标签"),
    ("extractive_answer", "answer"): Words("extractive question answering", "抽取式问答"),
}
"""What a task is called, by task type and target."""


@dataclass(frozen=True)
class TargetWords:
    """What the page says of one target.

    Attributes:
        right: when the answer to a row counts as right; None: no answer is simply right.
        majority: what the baseline of that name answers, where it is not the most frequent label.
    """

    right: Words | None
    majority: Words | None = None


_ALL_TAGS = Words(
    "all its tags are correct; its confidence is that of its least confident tag, which is too high for the whole row",
    "所有标签都正确；其置信度取置信度最低的标签，因此对整行而言偏高",
)
TARGET_WORDS: Mapping[Target, TargetWords] = {
    "class": TargetWords(Words("its label is correct", "标签正确")),
    "labels": TargetWords(
        Words(
            "all its labels are correct; its confidence is that of its least confident label, which is too high for "
            "the whole row",
            "全部标签都正确；其置信度取置信度最低的标签，因此对整行而言偏高",
        ),
        majority=Words("most frequent label set", "最常见的标签组合"),
    ),
    "number": TargetWords(None, majority=Words("mean of the training values", "训练值的平均数")),
    "answer": TargetWords(
        Words("the answer matches exactly", "答案完全匹配"), majority=Words("always “no answer”", "一律回答“无答案”")
    ),
    "spans": TargetWords(_ALL_TAGS),
    "tags": TargetWords(_ALL_TAGS),
}


def arm_is(name: str, role: str, rung: str) -> Words:
    """What an arm is; with its rung where the arm is not named by its role."""
    return ARMS[role] if name == role else ARMS[role] + Words(f"({rung})", f"（{rung}）")


def step_name(question: str, step: str) -> Words:
    """What a step is called; with its arm where that is not named by its role. A question that params.yaml names has
    its own name."""
    _, _, arm = step.partition("/")
    name = STEPS.get(question, same(question))
    return name + Words(f"({arm})", f"（{arm}）") if arm else name


def within(name: Words) -> Words:
    """A name inside a sentence."""
    return Words(name.en[0].lower() + name.en[1:], name.zh)


def percent(confidence: float) -> str:
    """The level of an interval."""
    return f"{100 * confidence:g}"
