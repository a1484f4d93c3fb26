"""docs/how-to/compare-in-mlflow.md: in a real store, its filters find the runs that they should."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from adaptbert.runtime.mlflow import open_run
from adaptbert.runtime.origin import recipe_name
from tests.support.markdown import read, spans
from tests.support.stores import runs

PAGE = "docs/how-to/compare-in-mlflow.md"
CELLS = [
    *(("section", "general", base, "0") for base in ("small", "other")),
    *(("section", "domain", base, replicate) for base in ("small", "other") for replicate in "12"),
    ("mention", "domain", "small", "1"),
]
"""Task, arm, base and replicate."""
DOMAIN = {f"domain section {base}-{replicate}" for base in ("small", "other") for replicate in "12"}
SECTION = DOMAIN | {"general section small", "general section other"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, mlflow_tables: bytes) -> Iterator[Path]:
    """A store in which cells are recorded, with a seed below each."""
    root = tmp_path_factory.mktemp("project")
    (root / "params.yaml").write_text("seed: 1\n")
    (root / "mlflow.db").write_bytes(mlflow_tables)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        patch.setattr("adaptbert.runtime.mlflow.distributions", list)  # read for each run, and not asked for here
        for task, arm, base, replicate in CELLS:
            names = {"task": task, "arm": arm, "base": base, "replicate": replicate}
            values = {"finetune.learning_rate": 4e-4, "finetune.labels": 600, "pretraining_tokens": 600_000}
            with open_run("finetune", names, values, root / "params.yaml") as run:
                with run.child("seed 1", {"seed": "1"}) as child:
                    child.log_metrics({"test/f1_macro": 0.5})
                run.log_metrics({"test/f1_macro": 0.5 + 0.1 * (arm == "domain")})
                run.set_tags({"checkpoint": f"{task}-{arm}-{base}-{replicate}"})
        names = {"corpus": "domain", "base": "small", "replicate": "1"}
        with open_run("domain_transfer", names, {}, root / "params.yaml"):
            pass
        yield root


def test_every_filter_of_the_page_finds_what_it_says(recorded: Path) -> None:
    def named(condition: str) -> set[str | None]:
        return {run.info.run_name for run in runs(recorded, condition)}

    expected = {
        "tags.stage = 'finetune' and tags.task = 'section'": SECTION,
        "tags.stage = 'finetune' and tags.task = 'section' and tags.recipe = 'demo 1a2b3c4'": SECTION,
        "tags.stage = 'finetune' and tags.task = 'section' and tags.base = 'small' and tags.replicate = '1'": {
            "domain section small-1"
        },
        "tags.stage = 'finetune' and tags.arm = 'domain'": DOMAIN | {"domain mention small-1"},
        "tags.stage = 'domain_transfer'": {"domain_transfer domain small 1"},
        "tags.checkpoint = 'DIGEST'": {"domain section small-1"},
    }
    recipe = recipe_name(Path("params.yaml"))
    blocks = re.findall(r"^(tags\..+)$", read(PAGE), flags=re.MULTILINE)
    assert expected.keys() <= {" ".join(each.split()) for each in (*blocks, *spans(PAGE))}
    for condition, names in expected.items():
        filled = condition.replace("demo 1a2b3c4", recipe).replace("DIGEST", "section-domain-small-1")
        assert named(filled) == names, condition
    both = "tags.stage = 'finetune' and tags.task = 'section' and tags.base = 'small' and tags.replicate != '2'"
    assert named(both) == {"general section small", "domain section small-1"}


def test_the_axes_of_the_page_are_parameters_and_metrics_of_every_cell(recorded: Path) -> None:
    (axes,) = [line.split() for line in read(PAGE).splitlines() if line.startswith("   arm  ")]
    assert {"arm", "base", "replicate", "pretraining_tokens", "test/f1_macro"} <= set(axes)
    cells = runs(recorded, "tags.stage = 'finetune'")
    assert len(cells) == len(CELLS)
    for run in cells:
        assert set(axes) <= run.data.params.keys() | run.data.metrics.keys()
