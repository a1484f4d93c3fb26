"""`adaptbert add-task`: files -> a block in `tasks`, and plan.json."""

from codecs import BOM_UTF8
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptbert.codes import Code
from adaptbert.config import plan_file
from adaptbert.config.plan import PLAN
from adaptbert.config.recipe import KINDS, Recipe
from adaptbert.config.schema.section import is_name, why_no_name
from adaptbert.config.schema.sources import Task
from adaptbert.errors import BadParams, printable, raise_all
from adaptbert.project import own_data, preflight, rules
from adaptbert.project.editing import params_text, replacing
from adaptbert.project.tasks import splits, task_inference
from adaptbert.project.tasks.splits import Splits
from adaptbert.project.tasks.task_inference import Inferred, Said
from adaptbert.runtime.stage import checked

_BY_HAND = "write the block of docs/how-to/own-task.md into it by hand, then run `adaptbert plan`"


@dataclass(frozen=True)
class NewTask:
    """A task that can be written.

    Attributes:
        name: of the task.
        read: what params.yaml was when it was read.
        text: the new one.
        recipe: what it says.
        cells: how many it has.
        to_copy: the user's files that are not in the project -> their places there.
        shown: what was concluded.
        notices: of its first rows.
    """

    name: str
    read: bytes
    text: str
    recipe: Recipe
    cells: int
    to_copy: Mapping[Path, Path]
    shown: list[str]
    notices: list[str]

    def __str__(self) -> str:
        block = params_text.shown({("tasks", self.name): self.recipe.written["tasks"][self.name]})
        lines = [
            *self.shown,
            "",
            f"for {self.recipe.file}:",
            "",
            block,
            *(f"notice: {notice}" for notice in self.notices),
        ]
        if not self.cells:
            lines.append(f"no arm is for this task: add {self.name} to `tasks` of an arm")
        return printable("\n".join(lines))

    def write(self) -> list[str]:
        """Copy the files that are not in the project, and write params.yaml and plan.json: all of it, or nothing.

        Returns:
            A line for each thing done.

        Raises:
            BadParams: params.yaml was changed since it was read, as by an editor while the command waited.
        """
        self._check_unchanged()
        there = [path for path in self.to_copy.values() if path.exists()]
        summary = own_data.bring_files(self.to_copy) if self.to_copy else None
        try:
            if summary is not None:
                own_data.record(summary.files)
                self._check_unchanged()
            self._write_text()
        except BaseException:
            for path in summary.files if summary is not None else ():
                if path not in there:
                    path.unlink(missing_ok=True)
                    Path(f"{path}.dvc").unlink(missing_ok=True)
            raise
        lines = [] if summary is None else [str(summary)]
        return [*lines, f"task {self.name} is in {self.recipe.file}, and its cells ({self.cells}) in plan.json"]

    def _write_text(self) -> None:
        """A kill between the two files leaves an older plan.json, which the first stage refuses with the remedy."""
        text = self.text.replace("\n", "\r\n") if b"\r\n" in self.read else self.text
        if self.read.startswith(BOM_UTF8):
            text = f"{BOM_UTF8.decode()}{text}"
        plan = plan_file.text(plan_file.plan(self.recipe))
        with replacing.replaced(self.recipe.file, text):
            replacing.write(PLAN, plan.encode())

    def _check_unchanged(self) -> None:
        if self.recipe.file.read_bytes() != self.read:
            problem = "was changed while this command was at work; nothing was written"
            raise BadParams(Code.NOT_EDITABLE, self.recipe.file, problem, "run the command again")


def prepare(words: Sequence[str], name: str | None, said: Said, file: Path) -> NewTask:
    """Look at files, and say what would be written; nothing is.

    Args:
        words: files, or `train=FILE`.
        name: of the task; None: by its files.
        file: params.yaml.

    Raises:
        BadData: the files are not those of a task, or it is not clear what they hold.
        BadParams: the name is taken, or params.yaml is not valid.
    """
    recipe, read = checked(file), file.read_bytes()
    files = splits.of_files(words)
    seen = task_inference.of_files(files, said)
    called = name or splits.name_of(files.files["train"])
    _check_name(called, recipe)
    places: dict[Path, Path] = {}
    for path in files.files.values():
        places[path] = _place(path, called, places.values())
    values = {**seen.values, **task_inference.paths_of(files, places)}
    new = Recipe({**recipe.written, "tasks": {**(recipe.written["tasks"] or {}), called: values}}, file)
    rules.check(new)
    cells = sum(cell.task == called for cell in plan_file.expand(new).finetune.values())
    notices = _check_rows(called, seen, files, new)
    text = params_text.added({("tasks", called): values}, new.written, file, _BY_HAND)
    to_copy = {path: place for path, place in places.items() if not _is_there(path, place)}
    renamed = [f"{old} is copied as {new}: its name is taken" for old, new in to_copy.items() if old.name != new.name]
    shown = [f"task {called}", *seen.shown, *renamed]
    return NewTask(called, read, text, new, cells, to_copy, shown, notices)


def _check_name(name: str, recipe: Recipe) -> None:
    owner = next((KINDS[kind] for kind, names in recipe.names().items() if name in names), None)
    if owner is not None:
        place = f"{recipe.file}: {owner}.{name}"
        raise BadParams(Code.BAD_NAME, place, "the name is taken", "choose another: --name NAME")
    if not is_name(name):
        raise BadParams(Code.BAD_NAME, f"--name {name}", *why_no_name(name))


def _place(path: Path, task: str, taken: Collection[Path]) -> Path:
    """Where a file lies in the project, once it is there."""
    here, real = Path.cwd().resolve(), path.resolve()
    named = path.parent.resolve() / path.name
    if here in named.parents and Path(f"{named}.dvc").is_file():  # DVC may keep it as a link to its cache
        return named.relative_to(here)
    # A path through `..` or a link is that of its file: what lies outside is not in another clone.
    return real.relative_to(here) if here in real.parents else own_data.free_place(path, task, taken)


def _is_there(path: Path, place: Path) -> bool:
    """Whether a file need not be copied to its place: it lies there, or DVC has put a link to its cache there."""
    named = path.parent.resolve() / path.name
    is_recorded = named == place.absolute() and Path(f"{place}.dvc").is_file()
    return is_recorded or path.resolve() == place.absolute()


def _check_rows(name: str, seen: Inferred, files: Splits, new: Recipe) -> list[str]:
    """What `adaptbert check` says of the first rows; the files are read where they lie now."""
    here = task_inference.paths_of(files, {path: path for path in files.files.values()})
    task = Task.model_validate({**seen.values, **here})
    task._key = f"tasks.{name}"
    first_rows = preflight.check(new, task=task)
    raise_all(first_rows.errors)
    return first_rows.notices
