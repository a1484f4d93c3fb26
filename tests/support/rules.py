"""tests/support/recipe.yaml with some values changed, and what the checks of values and rules say of it."""

import copy
from pathlib import Path
from typing import Any

from adaptbert.config import load
from adaptbert.config.recipe import Recipe
from adaptbert.errors import UserError, failures_of
from adaptbert.planning import rules
from tests.support.messages import messages_in

FILE = Path("params.yaml")


class REMOVED:
    """A mark, whose name stands in the names of tests."""


DEMO = load.read(Path(__file__).with_name("recipe.yaml"))


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """The demo with other values at these dotted keys; `REMOVED` takes a key away."""
    document = copy.deepcopy(DEMO)
    for key, value in changes.items():
        *path, last = key.split(".")
        here = document
        for part in path:
            here = here.setdefault(part, {})
        if value is REMOVED:
            del here[last]
        else:
            here[last] = value
    return document


def recipe(**changes: Any) -> Recipe:
    return Recipe(changed(changes), FILE)


def errors(**changes: Any) -> list[str]:
    """The messages of all checks."""
    return refusals(changed(changes))


def found(**changes: Any) -> list[tuple[int, str]]:
    """Code and place of each error of all checks, in params.yaml."""
    failures = failures_of(lambda: rules.check(recipe(**changes)))
    assert {failure.place.file for failure in failures} <= {str(FILE)}
    return [(failure.code, ".".join(failure.place.keys)) for failure in failures]


def refusals(document: dict[str, Any], file: Path = FILE) -> list[str]:
    """The messages of all checks of a document."""
    try:
        rules.check(Recipe(document, file))
    except UserError as error:
        raised = error
    else:
        return []
    assert raised.exit_code == 78
    return messages_in(str(raised))


def notices(**changes: Any) -> list[str]:
    return rules.notices(recipe(**changes))
