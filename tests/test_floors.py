"""Imports point downward. The source is read (tests/import_closure.py), so imports inside functions count as well.

A floor may use itself and those below; within a floor there are no circles. A module that is not in the list below
fails: deciding where it stands is part of writing it.
"""

import ast
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.import_closure import ROOT, closure, imports, running, source

FLOORS = {
    # 4: the trainer, the record, the command line, the pages
    4: "cell cell_config class_table cli comparing comparison comparison_plots comparison_table confusion "
    "consistency copying doctor dvc_files entry first_rows follower headlines inspection known_words leftovers "
    "named_files one_seed own_data parameters prediction predictions preset_name presets progress record report "
    "repository rung summary tracking training trials",
    # 3: loss, step and measurement; no files, no record
    3: "curriculum fine_tuned finetuning masked_lm measurement random_head sentence_measurement temperature",
    # 2: disk and Hugging Face
    2: "architecture card checkpoint checkpoint_files controls corpora documents encoder gate length_schedule "
    "savepoints segmentation sentence_pairs tables tasks token_store token_writer tokenization vocabulary work",
    # 1: pure; tensors and frames in, tensors and frames out
    1: "adversarial allocator answer_text attention batch calibration class_weights contamination crf depth dropout "
    "early_stopping freezing health ladder layer_mix layout machine_peak masking masking_audit metric_contract "
    "metrics normalise optim packing plan pooling precision questions r_drop ranks schemas search spans "
    "spreadsheet statistics stream suite tag_schemes token_classes",
    # 0: what everything may use
    0: "amounts bounds errors exclusive full_disk garbage interruption look_alikes outputs parallel params "
    "placeholders processes redaction sound_parts spelling strict_yaml written_numbers",
}

# The core trains on a bare machine: torch, transformers, numpy, pyarrow. The way in (text, gate) is not part of it.
NOT_CORE = {"schemas", "corpora", "gate", "controls"}
KEPT_OUT = {"mlflow", "pandera", "prefect", "dvc", "datasets"}
HEAVY = ["torch", "mlflow", "transformers", "pytorch_lightning", "sklearn", "pandera", "datasets"]


@cache
def floors() -> dict[str, int]:
    return {name: floor for floor, names in FLOORS.items() for name in names.split()}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def library() -> list[Path]:
    return [path for path in sorted((ROOT / "adaptbert").rglob("*.py")) if module_name(path) != "adaptbert"]


def part(module: str) -> str:
    """The second word: a package such as adaptbert.corpora stands on one floor."""
    return module.split(".")[1]


def ours(path: Path) -> list[str]:
    """Modules of adaptbert that a file imports."""
    found = {name for name in imports(path, module_name(path)) if source(name) is not None}
    return sorted(name for name in found if name.startswith("adaptbert."))


def names(paths: list[Path]) -> list[str]:
    return [module_name(path) for path in paths]


def test_every_module_has_a_floor() -> None:
    found = {part(module_name(path)) for path in library()}
    assert sorted(found - set(floors())) == [], "add these to FLOORS"
    assert sorted(set(floors()) - found) == [], "these are gone from adaptbert/"


@pytest.mark.parametrize("path", library(), ids=names(library()))
def test_imports_point_downward(path: Path) -> None:
    here = floors()[part(module_name(path))]
    above = [name for name in ours(path) if floors()[part(name)] > here]
    assert above == []
    assert [name for name in imports(path, module_name(path)) if name.partition(".")[0] in ("stages", "flows")] == []


def test_no_circles() -> None:
    graph = {module_name(path): ours(path) for path in library()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"circle: {' -> '.join(error.args[1])}")


def core() -> list[Path]:
    """Floors 0 to 3, but for the way in."""
    words = {path: part(module_name(path)) for path in library()}
    return [path for path, word in words.items() if floors().get(word, 4) < 4 and word not in NOT_CORE]


@pytest.mark.parametrize("path", core(), ids=names(core()))
def test_core_imports_no_platform(path: Path) -> None:
    reached = [ROOT / file for file in closure(module_name(path)) if file.endswith(".py")]
    found = {name.partition(".")[0] for file in reached for name in imports(file, module_name(file))}
    assert found & KEPT_OUT == set()


def test_one_lightning() -> None:
    """`lightning.pytorch` and `pytorch_lightning` are different modules: a callback of one is none of the other's."""
    for folder in ("adaptbert", "stages", "flows", "tests", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            assert [name for name in imports(path, module_name(path)) if name.split(".")[0] == "lightning"] == [], path


def test_flows_import_no_stage() -> None:
    for path in (ROOT / "flows").glob("*.py"):
        found = {name.partition(".")[0] for name in imports(path, module_name(path))}
        assert found & {"stages", *HEAVY} == set(), path


@pytest.mark.parametrize(
    "modules",
    [
        pytest.param(["flows.recipe"], id="flows"),
        pytest.param(names(sorted((ROOT / "stages").glob("*.py"))), id="stages"),
        pytest.param(["adaptbert.cli"], id="cli"),
    ],
)
def test_importing_is_light(modules: list[str]) -> None:
    """A bad value is told before torch is loaded."""
    code = f"import sys, {', '.join(modules)}; print(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_torch_load_and_pickle_are_not_used() -> None:
    """What leaves a stage is safetensors, parquet and JSON; loading it runs nothing."""
    banned = {"pickle", "joblib", "dill", "shelve", "marshal"}
    for path in [*library(), *(ROOT / "stages").glob("*.py")]:
        assert {name.partition(".")[0] for name in imports(path, module_name(path))} & banned == set(), path
        calls = [ast.unparse(n.func) for n in running(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Call)]
        assert [call for call in calls if call in ("torch.load", "eval", "exec")] == [], path
