"""A finished recipe of real models in a project of its own with real DVC, whose lock is that of its files."""

from pathlib import Path

from adaptbert.comparison.arms import StageOutputs
from adaptbert.comparison.assemble import compare_all
from adaptbert.comparison.baselines import keep_linear_models
from adaptbert.config import plan_file
from adaptbert.config.recipe import Recipe
from adaptbert.config.schema.comparison import Compare
from adaptbert.config.schema.finetuning import Finetune
from adaptbert.core.files import write_json
from stages.finetune import finetune
from tests.support import tiny, tiny_params, tiny_tasks
from tests.support.imports import ROOT
from tests.support.project import dvc, write_graph, write_params

SIZES = {"layers": 2, "hidden_size": 32, "heads": 2, "intermediate_size": 64, "max_positions": 64}
FILES = {split: f"data/own/mood.{split}.csv" for split in ("train", "dev", "test")}
RECIPE = {
    "base": SIZES,
    "corpora": {"general": {"path": "data/own/news.txt"}},
    "tasks": {"mood": {"type": "text-classification", **FILES}},
    "arms": ["scratch", "general"],
    "pretrain": {"tokens": 1000},
    "tokenize": {"max_length": 48},
    "finetune": {"seeds": 3, "max_length": 48},
    "compare": {},
}
GRAPH = """
vars: [plan.json]
stages:
  collect_task:
    cmd: "true"
    deps: [data/own/mood.train.csv, data/own/mood.dev.csv, data/own/mood.test.csv]
    outs: [data/raw/tasks/mood]
  validate: {cmd: "true", deps: [data/raw/tasks/mood], outs: [data/validated, metrics/validate.json]}
  pretrain: {cmd: "true", outs: [models/pretrain/base]}
  finetune:
    foreach: ${plan.finetune}
    do:
      cmd: "true"
      deps: [data/validated/tasks/mood, models/pretrain/base]
      params: [finetune]
      outs: ["models/finetune/${key}", "predictions/${key}.parquet", "metrics/finetune/${key}.json"]
  compare:
    cmd: "true"
    deps: [data/validated/tasks, predictions, metrics/finetune]
    outs: [models/linear, metrics/comparison.json: {cache: false}]
"""
"""The stages of dvc.yaml by which DVC knows the files; nothing runs, `dvc commit` records what lies there."""
MOOD = Path("data/validated/tasks/mood")


def train() -> None:
    """Every cell of the recipe in the current folder, and its comparison."""
    plan = plan_file.plan(Recipe(RECIPE))
    values = {"seeds": [1, 2, 3], "epochs": 6.0, "dropout": 0.0, "learning_rate": 5e-3, "max_length": 48}
    own = tiny_tasks.options("single_sentence").model_dump(exclude_none=True)
    for key, entry in plan.finetune.items():
        finetune(
            Finetune(**tiny_params.cell_values(**own, **values)),
            task=entry.task,
            arm=entry.arm,
            base=entry.base,
            replicate=str(entry.replicate),
            init=Path("models", entry.checkpoint),
            data=MOOD,
            out=Path("models/finetune", key),
            predictions=Path(f"predictions/{key}.parquet"),
            metrics=Path(f"metrics/finetune/{key}.json"),
            work=tiny.work(Path()),
            run=tiny.no_record(),
        )
    compare()


def compare() -> None:
    """What the stage `compare` leaves for a release."""
    plan = plan_file.plan(Recipe(RECIPE))
    outputs = StageOutputs(Path("data/validated/tasks"), Path("data/raw"), Path("metrics"), Path("predictions"))
    write_json(Path("metrics/comparison.json"), compare_all(plan, outputs, Compare()).as_json())
    keep_linear_models(Path("models/linear"), [MOOD], 0)


def make(root: Path) -> None:
    write_graph(GRAPH)
    (root / "stages").symlink_to(ROOT / "stages")
    (root / "data/own").mkdir(parents=True)
    for path in (*FILES.values(), "data/own/news.txt"):
        Path(path).write_text(f"rows of {path}", encoding="utf-8")
    write_params(root, RECIPE)
    tiny_tasks.task(MOOD, "single_sentence", (128, 48, 60), "class")
    write_json(Path("data/raw/tasks/mood/manifest.json"), {"source": "tiny", "demonstration": False})
    counts = {"rows_in": 60, "kept": 60, "rejected": {}, "warnings": {}}
    write_json(Path("metrics/validate.json"), {"corpora": {}, "tasks": {"mood": {"train": counts}}})
    tiny.scratch(root / "models/scratch/base")
    tiny.pretrained(root / "models/pretrain/base", initializer_range=0.15)
    train()
    commit()


def commit() -> None:
    """Make dvc.lock that of the files as they are."""
    done = dvc("commit", "--force")
    assert done.returncode == 0, done.stderr
