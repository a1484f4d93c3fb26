"""The lines of a stage say how it failed; the graph is read; devices are shared out. No server, no process of DVC."""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError
from prefect.states import exception_to_failed_state

from adaptbert.errors import BadParams
from flows import devices
from flows.devices import Devices
from flows.process import CommandFailed, DvcLocked, MachineLost, StageFailed, heard, output
from flows.recipe import Graph, may_pass
from tests.support.small_graph import write_graph


@pytest.mark.parametrize(
    ("error", "retried"),
    [
        (DvcLocked("busy"), True),
        (MachineLost("gone"), True),
        (ConcurrencySlotAcquisitionError("503 Service Unavailable"), True),
        (StageFailed("a stage ended badly", 65), False),
    ],
)
def test_what_is_tried_again(error: Exception, retried: bool) -> None:
    """A server that was busy for a moment ended a flow of an hour."""

    async def answer() -> bool:
        unused: Any = None
        return await may_pass(unused, unused, await exception_to_failed_state(error))

    assert asyncio.run(answer()) is retried


@pytest.mark.parametrize(
    ("printed", "kind", "shown"),
    [
        ("ERROR: failed to reproduce 'a': Unable to acquire lock. Most likely", DvcLocked, 1),
        ("ERROR: unexpected error - ('/x/.git/index', '/x/.git/index.lock'): [Errno 17] File exists", DvcLocked, 1),
        ("ERROR: failed to reproduce 'a': 'a.txt' is busy, it is being blocked by:\n  (PID 3): dvc\n", DvcLocked, 1),
        ("ERROR: failed to reproduce 'a': exited with 65", StageFailed, 2),
        ("ERROR: the disk is busy, it is being blocked by x\nERROR: failed: exited with 65", StageFailed, 3),
    ],
)
def test_a_lock_is_not_shown_as_an_error(printed: str, kind: type[StageFailed], shown: int) -> None:
    """It is tried again; when no try is left, the message has the lines."""

    def lines() -> Iterator[str]:
        yield from f"Running stage 'a':\n{printed}\n".splitlines(keepends=True)
        raise CommandFailed("dvc")

    said: list[str] = []
    with pytest.raises(kind) as caught:
        heard("a", lines(), said.append)
    assert (type(caught.value), len(said)) == (kind, shown)
    assert printed in str(caught.value)


def test_the_end_of_the_lines_says_how_a_stage_failed(tmp_path: Path) -> None:
    script = "print('ERROR: failed to run: exec python, exited with 65'); raise SystemExit(255)"
    said: list[str] = []
    with pytest.raises(StageFailed, match="left: exited with 65") as failure:
        heard("left", output([sys.executable, "-c", script], dict(os.environ), tmp_path), said.append)
    assert (failure.value.exit_code, said) == (65, ["ERROR: failed to run: exec python, exited with 65"])


def test_devices_are_shared_out_and_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    eight = Devices(tuple("01234567"), slots=3)
    with eight.taken() as one, eight.taken() as two:
        assert [one, two] == [{"CUDA_VISIBLE_DEVICES": "0,1"}, {"CUDA_VISIBLE_DEVICES": "2,3"}]
    with eight.taken() as again, Devices((), slots=2).taken() as none:
        assert (again, none) == ({"CUDA_VISIBLE_DEVICES": "0,1"}, {})
    assert Devices(("0",), slots=0).share == 1


def test_whoever_lacks_a_device_keeps_none_while_it_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two flows that each want both devices: one at a time has them, and the other says that it waits."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(devices, "SECONDS_BETWEEN_TRIES", 0.01)
    both, said = Devices(("0", "1"), slots=1), list[str]()

    def take() -> dict[str, str]:
        with both.taken(said.append) as own:
            return own

    with ThreadPoolExecutor(1) as pool:
        with Devices(("1",), slots=1).taken():
            waiting = pool.submit(take)
            while not said:
                time.sleep(0.01)
            with Devices(("0",), slots=1).taken() as other:
                assert other == {"CUDA_VISIBLE_DEVICES": "0"}, "it is free, though somebody waits for both"
            assert not waiting.done()
        assert waiting.result(timeout=10) == {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert said == ["waits for 2 free devices of 0, 1: other flows have them"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it names no stage, or is missing"),
        ("stages: [\n", "expected node content"),
        ("stages: 3\n", "validation failed"),
        ("stages:\n a:\n  cmd: ${no}\n", "Could not find 'no'"),
    ],
)
def test_a_dvc_yaml_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_graph(text)
    with pytest.raises(BadParams) as error:
        Graph.read()
    assert str(error.value).startswith("AB-198 dvc.yaml: ")
    assert message in str(error.value)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pygtrie, which DVC uses
def test_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may run elsewhere, what other machines need, and what leads to a stage."""
    monkeypatch.chdir(tmp_path)
    write_graph(
        """
stages:
  start: {cmd: a, deps: [own.txt], outs: [start.txt]}
  kept: {cmd: b, deps: [start.txt], outs: [kept.txt: {persist: true}]}
  train: {foreach: [x, y], do: {cmd: c, deps: [start.txt], outs: ["${item}.txt"], meta: {gpu: true}}}
  compare: {cmd: d, deps: [x.txt, kept.txt], metrics: [metrics/comparison.json: {cache: false}]}
"""
    )
    graph = Graph.read()
    assert graph.upstream["compare"] == ["train@x", "kept"]
    assert graph.on_gpu == {"train@x", "train@y"}
    assert graph.restorable == {"start", "train@x", "train@y", "compare"}
    assert graph.sources == {"own.txt", "dvc.yaml", "params.yaml"}
    assert graph.compare == "compare"
    assert set(graph.needed("train")) == {"start", "train@x", "train@y"}
    assert set(graph.needed("compare")) == {"start", "kept", "train@x", "compare"}
    with pytest.raises(BadParams, match=r"no stage 'trian' \(did you mean 'train'\?\)\n  known: start, kept, train, c"):
        graph.needed("trian")
