"""The data of the demonstration: text and labels from the docstrings of installed packages, without a download.

    python -m examples.docstrings demo     # data/demo: of scientific packages, in a minute or two
    python -m examples.docstrings smoke    # data/smoke: of small packages, in seconds
    python -m examples.docstrings          # those of the two that params.yaml names

Either folder has what params.yaml names like any user's files: `general.jsonl` and `domain.jsonl`, a sentence a line,
and the splits of two labelled sets, for which nobody annotated anything:

section   a sentence -> the section of the numpydoc docstring that it stands in
mention   a sentence -> BIO tags of the words that its author marked up as CODE, PARAM or REF; the markup is removed

Splits are by module, so that no function is in two of them; no sentence is either. Packages are found by their RECORD,
and their source is read with `ast`, never imported. Doctests, tables, literal blocks and the heads of entries are
dropped. Equal versions give equal bytes: `made_of.json` remembers them, and a folder that is up to date is left alone.
Results on this text show that the pipeline works, not how good a method is. It keeps the licences of the packages.
"""

import ast
import json
import platform
import re
import sysconfig
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from hashlib import sha256
from importlib import metadata
from inspect import cleandoc
from pathlib import Path
from typing import Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.config.recipe import PARAMS
from adaptbert.core.files import atomic_write, file_digest, read_json, write_json
from adaptbert.data.files import split_of
from adaptbert.errors import BadData
from adaptbert.runtime.worker_pool import in_order, workers
from examples import command, run

DATA = Path("data")
STDLIB = "stdlib"


class Packages(NamedTuple):
    """Where the text comes from, and the most rows of each split."""

    general: tuple[str, ...]
    domain: tuple[str, ...]
    """The labelled sets are of these, too."""
    section: dict[str, int]
    mention: dict[str, int]


SETS = {
    "demo": Packages(
        general=(STDLIB, "transformers", "mlflow", "sqlalchemy", "prefect", "networkx"),
        domain=("numpy", "pandas", "scipy", "scikit-learn"),
        section={"train": 1500, "dev": 150, "test": 2000},
        mention={"train": 3000, "dev": 150, "test": 1000},
    ),
    "smoke": Packages(
        general=("alembic", "fsspec"),
        domain=("networkx",),
        section={"train": 200, "dev": 60, "test": 100},
        mention={"train": 200, "dev": 60, "test": 100},
    ),
}
RECORD = "made_of.json"
FEWEST_CHARACTERS = 50_000
"""Packages with less were installed without docstrings."""

# ---- packages -> sentences

SKIPPED = re.compile(
    r"/(_external|_vendor|_vendored_packages|array_api_compat|array_api_extra|ensurepip|externals|idle_test|lib2to3"
    r"|pydoc_data|site-packages|dist-packages|tests?|third_party|turtledemo|vendor|vendored)/|/test_[^/]*$|/conftest\.py$"
)
"""Tests, and vendored code inside a package."""


class Segment(NamedTuple):
    """A part of a sentence.

    Attributes:
        kind: of its markup: CODE, PARAM (an entry of the same docstring), REF (another object), MATH, NAME (a plain
            name: a parameter or an object), else "".
    """

    kind: str
    text: str


class Sentence(NamedTuple):
    """A sentence with its markup.

    Attributes:
        id: file, line of the docstring and number in it.
        section: of the docstring, by numpydoc; "Lead" before the first.
    """

    id: str
    module: str
    section: str
    segments: tuple[Segment, ...]

    @property
    def named(self) -> dict[str, str]:
        """Id, and the docstring whose sentences belong together."""
        return {"id": self.id, "docstring": self.id.rpartition(":")[0]}

    @property
    def text(self) -> str:
        """Text as rendered: no back-ticks, no roles, single spaces."""
        return SPACES.sub(" ", "".join(segment.text for segment in self.segments)).strip()

    @property
    def letters(self) -> str:
        """The letters alone, without case: equal for equal sentences."""
        return "".join(filter(str.isalpha, self.text.casefold()))


def version(package: str) -> str:
    """The version of a package; raises BadData where it is not installed."""
    try:
        return platform.python_version() if package == STDLIB else metadata.version(package)
    except metadata.PackageNotFoundError:
        raise BadData(Code.NOT_INSTALLED, "examples/docstrings.py", f"package '{package}' is not installed",
                      "install it as CONTRIBUTING.md says") from None  # fmt: skip


def python_files(package: str) -> dict[str, Path]:
    """Name below the library folder -> file, sorted."""
    if package == STDLIB:
        root = Path(sysconfig.get_path("stdlib"))
        tops = [top for top in root.iterdir() if not SKIPPED.search(f"/{top.name}/")]  # not entered: they are large
        files = [path for top in tops for path in (top.rglob("*.py") if top.is_dir() else [top])]
        named = {path.relative_to(root).as_posix(): path for path in files}
    else:
        recorded = metadata.distribution(package).files or []
        named = {file.as_posix(): Path(str(file.locate())) for file in recorded if ".." not in file.parts}
    own = [name for name in sorted(named) if not SKIPPED.search(f"/{name}")]
    return {name: named[name] for name in own if name.endswith(".py") and named[name].is_file()}


def sentences(packages: Iterable[str]) -> Iterator[Sentence]:
    """Every sentence of every docstring; docstrings are often shared unchanged, and each is read once.

    Raises:
        BadData: there is next to no text.
    """
    files = [file for package in packages for file in python_files(package).items()]
    seen: set[str] = set()
    characters = 0
    for (name, _), docstrings in zip(files, in_order(read, [path for _, path in files], workers()), strict=True):
        module = ".".join(Path(name).with_suffix("").parts).removesuffix(".__init__")
        for line, docstring, parts in docstrings:
            if docstring not in seen:
                seen.add(docstring)
                for number, (section, segments) in enumerate(parts, 1):
                    sentence = Sentence(f"{name}:{line}:{number}", module, section, segments)
                    characters += len(sentence.text)
                    yield sentence
    if characters < FEWEST_CHARACTERS:
        problem = f"{characters:,} characters of docstrings in {', '.join(packages)}, expected {FEWEST_CHARACTERS:,}"
        raise BadData(Code.NOT_INSTALLED, "examples/docstrings.py", problem, "use a Python that keeps docstrings")


Parts = list[tuple[str, tuple[Segment, ...]]]
"""The sentences of a docstring: section and segments."""


def read(path: Path) -> list[tuple[int, str, Parts]]:
    """Line, docstring and its sentences; nothing of a file that is not Python of this version."""
    try:
        return [(line, docstring, list(prose(docstring))) for line, docstring in docstrings(path.read_bytes())]
    except SyntaxError:
        return []


def docstrings(source: bytes) -> Iterator[tuple[int, str]]:
    """Line and text of the docstrings of the module, its classes and functions, and those passed to `add_newdoc` and
    the like, in order. Functions inside functions are skipped: they rarely have docstrings.

    Raises:
        SyntaxError: not Python of this version.
    """
    if b'"""' not in source and b"'''" not in source:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes of other packages
        try:
            module = ast.parse(source)
        except ValueError as error:  # NUL bytes, before Python 3.12
            raise SyntaxError(str(error)) from None
    yield from documented(module)


def documented(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines of a statement and those in it."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
        text := ast.get_docstring(node)
    ):
        yield node.body[0].lineno, text
    if isinstance(node, ast.Module | ast.ClassDef | ast.If | ast.For | ast.With | ast.Try):
        for child in [*node.body, *getattr(node, "orelse", [])]:
            yield from documented(child)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from added_docstring(node.value)


def added_docstring(call: ast.Call) -> Iterator[tuple[int, str]]:
    """`add_newdoc("numpy", "ndarray", ("sum", "...the docstring..."))`: how compiled functions are documented."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if "newdoc" not in name:
        return
    parts = [part for argument in call.args for part in getattr(argument, "elts", [argument])]
    strings = [(part.lineno, part.value) for part in parts if isinstance(part, ast.Constant)]
    texts = [(line, text) for line, text in strings if isinstance(text, str)]
    line, longest = max(texts, key=lambda each: len(each[1]), default=(0, ""))
    if "\n" in longest:
        yield line, cleandoc(longest)


# ---- a docstring -> its prose: numpydoc sections, Google sections and reST fields, as far as prose needs it

LEAD = "Lead"
MIN_WORDS, MAX_WORDS = 5, 80
MIN_LETTERS = 0.75
"""Share of letters and spaces in a sentence; below it is mostly code or mathematics."""

ENTRY_SECTIONS = {
    "Attributes", "Methods", "Other Parameters", "Parameters", "Raises", "Receives", "Returns", "Warns", "Yields",
}  # fmt: skip
"""numpydoc sections whose lines at the margin name an entry, with the prose indented below it."""
SKIPPED_SECTIONS = {"References", "See Also"}
ADMONITIONS = {"attention", "caution", "danger", "hint", "important", "note", "tip", "warning"}
CODE_ROLES = {"code", "command", "envvar", "file", "keyword", "option", "program", "samp", "token"}
OBJECT_ROLES = {"any", "attr", "class", "const", "data", "exc", "func", "meth", "mod", "obj", "type"}

DIRECTIVE = re.compile(r"\.\. +([\w:+-]+)::\s*(.*)")
FIELD = re.compile(r":(arg|keyword|param|parameter|raise|raises|return|returns|type|rtype|var|vartype|yield|yields)"
                   r"(?: [^:`]*)?:(?:\s+(.*))?$")  # fmt: skip
GOOGLE_HEADER = re.compile(
    r"(Args|Arguments|Attributes|Example|Examples|Keyword Args|Keyword Arguments|Note|Notes|Other Parameters|"
    r"Parameters|Raises|Return|Returns|Usage|Warning|Warnings|Warns|Yields):$"
)
GOOGLE_ENTRY = re.compile(r"[*`]*\w[\w.*`/, ]{0,60}(?:\s*\(.*\))?\s*:(?:\s+(.*))?$")
BULLET = re.compile(r"(?:[-*+•]|\d{1,2}[.)]|\([a-z0-9]\)|[a-z]\))\s+")
RULE = re.compile(r"([-=~^*#+\"'.])\1{2,}$")
TABLE_RULE = re.compile(r"=+(?:\s+=+)+$|[-]+(?:\s+[-]+)+$")
SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bcf\.)(?<!\bvs\.)(?<!\bal\.)(?<!\bFig\.)"
                          r"(?<!\bEq\.)(?<!\bRef\.)(?<!\bEqs\.)(?<!\bRefs\.)(?<!\bresp\.)(?<!\bSec\.)(?<!\b[A-Z]\.)"
                          r"\s+(?=[A-Z\"'(`:\[*])")  # fmt: skip

MARKUP = re.compile(
    r":(?P<role>[\w:+-]+):`(?P<target>[^`]+)`"
    r"|``(?P<double>.+?)``"
    r"|`(?P<link>[^`<]+?)\s*<[^>`]+>`_{0,2}"
    r"|`(?P<anchor>[^`]+)`__?(?!\w)"
    r"|\[?`(?P<single>[^`]+)`\]?(?:\((?:http|\.|/)[^)\s]*\))?"
    r"|\s?\[[\w#*-]{1,20}\]_"
    r"|\[(?P<shown>[^\]`]+)\]\([^)\s]+\)"
    r"|(?<!\w)(?P<stars>\*{1,2})(?P<emphasis>[^\s*](?:[^*]*[^\s*])?)(?P=stars)(?!\w)"
)
NAME = re.compile(r"\*{0,2}[A-Za-z_]\w*$")
DOTTED = re.compile(r"[~.]?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(\))?$|[A-Za-z_]\w*\(\)$")
SPACES = re.compile(r"\s+")


def prose(docstring: str) -> Iterator[tuple[str, tuple[Segment, ...]]]:
    """Section and segments of each sentence of natural language, in order."""
    parts = list(sections(docstring))
    entries = {name for section, lines in parts if section in ENTRY_SECTIONS for name in entries_in(lines)}
    for section, lines in parts:
        if section in SKIPPED_SECTIONS:
            continue
        for paragraph in Paragraphs(lines, entries=section in ENTRY_SECTIONS).done:
            for raw in SENTENCE_END.split(paragraph):
                sentence = Sentence("", "", section, tuple(segments_of(raw, entries)))
                if is_prose(sentence.text):
                    yield section, sentence.segments


def is_prose(text: str) -> bool:
    """Whether the length is in bounds, most characters are letters, and no markup is left."""
    if not MIN_WORDS <= text.count(" ") + 1 <= MAX_WORDS or "`" in text or "://" in text or "%(" in text:
        return False
    return sum(map(str.isalpha, text)) + text.count(" ") >= MIN_LETTERS * len(text)


def sections(docstring: str) -> Iterator[tuple[str, list[str]]]:
    """Title and lines. A title is a line at the margin that is underlined with dashes or equals signs."""
    title, lines = LEAD, list[str]()
    for line in docstring.split("\n"):
        if lines and RULE.match(line) and line[0] in "-=" and lines[-1][:1].isalpha():
            following = lines.pop().strip()
            yield title, lines
            title, lines = following, []
        else:
            lines.append(line)
    yield title, lines


def entries_in(lines: list[str]) -> Iterator[str]:
    """Names that `x, y : float` and the like define."""
    for line in lines:
        if line and not line[0].isspace():
            yield from (name.strip(" *`") for name in line.partition(":")[0].split(","))


class Paragraphs:
    """The paragraphs of prose that lines are joined to.

    Args:
        entries: lines at the margin are heads of entries (`x : int`), not prose.
    """

    def __init__(self, lines: Iterable[str], *, entries: bool) -> None:
        self.done: list[str] = []
        self.lines: list[str] = []
        self.indent: int | None = None
        """Indent of the paragraph being joined; None: that of its next line, as below `name: begin of the text`."""
        self.entries = entries
        self.skip_below: int | None = None
        """Deeper indented lines belong to a dropped block."""
        self.google: int | None = None
        """Indent of a Google header whose entries follow."""
        self.doctest = self.table = self.fence = False
        for line in lines:
            self._read(line.strip(), len(line) - len(line.lstrip()))
        self.end()

    def _read(self, stripped: str, indent: int) -> None:
        """Join the next line to its paragraph, or drop it."""
        if not self._is_dropped(stripped, indent):
            self.skip_below = None
            if self.google is not None and indent <= self.google:
                self.google = None
            self._read_text(stripped, indent)

    def _is_dropped(self, stripped: str, indent: int) -> bool:
        """Whether the line belongs to a block that is no prose, or ends one; then it also ends a paragraph."""
        if self.fence or stripped.startswith("```"):
            self.fence = self.fence != (stripped.count("```") == 1)
        elif not stripped:
            self.doctest = self.table = False
        elif self.skip_below is not None and indent > self.skip_below:
            return True  # the paragraph continues after the block
        elif self.doctest or stripped.startswith(">>>"):
            self.doctest = True
        elif self.table or TABLE_RULE.match(stripped) or stripped.startswith(("|", "+-")):
            self.table = True
        elif RULE.match(stripped):
            if self.lines:
                self.lines.pop()  # a title
        else:
            return False
        self.end()
        return True

    def _read_text(self, stripped: str, indent: int) -> None:
        """A line outside of such blocks: prose, the head of an entry, or what begins a dropped block."""
        if directive := DIRECTIVE.match(stripped):
            self.begin(directive[2] if directive[1] in ADMONITIONS else None)
            self.skip_below = None if directive[1] in ADMONITIONS else indent
        elif stripped.startswith(".. "):  # comment, footnote, target
            self.end()
            self.skip_below = indent
        elif field := FIELD.match(stripped):
            self.begin(None if "type" in field[1] else field[2])
            self.skip_below = indent if "type" in field[1] else None
        elif header := GOOGLE_HEADER.match(stripped):
            self.end()
            self.google = indent
            self.skip_below = indent if header[1] in ("Example", "Examples", "Usage") else None
        elif self.entries and indent == 0:
            self.end()
        elif (self.google is not None or stripped.endswith("):")) and (entry := GOOGLE_ENTRY.match(stripped)):
            self.begin(entry[1])
        elif bullet := BULLET.match(stripped):
            self.begin(stripped[bullet.end() :])
        elif stripped.endswith("::"):
            self.add(stripped[:-1], indent)
            self.end()
            self.skip_below = indent
        else:
            self.add(stripped, indent)

    def add(self, line: str, indent: int) -> None:
        if self.lines and self.indent not in (None, indent):
            self.end()
        self.lines.append(line)
        self.indent = indent

    def begin(self, line: str | None) -> None:
        self.end()
        self.lines = [line] if line else []
        self.indent = None

    def end(self) -> None:
        if self.lines:
            self.done.append(" ".join(self.lines))
            self.lines = []


def segments_of(raw: str, entries: Set[str]) -> Iterator[Segment]:
    """Marked-up words and the text between them, without the markup."""
    position = 0
    for match in MARKUP.finditer(raw):
        if match.start() > position:
            yield Segment("", raw[position : match.start()].replace("\\", ""))
        position = match.end()
        segment = marked(match, entries)
        if segment.text:
            yield segment
    if position < len(raw):
        yield Segment("", raw[position:].replace("\\", ""))


def marked(match: re.Match[str], entries: Set[str]) -> Segment:
    if match["role"]:
        role = match["role"].rpartition(":")[2]
        shown = match["target"].partition(" <")[0]
        if role in OBJECT_ROLES:
            return Segment("REF", short(shown))
        return Segment("CODE" if role in CODE_ROLES else "MATH" if role == "math" else "", shown)
    if match["double"]:
        return Segment("CODE", match["double"].strip())
    if match["single"]:
        name = match["single"].strip()
        if name in ("None", "True", "False"):
            return Segment("CODE", name)
        if NAME.match(name):
            return Segment("PARAM" if name.lstrip("*") in entries else "NAME", name)
        return Segment("REF" if DOTTED.match(name) else "CODE", short(name))
    return Segment("", match["link"] or match["anchor"] or match["shown"] or match["emphasis"] or "")


def short(name: str) -> str:
    """`~numpy.ndarray` is shown as `ndarray`."""
    return name.rpartition(".")[2] if name.startswith("~") else name.removeprefix("!")


# ---- sentences -> labelled sets

SECTIONS = {
    "Lead": "Lead",
    "Parameters": "Parameters",
    "Other Parameters": "Parameters",
    "Returns": "Returns",
    "Yields": "Returns",
    "Notes": "Notes",
    "Raises": "Raises",
}
"""numpydoc section -> label."""
MENTIONS = {"CODE", "PARAM", "REF"}
SPLITS = ("train", "dev", "test")
SHARES = {"test": 0.25, "dev": 0.10}
"""Split of the modules: by a hash of the name, so that other installed packages do not matter."""
TOKEN = re.compile(r"\w+(?:[.'-]\w+)*|\S")
"""A word, with inner dots, hyphens and apostrophes; or one sign."""

Example = dict[str, Any]


def section(sentence: Sentence) -> Example | None:
    label = SECTIONS.get(sentence.section)
    return None if label is None else {**sentence.named, "text": sentence.text, "label": label}


def mention(sentence: Sentence) -> Example | None:
    """The mention as an example; None without one, and for one that has no label: formulas, names of unknown kind."""
    kinds = {segment.kind for segment in sentence.segments}
    if kinds & {"MATH", "NAME"} or not kinds & MENTIONS:
        return None
    tokens, tags = list[str](), list[str]()
    for kind, text in sentence.segments:
        for number, token in enumerate(TOKEN.findall(text)):
            tokens.append(token)
            tags.append("O" if not kind else f"I-{kind}" if number else f"B-{kind}")
    return {**sentence.named, "tokens": tokens, "tags": tags}


def labelled(
    every: Iterable[Sentence], example: Callable[[Sentence], Example | None], most: dict[str, int]
) -> dict[str, list[Example]]:
    """The rows of each split. A sentence comes once, in the last of `SPLITS` that has it; one with two labels never."""
    found: dict[str, tuple[str, Example]] = {}
    labels: dict[str, set[str]] = defaultdict(set)
    for sentence in every:
        if (row := example(sentence)) is None:
            continue
        key, split = sentence.letters, split_of(sentence.module, SHARES, salt="")
        labels[key].add(str(row.get("label")))
        if key not in found or SPLITS.index(split) > SPLITS.index(found[key][0]):
            found[key] = split, row
    rows = [place for key, place in found.items() if len(labels[key]) == 1]
    return {split: chosen([row for other, row in rows if other == split], most[split]) for split in SPLITS}


def chosen(rows: list[Example], most: int) -> list[Example]:
    """Equal shares of all labels, in order: a label with fewer rows gives all of them, the others share the rest.

    Rows of a label are taken by a hash of their ids, a salted one: fine-tuning takes rows by the plain hash.
    """

    def drawn(place: int) -> bytes:
        return sha256(f"demonstration {rows[place]['id']}".encode()).digest()

    by_label: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        by_label[str(row.get("label"))].append(place)
    taken: list[int] = []
    smallest_first = sorted(by_label.items(), key=lambda item: (len(item[1]), item[0]))
    for done, (_, places) in enumerate(smallest_first):
        share = (most - len(taken)) // (len(smallest_first) - done)
        taken += sorted(places, key=drawn)[:share]
    return [rows[place] for place in sorted(taken)]


# ---- files


def corpus(every: Iterable[Sentence]) -> list[Example]:
    """Every sentence once."""
    first: dict[str, Sentence] = {}
    for sentence in every:
        first.setdefault(sentence.letters, sentence)
    return [{"id": sentence.id, "text": sentence.text} for sentence in first.values()]


def write(folder: Path, packages: Packages) -> None:
    """All files of a folder, which is replaced as a whole."""
    record = made_of(packages)
    domain = [*sentences(packages.domain)]
    files = {"general": corpus(sentences(packages.general)), "domain": corpus(domain)}
    for name, example, most in (("section", section, packages.section), ("mention", mention, packages.mention)):
        files |= {f"{name}.{split}": rows for split, rows in labelled(domain, example, most).items()}
    with atomic_write(folder) as target:
        target.mkdir()
        for name, rows in files.items():
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            (target / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        write_json(target / RECORD, record)


def made_of(packages: Packages) -> dict[str, str]:
    """What decides the bytes: versions, and this file."""
    versions = {package: version(package) for package in (*packages.general, *packages.domain)}
    return {**versions, "examples/docstrings.py": file_digest(Path(__file__))}


def main(name: str | None) -> None:
    named = PARAMS.read_text(encoding="utf-8") if PARAMS.is_file() else ""
    for set_name, packages in SETS.items():
        folder = DATA / set_name
        record = folder / RECORD
        if name != set_name and (name or f"{folder}/" not in named):
            continue
        if not record.is_file() or read_json(record) != made_of(packages):
            write(folder, packages)
            print(f"{folder}: written from the docstrings of {', '.join(packages.general + packages.domain)}")


if __name__ == "__main__":
    parser = command("docstrings", __doc__)
    parser.add_argument("name", metavar="NAME", nargs="?", choices=SETS, help=" or ".join(SETS))
    run(parser, main)
