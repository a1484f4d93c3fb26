"""Differences -> verdicts: which comparisons are tested together, what they show, and what would settle them."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, product
from statistics import mean

from adaptbert.comparison.arms import Results
from adaptbert.comparison.questions import Pair, asked
from adaptbert.comparison.records import (
    Answer,
    Arm,
    Detectable,
    Needed,
    Ranking,
    Standing,
    Task,
    TaskMean,
    Why,
    trivial,
)
from adaptbert.config.schema.bases import TrainedOn
from adaptbert.core.record import Cost
from adaptbert.statistics.chance import truths
from adaptbert.statistics.intervals import FEWEST_SEEDS, Difference, Interval
from adaptbert.statistics.power import Design, Power, spread_range
from adaptbert.statistics.study import Study, mean_runs
from adaptbert.statistics.verdicts import OF_MEAN, Judgement, judge

OUTCOMES = ("", "no_spread")
"""What keeps the place of a question. Any other reason leaves it to the next: these arms were not to be tested, or
every question about one of them goes, and the others are about other runs."""
ROWS_ALIKE = 3
"""Where n rows do not differ, no more than 3/n of all rows do, with a confidence of 95 %: Hanley & Lippman-Hand (1983),
"If nothing goes wrong, is everything all right?", JAMA 249(13)."""


# ---- the questions of a task


def answers_of(
    pairs: Sequence[Pair],
    by_arm: Mapping[str, TrainedOn],
    arms: Iterable[Arm],
    baselines: Mapping[str, Interval],
    study: Study,
    order: Sequence[str],
) -> list[Answer]:
    """The questions of one task with their differences, those that are tested first; verdicts need all tasks.

    Args:
        by_arm: arm -> what its checkpoint was trained on.
        baselines: name -> its score.
        order: names of the questions that are tested; those that cannot be leave their place to the next.
    """
    by_name, least, places = {arm.name: arm for arm in arms}, trivial(baselines), count()
    first, answers = asked(pairs, order), []
    for pair in [*first, *(pair for pair in pairs if pair not in first)]:
        arm, other = by_name[pair.arm], by_name[pair.other]
        difference = study.difference(pair.arm, pair.other)
        of_weights, replicates = by_arm[pair.arm].is_random != by_arm[pair.other].is_random, None
        if arm.checkpoint != other.checkpoint or arm.searches or other.searches:
            replicates = 1 if of_weights or difference is None else max(1, difference.replicates)
        why: Why = _why((arm, other), difference, replicates, least) if pair in first else "described"
        place = next(places) if why in OUTCOMES else None
        why = "pretrained_once" if of_weights and why == "once" else why
        named = pair.name, pair.question, pair.variant, pair.arm, pair.other
        answers.append(Answer(*named, difference, replicates, place, why=why))
    return answers


def _why(arms: tuple[Arm, Arm], difference: Difference | None, replicates: int | None, least: float | None) -> Why:
    """Why a question that is asked has no verdict; `least`: the score of the most trivial baseline."""
    if any(arm.missing for arm in arms):
        return "missing"
    if any(arm.learned_nothing(least) for arm in arms):
        return "nothing_learned"
    why = _of_results(difference, replicates)
    return "missing" if why == "once" and any(0 < len(arm.by_replicate) < len(arm.planned) for arm in arms) else why


def _of_results(difference: Difference | None, replicates: int | None) -> Why:
    """The same of two arms that have results."""
    if difference is None:
        return "no_seed"
    if difference.seeds < FEWEST_SEEDS:
        return "few_seeds"
    if replicates == 1:
        return "once"
    return "" if difference.testable or difference.identical else "no_spread"


def judged(
    tasks: Sequence[Task],
    means: Sequence[tuple[TaskMean, Study]],
    results: Results,
    min_gain: float,
    confidence: float,
    one_more: Cost | None,
    general: Cost,
) -> tuple[list[Task], list[TaskMean]]:
    """The tasks and their means with a verdict on every question.

    Args:
        one_more: the cost of one more replicate.
        general: the cost of general pre-training, which a new study repeats with its own seed.
    """
    by_name = {task.name: n for n, task in enumerate(tasks)}
    before = {len(tasks) + n: [by_name[name] for name in each.tasks] for n, (each, _) in enumerate(means)}
    chains = [
        *((task.answers, results[task.name].study, task.rows) for task in tasks),
        *(([each.answer], study, each.rows) for each, study in means),
    ]
    placed = [[answer for answer in answers if answer.place is not None] for answers, _, _ in chains]
    differences = [[answer.difference for answer in chain if answer.difference is not None] for chain in placed]
    judgements = judge(differences, min_gain, confidence, before)
    tested = [each for chain in differences[: len(tasks)] for each in chain if each.testable]
    share = (1 - confidence) / max(1, sum(map(bool, placed[: len(tasks)])))
    held = dict.fromkeys(range(len(tasks)), share)  # by the first question
    for n, below in before.items():
        held[n] = OF_MEAN * share * len(below)
        if judgements[n] and judgements[n][0].verdict not in ("gain", "loss"):
            held |= dict.fromkeys(below, (1 - OF_MEAN) * share)

    def judged_one(answer: Answer, own: Judgement | None, level: float, study: Study, rows: int) -> Answer:
        """The answer with its verdict; `rows`: all test rows of its scores."""
        difference = answer.difference
        if difference is None or not difference.testable:
            if own is not None and own.verdict == "equivalent" and ROWS_ALIKE / study.groups > min_gain:
                return replace(answer, why="no_spread")
            return answer if own is None else replace(answer, verdict=own.verdict)
        power = study.power(answer.arm, answer.other, level)
        if (value := power.detectable) is not None:
            low, high = spread_range(difference.df)
            answer = replace(answer, detectable=Detectable(value, value * low, value * high))
        if answer.why or own is None:
            return answer
        others, needed = [each for each in tested if each is not difference], None
        values, chances = truths(difference, others)
        answer = replace(answer, chance=float(chances[values >= min_gain].sum()))
        # Where the two arms have no replicates, more of them would change nothing.
        if own.verdict == "undecided" and one_more is not None and answer.replicates is not None:
            price = partial(_price, tasks, results, general.tflop, one_more.tflop, power.layout.seeds)
            needed = _needed(power, rows, max(min_gain, abs(float(chances @ values))), price)
        return replace(answer, verdict=own.verdict, p_adjusted=own.p, at_least=own.at_least, needed=needed)

    finished = []
    for n, (answers, study, rows) in enumerate(chains):
        own = {answer.name: judgement for answer, judgement in zip(placed[n], judgements[n], strict=True)}
        # The others of a task have its share when the first is decided.
        levels, later = {None: 1 - confidence, 0: held[n]}, held[n] / max(1, len(own) - 1)
        finished.append(
            [
                judged_one(each, own.get(each.name), levels.get(each.place, later), study, rows["test"])
                for each in answers
            ]
        )
    of_tasks = [replace(task, answers=finished[n]) for n, task in enumerate(tasks)]
    return of_tasks, [replace(each, answer=finished[n][0]) for n, (each, _) in zip(before, means, strict=True)]


def _needed(power: Power, rows: int, effect: float, price: Callable[[int, int], float]) -> Needed | None:
    """What would show the difference; None where the study shows such a difference four times in five, and did not."""
    if power.of_rows_alone > effect:
        return Needed(effect, None, math.ceil(rows * (power.of_rows_alone / effect) ** 2))
    if (design := power.cheapest(effect, price)) == power.now:
        return None
    return Needed(effect, design and Design(*design, price(*design)), None)


def _price(
    tasks: Sequence[Task], results: Results, general: float, step: float, now: int, replicates: int, seeds: int
) -> float:
    """TFLOP of a study with so many replicates and seeds, in which everything is trained anew.

    Args:
        general: TFLOP of general pre-training.
        step: TFLOP of one replicate of the steps above it, with fine-tuning on all tasks by the seeds there are.
        now: seeds that are there.
    """
    total = general + replicates * step
    for task in tasks:
        once = sum(0 in arm.planned for arm in task.arms)
        of_steps, cost = (len(task.arms) - once) * replicates, results[task.name].cell_tflop
        total += (once + of_steps) * cost(seeds) - of_steps * cost(now)
    return total


# ---- several tasks from one base, compared by one metric: a question asked of the mean of their scores


def task_means(tasks: Sequence[Task], results: Results, order: Sequence[str]) -> Iterator[tuple[TaskMean, Study]]:
    """A figure for each base and metric that several tasks have, without a verdict, and the study that it rests on.

    Scores by different metrics have no mean that says anything. A task on which the question cannot be tested leaves
    the mean of all untested.
    """
    for base, metric in dict.fromkeys((task.base, task.metric) for task in tasks):
        own = [task for task in tasks if (task.base, task.metric) == (base, metric)]
        answers = [answer for name in order for task in own for answer in task.answers if answer.name == name]
        # The first whose two arms are compared on all tasks, whatever it is called there.
        first = next((each for each in answers if all(_same(each, task) for task in own)), None)
        if len(own) > 1 and first is not None:
            runs = [results[task.name].runs for task in own]
            shared = [arm for arm in runs[0] if all(arm in each for each in runs)]
            # The fewest groups of test rows stand for those of each task, which makes the interval rather too wide.
            fewest = min((results[task.name].study for task in own), key=lambda study: study.groups)
            study = fewest.of({arm: mean_runs([each[arm] for each in runs]) for arm in shared})
            yield _task_mean(own, first, study), study


def _same(asked: Answer, task: Task) -> list[Answer]:
    """What a task answers about these two arms, where it is in the order."""
    pair = asked.arm, asked.other
    return [each for each in task.answers if (each.arm, each.other) == pair and each.why != "described"]


def _task_mean(tasks: Sequence[Task], asked: Answer, study: Study) -> TaskMean:
    own = {task.name: _same(asked, task)[0] for task in tasks}
    untested = [name for name, each in own.items() if each.place is None]
    difference = study.difference(asked.arm, asked.other)
    repeated = [each.replicates for each in own.values() if each.replicates is not None]
    replicates = difference.replicates if repeated and difference is not None else next(iter(repeated), None)
    # Where each has enough runs, they may share too few.
    why = own[untested[0]].why if untested else _of_results(difference, replicates)
    place = 0 if why in OUTCOMES else None
    answer = replace(asked, difference=difference, replicates=replicates, place=place, why=why)
    rows = {split: sum(task.rows[split] for task in tasks) for split in tasks[0].rows}
    return TaskMean(tasks[0].base, tasks[0].metric, [*own], rows, untested, answer)


# ---- the bases of a task, side by side


def ranking(tasks: Sequence[Task], published: Collection[str], study: Study, min_gain: float) -> Ranking | None:
    """The bases of a task, compared in each arm that several of them have; None where no arm has two results.

    The order is chosen on the dev split. What is compared are the bases as they are: checkpoints, or weights that were
    trained once. Their general pre-training is not repeated, so nothing here speaks of another run of it, and only
    published checkpoints have verdicts.

    Args:
        tasks: the task from each base.
        published: names of checkpoints that are public or stand on them. All other weights were made here, general
            pre-training once for each base.
        study: the runs of all arms from all bases, by `study_key`.
        min_gain: the smallest difference worth having.
    """
    every = {(arm.name, task.base): arm for task in tasks for arm in task.arms}
    dev: dict[str, dict[str, float]] = {}
    for (name, base), arm in every.items():
        if (score := arm.dev) is not None:
            dev.setdefault(name, {})[base] = score
    shared = {name: scores for name, scores in dev.items() if len(scores) > 1}
    if not shared:
        return None
    # An arm that fewer bases have may not leave a base out of the order.
    chosen = max(shared, key=lambda name: (len(shared[name]), mean(shared[name].values())))
    order = sorted((task.base for task in tasks), key=lambda base: -shared[chosen].get(base, -math.inf))
    first, compared = order[0], [chosen, *(name for name in shared if name != chosen)]
    arms = {place: every[place] for place in product(compared, order) if place in every}
    made_here = {place for place, arm in arms.items() if arm.checkpoint not in published}
    firsts = {(name, base): (name, first) for name, base in arms if base != first}
    differences = {place: study.difference(study_key(*place), study_key(*best)) for place, best in firsts.items()}
    # Both sides are published checkpoints, or stand on them and were trained several times. What was trained once has
    # no verdict, and is none of those that p is adjusted for.
    repeated = {
        place: each
        for place, each in differences.items()
        if each is not None and each.replicates != 1 and not {place, firsts[place]} & made_here
    }
    # One question in each chain: none comes before another.
    judged = judge([[each] for each in repeated.values()], min_gain, study.confidence)
    judgements = {place: own for place, (own,) in zip(repeated, judged, strict=True)}

    def standing(place: tuple[str, str]) -> Standing:
        arm, difference, own = arms[place], differences.get(place), judgements.get(place)
        verdict = None if difference is None else "not_tested" if own is None else own.verdict
        p = None if own is None or verdict == "not_tested" else own.p
        return Standing(place[1], arm.interval, arm.cost, difference, p, verdict)

    return Ranking(
        task=tasks[0].task,
        metric=tasks[0].metric,
        arm=chosen,
        order=order,
        dev=shared[chosen],
        arms={each: [standing(place) for place in arms if place[0] == each] for each in compared},
        made_here=[base for base in order if all(place in made_here for place in arms if place[1] == base)],
    )


def study_key(arm: str, base: str) -> str:
    """The name of an arm from a base, in a study of all bases."""
    return f"{base}/{arm}"
