"""`adaptbert migrate`: an older params.yaml -> params.yaml and ladder.yaml of the present schema, both or none."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from adaptbert.base.expansion import LADDER, Expansion
from adaptbert.base.files import atomic_write
from adaptbert.codes import Code
from adaptbert.errors import BadParams, UserError, printable, raise_all
from adaptbert.project.editing import both_files, params_text
from adaptbert.project.editing.consequences import counted
from adaptbert.project.migration.document import Choices, Migrated, migrated
from adaptbert.project.migration.older import is_older
from adaptbert.project.migration.text import lost_comments, rewritten
from adaptbert.runtime.params import params_file as params

_NEW = " (migrated)"
"""Behind the name of the file in messages about what it would say."""


@dataclass(frozen=True)
class Migration:
    """What was done.

    Attributes:
        file: params.yaml.
        kept: the older file under its new name; None: nothing was to be done.
        result: the values; None: as above.
        expansion: what ladder.yaml holds.
        lost: comments that have no place in the new file.
        has_comments: whether the text was changed in parts, and not written anew.
    """

    file: Path
    kept: Path | None
    result: Migrated | None = None
    expansion: Expansion | None = None
    lost: tuple[str, ...] = ()
    has_comments: bool = True

    def __str__(self) -> str:
        if self.result is None or self.expansion is None:
            return f"{self.file} is of the present schema already; nothing was written"
        return printable("\n".join([*self._written(), *self._moved(), *self._next()]))

    def _written(self) -> list[str]:
        lines = [f"{self.file} and {LADDER} are written; the older file is now {self.kept}"]
        if not self.has_comments:
            lines.append("comments are left out: the older file is written in a way in which they cannot be kept")
        elif self.lost:
            shown = "; ".join(f"'{comment}'" for comment in self.lost)
            lines.append(f"comments that are only in {self.kept}, because what they stood beside is gone: {shown}")
        return lines

    def _moved(self) -> list[str]:
        assert self.result is not None
        ladder, start = self.result.document["ladder"], self.result.start
        finetune = self.result.document["finetune"]
        blocks = ", ".join(name for name in finetune if name != "all") or "none"
        return [
            f"  start:    {start.name} ({start.values['init']}), from pretrain.init and tokenizer.source",
            f"  arms:     {', '.join(ladder['arms']) or 'none'}, from the tables of ladder",
            f"  finetune: what all tasks share is below all; blocks of tasks: {blocks}",
            "  tokenizer, tokenize, pretrain, domain_transfer, task_transfer: all values are below all",
            *(f"notice: {note}" for note in self.result.notes),
        ]

    def _next(self) -> list[str]:
        assert self.result is not None
        assert self.expansion is not None
        rungs = sum(1 for below in self.expansion.starts_of_rungs().values() if below is not None)
        lines = [
            f"every stage runs again ({counted(rungs, 'rung')}, {counted(len(self.expansion.finetune), 'cell')}): "
            "the names of rungs and cells now have a start and a draw",
            "what was trained before stays in models/ and in DVC's cache",
        ]
        if commands := self.result.start.commands:
            lines += ["first bring the checkpoint to where it is read now:", *(f"  {each}" for each in commands)]
        return [*lines, "then run: adaptbert check" if commands else "now run: adaptbert check"]


def migrate(file: Path, choices: Choices) -> Migration:
    """Rewrite params.yaml, write ladder.yaml and keep the older file.

    Raises:
        BadParams: the file is not valid, or says something that the present schema cannot say. Nothing is written.
    """
    document = params.read(file)
    if not is_older(document):
        return Migration(file, None)
    result = migrated(document, file, choices)
    before = params_text.read(file)
    text, has_comments = rewritten(before, result, file)
    try:
        both_files.check(result.document, Path(f"{file}{_NEW}"))
    except UserError as error:
        problem = f"not migrated: the errors above would be in the new {file}"
        remedy = f"correct them in {file}, where the same values stand in the older place, and run again"
        raise_all([*getattr(error, "failures", [error]), BadParams(Code.NOT_MIGRATED, file, problem, remedy)])
        raise
    kept = _free(file.with_name(f"{file.name}.old"))
    with atomic_write(kept) as part:
        shutil.copy(file, part)  # with its mode: others may not read it
    try:
        expansion = both_files.write(text, result.document, file)
    except BaseException:
        kept.unlink()
        raise
    lost = tuple(lost_comments(before, text)) if has_comments else ()
    return Migration(file, kept, result, expansion, lost, has_comments)


def _free(path: Path) -> Path:
    """The path, or with a number behind it: an older file is never replaced."""
    return next(
        name
        for name in (path, *(path.with_name(f"{path.name}.{number}") for number in range(2, 10_000)))
        if not name.exists()
    )
