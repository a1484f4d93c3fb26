"""The recipe as a Prefect flow: the stages of dvc.yaml up to `until`.

dvc.yaml, params.yaml -> the outputs of `dvc repro`, a log with every line of every stage, a table of scores.

    python -m flows.recipe --until compare --jobs 2        # here and now, without a server
    prefect deployment run recipe/local --watch            # on a worker; `--param until=domain_transfer`

DVC owns the graph and knows which stages are up to date. A task runs `dvc repro` of one stage, so running it twice, or
in a wrong order, cannot give a wrong result. This file names no stage and no edge.
"""

import argparse
import logging
import os
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Annotated, Any

from httpx import TransportError
from prefect import State, Task, flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate
from prefect.client.schemas.objects import TaskRun
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError
from prefect.concurrency.sync import concurrency
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound, ParameterTypeError
from prefect.futures import PrefectFuture, as_completed, wait
from prefect.states import Cancelled
from pydantic import Field

from adaptbert.base.processes import cores
from adaptbert.codes import Code
from adaptbert.errors import BAD_PARAMS, INTERNAL, TEMPORARY, BadParams, UserError, nearest
from adaptbert.runtime.redaction import hide_in_tracebacks, redacted
from flows.artifacts import COMPARISON, leave_artifacts, run_name
from flows.devices import Devices, cuda_ids

GPU = "gpu"
UNREACHABLE = "Failed to reach API"
"""Message of Prefect where a server does not answer from the beginning."""
LOCKED = ("is busy, it is being blocked by", "Unable to acquire lock")


class StageFailed(RuntimeError):
    """A stage ended badly; `exit_code` is the stage's own (adaptbert.errors), which DVC hides behind 255."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class DvcLocked(StageFailed):
    """Another DVC process holds a path or the repository; a retry can resolve that."""

    def __init__(self, message: str) -> None:
        super().__init__(message, TEMPORARY)


async def may_pass(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Whether a retry can help: the stage did not begin, because of a lock or of a server that is busy."""
    error = await state.aresult(raise_on_failure=False)
    return isinstance(error, DvcLocked | ConcurrencySlotAcquisitionError)


@task(
    task_run_name="{stage}",
    cache_policy=NO_CACHE,  # DVC is the only cache
    persist_result=False,
    retries=5,
    retry_delay_seconds=[1, 2, 4, 8, 16],
    retry_jitter_factor=0.5,
    retry_condition_fn=may_pass,
)
def bring_up_to_date(stage: str, devices: Devices | None, threads: str, failed: Event) -> State[Any] | None:
    """One stage, alone: its upstream stages are up to date when this is called.

    Args:
        threads: for OMP_NUM_THREADS.
        devices: of a stage that trains; it takes a slot of the limit `gpu`, and its share of them, first.
        failed: set when a stage failed; waiting stages then do not start.
    """
    with ExitStack() as held:
        own: dict[str, str] = {}
        if devices is not None:
            # A lease that cannot be renewed (the server is gone) does not end hours of training; the slot is required.
            held.enter_context(concurrency(GPU, strict=True, raise_on_lease_renewal_failure=False))
            own = held.enter_context(devices.taken(get_run_logger().info))
        if failed.is_set():
            return Cancelled(message="not started, because another stage failed")
        log = get_run_logger()
        process = subprocess.Popen(
            [sys.executable, "-m", "dvc", "repro", "--single-item", stage],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment() | own | {"OMP_NUM_THREADS": threads},
        )
        tail: deque[str] = deque(maxlen=20)  # errors have two lines each
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip():
                log.info(line.rstrip())
                tail.append(line)
        if process.wait() == 0:
            return None
    text = "".join(tail)
    ended = re.findall(r"exited with (-?\d+)", text)
    if not ended and any(sign in text for sign in LOCKED):
        raise DvcLocked(f"{stage}: another DVC process is at work here; run again when it is done\n{text}")
    reason = f"exited with {ended[-1]}" if ended else "dvc could not run it"
    failed.set()
    raise StageFailed(f"{stage}: {reason}\n{text}", int(ended[-1]) if ended else INTERNAL)


@flow(name="recipe", flow_run_name=run_name, persist_result=False)
def recipe(until: str = "compare", jobs: Annotated[int, Field(ge=1, le=16)] = 2) -> None:
    """Run the stages up to `until`, independent ones in parallel.

    Args:
        until: a stage (`finetune@section-domain-small-1`) or all stages of a name (`finetune`), with what they need.
        jobs: stages in parallel, which share the cores; of those that train, as many as the limit `gpu` has slots.
    """
    logging.getLogger("prefect.flow_runs").addFilter(without_traceback)
    check_params()
    graph = Graph.read()
    upstream = graph.needed(until)
    training = graph.on_gpu.intersection(upstream)
    run_stages(upstream, dict.fromkeys(training, devices_of(jobs)) if training else {}, jobs)
    if COMPARISON.is_file() and any(stage in graph.writers_of(COMPARISON) for stage in upstream):
        leave_artifacts()


def without_traceback(record: logging.LogRecord) -> bool:
    """Log user errors and failed stages without a traceback: their message has the reason."""
    if record.exc_info and isinstance(record.exc_info[1], StageFailed | UserError):
        record.exc_info = None
    return True


def run_stages(upstream: dict[str, list[str]], devices: Mapping[str, Devices], jobs: int) -> None:
    """Submit each stage when its upstream stages are up to date; after a failure, none.

    Args:
        devices: of the stages that train.
    """
    failed = Event()
    # As many threads as cores for each of several processes would mostly wait for each other.
    threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, cores() // jobs))
    order = TopologicalSorter(upstream)
    order.prepare()
    ready: deque[str] = deque()
    running: dict[PrefectFuture[Any], str] = {}
    try:
        while order.is_active():
            ready.extend(order.get_ready())
            while ready and len(running) < jobs:
                stage = ready.popleft()
                running[bring_up_to_date.submit(stage, devices.get(stage), threads, failed)] = stage
            future = next(as_completed(list(running)))
            stage = running.pop(future)
            future.result()
            order.done(stage)
    finally:
        failed.set()  # stages that wait for a slot do not start; running ones may end, so that their results are kept
        wait(list(running))


@dataclass(frozen=True)
class Graph:
    """The stages of dvc.yaml, as DVC reads it.

    Attributes:
        upstream: stage -> the stages that it needs, in the order of the file.
        on_gpu: stages with `meta: {gpu: true}`.
        outputs: stage -> the paths that it writes.
    """

    upstream: dict[str, list[str]]
    on_gpu: frozenset[str]
    outputs: dict[str, frozenset[str]]

    @classmethod
    def read(cls) -> "Graph":
        from dvc.repo import Repo

        with Repo() as repo:
            edges = repo.index.graph
            return cls(
                upstream={stage.addressing: [other.addressing for other in edges.successors(stage)] for stage in edges},
                on_gpu=frozenset(stage.addressing for stage in edges if (stage.meta or {}).get(GPU)),
                outputs={stage.addressing: frozenset(out.def_path for out in stage.outs) for stage in edges},
            )

    def needed(self, until: str) -> dict[str, list[str]]:
        """The part of `upstream` that leads to `until`."""
        names = [stage.partition("@")[0] for stage in self.upstream]
        pending = [stage for stage, name in zip(self.upstream, names, strict=True) if until in (stage, name)]
        if not pending:
            known = list(dict.fromkeys([*names, *self.upstream]))
            groups = ", ".join(dict.fromkeys(names))
            raise BadParams(Code.UNKNOWN_KEY, "until", f"no stage '{until}'{nearest(until, known)}", f"known: {groups}")
        reached: set[str] = set()
        while pending:
            stage = pending.pop()
            if stage not in reached:
                reached.add(stage)
                pending.extend(self.upstream[stage])
        return {stage: before for stage, before in self.upstream.items() if stage in reached}

    def writers_of(self, path: Path) -> frozenset[str]:
        return frozenset(stage for stage, paths in self.outputs.items() if path.as_posix() in paths)


def check_params() -> None:
    """Refuse a bad params.yaml before any stage starts; in a process of its own, because it imports the stages."""
    done = subprocess.run(
        [sys.executable, "-m", "adaptbert.cli", "check"], capture_output=True, text=True, env=environment()
    )
    for line in done.stdout.splitlines():  # such as that dvc.lock was repaired
        get_run_logger().info(line)
    if done.returncode:
        raise StageFailed(f"params.yaml was refused\n{done.stderr}", done.returncode)


def environment() -> dict[str, str]:
    """For DVC: `python` in a cmd is this interpreter, output is unbuffered, analytics are off."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {"DVC_NO_ANALYTICS": "1", **os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}


def devices_of(jobs: int) -> Devices:
    """The devices, for as many stages side by side as the limit `gpu` has slots.

    One slot unless somebody set more: `prefect gcl update gpu --limit 4`. A missing limit would not limit anything.
    Without a CUDA device there are `jobs` slots: the stages share the cores.
    """
    ids = cuda_ids()
    with get_client(sync_client=True) as client:
        with suppress(ObjectNotFound):
            return Devices(ids, client.read_global_concurrency_limit_by_name(GPU).limit)
        slots = 1 if ids else jobs
        with suppress(ObjectAlreadyExists):  # another flow was quicker
            client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=GPU, limit=slots))
    return Devices(ids, slots)


def main(argv: list[str] | None = None) -> None:
    """Run the flow in this process; exits with the code of the stage that failed."""
    parser = argparse.ArgumentParser(prog="python -m flows.recipe", description=recipe.__doc__)
    parser.add_argument("--until", default="compare", help="a stage, or all stages of a name")
    parser.add_argument("--jobs", type=int, default=2, help="stages side by side")
    arguments = parser.parse_args(argv)
    hide_in_tracebacks()
    signal.signal(signal.SIGINT, _leave_it_to_the_stages)
    try:
        recipe(until=arguments.until, jobs=arguments.jobs)
    except (StageFailed, UserError) as error:
        print(redacted(f"error: {error}"), file=sys.stderr)
        sys.exit(error.exit_code)
    except ParameterTypeError as error:
        print(redacted(f"error: {error}"), file=sys.stderr)
        sys.exit(BAD_PARAMS)
    except (TransportError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and UNREACHABLE not in str(error):
            raise
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            print("interrupted; the same command goes on from here", file=sys.stderr)
            sys.exit(TEMPORARY)
        gone = f"error: the Prefect server does not answer ({error}); finished stages are kept, run again"
        print(redacted(gone), file=sys.stderr)
        sys.exit(TEMPORARY)


def _leave_it_to_the_stages(number: int, frame: FrameType | None) -> None:
    """Ctrl-C in a terminal reaches the stages as well: they save their state and end, and so does the flow.

    The temporary server ends too, so the flow cannot report its state. A second Ctrl-C ends this process at once.
    """
    signal.signal(number, signal.default_int_handler)
    print("interrupted: stages save their state ...", file=sys.stderr)


if __name__ == "__main__":
    main()
