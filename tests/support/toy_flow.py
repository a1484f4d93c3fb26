"""A toy pipeline of four stages for tests of flows/recipe.py with a real server, a real worker and real DVC.

It has the project's own params.yaml and stages (the flow checks them first), and its own dvc.yaml, whose stages take
their orders from toy.yaml: how long to run, and how to end.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import demonstration
from tests.support.project import ROOT, Project, environment

TOY_STAGE = """
import os, signal, sys, time
from pathlib import Path
from adaptbert.runtime.signals import die_with_parent
die_with_parent(signal.SIGINT)  # as every stage
name, seconds, code, out = sys.argv[1:]
print("begin", name)
Path(f"{name}.pid").write_text(str(os.getpid()))
Path(f"{name}.begin").write_text(str(time.time()))
Path(f"{name}.threads").write_text(os.environ["OMP_NUM_THREADS"])
Path(f"{name}.devices").write_text(os.environ.get("CUDA_VISIBLE_DEVICES", "all"))
try:
    time.sleep(float(seconds))
except KeyboardInterrupt:
    sys.exit(75)
Path(f"{name}.end").write_text(str(time.time()))
if code != "0":
    print("error: the reason", file=sys.stderr)
    sys.exit(int(code))
if name == "compare":
    Path(out).write_text("{}")
    Path("reports").mkdir(exist_ok=True)
    Path("reports/index.md").write_text("# Which steps helped?\\n\\n[Report with figures](index.html)\\n")
else:
    Path(out).write_text(name + seconds)
"""

TOY_STAGE_ENTRY = """
  {name}:
    cmd: exec python toy.py {name} ${{toy.{name}.seconds}} ${{toy.{name}.code}} {out}
    deps: [{deps}]
    meta: {{gpu: {gpu}}}
    {kind}:
      - {out}:
          {option}
"""


def toy_pipeline() -> str:
    stages = [
        ("start", "toy.py", "outs", "start.txt", "false"),
        ("left", "start.txt", "outs", "left.txt", "true"),
        ("right", "start.txt", "outs", "right.txt", "true"),
        ("compare", "left.txt, right.txt", "metrics", "metrics/comparison.json", "false"),
    ]
    entries = (
        TOY_STAGE_ENTRY.format(name=name, deps=deps, kind=kind, out=out, gpu=gpu, option="cache: false")
        for name, deps, kind, out, gpu in stages
    )
    return "vars:\n  - toy.yaml\nstages:" + "".join(entries)


class Toy(Project):
    """The toy pipeline with its orders and the marks that its stages leave."""

    def order(self, **stages: tuple[float, int]) -> None:
        """Seconds and exit code of each stage; 0.1 s and 0 if not named."""
        orders = {
            name: dict(zip(("seconds", "code"), stages.get(name, (0.1, 0)), strict=True))
            for name in {"start", "left", "right", "compare", *stages}
        }
        (self.root / "toy.yaml").write_text(json.dumps({"toy": orders}))
        for pattern in ("*.begin", "*.end", "*.pid"):
            for mark in self.root.glob(pattern):
                mark.unlink()

    def began(self, stage: str) -> bool:
        return (self.root / f"{stage}.begin").exists()

    def moment(self, stage: str, mark: str) -> float:
        return float((self.root / f"{stage}.{mark}").read_text())

    def without_server(self) -> "Toy":
        """The same with nothing said of a server, nor of threads."""
        env = {name: value for name, value in self.env.items() if name not in ("PREFECT_API_URL", "OMP_NUM_THREADS")}
        return Toy(self.root, env | {"PREFECT_HOME": str(self.root / "another")})


def write_project(root: Path, stage: str, pipeline: str) -> None:
    """What the flow reads of this project, with another dvc.yaml."""
    for name in ("flows", "stages", "data/sources", "presets"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("prefect.yaml", "prefect.toml", "params.yaml", "plan.json", ".gitignore"):
        shutil.copy(ROOT / name, root)
    demonstration.link(root)
    (root / "toy.py").write_text(stage)
    (root / "dvc.yaml").write_text(pipeline)


@contextmanager
def served(root: Path, home: Path) -> Iterator[Toy]:
    """The toy in a folder of its own, with a Prefect server."""
    write_project(root, TOY_STAGE, toy_pipeline())
    (root / "metrics").mkdir()
    toy = Toy(root, environment(home))
    toy.order()
    for command in (["init", "-q", "."], ["add", "params.yaml"], ["commit", "-q", "-m", "toy"]):
        subprocess.run(["git", *command], cwd=root, env=toy.env, check=True)
    assert toy.run("dvc", "init", "-q").returncode == 0
    with toy.server():
        assert toy.run("prefect", "gcl", "create", "gpu", "--limit", "1").returncode == 0
        yield toy
