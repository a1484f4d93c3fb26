"""`adaptbert ladder`, `adaptbert migrate` and `adaptbert check`: what is done with params.yaml as a whole."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adaptbert.commands.errors import user_errors
from adaptbert.errors import UserError, raise_all

if TYPE_CHECKING:
    from adaptbert.base.expansion import Expansion


def ladder() -> None:
    """Write ladder.yaml from params.yaml.

    It names every rung and cell that the starts, arms, draws and tasks of params.yaml stand for. Run it after a change
    of these names, and commit both files.
    """
    from adaptbert.base.expansion import LADDER
    from adaptbert.project.editing import consequences, replacing
    from adaptbert.runtime.params import expanded_ladder
    from adaptbert.runtime.params import params_file as params
    from adaptbert.runtime.params.all_sections import check_all
    from adaptbert.runtime.stage import PARAMS

    with user_errors():
        document = params.read(PARAMS)
        check_all(document, PARAMS)
        tables = expanded_ladder.expanded(document, PARAMS)
        before = _before(LADDER)
        replacing.write(LADDER, expanded_ladder.text(tables).encode())
    rungs = sum(1 for below in tables.starts_of_rungs().values() if below is not None)
    print(f"{LADDER}: {rungs} rungs and {len(tables.finetune)} cells")
    if before == tables:
        print("it is as before; `dvc status` lists what other changes make run")
    elif before is not None:
        tasks, former = ({cell.task for cell in each.finetune.values()} for each in (tables, before))
        print(consequences.will_run(before, tables, reads=len(tasks - former) if tasks != former else None))
        print("that is for the changed names; `dvc status` lists what other changes add")


def _before(ladder: Path) -> "Expansion | None":
    """The names of the last time; None where they cannot be read."""
    from adaptbert.base import expansion

    try:
        return expansion.read(ladder)
    except UserError:
        return None


def migrate(
    start: Annotated[
        str | None, typer.Option(help="Name of the start that pretrain.init becomes; default: after its model.")
    ] = None,
    rename: Annotated[
        list[str] | None, typer.Option(metavar="OLD=NEW", help="Another name of a corpus, task or arm; repeatable.")
    ] = None,
) -> None:
    """Rewrite an older params.yaml.

    One from before starts and arms becomes params.yaml and ladder.yaml of the present schema. Values and comments stay,
    and the older file is kept beside it as params.yaml.old.
    """
    from adaptbert.project.editing.options import pairs
    from adaptbert.project.migration.command import migrate as migrated
    from adaptbert.project.migration.document import Choices
    from adaptbert.runtime.stage import PARAMS

    with user_errors():
        print(migrated(PARAMS, Choices(start, pairs("--rename", "OLD=NEW", rename or []))))


def check() -> None:
    """Check params.yaml and the files it names.

    All errors are reported together. The exit code is 78 if params.yaml is invalid or ladder.yaml is older than it, 65
    if a file is. First, the command repairs partial files that a killed DVC left.
    """
    from adaptbert.project import dvc_files, named_files, section_rules
    from adaptbert.project.first_rows import check as first_rows
    from adaptbert.runtime.params import expanded_ladder, sound_parts
    from adaptbert.runtime.params import params_file as params
    from adaptbert.runtime.params.all_sections import rule_errors, value_errors, without_consequences
    from adaptbert.runtime.stage import PARAMS

    with user_errors():
        for line in dvc_files.mend():
            print(line)
        document = params.read(PARAMS)
        values = value_errors(document, PARAMS)
        errors = [*values, *rule_errors(document, PARAMS, values)]
        errors += [] if errors else expanded_ladder.errors(document, PARAMS)  # else its remedy would be refused
        readable = sound_parts.for_files(document, values, PARAMS)
        missing = named_files.check(readable, PARAMS)
        seen = first_rows.check(readable, PARAMS, named_files.unusable(readable))
        for notice in [*([] if errors else section_rules.notices(document, PARAMS)), *seen.notices]:
            print(f"notice: {notice}")
        for key in seen.unopened:
            print(f"not checked, because it would take long: {key}")
        raise_all([*without_consequences(errors, PARAMS), *missing, *seen.errors])
    files = "the first rows of the files that it names are valid"
    if seen.notices:
        files = "the files that it names are readable, but see the notices above"
    print(f"{PARAMS}: {len(params.flatten(document))} values, all valid; {files}")
