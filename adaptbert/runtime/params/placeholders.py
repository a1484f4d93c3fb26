"""`{key}` and `{from}` in the command of a stage: filled in by the stage itself, from DVC_STAGE and params.yaml.

DVC could insert them (`${key}`), but a shell parses the command, so values of params.yaml could contain commands. So
all stages of a name have one command:

    exec python -m stages.finetune --init 'models/{from}' --out 'models/finetune/{key}'

`key` is the part after the @ in DVC_STAGE (`finetune@section-domain-small-1`), which DVC sets. Other names are values
of that entry of the `foreach` of the stage, here of `stages.finetune.section-domain-small-1` in ladder.yaml, or of the
section of the stage; dots lead further in.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.errors import BadParams
from adaptbert.runtime.params import params_file as params

STAGE = "DVC_STAGE"
KEY = "key"

_PLACEHOLDER = re.compile(r"\{([\w.]+)\}")


def present(words: Mapping[str, str]) -> bool:
    """Whether an argument has a placeholder."""
    return any(_PLACEHOLDER.search(word) for word in words.values())


def fill(words: Mapping[str, str], values: Mapping[str, Any], file: Path) -> dict[str, str]:
    """The arguments of a command with their placeholders replaced; inserted values are not expanded again.

    Args:
        words: name of the argument -> as it stands in dvc.yaml.
        values: of the entry, and of the section.
        file: for the messages.
    """
    return {
        name: _PLACEHOLDER.sub(lambda match: str(params.section(values, match[1], file)), word)
        for name, word in words.items()
    }


def entry(document: Mapping[str, Any], stage: str, foreach: str, file: Path) -> dict[str, Any]:
    """The entry of the `foreach` of a stage that DVC runs, with its key.

    Args:
        foreach: the part that dvc.yaml iterates over, such as `collect`.

    Raises:
        BadParams: DVC_STAGE does not say which entry is meant, or there is no such entry.
    """
    # From another folder DVC writes `../dvc.yaml:collect@domain`.
    _, at, key = os.environ.get(STAGE, "").rpartition(f"{stage}@")
    if not at:
        problem = f"does not name an entry of {foreach}"
        raise BadParams(Code.UNKNOWN_KEY, STAGE, problem, f"run `dvc repro {stage}`, or set it")
    return {**params.section(document, f"{foreach}.{key}", file), KEY: key}
