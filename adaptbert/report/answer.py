"""A comparison -> its first screen, in English and Chinese: of each task the answer, why, and what to do next."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptbert.comparison.records import TRIVIAL, Answer, Arm, Checkpoint, Comparison, Task, TaskMean, means, trivial
from adaptbert.comparison.training_length import steps_to_learn
from adaptbert.config.plan import FINETUNE
from adaptbert.config.schema.bases import GENERAL
from adaptbert.config.schema.task_types import TASK_TYPES, TaskType
from adaptbert.errors import shortened
from adaptbert.report.language import EMPTY, Text, ends, joined, listed, p_value, quoted, same, t, within
from adaptbert.report.terms import (
    EVEN,
    PROBABLE,
    QUESTIONS,
    answer_name,
    baseline_name,
    likely_worth,
    metric_name,
    verdict,
)
from adaptbert.statistics.intervals import FEWEST_SEEDS, Difference
from adaptbert.statistics.power import MOST_REPLICATES, MOST_SEEDS
from adaptbert.statistics.verdicts import Verdict

MOST_NAMED = 4
"""Tasks of a comparison whose heading has their names, and classes of an arm."""
MOST_LETTERS = 30
"""Most letters of the name of a class that stands in a sentence."""
FARTHER = 1.01
"""Times the bits per character of before; a smaller rise says little."""
LUCK = 0.05
"""Chance from which on unequal numbers of failed runs may be luck."""
MAY_PAY: Collection[Verdict] = ("gain", "undecided")
"""Verdicts beside which a baseline that no arm is shown to score higher than is named."""
LONGER = 5
"""Times the epochs of today; more are proposed only where there is nothing else to raise."""


def heading(comparison: Comparison) -> Text:
    """The verdict on the first question in the mean of tasks and on each, and where no arm is shown to score higher
    than a baseline."""
    unlearned = [task.name for task in comparison.tasks if nothing_learned(task)]
    learned = [task for task in comparison.tasks if task.name not in unlearned]
    in_mean = [mean for mean in comparison.means if not mean.untested]
    said: dict[Text, dict[Text, list[str]]] = {answer_name(mean.answer): {} for mean in in_mean}
    for task in learned:
        if (first := task.first) is not None:
            judged = verdict(first, comparison.min_gain)
            said.setdefault(answer_name(first), {}).setdefault(judged, []).append(task.name)
    if not said and not unlearned:
        return t("Nothing was compared")

    def named(tasks: list[str]) -> Text:
        """Tasks as far as they fit into a heading; of more, how many these are."""
        if len(comparison.tasks) <= MOST_NAMED:
            return listed(tasks) + Text("", " ")
        return t("{n} of {all} tasks", n=len(tasks), all=len(comparison.tasks))

    parts = [t("The models learned nothing on {tasks}", tasks=named(unlearned))] if unlearned else []
    for question, by_verdict in said.items():
        of = [
            t(
                "{verdict} in the {mean}",
                verdict=verdict(each.answer, comparison.min_gain),
                mean=within(mean_name(each)),
            )
            for each in in_mean
            if answer_name(each.answer) == question
        ]
        of += [t("{verdict} on {tasks}", verdict=judged, tasks=named(on)) for judged, on in by_verdict.items()]
        parts.append(t("{question}: {answers}", question=question, answers=joined(of, ", ", "，")))
    below, beside = list[str](), list[str]()
    for task in learned:
        if (rival := rival_of(task, comparison.min_gain)) is not None and rival.is_better:
            below.append(task.name)
        elif rival is not None and task.first is not None and task.first.verdict in MAY_PAY:
            beside.append(task.name)
    if below:
        parts.append(t("a simple baseline is better on {tasks}", tasks=named(below)))
    if beside:
        parts.append(t("no arm beats a simple baseline on {tasks}", tasks=named(beside)))
    return joined([parts[0], *map(within, parts[1:])], "; ", "；")


def answer(task: Task, comparison: Comparison) -> Text:
    """The answer to the first question of a task."""
    if task.first is None:
        return t("No question of `compare.order` is asked on this task.")
    rival = rival_of(task, comparison.min_gain)
    return _said(task.first, [task], comparison, metric_name(task.metric), rival)


def besides(task: Task, comparison: Comparison) -> Text:
    """What would settle the answer to the first question of a task, which runs failed, and of which classes it says
    nothing or little."""
    said = (_unsettled(task.first, task, comparison) if task.first is not None else EMPTY) + _failed(task)
    if task.has_subsets:
        said += t(
            "Each fine-tuning took {n:,} of {all:,} labelled rows (`finetune.labels`); more may change scores and "
            "difference.",
            n=task.labels,
            all=task.rows["train"],
        )
    if task.classes_unseen:
        said += t(
            "Classes that are scored though no labelled row of a seed is theirs: {unseen}; raise `finetune.labels`.",
            unseen=task.classes_unseen,
        )
    elif few := [
        unspoken(arm, task, arm.never_predicted) for arm in task.arms if arm.never_predicted and not arm.mostly_failed
    ]:
        said += t(
            "Classes that no run predicts: {few}; longer fine-tuning (`finetune.epochs`) may teach them, and change "
            "the difference.",
            few=joined(few),
        )
    accuracies = [arm.accuracy for arm in task.arms if arm.accuracy is not None]
    if accuracies and task.most_frequent is not None and max(accuracies) <= task.most_frequent:
        said += t(
            "In accuracy no arm is better than the most frequent label: {highest:points} at most, beside "
            "{label:points}.",
            highest=max(accuracies),
            label=task.most_frequent,
        )
    return said


def _failed(task: Task) -> Text:
    """How many runs of which arms failed, and what became of them."""
    arms, first = [arm for arm in task.arms if arm.first_failed[0]], task.first
    if not arms:
        return EMPTY
    shares = [t("{of[0]} of {of[1]} of `{arm}`", of=arm.first_failed, arm=arm.name) for arm in arms]
    said = t("First runs that failed, as they learned nothing: {shares}.", shares=listed(shares))
    if any(len(arm.runs) > arm.first_failed[1] for arm in arms):
        said += t(
            "Each was trained once more with another seed, unless all seeds of its replicate failed; only runs that "
            "learned are compared."
        )
    lost = []
    for arm in [arm for arm in arms if not arm.mostly_failed]:
        replicates, seeds = arm.lost
        if of := [t("replicate {n}", n=n) for n in replicates] + [t("seed {n}", n=n) for n in seeds]:
            lost.append(t("{name} ({of})", name=f"`{arm.name}`", of=joined(of)))
    if lost:
        said += t("Without a run that learned, and so not compared: {lost}.", lost=joined(lost))
    if mostly := [f"`{arm.name}`" for arm in arms if arm.mostly_failed]:
        said += t(
            "Too many runs of {arms} failed, second ones included: the mean is that of all, and nothing is compared "
            "with it; halve its `learning_rate`, or train for more `epochs`.",
            arms=listed(mostly),
        )
    if task.failed_p is not None and first is not None:
        said += t(
            "Of `{first.arm}` and `{first.other}` not the same share failed: {luck} (p {p} by Fisher's exact test).",
            first=first,
            luck=t("with so few runs that may be luck") if task.failed_p >= LUCK else t("that is hardly luck"),
            p=p_value(task.failed_p),
        )
    return said


def unspoken(arm: Arm, task: Task, names: Sequence[str]) -> Text:
    """Classes that an arm does not predict: their names, or how many."""
    of = listed([quoted(shortened(name, MOST_LETTERS)) for name in names])
    if len(names) > MOST_NAMED:
        of = t("{few} of {all}", few=len(names), all=task.classes)
    return t("{name} ({of})", name=f"`{arm.name}`", of=of)


def mean_name(mean: TaskMean) -> Text:
    """The tasks of a mean as far as they fit into a heading; of more, how many these are."""
    if len(mean.tasks) > MOST_NAMED:
        return t("Mean of {n} tasks", n=len(mean.tasks))
    return t("Mean of {tasks}", tasks=listed(mean.tasks))


def of_mean(mean: TaskMean, comparison: Comparison) -> Text:
    """The answer to the first question of several tasks in the mean of their scores."""
    if mean.untested:
        what, tasks = answer_name(mean.answer), listed([f"`{name}`" for name in mean.untested])
        return t("{what}: the mean is not tested, because there is no test on {tasks}.", what=what, tasks=tasks)
    own = [task for task in comparison.tasks if task.name in mean.tasks]
    said = _said(mean.answer, own, comparison, t("{metric} on average", metric=metric_name(mean.metric)), None)
    said += _unsettled(mean.answer, own[0], comparison)
    if low := [task.name for task in own if rival_of(task, comparison.min_gain) is not None]:
        said += t("No arm is shown to score higher than a simple baseline on {tasks}.", tasks=listed(low))
    alike = all(task.first is not None and task.first.verdict == mean.answer.verdict for task in own)
    if alike or mean.answer.verdict == "undecided":
        return said
    return said + t("That is about these tasks as a group; of a single one its own answer tells.")


def _said(first: Answer, tasks: Sequence[Task], comparison: Comparison, metric: Text, rival: "Baseline | None") -> Text:
    """What was found, for which price, which is a mean over tasks, and whether it is worth it.

    Args:
        rival: a baseline that no arm is shown to score higher than, so that no gain is called worth it.
    """
    gap, what, other, min_gain = first.difference, answer_name(first), tasks[0].sides(first)[1], comparison.min_gain
    alone = {"general": t("fine-tuning alone"), "scratch": t("fine-tuning random weights")}
    prices, price, judged = [task.price(first) for task in tasks], t("an unknown amount"), verdict(first, min_gain)
    if known := [tokens for tokens in prices if tokens is not None]:
        tokens = round(sum(known) / len(known))
        price = t("{tokens:tokens} tokens", tokens=tokens) if tokens > 0 else t("no more tokens")
    if first.verdict == "undecided" and first.chance is not None:
        likely = likely_worth(first.chance, min_gain)
        judged = t("{verdict}, {worth}, for {price} of training", verdict=judged, worth=likely, price=price)
    if first.verdict == "gain" and gap is not None and gap.high is not None:
        judged = _worth(first, gap.high, rival, min_gain)
    if first.verdict in MAY_PAY and rival is not None:
        unbeaten = t("no arm is shown to score higher than {name} ({score:points})", name=rival.name, score=rival.score)
        judged = joined([judged, unbeaten], "; ", "；")
    values: Mapping[str, object] = {
        "what": what if first.question in QUESTIONS else t("{name} ({of})", name=what, of=f"`{first.arm}`"),
        "other": alone.get(other.role, same(f"`{other.name}`")),
        "metric": metric,
        "gap": gap,
        "price": price,
        "verdict": judged,
    }
    if first.verdict == "not_tested" or gap is None:
        return t("{what} over {other}: not tested.", **values) + not_tested(first, tasks[0], comparison)
    if gap.low is None or gap.high is None:
        return t("{what} scores the same as {other} in {metric}.", **values)
    if first.verdict == "gain":
        return t(
            "{what} gains {gap.mean:points} points of {metric} ({gap.low:points} to {gap.high:points}) over {other}, "
            "for {price} of training: {verdict}.",
            **values,
        )
    is_narrower = first.verdict == "equivalent" and comparison.confidence > 0.5
    return t(
        "{what} changes {metric} by {gap.mean:change} points ({interval}) over {other}: {verdict}.",
        **values,
        interval=interval_inside(gap, comparison) if is_narrower else ends(gap),
    )


def _unsettled(first: Answer, task: Task, comparison: Comparison) -> Text:
    """What an undecided answer leaves open; of any other, nothing."""
    gap = first.difference
    if first.verdict != "undecided" or gap is None or gap.high is None:
        return EMPTY
    if gap.high < comparison.min_gain:
        return t("The interval rules out a gain of {least:limit} points or more.", least=comparison.min_gain)
    if gap.mean < 0:
        return t("A gain of up to {high:points} points is not ruled out.", high=gap.high)
    return settles(first, task, comparison)


def _worth(gain: Answer, high: float, rival: "Baseline | None", min_gain: float) -> Text:
    """Whether a gain is worth it; `high`: the upper end of its interval."""
    if high < min_gain or gain.chance is None:
        return t("less than the {least:limit} points worth having", least=min_gain)
    if rival is not None:
        return t("a gain")
    return t("worth it") if gain.at_least else likely_worth(gain.chance, min_gain)


def interval_inside(gap: Difference, comparison: Comparison) -> Text:
    """The one that a verdict of equivalence rests on, which is narrower than that of the difference."""
    level = 1 - comparison.confidence
    low, high = gap.inside(level)
    return t("{wide:percent} % interval {low:change} to {high:change}", wide=1 - 2 * level, low=low, high=high)


def parts(task: Task, comparison: Comparison) -> Text:
    """What the steps of the recipe bring, how much of that as much general text brings as well, and what is known of
    why."""
    by_name = {each.name: each for each in task.answers if task.says_something(each)}
    said, first, roles = EMPTY, task.first, {arm.role for arm in task.arms}
    domain, longer = by_name.get("domain_transfer"), by_name.get("more_training")
    if domain is None and first is not None and first.question == "recipe" and task.arm(first.arm).role == "domain":
        domain = by_name.get(first.name)
    for each in (domain, by_name.get("task_transfer")):
        if each is not None and each is not first:
            said += t(
                "{what}: {gap.mean:change} points ({verdict}).",
                what=answer_name(each),
                gap=each.difference,
                verdict=within(verdict(each, comparison.min_gain)),
            ) + _counted_together(each, comparison)
    if domain is not None and longer is not None:
        said += t("As much general text alone: {it.difference.mean:change} points.", it=longer)
    if (text := by_name.get("domain_text")) is not None:
        said += t(
            "Domain text beside as much general text: {it.difference.mean:change} points ({verdict}).",
            it=text,
            verdict=within(verdict(text, comparison.min_gain)),
        )
    if "general_long" not in roles:
        if domain is not None and domain.difference is not None and domain.difference.mean > 0:
            said += t(
                "How much of domain transfer more training alone would bring is not known: there is no arm "
                "`general_long`."
            )
        if {"domain", "domain_task"} & roles and GENERAL in {source.name for source in comparison.sources}:
            said += t(
                "There is general text: with `general_long` in `arms`, the control of domain transfer is trained."
            )
    return said + joined([_far(each, task) for each in comparison.checkpoints if each.base == task.base], " ", "")


def _far(step: Checkpoint, task: Task) -> Text:
    """Whether domain transfer learned its own text, and lost that of the task."""
    moved = {name: (step.before[name], after) for name, after in step.after.items() if name in step.before}
    before, after = moved.get(task.task, (0.0, 0.0))
    own = moved.get(("", *step.trained_on.corpora)[-1], (0.0, 0.0))
    if step.role != "domain" or step.first.random_head or own[1] >= own[0] or after <= FARTHER * before:
        return EMPTY
    return t(
        "The text of the domain seems far from that of the task: in domain transfer the bits per character of the task "
        "rose from {before:.2f} to {after:.2f}, while those of the domain fell.",
        before=before,
        after=after,
    )


# What is not tested, and what would settle it.


def not_tested(answer: Answer, task: Task, comparison: Comparison) -> Text:
    """Why a question has no verdict, and what would bring one."""
    gap = answer.difference
    match answer.why:
        case "once" | "pretrained_once":
            said = EMPTY
            if gap is not None and gap.low is not None:
                said = t("On these weights: {gap.mean:change} points ({interval}).", gap=gap, interval=ends(gap))
            if answer.why == "pretrained_once":
                return said + t("There is one general pre-training, and another one may give another result.")
            said += t("Each step was trained once; another replicate may give another result.")
            if comparison.one_more_replicate is None:
                return said
            return said + t(
                "A verdict needs `compare.replicates: 2` in params.yaml: {times:amount} times the training of this "
                "page in addition.",
                times=_times(comparison.one_more_replicate.tflop, comparison),
            )
        case "missing":
            names = [name for arm in task.sides(answer) for name in task.without_result(arm)]
            return t("Without a result: {names}.", names=listed(names))
        case "no_seed":
            return t("The two arms share no seed.")
        case "few_seeds" if gap is not None:
            return t("An interval needs {least} seeds; the arms share {n}.", least=FEWEST_SEEDS, n=gap.seeds)
        case "nothing_learned":
            arms = listed([f"`{arm.name}`" for arm in task.sides(answer) if arm.name in task.unlearned])
            values: Mapping[str, object] = {"arms": arms, "what": within(answer_name(answer)), "steps": task.steps}
            if _unstable(task):
                return t("What few runs of {arms} learned is no measure of {what}.", **values)
            return t(
                "{arms} learned nothing in {steps:,} optimizer steps: until fine-tuning is longer, the difference is "
                "no measure of {what}.",
                **values,
            )
        case "no_spread" if gap is not None and gap.identical:
            return t(
                "All runs score alike; of {n:,} test rows that says too little of {least:limit} points.",
                n=task.independent_rows,
                least=comparison.min_gain,
            )
        case "no_spread":
            return t("All runs score alike, so there is no interval.")
    return EMPTY


def _times(tflop: float, comparison: Comparison) -> float:
    """The cost as a multiple of what this page took; costs are rounded, those of a tiny model to 0."""
    return tflop / comparison.spent.tflop if comparison.spent.tflop else 0.0


def settles(answer: Answer, task: Task, comparison: Comparison) -> Text:
    """Why a question is undecided though its interval leaves out 0, and what would show its difference, if that is as
    large as it seems, or as is worth having; of one that is probably not worth it, nothing."""
    first, needed = task.first, answer.needed
    if answer.place and first is not None and first.verdict not in ("gain", "loss"):
        return t(
            "This can be shown only where “{first}” shows a gain or a loss; a new study may name it first in "
            "`compare.order`.",
            first=answer_name(first),
        )
    said = _counted_together(answer, comparison)
    if needed is None or not _may_gain(answer):
        return said
    if needed.rows is not None:
        return said + t(
            "With these test rows no number of replicates and seeds finds a true gain of {it.effect:points} points: "
            "that takes {it.rows:,} rows at the very least. Label many more, or decide by cost.",
            it=needed,
        )
    if needed.design is None:
        return said + t(
            "Not even {replicates} replicates and {seeds} seeds find a true gain of {it.effect:points} points four "
            "times in five: decide by cost.",
            it=needed,
            replicates=MOST_REPLICATES,
            seeds=MOST_SEEDS,
        )
    return said + t(
        "A new study with {it.design.replicates} replicates and {it.design.seeds} seeds finds a true gain of "
        "{it.effect:points} points four times in five, for {times:amount} times the training of this page.",
        it=needed,
        times=_times(needed.design.tflop, comparison),
    )


def _counted_together(answer: Answer, comparison: Comparison) -> Text:
    """Why a question is undecided though its interval leaves out 0: it is one of several."""
    gap, p, level = answer.difference, answer.p_adjusted, 1 - comparison.confidence
    if answer.verdict != "undecided" or p is None or gap is None or gap.p is None or gap.p >= level:
        return EMPTY
    values: Mapping[str, object] = {"p": p_value(p), "level": level}
    if answer.place:
        return t(
            "Later questions need clearer evidence than the first: adjusted p {p}, to be below {level:g}.", **values
        )
    return t(
        "Alone this difference would count as shown; several questions are asked on this page, and the more one asks "
        "the likelier one looks so by luck: counted so, p is {p} and would have to be below {level:g}.",
        **values,
    )


def _may_gain(answer: Answer) -> bool:
    """Whether a design is proposed: not where it would probably show that nothing is gained."""
    return answer.chance is None or answer.chance > 1 - PROBABLE


# What to do next.


def next_step(task: Task, comparison: Comparison) -> Text:
    """The model to take, or what to raise, and the baseline that costs little."""
    first, chosen, taken = task.first, task.chosen_arm, to_take(task, comparison.min_gain)
    why = first.why if first is not None else ""
    if chosen is None or taken is None:
        return t("Next: `make recipe`, because no arm has a result.")
    if nothing_learned(task) or why == "nothing_learned":
        return _longer(task, chosen, comparison)
    if why == "missing":
        return t("Next: `make recipe`, because not every arm has a result.")
    if (rival := rival_of(task, comparison.min_gain)) is not None:
        return _beside(rival, chosen, is_taken=recommended(task, comparison.min_gain) == rival)
    if why in ("few_seeds", "no_seed"):
        return _more_seeds(task, chosen)
    if why == "once":
        return t("Next: train a second replicate, then ask again.")
    model = model_of(taken)
    if taken is not chosen:
        if taken.role in ("general", "scratch"):
            return t("Next: fine-tune the base directly: `{model}`.", model=model)
        return t("Next: use the arm without it: `{model}`.", model=model)
    needed, gap = (first.needed, first.difference) if first is not None and _may_gain(first) else (None, None)
    if needed is not None and needed.design is not None and gap is not None and gap.mean > 0:
        return t(
            "Next: use `{model}`; to learn more, start a new study: in params.yaml `compare.replicates: "
            "{it.design.replicates}`, {it.design.seeds} other `finetune.seeds` and another `seed`.",
            model=model,
            it=needed,
        )
    said = t("Next: use `{model}`.", model=model)
    if first is not None and first.verdict == "gain" and taken.name != first.arm:
        said += t("On dev, `{taken}` scores higher than `{asked}`.", taken=taken.name, asked=first.arm)
    is_undecided = first is not None and first.verdict == "undecided" and taken.name == first.arm
    if is_undecided and first is not None and first.chance is not None and first.chance < EVEN:
        said += t("It is there already; train the next one without its steps, unless a new study shows a gain.")
    return said


def to_take(task: Task, min_gain: float) -> Arm | None:
    """The arm to use: the best on dev, unless it is shown that what is asked for first does not pay."""
    first, chosen = task.first, task.chosen_arm
    if first is None or chosen is None or first.difference is None:
        return chosen
    high = first.difference.high
    is_small = first.verdict == "gain" and high is not None and high < min_gain
    if is_small or first.verdict == "equivalent" or (first.verdict == "loss" and chosen.name == first.arm):
        return task.sides(first)[1]
    return chosen


def recommended(task: Task, min_gain: float) -> "Arm | Baseline | None":
    """The model of the answer: the arm to take, or the baseline that scores as high or higher where no arm is shown to
    score higher; None where no arm has a result or none learned anything."""
    rival, arm = rival_of(task, min_gain), to_take(task, min_gain)
    if arm is None or nothing_learned(task):
        return None
    is_below = rival is not None and (rival.is_better or rival.score >= _score(task.chosen_arm))
    return rival if is_below else arm


def _more_seeds(task: Task, chosen: Arm) -> Text:
    """More seeds, and a replicate where there is one; a baseline that scores higher costs little."""
    first, best = task.first, _best(task)
    lost = {seed for arm in task.sides(first) for seed in arm.lost[1]} if first is not None else ()
    least = FEWEST_SEEDS + len(lost)
    said = t("Next: fine-tune with `seeds: {least}`, then ask again.", least=least)
    if first is not None and first.replicates == 1:
        said = t("Next: train a second replicate, with `seeds: {least}`, then ask again.", least=least)
    if best is not None and best.score > _score(chosen):
        said += t("{name} has {score:points} and costs little.", name=best.name, score=best.score)
    return said


def _longer(task: Task, chosen: Arm, comparison: Comparison) -> Text:
    """What may let the models learn, at least twice as many steps, and what to use until then."""
    ways = [t("twice as many `epochs`")]
    if task.epochs:
        times = max(2, steps_to_learn(task.classes) / task.steps)
        epochs = t("`epochs: {epochs}` (now {now:g})", epochs=math.ceil(task.epochs * times), now=task.epochs)
        ways = [] if times > LONGER and task.has_subsets else [epochs]
    if task.has_subsets:
        ways.append(t("all {rows:,} labelled rows", rows=task.rows["train"]))
    ways.append(t("half the `learning_rate`") if _unstable(task) else t("two to five times the `learning_rate`"))
    said = t("Next: in `finetune` of params.yaml write {ways}.", ways=joined(ways, ", or ", "，或"))
    if task.base not in comparison.began_from:
        said += t("Weights that began as random ones may need more `tokens` of `pretrain` as well.")
    best = _best(task)
    if chosen.name not in task.unlearned and (best is None or _score(chosen) > best.score):
        return said + t("Until then use `{model}`.", model=model_of(chosen))
    if best is None or best.score == trivial(task.baselines):
        return said
    return said + t("Until then take {baseline}.", baseline=best.shown)


def _unstable(task: Task) -> bool:
    """Whether an arm has runs that learned, among more that failed: a smaller learning rate and longer training make
    fine-tuning stable (Mosbach et al. 2021)."""
    return any(arm.mostly_failed and not all(run.failed for run in arm.runs) for arm in task.arms)


def nothing_learned(task: Task) -> bool:
    """Whether no arm did, tested or not."""
    learned = {arm.name for arm in task.arms if not arm.missing} - set(task.unlearned)
    return bool(task.unlearned) and not learned


# Beside the baselines.


@dataclass(frozen=True)
class Baseline:
    """The best baseline of a task.

    Attributes:
        key: its name in the record; `name`: in words.
        folder: of the model that `compare` keeps, where it is linear.
        gap: the chosen arm minus the baseline.
    """

    key: str
    name: Text
    score: float
    folder: str | None
    gap: Difference | None

    @property
    def is_rival(self) -> bool:
        """Whether no arm is shown to score higher."""
        return self.gap is not None and self.gap.low is not None and self.gap.low <= 0

    @property
    def is_better(self) -> bool:
        """Whether it is shown to score higher than the chosen arm, which was trained several times."""
        gap = self.gap
        return self.is_rival and gap is not None and gap.replicates != 1 and gap.high is not None and gap.high < 0

    @property
    def shown(self) -> Text:
        where = EMPTY if self.folder is None else Text(f"; `{self.folder}`", f"；`{self.folder}`")
        return t("{name} ({score:points}{where})", name=self.name, score=self.score, where=where)


def _best(task: Task) -> Baseline | None:
    key = max(task.baselines, key=lambda each: task.baselines[each].mean, default=None)
    return None if key is None else baseline_of(task, key)


def baseline_of(task: Task, key: str) -> Baseline:
    """A baseline by its name in the record."""
    folder, gap = None if key in TRIVIAL else f"models/linear/{task.task}", task.beside_baselines.get(key)
    return Baseline(key, baseline_name(key, task.target), task.baselines[key].mean, folder, gap)


def rival_of(task: Task, min_gain: float) -> Baseline | None:
    """The best baseline, where the arm to take is not shown to score higher; it was compared with the chosen one."""
    best, taken = _best(task), to_take(task, min_gain)
    is_beside = best is not None and best.is_rival and (best.is_better or taken is task.chosen_arm)
    return best if is_beside else None


def _score(arm: Arm | None) -> float:
    """Score on test; below any other where there is none."""
    return -math.inf if arm is None or arm.interval is None else arm.interval.mean


def _beside(rival: Baseline, chosen: Arm, *, is_taken: bool) -> Text:
    """What to do about a baseline that the arm which is best on dev is not shown to score higher than.

    Args:
        is_taken: whether the answer is the baseline.
    """
    values: dict[str, object] = {"baseline": rival.shown, "arm": chosen.name}
    if rival.is_better:
        return t(
            "Next: take {baseline}, which scores higher than `{arm}` and costs little (a larger public base or longer "
            "training may bring a BERT there).",
            **values,
        )
    values |= {"alone": t(" (fine-tuning alone)") if chosen.role == "general" else EMPTY}
    said = t("Next: take {baseline}, which costs little, unless you need a BERT for another reason:", **values)
    if not is_taken:
        said = t("Next: use `{arm}`{alone}, unless {baseline} will do, which costs little:", **values)
    gap = t("{gap.mean:change} points beside it ({interval})", gap=rival.gap, interval=ends(rival.gap))
    if rival.gap is not None and rival.gap.replicates == 1:  # training the arm again may turn it round
        return said + t("on these weights, `{arm}` scores {gap}.", arm=chosen.name, gap=gap)
    return said + t(
        "`{arm}` scores {gap}, so neither is clearly better; a larger base or longer training may change that.",
        arm=chosen.name,
        gap=gap,
    )


# The model.


def model_of(arm: Arm) -> str:
    """The folder of the replicate that is best on dev, as `adaptbert predict` takes it."""
    dev = means([{run.replicate: run.dev} for run in arm.counted])
    return Path("models", FINETUNE, arm.planned[max(dev, key=dev.__getitem__)]).as_posix()


IN_THE_FOLDER = t("In the folder of the project, with the environment active that has adaptbert:")
_PREDICT = """\
# new.jsonl: rows with the columns of your labelled files{or_text}
adaptbert predict {folder} new.jsonl -o answers.csv
"""
_BY_PIPELINE = """\
from transformers import pipeline

answer = pipeline("text-classification", model="{folder}", truncation=True{every})
print(answer({rows}))  # `long_text` and `replace` are known to adaptbert.Predictor alone
"""
_BY_PREDICTOR = """\
from adaptbert import Predictor

predictor = Predictor.load("{folder}")
for answer in predictor.answers({rows}):
    print(answer)
"""
_NO_PIPELINE: Mapping[TaskType, str] = {
    "extractive_answer": "# transformers has no pipeline for answers\n",
    "sequence_labelling": "# a transformers pipeline takes the best tag of each word alone, without windows and CRF\n",
}


def models(task: Task, comparison: Comparison) -> list[tuple[Text, Mapping[str, str]]]:
    """The models to take, and how each is used, as of `commands`: the linear one unless an arm is shown to score
    higher, the best arm unless none learned anything; that of `recommended` first."""
    arm, best, shown = to_take(task, comparison.min_gain), _best(task), []
    is_below = best is not None and recommended(task, comparison.min_gain) == best
    if arm is not None and arm.interval is not None and not nothing_learned(task):
        whose = t("Your BERT") if is_below else t("Your model")
        why = [] if arm is task.chosen_arm else [t("because further steps do not pay")]
        if arm.name in task.best_on_dev:
            why = [t("chosen by these runs (best on dev)")]
        what, score = joined([same(f"`{arm.name}`"), *why], ", ", "，"), arm.interval.mean
        title = t("{whose}: {what}; {score:points} on test, the mean of its runs", whose=whose, what=what, score=score)
        shown.append((title, commands(task, model_of(arm), trained=True)))
    if best is not None and best.folder is not None and (best.is_rival or best.score > _score(task.chosen_arm)):
        title = t("The linear model: {name}, {score:points} on test", name=best.name, score=best.score)
        shown.insert(0 if is_below else len(shown), (title, commands(task, best.folder)))
    return shown


def commands(task: Task, folder: str, *, trained: bool = False) -> Mapping[str, str]:
    """The lines by which a model is used, by their language: a shell for files, and Python, by plain transformers where
    that gives the same answers as one that was `trained` here. They name no path of a machine: equal results have equal
    pages."""
    inputs, why = [*TASK_TYPES[task.task_type].inputs], _NO_PIPELINE.get(task.task_type, "") if trained else ""
    lines = why + _BY_PREDICTOR
    if trained and not why:
        inputs, lines = ["text", "text_pair"][: len(inputs)], _BY_PIPELINE
    row = dict.fromkeys(inputs, "a text") if len(inputs) > 1 else "a text"
    every = ", top_k=None" if task.target == "labels" else ""
    or_text = ", or with `text`" if inputs == ["tokens"] else ""
    values = {"folder": folder, "rows": json.dumps([row]), "every": every, "or_text": or_text}
    return {"sh": _PREDICT.format(**values), "python": lines.format(**values)}
