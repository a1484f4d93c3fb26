"""What a notebook needs of the recipe: to run it, and its results as tables of pandas."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptbert.codes import Code
from adaptbert.core.files import read_json
from adaptbert.errors import BadData
from adaptbert.report.text_table import STEPS, tasks_of

if TYPE_CHECKING:
    import pandas as pd

COMPARISON = Path("metrics/comparison.json")


def read_comparison(path: str | Path = COMPARISON) -> "pd.DataFrame":
    """The scores on test: a row for each arm and baseline of each task, from each base.

    Args:
        path: metrics/comparison.json of a project, as `compare` writes it.

    Returns:
        `task`, `base`, `arm`, `metric`; `score` (at most 1; `rmse` in the unit of the target), `low` and `high`, the
        ends of its interval; `replicates`, `seeds` and `runs`, a list of (replicate, seed, score), where replicate 0
        is a step that is trained once. Baselines have no runs; an arm that was not trained yet has no score.

    Raises:
        BadData: no such file.
    """
    import pandas as pd

    rows = []
    for place, name, values in _entries(path):
        metric = next(iter(values), "")
        runs = [tuple(run) for run in values.get("runs", [])]
        rows.append(
            {
                **place,
                "arm": name,
                "metric": metric,
                "score": values.get(metric),
                "low": values.get("low"),
                "high": values.get("high"),
                "replicates": len({replicate for replicate, _, _ in runs}),
                "seeds": len({seed for _, seed, _ in runs}),
                "runs": runs,
            }
        )
    return pd.DataFrame(rows)


def read_differences(path: str | Path = COMPARISON) -> "pd.DataFrame":
    """The comparisons: a row for each question that is asked of a task, from each base.

    Args:
        path: metrics/comparison.json of a project, as `compare` writes it.

    Returns:
        `task`, `base`, `question`; `arm` and `other`, which are compared; `difference` of their scores, with `low` and
        `high`, the ends of its interval; `p`, and `p_holm` adjusted for all primary questions; `primary`, `verdict`.

    Raises:
        BadData: no such file.
    """
    import pandas as pd

    rows = []
    for place, name, steps in _entries(path, of_steps=True):
        arm, other = steps["of"]
        low, high = steps.get("interval", (None, None))
        plain = {key: steps.get(key) for key in ("p", "p_holm", "primary", "verdict")}
        difference = {"difference": steps.get("difference"), "low": low, "high": high}
        rows.append({**place, "question": name, "arm": arm, "other": other, **difference, **plain})
    return pd.DataFrame(rows)


def _entries(path: str | Path, *, of_steps: bool = False) -> Iterator[tuple[dict[str, str], str, dict[str, Any]]]:
    """Task and base, the name of an arm or of a question, and its values."""
    path = Path(path)
    if not path.is_file():
        raise BadData(Code.FILE, path, "no such file", "run the recipe first: adaptbert.run()")
    for (task, base), entries in tasks_of(read_json(path)).items():
        steps = entries.pop(STEPS, {})
        for name, values in (steps if of_steps else entries).items():
            yield {"task": task, "base": base}, name, values


def run(*stages: str, folder: str | Path = ".") -> None:
    """Plan and check the recipe, and train what is out of date: `adaptbert plan`, `adaptbert check`, `dvc repro`.

    What the commands say is printed. Interrupting ends the stage that runs; the next call goes on from there.

    Args:
        stages: as DVC names them, such as `finetune` or `finetune@mood-general-base`, with all that they need; none:
            all.
        folder: of the project.

    Raises:
        subprocess.CalledProcessError: a command failed; what it printed says why.
    """
    # `python` in the commands of dvc.yaml is this interpreter.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    for command in (["adaptbert.cli", "plan"], ["adaptbert.cli", "check"], ["dvc", "repro", *stages]):
        with subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=Path(folder).expanduser(),
            env={**os.environ, "PATH": path},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    print(line, end="")
            except BaseException:
                process.terminate()
                raise
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
