"""The section `ladder` as `adaptbert migrate` writes it: a line for each start and arm."""

from collections.abc import Mapping
from typing import Any

from adaptbert.project.editing.params_text import flow

_COLUMN = 31
"""Of comments, as in the presets."""
_COMMENTS = {
    "ladder": "starts, arms and draws by name; `adaptbert ladder` expands them into ladder.yaml",
    "draws": "each rung above general pre-training is trained so many times, with other seeds",
    "starts": "random weights (scratch), models/init/<start>, or the name of a model on the hub",
    "arms": "what an arm is trained on; for all tasks and starts",
    "tasks": "tasks that do not have every arm",
}


def text(ladder: Mapping[str, Any]) -> str:
    """The lines of the section.

    Args:
        ladder: its values.
    """
    lines = [_commented("ladder:", "ladder")]
    for key, values in ladder.items():
        if not isinstance(values, Mapping):
            lines.append(_commented(f"  {key}: {flow(values)}", key))
            continue
        lines.append(_commented(f"  {key}:", key))
        lines += [f"    {name}: {flow(value)}" for name, value in values.items()]
    return "\n".join(lines) + "\n"


def _commented(line: str, key: str) -> str:
    return f"{line:{_COLUMN}}# {_COMMENTS[key]}"
