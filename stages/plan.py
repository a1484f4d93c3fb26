"""The first stage: stops `dvc repro` where plan.json is older than params.yaml or the code, before any other runs.

DVC puts names of plan.json into the paths of outputs, and removes the outputs of a stage before it runs it. So every
stage depends on the output of this one, whose text is always the same.
"""

from pathlib import Path

from adaptbert.base.ladder import LadderConfig
from adaptbert.core.files import atomic_write
from adaptbert.runtime.stage import PARAMS, Stage

TEXT = "plan.json is what params.yaml and the code stand for.\n"


def plan(params: LadderConfig, *, plan: Path, out: Path) -> None:
    """Refuse an older plan.

    A plain `dvc repro` reports here what else `adaptbert check` says of values: an arm that no step compares.
    """
    from adaptbert.project import section_rules
    from adaptbert.runtime.params import params_file, plan_file

    document = params_file.read(PARAMS)
    plan_file.check(document, PARAMS, plan_file.stages(), plan)
    for notice in section_rules.notices(document, PARAMS):
        print(f"notice: {notice}")
    with atomic_write(out) as part:
        part.write_text(TEXT, encoding="utf-8")


STAGE = Stage(plan, section="ladder")

if __name__ == "__main__":
    STAGE.run()
