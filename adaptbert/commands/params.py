"""`adaptbert ladder` and `adaptbert check`: what is done with params.yaml as a whole."""

from pathlib import Path
from typing import TYPE_CHECKING

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


def check() -> None:
    """Check params.yaml and the files it names.

    Errors of values are reported together, without them those between sections, then those of files. The exit code is
    78 if params.yaml is invalid or ladder.yaml is older than it, 65 if a file is. First, the command repairs partial
    files that a killed DVC left.
    """
    from adaptbert.project import dvc_files, named_files, section_rules
    from adaptbert.project.first_rows import check as first_rows
    from adaptbert.runtime.params import expanded_ladder
    from adaptbert.runtime.params import params_file as params
    from adaptbert.runtime.params.all_sections import check_all
    from adaptbert.runtime.stage import PARAMS

    with user_errors():
        for line in dvc_files.mend():
            print(line)
        document = params.read(PARAMS)
        check_all(document, PARAMS)
        stale = expanded_ladder.errors(document, PARAMS)
        missing = named_files.problems(document, PARAMS)
        seen = first_rows.check(document, PARAMS, {path for path, _ in missing})
        for notice in [*section_rules.notices(document, PARAMS), *seen.notices]:
            print(f"notice: {notice}")
        for key in seen.unopened:
            print(f"not checked, because it would take long: {key}")
        raise_all([*stale, *(error for _, error in missing), *seen.errors])
    files = "the first rows of the files that it names are valid"
    if seen.notices:
        files = "the files that it names are readable, but see the notices above"
    print(f"{PARAMS}: {len(params.flatten(document))} values, all valid; {files}")
