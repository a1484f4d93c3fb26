"""A commit -> its record: the recipes and the bad inputs by its own commands, in clones of its own, on one thread.

Each part of a record is a file of its own, named by commit, part and a digest of what decides it, and is used again.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from adaptbert.runtime.libraries import QUIET
from benchmarks.machine import PACKAGES, machine
from benchmarks.same_results import messages, outputs, recipes, tiny_sets

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ASKED = ("places", "values", "import", "checkpoints")
"""Keys of a schema that messages.py needs."""
SMOKE, FOUR_TYPES, MESSAGES = "smoke", "four_types", "messages"
FOREIGN = ("PREFECT_", "DVC_", "GIT_", "MLFLOW_", "ADAPTBERT_", "PYTHON")
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)
SILENT = QUIET | {"HF_HUB_OFFLINE": "1", "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": "false"}
SILENT |= {"NO_COLOR": "1", "COLUMNS": "1000"}
"""`HF_HUB_OFFLINE`: nothing here is on the hub, so no message waits for it. `COLUMNS`: no message is wrapped."""


class Failed(Exception):
    """A command of a commit that ended with an error."""


def commit(revision: str) -> str:
    return _git("rev-parse", "--verify", f"{revision}^{{commit}}").strip()


def is_dirty() -> bool:
    """Whether there is something that no commit has."""
    return bool(_git("status", "--porcelain"))


def record(sha: str, work: Path, again: bool = False) -> dict[str, Any]:
    """Values by kind and path, and the seconds of each part.

    Args:
        work: keeps the parts of records, and has the clones while they run.
        again: run also what is recorded.
    """
    preset = work / f"{sha[:12]}-smoke.yaml"
    work.mkdir(parents=True, exist_ok=True)
    preset.write_text(_git("show", f"{sha}:presets/smoke.yaml"), encoding="utf-8")
    try:
        files = {part: work / f"{sha[:12]}-{part}-{decided}.json" for part, decided in _decided_by(preset).items()}
    except LookupError as error:
        raise Failed(f"{sha[:12]}: presets/smoke.yaml: {error}") from None
    finally:
        preset.unlink()
    if again or not files[SMOKE].is_file():
        root = clone(sha, work, SMOKE)
        _keep(files[SMOKE], SMOKE, lambda: smoke(root))
        shutil.rmtree(root)
    if again or not (files[FOUR_TYPES].is_file() and files[MESSAGES].is_file()):
        root = clone(sha, work, FOUR_TYPES)
        _keep(files[FOUR_TYPES], FOUR_TYPES, lambda: _four_types(root))
        _keep(files[MESSAGES], MESSAGES, lambda: _messages(root))
        shutil.rmtree(root)
    parts = {part: json.loads(file.read_text(encoding="utf-8")) for part, file in files.items()}
    kinds: dict[str, outputs.Values] = {}
    for part, kept in parts.items():
        for kind, values in kept["values"].items():
            kinds.setdefault(kind, {}).update({f"{part}/{path}": value for path, value in values.items()})
    return {"commit": sha, "seconds": {part: kept["seconds"] for part, kept in parts.items()}, "values": kinds}


def _decided_by(preset: Path) -> dict[str, str]:
    """A digest for each part: of its params and files, of how outputs are read, and of what its bits depend on."""
    document = recipes.load(preset)
    schema = recipes.schema_of(document)
    bits = [machine()["processor"], platform.python_version(), *(f"{name} {version(name)}" for name in PACKAGES)]
    read = (HERE / "outputs.py").read_bytes()
    smoke = outputs.digest(b"\n".join([read, *(each.encode() for each in bits)]))
    recipes.make_four_types(document, schema)
    own = preset.with_suffix("")
    tiny_sets.write(own)
    content = [file.read_bytes() for file in sorted(own.iterdir())]
    shutil.rmtree(own)
    four_types = outputs.digest(b"\n".join([smoke.encode(), json.dumps(document).encode(), *content]))
    requested = json.dumps([schema[key] for key in ASKED])
    catalogue = outputs.digest(
        b"\n".join([four_types.encode(), requested.encode(), (HERE / "messages.py").read_bytes()])
    )
    return {SMOKE: smoke[:12], FOUR_TYPES: four_types[:12], MESSAGES: catalogue[:12]}


def smoke(root: Path) -> dict[str, outputs.Values]:
    """Run the smoke recipe in a clone; its outputs."""
    if (root / "adaptbert/project/presets.py").is_file():  # a commit that has `adaptbert use`
        _run(root, "adaptbert.cli", "use", "smoke")
    else:
        shutil.copy(root / "presets/smoke.yaml", root / "params.yaml")
        _run(root, "examples.docstrings")
        _run(root, "adaptbert.cli", "plan")
    _run(root, "dvc", "repro")
    return outputs.read(root)


def _four_types(root: Path) -> dict[str, outputs.Values]:
    document = recipes.load(root / "presets/smoke.yaml")
    schema = recipes.schema_of(document)
    recipes.make_four_types(document, schema)
    recipes.dump(document, root / "params.yaml")
    tiny_sets.write(root / recipes.OWN)
    _run(root, "adaptbert.cli", schema["plans"][recipes.plan_of(root, schema)])
    _run(root, "dvc", "repro")
    return outputs.read(root)


def _messages(root: Path) -> dict[str, outputs.Values]:
    """Messages of one process: `messages.py` by its path, so that it imports nothing but the clone's."""
    schema = recipes.schema_of(recipes.load(root / "presets/smoke.yaml"))
    request = {key: schema[key] for key in ASKED} | {"own": recipes.OWN}
    request["plan"] = recipes.plan_of(root, schema)
    printed = _run(root, "-P", str(HERE / "messages.py"), json.dumps(request), module=False)
    return {"messages": json.loads(printed.rpartition(messages.BEGIN)[2])}


def clone(sha: str, work: Path, part: str) -> Path:
    """A new clone of a commit, whose code is what Python imports there."""
    root = work / f"{sha[:12]}-{part}"
    shutil.rmtree(root, ignore_errors=True)
    _git("clone", "--quiet", "--no-hardlinks", "--no-checkout", str(ROOT), str(root))
    _git("-C", str(root), "checkout", "--quiet", sha)
    imported = _run(root, "-c", "import adaptbert; print(adaptbert.__file__)", module=False).strip()
    if not Path(imported).is_relative_to(root):
        raise Failed(f"{root}: python imports {imported}, which is not the commit's code")
    return root


def _keep(file: Path, part: str, values: Any) -> None:
    """Run a part and write its file, whole or not at all."""
    begun = time.monotonic()
    result = values()
    seconds = round(time.monotonic() - begun)
    for older in file.parent.glob(f"{file.name.rpartition('-')[0]}-*.json"):
        older.unlink()
    written = file.with_suffix(".part")
    written.write_text(json.dumps({"part": part, "seconds": seconds, "values": result}, indent=0), encoding="utf-8")
    written.replace(file)
    print(f"{file.name}: {sum(map(len, result.values())):,} values, {seconds} s", flush=True)


def _run(root: Path, *arguments: str, module: bool = True) -> str:
    """`python -m ARGUMENTS` in the clone, with its code; stdout."""
    home = root / ".git/home"  # nothing of the user's, no cache of DVC's or of MLflow's but in the clone
    home.mkdir(exist_ok=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    env |= ONE_THREAD | SILENT | {"HOME": str(home), "DVC_SITE_CACHE_DIR": str(home / "dvc"), "ADAPTBERT_WORKERS": "0"}
    env |= {"PYTHONPATH": str(root), "PYTHONIOENCODING": "utf-8"}
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, *(["-m"] if module else []), *arguments]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise Failed(
            f"{root}: {' '.join(arguments[:3])} ended with {done.returncode}\n{(done.stdout + done.stderr)[-3000:]}"
        )
    return done.stdout


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise Failed(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout
