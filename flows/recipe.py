"""The recipe as a Prefect flow: the stages of dvc.yaml up to `until`.

dvc.yaml, params.yaml -> the outputs of `dvc repro`, a log with every line of every stage, a table of scores.

    python -m flows.recipe --until compare --jobs 2        # here and now, without a server
    python -m flows.recipe --cluster ray --jobs 8          # on the machines of a cluster (docs/how-to/cluster.md)
    prefect deployment run recipe/local --watch            # on a worker; `--param until=domain_transfer`

DVC owns the graph and knows which stages are up to date. A task runs `dvc repro` of one stage, so running it twice, or
in a wrong order, cannot give a wrong result. This file names no stage and no edge.
"""

import argparse
import logging
import os
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from graphlib import TopologicalSorter
from pathlib import Path
from threading import Event
from typing import Annotated, Any, NoReturn, get_args

from httpx import TransportError
from prefect import State, Task, flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import TaskRun
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError
from prefect.concurrency.sync import concurrency
from prefect.exceptions import ParameterTypeError
from prefect.futures import PrefectFuture, as_completed, wait
from prefect.states import Cancelled
from pydantic import Field

from adaptbert.core.processes import cores
from adaptbert.errors import BAD_DATA, BAD_PARAMS, IO_ERROR, TEMPORARY, UserError
from adaptbert.runtime.redaction import hide_in_tracebacks, redacted
from flows import interruption
from flows.artifacts import leave_artifact, run_name
from flows.graph import GPU, Graph, Place
from flows.machines import Kind, Machines
from flows.stage_process import DVC, DvcLocked, MachineLost, StageFailed, environment, heard, output

COMPARISON = Path("metrics/comparison.json")
UNREACHABLE = "Failed to reach API"
"""Message of Prefect where a server does not answer from the beginning."""


async def may_pass(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Whether a retry can help: a lock, a server that is busy, or a machine that was lost."""
    error = await state.aresult(raise_on_failure=False)
    return isinstance(error, DvcLocked | MachineLost | ConcurrencySlotAcquisitionError)


@task(
    task_run_name="{stage}",
    cache_policy=NO_CACHE,  # DVC is the only cache
    persist_result=False,
    retries=5,
    retry_delay_seconds=[1, 2, 4, 8, 16],
    retry_jitter_factor=0.5,
    retry_condition_fn=may_pass,
)
def bring_up_to_date(stage: str, place: Place, threads: str, failed: Event) -> State[Any] | None:
    """One stage, alone: its upstream stages are up to date when this is called.

    Args:
        place: where it runs.
        threads: for OMP_NUM_THREADS.
        failed: set when a stage failed; waiting stages then do not start.
    """
    say = get_run_logger().info
    with ExitStack() as held:
        own: dict[str, str] = {}
        if place.devices is not None:
            # A lease that cannot be renewed (the server is gone) does not end hours of training; the slot is required.
            of_server = concurrency(GPU, strict=True, raise_on_lease_renewal_failure=False)
            held.enter_context(place.slots or of_server)
            own = held.enter_context(place.devices.taken(say))
        if failed.is_set():
            return Cancelled(message="not started, because another stage failed")
        try:
            if place.machines is not None:
                wants = {"threads": int(threads), "gpus": int(place.trains)}
                place.machines.bring_up_to_date(stage, place.upstream, wants, say)
            else:
                env = environment() | own | {"OMP_NUM_THREADS": threads}
                heard(stage, output([*DVC, "repro", "--single-item", stage], env), say)
        except (DvcLocked, MachineLost):  # tried again
            raise
        except StageFailed:
            failed.set()
            raise
    return None


@flow(name="recipe", flow_run_name=run_name, persist_result=False)
def recipe(until: str = "compare", jobs: Annotated[int, Field(ge=1, le=16)] = 2, cluster: Kind | None = None) -> None:
    """Run the stages up to `until`, independent ones in parallel.

    Args:
        until: a stage (`finetune@section-domain-small-1`) or all stages of a name (`finetune`), with what they need.
        jobs: stages in parallel, which share the cores; of those that train, as many as the limit `gpu` has slots.
        cluster: `ray` or `prefect` runs them on other machines (docs/how-to/cluster.md), each with all its cores.
    """
    interruption.insist()
    logging.getLogger("prefect.flow_runs").addFilter(without_traceback)
    logging.getLogger("prefect.task_runs").addFilter(in_short)
    plan_and_check()
    graph = Graph.read()
    upstream = graph.needed(until)
    stale = graph.out_of_date(upstream)
    interruption.check()
    get_run_logger().info(f"{len(upstream) - len(stale)} of {len(upstream)} stages are up to date")
    if stale:
        machines = Machines.reached(cluster, graph.sources) if cluster is not None else None
        run_stages(stale, graph.places(stale, jobs, machines), jobs)
    if COMPARISON.is_file() and any(stage in graph.writers_of(COMPARISON) for stage in upstream):
        leave_artifact()


def without_traceback(record: logging.LogRecord) -> bool:
    """Log user errors and failed stages without a traceback: their message has the reason."""
    if record.exc_info and isinstance(record.exc_info[1], StageFailed | UserError):
        record.exc_info = None
    return True


def in_short(record: logging.LogRecord) -> bool:
    """One line where Prefect tries again because of a lock, however often: two stages of the flow meet there, too."""
    if not any(isinstance(each, DvcLocked) for each in record.args or ()):
        return True
    is_first = 1 in (record.args or ())
    record.msg, record.args = "waits for a lock of DVC", ()
    return is_first


def run_stages(upstream: dict[str, list[str]], places: Mapping[str, Place], jobs: int) -> None:
    """Submit each stage when its upstream stages are up to date; after a failure, none."""
    failed = Event()
    # As many threads as cores for each of several processes would mostly wait for each other.
    side_by_side = 1 if any(place.machines for place in places.values()) else jobs
    threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, cores() // side_by_side))
    order = TopologicalSorter(upstream)
    order.prepare()
    ready: deque[str] = deque()
    running: dict[PrefectFuture[Any], str] = {}
    try:
        while order.is_active():
            ready.extend(order.get_ready())
            interruption.check()
            while ready and len(running) < jobs:
                stage = ready.popleft()
                running[bring_up_to_date.submit(stage, places[stage], threads, failed)] = stage
            future = next(as_completed(list(running)))
            stage = running.pop(future)
            future.result()
            order.done(stage)
    finally:
        failed.set()  # stages that wait for a slot do not start; running ones may end, so that their results are kept
        wait(list(running))


def plan_and_check() -> None:
    """Write the plan, and refuse a bad params.yaml before any stage starts; in processes of their own, because they
    import the stages."""
    for command in ("plan", "check"):
        done = subprocess.run(
            [sys.executable, "-m", "adaptbert.cli", command], capture_output=True, text=True, env=environment()
        )
        for line in done.stdout.splitlines():  # such as that dvc.lock was repaired
            get_run_logger().info(line)
        if done.returncode:
            raise StageFailed(f"params.yaml was refused\n{done.stderr}", done.returncode)


def main(argv: list[str] | None = None) -> None:
    """Run the flow in this process; exits with the code of the stage that failed."""
    parser = argparse.ArgumentParser(prog="python -m flows.recipe", description=recipe.__doc__)
    parser.add_argument("--until", default="compare", help="a stage, or all stages of a name")
    parser.add_argument("--jobs", type=int, default=2, help="stages side by side")
    parser.add_argument("--cluster", choices=get_args(Kind), help="who runs stages on other machines")
    arguments = parser.parse_args(argv)
    hide_in_tracebacks()
    interruption.take_signals()
    try:
        recipe(until=arguments.until, jobs=arguments.jobs, cluster=arguments.cluster)
    except (StageFailed, UserError) as error:
        _end(str(error), error.exit_code)
    except ParameterTypeError as error:
        _end(str(error), BAD_PARAMS)
    except (TransportError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and UNREACHABLE not in str(error):
            raise
        _end(f"the Prefect server does not answer ({error}); finished stages are kept, run again", TEMPORARY)


def _end(reason: str, code: int) -> NoReturn:
    """One line for the user: after a signal, what failed did so because of it, but for data, parameters and files."""
    if interruption.received() and code not in (BAD_DATA, BAD_PARAMS, IO_ERROR):
        print(interruption.MESSAGE, file=sys.stderr)
        sys.exit(TEMPORARY)
    print(redacted(f"error: {reason}"), file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
