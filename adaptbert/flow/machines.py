"""Stages on other machines, as tasks of a Ray cluster.

This process is the coordinator. It pushes what a stage reads, has it run in a clone of the project's repository, and
then lets DVC fetch the outputs: "is cached - skipping run". Nothing is merged, and a stage that a lost machine had is
submitted again. In a clone, a stage runs between a pull and a push of DVC:

    git fetch, git checkout COMMIT; dvc pull --run-cache UPSTREAM; dvc repro --single-item STAGE; dvc push --run-cache

Clones lie in the user's cache folder, as many as stages have run there side by side; a process that works in one has
locked it. A clone stays, and with it its DVC cache and the savepoints of a stage that was stopped.
"""

import fcntl
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from hashlib import sha256
from itertools import count
from pathlib import Path
from subprocess import CalledProcessError

from adaptbert.codes import Code
from adaptbert.errors import TEMPORARY, BadParams
from adaptbert.flow.devices import cache_folder, locked
from adaptbert.flow.process import DVC, MayPass, environment, heard, output, run
from adaptbert.runtime import cluster
from adaptbert.runtime.variables import CLUSTER

SENT = ("MLFLOW_TRACKING_URI",)  # to where a stage runs, where it is set here
LOCK, LOCK_OF_DVC = Path("dvc.lock"), Path(".dvc/tmp/lock")


class Machines:
    """The cluster of `cluster.connected`, and the repository and commit from which it gets the code and params.yaml.

    Args:
        sources: files and folders that stages read and no stage writes; what the machines would not see is refused.

    Raises:
        BadParams: see `shared`; Ray is missing.
        Temporary: no cluster answers.
    """

    def __init__(self, sources: Iterable[str]) -> None:
        self._repository, self._commit = shared(sources)
        self._ray = cluster.connected()

    def bring_up_to_date(
        self, stage: str, upstream: Sequence[str], threads: str, trains: bool, say: Callable[[str], None]
    ) -> None:
        """Run a stage elsewhere, and fetch its outputs.

        Args:
            upstream: the stages whose outputs it reads.

        Raises:
            StageFailed: with the exit code of the stage.
            MayPass: its machine was lost; submit it again.
        """
        heard(stage, output([*DVC, "push", *upstream], environment()), say)
        variables = {name: os.environ[name] for name in SENT if name in os.environ} | {"OMP_NUM_THREADS": threads}
        heard(stage, self._lines(stage, upstream, variables, trains), say)
        heard(stage, output([*DVC, "repro", "--single-item", "--pull", stage], environment()), say)

    def _lines(self, stage: str, upstream: Sequence[str], variables: dict[str, str], trains: bool) -> Iterator[str]:
        """The lines of a task: on one GPU where the stage trains and the cluster has any."""
        gpus = min(int(trains), int(self._ray.cluster_resources().get("GPU", 0)))
        # A task that no machine can take would wait for ever.
        largest = max(int(node["Resources"].get("CPU", 0)) for node in self._ray.nodes() if node["Alive"])
        cores = 1 if gpus else min(int(variables["OMP_NUM_THREADS"]), largest)
        # Ray does not start it again: its lines would come twice. The flow submits it again.
        task = self._ray.remote(num_returns="streaming", max_retries=0, num_gpus=gpus, num_cpus=cores)
        with (LOCK_OF_DVC if LOCK_OF_DVC.is_file() else LOCK).open("r+") as file:  # none with core.hardlink_lock
            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed no DVC is in the middle of writing dvc.lock
            lock = LOCK.read_text(encoding="utf-8")
        errors = self._ray.exceptions
        try:
            for line in task(lines_in_clone).remote(self._repository, self._commit, stage, upstream, lock, variables):
                yield self._ray.get(line)
        except errors.RayTaskError as error:
            if isinstance(error.cause, CalledProcessError):
                raise error.cause from None
            yield f"{error.cause}\n"
            raise CalledProcessError(1, stage) from None
        except errors.RayError as error:
            reason = str(error).strip().splitlines()[0]
            raise MayPass(f"{stage}: its machine was lost: {reason}", TEMPORARY) from None


def shared(sources: Iterable[str]) -> tuple[str, str]:
    """The address of the git repository, and the commit that other machines get from there.

    Raises:
        BadParams: a source is not committed, the commit not pushed, or there is no DVC remote.
    """
    changed = run("git", "status", "--porcelain", "--", *sorted(sources)).stdout.splitlines()
    if changed:
        names = ", ".join(line[3:] for line in changed[:3]) + (" and more" if len(changed) > 3 else "")
        raise _not_shared(names, "not committed, so other machines would run something else", "commit and push")
    repository = run("git", "remote", "get-url", "origin").stdout.strip()
    if not repository:
        raise _not_shared("git", "no remote 'origin', from which other machines get the code", "git remote add")
    commit = run("git", "rev-parse", "HEAD").stdout.strip()
    run("git", "fetch", "--quiet", "origin")
    if not run("git", "branch", "--remotes", "--contains", commit).stdout.strip():
        raise _not_shared(f"commit {commit[:7]}", f"not in {repository}", "git push")
    if not run(*DVC, "config", "core.remote").stdout.strip():
        raise _not_shared("dvc", "no default remote, through which data goes", "dvc remote add --default")
    return repository, commit


def _not_shared(place: str, problem: str, remedy: str) -> BadParams:
    return BadParams(Code.MACHINES, place, problem, f"{remedy}, then run again (docs/how-to/gpu.md)")


def lines_in_clone(
    repository: str, commit: str, stage: str, upstream: Sequence[str], lock: str, variables: dict[str, str]
) -> Iterator[str]:
    """Run a stage in a clone on this machine, the first that nobody works in; its lines, and those of the commands
    around it. They import the code of the clone, and use this machine alone.

    Args:
        upstream: the stages whose outputs it reads; they are in the DVC remote.
        lock: the coordinator's dvc.lock, which knows these outputs.
        variables: of the environment.

    Raises:
        CalledProcessError: one of the commands failed; its lines say why.
    """
    foreign = ("PYTHONPATH", CLUSTER)
    env = {name: value for name, value in environment().items() if name not in foreign} | variables
    folder = cache_folder() / "clones" / sha256(repository.encode()).hexdigest()[:12]
    with ExitStack() as held:
        clone = folder / str(next(number for number in count() if locked(folder / f"{number}.lock", held)))
        clone.mkdir(exist_ok=True)
        yield f"{stage} runs on {socket.gethostname()}\n"
        for command in (
            ["init", "--quiet"],
            ["fetch", "--quiet", repository, "+refs/heads/*:refs/remotes/origin/*"],
            ["checkout", "--quiet", "--force", "--detach", commit],
        ):
            yield from output(["git", *command], env, clone)
        (clone / "dvc.lock").write_text(lock, encoding="utf-8")
        yield from output([*DVC, "pull", "--run-cache", *upstream], env, clone)
        yield from output([*DVC, "repro", "--single-item", stage], env, clone)
        yield from output([*DVC, "push", "--run-cache", stage], env, clone)
