"""params.yaml with some values changed, and what the checks of values and rules say of it."""

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from adaptbert.config import load as params
from adaptbert.errors import UserError
from tests.support.imports import ROOT
from tests.support.messages import messages_in

FILE = Path("params.yaml")
REMOVED = object()
DEMO = params.read(ROOT / "presets/demo.yaml")


def changed(**changes: Any) -> dict[str, Any]:
    """The demo with other values at these dotted keys; `REMOVED` takes a key away."""
    document = copy.deepcopy(DEMO)
    for key, value in changes.items():
        *path, last = key.split(".")
        here = document
        for part in path:
            here = here[part]
        if value is REMOVED:
            del here[last]
        else:
            here[last] = value
    return document


def errors(**changes: Any) -> list[str]:
    """The messages of all checks, each with its exit code."""
    return _messages(partial(check_all, changed(**changes), FILE))


def rule_errors(**changes: Any) -> list[str]:
    """Only those of the rules between sections."""
    return _messages(partial(section_rules.check, changed(**changes), FILE))


def _messages(check: Callable[[], None]) -> list[str]:
    try:
        check()
    except UserError as error:
        return [f"{line} ({error.exit_code})" for line in messages_in(str(error))]
    return []
