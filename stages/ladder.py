"""The first stage: stops `dvc repro` at wrong names, or where ladder.yaml is older than them, before any other runs.

DVC puts names of params.yaml into the paths of outputs, and removes the outputs of a stage before it runs it. So every
stage with such a path depends on `checked`, whose text is always the same. Beside it is a file for each entry of
ladder.yaml, so that a stage runs again when its entry is another, and no stage when another entry is.
It also removes outputs of stages that params.yaml no longer has (adaptbert.project.leftovers). So its output persists:
DVC does not take such a stage from its run cache, and this one runs whenever the names have changed.
"""

from pathlib import Path

from adaptbert.base.config import Names
from adaptbert.base.files import atomic_write, write_json
from adaptbert.base.ladder import LadderConfig
from adaptbert.runtime.stage import PARAMS, Stage

CHECKED = "checked"
TEXT = "The names of params.yaml can be those of stages.\n"


def ladder(params: LadderConfig, *, collect: Names, collect_task: Names, expanded: Path, out: Path) -> None:
    """Write the entries of ladder.yaml, each into a file; remove outputs of former names.

    A plain `dvc repro` reports here what else `adaptbert check` says of values: an arm that no step compares.
    """
    from adaptbert.base import expansion
    from adaptbert.project import leftovers, section_rules
    from adaptbert.runtime.params import expanded_ladder, params_file

    document = params_file.read(PARAMS)
    expanded_ladder.check(document, PARAMS, expanded)
    for notice in section_rules.notices(document, PARAMS):
        print(f"notice: {notice}")
    tables = expansion.read(expanded).model_dump(by_alias=True)
    names = {"stages": tables, "collect": collect.sorted(), "collect_task": collect_task.sorted()}
    for line in leftovers.remove(names, PARAMS):
        print(line)
    with atomic_write(out) as part:
        part.mkdir()
        (part / CHECKED).write_text(TEXT, encoding="utf-8")
        for stage, entries in tables.items():
            for key, entry in entries.items():
                write_json(part / stage / key, entry)


STAGE = Stage(ladder)

if __name__ == "__main__":
    STAGE.run()
