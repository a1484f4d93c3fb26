"""Rules between the sections of params.yaml: what `adaptbert check` and every stage refuse, and what they warn of."""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote

from adaptbert.codes import Code
from adaptbert.comparison.questions import NO_ARMS, QUESTIONS, ROLES, advice, answered, asked, pairs, role
from adaptbert.config.plan import FINETUNE, PRETRAIN, TRAINED
from adaptbert.config.recipe import KINDS, PARAMS, Recipe, budget, errors, read
from adaptbert.config.schema.bases import DOMAIN_TRANSFER, FOLDERS, GENERAL, TRANSFERS, TrainedOn
from adaptbert.config.schema.comparison import ORDER
from adaptbert.config.schema.mlm import BUDGET
from adaptbert.config.schema.section import Contradiction
from adaptbert.config.schema.task_types import ONLY_SOME, comparable
from adaptbert.core.english import listed
from adaptbert.data.source_config import contradictions
from adaptbert.errors import BadParams, Place, UserError, nearest, raise_all
from adaptbert.planning import fitting, input_files
from adaptbert.statistics.intervals import FEWEST_SEEDS


def checked(path: Path = PARAMS) -> Recipe:
    """params.yaml, valid as a whole.

    Raises:
        BadParams: all that is wrong.
    """
    recipe = read(path)
    check(recipe)
    return recipe


def check(recipe: Recipe) -> None:
    """Raise all errors: values that are wrong by themselves first, then those that contradict others."""
    for rules in (BY_THEMSELVES, BETWEEN):
        broken = [error for rule in rules for error in rule(recipe)]
        raise_all(list({str(error): error for error in broken}.values()))  # entries share values, and so errors


# ---- what there is


def _sources(recipe: Recipe) -> Iterator[UserError]:
    for source in (*recipe.corpora.values(), *recipe.tasks.values()):
        for error in contradictions(source):
            yield error.at(recipe.at(source.key))


def _no_corpus_twice(recipe: Recipe) -> Iterator[UserError]:
    """The same text under two names, without an override of the step by which arms could differ: what it learns from
    the one and not from the other would be nothing."""
    first: dict[tuple[str, str, str], str] = {}
    for name, corpus in recipe.corpora.items():
        column = (corpus.columns or {}).get("text", "text")
        own = str(recipe.overrides.get(name, {}).get(DOMAIN_TRANSFER))
        other = first.setdefault((os.path.normpath(corpus.path), column, own), name)
        if other != name:
            problem, remedy = f"{corpus.path} is also the corpus {other}", "name another file, or remove one of the two"
            yield BadParams(Code.CONTRADICTION, recipe.at("corpora", name, "path"), problem, remedy)


def _no_addresses(recipe: Recipe) -> Iterator[UserError]:
    """It is not shown, and plan.json and dvc.lock do not get it: an address may hold a password."""
    for place, path in input_files.paths(recipe):
        if "://" in path:
            yield BadParams(Code.BAD_OPTION, place, "an address, not a file", "download it, and write where it is")


def _something_to_compare(recipe: Recipe) -> Iterator[UserError]:
    if not recipe.tasks:
        remedy = "add a labelled set: `adaptbert add-task --train FILE`"
        yield BadParams(Code.UNKNOWN_KEY, recipe.at("tasks"), "no task, so nothing to compare", remedy)
    elif not recipe.cells():
        problem = "no task has an arm from any base, so nothing to compare"
        remedy = "name a task and a base in an arm, or leave out its lists `tasks` and `bases`"
        yield BadParams(Code.CONTRADICTION, recipe.at("arms"), problem, remedy)


def _sections(recipe: Recipe) -> Iterator[UserError]:
    """DVC stops at a section that a stage compares and that is not there; an empty one is enough."""
    steps = {step for cell in recipe.cells() for step in recipe.arms[cell["arm"]].trained_on.steps}
    needed = [PRETRAIN, *(step for step in TRANSFERS if step in steps), FINETUNE, "compare"]
    for section in (name for name in needed if name not in recipe.written):
        remedy = f"add `{section}: {{}}`, or values that differ from the defaults"
        yield BadParams(Code.UNKNOWN_KEY, recipe.at(section), "is missing", remedy)


def _general_text(recipe: Recipe) -> Iterator[UserError]:
    if GENERAL in recipe.corpora:
        return
    add, none = f"add text as `corpora.{GENERAL}`", f"there is no corpus '{GENERAL}'"
    for base, weights in recipe.bases.items():
        names, arms = {"base": base}, [cell["arm"] for cell in recipe.cells() if cell["base"] == base]
        trained = [arm for arm in arms if not recipe.arms[arm].trained_on.is_random]
        if weights.is_random and trained:
            problem = f"no corpus '{GENERAL}' to train the random weights of {base} on, as arm {trained[0]} needs"
            remedy = f"{add}, or take a base with weights, e.g. `base: google-bert/bert-base-uncased`"
            yield BadParams(Code.UNKNOWN_KEY, recipe.at("corpora"), problem, remedy)
            continue
        if weights.is_random and not recipe.values("tokenizer", names).corpora:
            place = recipe.place("tokenizer", names, "corpora")
            problem = f"no corpus for the vocabulary of {base}, which has random weights"
            yield BadParams(Code.UNKNOWN_KEY, place, problem, "name corpora in it, or take a base with weights")
        for key in (*BUDGET, "head_warmup_steps"):
            if value := getattr(recipe.values("pretrain", names), key):
                elsewhere = ", or write it into the step that is trained first" if key == "head_warmup_steps" else ""
                problem, remedy = f"{key} is {value:,}, and {none} to train on", f"{add}, or remove this{elsewhere}"
                yield BadParams(Code.CONTRADICTION, recipe.place("pretrain", names, key), problem, remedy)
    for names in recipe.entries("domain_transfer"):
        if share := recipe.values("domain_transfer", names).replay_fraction:
            place = recipe.place("domain_transfer", names, "replay_fraction")
            problem, remedy = f"replay_fraction is {share:g}, and {none} to replay", f"{add}, or remove this"
            yield BadParams(Code.CONTRADICTION, place, problem, remedy)


# ---- names


def _names(recipe: Recipe) -> Iterator[UserError]:
    """A name means one thing: an override under the name of a base and a task could mean either, and in
    metrics/metrics.json arms stand beside baselines and `differences`.

    A corpus and an arm alone may share a name, as `domain` does: no section differs by both.
    """
    kinds = recipe.names()
    for kind, names in kinds.items():
        for name in names:
            before = [KINDS[other] for other in kinds if name in kinds[other] and {kind, other} != {"corpus", "arm"}]
            taken = before[0] if before[0] != KINDS[kind] else None
            what = f"also a name in {taken}" if taken else NO_ARMS.get(name) if kind == "arm" else None
            if what:
                place = recipe.at(KINDS[kind], name)
                yield BadParams(Code.BAD_NAME, place, f"'{name}' is {what}", "give one of them another name")


def _what_is_named_exists(recipe: Recipe) -> Iterator[UserError]:
    """Names in arms, and the corpora of vocabularies, are those of the file."""
    there = recipe.names()
    for name, arm in recipe.arms.items():
        for key, (kind, named) in arm.names().items():
            yield from _unknown(recipe.at("arms", name, key), named, there[kind], KINDS[kind])
    for names in recipe.entries("tokenizer"):
        values = recipe.values("tokenizer", names)
        extended = values.extend.corpora if values.extend is not None else ()
        for keys, corpora in ((("corpora",), values.corpora), (("extend", "corpora"), extended)):
            yield from _unknown(recipe.place("tokenizer", names, *keys), corpora, recipe.corpora, "corpora")


def _unknown(place: Place, names: Collection[str], there: Collection[str], where: str) -> Iterator[UserError]:
    for name in names:
        if name not in there:
            problem = f"'{name}' is not in {where}{nearest(name, [*there])}"
            yield BadParams(Code.UNKNOWN_KEY, place, problem, f"known: {', '.join(there) or 'none'}")


def _compared(recipe: Recipe) -> Iterator[UserError]:
    """Questions and their arms exist, and their names are free; a task has the metric by which arms are compared."""
    own, metric = recipe.compare.questions, recipe.compare.metric
    for name, arms in own.items():
        place = recipe.at("compare", "questions", name)
        if name in QUESTIONS:
            yield BadParams(Code.BAD_NAME, place, f"'{name}' is a question already", "give this one another name")
        yield from _unknown(place, arms, recipe.arms, "arms")
    known = [*QUESTIONS, *own]
    for name in recipe.compare.order:
        question, _, arm = name.partition("/")
        if question not in known or (arm and arm not in recipe.arms):
            problem = f"'{name}' is no question{nearest(name, known)}"
            remedy = f"write one of {', '.join(known)}"
            yield BadParams(Code.UNKNOWN_KEY, recipe.at("compare", "order"), problem, remedy)
    metrics = [name for task in recipe.tasks.values() for name in comparable(task.target, task.positive)]
    if metric is not None and metric not in metrics:
        problem = f"'{metric}' is no metric of these tasks{nearest(metric, metrics)}"
        remedy = f"write one of {', '.join(dict.fromkeys(metrics))}, or leave it out"
        yield BadParams(Code.UNKNOWN_KEY, recipe.at("compare", "metric"), problem, remedy)


# ---- bases and arms


def _folders_are_watched(recipe: Recipe) -> Iterator[UserError]:
    """A checkpoint in a folder lies where DVC watches it, so that another one there is noticed."""
    for name, base in recipe.bases.items():
        folder, checkpoint = f"{FOLDERS}{name}", base.checkpoint or ""
        if base.is_folder and checkpoint != folder:
            problem = f"checkpoint is {checkpoint}, a path that DVC does not watch"
            home = "~/" if checkpoint.startswith("~/") else ""  # a shell resolves it only without quotes
            source = f"{home}{quote(checkpoint.removeprefix(home))}"
            remedy = f"write {folder}, and run `adaptbert import {source} --base {name}`, or copy it there"
            yield BadParams(Code.CONTRADICTION, recipe.base_place(name), problem, remedy)


def _roles(recipe: Recipe) -> Iterator[UserError]:
    """An arm with the name of a role has that role."""
    for name, arm in recipe.arms.items():
        if name in ROLES and role(arm.trained_on) != name:
            problem = f"an arm '{name}' is {ROLES[name]}, and this one is not"
            remedy = f"write {ROLES[name]}, or call it {role(arm.trained_on) or 'otherwise'}"
            yield BadParams(Code.CONTRADICTION, recipe.at("arms", name), problem, remedy)


def _no_cell_twice(recipe: Recipe) -> Iterator[UserError]:
    """Two arms with the same steps and equal values would be one cell, twice."""
    first: dict[tuple[str, str, TrainedOn, str], str] = {}
    for cell in recipe.cells():
        base, task, name = cell["base"], cell["task"], cell["arm"]
        own = json.dumps(recipe.values("finetune", cell).model_dump(), sort_keys=True)
        beside = first.setdefault((base, task, recipe.arms[name].trained_on, own), name)
        if beside != name:
            problem = f"trained on what {beside} is trained on: the same cell twice"
            remedy = f"remove one, train it on something else, or write other values in overrides.{name}.finetune"
            yield BadParams(Code.CONTRADICTION, recipe.at("arms", name), problem, remedy)


def _fine_tuned_alike(recipe: Recipe) -> Iterator[UserError]:
    """Arms and bases are compared on the same labels, paired by seed: only a task has other ones."""
    for name, sections in recipe.overrides.items():
        kind = "arms" if name in recipe.arms else "bases" if name in recipe.bases else None
        for key in [key for key in ("labels", "label_counts", "seeds") if kind and key in sections.get("finetune", {})]:
            problem = f"{kind} of a task are compared on the same {key}"
            place = recipe.at("overrides", name, "finetune", key)
            yield BadParams(Code.CONTRADICTION, place, problem, "write it into finetune, or under the name of a task")


# ---- values


def _options_fit_tasks(recipe: Recipe) -> Iterator[UserError]:
    for cell in recipe.cells():
        task = recipe.tasks[cell["task"]]
        try:
            task.spec.check(recipe.values("finetune", cell))
        except Contradiction as error:
            yield error.at(recipe.place("finetune", cell, *error.keys))
    for name, task in recipe.tasks.items():
        options = sorted(task.spec.rows.options.model_fields)
        for key in recipe.overrides.get(name, {}).get("finetune", {}):
            if key in ONLY_SOME and key not in options:
                place, remedy = recipe.at("overrides", name, "finetune", key), f"its options are {', '.join(options)}"
                yield BadParams(Code.CONTRADICTION, place, f"type '{task.type}' has no {key}", f"remove it; {remedy}")


def _documents_fit(recipe: Recipe) -> Iterator[UserError]:
    """Documents fit into the rows of each step, and into the positions of random weights; those of a checkpoint are
    read with it (adaptbert.planning.preflight)."""
    for step in (PRETRAIN, *TRANSFERS):
        for names in recipe.entries(step):
            length, block = recipe.values("tokenize", names).max_length, recipe.values(step, names).block_size
            if block < length <= (recipe.bases[names["base"]].max_positions or length):
                base, place = names["base"], recipe.place(step, names, "block_size")
                documents = f"documents of {base} have up to {length} tokens (tokenize.max_length)"
                problem = f"block_size {block}, and {documents}"
                own = f", for this base alone below overrides.{base}.{step}" if len(recipe.bases) > 1 else ""
                yield BadParams(Code.CONTRADICTION, place, problem, f"write block_size: {length}{own}")
    for section in ("tokenize", "finetune"):
        for names in recipe.entries(section):
            base = names["base"]
            positions, length = recipe.bases[base].max_positions, recipe.values(section, names).max_length
            if positions is not None and length > positions:
                at = ".".join(recipe.base_place(base).keys)
                problem = f"max_length {length} > {at}.max_positions {positions}"
                remedy = f"write at most {positions}, or raise max_positions"
                yield BadParams(Code.CONTRADICTION, recipe.place(section, names, "max_length"), problem, remedy)


Rules = Sequence[Callable[[Recipe], Iterator[UserError] | list[UserError]]]
BY_THEMSELVES: Rules = (errors, _sources, _no_corpus_twice, _something_to_compare, _sections)
BETWEEN: Rules = (
    _no_addresses,
    _general_text,
    _names,
    _what_is_named_exists,
    _compared,
    _folders_are_watched,
    _roles,
    _no_cell_twice,
    _fine_tuned_alike,
    _options_fit_tasks,
    _documents_fit,
)
"""Each can rely on values that are valid."""


# ---- notices


def notices(recipe: Recipe) -> list[str]:
    """Warnings before training of a recipe that `check` lets pass: arms that no step compares with another, tasks with
    too few seeds for an interval, questions that will get no verdict, training that nothing uses."""
    kinds = (_unused, _rates, _few_seeds, _alone, _without_a_verdict)
    return list(dict.fromkeys(line for kind in kinds for line in kind(recipe)))  # entries share values, and so lines


def _unused(recipe: Recipe) -> Iterator[str]:
    """General pre-training that no arm begins with."""
    for base in recipe.bases:
        size, unit = budget(recipe.values(PRETRAIN, {"base": base}))
        if size and not recipe.uses_pretraining(base):
            place = recipe.place(PRETRAIN, {"base": base}, unit)
            yield f"{place}: no arm begins with general pre-training of {base}, which this trains; leave it out"


def _rates(recipe: Recipe) -> Iterator[str]:
    """Learning rates as of random weights, on a base with weights, which forgets at such a rate, at its width."""
    for section in TRAINED:
        random = fitting.defaults(section, random=True)["learning_rate"]
        for names in recipe.entries(section):
            values, base = recipe.values(section, names), recipe.bases[names["base"]]
            if base.is_random or (section == PRETRAIN and not budget(values)[0]):  # its rate trains nothing
                continue
            if values.learning_rate >= random * fitting.factor(section, fitting.width(base)):
                usual = fitting.usual_rate(section, base)
                place = recipe.place(section, names, "learning_rate")
                high, forgets = f"{values.learning_rate:g} is for random weights", f"{names['base']} would forget"
                yield f"{place}: {high}, and {forgets} what it has learned; usual: {usual:g}"


def _few_seeds(recipe: Recipe) -> Iterator[str]:
    """Tasks with too few seeds; of a task all cells have the same (`_fine_tuned_alike`)."""
    seeds = {cell["task"]: len(recipe.values(FINETUNE, cell).seeds) for cell in recipe.cells()}
    if few := [f"{task} has {count}" for task, count in seeds.items() if count < FEWEST_SEEDS]:
        of_seeds = f"fewer than {FEWEST_SEEDS} give no interval and no verdict; write seeds: 3"
        yield f"{recipe.at('finetune')}: seeds: {', '.join(few)}: {of_seeds}"


def arms_of_tasks(recipe: Recipe) -> Iterator[tuple[str, Mapping[str, TrainedOn], Mapping[str, TrainedOn]]]:
    """For each task from each base: what arms are trained on, and which of them answer questions about steps."""
    otherwise = {name for name, sections in recipe.overrides.items() if "finetune" in sections}
    for task in recipe.tasks:
        for base in recipe.bases:
            by_arm = {name: arm.trained_on for name, arm in recipe.arms.items() if arm.is_of(task, base)}
            yield task, by_arm, {name: own for name, own in by_arm.items() if name not in otherwise}


def _alone(recipe: Recipe) -> Iterator[str]:
    """Arms that no step compares, each once for all bases."""
    lines: dict[tuple[str, str], str] = {}
    every = {name: arm.trained_on for name, arm in recipe.arms.items()}
    asked_by_name = {arm for question in recipe.compare.questions.values() for arm in question}
    for task, by_arm, arms in arms_of_tasks(recipe):
        variants = {role(trained_on) for name, trained_on in by_arm.items() if name not in arms}
        for arm in by_arm if len(recipe.bases) == 1 else ():
            if arm not in arms and by_arm[arm] not in arms.values():
                line = f"{recipe.at('overrides', arm, 'finetune')}: on {task}, no step compares an arm that is"
                line += f" fine-tuned otherwise; write these values into finetune or overrides.{task}, for all arms"
                lines.setdefault((task, arm), line)
        compared = {arm for pair in pairs(arms) for arm in (pair.arm, pair.other)}
        for arm in [each for each in arms if each not in compared | asked_by_name]:
            more, remedy = advice(arms, arm, every), ""
            if more is not None and more.role not in variants:
                there = f"give this task the arm {more.there} of the others"
                new = f"add the arm {more.role}: {ROLES[more.role]}"
                remedy = f"; to measure {more.question}, {there if more.there else new}"
            line = f"{recipe.at('arms', arm)}: on {task}, no question compares this arm with another{remedy}"
            lines.setdefault((task, arm), line)
    yield from lines.values()


def _without_a_verdict(recipe: Recipe) -> Iterator[str]:
    """Why there will be no verdict: no task answers a question, or one that only a person can have named, its first
    one is of random weights, or steps are trained once."""
    order = recipe.compare.order
    by_task = [(arms, answered(arms, arms.keys() - alike, recipe.compare)) for _, arms, alike in arms_of_tasks(recipe)]
    tested = [(by_arm, pair) for by_arm, own in by_task for pair in asked(own, order)]
    names = {pair.name for _, pair in tested}
    lacking = [name for name in order if name not in names and (not names or name not in ORDER)]
    if lacking or not tested:
        there = ", ".join(dict.fromkeys(pair.name for _, own in by_task for pair in own)) or "none"
        yield (
            f"{recipe.at('compare', 'order')}: no task has the arms for {' or '.join(lacking) or 'a question'}, so "
            f"there will be no verdict{' on that' if tested else ''}; questions that the arms answer: {there}"
        )
    if not tested:
        return
    if all(by_arm[pair.arm].is_random != by_arm[pair.other].is_random for by_arm, pair in tested):
        yield (
            f"{recipe.at('compare', 'order')}: {listed(sorted({pair.name for _, pair in tested}))} cannot have a "
            "verdict here, because general pre-training is done once for each base, whatever replicates says; recipe "
            "can, beside the arm general"
        )
    elif recipe.compare.replicates == 1 and any(arm.trained_on.steps for arm in recipe.arms.values()):
        yield (
            f"{recipe.at('compare', 'replicates')}: with 1 there is no verdict on a step, only a description of these "
            "weights; write 2 or more"
        )
