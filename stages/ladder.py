"""The first stage: stops a plain `dvc repro` at a name that cannot be one of a stage, before any other stage is run.

DVC puts names of params.yaml into the paths of outputs, and removes the outputs of a stage before it runs it. So every
stage with such a path depends on this one. Its output is always the same: it orders, and never makes another one run.
"""

from pathlib import Path

from adaptbert.entry import Stage
from adaptbert.ladder import LadderConfig
from adaptbert.outputs import whole
from adaptbert.params import Names

TEXT = "The names of params.yaml can be those of stages.\n"


def ladder(params: LadderConfig, *, collect: Names, collect_task: Names, out: Path) -> None:
    """Let names pass that `adaptbert.entry.check_all` has not refused; nothing else is left to do."""
    with whole(out) as part:
        part.write_text(TEXT, encoding="utf-8")


STAGE = Stage(ladder)

if __name__ == "__main__":
    STAGE.run()
