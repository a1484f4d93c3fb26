"""The data of the demonstration: docstrings to sentences, sentences to labelled sets, and files of them."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from adaptbert.errors import BadData
from examples import docstrings
from examples.docstrings import SETS, Packages, chosen, is_prose, labelled, mention, prose, section, sentences
from tests.support import demonstration

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
    return [(title, "".join(segment.text for segment in segments)) for title, segments in prose(docstring)]


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
    others = "See `other` and `a.b.c` for what `x + 1` means to everybody."
    marked = [segment for _, parts in [*prose(NUMPYDOC), *prose(others)] for segment in parts if segment.kind]
    assert marked == [
        ("PARAM", "smallest"), ("REF", "order"), ("CODE", "axis=None"), ("PARAM", "values"),
        ("NAME", "other"), ("REF", "a.b.c"), ("CODE", "x + 1"),
    ]  # fmt: skip


def test_what_counts_as_prose() -> None:
    assert is_prose("Five words make a sentence.")
    code = "a[0] + b[1] - c[2] == d[3] * (e[4] / f[5])"
    for text in ("Only four words here.", code, "word " * 81, "There is a `tick that is left."):
        assert not is_prose(text)


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
    assert list(docstrings.docstrings(source)) == [
        (1, "The module."),
        (4, "The class."),
        (6, "The\nmethod."),
        (10, "The function."),
        (11, "The added one.\n\nMore."),
    ]
    with pytest.raises(SyntaxError):
        list(docstrings.docstrings(b'"""x"""\nprint "python 2"'))


# --- a package made for the test

PROSE = "\n\n".join(f"Sentence number {'x' * n} speaks about a thing of its own kind." for n in range(1, 90))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """With tests and vendored code; it fails when it is imported."""
    files = {
        "madeup/__init__.py": f'"""{PROSE}"""\nraise RuntimeError("imported")\n',
        "madeup/again.py": f'"""{PROSE}"""\n',
        "madeup/old.py": '"""x"""\nprint "python 2"\n',
        "madeup/tests/test_it.py": '"""A sentence that stands in the tests only."""\n',
        "madeup/_vendor/other.py": '"""A sentence that somebody else has written."""\n',
        "madeup/data.txt": "no code",
        "madeup-1.5.dist-info/METADATA": "Metadata-Version: 2.1\nName: madeup\nVersion: 1.5\n",
    }
    files["madeup-1.5.dist-info/RECORD"] = "".join(f"{name},,\n" for name in [*files, "../outside.py"])
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "madeup"


def test_a_package_is_read_through_its_record(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadData, match=r"AB-154 .*[\d,]+ characters of docstrings in madeup, expected 50,000"):
        list(sentences([package]))
    monkeypatch.setattr(docstrings, "FEWEST_CHARACTERS", 100)
    rows = list(sentences([package]))
    assert len(rows) == 89
    assert (rows[0].id, rows[0].module) == ("madeup/__init__.py:1:1", "madeup")
    assert rows[0].text == "Sentence number x speaks about a thing of its own kind."
    assert "madeup" not in sys.modules


def test_what_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(SETS, "smoke", Packages(("nowhere-to-be-found",), (), {}, {}))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadData, match=r"AB-154 .*package 'nowhere-to-be-found' is not installed"):
        docstrings.main("smoke")


def test_a_folder_is_made_once_and_where_params_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    demonstration.copy(tmp_path)
    made = tmp_path / "data/smoke/made_of.json"
    before = made.stat().st_mtime_ns
    (tmp_path / "params.yaml").write_text("x: {path: data/smoke/general.jsonl}")
    docstrings.main(None)
    assert (capsys.readouterr().out, made.stat().st_mtime_ns) == ("", before)


# --- a real package


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    root = tmp_path_factory.mktemp("made")
    demonstration.copy(root)
    files = sorted((root / "data/smoke").glob("*.jsonl"))
    return {file.stem: [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] for file in files}


def test_every_sentence_of_a_corpus_once(rows: dict[str, list[dict[str, Any]]]) -> None:
    texts = [row["text"] for row in rows["domain"]]
    assert sum(map(len, texts)) > 500_000
    assert len({"".join(filter(str.isalpha, text.casefold())) for text in texts}) == len(texts)
    assert len({row["id"] for row in rows["domain"]}) == len(texts)
    assert not any("`" in text or ">>>" in text for text in texts)
    assert not any("tests/" in row["id"] for row in rows["domain"])


@pytest.mark.parametrize("task", ["section", "mention"])
def test_no_module_and_no_sentence_is_in_two_splits(rows: dict[str, list[dict[str, Any]]], task: str) -> None:
    modules, texts = list[set[str]](), list[set[str]]()
    for split, most in getattr(SETS["smoke"], task).items():
        of_split = rows[f"{task}.{split}"]
        assert len(of_split) == most
        modules.append({row["id"].partition(":")[0] for row in of_split})
        texts.append({row.get("text") or " ".join(row["tokens"]) for row in of_split})
    for sets in (modules, texts):
        assert sum(map(len, sets)) == len(set.union(*sets))


def test_sections_are_balanced_as_far_as_the_rows_allow(rows: dict[str, list[dict[str, Any]]]) -> None:
    assert {*Counter(row["label"] for row in rows["section.train"]).values()} == {40}
    pool = [
        {"id": f"{label}{n}", "label": label} for label, size in (("b", 90), ("a", 10), ("c", 90)) for n in range(size)
    ]
    taken = chosen(pool, 150)
    assert Counter(row["label"] for row in taken) == {"a": 10, "b": 70, "c": 70}
    assert [pool.index(row) for row in taken] == sorted(pool.index(row) for row in taken)
    assert max(int(row["id"][1:]) for row in taken if row["label"] == "b") > 80, "not merely the first ones"
    assert chosen(pool, 1000) == pool


def test_a_sentence_with_two_labels_is_in_no_split() -> None:
    texts = [("a", "Lead", "x"), ("b", "Notes", "X!"), ("c", "Notes", "y"), ("d", "See", "z")]
    every = [docstrings.Sentence(name, name, title, (docstrings.Segment("", text),)) for name, title, text in texts]
    splits = labelled(every, section, dict.fromkeys(("train", "dev", "test"), 9))
    assert [row["id"] for split in splits.values() for row in split] == ["c"]


def test_mentions_are_legal_bio_without_back_ticks(rows: dict[str, list[dict[str, Any]]]) -> None:
    kinds: Counter[str] = Counter()
    for row in rows["mention.train"]:
        assert len(row["tokens"]) == len(row["tags"])
        assert not any("`" in token or not token.strip() for token in row["tokens"])
        for before, tag in zip(["O", *row["tags"]], row["tags"], strict=False):
            assert not tag.startswith("I-") or before[1:] == tag[1:]
            kinds[tag[2:]] += tag.startswith("B-")
    assert all(kinds[kind] > 10 for kind in ("CODE", "PARAM", "REF"))
    formula = docstrings.Sentence("a", "a", "Lead", (docstrings.Segment("MATH", "x"), docstrings.Segment("CODE", "y")))
    assert mention(formula) is None
