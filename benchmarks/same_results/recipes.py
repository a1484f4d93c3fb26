"""The recipe of four task types, from a commit's own smoke preset: a file in schemas/ for each schema of params.yaml.

schemas/ladder.yaml explains its keys. A commit gets the file whose `has` its preset has; a new schema needs a new file.
"""

from functools import reduce
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

SCHEMAS = Path(__file__).with_name("schemas")
OWN = "data/own"
"""Where the files of `tiny_sets` lie, from the root of a clone."""
Schema = dict[str, Any]


def load(path: Path) -> Any:
    """A file with its comments, so that a commit's own file is edited as a user would."""
    return _yaml().load(path.read_text(encoding="utf-8"))


def dump(document: Any, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        _yaml().dump(document, file)


def schema_of(preset: Any) -> Schema:
    """Text of a smoke preset.

    Raises:
        LookupError: no file fits.
    """
    for file in sorted(SCHEMAS.glob("*.yaml")):
        schema: Schema = YAML(typ="safe").load(file.read_text(encoding="utf-8"))
        if _has(preset, schema["has"]):
            return schema
    raise LookupError("no file in benchmarks/same_results/schemas fits this preset: add one for its schema")


def plan_of(root: Path, schema: Schema) -> str:
    """The file of a commit that names every stage."""
    files: list[str] = [*schema["plans"]]
    return next(name for name in files if (root / name).is_file())


def make_four_types(preset: Any, schema: Schema) -> None:
    """Turn a smoke preset into the recipe of four task types, in place."""
    older = schema.get("older")
    edits = schema["edits"] | (older["edits"] if older and _has(preset, older["has"]) else {})
    for path in schema["removed"]:
        *above, last = path.split(".")
        del _at(preset, above)[last]
    for path, value in edits.items():
        *above, last = path.split(".")
        _at(preset, above)[last] = value


def _at(document: Any, keys: list[str]) -> Any:
    return reduce(lambda inner, key: inner[key], keys, document)


def _has(document: Any, path: str) -> bool:
    try:
        _at(document, path.split("."))
    except (KeyError, TypeError):
        return False
    return True


def _yaml() -> YAML:
    yaml = YAML()
    yaml.width, yaml.preserve_quotes = 10_000, True
    return yaml
