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

from adaptbert.codes import Code
from adaptbert.config import load
from adaptbert.config.plan import PLAN
from adaptbert.config.recipe import PARAMS, Recipe
from adaptbert.config.schema.bases import DOMAIN, FOLDERS, GENERAL, is_hub_name
from adaptbert.errors import BadData, BadParams, Place, UserError, printable, raise_all
from adaptbert.model.checkpoint_files import CONFIG, check_architecture, downloaded, read_object
from adaptbert.project import dvc_files, editing, importing, own_data, preflight, rules, task_inference
from adaptbert.project.add_task import block_of, check_name, name_of, shares_of
from adaptbert.project.preview import Said

OPTIONS = {GENERAL: "--general", DOMAIN: "--text"}
"""Corpus -> the option that names its file."""
_SMALL = "  small: {layers: 4, hidden_size: 256, heads: 4, intermediate_size: 1024, max_positions: 512}\n"
_PUBLIC = "--base NAME takes a public checkpoint, e.g. google-bert/bert-base-chinese or google-bert/bert-base-uncased"
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

    def content(homes: Mapping[Path, Path]) -> str:
        """params.yaml, by the paths of the files in it."""
        entries = {
            corpus: {"path": homes[corpora[corpus][0]].as_posix(), **each.values} for corpus, each in texts.items()
        }
        block = block_of(labelled, {split: homes[path] for split, path in splits.items()})
        above = _HEAD + of_base + editing.shown("corpora", entries, "unlabelled text")
        above += editing.shown("tasks", {name: block}, "labelled sets; a further one: adaptbert add-task --train FILE")
        return f"{above}\n{_sections(is_chinese=is_chinese, is_random=base is None, has_domain=DOMAIN in corpora)}"

    as_given = Recipe(load.document(content({path: path for path in files.values()}), PARAMS))
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
        text = content({path: homes[there] for path, there in absolute.items()})
        editing.write_recipe(Recipe(load.document(text, PARAMS)), text.encode())
    yield f"{PARAMS} and {PLAN} are written"
    yield f"now run: {'' if is_here else f'cd {quote(str(directory))} && '}make recipe"


def _sections(*, is_chinese: bool, is_random: bool, has_domain: bool) -> str:
    """Those of the steps, with what differs from the defaults."""
    words = "tokenize: {words: {segmenter: rjieba}}    # Chinese words, for masking by words\n" if is_chinese else ""
    unit = "masking: {unit: word}" if is_chinese else ""
    budget = ", ".join(filter(None, ("tokens: 6_000_000" if is_random else "", unit)))
    domain = f"domain_transfer: {{{unit}}}    # one pass over the text of the domain\n" if has_domain else ""
    task = f"task_transfer: {{{unit}}}    # 50 passes over the text of the task\n"
    return f"{words}pretrain: {{{budget}}}\n{domain}{task}finetune: {{}}\ncompare: {{}}\n"


# ---- the base: its lines in params.yaml, and the folder that it is imported from


def _random(*, has_general: bool) -> str:
    if not has_general:
        problem = "missing, and random weights are trained on general text first"
        raise BadParams(Code.UNKNOWN_KEY, OPTIONS[GENERAL], problem, f"give some, e.g. news; or {_PUBLIC}")
    return f"bases:{'':25}# what all weights begin with: random ones of this size\n{_SMALL}"


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
    dvc_files.check_path(directory.absolute())
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
