"""`adaptbert ladder` and `adaptbert check`: what is done with params.yaml as a whole."""

from adaptbert.commands.errors import user_errors
from adaptbert.errors import raise_all


def ladder() -> None:
    """Write ladder.yaml from params.yaml.

    It names every rung and cell that the starts, arms, draws and tasks of params.yaml stand for. Run it after a change
    of these names, and commit both files.
    """
    from adaptbert.base.expansion import LADDER
    from adaptbert.project.editing import replacing
    from adaptbert.runtime.params import expanded_ladder
    from adaptbert.runtime.params import params_file as params
    from adaptbert.runtime.params.all_sections import check_all
    from adaptbert.runtime.stage import PARAMS

    with user_errors():
        document = params.read(PARAMS)
        check_all(document, PARAMS)
        tables = expanded_ladder.expanded(document, PARAMS)
        replacing.write(LADDER, expanded_ladder.text(tables).encode())
    rungs = sum(1 for below in tables.starts_of_rungs().values() if below is not None)
    print(f"{LADDER}: {rungs} rungs and {len(tables.finetune)} cells; `dvc status` lists what will run")


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
        missing = named_files.check(document, PARAMS)
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
