"""Stages on other machines: by tasks of a Ray cluster, or by Prefect workers that run there.

This process is the coordinator. It pushes what a stage reads, has it run in a clone of the project's repository, and
then lets DVC fetch the outputs: "is cached - skipping run". Nothing is merged, and a stage that a lost machine had is
submitted again. In a clone, a stage runs between a pull and a push of DVC:

    git fetch, git checkout COMMIT; dvc pull --run-cache UPSTREAM; dvc repro --single-item STAGE; dvc push --run-cache

Clones lie in the user's cache folder, as many as stages have run there side by side; whoever works in one has locked
it. A clone stays, and with it its DVC cache and the savepoints of a stage that was stopped.
"""

import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from prefect import flow, get_run_logger
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.sorting import LogSort
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound

from adaptbert.codes import Code
from adaptbert.errors import BadParams
from adaptbert.runtime import cluster
from adaptbert.runtime.redaction import redacted
from flows.devices import cache_folder, locked
from flows.process import DVC, CommandFailed, MachineLost, environment, heard, output, run

Kind = Literal["ray", "prefect"]
DEPLOYMENT = "remote-stage/machine"
DEPLOY = "prefect --no-prompt deploy --prefect-file flows/machines.yaml --all"
LOCK = Path("dvc.lock")
SENT = ("MLFLOW_TRACKING_URI",)
"""Variables of the coordinator that a stage gets elsewhere, where they are set."""
SECONDS_BETWEEN_LOOKS = 2.0

_here = Lock()
"""Held by whoever runs DVC in the coordinator's folder: several pulls and pushes would wait for each other's locks."""


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


@dataclass(frozen=True)
class Machines:
    """Who runs stages elsewhere, and the repository and commit from which machines get the code and params.yaml."""

    kind: Kind
    repository: str
    commit: str

    @classmethod
    def reached(cls, kind: Kind, sources: Iterable[str]) -> "Machines":
        """Refuses what other machines would not see, and looks whether somebody is there to run stages.

        Args:
            sources: files and folders that stages read and no stage writes.

        Raises:
            BadParams: see `shared`; Ray is missing, the Prefect server has no deployment or would show a password.
            NoCluster: no cluster answers.
        """
        repository, commit = shared(sources)
        if kind == "ray":
            _ray(Path(__file__).parent)
        else:
            if redacted(repository) != repository:
                remedy = "give the machines a key or a credential helper, and `git remote set-url origin` without it"
                problem = f"Prefect's server would store and show the password in {redacted(repository)}"
                raise BadParams(Code.MACHINES, "git", problem, remedy)
            with get_client(sync_client=True) as client:
                try:
                    client.read_deployment_by_name(DEPLOYMENT)
                except ObjectNotFound:
                    raise _not_shared(f"Prefect: {DEPLOYMENT}", "not deployed to this server", DEPLOY) from None
        return cls(kind, repository, commit)

    def bring_up_to_date(
        self, stage: str, upstream: list[str], threads: str, trains: bool, say: Callable[[str], None]
    ) -> None:
        """Run a stage elsewhere, unless it is up to date, and fetch its outputs.

        Args:
            upstream: the stages whose outputs it reads.

        Raises:
            StageFailed: with the exit code of the stage.
            MachineLost: its machine was lost; submit it again.
        """
        with _here:
            if run(*DVC, "status", "--quiet", stage).returncode == 0:
                say(f"Stage '{stage}' didn't change, skipping")
                return
            if upstream:
                heard(stage, output([*DVC, "push", *upstream], environment()), say)
            lock = LOCK.read_text(encoding="utf-8") if LOCK.is_file() else ""
        variables = {name: os.environ[name] for name in SENT if name in os.environ} | {"OMP_NUM_THREADS": threads}
        request = Request(self.repository, self.commit, stage, upstream, lock, variables)
        lines = _on_ray(request, int(threads), trains) if self.kind == "ray" else _on_prefect(request)
        heard(stage, lines, say)
        with _here:
            heard(stage, output([*DVC, "repro", "--single-item", "--pull", stage], environment()), say)


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
        raise _not_shared(f"commit {commit[:7]}", f"not in {redacted(repository)}", "git push")
    if not run(*DVC, "config", "core.remote").stdout.strip():
        raise _not_shared("dvc", "no default remote, through which data goes", "dvc remote add --default")
    return repository, commit


def _not_shared(place: str, problem: str, remedy: str) -> BadParams:
    return BadParams(Code.MACHINES, place, problem, f"{remedy}, then run again (docs/how-to/cluster.md)")


def _ray(*packages: Path) -> Any:
    """Connected to the cluster that the user named, or to the one that this machine is part of."""
    return cluster.connected(os.environ.get(cluster.VARIABLE, "auto"), *packages)


def _on_ray(request: Request, threads: int, trains: bool) -> Iterator[str]:
    """The lines of the stage, run by a task of the cluster: on one GPU where it trains and the cluster has any."""
    ray = _ray()
    gpus = min(int(trains), int(ray.cluster_resources().get("GPU", 0)))
    # A task that no machine can take would wait for ever.
    largest = max(int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"])
    cores = 1 if gpus else min(threads, largest)
    # Ray does not start it again: its lines would come twice. The flow submits it again.
    task = ray.remote(num_returns="streaming", max_retries=0, num_gpus=gpus, num_cpus=cores)
    try:
        for line in task(lines_in_clone).remote(request):
            yield ray.get(line)
    except ray.exceptions.RayTaskError as error:
        if not isinstance(error.cause, CommandFailed):
            yield f"{error.cause}\n"
        raise CommandFailed(request.stage) from None
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[0]
        raise MachineLost(f"{request.stage}: its machine was lost: {reason}") from None


def _on_prefect(request: Request) -> Iterator[str]:
    """The lines of the stage, run by a worker of the pool `machines`."""
    submitted = run_deployment(DEPLOYMENT, parameters={"request": asdict(request)}, timeout=0)
    assert isinstance(submitted, FlowRun), "not a coroutine: nothing here is async"
    lines = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[submitted.id]))
    read = 0
    with get_client(sync_client=True) as client:
        while True:
            state = client.read_flow_run(submitted.id).state
            for entry in client.read_logs(lines, limit=200, offset=read, sort=LogSort.TIMESTAMP_ASC):
                read += 1
                yield f"{entry.message}\n"
            if state is not None and state.is_final():
                break
            time.sleep(SECONDS_BETWEEN_LOOKS)
    if state.is_crashed() or state.is_cancelled():
        raise MachineLost(f"{request.stage}: its machine was lost: {state.message}")
    if not state.is_completed():
        yield f"{state.message}\n"  # the end of the log may still be on its way
        raise CommandFailed(request.stage)


@flow(name="remote-stage", flow_run_name="{request[stage]}", persist_result=False)
def remote_stage(request: dict[str, Any]) -> None:
    """Run a stage in a clone on this machine.

    Args:
        request: the fields of `Request`.
    """
    heard(request["stage"], lines_in_clone(Request(**request)), get_run_logger().info)


def lines_in_clone(request: Request) -> Iterator[str]:
    """Run the stage in a clone on this machine, the first that nobody works in; its lines, and those of the commands
    around it. They import the code of the clone, and use this machine alone.

    Raises:
        CommandFailed: one of the commands failed; its lines say why.
    """
    foreign = ("PYTHONPATH", cluster.VARIABLE)
    variables = {name: value for name, value in environment().items() if name not in foreign} | request.variables
    folder = cache_folder() / "clones" / sha256(request.repository.encode()).hexdigest()[:12]
    with ExitStack() as held:
        clone = folder / str(next(number for number in count() if locked(folder / f"{number}.lock", held)))
        clone.mkdir(exist_ok=True)
        yield f"{request.stage} runs on {socket.gethostname()}\n"
        for command in (
            ["init", "--quiet"],
            ["fetch", "--quiet", request.repository, "+refs/heads/*:refs/remotes/origin/*"],
            ["checkout", "--quiet", "--force", "--detach", request.commit],
        ):
            yield from output(["git", *command], variables, clone)
        (clone / "dvc.lock").write_text(request.lock, encoding="utf-8")
        if request.upstream:
            yield from output([*DVC, "pull", "--run-cache", *request.upstream], variables, clone)
        yield from output([*DVC, "repro", "--single-item", request.stage], variables, clone)
        yield from output([*DVC, "push", "--run-cache", request.stage], variables, clone)
