"""A comparison -> its first screen, in English and Chinese: of each task the answer, why, and what to do next."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptbert.comparison.records import TRIVIAL, Answer, Arm, Checkpoint, Comparison, Task, TaskMean, trivial
from adaptbert.comparison.training_length import steps_to_learn
from adaptbert.config.plan import FINETUNE
from adaptbert.config.schema.bases import GENERAL
from adaptbert.config.schema.task_types import TASK_TYPES, TaskType
from adaptbert.errors import shortened
from adaptbert.report.language import EMPTY, Text, counted, joined, listed, p_value, quoted, same, t, within
from adaptbert.report.terms import PROBABLE, QUESTIONS, answer_name, baseline_name, likely_worth, metric_name, verdict
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
LONGER = 5
"""Times the epochs of today; more are proposed only where there is nothing else to raise."""


def heading(comparison: Comparison) -> Text:
    """The verdict on the first question in the mean of tasks and on each, and where a baseline is shown to be better
    than the best arm."""
    unlearned = [task.name for task in comparison.tasks if nothing_learned(task)]
    learned = [task for task in comparison.tasks if task.name not in unlearned]
    said: dict[Text, dict[tuple[Verdict, bool], list[str]]] = {}
    in_mean: dict[Text, list[Text]] = {}
    for mean in [mean for mean in comparison.means if not mean.untested]:
        shown = verdict(mean.answer.verdict, mean.answer.at_least, comparison.min_gain)
        named_so = t("{name} ({of})", name=shown, of=within(mean_name(mean)))
        in_mean.setdefault(answer_name(mean.answer), []).append(named_so)
        said.setdefault(answer_name(mean.answer), {})
    for task in learned:
        if (first := task.first) is not None:
            said.setdefault(answer_name(first), {}).setdefault((first.verdict, first.at_least), []).append(task.name)
    if not said and not unlearned:
        return t("Nothing was compared")

    def named(tasks: list[str]) -> Text:
        """Tasks as far as they fit into a heading; of more, how many these are."""
        if len(comparison.tasks) <= MOST_NAMED:
            return listed(tasks) + Text("", " ")
        return t("{n} of {all} tasks", n=len(tasks), all=len(comparison.tasks))

    parts = [t("The models learned nothing on {tasks}", tasks=named(unlearned))] if unlearned else []
    for question, by_verdict in said.items():
        of = in_mean.get(question, []) + [
            t("{verdict} on {tasks}", verdict=verdict(*judged, comparison.min_gain), tasks=named(tasks))
            for judged, tasks in by_verdict.items()
        ]
        parts.append(t("{question}: {answers}", question=question, answers=joined(of, ", ", "，")))
    if below := [task.name for task in learned if _has_better_baseline(task)]:
        parts.append(t("a simple baseline is better on {tasks}", tasks=named(below)))
    return joined([parts[0], *map(within, parts[1:])], "; ", "；")


def answer(task: Task, comparison: Comparison) -> Text:
    """The answer to the first question of a task, which runs failed, and of which classes it says nothing or little."""
    said = _answer(task, comparison) + _failed(task)
    if task.has_subsets:
        said += t("Each seed is trained on {n:,} of {all:,} labels.", n=task.labels, all=task.rows["train"])
    if task.classes_unseen:
        said += t(
            "Classes that are scored though no label of a seed is theirs: {unseen}; raise `finetune.labels`.",
            unseen=task.classes_unseen,
        )
    elif few := [unspoken(arm, task, arm.never_predicted) for arm in task.arms if arm.never_predicted]:
        said += t(
            "Classes that no run predicts: {few}; longer fine-tuning (`finetune.epochs`) may teach them, and change "
            "the difference.",
            few=joined(few),
        )
    accuracies = [arm.accuracy for arm in task.arms if arm.accuracy is not None]
    if task.most_frequent is None or not accuracies or max(accuracies) > task.most_frequent:
        return said
    return said + t(
        "In accuracy no arm is better than the most frequent label: {highest:points} at most, beside {label:points}.",
        highest=max(accuracies),
        label=task.most_frequent,
    )


def _failed(task: Task) -> Text:
    """How many runs of which arms failed, and what became of them."""
    arms, first = [arm for arm in task.arms if arm.first_failed[0]], task.first
    if not arms:
        return EMPTY
    shares = [t("{of[0]} of {of[1]} of `{arm}`", of=arm.first_failed, arm=arm.name) for arm in arms]
    said = t("Runs that failed, as they learned nothing: {shares}.", shares=listed(shares))
    if any(len(arm.runs) > arm.first_failed[1] for arm in arms):
        said += t("Each was trained once more with another seed; only runs that learned are compared.")
    if lost := [arm for arm in arms if arm.lost and not arm.mostly_failed]:
        seeds = [t("`{arm}` (seed {seeds})", arm=arm.name, seeds=listed(list(map(str, arm.lost)))) for arm in lost]
        said += t("Failed again, and so not compared: {seeds}.", seeds=listed(seeds))
    if mostly := [f"`{arm.name}`" for arm in arms if arm.mostly_failed]:
        said += t(
            "Too many runs of {arms} failed: the mean is that of all of them, and nothing is compared with it.",
            arms=listed(mostly),
        )
    if task.failed_p is None or first is None:
        return said
    return said + t(
        "Of `{first.arm}` and `{first.other}` not the same share failed: {luck} (p {p} by Fisher's exact test).",
        first=first,
        luck=t("with so few runs that may be luck") if task.failed_p >= LUCK else t("that is hardly luck"),
        p=p_value(task.failed_p),
    )


def unspoken(arm: Arm, task: Task, names: Sequence[str]) -> Text:
    """Classes that an arm does not predict: their names, or how many."""
    if len(names) > MOST_NAMED:
        return t("`{arm}` ({few} of {all})", arm=arm.name, few=len(names), all=task.classes)
    return t("`{arm}` ({few})", arm=arm.name, few=listed([quoted(shortened(name, MOST_LETTERS)) for name in names]))


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
    metric = t("{metric} on average", metric=metric_name(mean.metric))
    said = _said(mean.answer, own[0], comparison, metric, None)
    if all(task.first is not None and task.first.verdict == mean.answer.verdict for task in own):
        return said
    return said + t(
        "That is about the steps for these tasks as a group; a task that is undecided itself may still have no gain."
    )


def _answer(task: Task, comparison: Comparison) -> Text:
    if (first := task.first) is None:
        return t("No question of `compare.order` is asked on this task.")
    rival = _rival(task)
    is_as_good = rival is not None and rival.score >= _score(task.chosen_arm)
    return _said(first, task, comparison, metric_name(task.metric), rival if is_as_good else None)


def _said(first: Answer, task: Task, comparison: Comparison, metric: Text, rival: "_Baseline | None") -> Text:
    """What was found, for which price, and whether it is worth it.

    Args:
        task: the one that is asked about, or the first of several.
        rival: a baseline that may be as good as the best arm.
    """
    gap, what, other, min_gain = first.difference, answer_name(first), task.sides(first)[1], comparison.min_gain
    alone = {"general": t("fine-tuning alone"), "scratch": t("fine-tuning random weights")}
    tokens, price, judged = task.price(first), t("an unknown amount"), verdict(first.verdict, False, min_gain)
    if tokens is not None:
        price = t("{tokens:tokens} tokens", tokens=tokens) if tokens > 0 else t("no more tokens")
    if first.verdict == "undecided" and first.chance is not None and rival is None:
        likely = likely_worth(first.chance, min_gain)
        judged = t("{verdict}, {worth}, for {price} of training", verdict=judged, worth=likely, price=price)
    values: Mapping[str, object] = {
        "what": what if first.question in QUESTIONS else t("{name} ({of})", name=what, of=f"`{first.arm}`"),
        "other": alone.get(other.role, same(f"`{other.name}`")),
        "metric": metric,
        "gap": gap,
        "verdict": judged,
    }
    if first.verdict == "not_tested" or gap is None:
        return t("{what} over {other}: not tested.", **values) + not_tested(first, task, comparison)
    if gap.low is None or gap.high is None:
        return t("{what} scores the same as {other} in {metric}.", **values)
    if first.verdict == "gain":
        return t(
            "{what} gains {gap.mean:points} points of {metric} ({gap.low:points} to {gap.high:points}) over {other}, "
            "for {price} of training: {worth}.",
            **values,
            price=price,
            worth=_worth(first, gap.high, rival, min_gain),
        )
    if first.verdict == "equivalent" and comparison.confidence > 0.5:
        return t(
            "{what} changes {metric} by {gap.mean:change} points ({interval}) over {other}: {verdict}.",
            **values,
            interval=interval_inside(gap, comparison),
        )
    said = t(
        "{what} changes {metric} by {gap.mean:change} points ({gap.low:change} to {gap.high:change}) over {other}: "
        "{verdict}.",
        **values,
    )
    if first.verdict != "undecided":
        return said
    if gap.high < min_gain:
        return said + t("The interval leaves out a gain of {least:limit} points or more.", least=min_gain)
    if gap.mean < 0:
        return said + t("A gain of up to {high:points} points is not ruled out.", high=gap.high)
    return said + settles(first, task, comparison)


def _worth(gain: Answer, high: float, rival: "_Baseline | None", min_gain: float) -> Text:
    """`high`: the upper end of its interval."""
    if rival is not None:
        return t("a gain, but {name} has {score:points}", name=rival.name, score=rival.score)
    if gain.at_least:
        return t("worth it")
    if high < min_gain or gain.chance is None:
        return t("less than the {least:limit} points worth having", least=min_gain)
    return likely_worth(gain.chance, min_gain)


def interval_inside(gap: Difference, comparison: Comparison) -> Text:
    """The one that a verdict of equivalence rests on, which is narrower than that of the difference."""
    level = 1 - comparison.confidence
    low, high = gap.inside(level)
    return t("{wide:percent} % interval {low:change} to {high:change}", wide=1 - 2 * level, low=low, high=high)


def parts(task: Task, comparison: Comparison) -> Text:
    """What the steps of the recipe bring, and what is known of why."""
    said = _parts(task, comparison)
    roles, kinds = {arm.role for arm in task.arms}, {source.name for source in comparison.sources}
    if {"domain", "domain_task"} & roles and "general_long" not in roles and GENERAL in kinds:
        said += t("There is general text: with `general_long` in `arms`, the control of domain transfer is trained.")
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


def _parts(task: Task, comparison: Comparison) -> Text:
    """What the steps bring, and how much of that as much general text brings as well."""
    by_name = {each.name: each for each in task.answers if task.says_something(each)}
    said, first = EMPTY, task.first
    domain, longer = by_name.get("domain_transfer"), by_name.get("more_training")
    if domain is None and first is not None and first.question == "recipe" and task.says_something(first):
        domain = first if task.arm(first.arm).role == "domain" else None
    for each in (domain, by_name.get("task_transfer")):
        if each is not None and each is not first:
            judged = verdict(each.verdict, each.at_least, comparison.min_gain)
            said += t(
                "{what}: {gap.mean:change} points ({verdict}).",
                what=answer_name(each),
                gap=each.difference,
                verdict=within(judged),
            ) + _counted_together(each, comparison)
    has_control = any(arm.role == "general_long" for arm in task.arms)
    if domain is not None and not has_control and domain.difference is not None and domain.difference.mean > 0:
        return said + t(
            "How much of domain transfer more training alone would bring is not known: there is no arm `general_long`."
        )
    if domain is not None and longer is not None and longer.difference is not None:
        said += t("As much general text alone brought {general.mean:change} points.", general=longer.difference)
    return said


# What is not tested, and what would settle it.


def not_tested(answer: Answer, task: Task, comparison: Comparison) -> Text:
    """Why a question has no verdict, and what would bring one."""
    gap = answer.difference
    match answer.why:
        case "once" | "pretrained_once":
            said = EMPTY
            if gap is not None and gap.low is not None:
                said = t("On these weights: {gap.mean:change} points ({gap.low:change} to {gap.high:change}).", gap=gap)
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
            return counted(
                "An interval needs {least} seeds; there is {n}.",
                "An interval needs {least} seeds; there are {n}.",
                gap.seeds,
                least=FEWEST_SEEDS,
            )
        case "nothing_learned" if _unstable(task):
            arms = listed([f"`{arm.name}`" for arm in task.sides(answer) if arm.name in task.unlearned])
            return t(
                "What few runs of {arms} learned is no measure of {what}.", arms=arms, what=within(answer_name(answer))
            )
        case "nothing_learned":
            return t(
                "{arms} learned nothing in {steps:,} steps: until fine-tuning is longer, the difference is no measure "
                "of {what}.",
                arms=listed([f"`{arm.name}`" for arm in task.sides(answer) if arm.name in task.unlearned]),
                steps=task.steps,
                what=within(answer_name(answer)),
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
    if needed is None or not _may_be_worth_it(answer):
        return said
    said += t(
        "If the true gain is {it.effect:points} points (that seen less what luck usually adds, or at least "
        "`min_gain`),",
        it=needed,
    )
    if needed.rows is not None:
        return said + t("finding it takes {it.rows:,} test rows or more, however many replicates and seeds.", it=needed)
    if needed.design is None:
        return said + t(
            "not even {replicates} replicates and {seeds} seeds find it four times in five.",
            replicates=MOST_REPLICATES,
            seeds=MOST_SEEDS,
        )
    return said + t(
        "a new study with {it.design.replicates} replicates and {it.design.seeds} seeds finds it four times in five, "
        "for {times:amount} times the training of this page.",
        it=needed,
        times=_times(needed.design.tflop, comparison),
    )


def _counted_together(answer: Answer, comparison: Comparison) -> Text:
    """Why a question is undecided though its interval leaves out 0: it is one of several."""
    gap, p = answer.difference, answer.p_adjusted
    if answer.verdict != "undecided" or gap is None or gap.low is None or gap.high is None or gap.low * gap.high <= 0:
        return EMPTY
    assert p is not None
    values: Mapping[str, object] = {"p": p_value(p), "level": 1 - comparison.confidence}
    if answer.place:
        return t(
            "Later questions need clearer evidence than the first: adjusted p {p}, to be below {level:g}.", **values
        )
    return t(
        "Alone this difference would count as shown; several questions are asked on this page, and the more one asks "
        "the likelier one looks so by luck: counted so, p is {p} and would have to be below {level:g}.",
        **values,
    )


def _may_be_worth_it(answer: Answer) -> bool:
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
    if (rival := _rival(task)) is not None and (said := _beside_rival(rival, chosen, taken, task)) is not None:
        return said
    if why == "few_seeds":
        return _more_seeds(task, chosen)
    if why == "once":
        return t("Next: train a second replicate, then ask again.")
    model = model_of(taken)
    needed, gap = (first.needed, first.difference) if first is not None and _may_be_worth_it(first) else (None, None)
    if needed is not None and needed.design is not None and gap is not None and gap.mean > 0:
        return t(
            "Next: use `{model}`; to learn more, start a new study: in params.yaml `compare.replicates: "
            "{it.design.replicates}`, {it.design.seeds} other `finetune.seeds` and another `seed`.",
            model=model,
            it=needed,
        )
    if first is not None and taken.name == first.other and taken.name != task.chosen:
        if taken.role in ("general", "scratch"):
            return t("Next: fine-tune the base directly: `{model}`.", model=model)
        return t("Next: use the arm without it: `{model}`.", model=model)
    said = t("Next: use `{model}`.", model=model)
    if first is None or first.verdict != "gain" or taken.name == first.arm:
        return said
    return said + t("On dev, `{taken}` scores higher than `{asked}`.", taken=taken.name, asked=first.arm)


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


def _more_seeds(task: Task, chosen: Arm) -> Text:
    """More seeds, and a replicate where there is one; a baseline that scores higher costs little."""
    first = task.first
    lost = {seed for arm in task.sides(first) for seed in arm.lost} if first is not None else ()
    least = FEWEST_SEEDS + len(lost)
    said = t("Next: fine-tune with `seeds: {least}`, then ask again.", least=least)
    if first is not None and first.replicates == 1:
        said = t("Next: train a second replicate, with `seeds: {least}`, then ask again.", least=least)
    best = _best(task, task.baselines)
    if best is None or best.score <= _score(chosen):
        return said
    return said + t("{name} has {score:points} and costs little.", name=best.name, score=best.score)


def _longer(task: Task, chosen: Arm, comparison: Comparison) -> Text:
    """What may let the models learn, at least twice as many steps, and what to use until then."""
    ways = [t("twice as many `epochs`")]
    if task.epochs:
        times = max(2, steps_to_learn(task.classes) / task.steps)
        epochs = t("`epochs: {epochs}` (now {now:g})", epochs=math.ceil(task.epochs * times), now=task.epochs)
        ways = [] if times > LONGER and task.has_subsets else [epochs]
    if task.has_subsets:
        ways.append(t("all {rows:,} labels", rows=task.rows["train"]))
    ways.append(t("half the `learning_rate`") if _unstable(task) else t("two to five times the `learning_rate`"))
    said = t("Next: in `finetune` of params.yaml write {ways}.", ways=joined(ways, ", or ", "，或"))
    if task.base not in comparison.began_from:
        said += t("Weights that began as random ones may need more `tokens` of `pretrain` as well.")
    best = _best(task, task.baselines)
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
class _Baseline:
    """`key`: its name in the comparison; `folder`: of the model that `compare` keeps, where it is linear."""

    key: str
    name: Text
    score: float
    folder: str | None

    @property
    def shown(self) -> Text:
        where = EMPTY if self.folder is None else Text(f"; `{self.folder}`", f"；`{self.folder}`")
        return t("{name} ({score:points}{where})", name=self.name, score=self.score, where=where)


def _best(task: Task, among: Iterable[str]) -> _Baseline | None:
    key = max(among, key=lambda each: task.baselines[each].mean, default=None)
    if key is None:
        return None
    folder = None if key in TRIVIAL else f"models/linear/{task.task}"
    return _Baseline(key, baseline_name(key, task.target), task.baselines[key].mean, folder)


def _rival(task: Task) -> _Baseline | None:
    """The best baseline, where the chosen arm is not shown to score higher."""
    best = _best(task, task.beside_baselines)
    low = task.beside_baselines[best.key].low if best is not None else None
    return None if low is None or low > 0 else best


def _has_better_baseline(task: Task) -> bool:
    """Whether the best one is shown to score higher than the chosen arm, which was trained several times."""
    if (rival := _rival(task)) is None:
        return False
    beside = task.beside_baselines[rival.key]
    return beside.replicates != 1 and beside.high is not None and beside.high < 0


def _score(arm: Arm | None) -> float:
    """Score on test; below any other where there is none."""
    return -math.inf if arm is None or arm.interval is None else arm.interval.mean


def _beside_rival(rival: _Baseline, chosen: Arm, taken: Arm, task: Task) -> Text | None:
    """What to do about the best baseline; it was compared with the arm that is best on dev."""
    gap = task.beside_baselines[rival.key]
    values: Mapping[str, object] = {"baseline": rival.shown, "arm": chosen.name, "gap": gap}
    if _has_better_baseline(task):
        return t(
            "Next: take {baseline}, which scores higher than `{arm}` and costs little (a larger public base or longer "
            "training may bring a BERT there).",
            **values,
        )
    if taken is not chosen:
        return None
    said = t(
        "Next: choose between `{arm}`{alone} and {baseline}, which costs little:",
        **values,
        alone=t(" (fine-tuning alone)") if chosen.role == "general" else Text("", " "),
    )
    beside = t("{gap.mean:change} points beside it ({gap.low:change} to {gap.high:change})", **values)
    if gap.replicates == 1:  # training the arm again may turn it round
        return said + t("on these weights, `{arm}` scores {gap}.", arm=chosen.name, gap=beside)
    return said + t(
        "`{arm}` scores {gap}, so neither is clearly better; a larger base or longer training may change that.",
        arm=chosen.name,
        gap=beside,
    )


# The model.


def model_of(arm: Arm) -> str:
    """The folder of the replicate that is best on dev, as `adaptbert predict` takes it."""
    dev = {replicate: [run.dev for run in arm.counted if run.replicate == replicate] for replicate in arm.by_replicate}
    best = max(dev, key=lambda replicate: sum(dev[replicate]) / len(dev[replicate]))
    return Path("models", FINETUNE, arm.planned[best]).as_posix()


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
    """The models to take, and how each is used, as of `_commands`: the linear one unless an arm is shown to score
    higher, the best arm unless none learned anything."""
    arm, rival, linear = to_take(task, comparison.min_gain), _rival(task), []
    best = rival or _best(task, task.baselines)
    if best is not None and best.folder is not None and (best is rival or best.score > _score(task.chosen_arm)):
        title = t("The linear model: {name}, {score:points} on test", name=best.name, score=best.score)
        linear = [(title, _commands(task, best.folder))]
    if arm is None or arm.interval is None or nothing_learned(task):
        return linear
    is_below = _has_better_baseline(task)
    values: Mapping[str, object] = {
        "whose": t("Your BERT") if is_below else t("Your model"),
        "arm": arm.name,
        "score": arm.interval.mean,
    }
    title = t("{whose}: `{arm}`, chosen by these runs (best on dev), {score:points} on test", **values)
    if arm.name not in task.best_on_dev:
        title = t("{whose}: `{arm}`, as what it lacks does not pay, {score:points} on test", **values)
    of_arm = title, _commands(task, model_of(arm), trained=True)
    return [*linear, of_arm] if is_below else [of_arm, *linear]


def _commands(task: Task, folder: str, *, trained: bool = False) -> Mapping[str, str]:
    """The lines by which a model is used, by their language: a shell for files, and Python, by plain transformers where
    that gives the same answers. They name no path of a machine: equal results have equal pages.

    Args:
        trained: whether it is a BERT.
    """
    inputs, why = [*TASK_TYPES[task.task_type].inputs], _NO_PIPELINE.get(task.task_type, "") if trained else ""
    lines = why + _BY_PREDICTOR
    if trained and not why:
        inputs, lines = ["text", "text_pair"][: len(inputs)], _BY_PIPELINE
    row = dict.fromkeys(inputs, "a text") if len(inputs) > 1 else "a text"
    every = ", top_k=None" if task.target == "labels" else ""
    or_text = ", or with `text`" if inputs == ["tokens"] else ""
    values = {"folder": folder, "rows": json.dumps([row]), "every": every, "or_text": or_text}
    return {"sh": _PREDICT.format(**values), "python": lines.format(**values)}
