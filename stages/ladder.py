"""The first stage: stops `dvc repro` at a name that cannot be that of a stage, before any other stage runs.

DVC puts names of params.yaml into the paths of outputs, and removes the outputs of a stage before it runs it. So every
stage with such a path depends on this one. Its output is always the same, so it never makes another stage run.
It also removes outputs of stages that params.yaml no longer has (adaptbert.project.leftovers). So its output persists:
DVC does not take such a stage from its run cache, and this one runs whenever the names have changed.
"""

from pathlib import Path

from adaptbert.base.config import Names
from adaptbert.base.files import atomic_write
from adaptbert.base.ladder import LadderConfig
from adaptbert.runtime.stage import PARAMS, Stage

TEXT = "The names of params.yaml can be those of stages.\n"


def ladder(params: LadderConfig, *, collect: Names, collect_task: Names, out: Path) -> None:
    """Names are valid here, because `adaptbert.runtime.stage.check_all` ran before; remove outputs of former names.

    A plain `dvc repro` reports here what else `adaptbert check` says of values: an arm that no step compares.
    """
    from adaptbert.project import leftovers, section_rules
    from adaptbert.runtime.params import params_file

    for notice in section_rules.notices(params_file.read(PARAMS), PARAMS):
        print(f"notice: {notice}")
    names = {"ladder": params.model_dump(), "collect": collect.sorted(), "collect_task": collect_task.sorted()}
    for line in leftovers.remove(names, PARAMS):
        print(line)
    with atomic_write(out) as part:
        part.write_text(TEXT, encoding="utf-8")


STAGE = Stage(ladder)

if __name__ == "__main__":
    STAGE.run()
