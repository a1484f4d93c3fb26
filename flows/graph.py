"""The graph of dvc.yaml, as DVC reads it, what of it is out of date, and the place where each of its stages runs."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from threading import Semaphore
from typing import TYPE_CHECKING

from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.settings import PREFECT_API_URL

from adaptbert.codes import Code
from adaptbert.errors import INTERNAL, BadParams, nearest
from flows.devices import Devices, cuda_ids
from flows.machines import Machines
from flows.stage_process import DVC, LOCKED, StageFailed, environment

if TYPE_CHECKING:
    from dvc.repo import Repo

GPU = "gpu"


@dataclass(frozen=True)
class Place:
    """Where a stage runs.

    Attributes:
        upstream: the stages that it needs.
        trains: whether it wants a GPU.
        devices: those of this machine, if it trains here.
        slots: of this flow, for stages that train here; None: the limit `gpu` of the server counts them.
        machines: if it runs elsewhere.
    """

    upstream: list[str]
    trains: bool
    devices: Devices | None
    slots: Semaphore | None
    machines: Machines | None


@dataclass(frozen=True)
class Graph:
    """The stages of dvc.yaml, as DVC reads it.

    Attributes:
        upstream: stage -> the stages that it needs, in the order of the file.
        on_gpu: stages with `meta: {gpu: true}`.
        outputs: stage -> the paths that it writes.
        restorable: stages whose outputs DVC can fetch from the run cache of a remote.
        sources: files and folders that stages read and none of them writes, and those that describe the stages.
    """

    upstream: dict[str, list[str]]
    on_gpu: frozenset[str]
    outputs: dict[str, frozenset[str]]
    restorable: frozenset[str]
    sources: frozenset[str]

    @classmethod
    def read(cls) -> "Graph":
        """Of this folder.

        Raises:
            BadParams: there is no dvc.yaml, or DVC cannot read it.
        """
        from dvc.exceptions import DvcException
        from dvc.repo import Repo

        try:
            return cls._of(Repo())
        except (DvcException, OSError) as error:
            reasons = [" ".join(str(each).split()) for each in (error, error.__cause__) if each is not None]
            raise _unreadable(": ".join(dict.fromkeys(reasons))) from None

    @classmethod
    def _of(cls, opened: "Repo") -> "Graph":
        with opened as repo:
            edges = repo.index.graph
            if not edges:
                raise _unreadable("it names no stage, or is missing")
            written = {out.def_path for stage in edges for out in stage.outs}
            read = {dep.def_path for stage in edges for dep in stage.deps if dep.is_in_repo}
            return cls(
                upstream={stage.addressing: [other.addressing for other in edges.successors(stage)] for stage in edges},
                on_gpu=frozenset(stage.addressing for stage in edges if (stage.meta or {}).get(GPU)),
                outputs={stage.addressing: frozenset(out.def_path for out in stage.outs) for stage in edges},
                restorable=frozenset(
                    stage.addressing
                    for stage in edges
                    if stage.cmd and stage.deps and stage.outs and not any(out.persist for out in stage.outs)
                ),
                sources=frozenset({"dvc.yaml", "params.yaml", *read} - written),
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

    def out_of_date(self, stages: Mapping[str, list[str]]) -> dict[str, list[str]]:
        """The part of `stages` that has changed or needs one that has: asked once, not by a `dvc repro` of each.

        Where DVC cannot tell, because another DVC process is at work, all of them.
        """
        told = subprocess.run([*DVC, "status", "--json"], capture_output=True, text=True, env=environment())
        if told.returncode and any(sign in told.stderr for sign in LOCKED):
            return dict(stages)
        if told.returncode:
            raise StageFailed(f"dvc status: exited with {told.returncode}\n{told.stderr}", INTERNAL)
        stale = set(json.loads(told.stdout))
        for stage in TopologicalSorter(stages).static_order():
            if not stale.isdisjoint(stages[stage]):
                stale.add(stage)
        return {
            stage: [other for other in before if other in stale] for stage, before in stages.items() if stage in stale
        }

    def writers_of(self, path: Path) -> frozenset[str]:
        return frozenset(stage for stage, paths in self.outputs.items() if path.as_posix() in paths)

    def places(self, stages: Iterable[str], jobs: int, machines: Machines | None) -> dict[str, Place]:
        """Where each stage runs: on other machines those of which nothing but the outputs has to come back.

        A stage that keeps its outputs until it replaces them reads files of this machine, and is not in the run cache.
        """
        away = self.restorable if machines is not None else frozenset()
        here = self.on_gpu.intersection(stages) - away
        devices = devices_of(jobs) if here else None
        slots = Semaphore(devices.slots) if devices is not None and not has_server() else None
        return {
            stage: Place(
                self.upstream[stage],
                stage in self.on_gpu,
                devices if stage in here else None,
                slots if stage in here else None,
                machines if stage in away else None,
            )
            for stage in stages
        }


def _unreadable(reason: str) -> BadParams:
    remedy = "restore it (git checkout dvc.yaml), or correct what is named here"
    return BadParams(Code.DVC, "dvc.yaml", reason, remedy)


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
        if has_server():
            with suppress(ObjectAlreadyExists):  # another flow was quicker
                client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=GPU, limit=slots))
    return Devices(ids, slots)


def has_server() -> bool:
    """Whether a server outlives this flow.

    The temporary one that a flow brings ends with it, on Ctrl-C before the flow has given its slots back: they would
    stay taken in its database, and the next flow would wait for ever.
    """
    return PREFECT_API_URL.value() is not None
