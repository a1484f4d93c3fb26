"""`adaptbert release`: the model of a task, with its evidence, out of the project."""

from typing import Annotated

import typer

from adaptbert.codes import Code
from adaptbert.config import plan, plan_file
from adaptbert.errors import BadData, first_of
from adaptbert.project import dvc_files
from adaptbert.runtime import signals
from adaptbert.runtime.locks import stage_lock


def release(
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="A task of params.yaml; where several bases are compared: TASK/BASE.")
    ],
    arm: Annotated[
        str | None,
        typer.Option(
            help="An arm, or the baseline that is a linear model, e.g. tfidf_logistic; default: that of the report."
        ),
    ] = None,
    reason: Annotated[str, typer.Option(help="Why it is that one; required with --arm, and kept in the release.")] = "",
) -> None:
    """Write a model with its evidence.

    The folder releases/TASK/<number> has the model that the comparison supports, its answers on the test split, a model
    card in English and Chinese, the digests of all that it was made from, and SHA256SUMS. DVC records it: commit
    releases/TASK/<number>.dvc; `dvc push` shares it. What the comparison does not support is refused. --arm with a
    reason releases a model that is undecided, or whose test rows share texts with training rows; its card says so.
    """
    from adaptbert.planning import rules
    from adaptbert.release.choice import COMPARISON, choose, read
    from adaptbert.release.dvc_lock import LOCK
    from adaptbert.release.folder import unrecorded, write_release
    from adaptbert.release.material import gather
    from adaptbert.release.record import RELEASES

    signals.raise_at_once()  # what is written in part goes with it
    dvc_files.check_folder()
    if not dvc_files.is_whole(LOCK):
        raise BadData(Code.NOT_SUPPORTED, LOCK, "not as DVC writes it", "settle a merge, then run `make recipe`")
    plan_file.check(rules.checked(), plan_file.stages())
    planned, comparison = plan.read(), read()
    choice = choose(comparison, task, arm, reason)
    with stage_lock(str(RELEASES)):
        material = gather(choice, planned)
        if "compare" in (due := dvc_files.due().stages):  # after `gather`, which names a file that was damaged
            problem = f"out of date: DVC would run {first_of(dvc_files.that_run(due), 5)}"
            raise BadData(Code.NOT_SUPPORTED, COMPARISON, problem, "run `make recipe`")
        folder = write_release(choice, comparison, planned, material)
        dvc_files.record(unrecorded(folder.parent))
    print(f"{folder}: {choice.name} of {choice.folder}; its model card is {folder}/README.md")
    print(f"commit {folder}.dvc; `dvc push` shares the files")
