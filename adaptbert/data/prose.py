"""Extracts docstrings from Python source with ast, and splits them into sentences, each with its section.

No source is imported or run. Parses numpydoc sections, Google sections and reST fields as far as needed to separate
prose from the rest: doctests, tables, directives, literal blocks and the heads of entries are dropped.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Set
from inspect import cleandoc
from typing import NamedTuple

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


class Docstring(NamedTuple):
    line: int
    """1-based line where the string begins."""
    text: str
    """Without the indentation of the code around it."""


def docstrings(source: bytes) -> Iterator[Docstring]:
    """Docstrings of the module, its classes and functions, and those passed to `add_newdoc` and the like, in order.

    Functions inside functions are skipped: they rarely have docstrings.

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
    yield from _own(module)
    yield from _inside(module.body)


def _inside(body: list[ast.stmt]) -> Iterator[Docstring]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _own(node)
            if isinstance(node, ast.ClassDef):
                yield from _inside(node.body)
        elif isinstance(node, ast.If | ast.For | ast.With | ast.Try):
            yield from _inside(node.body)
            yield from _inside(getattr(node, "orelse", []))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _added(node.value)


def _own(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Docstring]:
    text = ast.get_docstring(node)
    if text:
        yield Docstring(node.body[0].lineno, text)


def _added(call: ast.Call) -> Iterator[Docstring]:
    """`add_newdoc("numpy", "ndarray", ("sum", "...the docstring..."))`: how compiled functions are documented."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if "newdoc" not in name:
        return
    strings = [
        node
        for argument in call.args
        for node in (argument.elts if isinstance(argument, ast.Tuple) else [argument])
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    longest = max(strings, key=lambda node: len(str(node.value)), default=None)
    if longest is not None and "\n" in str(longest.value):
        yield Docstring(longest.lineno, cleandoc(str(longest.value)))


class Segment(NamedTuple):
    kind: str
    """The kind of markup: CODE, PARAM (an entry of the same docstring), REF (another object), MATH, NAME (a plain name:
    a parameter or an object), else ""."""
    text: str


class Sentence(NamedTuple):
    section: str
    """numpydoc section, or Lead."""
    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """As rendered: no back-ticks, no roles, single spaces."""
        return SPACES.sub(" ", "".join(segment.text for segment in self.segments)).strip()


def sentences(docstring: str) -> Iterator[Sentence]:
    """Natural-language sentences in order of appearance."""
    parts = list(_sections(docstring))
    entries = {name for section, lines in parts if section in ENTRY_SECTIONS for name in _entries(lines)}
    for section, lines in parts:
        if section in SKIPPED_SECTIONS:
            continue
        for paragraph in _paragraphs(lines, entries=section in ENTRY_SECTIONS):
            for raw in SENTENCE_END.split(paragraph):
                sentence = Sentence(section, tuple(_segments(raw, entries)))
                if is_prose(sentence.text):
                    yield sentence


def is_prose(text: str) -> bool:
    """Whether the length is in bounds, most characters are letters, and no markup is left."""
    if not MIN_WORDS <= text.count(" ") + 1 <= MAX_WORDS or "`" in text or "://" in text or "%(" in text:
        return False
    return sum(map(str.isalpha, text)) + text.count(" ") >= MIN_LETTERS * len(text)


def sentence_key(text: str) -> str:
    """Equal for equal sentences: the letters alone, without case."""
    return "".join(filter(str.isalpha, text.casefold()))


def _sections(docstring: str) -> Iterator[tuple[str, list[str]]]:
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


def _entries(lines: list[str]) -> Iterator[str]:
    """Names that `x, y : float` and the like define."""
    for line in lines:
        if line and not line[0].isspace():
            yield from (name.strip(" *`") for name in line.partition(":")[0].split(","))


class _Paragraphs:
    """Joins lines of prose to paragraphs; see `_paragraphs`."""

    def __init__(self, *, entries: bool) -> None:
        self.done: list[str] = []
        self.lines: list[str] = []
        self.indent: int | None = None
        """Of the paragraph being joined; None: that of its next line, as below `name: begin of the text`."""
        self.entries = entries
        self.skip_below: int | None = None
        """Deeper indented lines belong to a dropped block."""
        self.google: int | None = None
        """Indent of a Google header whose entries follow."""
        self.doctest = self.table = self.fence = False

    def read(self, line: str) -> None:
        """Join the next line to its paragraph, or drop it."""
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
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


def _paragraphs(lines: list[str], *, entries: bool) -> list[str]:
    """The paragraphs of prose.

    Args:
        entries: lines at the margin are heads of entries (`x : int`), not prose.
    """
    joined = _Paragraphs(entries=entries)
    for line in lines:
        joined.read(line)
    joined.end()
    return joined.done


def _segments(raw: str, entries: Set[str]) -> Iterator[Segment]:
    """Marked-up words and the text between them, without the markup."""
    position = 0
    for match in MARKUP.finditer(raw):
        if match.start() > position:
            yield Segment("", raw[position : match.start()].replace("\\", ""))
        position = match.end()
        segment = _marked(match, entries)
        if segment.text:
            yield segment
    if position < len(raw):
        yield Segment("", raw[position:].replace("\\", ""))


def _marked(match: re.Match[str], entries: Set[str]) -> Segment:
    if match["role"]:
        role = match["role"].rpartition(":")[2]
        shown = match["target"].partition(" <")[0]
        if role in OBJECT_ROLES:
            return Segment("REF", _short(shown))
        return Segment("CODE" if role in CODE_ROLES else "MATH" if role == "math" else "", shown)
    if match["double"]:
        return Segment("CODE", match["double"].strip())
    if match["single"]:
        name = match["single"].strip()
        if name in ("None", "True", "False"):
            return Segment("CODE", name)
        if NAME.match(name):
            return Segment("PARAM" if name.lstrip("*") in entries else "NAME", name)
        return Segment("REF" if DOTTED.match(name) else "CODE", _short(name))
    return Segment("", match["link"] or match["anchor"] or match["shown"] or match["emphasis"] or "")


def _short(name: str) -> str:
    """`~numpy.ndarray` is shown as `ndarray`."""
    return name.rpartition(".")[2] if name.startswith("~") else name.removeprefix("!")
