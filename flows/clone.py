"""One stage on whichever machine this is: in a clone of the project's repository, between a pull and a push of DVC.

    git fetch, git checkout COMMIT; dvc pull --run-cache UPSTREAM; dvc repro --single-item STAGE; dvc push --run-cache

The coordinator then finds the outputs in the DVC remote and runs nothing. Clones lie in the user's cache folder, as
many as stages have run here side by side; whoever works in one has locked it. A clone stays, and with it its DVC cache
and the savepoints of a stage that was stopped.
"""

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path

from adaptbert.runtime import cluster
from flows.devices import cache_folder, locked
from flows.stage_process import DVC, environment, output


@dataclass(frozen=True)
class Request:
    """A stage to be run elsewhere.

    Attributes:
        repository: address of the git repository.
        commit: that has the code and params.yaml.
        stage: as DVC names it.
        upstream: the stages whose outputs it reads; they are in the DVC remote.
        lock: the coordinator's dvc.lock, which knows these outputs.
        variables: of the environment.
    """

    repository: str
    commit: str
    stage: str
    upstream: list[str]
    lock: str
    variables: dict[str, str]


def lines(request: Request) -> Iterator[str]:
    """Run the stage here; its lines, and those of the commands around it.

    Raises:
        CommandFailed: one of the commands failed; its lines say why.
    """
    with _locked_clone(request.repository) as clone:
        yield f"{request.stage} runs on {socket.gethostname()}\n"
        variables = _environment(request.variables)
        for command in (
            ["git", "init", "--quiet"],
            ["git", "fetch", "--quiet", request.repository, "+refs/heads/*:refs/remotes/origin/*"],
            ["git", "checkout", "--quiet", "--force", "--detach", request.commit],
        ):
            yield from output(command, variables, clone)
        (clone / "dvc.lock").write_text(request.lock, encoding="utf-8")
        if request.upstream:
            yield from output([*DVC, "pull", "--run-cache", *request.upstream], variables, clone)
        yield from output([*DVC, "repro", "--single-item", request.stage], variables, clone)
        yield from output([*DVC, "push", "--run-cache", request.stage], variables, clone)


@contextmanager
def _locked_clone(repository: str) -> Iterator[Path]:
    """The first clone that nobody works in; a new folder if there is none."""
    folder = cache_folder() / "clones" / sha256(repository.encode()).hexdigest()[:12]
    with ExitStack() as held:
        slot = next(number for number in count() if locked(folder / f"{number}.lock", held))
        clone = folder / str(slot)
        clone.mkdir(exist_ok=True)
        yield clone


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Of the commands in a clone: they import the code of the clone, and use this machine alone."""
    foreign = ("PYTHONPATH", cluster.VARIABLE)
    return {name: value for name, value in environment().items() if name not in foreign} | dict(variables)
