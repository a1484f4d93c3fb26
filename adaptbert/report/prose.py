"""A comparison -> the sentences below its first screen, in English and Chinese: what answers rest on, what is amiss.

What a table or a figure shows is not repeated.
"""

from collections.abc import Iterator

from adaptbert.comparison.records import Answer, Comparison, Detectable, Masks, Ranking, Source, Task, TaskMean
from adaptbert.config.schema.bases import TrainedOn
from adaptbert.core.english import amount
from adaptbert.report.answer import not_tested, settles, unspoken
from adaptbert.report.language import EMPTY, Text, joined, listed, points, t
from adaptbert.report.terms import STANDS, metric_name
from adaptbert.statistics.intervals import Difference

LEAKS = ("dev_or_test_text", "in_dev", "in_test")
"""Reasons for which `validate` left a row out because dev or test text would have been seen in training."""
LARGEST = 1.0
"""A difference of scores beyond 100 points is written nowhere, though two correlations might differ by more."""
FEW_DF = 4
"""Degrees of freedom that are few: with fewer a 95 % interval is more than 1.4 times as wide as with many."""
MASKING_RATE_TOLERANCE = 0.01
MASKING_SHARE_TOLERANCE = 0.005
"""Smaller differences occur by chance on a short run and do not matter on a long one."""
MASKED_WHOLE_MOST = 0.01


# What a reader of the answers has to know at once.


def facts(comparison: Comparison) -> Iterator[Text]:
    """Leaks, what was repeated, what is missing, the price."""
    yield from leaks(comparison)
    if comparison.replicates > 1:
        n = comparison.replicates
        repeated = t(
            "Each step above general pre-training was trained {n} times (replicates), general pre-training once.", n=n
        )
        if all(map(comparison.takes_as_it_is, comparison.bases)):
            repeated = t("Each step was trained {n} times (replicates), from the checkpoint as it is.", n=n)
        yield repeated + t(
            "How far the runs of an arm lie apart is judged by its own and, in part, by those of the other arms, so an "
            "arm more or less changes all intervals a little."
        )
    if lacking := [name for task in comparison.tasks for arm in task.arms for name in task.without_result(arm)]:
        yield t("Planned and without a result: {names}.", names=listed(lacking))
    for name, fact in of_runs(comparison):
        yield t("{name}: {fact}", name=name, fact=fact)
    if any(each.needed is not None and each.needed.design for task in comparison.tasks for each in task.answers):
        yield t(
            "Judging these runs again with more replicates or seeds is a second look: unless it was settled "
            "beforehand, it errs more often than it should, and no `compare.confidence` mends that afterwards. A "
            "new study has other seeds (`seed`, `finetune.seeds`)."
        )
    yield t(
        "All training of the arms on this page, with every fine-tuning: {spent.tokens:tokens} tokens, "
        "{spent.tflop:amount} TFLOP; hours are in MLflow.",
        spent=comparison.spent,
    )


def leaks(comparison: Comparison) -> Iterator[Text]:
    """Rows that share text with test rows: which were left out of training, and which were kept."""
    rows = {source.name: sum(source.rejected.get(reason, 0) for reason in LEAKS) for source in comparison.sources}
    if left_out := [f"{name} {count:,}" for name, count in rows.items() if count]:
        yield t("Training rows with the text of a dev or test row were left out: {names}.", names=listed(left_out))
    else:
        yield t("No training row was found that equals or contains a dev or test row.")
    for source in comparison.sources:
        if source.sharing:
            yield t("{name}: {fact}", name=source.name, fact=sharing(source))


def sharing(source: Source) -> Text:
    """What is said of training rows that share a text with test rows."""
    return t(
        "{rows:,} training rows share a text with test rows, though not the whole row, and were kept: all scores may "
        "be too high.",
        rows=source.sharing,
    )


def of_runs(comparison: Comparison) -> Iterator[tuple[str, Text]]:
    """Tasks with runs that never predict a class which other runs predict, or with arms whose runs lie far apart."""
    for task in comparison.tasks:
        if few := [unspoken(arm, task, [*arm.seldom_predicted]) for arm in task.arms if arm.seldom_predicted]:
            yield task.name, t("Classes that some runs never predict, and others do: {few}.", few=joined(few))
        if task.scattered:
            fact = t(
                "Arms scatter unequally: runs of {names} lie clearly further apart than those of the others, so that "
                "intervals with them are wider; in a new study, more seeds and replicates make them narrower.",
                names=listed([f"`{name}`" for name in task.scattered]),
            )
            yield task.name, fact


def demonstration(comparison: Comparison) -> Text | None:
    """A warning about figures from demonstration text; None without such text."""
    names = [source.name for source in comparison.sources if source.demonstration]
    if not names:
        return None
    return t(
        "The text of {names} comes with Python and installed packages: its figures do not predict the effect on yours.",
        names=listed(names),
    )


# What was repeated.


def behind(difference: Difference, answer: Answer, task: Task | TaskMean) -> Text:
    """What a difference rests on: `3 replicates, 5 seeds, 1,000 test rows`."""
    n, seeds = answer.replicates, difference.seeds
    parts = [t("1 replicate") if n == 1 else t("{n} replicates", n=n)] if n is not None else []
    parts.append(t("1 seed") if seeds == 1 else t("{n} seeds", n=seeds))
    if "rows" in (difference.variance or ()):
        parts.append(t("{rows:,} test rows", rows=task.rows["test"]))
    return joined(parts)


def test_rows(task: Task) -> Text:
    """How many test rows there are, and how many of them are independent: groups, or different texts."""
    rows = task.rows["test"]
    if task.test_groups is not None:
        return t("{rows:,} test rows in {groups:,} groups", rows=rows, groups=task.test_groups)
    if task.test_texts is not None:
        return t("{rows:,} test rows with {texts:,} different texts", rows=rows, texts=task.test_texts)
    return t("{rows:,} test rows", rows=rows)


# One task.


def left_open(answer: Answer, task: Task, comparison: Comparison) -> Text:
    """What the numbers of an answer do not say: why it is not tested, what it could not have shown and what would
    settle it, that fine-tuning differs as well."""
    said, gap, least = EMPTY, answer.difference, answer.detectable
    if answer.verdict == "undecided" and least is not None and gap is not None:
        said = _detectable(least)
        if gap.df < FEW_DF and gap.variance and max(gap.variance, key=gap.variance.__getitem__) != "rows":
            said += t("Its spread is known from few runs: {gap.df:.1f} degrees of freedom.", gap=gap)
        said += settles(answer, task, comparison)
    elif answer.verdict == "not_tested" and answer.why != "described":
        said = not_tested(answer, task, comparison)
    arms = task.sides(answer)
    blocks = [f"`overrides.{arm.name}.finetune`" for arm in arms if arm.has_own_values]
    if not blocks:
        return said
    said += t("Fine-tuning differs as well: {blocks} in params.yaml.", blocks=listed(blocks))
    spent = [f"{arm.name} {amount(arm.run_tflop)} TFLOP" for arm in arms if arm.run_tflop is not None]
    return said + t("One run of it takes: {spent}.", spent=listed(spent)) if len(spent) == 2 else said


def _detectable(least: Detectable) -> Text:
    """What is known of the difference that is shown in four of five studies; one that may lie beyond the range of
    scores is none."""
    if least.high > LARGEST:
        return t("A study of this size cannot be relied on to find any difference: too few runs tell its spread.")
    return t(
        "A study of this size finds a difference four times in five if it is at least about {least.value:points} "
        "points ({least.low:points} to {least.high:points}, as the spread of its runs is an estimate); much smaller "
        "ones mostly stay undecided.",
        least=least,
    )


# Several bases.


def of_bases(ranking: Ranking) -> Text:
    """The bases of a task in one sentence, for the top of the page."""
    first, second, *_ = ranking.order
    if ranking.dev[first] == ranking.dev.get(second):
        return t("On {of.task}, {of.order[0]} and {of.order[1]} are equal on the dev split (arm {of.arm}).", of=ranking)
    verdict = next((each.verdict for each in ranking.arms[ranking.arm] if each.base == second), None)
    return t(
        "On {of.task}, {of.order[0]} is ahead of {others} on the dev split (arm {of.arm}); on the test split, "
        "{of.order[1]}: {stands}.",
        of=ranking,
        others=listed(ranking.order[1:]),
        stands=STANDS[verdict or "not_tested"],
    )


def ranked(ranking: Ranking) -> Iterator[Text]:
    """Which base is first and by which scores, unequal budgets, what was made once, whatever is trained above it."""
    scores = {base: f" {points(ranking.dev[base])}" if base in ranking.dev else "" for base in ranking.order}
    yield t(
        "In the order of their {metric} on the dev split, in the arm {arm}: {names}.",
        metric=metric_name(ranking.metric),
        arm=ranking.arm,
        names=listed([f"{base}{score}" for base, score in scores.items()]),
    )
    unequal = []
    for arm, standings in ranking.arms.items():
        costs = {each.base: each.cost for each in standings if each.cost is not None}
        if len({cost.tokens for cost in costs.values()}) > 1:
            spent = [t("{base} {cost.tokens:tokens}", base=base, cost=cost) for base, cost in costs.items()]
            unequal.append(t("{arm} ({spent} tokens)", arm=arm, spent=listed(spent)))
    if unequal:
        yield t("A difference may be due to unequal budgets: {arms}.", arms=listed(unequal))
    if ranking.made_here:
        made = listed(ranking.made_here)
        yield t(
            "{made} began with weights that were made here, once: differences from them have no verdict.", made=made
        )


# Checkpoints.


def of_checkpoints(comparison: Comparison) -> Iterator[Text]:
    """What a reader of the bits per character has to know: where they began, which mean nothing, and whose masks differ
    from the configuration."""
    for base, checkpoint in comparison.began_from.items():
        values = {"of_base": t(" of {base}", base=base) if len(comparison.bases) > 1 else EMPTY, "name": checkpoint}
        began = t("General pre-training{of_base} started from {name}.", **values)
        if comparison.takes_as_it_is(base):
            began = t("No general pre-training{of_base}: {name} as it is.", **values)
        yield began + t("Its earlier training is not counted here.")
    for group in comparison.checkpoints:
        for each in group.replicates:
            if each.missing:
                yield t("{checkpoint} has no measurements.", checkpoint=each.name)
        if group.first.random_head:
            yield t("The masked-LM head of {it.name} was never trained: its bits per character mean nothing.", it=group)
        # The others of its base are padded, too.
        if group.first.documents == "padded" and group.trained_on == TrainedOn():
            yield t(
                "Documents of {base} were padded: its kind of encoder cannot keep packed ones apart, so that a token "
                "takes longer.",
                base=group.base,
            )
    for _, each in comparison.trained():
        if each.masks is not None:
            for trouble in _troubles(each.masks):
                yield t("{name}: {fact}", name=each.name, fact=trouble)


def _troubles(masks: Masks) -> Iterator[Text]:
    audit = masks.audit
    if audit["specials"]:
        yield t("{audit[specials]:,.0f} special tokens were masked; none should be.", audit=audit)
    if abs(audit["rate"] - masks.probability) > MASKING_RATE_TOLERANCE:
        yield t(
            "{masks.audit[rate]:points} % of the tokens were masked (configured: {masks.probability:points} %).",
            masks=masks,
        )
    kinds = {"documents_without": t("have no mask"), "documents_whole": t("are masked completely")}
    for key, what in kinds.items():
        expected = audit[f"{key}_expected"]
        error = (expected * (1 - expected) / audit["documents"]) ** 0.5
        if abs(audit[key] - expected) > max(MASKING_SHARE_TOLERANCE, 5 * error):
            yield t(
                "{actual:points} % of the documents {what}; {expected:points} % are expected from their lengths.",
                actual=audit[key],
                what=what,
                expected=expected,
            )
    if audit["documents_whole"] > MASKED_WHOLE_MOST:
        yield t(
            "{audit[documents_whole]:points} % of the documents are masked completely: use shorter masking units or "
            "longer documents.",
            audit=audit,
        )
