"""`adaptbert bases`: a first look at several bases, on the texts of the project."""

from typing import Annotated

import typer


def bases(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Models of the hub or folders; left out: the bases of params.yaml that have weights."
        ),
    ] = None,
) -> None:
    """Look at bases on your texts before training.

    The table has how documents are computed, what the tokenizer makes of the training texts of your tasks, what
    training costs, and the score on dev of a linear model on the vectors of the base as it is: minutes on a processor.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from adaptbert.codes import Code
    from adaptbert.config.schema.bases import Base
    from adaptbert.errors import BadParams, UserError, raise_all
    from adaptbert.planning import first_look, input_files
    from adaptbert.planning.rules import checked
    from adaptbert.project import dvc_files
    from adaptbert.runtime import signals
    from adaptbert.runtime.libraries import quieten

    signals.raise_at_once()
    dvc_files.check_folder()
    recipe = checked()
    quieten()
    if names and not all(names):
        raise BadParams(Code.BAD_NAME, "bases ''", "an empty name", "name a model of the hub, or a folder")
    named = {name: recipe.bases.get(name) or Base(checkpoint=name) for name in names or recipe.bases}
    chosen = {name: base for name, base in named.items() if not base.is_random}
    if not chosen:
        problem, remedy = "no base with weights", "name some: adaptbert bases NAME NAME"
        raise BadParams(Code.CONTRADICTION, recipe.at("bases"), problem, remedy)
    read = ("tasks",) if names else ("tasks", "base", "bases")
    raise_all([error for _, error in input_files.check(recipe) if error.place.keys[0] in read])
    tasks = list(first_look.tasks_of(recipe))
    looks, failures = dict[str, dict[str, str]](), list[UserError]()
    for number, (name, base) in enumerate(chosen.items(), 1):
        print(f"{name}, {number} of {len(chosen)} ...", flush=True)
        try:
            looks[name] = first_look.look_at(base, tasks)
        except UserError as error:
            failures += error.failures
    raise_all([] if looks else failures)  # without a look there is no table
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("", *looks):
        shown.add_column(heading, justify="right" if heading else "left")
    for heading in next(iter(looks.values())):
        shown.add_row(heading, *(look[heading] for look in looks.values()))
    Console(width=10_000).print(shown, highlight=False)
    print(
        "A probe is a linear model on the vectors of the base as it is. It tells bases apart that differ much; what "
        "fine-tuning and each step make of a base, a recipe with several bases measures."
    )
    raise_all(failures)
