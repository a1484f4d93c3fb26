"""`kill -9` at random moments of every training stage; the same command again, until it ends: the same bits.

Real stage processes with their command lines, params.yaml, MLflow store and work folder; only DVC is not there, whose
part (removing outputs before a stage runs) is played. Failures print the seed of the trial.
"""

import os
import random
import shutil
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import Any

import pytest

from adaptbert.runtime.locks import ROOT as WORK
from tests.faults.small_project import COMMANDS, FORKED, MADE, QUICK, make, run
from tests.support.encoders import NAMED
from tests.support.project import environment

ENDS = (0, -signal.SIGKILL)


@dataclass
class World:
    """A project whose text is tokenised; `golden` holds what a stage gives when nobody disturbs it."""

    root: Path
    env: dict[str, str]
    stages: tuple[str, ...] = tuple(COMMANDS)
    golden: dict[str, dict[str, bytes]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def run_undisturbed(self, last: str) -> None:
        """A stage and those before it, each once."""
        for stage in self.stages[: self.stages.index(last) + 1]:
            if stage not in self.golden:
                began = time.monotonic()
                assert self.run(stage) == 0, self.log()
                self.seconds[stage], self.golden[stage] = time.monotonic() - began, self.content(stage)

    def log(self) -> str:
        return (self.root / "log.txt").read_text(encoding="utf-8")

    def run(self, stage: str, kill_after: float | None = None, workers: int = 0) -> int | None:
        """A stage to its end or to its sudden end; the exit status."""
        env = self.env | {"ADAPTBERT_BATCH_WORKERS": str(workers)}
        process = FORKED.Process(target=run, args=(stage, self.root, env))
        process.start()
        assert process.pid is not None
        if kill_after is not None:
            time.sleep(kill_after)
            with suppress(ProcessLookupError):  # it has ended already
                os.killpg(process.pid, signal.SIGKILL)
        process.join()
        return process.exitcode

    def outputs(self, stage: str) -> list[Path]:
        words = COMMANDS[stage].split()
        return [self.root / value for name, value in pairwise(words) if name in MADE]

    def remove_outputs(self, stage: str) -> None:
        """As DVC does before it runs a stage."""
        for path in self.outputs(stage):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def content(self, stage: str) -> dict[str, bytes]:
        files = [file for path in self.outputs(stage) for file in (path, *path.rglob("*")) if file.is_file()]
        return {str(file.relative_to(self.root)): file.read_bytes() for file in files}

    def trial(self, stage: str, seed: int) -> str:
        """Kill once or more, run to the end, some of it with processes for batches; what is wrong then, or nothing."""
        draw = random.Random(f"{stage} {seed}")
        shutil.rmtree(self.root / WORK, ignore_errors=True)
        (self.root / "log.txt").unlink(missing_ok=True)
        kills = [draw.uniform(0.1, 1.1) * self.seconds[stage] for _ in range(draw.choice([1, 1, 2, 3]))]
        for moment in [*kills, None]:
            self.remove_outputs(stage)
            workers = draw.choice([0, 0, 2])
            status = self.run(stage, moment, workers)
            if status not in (ENDS if moment else (0,)):
                return f"exit {status}"
        here, expected = self.content(stage), self.golden[stage]
        return ", ".join(sorted(name for name in here.keys() | expected.keys() if here.get(name) != expected.get(name)))


@pytest.fixture(scope="module")
def _quick() -> None:
    """The server that forks the stages, with their settings."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in QUICK.items():
            patch.setenv(name, value)
        ensure_running()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, mlflow_tables: bytes, _quick: None) -> World:
    """With three micro-batches a step; tests/training/test_resume.py has runs without accumulation, too."""
    return made(tmp_path_factory, mlflow_tables)


def made(factory: pytest.TempPathFactory, tables: bytes, **more: Any) -> World:
    root = factory.mktemp("project")
    make(root, accumulate=3, **more)
    (root / "mlflow.db").write_bytes(tables)
    return World(root, environment(factory.mktemp("home")) | QUICK)


QUICK_STAGES = ("domain_transfer", "finetune section")
"""One stage of each trainer: the three steps of masked-language modelling are one function."""
FORTY = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.mark.parametrize(
    ("stage", "seeds"),
    [
        *((stage, range(1)) for stage in QUICK_STAGES),
        *(pytest.param(stage, range(1, 9), marks=FORTY) for stage in COMMANDS),
    ],
)
def test_a_kill_changes_no_bit(world: World, stage: str, seeds: range) -> None:
    world.run_undisturbed(stage)
    for seed in seeds:
        wrong = world.trial(stage, seed)
        assert not wrong, f"trial {seed} of {stage}: {wrong}\n{world.log()}"


WAYS = ("roberta", "modernbert", "deberta-v2, as v3", "rembert", "longformer")
"""A type of each way in which an encoder runs; that of BERT has the tests above."""


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.usefixtures("_quick")
def test_a_kill_changes_no_bit_of_any_encoder(
    tmp_path_factory: pytest.TempPathFactory, mlflow_tables: bytes, name: str
) -> None:
    """Domain transfer and fine-tuning of an encoder of each way."""
    base = tmp_path_factory.mktemp("base")
    NAMED[name].save(base)
    world = made(tmp_path_factory, mlflow_tables, base=base)
    world.stages = QUICK_STAGES
    for stage in QUICK_STAGES:
        world.run_undisturbed(stage)
        for seed in range(2):
            wrong = world.trial(stage, seed)
            assert not wrong, f"trial {seed} of {stage}: {wrong}\n{world.log()}"
