"""Several tasks from one base, compared by one metric -> one figure: a question asked of the mean of their scores."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from adaptbert.comparison.arms import Results
from adaptbert.comparison.judging import OUTCOMES, of_results
from adaptbert.comparison.records import Answer, Task, TaskMean
from adaptbert.statistics.study import Study, mean_runs


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
            yield _mean(own, first, study), study


def _same(asked: Answer, task: Task) -> list[Answer]:
    """What a task answers about these two arms, where it is in the order."""
    pair = asked.arm, asked.other
    return [each for each in task.answers if (each.arm, each.other) == pair and each.why != "described"]


def _mean(tasks: Sequence[Task], asked: Answer, study: Study) -> TaskMean:
    own = {task.name: _same(asked, task)[0] for task in tasks}
    untested = [name for name, each in own.items() if each.place is None]
    difference = study.difference(asked.arm, asked.other)
    repeated = [each.replicates for each in own.values() if each.replicates is not None]
    replicates = difference.replicates if repeated and difference is not None else next(iter(repeated), None)
    # Where each has enough runs, they may share too few.
    why = own[untested[0]].why if untested else of_results(difference, replicates)
    place = 0 if why in OUTCOMES else None
    answer = replace(asked, difference=difference, replicates=replicates, place=place, why=why)
    rows = {split: sum(task.rows[split] for task in tasks) for split in tasks[0].rows}
    return TaskMean(tasks[0].base, tasks[0].metric, [*own], rows, untested, answer)
