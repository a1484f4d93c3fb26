"""A toy pipeline of four stages for tests of flows/recipe.py with a real server, a real worker and real DVC.

It has the project's own params.yaml and stages (the flow checks them first), and its own dvc.yaml, whose stages take
their orders from toy.yaml: how long to run, and how to end.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import demonstration
from tests.support.project import ROOT, Project, environment

STAGE = """
import os, signal, sys, time
from pathlib import Path
from adaptbert.runtime.signals import PASSED_ON, die_with_parent
signal.signal(PASSED_ON, signal.default_int_handler)
die_with_parent()  # as every stage
name, seconds, code, out, *read = sys.argv[1:]


def mark(kind, text, mode="w"):
    with Path(os.environ.get("MARKS", "."), f"{name}.{kind}").open(mode) as file:
        file.write(str(text))


for path in read:
    Path(path).read_text()
print("begin", name, flush=True)
mark("pid", os.getpid())
mark("begin", time.time())
mark("threads", os.environ["OMP_NUM_THREADS"])
mark("devices", os.environ.get("CUDA_VISIBLE_DEVICES", "all"))
mark("folders", os.getcwd() + "\\n", "a")
try:
    time.sleep(float(seconds))
except KeyboardInterrupt:
    sys.exit(75)
mark("end", time.time())
if code != "0":
    print("error: the reason: no answer of https://user:planted@host/x?sig=planted", file=sys.stderr)
    sys.exit(int(code))
if out == "metrics/comparison.json":
    Path(out).write_text("{}")
    Path("reports").mkdir(exist_ok=True)
    Path("reports/index.md").write_text("# The recipe: undecided on section\\n\\n[Report with figures](index.html)\\n")
else:
    Path(out).write_text(name + seconds)
"""


def pipeline(*stages: str) -> str:
    return "vars:\n  - toy.yaml\nstages:" + "".join(stages)


def entry(
    name: str, *read: str, gpu: bool = False, kind: str = "outs", out: str = "", option: str = "cache: false"
) -> str:
    """An entry of dvc.yaml.

    Args:
        read: files that other stages write.
        out: its output; empty: a text of its name.
    """
    out = out or f"{name}.txt"
    return f"""
  {name}:
    cmd: exec python toy.py {name} ${{toy.{name}.seconds}} ${{toy.{name}.code}} {out} {" ".join(read)}
    deps: [{", ".join(["toy.py", *read])}]
    meta: {{gpu: {str(gpu).lower()}}}
    {kind}:
      - {out}:
          {option}
"""


STAGES = ("start", "left", "right", "compare")
FOUR_STAGES = pipeline(
    entry("start"),
    entry("left", "start.txt", gpu=True),
    entry("right", "start.txt", gpu=True),
    entry("compare", "left.txt", "right.txt", kind="metrics", out="metrics/comparison.json"),
)


class Toy(Project):
    """The toy pipeline with its orders and the marks that its stages leave."""

    def order(self, **stages: tuple[float, int]) -> None:
        """Seconds and exit code of each stage; 0.1 s and 0 if not named."""
        orders = {name: dict(zip(("seconds", "code"), stages.get(name, (0.1, 0)), strict=True)) for name in STAGES}
        (self.root / "toy.yaml").write_text(json.dumps({"toy": orders}))
        for kind in ("begin", "end", "pid", "folders"):
            for mark in self.marks.glob(f"*.{kind}"):
                mark.unlink()

    def flow(self, *arguments: str, code: int = 0, timeout: float = 120) -> str:
        """What the flow printed; it must end with this code, and never with a traceback."""
        ran = self.run("flows.recipe", *arguments, timeout=timeout)
        assert (ran.returncode, "Traceback" in ran.stdout) == (code, False), ran.stdout
        return ran.stdout

    @property
    def marks(self) -> Path:
        """Where stages leave their marks."""
        return Path(self.env.get("MARKS", self.root))

    def mark(self, stage: str, kind: str) -> str:
        return (self.marks / f"{stage}.{kind}").read_text()

    def began(self, stage: str) -> bool:
        return (self.marks / f"{stage}.begin").exists()

    def moment(self, stage: str, kind: str) -> float:
        return float(self.mark(stage, kind))

    def are_side_by_side(self, *stages: str) -> bool:
        begins, ends = ([self.moment(stage, kind) for stage in stages] for kind in ("begin", "end"))
        return max(begins) < min(ends)

    def with_devices(self, number: int, **variables: str) -> "Toy":
        """The same where torch is made to say that there are so many CUDA devices."""
        folder = self.root / f"devices-{number}"
        folder.mkdir(exist_ok=True)
        (folder / "torch.py").write_text(f"class cuda:\n    device_count = staticmethod(lambda: {number})\n")
        path = os.pathsep.join(filter(None, [str(folder), self.env.get("PYTHONPATH", "")]))
        return Toy(self.root, self.env | {"PYTHONPATH": path} | variables)

    def without_server(self) -> "Toy":
        """The same with nothing said of a server, nor of threads."""
        env = {name: value for name, value in self.env.items() if name not in ("PREFECT_API_URL", "OMP_NUM_THREADS")}
        return Toy(self.root, env | {"PREFECT_HOME": str(self.root / "another")})


def init_dvc(root: Path, settings: str = "") -> None:
    """Set up as `dvc init` does."""
    (root / ".dvc").mkdir()
    (root / ".dvc/config").write_text(settings)
    (root / ".dvc/.gitignore").write_text("/config.local\n/tmp\n/cache\n")


def write_project(root: Path, graph: str) -> None:
    """What the flow reads of this project, with another dvc.yaml."""
    for name in ("flows", "stages", "data/sources", "presets"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("prefect.yaml", "prefect.toml", "params.yaml", "plan.json", ".gitignore"):
        shutil.copy(ROOT / name, root)
    demonstration.copy(root)
    (root / "toy.py").write_text(STAGE)
    (root / "dvc.yaml").write_text(graph)


@contextmanager
def served(root: Path, home: Path) -> Iterator[Toy]:
    """The toy in a folder of its own, with a Prefect server."""
    write_project(root, FOUR_STAGES)
    (root / "metrics").mkdir()
    toy = Toy(root, environment(home))
    toy.order()
    for command in (["init", "-q", "."], ["add", "params.yaml"], ["commit", "-q", "-m", "toy"]):
        subprocess.run(["git", *command], cwd=root, env=toy.env, check=True)
    init_dvc(root)
    with toy.server():
        yield toy
