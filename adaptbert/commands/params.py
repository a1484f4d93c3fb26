"""`adaptbert plan` and `adaptbert check`: what is done with params.yaml as a whole."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from adaptbert.config import load, plan_file
from adaptbert.config.plan import FINETUNE, PLAN, TRAINED
from adaptbert.config.recipe import Recipe
from adaptbert.errors import UserError, failures_of, raise_all
from adaptbert.project import dvc_files, editing
from adaptbert.project.template import GRAPH
from adaptbert.runtime import signals, variables
from adaptbert.runtime.libraries import as_one_of_them, quieten

if TYPE_CHECKING:
    from adaptbert.planning.workload import Training


def plan(
    price: Annotated[
        bool,
        typer.Option(
            "--price",
            help="Also print tokens, operations and minutes of what DVC would train, at the speed of this machine, "
            "which is measured in some 20 seconds.",
        ),
    ] = False,
) -> None:
    """Write plan.json and say what would be trained.

    The file names every stage that DVC makes of the corpora, bases, arms, replicates and tasks of params.yaml, and
    holds a digest of the code of each; a line counts the stages that DVC would run. `make recipe` and the flow
    run this command first; run it yourself before a plain `dvc repro`. Commit both files.
    """
    from adaptbert.planning import designs

    recipe, planned = write_plan()
    if GRAPH.is_file():
        try:
            print(dvc_files.due(), flush=True)
        except UserError as error:  # the plan is written
            print(f"notice: {error}", flush=True)
    minutes = _print_prices(recipe, planned) if price else None
    for line in designs.lines(recipe, planned, minutes):
        print(line)


def write_plan() -> tuple[Recipe, "list[Training]"]:
    """Write plan.json and say what it names; what it trains."""
    from adaptbert.planning import workload
    from adaptbert.planning.rules import checked

    dvc_files.check_folder()
    recipe = checked()
    planned = plan_file.plan(recipe)
    editing.write(PLAN, plan_file.text(planned).encode())
    trainings = workload.trainings(recipe, planned, workload.Amounts(recipe))
    notices = workload.notices(recipe, trainings)
    checkpoints = sum(len(planned.table(step)) for step in TRAINED if step != FINETUNE)
    arms = ", ".join(dict.fromkeys(cell.arm for cell in planned.finetune.values()))
    summary = f"{PLAN}: {checkpoints} checkpoints and {len(planned.finetune)} fine-tunings, in the arms {arms}"
    print(*trainings, *(f"notice: {notice}" for notice in notices), summary, sep="\n")
    return recipe, trainings


def _print_prices(recipe: Recipe, planned: "Sequence[Training]") -> float | None:
    """Print what is due; the minutes, where that is all."""
    from rich.console import Console

    due = dvc_files.that_run(dvc_files.due().stages)
    trained = [each for each in planned if not {*due}.isdisjoint(each.stages)]
    if not trained:
        return None
    print("the speed of this machine is measured, for some 20 seconds ...", flush=True)
    as_one_of_them()
    quieten()
    signals.raise_at_once()
    from adaptbert.planning import price

    speeds = price.measured(recipe, trained, price.SECONDS)
    priced = price.prices(trained, due, speeds)
    Console(width=10_000).print(price.table(priced), highlight=False)  # no name is cut: a terminal wraps the line
    print(
        "Minutes of the table are those of one stage after another, at the speed that each has beside others, without "
        "their start; early stopping ends sooner. All are those of a machine that does nothing else."
    )
    minutes = price.minutes(planned, priced, due, speeds)
    together = price.about(minutes, speeds)
    print(f"with the texts and the start of {len(due)} stages, {speeds.jobs} side by side: {together}")
    return minutes if all({*due} >= {*each.stages} for each in planned) else None


def check() -> None:
    """Check params.yaml and the files it names.

    Errors of values are reported together, without them those between sections, then those of files. The exit code is
    78 if params.yaml is invalid, 65 if a file is. First, the command repairs partial files that a killed DVC left.
    """
    from adaptbert.planning import designs, input_files, preflight, rules, workload

    signals.raise_at_once()  # what it has unpacked goes with it
    dvc_files.check_folder()
    for line in dvc_files.mend():
        print(line)
    variables.check()
    recipe = rules.checked()
    stale = [" ".join(str(error).split()) for error in failures_of(plan_file.check, recipe, plan_file.stages())]
    missing = input_files.check(recipe)
    seen = preflight.check(recipe, {path for path, _ in missing})
    planned = workload.trainings(recipe, plan_file.expand(recipe), workload.Amounts(recipe))
    counts = [f"{split}: {rows}" for split, rows in seen.counts.items()]
    for notice in (*rules.notices(recipe), *workload.notices(recipe, planned), *stale, *seen.notices, *counts):
        print(f"notice: {notice}")
    for line in designs.lines(recipe, planned):
        print(line)
    if seen.unopened:
        skipped = f"after {preflight.SECONDS:g} seconds these were not opened: {', '.join(seen.unopened)}"
        print(f"incomplete: {skipped}; `dvc repro validate` reads all rows of all files, before any training")
    raise_all([*(error for _, error in missing), *seen.errors])
    files = "the rows read from its data files are valid"
    if seen.notices:
        files = "the files that it names are readable, but see the notices above"
    if seen.unopened:
        files = "the check of the files that it names is incomplete, see above"
    print(f"{recipe.file}: {len(load.flatten(recipe.written))} values, all valid; {files}")


if __name__ == "__main__":  # both for the flow, in one process, because both read all code
    from adaptbert.runtime.user_errors import user_errors

    with user_errors():
        write_plan()
        check()
