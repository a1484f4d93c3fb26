"""Which name is offered for one that is unknown: a slip of the keyboard, no other thing that is right by itself."""

from pathlib import Path

import pytest

from adaptbert.errors import closest, nearest
from adaptbert.project.named_files import check


@pytest.mark.parametrize(
    ("name", "known", "in_use", "expected"),
    [
        ("learning_rat", ["learning_rate", "layer_decay"], [], "learning_rate"),
        ("label_name", ["label", "text"], [], "label"),
        ("Text", ["text", "label"], [], "text"),
        ("a_step/domian", ["a_step/domain", "pretrain"], ["a_step/domain"], "a_step/domain"),
        ("sectoin", ["section", "mention"], ["section", "mention"], "section"),
        ("section", ["mention"], ["mention"], None),
        ("task_transfer", ["domain_transfer"], [], None),
        ("domain_transfer/legal", ["domain_transfer/medical"], [], None),
        ("zh_task_usual", ["zh_task_virus"], [], None),
        ("ner_2", ["ner_1", "ner"], [], None),
        ("posts2023", ["posts2024"], [], None),
        ("x", [], [], None),
        ("!", ["?"], [], None),
    ],
)  # fmt: skip
def test_closest(name: str, known: list[str], in_use: list[str], expected: str | None) -> None:
    assert closest(name, known, in_use) == expected
    assert nearest(name, known, in_use) == ("" if expected is None else f" (did you mean '{expected}'?)")


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
    document = {
        "collect": {"general": {"path": name}, "domain": {"path": "text.txt"}},
        "tokenize": {"words": {"dictionary": "words.txt"}},
        "collect_task": {"set": {"train": "text.txt", "dev": "text.txt", "test": "set.test.csv"}},
        "pretrain": {"init": "scratch"},
    }
    (error,) = check(document, Path("params.yaml"))
    assert str(error) == (
        f"AB-050 params.yaml: collect.general.path: {name}: no such file{expected}\n  "
        "put it there, or write where it is"
    )


def test_a_path_with_a_character_from_an_input_method(tmp_path: Path) -> None:
    document = {
        "collect": {"general": {"path": f"{tmp_path}/a：b.txt"}},
        "collect_task": {},
        "pretrain": {"init": "scratch"},
    }
    document["tokenize"] = {"words": {"dictionary": str(tmp_path)}}
    (error,) = check(document, Path("params.yaml"))
    assert "a full-width colon (U+FF1A) stands in it" in str(error)


def test_a_path_that_is_too_long(tmp_path: Path) -> None:
    document = {
        "collect": {"general": {"path": f"{tmp_path}/{'x' * 300}"}},
        "collect_task": {},
        "pretrain": {"init": "scratch"},
    }
    document["tokenize"] = {"words": {"dictionary": str(tmp_path)}}
    (error,) = check(document, Path("params.yaml"))
    assert str(error).endswith("characters): cannot be read: File name too long\n  check the path and its permissions")
