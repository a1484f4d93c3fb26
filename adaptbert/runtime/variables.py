"""The environment variables of this project: what each may be, and what it does, for messages and for the guide.

None changes a result, but for last digits. What does stands in params.yaml.
"""

import os
import re
from typing import NamedTuple

from adaptbert.codes import Code
from adaptbert.errors import BadParams, failures_of, nearest, raise_all, shortened

PREFIX = "ADAPTBERT_"
BATCH_WORKERS, WORKERS = "ADAPTBERT_BATCH_WORKERS", "ADAPTBERT_WORKERS"
CLUSTER, DEVICES, STAGES = "ADAPTBERT_CLUSTER", "ADAPTBERT_DEVICES", "ADAPTBERT_STAGES_PER_DEVICE"
DETERMINISTIC, GRAPHS, WARM = "ADAPTBERT_DETERMINISTIC", "ADAPTBERT_GRAPHS", "ADAPTBERT_WARM"
SAVE_SECONDS = "ADAPTBERT_SAVE_SECONDS"


class Variable(NamedTuple):
    """A variable: a pattern of its values, and in words what these are, an example, and what it decides."""

    pattern: str
    expected: str
    example: str
    meaning: str


_NUMBER, _WORD, _PROCESSES, _SWITCH = "[0-9]{1,3}", "(?i:true|false)", "a number of processes", "true or false"
_HOSTS = r"auto|\[?[^\[\]/\s]+\]?:[0-9]{1,5}"
VARIABLES = {
    DEVICES: Variable("[1-9][0-9]{0,3}", "a number of devices", "2", "devices that share a step"),
    STAGES: Variable("[1-9]|1[0-6]", "a number of stages, 1 to 16", "2", "stages that share a device, 16 at most"),
    GRAPHS: Variable(_WORD, _SWITCH, "true", "replays training steps as CUDA graphs"),
    DETERMINISTIC: Variable(_WORD, _SWITCH, "false", "faster; resumed runs then differ in last digits"),
    WARM: Variable(_WORD, _SWITCH, "false", "starts each stage by itself, seconds later"),
    CLUSTER: Variable(_HOSTS, "auto, or HOST:PORT of a Ray cluster", "auto", "machines that train one stage together"),
    WORKERS: Variable(_NUMBER, _PROCESSES, "8", "processes that read text"),
    BATCH_WORKERS: Variable(_NUMBER, _PROCESSES, "4", "processes that make batches"),
    SAVE_SECONDS: Variable(r"[0-9]{1,6}(\.[0-9]+)?", "a number of seconds", "10", "seconds between savepoints"),
}


def value_of(name: str) -> str:
    """The value of one of them, empty where it is not set.

    Raises:
        BadParams: it may not have this value.
    """
    written, variable = os.environ.get(name, ""), VARIABLES[name]
    if written and not re.fullmatch(variable.pattern, written):
        problem = f"expected {variable.expected}, found {shortened(repr(written))}"
        raise BadParams(Code.BAD_OPTION, name, problem, f"write e.g. {variable.example}, or unset it")
    return written


def check() -> None:
    """Raises BadParams for those that have a value which they may not have."""
    raise_all([failure for name in VARIABLES for failure in failures_of(value_of, name)])


def unknown() -> dict[str, str]:
    """A variable that is set and named like ours, but is none -> ` (did you mean 'ADAPTBERT_DEVICES'?)`, or nothing."""
    known = [name.removeprefix(PREFIX) for name in VARIABLES]  # with it all names would be alike
    others = [name for name in os.environ if name.startswith(PREFIX) and name not in VARIABLES]
    return {name: nearest(name.removeprefix(PREFIX), known).replace("'", f"'{PREFIX}", 1) for name in others}
