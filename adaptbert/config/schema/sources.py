"""Corpora and tasks: where unlabelled text and labelled sets come from. What formats and columns there are is known to
`adaptbert.data`, which checks them (adaptbert.planning.rules)."""

from typing import Annotated, Literal

from pydantic import Field

from adaptbert.config.schema.section import Contradiction, Section
from adaptbert.config.schema.task_types import SPECS, Target, TaskName, TaskSpec

Format = Literal["txt", "csv", "tsv", "jsonl", "parquet", "conll", "squad", "doccano", "label_studio"]
Scheme = Literal["io", "bio", "iob1", "iobes"]
Replacement = Annotated[list[str], Field(min_length=2, max_length=2)]
Share = Annotated[float, Field(gt=0, lt=1)]


DEMONSTRATIONS = {f"data/{name}": f"python -m examples.docstrings {name}" for name in ("demo", "smoke")}
"""Folder of the demonstration's files -> the command that writes them."""
SPLITS = ("train", "dev", "test")


def maker(path: str) -> str | None:
    """The command that writes a file of the demonstration; None: it is the user's."""
    return next((made for folder, made in DEMONSTRATIONS.items() if path.startswith(f"{folder}/")), None)


class Source(Section):
    """Files; what is left out is not done."""

    columns: dict[str, str] | None = None
    """Field name -> column in the file, e.g. `{text: content, id: post_id}`; a field that is not mapped is read from
    the column of the same name. `id` and `group` are read only if they are mapped, `{id: id}`; otherwise rows are
    named after file and line, and those of one document of CoNLL or SQuAD are a group."""
    format: Format | None = None
    """Format of the files; left out: by their names."""
    encoding: str | None = None
    """Encoding of text files, e.g. gb18030; left out: UTF-8."""
    replace: Annotated[list[Replacement], Field(max_length=100)] | None = None
    r"""Pairs [regular expression, replacement], applied to the text in this order, e.g. `['@\S+', '@user']`.
    A pattern that takes five seconds for one text is an error, which names the row."""


class Corpus(Source):
    """Unlabelled text."""

    path: str
    """A file, or a folder of files. DVC watches it."""


class SplitShares(Section):
    """Which splits are cut off the training rows; their paths name the same file as `train`.

    Rows whose `group` is equal stay together, where `columns` maps one; else rows of one document (CoNLL, SQuAD) or of
    equal text (or context). Rows without which train would lack a label stay there.
    """

    dev: Share | None = None
    """Share of the rows that become the development split; left out: it has a file of its own."""
    test: Share | None = None
    """Share of the rows that become the test split; left out: it has a file of its own."""

    def _agree(self) -> None:
        if not self.shares():
            raise Contradiction("split has no share", "give a share for dev, for test or for both")
        if sum(self.shares().values()) >= 1:
            problem = f"split: dev {self.dev} + test {self.test} leave nothing to train on"
            raise Contradiction(problem, "write smaller shares")

    def shares(self) -> dict[str, float]:
        """Shares of the splits that are cut off."""
        return {name: share for name, share in (("test", self.test), ("dev", self.dev)) if share is not None}


class Task(Source):
    """A labelled set."""

    type: TaskName
    """What is found: one label of a text or of a pair of texts, several labels or none (`multi-label`), a number, an
    answer in a context, or spans of tokens (a tag for every token with `tag_scheme: none`)."""
    pair: bool = False
    """Whether a row of `multi-label` or `regression` has two texts, `text_a` and `text_b`."""
    train: str
    """The training split: a file or a folder."""
    dev: str
    """The development split: a file, or that of `train` (see `split`). It selects the checkpoint to keep."""
    test: str
    """The test split: a file, or that of `train` (see `split`). Evaluated once per seed, after training."""
    split: SplitShares | None = None
    """Shares for a set without dev or test rows of its own."""
    labels: list[str] | None = None
    """Labels that may occur (of spans: types without B- and I-); left out: those of the training rows."""
    separator: Annotated[str, Field(min_length=1)] | None = None
    """What parts the labels of a row (`multi-label`) where they are one text, as in CSV and TSV, e.g. `';'`; blanks
    around a label are dropped. Left out: they are a list."""
    map_labels: dict[str, str | None] | None = None
    """A label of the files -> ours, e.g. `{Neutral: neutral}`; of spans the types without B- and I-. `{"-": null}`
    leaves out the rows with that label, `{"": null}` those without any (an empty cell or list, a text without spans),
    which `{"": ""}` keeps."""
    positive: str | None = None
    """The label whose own F1 is reported as `f1_positive`, as GLUE does for MRPC. Left out: none."""
    tag_scheme: Scheme | Literal["none"] | None = None
    """How the file writes spans: `io`, `bio` (IOB2), `iob1` or `iobes` (BILOU, BMES); stored as bio. `none`: tags are
    no spans. Required for `token-classification`; formats that mark characters instead need none, they are read as
    `bio`."""
    repair_tags: bool | None = None
    """true: a row whose tags break the scheme is mended and counted; left out: it is rejected."""
    no_answer: bool | None = None
    """Whether questions may have no answer. Required for `question-answering`."""
    range: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    """Lowest and highest value (`regression`); a row outside is rejected. Left out: any number."""

    @property
    def spec(self) -> TaskSpec:
        """The task's type, with what `pair` and `tag_scheme` say of it."""
        if self.tag_scheme == "none":
            return SPECS["token-tags"]
        return SPECS[f"text-pair-{self.type}" if self.pair else self.type]

    @property
    def target(self) -> Target:
        """What is predicted."""
        return self.spec.target

    @property
    def span_scheme(self) -> Scheme | None:
        """How spans are written."""
        return None if self.tag_scheme == "none" else self.tag_scheme

    def _agree(self) -> None:
        if self.pair and f"text-pair-{self.type}" not in SPECS:
            problem = f"pair: true, and the type is {self.type}"
            raise Contradiction(problem, "leave it out, or see text-pair-classification")
        if self.tag_scheme == "none" and self.type != "token-classification":
            raise Contradiction(f"tag_scheme, and the type is {self.type}", "leave it out")
        if self.range is not None and self.range[0] >= self.range[1]:
            raise Contradiction(f"range: {self.range[0]} is not below {self.range[1]}", "write the lowest value first")


class Limits(Section):
    """The section `validate`: what a row may be like."""

    min_characters: Annotated[int, Field(ge=0, le=100_000_000)] = 2
    """Minimum of a corpus row; labelled rows are only rejected when they are empty."""
    max_characters: Annotated[int, Field(ge=1, le=100_000_000)] = 200_000
    """Maximum of any row."""
    max_bad_fraction: Annotated[float, Field(ge=0, le=1)] = 0.01
    """The stage fails when a larger share of the rows of a set is unreadable or invalid."""

    def _agree(self) -> None:
        if self.min_characters > self.max_characters:
            raise Contradiction(f"min_characters {self.min_characters} > max_characters {self.max_characters}")
