"""`adaptbert plan` and `adaptbert check`: what is done with params.yaml as a whole."""

from adaptbert.commands.errors import user_errors
from adaptbert.errors import UserError, raise_all


def plan() -> None:
    """Write plan.json from params.yaml and the code.

    It names every stage that DVC makes of the corpora, bases, arms, replicates and tasks of params.yaml, and holds a
    digest of the code of each. `make recipe` and the flow run it first; run it yourself before a plain `dvc repro`.
    Commit both files.
    """
    from adaptbert.config import plan_file
    from adaptbert.config.plan import PLAN
    from adaptbert.project import editing
    from adaptbert.runtime.stage import checked

    with user_errors():
        planned = plan_file.plan(checked())
        editing.write(PLAN, plan_file.text(planned).encode())
    checkpoints = sum(1 for below in planned.parents().values() if below is not None)
    print(f"{PLAN}: {checkpoints} checkpoints and {len(planned.finetune)} cells; `dvc status` lists what will run")


def check() -> None:
    """Check params.yaml and the files it names.

    Errors of values are reported together, without them those between sections, then those of files. The exit code is
    78 if params.yaml is invalid, 65 if a file is. First, the command repairs partial files that a killed DVC left.
    """
    from adaptbert.config import load, plan_file
    from adaptbert.project import dvc_files, named_files, preflight, rules
    from adaptbert.runtime.stage import checked

    with user_errors():
        for line in dvc_files.mend():
            print(line)
        recipe = checked()
        stale = plan_file.errors(recipe, plan_file.stages())
        missing = named_files.check(recipe)
        seen = preflight.check(recipe, {path for path, _ in missing})
        for notice in [*rules.notices(recipe), *map(_in_a_line, stale), *seen.notices]:
            print(f"notice: {notice}")
        for key in seen.unopened:
            print(f"not checked, because it would take long: {key}")
        raise_all([*(error for _, error in missing), *seen.errors])
    files = "the first rows of the files that it names are valid"
    if seen.notices:
        files = "the files that it names are readable, but see the notices above"
    print(f"{recipe.file}: {len(load.flatten(recipe.written))} values, all valid; {files}")


def _in_a_line(error: UserError) -> str:
    return " ".join(str(error).split())
