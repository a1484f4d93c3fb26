"""The lines of a stage say how it failed; the graph is read; devices are shared out. No server, no process of DVC."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import pytest
from httpx import ConnectError
from prefect.exceptions import ParameterTypeError

from adaptbert.codes import Code
from adaptbert.errors import BadParams
from flows import devices, log, process, recipe
from flows.devices import taken
from flows.process import CommandFailed, MayPass, StageFailed, heard, output
from flows.recipe import Graph
from tests.support.small_graph import write_graph

STOPPED = "stopped by SIGINT; the same command goes on from here"
BUSY = "a: another DVC process is at work here; run again when it is done$"


@pytest.mark.parametrize(
    ("printed", "kind", "message"),
    [
        ("ERROR: failed to reproduce 'a': Unable to acquire lock. Most likely", MayPass, BUSY),
        ("ERROR: unexpected error - ('/x/.git/index', '/x/.git/index.lock'): [Errno 17] File exists", MayPass, BUSY),
        ("ERROR: failed to reproduce 'a': 'a.txt' is busy, it is being blocked by:\n  (PID 3): dvc\n", MayPass, BUSY),
        ("ERROR: the disk is busy, it is being blocked by x\nERROR: failed: exited with 65", StageFailed, "a: exited"),
        ("ERROR: no such file", StageFailed, "a: dvc could not run it"),
    ],
)
def test_a_lock_is_told_from_a_failure(printed: str, kind: type[StageFailed], message: str) -> None:
    """It may pass; a stage's own exit code comes first."""

    def lines() -> Iterator[str]:
        yield from f"Running stage 'a':\n{printed}\n".splitlines(keepends=True)
        raise CommandFailed("dvc")

    said: list[str] = []
    with pytest.raises(kind, match=message) as caught:
        heard("a", lines(), said.append)
    assert type(caught.value) is kind
    assert said == ["Running stage 'a':", *printed.splitlines()]


def test_the_end_of_the_lines_says_how_a_stage_failed(tmp_path: Path) -> None:
    script = "print('ERROR: failed to run: exec python, exited with 65'); raise SystemExit(255)"
    said: list[str] = []
    with pytest.raises(StageFailed, match="left: exited with 65") as failure:
        heard("left", output([sys.executable, "-c", script], dict(os.environ), tmp_path), said.append)
    assert (failure.value.exit_code, said) == (65, ["ERROR: failed to run: exec python, exited with 65"])


def test_devices_are_shared_out_and_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("ADAPTBERT_DEVICES", "2")
    eight = "01234567"
    with taken(eight) as one, taken(eight) as two:
        assert [one, two] == [{"CUDA_VISIBLE_DEVICES": "0,1"}, {"CUDA_VISIBLE_DEVICES": "2,3"}]
    with taken(eight) as again, taken(()) as none:
        assert (again, none) == ({"CUDA_VISIBLE_DEVICES": "0,1"}, {})
    for wanted in ("9", "", "many"):  # the stage itself refuses what is no number, or too many
        monkeypatch.setenv("ADAPTBERT_DEVICES", wanted)
        with taken(eight) as whole:
            assert whole == {"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}


def test_whoever_lacks_a_device_keeps_none_while_it_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two flows that each want both devices: one at a time has them, and the other says that it waits."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(devices, "SECONDS_BETWEEN_TRIES", 0.01)
    said: list[str] = []

    def take() -> dict[str, str]:
        with taken(("0", "1"), said.append) as own:
            return own

    with ThreadPoolExecutor(1) as pool:
        with taken(["1"]):
            waiting = pool.submit(take)
            while not said:
                time.sleep(0.01)
            with taken(["0"]) as other:
                assert other == {"CUDA_VISIBLE_DEVICES": "0"}, "it is free, though somebody waits for both"
            assert not waiting.done()
        assert waiting.result(timeout=10) == {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert said == ["waits for 2 free devices of 0, 1: other stages have them"]
    monkeypatch.setattr(process, "_received", [signal.SIGINT])
    with taken(["1"]), pytest.raises(StageFailed, match=STOPPED):
        take()


LEFT = StageFailed("left: exited with 65", 65)
NO_GRAPH = BadParams(Code.DVC, "dvc.yaml", "it names no stage, or is missing", "restore it")
NO_SERVER = "error: the Prefect server does not answer ({}); finished stages are kept, run again"


@pytest.mark.parametrize(
    ("error", "is_after_a_signal", "code", "line"),
    [
        (LEFT, False, 65, "error: left: exited with 65"),
        (LEFT, True, 65, "error: left: exited with 65"),
        (StageFailed("left: exited with -15", -15), True, 75, STOPPED),
        (NO_GRAPH, False, 78, "error: AB-198 dvc.yaml: it names no stage, or is missing\n  restore it"),
        (ParameterTypeError("jobs: too few"), False, 78, "error: jobs: too few"),
        (ConnectError("refused"), False, 75, NO_SERVER.format("refused")),
        (ConnectError("refused"), True, 75, STOPPED),
        (RuntimeError("Failed to reach API at x"), False, 75, NO_SERVER.format("Failed to reach API at x")),
        (ConnectError("to http://me:secret@host"), False, 75, NO_SERVER.format("to http://***@host")),
    ],
)
def test_how_the_flow_ends(
    error: Exception,
    is_after_a_signal: bool,
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One message and a documented code."""
    monkeypatch.setattr(recipe, "recipe", mock.Mock(side_effect=error))
    monkeypatch.setattr(recipe, "hide_in_tracebacks", lambda: None)
    for name in ("take_signals", "await_server"):
        monkeypatch.setattr(process, name, lambda: None)
    monkeypatch.setattr(log, "shorten", lambda: None)
    monkeypatch.setattr(process, "_received", [signal.SIGINT] * is_after_a_signal)
    monkeypatch.setattr("os._exit", sys.exit)
    monkeypatch.setattr("psutil.Process", mock.MagicMock())
    with pytest.raises(SystemExit) as ended:
        recipe.main([])
    assert (ended.value.code, capsys.readouterr().err) == (code, f"{line}\n")


def test_more_or_fewer_jobs_than_may_be() -> None:
    for jobs in (0, 17):
        with pytest.raises(ParameterTypeError, match="jobs: Input should be"):
            recipe.recipe.validate_parameters({"jobs": jobs})


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
    assert graph.restorable == {"train@x", "train@y", "compare"}
    assert graph.sources == {"own.txt", "dvc.yaml", "params.yaml"}
    assert set(graph.needed("train")) == {"start", "train@x", "train@y"}
    assert set(graph.needed("compare")) == {"start", "kept", "train@x", "compare"}
    with pytest.raises(BadParams, match=r"no stage 'trian' \(did you mean 'train'\?\)\n  known: start, kept, train, c"):
        graph.needed("trian")
