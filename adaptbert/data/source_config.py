"""The keys of params.yaml that say where text comes from, shared by `collect` and `collect_task`."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import Config, contradiction
from adaptbert.data.layout import Layout
from adaptbert.data.readers import encodings, replacing
from adaptbert.data.readers.spec import FORMATS, Format

ONLY_FILES = ("columns", "encoding", "format")
NOT_DOCS = (*ONLY_FILES, "replace")
Replacement = Annotated[list[str], Field(min_length=2, max_length=2)]


class SourceConfig(Config):
    """A source of text; what is left out is not done."""

    source: Literal["installed_docs", "files", "hub"]
    columns: dict[str, str] | None = None
    """Field name -> column in the file, e.g. `{text: content, id: post_id}`; a field that is not mapped is read from
    the column of the same name. `id` and `group` are read only if they are mapped, `{id: id}`; otherwise rows are
    named after file and line. (`hub`: in the YAML file instead.)"""
    format: Format | None = None
    """Format of the files; default: by their names."""
    encoding: str | None = None
    """Encoding of text files, e.g. gb18030; default: UTF-8."""
    replace: Annotated[list[Replacement], Field(max_length=bounds.PATTERNS)] | None = None
    r"""Pairs [regular expression, replacement], applied to the text in this order, e.g. `['@\S+', '@user']`.
    A pattern that takes five seconds for one text is an error, which names the row, and so are patterns that make a
    text longer than ten times its length and 10,000 characters."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        refused = {"installed_docs": NOT_DOCS, "hub": ONLY_FILES, "files": ()}[self.source]
        for key in refused:
            if getattr(self, key) is not None:
                is_elsewhere = key == "columns" and self.source == "hub"
                remedy = "name them in the YAML file at `path`" if is_elsewhere else "leave it out"
                raise contradiction(f"source '{self.source}' takes no '{key}'", remedy)
        if self.encoding is not None and (problem := encodings.problem(self.encoding)):
            raise contradiction(problem, encodings.remedy())
        if problem := replacing.problem(self.replace):
            raise contradiction(problem, "mend the regular expression")
        return self

    def check_fields(self, layout: Layout) -> None:
        """Reject fields that a row of this kind does not have, and options that do not apply to it."""
        labelled = not layout.is_corpus
        fields = ("text", *layout.outputs) if self._marks_characters(layout) else layout.fields
        known = ("id", *(("group",) if labelled else ()), *fields)
        for name in self.columns or {}:
            if name not in known:
                remedy = f"`columns` maps a field to a column of the file; fields are {', '.join(known)}"
                raise contradiction(f"columns: '{name}' is not a field of a {layout.name}", remedy)
        if self.replace is not None and layout.aligned:
            problem = f"shape '{layout.name}' takes no 'replace': {layout.aligned} must stay aligned"
            raise contradiction(problem, "leave it out")
        if not labelled and self.format is not None and FORMATS[self.format].is_labelled:
            *most, last = (name for name, spec in FORMATS.items() if not spec.is_labelled)
            raise contradiction(f"format '{self.format}' is for labelled sets", f"write {', '.join(most)} or {last}")

    def names(self, layout: Layout) -> dict[str, str]:
        """Field -> column of the file, for mapped fields; in formats that mark characters, `tokens` has the column of
        `text`."""
        columns = dict(self.columns or {})
        return {"tokens": columns.pop("text", "text"), **columns} if self._marks_characters(layout) else columns

    def _marks_characters(self, layout: Layout) -> bool:
        return layout.is_tagged and self.has_character_marks

    @property
    def has_character_marks(self) -> bool:
        """Whether the format marks characters of a text."""
        return self.format is not None and FORMATS[self.format].marks_characters
