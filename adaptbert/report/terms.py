"""What things are called, in both languages."""

from collections.abc import Mapping

from adaptbert.comparison.records import Answer, Arm
from adaptbert.config.schema.task_types import Target
from adaptbert.report.language import Text, same, t
from adaptbert.statistics.verdicts import Verdict
from adaptbert.tasks.metrics.scoring import TITLES

ARMS = {
    "scratch": t("random weights"),
    "general": t("general pre-training"),
    "general_long": t("control: further training, on general text"),
    "domain": t("general, then domain transfer"),
    "task": t("general, then task transfer"),
    "domain_task": t("general, domain, then task transfer"),
    "scratch_task": t("random weights, then task transfer"),
    "other": t("trained otherwise"),
    "general_long_task": t("general, more general text, then task transfer"),
}
"""What an arm is, by how it was trained."""
BASELINES = {
    "majority": t("most frequent label"),
    "tfidf_logistic": t("TF-IDF + logistic regression"),
    "tfidf_ridge": t("TF-IDF + ridge regression"),
    "question_overlap": t("sentence most similar to the question"),
    "word_majority": t("most frequent tag of each word"),
    "window_logistic": t("windowed logistic regression"),
}
QUESTIONS = {
    "recipe": t("The recipe"),
    "domain_transfer": t("Domain transfer"),
    "task_transfer": t("Task transfer"),
    "domain_text": t("The domain text itself"),
    "pretrain": t("General pre-training"),
    "more_training": t("As much general text"),
}
"""What is asked for; a question that params.yaml names has its own name."""
VERDICTS: Mapping[Verdict, Text] = {
    "gain": t("gain"),
    "loss": t("loss"),
    "equivalent": t("equivalent"),
    "undecided": t("undecided"),
    "not_tested": t("not tested"),
}
"""Verdicts on a difference (adaptbert.statistics.verdicts)."""
STANDS: Mapping[Verdict, Text] = {**VERDICTS, "gain": t("higher"), "loss": t("lower")}
"""A base beside the first of its ranking."""
PROBABLE, EVEN = 0.8, 0.4
"""Least chance of what is called probable, and of what is called as likely as not."""
MAJORITY: Mapping[Target, Text] = {
    "labels": t("most frequent label set"),
    "number": t("mean of the training values"),
    "answer": t("always “no answer”"),
}
"""What the baseline of that name answers, where it is not the most frequent label."""


def arm_is(arm: Arm) -> Text:
    """What an arm is; with what it fine-tunes where the arm is not named by its role."""
    as_it_is = arm.role == "general" and arm.cost is not None and arm.cost.tokens == 0
    name = t("the checkpoint as it is") if as_it_is else ARMS[arm.role]
    return name if arm.name == arm.role else t("{name} ({of})", name=name, of=arm.checkpoint)


def answer_name(answer: Answer) -> Text:
    """What is asked for; with its arm where that is a variant."""
    name = QUESTIONS.get(answer.question, same(f"`{answer.question}`"))
    return t("{name} ({of})", name=name, of=f"`{answer.variant}`") if answer.variant else name


def verdict(answer: Answer, min_gain: float) -> Text:
    """A verdict, with the smallest gain worth having where it says something of that."""
    if answer.verdict == "equivalent":
        return t("equivalent within {least:limit}", least=min_gain)
    return t("gain of at least {least:limit}", least=min_gain) if answer.at_least else VERDICTS[answer.verdict]


def likely_worth(chance: float, min_gain: float) -> Text:
    """How likely a difference is at least what is worth having."""
    words = [
        (PROBABLE, t("probably worth it")),
        (0.6, t("rather worth it than not")),
        (EVEN, t("as likely worth it as not")),
        (1 - PROBABLE, t("rather not worth it")),
    ]
    said = next((word for least, word in words if chance >= least), t("probably not worth it"))
    chances = t("{chance:hundred} in 100 that it brings {least:limit} points or more", chance=chance, least=min_gain)
    return t("{name} ({of})", name=said, of=chances)


def metric_name(metric: str) -> Text:
    return t(TITLES[metric]) if metric in TITLES else same(metric)


def baseline_name(name: str, target: Target) -> Text:
    return MAJORITY.get(target, BASELINES[name]) if name == "majority" else BASELINES[name]
