"""Stages on other machines: by tasks of a Ray cluster, or by Prefect workers that run there.

This process is the coordinator. It pushes what a stage reads, has it run in a clone elsewhere (flows/clone.py), and
then lets DVC fetch the outputs: "is cached - skipping run". Nothing is merged, and a stage that a lost machine had is
submitted again.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
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
from flows import clone
from flows.clone import Request
from flows.stage_process import DVC, CommandFailed, MachineLost, environment, heard, output

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
class Machines:
    """Where stages run.

    Attributes:
        kind: who runs them.
        repository: address of the git repository that the machines fetch.
        commit: that has the code and params.yaml.
    """

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
            cluster.connected(os.environ.get(cluster.VARIABLE, "auto"), Path(__file__).parent)
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
        self, stage: str, upstream: list[str], wants: dict[str, int], say: Callable[[str], None]
    ) -> None:
        """Run a stage elsewhere, unless it is up to date, and fetch its outputs.

        Args:
            upstream: the stages whose outputs it reads.
            wants: `threads`, and `gpus` where it trains.

        Raises:
            StageFailed: with the exit code of the stage.
            MachineLost: its machine was lost; submit it again.
        """
        with _here:
            if _run([*DVC, "status", "--quiet", stage]).returncode == 0:
                say(f"Stage '{stage}' didn't change, skipping")
                return
            if upstream:
                heard(stage, output([*DVC, "push", *upstream], environment()), say)
            lock = LOCK.read_text(encoding="utf-8") if LOCK.is_file() else ""
        variables = {name: os.environ[name] for name in SENT if name in os.environ}
        variables["OMP_NUM_THREADS"] = str(wants["threads"])
        request = Request(self.repository, self.commit, stage, upstream, lock, variables)
        heard(stage, _on_ray(request, wants) if self.kind == "ray" else _on_prefect(request), say)
        with _here:
            heard(stage, output([*DVC, "repro", "--single-item", "--pull", stage], environment()), say)


def shared(sources: Iterable[str]) -> tuple[str, str]:
    """The address of the git repository, and the commit that other machines get from there.

    Raises:
        BadParams: a source is not committed, the commit not pushed, or there is no DVC remote.
    """
    changed = _git("status", "--porcelain", "--", *sorted(sources)).splitlines()
    if changed:
        names = ", ".join(line[3:] for line in changed[:3]) + (" and more" if len(changed) > 3 else "")
        raise _not_shared(names, "not committed, so other machines would run something else", "commit and push")
    repository = _git("remote", "get-url", "origin").strip()
    if not repository:
        raise _not_shared("git", "no remote 'origin', from which other machines get the code", "git remote add")
    commit = _git("rev-parse", "HEAD").strip()
    _git("fetch", "--quiet", "origin")
    if not _git("branch", "--remotes", "--contains", commit).strip():
        raise _not_shared(f"commit {commit[:7]}", f"not in {redacted(repository)}", "git push")
    if not _run([*DVC, "config", "core.remote"]).stdout.strip():
        raise _not_shared("dvc", "no default remote, through which data goes", "dvc remote add --default")
    return repository, commit


def _on_ray(request: Request, wants: dict[str, int]) -> Iterator[str]:
    """The lines of the stage, run by a task of the cluster: on one GPU where it trains and the cluster has any."""
    ray = cluster.connected(os.environ.get(cluster.VARIABLE, "auto"))
    gpus = min(wants["gpus"], int(ray.cluster_resources().get("GPU", 0)))
    # A task that no machine can take would wait for ever.
    largest = max(int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"])
    cores = 1 if gpus else min(wants["threads"], largest)
    # Ray does not start it again: its lines would come twice. The flow submits it again.
    task = ray.remote(num_returns="streaming", max_retries=0, num_gpus=gpus, num_cpus=cores)
    try:
        for line in task(clone.lines).remote(request):
            yield ray.get(line)
    except ray.exceptions.RayTaskError as error:
        if not isinstance(error.cause, CommandFailed):
            yield f"{error.cause}\n"
        raise CommandFailed(request.stage) from None
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[0]
        raise MachineLost(f"{request.stage}: its machine was lost: {reason}") from None


@flow(name="remote-stage", flow_run_name="{request[stage]}", persist_result=False)
def remote_stage(request: dict[str, Any]) -> None:
    """Run a stage in a clone on this machine.

    Args:
        request: the fields of `flows.clone.Request`.
    """
    heard(request["stage"], clone.lines(Request(**request)), get_run_logger().info)


def _on_prefect(request: Request) -> Iterator[str]:
    """The lines of the stage, run by a worker of the pool `machines`."""
    run = run_deployment(DEPLOYMENT, parameters={"request": asdict(request)}, timeout=0)
    assert isinstance(run, FlowRun), "not a coroutine: nothing here is async"
    lines = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run.id]))
    read = 0
    with get_client(sync_client=True) as client:
        while True:
            state = client.read_flow_run(run.id).state
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


def _not_shared(place: str, problem: str, remedy: str) -> BadParams:
    return BadParams(Code.MACHINES, place, problem, f"{remedy}, then run again (docs/how-to/cluster.md)")


def _git(*words: str) -> str:
    return _run(["git", *words]).stdout


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, env=environment())
