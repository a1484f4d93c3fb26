"""Which name is offered for one that is unknown: a slip of the keyboard."""

from pathlib import Path

import pytest

from adaptbert.errors import closest, nearest
from adaptbert.project.named_files import check
from tests.support.rules import recipe


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("learning_rat", ["learning_rate", "layer_decay"], "learning_rate"),
        ("Text", ["text", "label"], "text"),
        ("BIO", ["bio", "io"], "bio"),
        ("sectoin", ["section", "mention"], "section"),
        ("section", ["mention"], None),
        ("task_transfer", ["domain_transfer"], None),
        ("x", [], None),
        ("!", ["?"], None),
    ],
)
def test_closest(name: str, known: list[str], expected: str | None) -> None:
    assert closest(name, known) == expected
    assert nearest(name, known) == ("" if expected is None else f" (did you mean '{expected}'?)")


def missing(corpora: dict[str, str], train: str, test: str) -> list[str]:
    task = {"type": "text-classification", "train": train, "dev": train, "test": test}
    named = {"corpora": {name: {"path": path} for name, path in corpora.items()}, "tasks": {"set": task}}
    return [str(error) for _, error in check(recipe(**named, tokenize={"words": {"dictionary": test}}))]


@pytest.mark.parametrize(
    ("name", "beside", "expected"),
    [
        ("mood_train.csv", ["mood.train.csv"], " (did you mean 'mood.train.csv'?)"),
        ("posts.jsonl", ["posts.jsonl.gz"], " (did you mean 'posts.jsonl.gz'?)"),
        ("test.csv", ["train.csv", "text.md.bak"], ""),
        ("test.csv", ["README.md", "train2.csv"], ""),
        ("set.dev.csv", ["set.train.csv"], ""),
    ],
)
def test_a_file_that_is_offered_is_like_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, beside: list[str], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for other in [*beside, "set.test.csv", "text.txt", "words.txt"]:
        Path(other).touch()
    (error,) = missing({"general": name, "domain": "text.txt"}, "text.txt", "set.test.csv")
    assert error == (
        f"AB-050 params.yaml: corpora.general.path: {name}: no such file{expected}\n  "
        "put it there, or write where it is"
    )


def test_a_path_that_is_too_long(tmp_path: Path) -> None:
    (error,) = missing({"general": f"{tmp_path}/{'x' * 300}"}, str(tmp_path), str(tmp_path))
    assert error.endswith("characters): cannot be read: File name too long\n  check the path and its permissions")
