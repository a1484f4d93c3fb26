"""A run is killed: each of its parts, by each signal that users send, at random moments; the same command goes on.

Real processes on a tiny recipe: the flow with a Prefect server of its own and two jobs, or `adaptbert check` and then
`dvc repro`, beside two processes that keep two cores busy. Each training has two ranks, and processes for batches. Some
kills wait for the next time that DVC writes dvc.lock. A run that ends is compared with an undisturbed one.

    ROUNDS=3 python -m pytest -m nightly -s tests/faults    # 132 kills; `-s` shows each of them and the table
"""

import atexit
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import count, product
from pathlib import Path
from typing import Any

import psutil
import pytest
from ruamel.yaml import YAML

from adaptbert.runtime.signals import SIGNALS
from tests.faults.small_project import QUICK, values
from tests.support import tiny, tiny_tasks
from tests.support.project import alive, clone, restore_interrupt, stopped_at_the_end, wait_until, write_params

HANGS = 3600
"""Seconds after which a run is ended."""
ROUNDS = int(os.environ.get("ROUNDS", "1"))
"""In each of them every part is killed by every signal once: 32 kills of the flow, 12 of `dvc repro`."""
FLOW = (("flows.recipe", "--jobs", "2"),)
DVC = (("adaptbert.cli", "check"), ("dvc", "repro"))
PARTS = {
    FLOW: ("terminal", "flow", "server", "dvc", "stage", "rank", "worker", "warm"),
    DVC: ("terminal", "dvc", "stage"),
}
"""What is killed; the terminal sends its signal to all processes of the run."""
CODES = {FLOW: {75}, DVC: {252, 255}}
"""Exit codes of a run that a kill has ended; those of `dvc repro` are DVC's own."""
KINDS = (*SIGNALS, signal.SIGKILL)
OUTLIVED = {*product(["rank", "worker", "warm"], SIGNALS), *product(["server"], KINDS)}
"""What a run ignores, or says at its end alone: the next kill follows."""
AT_LOCK = 0.3
"""Share of the kills of what writes dvc.lock that wait for the next time that it is written."""
END = re.compile(r"^(error: |stopped by SIG(INT|TERM|HUP); the same command goes on from here$)", re.MULTILINE)
"""The line that says why a flow ended."""
OURS = (".git", ".dvc", ".prefect", ".work", "mlartifacts", "__pycache__")
"""Folders that are no outputs; what must not be left in them is looked for by name."""
LEFT = ("*.part", "*.tmp", "*.bad")
WARM = "adaptbert.flow.warm"
BUSY = [sys.executable, "-c", "from adaptbert.runtime import signals; signals.die_with_parent()\nwhile True: pass"]


@dataclass
class Row:
    """A row of the table: kills of one part by one signal, the codes of the runs that they ended, and seconds."""

    kills: int = 0
    codes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


@dataclass
class Recipe:
    """A project in a folder of its own, and the commands that are run in it."""

    root: Path
    env: dict[str, str]
    commands: tuple[tuple[str, ...], ...]
    temporary: Path
    """For temporary files; its path is short, because sockets lie there. What is killed leaves some."""

    def start(self) -> "subprocess.Popen[bytes]":
        """The commands to their ends, the last one in the background, in a process group of its own."""
        *before, last = ([sys.executable, "-m", *command] for command in self.commands)
        with self.log.open("wb") as log:
            for command in before:
                done = subprocess.run(command, cwd=self.root, env=self.env, stdout=log, stderr=log, timeout=300)
                assert done.returncode == 0, self.said()
            return subprocess.Popen(
                last,
                cwd=self.root, env=self.env, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=restore_interrupt,
            )  # fmt: skip

    @property
    def log(self) -> Path:
        return self.root.parent / "log.txt"

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait_for_lock(self, process: "subprocess.Popen[bytes]") -> None:
        """Until DVC has begun to write dvc.lock, or has ended."""

        def state() -> tuple[int, int]:
            with suppress(FileNotFoundError):
                status = (self.root / "dvc.lock").stat()
                return status.st_mtime_ns, status.st_size
            return 0, 0

        before = state()
        while state() == before and process.poll() is None:
            time.sleep(0.0005)

    def results(self) -> dict[str, bytes]:
        """Every file that is not of git, DVC, Prefect, MLflow or Python; dvc.lock in one order of its stages."""
        files = {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not {*path.relative_to(self.root).parts} & {*OURS} and "mlflow.db" not in path.name
        }
        lock = YAML(typ="safe").load(files["dvc.lock"])
        return files | {"dvc.lock": json.dumps(lock, sort_keys=True).encode()}

    def work(self) -> set[str]:
        """What lies in .work, where damaged files are kept; but for what tracking leaves, which a slow machine ends."""
        files = (str(path.relative_to(self.root)) for path in self.root.glob(".work/**/*"))
        return {name for name in files if "damaged" not in name and not name.startswith(".work/mlflow")}

    def processes(self) -> list[int]:
        """Processes that work in this folder."""
        here = (process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == str(self.root))
        return [process.pid for process in here if alive(process.pid)]

    def judge_left(self) -> None:
        """No process is left."""
        wait_until(lambda: self.processes() == [], 120)


def part_of(process: psutil.Process) -> str:
    """Which part of a run a process is."""
    words, above = (" ".join(each.cmdline()) for each in (process, process.parent()))
    if WARM in words:  # it forks one that looks after a stage, and that the stage, which forks processes for batches
        forked = [WARM in " ".join(each.cmdline()) for each in process.parents()]
        return ("warm", "nurse", "stage", "worker")[min(sum(forked), 3)]
    for sign, part in ((r"training\.ranks", "rank"), (r"-m stages\.", "stage")):
        if re.search(sign, words):
            return "worker" if re.search(sign, above) else part
    signs = {"spawn_main": "worker", "uvicorn": "server", r"\bdvc\b.* repro\b": "dvc", r"flows\.recipe": "flow"}
    return next((part for sign, part in signs.items() if re.search(sign, words)), "")


def those(process: "subprocess.Popen[bytes]", part: str) -> list[int]:
    """The processes of a run that are this part; of a terminal, the negative id of their group."""
    ids = [-process.pid] if part == "terminal" and process.poll() is None else []
    with suppress(psutil.Error):
        top = psutil.Process(process.pid)
        for each in (top, *top.children(recursive=True)):
            with suppress(psutil.Error, AttributeError):  # it, or its parent, has just ended
                ids += [each.pid] * (part_of(each) == part)
    return ids


def strike(recipe: Recipe, process: "subprocess.Popen[bytes]", part: str, number: int, draw: random.Random) -> bool:
    """Send a signal at a random moment; whether the run had not ended before."""
    if part in ("terminal", "flow", "dvc") and draw.random() < AT_LOCK:
        recipe.wait_for_lock(process)
        seconds = draw.uniform(0, 0.6)
    else:
        while process.poll() is None and not those(process, part):
            time.sleep(0.1)
        seconds = draw.uniform(0, 20)
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    while process.poll() is None:
        if ids := those(process, part):
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(draw.choice(ids), number)
                return True
        time.sleep(0.1)
    return False


def check(recipe: Recipe, golden: Recipe) -> None:
    """The bits of an undisturbed run, and nothing else."""
    here, expected = recipe.results(), golden.results()
    differ = sorted(name for name in here.keys() | expected.keys() if here.get(name) != expected.get(name))
    assert differ == [], recipe.said()
    left = [str(path.relative_to(recipe.root)) for pattern in LEFT for path in recipe.root.rglob(pattern)]
    assert [path for path in left if ".dvc/cache" not in path] == []
    assert recipe.work() <= golden.work()


def tiny_recipe() -> dict[str, Any]:
    """Every kind of stage once or twice, in about a minute."""
    document = values(2)
    document["corpora"] = {name: {"path": f"data/mine/{name}.txt"} for name in ("general", "domain")}
    types = {
        "section": {"type": "text-classification"},
        "mention": {"type": "token-classification", "tag_scheme": "bio"},
    }
    for name, of_type in types.items():
        files = {split: f"data/mine/{name}.{split}.parquet" for split in ("train", "dev", "test")}
        document["tasks"][name] = {**of_type, **files}
    document["tokenizer"] = {"vocabulary_size": 150, "min_frequency": 1}
    document["tokenize"] = {"max_length": tiny.MAX_LENGTH, "heldout_fraction": 0.1}
    del document["arms"]["scratch"]
    return document


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The project as it is before the first run."""
    home = tmp_path_factory.mktemp("home")
    root = tmp_path_factory.mktemp("template") / "project"
    project = clone(root, home)
    (root / "dvc.lock").unlink()
    for path in [*root.glob("metrics/**/*.json"), *root.glob("reports/**/*")]:
        if path.is_file():
            path.unlink()
    (root / "data/mine").mkdir()
    for kind in tiny.WORDS:
        (root / f"data/mine/{kind}.txt").write_text("\n".join(tiny.sentences(kind, 120)), encoding="utf-8")
    for name, shape in (("section", "single_sentence"), ("mention", "sequence_labelling")):
        tiny_tasks.task(root / "task", shape)
        for split in ("train", "dev", "test"):
            (root / f"task/{split}.parquet").rename(root / f"data/mine/{name}.{split}.parquet")
        shutil.rmtree(root / "task")
    write_params(root, tiny_recipe())
    return root, project.env | QUICK


def fresh(
    template: tuple[Path, dict[str, str]], folder: Path, commands: tuple[tuple[str, ...], ...], **more: str
) -> Recipe:
    root, env = template
    shutil.copytree(root, folder / "project", symlinks=True)
    temporary = Path(tempfile.mkdtemp(prefix="kills-"))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    env = {name: value for name, value in env.items() if name != "PREFECT_API_URL"} | more
    own = {"DVC_SITE_CACHE_DIR": str(folder / "site"), "TMPDIR": str(temporary)}
    return Recipe(folder / "project", env | own, commands, temporary)


class Series:
    """Kills of one command; as text, a table of them.

    Args:
        recipes: of that command, each in a folder of its own; nobody disturbs the first.

    Attributes:
        wrong: what was not as it should be; another recipe follows.
    """

    def __init__(self, recipes: Iterator[Recipe], seed: int) -> None:
        self._recipes, self._draw = recipes, random.Random(seed)
        self._rows: dict[tuple[str, str], Row] = defaultdict(Row)
        self.wrong: list[str] = []
        self._golden = self._recipe = next(recipes)
        self._moment, self._equal = time.monotonic(), -1  # the undisturbed one does not count
        self._begin()
        self._end()

    def run(self, rounds: int) -> None:
        commands = self._golden.commands
        cases = [*product(PARTS[commands], KINDS)] * rounds
        self._draw.shuffle(cases)
        self._begin()
        for part, number in cases:
            while not strike(self._recipe, self._process, part, number, self._draw):
                self._end()
                self._begin()
            self._moment, self._row = time.monotonic(), self._rows[part, number.name]
            self._row.kills += 1
            print(f"{time.strftime('%H:%M:%S')}  {part}: {number.name}", flush=True)
            is_own = part in PARTS[commands][:2] and (commands == DVC or number == signal.SIGKILL)
            self._codes = CODES[commands] | ({-number} if is_own else set()) | {0}
            if (part, number) not in OUTLIVED:
                self._end()
                self._begin()
        while not self._end():
            self._begin()

    def _begin(self) -> None:
        self._process, self._row, self._codes = self._recipe.start(), Row(), {0}

    def _end(self) -> bool:
        """Judge the end of a run; whether it was the last one of its recipe."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(HANGS)
        self._row.seconds.append(time.monotonic() - self._moment)
        try:
            self._judge(self._recipe.said())
            is_last = self._process.returncode == 0
        except (AssertionError, subprocess.TimeoutExpired) as error:
            self.wrong.append(f"{self._recipe.root}: {error}")
            print(f"wrong in {self.wrong[-1]}", flush=True)
            self.stop()
            is_last = True
        self._row.codes.append(self._process.wait())
        if is_last:
            self._recipe = next(self._recipes)
        return is_last

    def _judge(self, said: str) -> None:
        code = self._process.wait(0)
        # A process that has said how it ends may still be shutting down when the signal comes.
        is_late = code in {-number for number in KINDS} and END.search(said) is not None
        assert code in self._codes or is_late, f"{code}\n{said}"
        assert "Traceback" not in said, said
        assert len(END.findall(said)) == 1 or code != 75, said
        if code == 0 or self._draw.random() < 0.5:  # else the next run begins at once
            wait_until(lambda: self._recipe.processes() == [], 120)
        if code == 0:
            check(self._recipe, self._golden)
            self._equal += 1

    def stop(self) -> None:
        for pid in self._recipe.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def __str__(self) -> str:
        lines = ["process | signal | kills | codes of the runs that ended | seconds to the end", "---|---|---|---|---"]
        for (part, name), row in sorted(self._rows.items()):
            codes, seconds = " ".join(map(str, row.codes)), " ".join(f"{value:.1f}" for value in row.seconds)
            lines.append(f"{part} | {name} | {row.kills} | {codes or 'went on'} | {seconds}")
        return "\n".join([*lines, f"{self._equal} whole recipes, all of them with the bits of an undisturbed one"])


@pytest.mark.nightly
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("commands", [FLOW, DVC], ids=["flow", "dvc repro"])
def test_kills_change_no_bit(
    template: tuple[Path, dict[str, str]], tmp_path: Path, commands: tuple[tuple[str, ...], ...]
) -> None:
    more = {"ADAPTBERT_DEVICES": "2", "ADAPTBERT_BATCH_WORKERS": "1"}
    series = Series((fresh(template, tmp_path / str(number), commands, **more) for number in count()), seed=1)
    assert series.wrong == []
    with ExitStack() as beside:
        for _ in range(2):
            beside.enter_context(stopped_at_the_end(subprocess.Popen(BUSY)))
        try:
            series.run(ROUNDS)
        finally:
            print(f"\n{series}")
            series.stop()
    assert series.wrong == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_without_the_look_one_kill_is_for_ever(template: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """The suite above can fail: after a kill at dvc.lock plain DVC stops for ever, `adaptbert check` mends it."""
    plain = fresh(template, tmp_path, DVC[1:])
    process = plain.start()
    plain.wait_for_lock(process)
    process.kill()
    process.wait(60)
    wait_until(lambda: plain.processes() == [], 60)
    for _ in range(2):
        assert plain.start().wait(300) == 255
        assert "validation failed" in plain.said()
    recipe = Recipe(plain.root, plain.env, DVC, plain.temporary)
    process = recipe.start()
    assert "dvc.lock is damaged or cut short" in recipe.said()
    wait_until(lambda: "Running stage 'collect" in recipe.said(), 120)
    process.kill()
    process.wait(60)
    wait_until(lambda: recipe.processes() == [], 120)
