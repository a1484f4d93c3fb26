"""The files that docs/how-to/labelled-sets.md shows, each with its parameters: an example of every labelled format."""

from itertools import pairwise
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from tests.support.markdown import blocks

PAGE = "docs/how-to/labelled-sets.md"


class Example(NamedTuple):
    """A file and its section of params.yaml, without `source` and paths."""

    suffix: str
    text: str
    section: dict[str, Any]

    @property
    def format(self) -> str:
        """The declared format, or that of the suffix."""
        return str(self.section.get("format", self.suffix))


def examples() -> list[Example]:
    """Each block that is a file, with the parameters that follow it."""
    shown = [(file, keys) for file, keys in pairwise(blocks(PAGE)) if file.language != "yaml"]
    yaml = YAML(typ="safe", pure=True)
    return [
        Example({"json": "jsonl"}.get(file.language, file.language), file.text, yaml.load(keys.text))
        for file, keys in shown
    ]
