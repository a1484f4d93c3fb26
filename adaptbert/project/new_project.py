"""`adaptbert new`: text and labels of the user -> params.yaml and plan.json, here or in a clone of this project.

Everything is looked at where it lies. Only what has passed is copied into data/own, recorded by DVC and written.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, nullcontext
from pathlib import Path
from shlex import quote
from typing import Any

from adaptbert.codes import Code
from adaptbert.config import load
from adaptbert.config.plan import FINETUNE, PLAN
from adaptbert.config.recipe import PARAMS, Recipe
from adaptbert.config.schema.bases import DOMAIN, DOMAIN_TRANSFER, FOLDERS, GENERAL, TASK_TRANSFER, Base, is_hub_name
from adaptbert.errors import BadData, BadParams, Place, UserError, printable, raise_all
from adaptbert.model.checkpoint_files import CONFIG, check_architecture, downloaded, read_object
from adaptbert.project import editing, fitting, importing, own_data, preflight, rules, task_inference
from adaptbert.project.add_task import block_of, check_name, name_of, shares_of
from adaptbert.project.preview import Said

Values = Mapping[str, Mapping[str, Any]]
"""Step -> what differs from its defaults."""
OPTIONS = {GENERAL: "--general", DOMAIN: "--text"}
"""Corpus -> the option that names its file."""
SMALL = Base(layers=4, hidden_size=256, heads=4, intermediate_size=1024, max_positions=512)
_PUBLIC = "--base NAME takes a public checkpoint, e.g. google-bert/bert-base-chinese or google-bert/bert-base-uncased"
_BY_WORD: Mapping[str, Any] = {"masking": {"unit": "word"}}
_COMMENTS = {
    DOMAIN_TRANSFER: "    # one pass over the text of the domain",
    TASK_TRANSFER: "    # 50 passes over the text of the task",
}
_WHY = {
    "learning_rate": "# learning_rate: the defaults are for a width of 768; Adam's rates go with 1 / width of the base",
    "global_batch_tokens": f"# global_batch_tokens: the text gives {fitting.FEWEST_STEPS} steps, or it is the smallest",
}
"""Key -> a comment above the steps."""
_HEAD = "# Written by `adaptbert new`. What is left out has a default: docs/parameters.md.\n\n"


def create(
    directory: Path,
    corpora: Mapping[str, tuple[Path, str | None]],
    splits: Mapping[str, Path],
    said: Said,
    *,
    base: str | None,
    name: str | None,
    force: bool,
) -> Iterator[str]:
    """Look at all files, then write the project.

    Args:
        directory: this project, or a new folder, which becomes a clone of it.
        corpora: name -> its file, and the column of its text; None: by its name.
        splits: of the task, train always, each with its file.
        said: of labelled files; its encoding is that of all files that are not UTF-8.
        base: a folder, or a name on the hub; None: random weights.
        name: of the task; None: by its files.
        force: overwrite a params.yaml that exists nowhere else.

    Yields:
        What the user is told.

    Raises:
        BadData: files, base or folder cannot be used, or it is not clear what the files hold.
        BadParams: an option is missing or does not fit, or params.yaml would be lost.
    """
    is_here = directory.resolve() == Path.cwd().resolve()
    _check_place(directory, is_here=is_here, force=force)
    files = {f"--{split}": path for split, path in splits.items()}
    files |= {OPTIONS[corpus]: path for corpus, (path, _) in corpora.items()}
    missing = [(option, path) for option, path in files.items() if not path.exists()]
    raise_all([BadData(Code.FILE, path, f"no such file ({option})", "write where it is") for option, path in missing])
    of_base, folder = _base(base) if base else (_random(has_general=GENERAL in corpora), None)
    texts = {
        corpus: task_inference.of_corpus(path, OPTIONS[corpus], column, said.encoding)
        for corpus, (path, column) in corpora.items()
    }
    labelled = task_inference.of_files(splits, shares_of(splits), said)
    name = name or name_of(splits["train"])
    is_chinese = task_inference.is_chinese([text for each in (*texts.values(), labelled) for text in each.texts])

    def content(homes: Mapping[Path, Path], values: Values) -> str:
        """params.yaml, by the paths of the files in it, and what differs from the defaults of the steps."""
        entries = {
            corpus: {"path": homes[corpora[corpus][0]].as_posix(), **each.values} for corpus, each in texts.items()
        }
        block = block_of(labelled, {split: homes[path] for split, path in splits.items()})
        above = _HEAD + of_base + editing.shown("corpora", entries, "unlabelled text")
        above += editing.shown("tasks", {name: block}, "labelled sets; a further one: adaptbert add-task --train FILE")
        words = "tokenize: {words: {segmenter: rjieba}}    # Chinese words, for masking by words\n"
        return f"{above}\n{words if is_chinese else ''}{_sections(values)}"

    def recipe(values: Values) -> Recipe:
        """With the files where they lie."""
        return Recipe(load.document(content({path: path for path in files.values()}, values), PARAMS))

    weights = Base(checkpoint=str(folder or base)) if base else SMALL
    values = fitting.values(recipe({}), weights)
    if is_chinese:
        values = {step: each if step == FINETUNE else each | _BY_WORD for step, each in values.items()}
    if DOMAIN not in corpora:
        del values[DOMAIN_TRANSFER]
    as_given = recipe(values)
    check_name(name, {**as_given.names(), "task": ()})
    rules.check(as_given)
    seen = preflight.check(as_given)
    raise_all(seen.errors)
    yield f"base: {base or f'random weights, small, which know nothing before `pretrain`; {_PUBLIC}'}"
    for corpus, each in texts.items():
        yield printable("\n".join([f"{corpus}: {each.shown[0]}", *each.shown[1:]]))
    yield "language: " + ("Chinese; words are found by rjieba and masked whole" if is_chinese else "not Chinese")
    yield printable("\n".join([f"task {name}", *labelled.shown, *(f"notice: {notice}" for notice in seen.notices)]))
    absolute = {path: path.absolute() for path in files.values()}
    with nullcontext() if is_here else _clone(directory):
        homes = own_data.homes(absolute.values())
        yield from _imported(folder) if folder is not None else ()
        yield from own_data.take(homes)
        text = content({path: homes[there] for path, there in absolute.items()}, values)
        editing.write_recipe(Recipe(load.document(text, PARAMS)), text.encode())
    yield f"{PARAMS} and {PLAN} are written"
    yield f"now run: {'' if is_here else f'cd {quote(str(directory))} && '}make recipe"


def _sections(values: Values) -> str:
    """Those of the steps, with what differs from the defaults, and why."""
    written = {key for each in values.values() for key in each}
    lines = [line for key, line in _WHY.items() if key in written]
    lines += [f"{step}: {editing.in_a_line(each)}{_COMMENTS.get(step, '')}" for step, each in values.items()]
    return "\n".join([*lines, "compare: {}", ""])


# ---- the base: its lines in params.yaml, and the folder that it is imported from


def _random(*, has_general: bool) -> str:
    if not has_general:
        problem = "missing, and random weights are trained on general text first"
        raise BadParams(Code.UNKNOWN_KEY, OPTIONS[GENERAL], problem, f"give some, e.g. news; or {_PUBLIC}")
    sizes = editing.in_a_line(SMALL.model_dump(exclude_none=True))
    return f"bases:{'':25}# what all weights begin with: random ones of this size\n  small: {sizes}\n"


def _base(name: str) -> tuple[str, Path | None]:
    folder, place = Path(name).resolve(), f"--base {name}"
    if folder.is_dir():
        return f"base: {_home(folder)}    # it brings its own sizes and vocabulary\n", folder
    if not is_hub_name(name):
        raise BadData(Code.NOT_A_CHECKPOINT, place, "no such folder", importing.NAME_ONE)
    try:
        config = downloaded(name, "main", CONFIG)
        assert config is not None
        check_architecture(read_object(config), name)
    except UserError as error:
        raise error.at(Place(f"{place} (no folder here)")) from None
    return f"base: {name}    # of its branch main, which may move; docs/how-to/gpu.md names a commit\n", None


def _home(folder: Path) -> Path:
    return Path(FOLDERS, importing.name_of(folder.name))


def _imported(folder: Path) -> list[str]:
    """What the user is told; a folder that is that of its base stays."""
    to = _home(folder)
    if folder == to.resolve():
        return []
    if os.path.lexists(to):
        remedy = f"take it: --base {to}; or remove it to import again"
        raise BadData(Code.ALREADY_THERE, to, "is there already, and is not replaced", remedy)
    return importing.bring(folder, to.name)


# ---- the folder


def _check_place(directory: Path, *, is_here: bool, force: bool) -> None:
    if not Path(".dvc").is_dir():
        problem, remedy = "no .dvc: not the folder of the project", "run adaptbert in a clone of the project"
        raise BadParams(Code.PARAMS_FILE, Path.cwd(), problem, remedy)
    if is_here and not force:
        editing.check_replaceable(PARAMS)
    if not is_here and Path.cwd().resolve() in directory.resolve().parents:
        remedy = f"name it beside: {Path('..', directory.name)}; or take this project: ."
        raise BadData(Code.BLOCKED, directory, "lies in this project", remedy)
    if not is_here and os.path.lexists(directory) and (not directory.is_dir() or any(directory.iterdir())):
        remedy = "name a new folder; in a project that is there: `adaptbert new .`"
        raise BadData(Code.ALREADY_THERE, directory, "is there already, and not empty", remedy)


@contextmanager
def _clone(directory: Path) -> Iterator[None]:
    """A clone of this project, in which the block runs; it goes where that fails."""
    command = ["git", "clone", "--quiet", "--", str(Path.cwd()), str(directory)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        remedy = "run it in a git clone of the project, or take this folder: `adaptbert new .`"
        raise BadData(Code.BLOCKED, directory, f"git cannot clone to it: {' '.join(done.stderr.split())}", remedy)
    folder = directory.absolute()
    try:
        with chdir(folder):
            yield
    except BaseException:
        shutil.rmtree(folder)
        raise
