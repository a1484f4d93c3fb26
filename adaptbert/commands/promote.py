"""`adaptbert promote`: a release becomes a version of its registered model, and the champion if a test allows it."""

from typing import Annotated

import typer


def promote(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task of which there are releases.")],
    number: Annotated[
        int | None, typer.Argument(metavar="N", help="The release: releases/TASK/N; default: the last.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Make it the champion whatever the test shows.")] = False,
    reason: Annotated[str, typer.Option(help="Why, with --force; kept as a tag.")] = "",
) -> None:
    """Register a release; make it the champion.

    The release becomes a version of the model TASK in MLflow. Its alias `champion` is what `mlflow models serve -m
    models:/TASK@champion --env-manager local` serves; it moves only if the release is not shown to be worse than the
    present champion on the same test rows; else the exit code is 65.
    """
    from adaptbert.codes import Code
    from adaptbert.config.recipe import read
    from adaptbert.errors import BadParams
    from adaptbert.release.promotion import folder_of
    from adaptbert.release.promotion import promote as promote_release
    from adaptbert.release.registry import Registry
    from adaptbert.release.words import in_a_line
    from adaptbert.runtime import signals
    from adaptbert.runtime.libraries import quieten
    from adaptbert.runtime.locks import stage_lock
    from adaptbert.runtime.mlflow import open_store

    signals.raise_at_once()
    if force != bool(reason.strip()):
        problem = f"without {'a --reason' if force else '--force'}"
        raise BadParams(Code.CONTRADICTION, "--force" if force else "--reason", problem, "write both or neither")
    compare, folder = read().compare, folder_of(task, number)
    quieten()
    with stage_lock(f"promote-{task}"), open_store() as store:
        for line in promote_release(Registry(store), folder, compare, in_a_line(reason)):
            print(line, flush=True)
