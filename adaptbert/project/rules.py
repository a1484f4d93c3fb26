"""Rules between the sections of params.yaml: what `adaptbert check` and every stage refuse, and what they warn of."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from shlex import quote

from adaptbert.codes import Code
from adaptbert.comparison.questions import (
    QUESTIONS,
    ROLES,
    advice,
    named_pairs,
    pairs,
    role,
    uncompared,
    without_variants,
)
from adaptbert.config.plan import key_of
from adaptbert.config.recipe import KINDS, Recipe, errors
from adaptbert.config.schema.bases import FOLDERS, GENERAL, Climb
from adaptbert.config.schema.section import Contradiction
from adaptbert.config.schema.task_types import ONLY_SOME
from adaptbert.data.source_config import contradictions
from adaptbert.errors import BadParams, UserError, nearest, raise_all, shortened
from adaptbert.report.metrics_json import STEPS
from adaptbert.report.sentences.advice import would_show
from adaptbert.report.terms import BASELINES
from adaptbert.statistics.intervals import FEWEST_SEEDS

OF_TASKS = ("labels", "label_counts", "seeds")
"""Values of fine-tuning that all arms and bases of a task share."""
OF_GENERAL_PRETRAINING = {"pretrain", "climb"}
"""Questions of random weights beside trained ones: no number of replicates repeats what they differ in."""
MOST_OF_KEY = 200
"""Characters, all ASCII, of the key of a checkpoint: the name of a file may have 255 bytes, and temporary names are
longer."""


def check(recipe: Recipe) -> None:
    """Raise all errors: values that are wrong by themselves first, then those that contradict others.

    Raises:
        BadParams: as many as there are.
    """
    _raise_each(errors(recipe), _sources(recipe), _tasks(recipe), _general(recipe), _sections(recipe))
    _raise_each(
        _taken(recipe),
        _reserved(recipe),
        _known(recipe),
        _watched(recipe),
        _roles(recipe),
        _again(recipe),
        _twice(recipe),
        _fine_tuned_alike(recipe),
        _keys(recipe),
        _vocabularies(recipe),
        _options(recipe),
        _lengths(recipe),
        _questions(recipe),
    )


def _raise_each(*rules: Iterable[UserError]) -> None:
    raise_all(list({str(error): error for error in chain(*rules)}.values()))  # entries share values, and so errors


def _error(recipe: Recipe, place: str, error: Contradiction) -> BadParams:
    return BadParams(error.code, f"{recipe.file}: {place}", str(error), error.remedy)


# ---- what there is


def _sources(recipe: Recipe) -> Iterator[UserError]:
    for source in (*recipe.corpora.values(), *recipe.tasks.values()):
        yield from (_error(recipe, source.key, error) for error in contradictions(source))


def _tasks(recipe: Recipe) -> Iterator[UserError]:
    """There is a task with an arm: else `compare` has nothing to read."""
    if not recipe.tasks:
        remedy = "add a labelled set: `adaptbert add-task FILE...`"
        yield BadParams(Code.UNKNOWN_KEY, f"{recipe.file}: tasks", "no task, so nothing to compare", remedy)
    elif not recipe.cells():
        problem = "no task has an arm from any base, so nothing to compare"
        remedy = "name a task and a base in an arm, or leave out its lists `tasks` and `bases`"
        yield BadParams(Code.CONTRADICTION, f"{recipe.file}: arms", problem, remedy)


def _general(recipe: Recipe) -> Iterator[UserError]:
    if GENERAL not in recipe.corpora:
        remedy = "name the text that pretrain is trained on so"
        yield BadParams(Code.UNKNOWN_KEY, f"{recipe.file}: corpora", f"no corpus '{GENERAL}'", remedy)


def _sections(recipe: Recipe) -> Iterator[UserError]:
    """DVC stops at a section that a stage compares and that is not there; an empty one is enough."""
    arms = [recipe.arms[cell["arm"]].climb for cell in recipe.cells()]
    needed = {
        "pretrain": True,
        "domain_transfer": any(climb.corpora for climb in arms),
        "task_transfer": any(climb.with_task_text for climb in arms),
        "finetune": True,
        "compare": True,
    }
    for section in (name for name, is_needed in needed.items() if is_needed and name not in recipe.written):
        remedy = f"add `{section}: {{}}`, or values that differ from the defaults"
        yield BadParams(Code.UNKNOWN_KEY, f"{recipe.file}: {section}", "is missing", remedy)


# ---- names


def _taken(recipe: Recipe) -> Iterator[UserError]:
    """A name means one thing: an override under the name of a base and a task could mean either.

    A corpus and an arm alone may share a name, as `domain` does: no section differs by both.
    """
    kinds = recipe.names()
    for number, (kind, names) in enumerate(kinds.items()):
        for name in names:
            for other in list(kinds)[:number]:
                if name in kinds[other] and {kind, other} != {"corpus", "arm"}:
                    problem = f"'{name}' is also a name in {KINDS[other]}"
                    place = f"{recipe.file}: {KINDS[kind]}.{name}"
                    yield BadParams(Code.BAD_NAME, place, problem, "give one of them another name")
                    break


def _reserved(recipe: Recipe) -> Iterator[UserError]:
    """In metrics/metrics.json, arms stand beside baselines and `steps`."""
    for arm in recipe.arms:
        if arm == STEPS or arm in BASELINES:
            problem = f"'{arm}' is {'a section of metrics/metrics.json' if arm == STEPS else 'a baseline'}"
            yield BadParams(Code.BAD_NAME, f"{recipe.file}: arms.{arm}", problem, "give the arm another name")


def _known(recipe: Recipe) -> Iterator[UserError]:
    """Corpora, tasks and bases that arms name exist; a list that is empty keeps its arm from everything."""
    for name, arm in recipe.arms.items():
        place = f"arms.{name}"
        yield from _unknown(recipe, f"{place}.domain_transfer", arm.domain_transfer, recipe.corpora, "corpora")
        if arm.again is None and "again" in arm.model_fields_set:
            where = f"{recipe.file}: {place}.again"
            yield BadParams(Code.CONTRADICTION, where, "empty", "name the arm that it repeats")
        for kind, names, there in (("tasks", arm.tasks, recipe.tasks), ("bases", arm.bases, recipe.bases)):
            yield from _unknown(recipe, f"{place}.{kind}", names or (), there, kind)
            if names == []:
                problem = f"empty, so that '{name}' is nowhere"
                yield BadParams(Code.CONTRADICTION, f"{recipe.file}: {place}.{kind}", problem, "leave it out: all")


def _unknown(
    recipe: Recipe, place: str, names: Collection[str], there: Collection[str], where: str
) -> Iterator[UserError]:
    for name in names:
        if name not in there:
            problem = f"'{name}' is not in {where}{nearest(name, [*there])}"
            known = f"known: {', '.join(there) or 'none'}"
            yield BadParams(Code.UNKNOWN_KEY, f"{recipe.file}: {place}", problem, known)


def _watched(recipe: Recipe) -> Iterator[UserError]:
    """A checkpoint in a folder lies where DVC watches it, so that another one there is noticed."""
    for name, base in recipe.bases.items():
        folder, checkpoint = f"{FOLDERS}{name}", base.checkpoint
        if base.is_folder and checkpoint is not None and checkpoint != folder:
            problem = f"checkpoint is {checkpoint}, a path that DVC does not watch"
            home = "~/" if checkpoint.startswith("~/") else ""  # a shell resolves it only without quotes
            source = f"{home}{quote(checkpoint.removeprefix(home))}"
            remedy = f"write {folder}, and run `adaptbert import {source} --base {name}`, or copy it there"
            place = "base" if "base" in recipe.written else f"bases.{name}"
            yield BadParams(Code.CONTRADICTION, f"{recipe.file}: {place}", problem, remedy)


def _keys(recipe: Recipe) -> Iterator[UserError]:
    """A checkpoint is a file and a folder by its key, so the corpora of one arm cannot be too many."""
    longest: dict[str, str] = {}
    for cell in recipe.cells():
        key = key_of(recipe.arms[cell["arm"]].climb, cell["task"], cell["base"], recipe.compare.replicates)
        longest[cell["arm"]] = max(longest.get(cell["arm"], ""), key, key=len)
    for name, key in longest.items():
        if len(key) > MOST_OF_KEY:
            problem = f"its longest key has {len(key)} characters, more than {MOST_OF_KEY}: {shortened(key)}"
            remedy = "give the corpora shorter names, or name fewer in the list"
            yield BadParams(Code.BAD_NAME, f"{recipe.file}: arms.{name}.domain_transfer", problem, remedy)


# ---- arms


def _roles(recipe: Recipe) -> Iterator[UserError]:
    """An arm with the name of a role has that role."""
    for name, arm in recipe.arms.items():
        if name in ROLES and (arm.again is not None or role(arm.climb) != name):
            problem = f"an arm '{name}' is {ROLES[name]}, and this one is not"
            renamed = role(arm.climb) if arm.again is None else None
            remedy = f"write {ROLES[name]}" + (f", or call it {renamed}" if renamed else ", or call it otherwise")
            yield BadParams(Code.CONTRADICTION, f"{recipe.file}: arms.{name}", problem, remedy)


def _again(recipe: Recipe) -> Iterator[UserError]:
    """An A/A arm is where its original is, and fine-tuned with the same values."""
    for name, other in recipe.again.items():
        for named in (name, other):
            if "finetune" in recipe.overrides().get(named, ()):
                problem = f"'{name}' repeats '{other}', so both are fine-tuned with the values of all"
                place = f"{recipe.file}: overrides.{named}.finetune"
                yield BadParams(Code.CONTRADICTION, place, problem, f"remove it, or arms.{name}")
        alone = {
            task
            for task in recipe.tasks
            for base in recipe.bases
            if name in (own := recipe.arms_of(task, base)) and other not in own
        }
        if alone:
            of = ", ".join(sorted(alone))
            problem = f"'{name}' repeats '{other}', and the task {of} has no '{other}' from the same bases"
            remedy = f"leave {of} out of arms.{name}.tasks, or give the task {of} the arm {other} as well"
            yield BadParams(Code.CONTRADICTION, f"{recipe.file}: arms.{name}", problem, remedy)


def _twice(recipe: Recipe) -> Iterator[UserError]:
    """Two arms with the same steps and equal values would be one cell, twice."""
    twice: dict[str, str] = {}
    for task in recipe.tasks:
        for base in recipe.bases:
            first: dict[tuple[Climb, bool, str], str] = {}
            for name, arm in recipe.arms_of(task, base).items():
                own = recipe.values("finetune", {"base": base, "task": task, "arm": name}).model_dump()
                beside = first.setdefault((arm.climb, arm.again is None, json.dumps(own, sort_keys=True)), name)
                if beside != name:
                    twice.setdefault(name, beside)
    for name, beside in twice.items():
        problem = f"trained on what {beside} is trained on: the same cell twice"
        remedy = f"remove one, train it on something else, or write other values in overrides.{name}.finetune"
        yield BadParams(Code.CONTRADICTION, f"{recipe.file}: arms.{name}", problem, remedy)


def _fine_tuned_alike(recipe: Recipe) -> Iterator[UserError]:
    """Arms and bases are compared on the same labels, paired by seed: only a task has other ones."""
    written: Mapping[str, Mapping[str, Mapping[str, object]]] = recipe.written.get("overrides") or {}
    for name in recipe.overrides():
        kind = "arms" if name in recipe.arms else "bases" if name in recipe.bases else None
        values = (written.get(name) or {}).get("finetune") or {}
        for key in [key for key in OF_TASKS if kind and key in values]:
            problem = f"{kind} of a task are compared on the same {key}"
            place = f"{recipe.file}: overrides.{name}.finetune.{key}"
            yield BadParams(Code.CONTRADICTION, place, problem, "write it into finetune, or under the name of a task")


# ---- values


def _vocabularies(recipe: Recipe) -> Iterator[UserError]:
    """Corpora that are read for a vocabulary exist."""
    for base in recipe.bases:
        values = recipe.values("tokenizer", {"base": base})
        for keys, named in (
            (("corpora",), values.corpora),
            (("extend", "corpora"), values.extend and values.extend.corpora),
        ):
            place = recipe.place("tokenizer", {"base": base}, *keys)
            for name in named or ():
                if name in recipe.tasks and name not in recipe.corpora:
                    problem = f"'{name}' is a labelled set, and a vocabulary is trained on corpora"
                    remedy = "put its text into a corpus, and name that"
                    yield BadParams(Code.UNKNOWN_KEY, f"{recipe.file}: {place}", problem, remedy)
                else:
                    yield from _unknown(recipe, place, [name], recipe.corpora, "corpora")


def _options(recipe: Recipe) -> Iterator[UserError]:
    """The options of fine-tuning fit the rows of each task."""
    written: Mapping[str, Mapping[str, Mapping[str, object]]] = recipe.written.get("overrides") or {}
    for cell in recipe.cells():
        task = recipe.tasks[cell["task"]]
        try:
            task.spec.check(recipe.values("finetune", cell))
        except Contradiction as error:
            key = next((key for key in (*ONLY_SOME, "class_weights") if key in str(error).split()[0]), None)
            place = recipe.place("finetune", cell, *([key] if key else []))
            yield _error(recipe, place, error)
    for name, task in recipe.tasks.items():
        for key in (written.get(name) or {}).get("finetune") or {}:
            own = task.spec.rows.options.model_fields
            if key in ONLY_SOME and key not in own:
                place = f"{recipe.file}: overrides.{name}.finetune.{key}"
                problem = f"type '{task.type}' has no {key}"
                remedy = f"remove it; its options are {', '.join(sorted(own))}"
                yield BadParams(Code.CONTRADICTION, place, problem, remedy)


def _lengths(recipe: Recipe) -> Iterator[UserError]:
    """Documents must fit the positions of the encoder; a checkpoint has its own number of positions."""
    read = [("tokenize", {"base": base}) for base in recipe.bases]
    read += [("finetune", cell) for cell in recipe.cells()]
    for section, names in read:
        positions, length = recipe.bases[names["base"]].max_positions, recipe.values(section, names).max_length
        if positions is not None and length > positions:
            place = "base" if "base" in recipe.written else f"bases.{names['base']}"
            problem = f"max_length {length} > {place}.max_positions {positions}"
            remedy = f"write at most {positions}, or raise max_positions"
            where = recipe.place(section, names, "max_length")
            yield BadParams(Code.CONTRADICTION, f"{recipe.file}: {where}", problem, remedy)


def _questions(recipe: Recipe) -> Iterator[UserError]:
    """Questions and their arms exist, and their names are free."""
    own = recipe.compare.questions
    for name, arms in own.items():
        place = f"{recipe.file}: compare.questions.{name}"
        if name in QUESTIONS:
            yield BadParams(Code.BAD_NAME, place, f"'{name}' is a question already", "give this one another name")
        for arm in arms:
            if arm not in recipe.arms:
                problem = f"'{arm}' is no arm{nearest(arm, list(recipe.arms))}"
                yield BadParams(Code.UNKNOWN_KEY, place, problem, "name two of the arms")
    known = [*QUESTIONS, *own]
    for name in recipe.compare.primary:
        question, _, arm = name.partition("/")
        if question not in known or (arm and arm not in recipe.arms):
            problem = f"'{name}' is no question{nearest(name, known)}"
            remedy = f"write one of {', '.join(known)}"
            yield BadParams(Code.UNKNOWN_KEY, f"{recipe.file}: compare.primary", problem, remedy)


# ---- notices


def notices(recipe: Recipe) -> list[str]:
    """Warnings before training: arms that no step compares with another, tasks with too few seeds for an interval,
    questions that will get no verdict.

    Args:
        recipe: one that `check` lets pass.
    """
    seeds: dict[str, int] = {}
    for cell in recipe.cells():
        count = len(recipe.values("finetune", cell).seeds)
        seeds[cell["task"]] = min(count, seeds.get(cell["task"], count))
    few = [f"{task} has {count}" for task, count in seeds.items() if count < FEWEST_SEEDS]
    of_seeds = f"of fewer than {FEWEST_SEEDS} no interval and no verdict can be given; write seeds: 3"
    return [
        *([f"{recipe.file}: finetune: seeds: {', '.join(few)}: {of_seeds}"] if few else []),
        *_alone(recipe),
        *_without_a_verdict(recipe),
    ]


def _fine_tuned_otherwise(recipe: Recipe) -> set[str]:
    """Names under which fine-tuning differs."""
    return {name for name, sections in recipe.overrides().items() if "finetune" in sections}


def _alone(recipe: Recipe) -> Iterator[str]:
    """Arms that no step compares, each once for all bases."""
    lines: dict[tuple[str, str], str] = {}
    otherwise = _fine_tuned_otherwise(recipe)
    every = {name: arm.climb for name, arm in recipe.arms.items() if arm.again is None}
    for task in recipe.tasks:
        for base in recipe.bases:
            climbs = {name: arm.climb for name, arm in recipe.arms_of(task, base).items() if arm.again is None}
            arms = without_variants(climbs, otherwise)
            variants = {role(climb) for name, climb in climbs.items() if name not in arms}
            for arm in [name for name in climbs if name not in arms and len(recipe.bases) == 1]:
                if not any(climbs[arm] == climb for climb in arms.values()):
                    line = f"{recipe.file}: overrides.{arm}.finetune: on {task}, no step compares an arm that is"
                    line += f" fine-tuned otherwise; write these values into finetune or overrides.{task}, for all arms"
                    lines.setdefault((task, arm), line)
            for arm in uncompared(arms):
                more = advice(arms, [arm], every)
                is_there = more is not None and more.role in variants
                beside = f" {would_show(more).en}" if more is not None and not is_there else ""
                line = f"{recipe.file}: arms.{arm}: on {task}, no step compares this arm with another.{beside}"
                lines.setdefault((task, arm), line)
    yield from lines.values()


def _without_a_verdict(recipe: Recipe) -> Iterator[str]:
    """Why there will be no verdict: no task asks a primary question, or steps are trained once."""
    primary = recipe.compare.primary
    questions = list(dict.fromkeys(_answerable(recipe)))
    answered = {*questions} & {name.partition("/")[0] for name in primary}
    if not answered:
        lacking = f"no task has the arms for {' or '.join(primary) or 'a question'}, so there will be no verdict"
        there = ", ".join(questions) or "none"
        yield f"{recipe.file}: compare.primary: {lacking}; questions that the arms answer: {there}"
    elif answered <= OF_GENERAL_PRETRAINING:
        yield (
            f"{recipe.file}: compare.primary: {' and '.join(sorted(answered))} cannot have a verdict, because general "
            "pre-training is done once for each base, whatever replicates says; its interval is of these weights"
        )
    elif recipe.compare.replicates == 1 and any(
        arm.climb.corpora or arm.climb.with_task_text for arm in recipe.arms.values()
    ):
        yield (
            f"{recipe.file}: compare.replicates: with 1 there is no verdict on a step, only a description of these "
            "weights; write 2 or more"
        )


def _answerable(recipe: Recipe) -> Iterator[str]:
    for task in recipe.tasks:
        for base in recipe.bases:
            climbs = {name: arm.climb for name, arm in recipe.arms_of(task, base).items()}
            compared = pairs(without_variants(climbs, _fine_tuned_otherwise(recipe)))
            yield from (pair.question for pair in [*compared, *named_pairs(climbs, recipe.compare.questions)])
