"""`kill -9` at random moments of every training stage; the same command again, until it ends: the same bits.

Real stage processes with their command lines, params.yaml, MLflow store and work folder; only DVC is not there, whose
part (removing outputs before a stage runs) is played. Failures print the seed of the trial.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from adaptbert.runtime.locks import ROOT as WORK
from tests.faults import sabotages
from tests.faults.small_project import COMMANDS, MADE, QUICK, make
from tests.support.project import ROOT, environment

KILLED = -signal.SIGKILL


@dataclass
class World:
    """A project whose text is tokenised; `golden` holds what each stage gives when nobody disturbs it."""

    root: Path
    server: "subprocess.Popen[str]"
    env: dict[str, str]
    golden: dict[str, dict[str, bytes]]
    seconds: dict[str, float]

    def start(self, stage: str, sabotage: str = "", workers: int = 0) -> int:
        """The process group in which the stage runs."""
        order = {
            "cwd": str(self.root),
            "stage": stage.split()[0],
            "argv": COMMANDS[stage].split(),
            "env": self.env | {"ADAPTBERT_BATCH_WORKERS": str(workers)},
            "log": str(self.root / "log.txt"),
            "sabotage": sabotage,
        }
        assert self.server.stdin is not None
        self.server.stdin.write(json.dumps(order) + "\n")
        self.server.stdin.flush()
        group = int(self.answer())
        assert group > 1, "kill would reach this process"
        return group

    def answer(self) -> str:
        assert self.server.stdout is not None
        return self.server.stdout.readline().strip()

    def run(self, stage: str, kill_after: float | None = None, **how: Any) -> int:
        """To its end, or to its sudden end; the exit status."""
        group = self.start(stage, **how)
        if kill_after is not None:
            time.sleep(kill_after)
            with suppress(ProcessLookupError):  # it has ended already
                os.killpg(group, signal.SIGKILL)
        return int(self.answer())

    def remove_outputs(self, stage: str) -> None:
        """As DVC does before it runs a stage."""
        for path in self.outputs(stage):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def outputs(self, stage: str) -> list[Path]:
        words = COMMANDS[stage].split()
        return [self.root / value for name, value in pairwise(words) if name in MADE]

    def content(self, stage: str) -> dict[str, bytes]:
        files = [file for path in self.outputs(stage) for file in (path, *path.rglob("*")) if file.is_file()]
        return {str(file.relative_to(self.root)): file.read_bytes() for file in files}

    def log(self) -> str:
        return (self.root / "log.txt").read_text(encoding="utf-8")

    def trial(self, stage: str, seed: int, sabotage: str = "") -> str:
        """Kill once or more, run to the end; what is wrong then, or nothing."""
        draw = random.Random(f"{stage} {seed}")
        self.remove_outputs(stage)
        shutil.rmtree(self.root / WORK, ignore_errors=True)
        (self.root / "log.txt").unlink(missing_ok=True)
        for _ in range(draw.choice([1, 1, 2, 3])):
            status = self.run(
                stage,
                draw.uniform(0.1, 1.1) * self.seconds[stage],
                sabotage=sabotage,
                workers=draw.choice([0, 0, 2]),
            )
            if status not in (KILLED, 0):
                return f"exit {status}"
            self.remove_outputs(stage)
        status = self.run(stage, sabotage=sabotage, workers=draw.choice([0, 0, 2]))
        if status != 0:
            return f"exit {status}"
        here, expected = self.content(stage), self.golden[stage]
        return ", ".join(sorted(name for name in here.keys() | expected.keys() if here.get(name) != expected.get(name)))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.server"],
        cwd=ROOT,
        env=environment(tmp_path_factory.mktemp("home")) | QUICK,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            yield server
        finally:
            server.kill()


@pytest.fixture(scope="module", params=[1, 3], ids=["no accumulation", "accumulation of 3"])
def world(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    server: "subprocess.Popen[str]",
    mlflow_tables: bytes,
) -> World:
    root = tmp_path_factory.mktemp("project")
    make(root, request.param)
    (root / "mlflow.db").write_bytes(mlflow_tables)
    world = World(root, server, QUICK, {}, {})
    for stage in COMMANDS:
        began = time.monotonic()
        assert world.run(stage) == 0, world.log()
        world.seconds[stage] = time.monotonic() - began
        world.golden[stage] = world.content(stage)
    return world


@pytest.mark.parametrize("stage", COMMANDS)
def test_undisturbed_it_repeats(world: World, stage: str) -> None:
    """No trial below is worth anything before this holds."""
    shutil.rmtree(world.root / WORK, ignore_errors=True)
    world.remove_outputs(stage)
    assert world.run(stage, workers=2) == 0, world.log()
    assert world.content(stage) == world.golden[stage]


def check(world: World, stage: str, seeds: range) -> None:
    for seed in seeds:
        wrong = world.trial(stage, seed)
        assert not wrong, f"trial {seed} of {stage}: {wrong}\n{world.log()}"


@pytest.mark.parametrize("stage", COMMANDS)
def test_a_kill_changes_no_bit(world: World, stage: str) -> None:
    check(world, stage, range(1))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("stage", COMMANDS)
def test_forty_kills_change_no_bit(world: World, stage: str) -> None:
    """Two worlds x five stages x four trials."""
    check(world, stage, range(1, 5))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("sabotage", sabotages.ALL)
def test_each_sabotage_is_seen(world: World, sabotage: str) -> None:
    differences = [
        world.trial(stage, seed, sabotage) for stage in ("pretrain", "finetune section") for seed in range(1, 4)
    ]
    assert any(differences), "the trials above would not see this"
