"""`adaptbert new`: text and labels of the user -> params.yaml and plan.json, in this project or in a new one.

Everything is looked at where it lies. Only what has passed is copied into data/own, recorded by DVC and written.
"""

import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

from adaptbert.codes import Code
from adaptbert.config import load, plan_file
from adaptbert.config.plan import FINETUNE, PLAN, PRETRAIN, Plan
from adaptbert.config.recipe import PARAMS, Recipe
from adaptbert.config.schema.bases import (
    ARMS,
    DOMAIN,
    DOMAIN_TRANSFER,
    FOLDERS,
    GENERAL,
    TASK_TRANSFER,
    TRANSFERS,
    Base,
    is_hub_name,
    usual_arms,
)
from adaptbert.config.schema.text import Vocabulary
from adaptbert.core.printable import printable
from adaptbert.data.preview import Said
from adaptbert.errors import BadData, BadParams, UserError, raise_all
from adaptbert.model.checkpoint_files import hugging_face_config, old_use, written_config
from adaptbert.planning import designs, fitting, preflight, rules
from adaptbert.planning.price import Budgets, Values, about
from adaptbert.planning.workload import Amounts
from adaptbert.project import dvc_files, editing, importing, own_data, task_inference, template
from adaptbert.project.add_task import check_name, name_of
from adaptbert.project.editing import AS_NEW
from adaptbert.project.task_inference import Inferred
from adaptbert.text.tokenizer import Tokenizer, folding, normalizer_of

OPTIONS = {GENERAL: "--general", DOMAIN: "--text"}
"""Corpus -> the option that names its file."""
SMALL = Base(layers=4, hidden_size=256, heads=4, intermediate_size=1024, max_positions=512)
SMALLER = Base(layers=2, hidden_size=128, heads=2, intermediate_size=512, max_positions=512)
"""Random weights; the second where the first takes longer than the user has."""
_PUBLIC = "--base NAME takes a public checkpoint, e.g. google-bert/bert-base-chinese or google-bert/bert-base-uncased"
_ABOUT_RANDOM = "random weights, small, which know nothing before `pretrain`, and may stay below a linear model"
_WITHOUT = "or leave out --base and give --general: then a small model begins with random weights"
_COMMENTS = {
    DOMAIN_TRANSFER: "    # one pass over the text of the domain",
    TASK_TRANSFER: "    # 50 passes over the text of the task",
}
_WHY = {
    "masking": "# masking of {steps}: fitted to this kind of model",
    "dropout": "# dropout of {steps}: config.json of the model has none",
    "learning_rate": "# learning_rate of {steps}: fitted to kind and width, {width} (the default: a BERT of {usual})",
    "global_batch_tokens": "# global_batch_tokens of {steps}: smaller than usual, for a short text or a head",
    "head_warmup_steps": "# head_warmup_steps: these weights have no head for masked-language modelling",
}
"""Key -> a comment above the steps."""
_EMPTY = Plan().model_copy(update=dict(Plan()))
"""What dvc.yaml loops over while DVC records the files of a new project: every table, each without an entry."""
_HEAD = "# Written by `adaptbert new`. What is left out has a default: docs/parameters.md.\n\n"


def create(
    directory: Path,
    corpora: Mapping[str, tuple[Path, str | None]],
    splits: Mapping[str, Path],
    said: Said,
    *,
    base: str | None,
    name: str | None,
    minutes: int | None,
    force: bool,
) -> Iterator[str]:
    """Look at all files, then write the project.

    Args:
        directory: this project, or an empty or new folder, which becomes one.
        corpora: name -> its file, and the column of its text; None: by its name.
        splits: of the task, train always, each with its file.
        base: a folder, or a name on the hub; None: random weights.
        minutes: that the recipe may take here; None: as long as the defaults take.
        force: overwrite a params.yaml that exists nowhere else.

    Yields:
        Lines for the user.

    Raises:
        BadData: files, base or folder cannot be used, or it is not clear what the files hold.
        BadParams: an option is missing or does not fit, or params.yaml would be lost. All that is wrong comes at once.
    """
    is_here = directory.resolve() == Path.cwd() and dvc_files.STATE.parent.is_dir()  # the current folder, a project
    wrong = list[UserError]()

    def look(act: Callable[..., Any], *arguments: object, **named: object) -> Any:
        try:
            return act(*arguments, **named)
        except UserError as error:
            wrong.extend(error.failures)

    look(_check_place, directory, is_here=is_here, force=force)
    texts: dict[str, Inferred] = {
        corpus: look(task_inference.of_corpus, path, OPTIONS[corpus], column, said.encoding)
        for corpus, (path, column) in corpora.items()
    }
    based = look(_base, base, has_general=GENERAL in corpora)
    labelled: Inferred = look(task_inference.of_files, splits, said)
    raise_all(wrong)
    of_base, folder, home, notices = based
    homes = {path: path for path in (*splits.values(), *(path for path, _ in corpora.values()))}
    name, hint = (name, "") if name else name_of(splits["train"])
    is_chinese = task_inference.is_chinese([text for each in (*texts.values(), labelled) for text in each.texts])
    warmed: dict[str, dict[str, Any]] = {}  # step -> what warms up a head that its weights lack

    def usual(weights: Base) -> Values:
        """What is written of the steps where nobody limits the time."""
        fitted = fitting.values(tokens, weights)
        for step in (PRETRAIN, *TRANSFERS) if is_chinese else ():
            fitted[step]["masking"] = {**fitted[step].get("masking", {}), "unit": "word"}
        return {
            step: {**warmed.get(step, {}), **each}
            for step, each in fitted.items()
            if step != DOMAIN_TRANSFER or DOMAIN in corpora
        }

    def content(weights: Base, arms: Sequence[str], values: Values) -> str:
        """params.yaml, with what differs from the defaults of the steps; no arms are all that the data allow."""
        entries = {
            corpus: {"path": homes[corpora[corpus][0]].as_posix(), **each.values} for corpus, each in texts.items()
        }
        block = labelled.task({split: homes[path] for split, path in splits.items()})
        sizes = editing.in_a_line(weights.model_dump(exclude_none=True))
        random = f"bases:{'':25}# what all weights begin with: random ones of this size\n  small: {sizes}\n"
        above = _HEAD + (of_base or random) + editing.shown("corpora", entries, "unlabelled text")
        above += editing.shown("tasks", {name: block}, "labelled sets; a further one: adaptbert add-task --train FILE")
        above += f"arms: {editing.in_a_line(arms)}    # for the time; docs/how-to/arms.md has more\n" if arms else ""
        words = "tokenize: {words: {segmenter: rjieba}}    # Chinese words, for masking by words\n"
        steps = _sections(values, weights, arms or usual_arms(corpora), minutes)
        return f"{above}\n{words if is_chinese else ''}{steps}"

    def recipe(weights: Base, arms: Sequence[str], values: Values) -> Recipe:
        return Recipe(load.document(content(weights, arms, values), PARAMS))

    def repeated(budgets: Budgets, new: Recipe, values: Values) -> Values:
        """Values with seeds enough to show a large difference, where the time is limited: before longer training."""
        design = designs.Designs(new, budgets.planned, name)
        repeats = design.cheapest(designs.LARGE, design.now[:1]) if minutes and design.is_judged else None
        if repeats is None or repeats <= design.now:
            return values
        return {**values, FINETUNE: {**values[FINETUNE], "seeds": repeats[1]}}

    weights = Base(checkpoint=str(folder or base)) if base else SMALL  # where they lie now
    amounts = Amounts(recipe(weights, (), {}), with_outputs=False)
    (start,), (task,) = amounts.recipe.bases, amounts.recipe.tasks
    read = {corpus: amounts.corpus(corpus, start) for corpus in texts}  # now: below, the new project is the folder
    of_steps = {DOMAIN_TRANSFER: read.get(DOMAIN), TASK_TRANSFER: amounts.task(task, start)}
    tokens = {step: amount.tokens for step, amount in of_steps.items() if amount is not None}
    as_usual = recipe(weights, (), usual(weights))
    check_name(name, {**as_usual.names(), "task": ()})
    rules.check(as_usual)
    later = {home.as_posix()} if home else set[str]()  # it is imported below
    later |= set() if is_here else {as_usual.values("tokenize", {"base": start}).words.dictionary}  # of a new project
    seen = preflight.check(as_usual, later)
    raise_all(seen.errors)
    yield "\n".join([f"base: {base or f'{_ABOUT_RANDOM}; {_PUBLIC}'}", *notices])
    for corpus, each in texts.items():
        yield printable(f"{corpus}: " + "\n".join(each.shown))
    if DOMAIN in corpora and GENERAL not in corpora:
        yield f"notice: a gain of domain transfer may come from more training alone; {OPTIONS[GENERAL]} gives a control"
    chinese = "Chinese; words are found by rjieba and masked whole"
    yield f"language: {chinese if is_chinese else 'little or no Chinese in it; tokens are masked one by one'}"
    of_task = [f"task {name}{hint}", *labelled.shown, *(f"notice: {notice}" for notice in seen.notices)]
    yield printable("\n".join(of_task))
    absolute = {path: path.absolute() for path in homes}
    with nullcontext() if is_here else _made(directory):
        taken = own_data.homes(absolute.values())
        if home and not importing.is_taken(folder, home):
            yield from importing.bring(folder, home.name)
        of_corpora = [text for corpus in texts.values() for text in corpus.texts]
        letters = Tokenizer.load(home or base).backend.normalizer if base else normalizer_of(Vocabulary(), of_corpora)
        yield from folding(letters, [*of_corpora, *labelled.texts])
        yield from own_data.take(taken)
        homes = {path: taken[there] for path, there in absolute.items()}
        if home and importing.lacks_head(home):
            first = (PRETRAIN,) if GENERAL in corpora else TRANSFERS
            steps = {"head_warmup_steps": fitting.HEAD_WARMUP_STEPS}
            warmed = {step: fitting.HEAD_ALONE if step == PRETRAIN else steps for step in first}
            yield f"head_warmup_steps: {fitting.HEAD_WARMUP_STEPS} in {' and '.join(first)} train the masked-LM head"
        yield "the speed of this machine is measured, for some seconds ..."
        ways: list[tuple[Base, list[str]]] = [(weights, [])]  # the later ones where the time is too short for the first
        few = [arm for arm in (GENERAL, DOMAIN, "task") if arm in as_usual.arms][:2]
        ways += [(SMALLER, [])] if weights is SMALL else []
        ways += [(ways[-1][0], few)] if len(few) < len(as_usual.arms) else []
        limit = math.inf if minutes is None else minutes
        for way in ways:
            budgets = Budgets(partial(recipe, *way), every := usual(way[0]), amounts)
            values = budgets.within(limit, repeated(budgets, recipe(*way, every), every))
            if minutes and budgets.minutes(values) > limit:
                values = budgets.within(limit, every, fewer_labels=way is ways[-1])
            if (takes := budgets.minutes(values)) <= limit:
                break
        if minutes is not None:
            yield from _cut(values, tokens, way[0])
            if "general_long" in as_usual.arms and DOMAIN in way[1]:
                yield (
                    f"notice: --minutes {minutes} leaves out the control `general_long`, so a gain of domain transfer "
                    "may come from more training alone; with more minutes, or in `arms`, it is back"
                )
        alone = f" alone, for --minutes {minutes}" if way[1] else ""
        without = "" if DOMAIN in corpora else f"; domain transfer needs {OPTIONS[DOMAIN]}"
        new = recipe(*way, values)
        yield f"arms: {', '.join(new.arms)}{alone}{without}; what each is: docs/how-to/arms.md"
        text = content(*way, values).encode()
        before = load.flatten(load.read(AS_NEW)) if AS_NEW.is_file() else {}
        was_new = PARAMS.is_file() and AS_NEW.is_file() and PARAMS.read_bytes() == AS_NEW.read_bytes()
        shown = [*designs.lines(new, budgets.trainings(values), takes)]
        editing.write_recipe(new, text)
        editing.write(AS_NEW, text)
    yield f"{PARAMS} and {PLAN} are written{' over those of the last `adaptbert new`' if was_new else ''}"
    shorter = "; --minutes M makes it shorter, `adaptbert plan --price` says what takes long"
    yield from own_data.left_over(before.values(), homes.values())
    yield "\n".join([*shown, f"{about(takes, budgets.speeds)}{'' if minutes else shorter}"])
    if takes > 1.1 * limit:
        least = f"the least for these files is --minutes {math.ceil(takes)}"
        yield f"notice: it takes more than {minutes} minutes, as shorter trainings learn nothing; {least}"
    option, there = template.interpreter(directory), Path(os.path.relpath(directory))
    yield f"now run: {'' if there == Path() else f'cd {quote(str(directory))} && '}make recipe{option}"
    if option:
        yield f"other commands there: {Path(sys.executable).with_name('adaptbert')} plan, check, predict"
    if not is_here:
        yield "then keep it: git add --all && git commit --message 'A new study'"


# ---- what is written and said


def _cut(values: Values, tokens: Mapping[str, float], weights: Base) -> Iterator[str]:
    """What was lowered for the time, to be seen before it is trained; step -> tokens of its text."""
    lowered = []
    for step, each in values.items():
        if "tokens" in each:
            passes = ""
            if step in tokens:
                usual = fitting.defaults(step)["passes"]
                passes = f" (passes over its text: about {each['tokens'] / tokens[step]:.2g}; usually {usual:g})"
            lowered.append(f"{step} {each['tokens']:,} tokens{passes}")
    lowered += [f"{each['labels']:,} labels" for each in values.values() if "labels" in each]
    lowered += [f"a base of {weights.layers} layers of {weights.hidden_size}"] if weights.is_random else []
    if lowered:
        yield f"for this time: {', '.join(lowered)}"


def _sections(values: Values, weights: Base, arms: Sequence[str], minutes: int | None) -> str:
    """Sections of the steps, with what differs from the defaults, and why."""
    written = {key: [step for step, each in values.items() if key in each] for each in values.values() for key in each}
    width = weights.hidden_size or fitting.width(weights)
    is_of_kind = fitting.config(weights).get("model_type") in fitting.OF_KIND
    lines = [
        line.format(width=width, steps=" and ".join(written[key]), usual=256 if weights.is_random else 768)
        for key, line in _WHY.items()
        if key in written and (key != "masking" or is_of_kind)  # whole words of Chinese are for every kind
    ]
    if minutes is not None and (fitted := [key for key in ("tokens", "labels") if key in written]):
        lines.append(f"# {', '.join(fitted)}: for {minutes} minutes here, and no fewer than teach something")
    for step, each in values.items():
        comment = _COMMENTS.get(step, "") if "tokens" not in each else ""
        is_idle = step in TRANSFERS and not any(step in ARMS[arm] for arm in arms)
        lines.append(f"{step}: {editing.in_a_line(each)}{'    # no arm has this step' if is_idle else comment}")
    return "\n".join([*lines, "compare: {}", ""])


# ---- the base: its lines in params.yaml, and the folder that it is imported from


def _base(name: str | None, *, has_general: bool) -> tuple[str, Path | None, Path | None, list[str]]:
    """Line of the base, none for random weights; its folder, and where that is imported to; notices of what a model on
    the hub was used for."""
    if not name:
        if not has_general:
            problem = "missing, and random weights are trained on general text first"
            raise BadParams(Code.UNKNOWN_KEY, OPTIONS[GENERAL], problem, f"give some, e.g. news; or {_PUBLIC}")
        return "", None, None, []
    folder, place = Path(name).resolve(), f"--base {name}"
    if folder.is_dir():
        home = Path(FOLDERS, importing.name_of(folder.name))
        return f"base: {home}    # it brings its own sizes and vocabulary\n", folder, home, []
    if not is_hub_name(name):
        raise BadData(Code.NOT_A_CHECKPOINT, place, "no such folder", f"{importing.NAME_ONE}; {_WITHOUT}")
    try:
        hugging_face_config(values := written_config(name, "main"), name)
        Tokenizer.load(name)
    except UserError as error:
        remedy = f"{error.remedy}; {_WITHOUT}"
        raise BadData(error.code, f"{place} (no folder here)", error.problem, remedy) from None
    moving = "of its branch main, which may move; docs/how-to/gpu.md names a commit"
    return f"base: {name}    # {moving}\n", None, None, [*old_use(values), *fitting.decayed(name)]


# ---- the folder


def _check_place(directory: Path, *, is_here: bool, force: bool) -> None:
    folder = Path(os.path.normpath(directory.absolute()))
    dvc_files.check_path(folder)
    if is_here:
        dvc_files.check_folder()
        if not force:
            editing.check_replaceable(PARAMS)
        return
    around = next((parent for parent in folder.parents if (parent / dvc_files.STATE.parent).is_dir()), None)
    if around is not None:
        remedy = f"name it beside: {quote(str(around.with_name(folder.name)))}; or, in that project: `adaptbert new .`"
        raise BadData(Code.BLOCKED, directory, f"lies in the project {around}", remedy)
    if os.path.lexists(folder) and (not folder.is_dir() or {*folder.iterdir()} - {folder / ".git"}):
        remedy = "name a new folder; in a project that is there: `adaptbert new .`"
        raise BadData(Code.ALREADY_THERE, directory, "is there already, and not empty", remedy)
    if shutil.which("git") is None:
        raise BadParams(Code.NOT_INSTALLED, "git", "not installed, and a project is a git repository", "install git")


@contextmanager
def _made(directory: Path) -> Iterator[None]:
    """A new project of git and DVC, in which the block runs; what is in it goes where that fails."""
    folder = directory.absolute()
    is_new, before = not folder.exists(), {*folder.glob(".git")}
    folder.mkdir(parents=True, exist_ok=True)
    try:
        template.write(folder)
        (folder / PLAN).write_text(plan_file.text(_EMPTY), encoding="utf-8")
        command = ["git", "init", "--quiet"]
        done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", errors="replace")
        if done.returncode:
            problem = f"git makes no repository there: {' '.join(done.stderr.split())}"
            raise BadData(Code.BLOCKED, directory, problem, "mend that, and run again")
        with chdir(folder):
            yield
    except BaseException:
        for path in {*folder.iterdir()} - before:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if is_new:
            folder.rmdir()
        raise
