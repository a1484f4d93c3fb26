"""`adaptbert plan` and `adaptbert check`: what is done with params.yaml as a whole."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from adaptbert.commands.errors import user_errors
from adaptbert.errors import UserError, raise_all

if TYPE_CHECKING:
    from adaptbert.config.plan import Plan
    from adaptbert.config.recipe import Recipe


def plan(
    price: Annotated[
        int | None,
        typer.Option(
            min=10,
            max=10_000,
            metavar="STEPS",
            help="Also print tokens, operations and minutes of what DVC would train, at the speed of so many optimizer "
            "steps here, e.g. 50. Run `dvc repro tokenize` before.",
        ),
    ] = None,
) -> None:
    """Write plan.json and say what would be trained.

    The file names every stage that DVC makes of the corpora, bases, arms, replicates and tasks of params.yaml, and
    holds a digest of the code of each; the last line counts the stages that DVC would run. `make recipe` and the flow
    run this command first; run it yourself before a plain `dvc repro`. Commit both files.
    """
    from adaptbert.project import dvc_files

    recipe, planned = write_plan()
    with user_errors():
        if dvc_files.GRAPH.is_file():
            print(_due())
        if price is not None:
            _print_prices(recipe, planned, price)


def _due() -> str:
    from adaptbert.project import dvc_files

    try:
        return str(dvc_files.due())
    except UserError as error:  # the plan is written
        return f"notice: {error}"


def write_plan() -> "tuple[Recipe, Plan]":
    """Write plan.json and say what it names."""
    from adaptbert.config import plan_file
    from adaptbert.config.plan import PLAN
    from adaptbert.project import dvc_files, editing, training_length, trainings
    from adaptbert.project.amounts import Amounts
    from adaptbert.runtime.stage import checked

    with user_errors():
        dvc_files.check_folder()
        recipe = checked()
        planned = plan_file.plan(recipe)
        editing.write(PLAN, plan_file.text(planned).encode())
        planned_trainings = trainings.trainings(recipe, planned, Amounts(recipe))
        notices = [*training_length.notices(recipe, planned_trainings), *trainings.other_arms(planned)]
    for each in planned_trainings:
        print(each)
    for notice in notices:
        print(f"notice: {notice}")
    checkpoints = sum(1 for below in planned.parents().values() if below is not None)
    print(f"{PLAN}: {checkpoints} checkpoints and {len(planned.finetune)} cells")
    return recipe, planned


def _print_prices(recipe: "Recipe", planned: "Plan", steps: int) -> None:
    from rich.console import Console

    from adaptbert.project.price import prices, table
    from adaptbert.runtime import signals
    from adaptbert.runtime.stage import quieten

    quieten()
    signals.raise_at_once()
    try:
        priced = prices(recipe, planned, steps)
    except signals.Interrupted as interrupted:
        print(f"{interrupted}; no price", file=sys.stderr)
        raise typer.Exit(interrupted.exit_code) from None
    Console(width=10_000).print(table(priced), highlight=False)  # no name is cut: a terminal wraps the line
    print(
        "Minutes are those of one device and of optimizer steps alone, at the speed measured here: start-up, "
        "evaluation and saving come on top, early stopping ends sooner, other work on this machine makes it slower."
    )


def check() -> None:
    """Check params.yaml and the files it names.

    Errors of values are reported together, without them those between sections, then those of files. The exit code is
    78 if params.yaml is invalid, 65 if a file is. First, the command repairs partial files that a killed DVC left.
    """
    from adaptbert.config import load, plan_file
    from adaptbert.project import dvc_files, own_data, preflight, rules, training_length
    from adaptbert.runtime.stage import checked

    with user_errors():
        dvc_files.check_folder()
        for line in dvc_files.mend():
            print(line)
        recipe = checked()
        stale = plan_file.errors(recipe, plan_file.stages())
        missing = own_data.check(recipe)
        seen = preflight.check(recipe, {path for path, _ in missing})
        of_the_plan = [" ".join(str(error).split()) for error in stale]
        for notice in [*rules.notices(recipe), *training_length.notices(recipe), *of_the_plan, *seen.notices]:
            print(f"notice: {notice}")
        if seen.unopened:
            skipped = f"after {preflight.SECONDS:g} seconds these were not opened: {', '.join(seen.unopened)}"
            print(f"incomplete: {skipped}; `dvc repro validate` reads all rows of all files, before any training")
        raise_all([*(error for _, error in missing), *seen.errors])
    files = "the rows that were read of the files that it names are valid"
    if seen.notices:
        files = "the files that it names are readable, but see the notices above"
    if seen.unopened:
        files = "the check of the files that it names is incomplete, see above"
    print(f"{recipe.file}: {len(load.flatten(recipe.written))} values, all valid; {files}")
