"""The first stage: stops `dvc repro` where plan.json is older than params.yaml or the code, before any other runs.

DVC puts names of plan.json into the paths of outputs, and removes the outputs of a stage before it runs it. So every
stage depends on the output of this one, whose text is always the same. A plain `dvc repro` reports here what else
`adaptbert check` says of values: an arm that no step compares.
"""

from pathlib import Path

from adaptbert.config.recipe import Recipe
from adaptbert.core.files import atomic_write
from adaptbert.stage import run_stage

TEXT = "plan.json is what params.yaml and the code stand for.\n"


def plan(*, recipe: Recipe, plan: Path, out: Path) -> None:
    from adaptbert.config import plan_file
    from adaptbert.planning import rules

    plan_file.check(recipe, plan_file.stages(), plan)
    for notice in rules.notices(recipe):
        print(f"notice: {notice}")
    with atomic_write(out) as part:
        part.write_text(TEXT, encoding="utf-8")


if __name__ == "__main__":
    run_stage(plan)
