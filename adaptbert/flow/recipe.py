"""The recipe as a Prefect flow: the stages of dvc.yaml up to `until`.

dvc.yaml, params.yaml -> the outputs of `dvc repro`, a log with every line of every stage, the answers of the report.

DVC owns the graph and knows which stages are up to date. A task runs `dvc repro` of one stage, so running it twice, or
in a wrong order, cannot give a wrong result. This file names no edge, and no stage but the last.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from threading import Event
from typing import Annotated, Any, NoReturn

from httpx import TransportError
from prefect import State, Task, flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import TaskRun
from prefect.exceptions import CancelledRun, TerminationSignal
from prefect.futures import PrefectFuture, as_completed, wait
from prefect.runtime import flow_run
from prefect.states import Cancelled
from pydantic import Field

from adaptbert.codes import Code
from adaptbert.core.files import full_disk
from adaptbert.errors import BAD_DATA, BAD_PARAMS, IO_ERROR, BadParams, UserError, nearest
from adaptbert.flow import log, process
from adaptbert.flow.devices import Devices, locked
from adaptbert.flow.log import StageLog, without_credentials
from adaptbert.flow.machines import Machines
from adaptbert.flow.pace import Pace, trainings
from adaptbert.flow.process import DVC, MayPass, StageFailed, environment, heard, output
from adaptbert.flow.server import await_server
from adaptbert.flow.warm import warm_process
from adaptbert.project.dvc_files import Due, check_folder
from adaptbert.runtime.libraries import JOBS, threads
from adaptbert.runtime.origin import commit, git, project_root
from adaptbert.runtime.redaction import guard_streams, redacted
from adaptbert.runtime.user_errors import known_error, user_errors

REPORT, ANSWERS = Path("reports/index.html"), Path("reports/index.md")
PARAMS, WORKS = Path("params.yaml"), Path(".work/recipe.lock")
MOST_JOBS = 16
Jobs = Annotated[int, Field(json_schema_extra={"minimum": 1, "maximum": MOST_JOBS})]
"""Number of stages side by side. By this schema a server refuses others before a run starts; a bound of pydantic would
say so three times, in other words."""
UNREACHABLE = "Failed to reach API"
"""Message of Prefect where a server does not answer from the beginning."""


@dataclass(frozen=True)
class Graph:
    """The stages of dvc.yaml, as DVC reads it.

    Attributes:
        upstream: stage -> the stages that it needs, in the order of the file.
        on_gpu: stages with `meta: {gpu: true}`.
        restorable: stages that read outputs of others, and whose own DVC can fetch from the run cache of a remote. One
            that keeps its outputs until it replaces them reads files of this machine, and is not there.
        sources: files and folders that stages read and none of them writes, and those that describe the stages.
    """

    upstream: dict[str, list[str]]
    on_gpu: frozenset[str]
    restorable: frozenset[str]
    sources: frozenset[str]

    @classmethod
    def read(cls) -> "Graph":
        """The graph of this folder.

        Raises:
            BadParams: there is no dvc.yaml, or DVC cannot read it.
        """
        from dvc.exceptions import DvcException
        from dvc.repo import Repo

        try:
            with Repo() as repo:
                edges = repo.index.graph
                if not edges:
                    raise DvcException("it names no stage, or is missing")
                outs = {out.def_path for stage in edges for out in stage.outs}
                read = {dep.def_path for stage in edges for dep in stage.deps if dep.is_in_repo}
                kept = {stage.addressing for stage in edges if any(out.persist for out in stage.outs)}
                return cls(
                    upstream={stage.addressing: [up.addressing for up in edges.successors(stage)] for stage in edges},
                    on_gpu=frozenset(stage.addressing for stage in edges if (stage.meta or {}).get("gpu")),
                    restorable=frozenset(s.addressing for s in edges if s.cmd and edges[s] and s.outs) - kept,
                    sources=frozenset({"dvc.yaml", str(PARAMS), *read} - outs),
                )
        except (DvcException, OSError) as error:
            if full := full_disk(error, Path.cwd()):
                raise full from None
            if ignored := git("check-ignore", "--verbose", "dvc.yaml", "dvc.lock").splitlines():
                rule, _, file = ignored[0].partition("\t")
                remedy = f"take that rule out, or write a line !/{file} at the end of .gitignore"
                problem = f"git ignores it by {rule}, and so DVC does not read it"
                raise BadParams(Code.DVC, file, problem, remedy) from None
            reasons = [" ".join(str(each).split()) for each in (error, error.__cause__) if each is not None]
            remedy = "restore it (git checkout dvc.yaml), or correct what is named here"
            raise BadParams(Code.DVC, "dvc.yaml", ": ".join(dict.fromkeys(reasons)), remedy) from None

    def needed(self, until: str) -> dict[str, list[str]]:
        """The part of `upstream` that leads to `until`.

        Raises:
            BadParams: no stage has this name.
        """
        names = {stage: stage.partition("@")[0] for stage in self.upstream}
        reached = {stage for stage, name in names.items() if until in (stage, name)}
        if not reached:
            known = f"known: {', '.join(dict.fromkeys(names.values()))}"
            near = nearest(until, list(dict.fromkeys([*names.values(), *names])))
            raise BadParams(Code.UNKNOWN_KEY, "until", f"no stage '{until}'{near}", known)
        for stage in reversed([*TopologicalSorter(self.upstream).static_order()]):
            if stage in reached:
                reached.update(self.upstream[stage])
        return {stage: before for stage, before in self.upstream.items() if stage in reached}


class Resources:
    """What the stages of a flow run on.

    Attributes:
        machines: run what `graph.restorable` names, if any; all other stages run here.
        devices: those of this machine, where a stage trains here.
        jobs: stages side by side.
        threads: of each stage.
        failed: set when a stage failed; waiting stages then do not start.
        pace: what has ended, and the time left.
        environment: of stages that run here, without their devices.
        trainings: number of stages that train here.
    """

    def __init__(self, graph: Graph, stages: Mapping[str, list[str]], jobs: int | None, cluster: bool) -> None:
        self.graph, self.failed = graph, Event()
        self.machines = Machines(graph.sources) if cluster else None
        away = stages.keys() & graph.restorable if cluster else set()
        here = graph.on_gpu & (stages.keys() - away)
        self.devices = Devices.seen(get_run_logger().warning) if here else Devices({}, {})
        self.jobs = jobs or min(MOST_JOBS, max(JOBS, self.devices.slots * len(self.devices.ids)))
        self.threads = threads(1 if away else self.jobs)
        self.pace = Pace(stages, trainings(), self.jobs, self.devices.parts(here))
        self.environment, self.trainings = environment() | {"OMP_NUM_THREADS": self.threads}, len(here)


async def may_pass(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Whether a retry can help."""
    return isinstance(await state.aresult(raise_on_failure=False), MayPass)


@task(
    task_run_name="{stage}",
    cache_policy=NO_CACHE,  # DVC is the only cache
    persist_result=False,
    retries=5,
    retry_delay_seconds=[1, 2, 4, 8, 16],
    retry_jitter_factor=0.5,
    retry_condition_fn=may_pass,
)
def bring_up_to_date(stage: str, resources: Resources) -> State[Any] | None:
    """One stage, alone: its upstream stages are up to date when this is called."""
    logger, graph = get_run_logger(), resources.graph
    trains = stage in graph.on_gpu
    machines = resources.machines if stage in graph.restorable else None
    devices = resources.devices if trains and machines is None else Devices({}, {})
    with without_credentials(), devices.taken(stage, logger.info, resources.failed.is_set) as visible:
        if resources.failed.is_set():
            return Cancelled(message="not started, because another stage failed")
        lines = StageLog(stage, logger)
        resources.pace.begin(stage)
        try:
            if machines is not None:
                machines.bring_up_to_date(stage, graph.upstream[stage], resources.threads, trains, lines.say)
            else:
                env = resources.environment | visible
                heard(stage, output([*DVC, "repro", "--single-item", stage], env), lines.say)
        except MayPass:  # tried again
            raise
        except StageFailed:
            resources.failed.set()
            lines.failed()
            raise
        seconds = resources.pace.end(stage, lines.has_run)
        lines.ended(seconds, str(resources.pace))
    return None


def run_name() -> str:
    """The project's folder, the commit and the last stage: `mood-study 3f9a2c1 until compare`."""
    return " ".join([project_root().name, *filter(None, [commit()[:7]]), "until", flow_run.parameters["until"]])


@flow(name="recipe", flow_run_name=run_name, persist_result=False)
def recipe(until: str = "compare", jobs: Jobs | None = None, cluster: bool = False) -> None:
    """Run the stages up to `until`, independent ones in parallel.

    Args:
        until: a stage (`finetune@section-domain-small-1`) or all stages of a name (`finetune`), with what they need.
        jobs: stages in parallel, which share the cores; by default two, or as many as CUDA devices have slots for.
        cluster: whether the machines of a Ray cluster run them (docs/how-to/gpu.md), each with all its cores.
    """
    process.insist()
    process.check()
    log.quieten()
    guard_streams()
    check_jobs(jobs)
    with without_credentials(), alone():
        plan_and_check()
        graph = Graph.read()
        upstream = graph.needed(until)
        # Asked once, not by a `dvc repro` of each. Where DVC cannot tell, mostly because another DVC is at work, all of
        # them are due: their own `dvc repro` says more, and waits.
        status = process.run(sys.executable, "-m", "dvc", "status", "--json")
        process.check()
        due = Due.of(upstream, upstream if status.returncode else json.loads(status.stdout))
        get_run_logger().info(str(due))
        if due.stages:
            resources = Resources(graph, due.stages, jobs, cluster)
            with warm_process(resources.environment, resources.trainings, bool(resources.devices.ids)) as variables:
                resources.environment |= variables
                run_stages(due.stages, resources)
    if "compare" in upstream and ANSWERS.is_file():
        path = REPORT.resolve()
        text = ANSWERS.read_text(encoding="utf-8").replace("](index.html)", f"]({path.as_uri()})")
        text += f"\nThe report lies at `{path}`.\n"
        create_markdown_artifact(
            markdown=redacted(text), key="report", description="The answers, and where the report lies"
        )


def check_jobs(jobs: int | None) -> None:
    """Raises BadParams for more or fewer than may be."""
    if jobs is not None and not 1 <= jobs <= MOST_JOBS:
        problem = f"expected a number of stages side by side, 1 to {MOST_JOBS}, found {jobs}"
        raise BadParams(Code.BAD_OPTION, "jobs", problem, "write e.g. 2, or leave it out")


@contextmanager
def alone() -> Iterator[None]:
    """In this block no other flow works in this folder; waits for one that does, of whichever deployment.

    The lock ends with its process. A limit of Prefect stays taken where its server or its worker was killed.
    """
    with ExitStack() as locks:
        if not locked(WORKS, locks):
            get_run_logger().info("waits: another run works in this folder")
            locked(WORKS, locks, waits=True)
        yield


def plan_and_check() -> None:
    """`adaptbert plan`, and `adaptbert check`, which refuses a bad params.yaml before any stage starts; in another
    process, because they import what stages import."""
    done = process.run(sys.executable, "-m", "adaptbert.commands.params")
    for line in done.stdout.splitlines():  # such as that dvc.lock was repaired
        get_run_logger().info(line)
    if done.returncode < 0:
        reason, code = process.ended(done.returncode)
        raise StageFailed(f"the check of params.yaml {reason}", code)
    if done.returncode:
        raise StageFailed(f"params.yaml was refused\n{done.stderr.strip()}", done.returncode)
    process.check()


def run_stages(upstream: dict[str, list[str]], resources: Resources) -> None:
    """Submit each stage when its upstream stages are up to date; after a failure, none."""
    order = TopologicalSorter(upstream)
    order.prepare()
    ready: list[str] = []
    running: dict[PrefectFuture[Any], str] = {}
    try:
        while order.is_active():
            ready.extend(order.get_ready())
            process.check()
            while ready and len(running) < resources.jobs and not resources.failed.is_set():
                ready.sort(key=resources.pace.is_known)
                stage = ready.pop(0)
                running[bring_up_to_date.submit(stage, resources)] = stage
            future = next(as_completed(list(running)))
            stage = running.pop(future)
            try:
                future.result()
            except CancelledRun:
                if running:  # the reason is among them: both may have ended before one was asked
                    continue
                raise
            order.done(stage)
    finally:
        resources.failed.set()  # what waits for a device does not start; what runs may end, and its results are kept
        wait(list(running))


def main(argv: list[str] | None = None) -> None:
    """Run the flow in this process; exits with the code of the stage that failed."""
    parser = argparse.ArgumentParser(prog="python -m flows.recipe", description=recipe.__doc__)
    parser.add_argument("--until", default="compare", help="a stage, or all stages of a name")
    parser.add_argument("--jobs", type=int, help="stages side by side")
    parser.add_argument("--cluster", action="store_true", help="stages run on the machines of a Ray cluster")
    arguments = parser.parse_args(argv)
    guard_streams()
    log.shorten()
    with user_errors():
        check_folder()  # a server keeps its database there
        check_jobs(arguments.jobs)
    try:
        await_server()
        recipe(until=arguments.until, jobs=arguments.jobs, cluster=arguments.cluster)
    except StageFailed as error:
        _end(error.reason, error.exit_code)
    except (UserError, OSError) as error:
        if (known := known_error(error)) is None:
            raise
        _end(str(known), known.exit_code)
    except TerminationSignal as ended:  # of Prefect's handler, before `process.insist`
        process.leave(process.stopped(ended.signal))
    except (TransportError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and UNREACHABLE not in str(error):
            raise
        why = f"error: the Prefect server does not answer ({error}); finished stages are kept, run again"
        process.leave("" if process.received() else why)


def _end(reason: str, code: int) -> NoReturn:
    """One line for the user: after a signal, what failed did so because of it, but for data, parameters and files."""
    if process.received() and code not in (BAD_DATA, BAD_PARAMS, IO_ERROR):
        process.leave()
    print(f"error: {reason}", file=sys.stderr)
    sys.exit(code)
