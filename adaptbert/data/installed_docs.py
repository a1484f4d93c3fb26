"""Reads the sentences of the docstrings of installed packages: real prose without a download.

A demonstration corpus: results on it show that the pipeline works, not how good a method is. Files are located through
the packages' RECORD (`stdlib`: through sysconfig), sorted, read with ast and never imported.
"""

import hashlib
import platform
import sysconfig
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from adaptbert.codes import Code
from adaptbert.data.prose import Docstring, Sentence, docstrings, sentence_key, sentences
from adaptbert.data.readers.records import Row
from adaptbert.errors import BadData, nearest, raise_all
from adaptbert.runtime.worker_pool import in_order, workers

STDLIB = "stdlib"
MIN_CHARACTERS = 50_000
"""A package list that yields less is an error: stripped docstrings, or the wrong package."""
SKIPPED_FOLDERS = {
    "_external", "_vendor", "_vendored_packages", "array_api_compat", "array_api_extra", "ensurepip", "externals",
    "idle_test", "lib2to3", "pydoc_data", "site-packages", "dist-packages", "test", "tests", "third_party",
    "turtledemo", "vendor", "vendored",
}  # fmt: skip
"""Tests, and vendored code inside a package."""


class Passage(NamedTuple):
    """A sentence as a row of text, and with its markup."""

    row: Row
    module: str
    sentence: Sentence


class InstalledDocs:
    """The corpus: every sentence once."""

    def __init__(self, listing: Path) -> None:
        self.listing = listing
        self.packages = read_names(listing)
        self.warnings: Counter[str] = Counter()

    def rows(self) -> Iterator[Row]:
        """Raises BadData after the last row when there is less text than MIN_CHARACTERS."""
        seen: set[bytes] = set()
        for passage in self.passages():
            text = passage.row.values["text"]
            key = hashlib.blake2b(sentence_key(text).encode(), digest_size=16).digest()
            if key in seen:
                self.warnings["sentences met before"] += 1
                continue
            seen.add(key)
            yield passage.row

    def passages(self) -> Iterator[Passage]:
        """Every sentence of every package, including repetitions."""
        versions = self.provenance()["packages"]
        files = [file for package in versions for file in sorted(_python_files(package).items())]
        characters = 0
        seen: set[str] = set()  # docstrings are often shared unchanged: each is read once
        for (name, _), cut_docstrings in zip(
            files, in_order(_read, [path for _, path in files], workers()), strict=True
        ):
            if cut_docstrings is None:
                self.warnings["files that are not Python of this version"] += 1
                continue
            module = ".".join(Path(name).with_suffix("").parts).removesuffix(".__init__")
            for docstring, cut in cut_docstrings:
                if docstring.text in seen:
                    continue
                seen.add(docstring.text)
                for number, sentence in enumerate(cut, 1):
                    text = sentence.text
                    characters += len(text)
                    row = Row(f"{name}:{docstring.line}:{number}", name, docstring.line, {"text": text})
                    yield Passage(row, module, sentence)
        if characters < MIN_CHARACTERS:
            problem = f"{characters:,} characters of docstrings in {', '.join(versions)}, expected {MIN_CHARACTERS:,}"
            remedy = "name packages with docstrings; a Python built with docstrings stripped has none"
            raise BadData(Code.NOT_INSTALLED, self.listing, problem, remedy)

    def provenance(self) -> dict[str, Any]:
        """Versions: equal versions yield equal sentences."""
        failures = [_not_installed(self.listing, name) for name in self.packages if _version(name) is None]
        raise_all(failures)
        return {"packages": {name: _version(name) for name in self.packages}}


def _read(path: Path) -> list[tuple[Docstring, list[Sentence]]] | None:
    """The docstrings of a file and their sentences; None where it is not Python of this version."""
    try:
        return [(docstring, list(sentences(docstring.text))) for docstring in docstrings(path.read_bytes())]
    except SyntaxError:
        return None


def read_names(listing: Path) -> list[str]:
    """One name a line; `#` begins a comment."""
    if not listing.is_file():
        problem = "not a readable regular file"
        raise BadData(Code.FILE, listing, problem, "write a file with one package name a line")
    lines = listing.read_text(encoding="utf-8-sig", errors="replace").split("\n")
    names = [line.partition("#")[0].strip() for line in lines]
    names = list(dict.fromkeys(name for name in names if name))
    if not names:
        raise BadData(Code.EMPTY_FILE, listing, "names no package", f"write one name a line, e.g. {STDLIB}")
    return names


def _version(name: str) -> str | None:
    if name == STDLIB:
        return platform.python_version()
    try:
        return metadata.version(name)
    except (metadata.PackageNotFoundError, ValueError):
        return None


def _not_installed(listing: Path, name: str) -> BadData:
    known = [
        STDLIB,
        *sorted({str(distribution.name) for distribution in metadata.distributions() if distribution.name}),
    ]
    problem = f"package '{name}' is not installed{nearest(name, known)}"
    return BadData(Code.NOT_INSTALLED, listing, problem, "install it or take the line out")


def _python_files(package: str) -> dict[str, Path]:
    """Name below the library folder -> file."""
    if package == STDLIB:
        root = Path(sysconfig.get_path("stdlib"))
        return {
            path.relative_to(root).as_posix(): path
            for top in sorted(root.iterdir())
            if top.name not in SKIPPED_FOLDERS
            for path in ([top] if top.suffix == ".py" else top.rglob("*.py") if top.is_dir() else [])
            if _has_own_docs(path.relative_to(root))
        }
    recorded = metadata.distribution(package).files or []
    return {
        file.as_posix(): Path(str(file.locate()))
        for file in recorded
        if file.suffix == ".py"
        and ".." not in file.parts
        and _has_own_docs(Path(file))
        and Path(str(file.locate())).is_file()
    }


def _has_own_docs(file: Path) -> bool:
    return not (SKIPPED_FOLDERS & set(file.parts) or file.name.startswith("test_") or file.name == "conftest.py")
