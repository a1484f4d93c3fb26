"""Docstrings to sentences, and the demonstration corpora and tasks that are made of them."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from adaptbert.data.demonstration_tasks import LABELS, DemonstrationTask, choose, split_of_module
from adaptbert.data.installed_docs import InstalledDocs, read_names
from adaptbert.data.prose import docstrings, is_prose, sentence_key, sentences
from adaptbert.data.readers.records import Row
from adaptbert.errors import BadData, Several

NUMPYDOC = """Find the smallest of all the values.

The values are compared one by one, see `smallest` and :func:`~pkg.sort.order`. This takes a
time that grows with the number of values, e.g. the double of it for twice as many.

.. versionadded:: 1.2
   This line about the version is not taken.

.. note:: A note that stands in the first line is taken as well.

Parameters
----------
values, weights : array_like
    Values to look through; with ``axis=None`` all of them are taken.

    - an item that goes on in
      a second line of the list
axis : int, optional
    Axis along which the `values` are compared with each other.

Returns
-------
smallest : float
    The smallest one of the values that were given.

Raises
------
ValueError
    If there is no value in the array at all.

See Also
--------
largest : Find the largest of all the values.

Notes
-----
The method is described in [1]_ and in the `user guide <https://example.org>`_ of the package::

    this is code and not a sentence at all

=====  ==============================
name   this is a table and no sentence
=====  ==============================

References
----------
.. [1] A. Author, "A paper about the smallest of many values", 1999.

Examples
--------
>>> smallest([3, 2, 1])
this output is not a sentence of prose
"""


def taken(docstring: str) -> list[tuple[str, str]]:
    return [(sentence.section, sentence.text) for sentence in sentences(docstring)]


def test_sentences_of_a_numpydoc_docstring() -> None:
    assert taken(NUMPYDOC) == [
        ("Lead", "Find the smallest of all the values."),
        ("Lead", "The values are compared one by one, see smallest and order."),
        ("Lead", "This takes a time that grows with the number of values, e.g. the double of it for twice as many."),
        ("Lead", "A note that stands in the first line is taken as well."),
        ("Parameters", "Values to look through; with axis=None all of them are taken."),
        ("Parameters", "an item that goes on in a second line of the list"),
        ("Parameters", "Axis along which the values are compared with each other."),
        ("Returns", "The smallest one of the values that were given."),
        ("Raises", "If there is no value in the array at all."),
        ("Notes", "The method is described in and in the user guide of the package:"),
    ]


def test_sentences_of_a_google_docstring_and_of_rest_fields() -> None:
    google = """Open the file and read what is in it.

    Args:
        path (str): The path of the file that is read.
        mode (:obj:`str`, *optional*, defaults to `"r"`):
            How the file is opened before it is read.

    Example:
        this is code below a header for examples

    Returns:
        The whole text of the file as it is.
    """
    assert [text for _, text in taken(google)] == [
        "Open the file and read what is in it.",
        "The path of the file that is read.",
        "How the file is opened before it is read.",
        "The whole text of the file as it is.",
    ]
    fields = ":param path: The path of the file that is read.\n:type path: a type that is not a sentence\n"
    assert [text for _, text in taken(fields)] == ["The path of the file that is read."]


def test_what_the_author_marked_up() -> None:
    segments = [segment for sentence in sentences(NUMPYDOC) for segment in sentence.segments if segment.kind]
    assert segments == [("PARAM", "smallest"), ("REF", "order"), ("CODE", "axis=None"), ("PARAM", "values")]
    (other,) = sentences("See `other` and `a.b.c` for what `x + 1` means to everybody.")
    assert [segment for segment in other.segments if segment.kind] == [
        ("NAME", "other"),
        ("REF", "a.b.c"),
        ("CODE", "x + 1"),
    ]


def test_what_counts_as_prose() -> None:
    assert is_prose("Five words make a sentence.")
    assert not is_prose("Only four words here.")
    assert not is_prose("a[0] + b[1] - c[2] == d[3] * (e[4] / f[5])")
    assert not is_prose("word " * 81)
    assert not is_prose("There is a `tick that is left.")
    assert sentence_key("The `A`, b: 1!") == sentence_key("the a B 2")


def test_docstrings_are_read_without_running_anything() -> None:
    source = b'''"""The module."""
raise SystemExit("must not run")
class A:
    """The class."""
    def f(self):
        """The
        method."""
if True:
    async def g():
        """The function."""
add_newdoc("pkg", "thing", ("name", """
    The added one.

    More."""))
'''
    assert [(docstring.line, docstring.text) for docstring in docstrings(source)] == [
        (1, "The module."),
        (4, "The class."),
        (6, "The\nmethod."),
        (10, "The function."),
        (11, "The added one.\n\nMore."),
    ]
    with pytest.raises(SyntaxError):
        list(docstrings(b'"""x"""\nprint "python 2"'))


# --- a package made for the test

PROSE = "\n\n".join(f"Sentence number {'x' * n} speaks about a thing of its own kind." for n in range(1, 90))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution called `madeup`, with tests and vendored code, that fails when it is imported."""
    site = tmp_path / "site"
    body = 'raise RuntimeError("imported")\n'
    files = {
        "madeup/__init__.py": f'"""{PROSE}"""\n{body}',
        "madeup/again.py": f'"""{PROSE}"""\n{body}',
        "madeup/old.py": '"""x"""\nprint "python 2"\n',
        "madeup/tests/test_it.py": '"""A sentence that stands in the tests only."""\n',
        "madeup/_vendor/other.py": '"""A sentence that somebody else has written."""\n',
        "madeup/data.txt": "no code",
    }
    for name, content in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(content, encoding="utf-8")
    info = site / "madeup-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: madeup\nVersion: 1.5\n", encoding="utf-8")
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in [*files, "../outside.py"]), encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    listing = tmp_path / "packages.txt"
    listing.write_text("# ours\nmadeup  # once\n\nmadeup\n", encoding="utf-8")
    return listing


def test_a_package_is_read_through_its_record(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptbert.data.installed_docs.MIN_CHARACTERS", 100)
    docs = InstalledDocs(package)
    rows = list(docs.rows())
    assert len(rows) == 89
    assert rows[0] == Row(
        "madeup/__init__.py:1:1",
        "madeup/__init__.py",
        1,
        {"text": "Sentence number x speaks about a thing of its own kind."},
    )
    assert {row.file for row in rows} == {"madeup/__init__.py"}
    assert docs.warnings == {"files that are not Python of this version": 1}
    assert docs.provenance() == {"packages": {"madeup": "1.5"}}
    assert "madeup" not in sys.modules


def test_too_little_text_is_an_error(package: Path) -> None:
    with pytest.raises(
        BadData, match=r"AB-154 .*packages.txt: [\d,]+ characters of docstrings in madeup.*\n.*stripped"
    ):
        list(InstalledDocs(package).rows())


def test_package_names_that_cannot_be_used(tmp_path: Path) -> None:
    listing = tmp_path / "packages.txt"
    listing.write_text("networkz\nnowhere-to-be-found-at-all\n", encoding="utf-8")
    with pytest.raises(Several) as raised:
        list(InstalledDocs(listing).rows())
    first, second = map(str, raised.value.failures)
    assert first.startswith("AB-154")
    assert "did you mean 'networkx'?" in first
    assert "nowhere-to-be-found-at-all" in second
    listing.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(BadData, match="AB-017"):
        read_names(listing)
    with pytest.raises(BadData, match="AB-050"):
        read_names(tmp_path / "absent.txt")


# --- a real package

CAPS = {"train": 400, "dev": 60, "test": 200}


@pytest.fixture(scope="module")
def networkx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    listing = tmp_path_factory.mktemp("names") / "names.txt"
    listing.write_text("networkx\n", encoding="utf-8")
    return listing


@pytest.fixture(scope="module")
def tasks(networkx: Path) -> dict[str, dict[str, list[Row]]]:
    tasks = {shape: DemonstrationTask(networkx, shape, CAPS) for shape in LABELS}
    return {shape: {split: task.rows(split) for split in CAPS} for shape, task in tasks.items()}


def test_a_real_package_gives_the_same_prose_twice(networkx: Path) -> None:
    first, second = list(InstalledDocs(networkx).rows()), list(InstalledDocs(networkx).rows())
    assert first == second
    assert sum(len(row.values["text"]) for row in first) > 500_000
    assert len({row.id for row in first}) == len(first) == len({sentence_key(row.values["text"]) for row in first})
    assert not any("`" in row.values["text"] or ">>>" in row.values["text"] for row in first)
    assert not any("tests/" in row.file for row in first)


@pytest.mark.parametrize("shape", list(LABELS))
def test_no_module_and_no_sentence_is_in_two_splits(tasks: dict[str, dict[str, list[Row]]], shape: str) -> None:
    modules: dict[str, set[str]] = {}
    seen: dict[str, set[str]] = {}
    for split, rows in tasks[shape].items():
        assert len(rows) == CAPS[split]
        modules[split] = {row.file for row in rows}
        seen[split] = {sentence_key(row.values.get("text") or "".join(row.values["tokens"])) for row in rows}
        assert len(seen[split]) == len(rows)
        names = {file.removesuffix(".py").replace("/", ".").removesuffix(".__init__") for file in modules[split]}
        assert {split_of_module(name) for name in names} == {split}
    for one, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
        assert not modules[one] & modules[other]
        assert not seen[one] & seen[other]


def test_sections_are_balanced_as_far_as_the_pool_allows(tasks: dict[str, dict[str, list[Row]]]) -> None:
    counts = Counter(row.values["label"] for row in tasks["single_sentence"]["train"])
    assert counts == dict.fromkeys(LABELS["single_sentence"], 80)
    pool = [
        Row(f"{label}{n}", "f", n, {"label": label})
        for label, size in (("b", 90), ("a", 10), ("c", 90))
        for n in range(size)
    ]
    chosen = choose(pool, 150)
    assert Counter(row.values["label"] for row in chosen) == {"a": 10, "b": 70, "c": 70}
    assert [pool.index(row) for row in chosen] == sorted(pool.index(row) for row in chosen)
    assert max(row.line for row in chosen if row.values["label"] == "b") > 80  # not merely the first ones
    assert choose(pool, 1000) == pool


def test_mentions_are_legal_bio_without_back_ticks(tasks: dict[str, dict[str, list[Row]]]) -> None:
    kinds: Counter[str] = Counter()
    for row in tasks["sequence_labelling"]["train"]:
        tokens, tags = row.values["tokens"], row.values["tags"]
        assert len(tokens) == len(tags)
        assert not any("`" in token or token.strip() != token or not token for token in tokens)
        assert any(tag != "O" for tag in tags)
        for before, tag in zip(["O", *tags], tags, strict=False):
            assert not tag.startswith("I-") or before[1:] == tag[1:]
            kinds[tag[2:]] += tag.startswith("B-")
    assert {"CODE", "PARAM", "REF"} <= set(kinds)
    assert kinds["CODE"] > 50
    assert kinds["PARAM"] > 50
