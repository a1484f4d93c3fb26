"""`{key}` and `{from}` in the command of a stage: filled in by the stage itself, from DVC_STAGE and params.yaml.

DVC could insert them (`${key}`), but a shell parses the command, so values of params.yaml could contain commands. So
all stages of a name have one command:

    exec python -m stages.finetune --init 'models/{from}' --out 'models/finetune/{key}'

`key` is the part after the @ in DVC_STAGE (`finetune@section-domain`), which DVC sets. Other names are values of
that entry of the `foreach` of the stage, here of `ladder.finetune.section-domain`; dots lead further in.
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


def fill(
    words: Mapping[str, str], document: Mapping[str, Any], stage: str, foreach: str | None, file: Path
) -> dict[str, str]:
    """The arguments of a command with their placeholders replaced; inserted values are not expanded again.

    Args:
        words: name of the argument -> as it stands in dvc.yaml.
        document: params.yaml, each section valid.
        stage: name of the stage and of its section.
        foreach: the part of params.yaml that dvc.yaml iterates over, such as `ladder.finetune`.
        file: for the messages.

    Raises:
        BadParams: DVC_STAGE does not say which entry is meant, or there is no such entry or value.
    """
    if not any(_PLACEHOLDER.search(word) for word in words.values()):
        return dict(words)
    values = params.section(document, stage, file) if foreach is None else _entry(document, stage, foreach, file)
    return {
        name: _PLACEHOLDER.sub(lambda match: str(params.section(values, match[1], file)), word)
        for name, word in words.items()
    }


def _entry(document: Mapping[str, Any], stage: str, foreach: str, file: Path) -> dict[str, Any]:
    # From another folder DVC writes `../dvc.yaml:collect@domain`.
    _, at, key = os.environ.get(STAGE, "").rpartition(f"{stage}@")
    if not at:
        problem = f"does not name an entry of {foreach}"
        raise BadParams(Code.UNKNOWN_KEY, STAGE, problem, f"run `dvc repro {stage}`, or set it")
    if isinstance(params.section(document, foreach, file), list):  # of names alone, as in ladder.domain_transfer
        return {KEY: key}
    return {**params.section(document, f"{foreach}.{key}", file), KEY: key}
