"""What `add-task` sees in a file, and what it asks where two answers would do."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from adaptbert.errors import UserError
from adaptbert.project.tasks import task_inference
from adaptbert.project.tasks.splits import Splits, name_of, of_files
from adaptbert.project.tasks.task_inference import Inferred, Said
from tests.project.tasks.conftest import WORDS
from tests.support.format_examples import Example, examples

SUFFIXES = {"squad": "json", "doccano": "jsonl", "label_studio": "json"}
NOT_SEEN = ("range", "id", "group")
"""What a user adds: no file tells it."""


def seen(path: Path, content: str, **said: Any) -> Inferred:
    path.write_text(content, encoding="utf-8")
    return task_inference.of_files(Splits({"train": path}, {"dev": 0.1, "test": 0.2}), Said(**said))


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def labelled(labels: Sequence[Any], column: str = "label") -> str:
    """A row for each label."""
    return lines(*({"text": f"{WORDS[number % 5]} {number}", column: label} for number, label in enumerate(labels)))


def tagged(*tags: str) -> str:
    return lines({"tokens": ["a", "b", "c"], "ner_tags": tags})


SEVERAL = lines(
    *({"text": f"{WORDS[n % 5]} {n}", "title": f"on {n}", "kind": n % 2, "stars": n % 5 / 2} for n in range(20))
)
"""More columns than a task has."""


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.format + example.section["type"])
def test_the_files_of_the_guide(example: Example, tmp_path: Path) -> None:
    path = tmp_path / f"set.{SUFFIXES.get(example.format, example.suffix)}"
    if example.format in ("doccano", "label_studio"):
        with pytest.raises(UserError, match=r"AB-216 .*\n  write its block by hand, as in docs/how-to/labelled"):
            seen(path, example.text)
        return
    said = {"target": "labels", "separator": ";"} if "separator" in example.section else {}
    concluded = seen(path, example.text, **said).values
    columns = {name: column for name, column in example.section.get("columns", {}).items() if name not in NOT_SEEN}
    expected = {key: value for key, value in example.section.items() if key not in (*NOT_SEEN, "columns")}
    if example.suffix == expected.get("format"):
        del expected["format"]
    assert concluded == {**expected, **({"columns": columns} if columns else {})}


CLASS, NUMBER = {"type": "text-classification"}, {"type": "regression"}
TAGS = {"type": "token-classification", "columns": {"tags": "ner_tags"}}
SCORE = {"columns": {"value": "score"}}


@pytest.mark.parametrize(
    ("content", "said", "values"),
    [
        (labelled(["good", "bad"] * 10), {}, CLASS),
        (labelled([0, 1] * 10), {}, CLASS),
        (labelled([0.5, 1.5] * 10, "score"), {}, {**NUMBER, **SCORE}),
        (labelled(["0.5", "1"] * 10, "score"), {}, {**NUMBER, **SCORE}),
        (labelled([["a"], []] * 10, "labels"), {}, {"type": "multi-label"}),
        (labelled(["好", "坏"] * 10, "情感"), {}, {**CLASS, "columns": {"label": "情感"}}),
        (tagged("B-PER", "I-PER", "O"), {}, {**TAGS, "tag_scheme": "bio"}),
        (tagged("I-PER", "I-PER", "O"), {}, {**TAGS, "tag_scheme": "iob1"}),
        (tagged("B-PER", "E-PER", "S-LOC"), {}, {**TAGS, "tag_scheme": "iobes"}),
        (tagged("NOUN", "VERB", "DET"), {}, {**TAGS, "tag_scheme": "none"}),
        (SEVERAL, {"label": "kind"}, {**CLASS, "columns": {"label": "kind"}}),
        (SEVERAL, {"value": "kind"}, {**NUMBER, "columns": {"value": "kind"}}),
        (
            SEVERAL,
            {"text": "title", "group": "kind"},
            {**NUMBER, "columns": {"text": "title", "value": "stars", "group": "kind"}},
        ),
        (
            SEVERAL,
            {"text_a": "text", "text_b": "title"},
            {
                "type": "regression",
                "pair": True,
                "columns": {"text_a": "text", "text_b": "title", "value": "stars"},
            },
        ),
    ],
)
def test_what_the_rows_and_the_user_tell(
    content: str, said: dict[str, str], values: dict[str, Any], tmp_path: Path
) -> None:
    """Where several columns would do, the user decides."""
    assert seen(tmp_path / "x.jsonl", content, columns=said).values == values


def test_one_question_without_an_answer(tmp_path: Path) -> None:
    rows = [{"context": "Ada wrote.", "question": "Who?", "answers": {"text": ["Ada"], "answer_start": [0]}}] * 3
    answered = seen(tmp_path / "x.jsonl", lines(*rows))
    assert (answered.values["no_answer"], answered.shown[-1]) == (False, "all 3 questions have an answer")
    rows.append({**rows[0], "answers": {"text": [], "answer_start": []}})
    one_not = seen(tmp_path / "x.jsonl", lines(*rows))
    assert (one_not.values["no_answer"], one_not.shown[-1]) == (True, "1 of 4 questions have no answer")


def test_spans_are_counted_and_not_their_tags(tmp_path: Path) -> None:
    content = tagged("B-ORG", "I-ORG", "I-ORG") + tagged("B-ORG", "B-ORG", "O") + tagged("O", "I-PER", "I-PER")
    shown = seen(tmp_path / "x.jsonl", content, columns={"tags": "ner_tags"}).shown[-1]
    assert shown.endswith("types of spans (2): ORG (3), PER (1); 2 of 3 rows are written as bio")


def test_groups_are_chosen_whole(tmp_path: Path) -> None:
    content = lines(*({"text": f"a room {n}", "label": n % 2, "by": n % 3} for n in range(9)))
    shown = seen(tmp_path / "x.jsonl", content, columns={"group": "by"}).shown
    assert "dev: 10% of the groups of train, chosen by a hash of their name, each whole" in shown


def test_what_is_shown(tmp_path: Path) -> None:
    content = lines(*({"id": n, "sentence": "房间很干净" * 20, "label": n % 2, "group": 1} for n in range(4)))
    assert seen(tmp_path / "x.jsonl", content).shown == [
        f"train: {tmp_path}/x.jsonl (jsonl)",
        "dev: 10% of the rows of train, chosen by a hash of their text",
        "test: 20% of the rows of train, chosen by a hash of their text",
        "the first row:",
        f"  text (column sentence): {'房间很干净' * 12}... (100 characters)",
        "  label: 0",
        "columns that are not read: id, group (read if named: --columns id=id --columns group=group)",
        "labels of 4 rows: classes (2): 0 (2), 1 (2)",
    ]


GUESSES = [
    (
        labelled([1, 2, 3] * 9, "score"),
        "x.jsonl",
        "column 'score' has 3 different whole numbers: classes, or numbers?\n"
        "  choose: --target class, or --target number",
    ),
    (
        labelled(["['food', 'service']", "['food']"] * 9),
        "x.jsonl",
        "column 'label' has labels with ',': several labels in one text, or one label?\n"
        "  choose: --target labels --separator ',', or --target class",
    ),
    (
        labelled([f"label {n}" for n in range(60)]),
        "x.jsonl",
        "column 'label' has 60 different values in 60 rows: is it the label?\n  name another: --columns label=COLUMN; ",
    ),
    (
        lines({"tokens": ["a", "b"], "tags": ["PER", "O"]}),
        "x.jsonl",
        "column 'tags' has tags such as PER beside O: spans, or tags?\n  choose: --target spans, or --target tags",
    ),
    (lines({"tokens": ["a", "b"], "tags": [1, 0]}), "x.jsonl", "column 'tags' holds numbers in place of tags\n"),
    (
        lines({"first": "a b", "second": "c d", "y": 1}),
        "x.jsonl",
        "which columns are text and label? There are first, second, y\n"
        "  name them: --columns text=COLUMN --columns label=COLUMN; of a pair of texts: --columns text_a=COLUMN ",
    ),
    (
        lines({"text": "a", "text_a": "b", "text_b": "c", "label": 1}),
        "x.jsonl",
        "its columns fit sentence_pair and single_sentence: text, text_a, text_b, label\n"
        "  choose one: --shape sentence_pair",
    ),
    ("one text a line\n", "x.txt", "text without labels, one document a line\n  known: txt, csv, "),
    ("a,b\n", "x.xlsx", "the name tells no known format\n"),
]


@pytest.mark.parametrize(("content", "name", "words"), GUESSES)
def test_what_is_not_clear_is_asked(content: str, name: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        seen(tmp_path / name, content)
    assert str(caught.value).startswith(f"AB-216 {tmp_path / name}: {words}")


def test_an_encoding_is_an_option_here(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("文本,标签\n房间很干净,好\n服务很差,坏\n".encode("gb18030"))
    splits = Splits({"train": path}, {"dev": 0.1, "test": 0.2})
    with pytest.raises(UserError, match=r"header cannot be read: byte 0xCE is not UTF-8\n  declare the `encoding`"):
        task_inference.of_files(splits, Said())
    values = task_inference.of_files(splits, Said(encoding="gb18030")).values
    assert (values["encoding"], values["columns"]) == ("gb18030", {"text": "文本", "label": "标签"})


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (
            ["a.dev.csv", "a.train.csv", "a.test.csv"],
            {"train": "a.train.csv", "dev": "a.dev.csv", "test": "a.test.csv"},
        ),
        (["x_valid.tsv", "x_train.tsv"], {"train": "x_train.tsv", "dev": "x_valid.tsv"}),
        (["all.csv"], {"train": "all.csv"}),
        (["train=a.csv", "test=b.csv"], {"train": "a.csv", "test": "b.csv"}),
        (["训练.csv", "测试.csv"], {"train": "训练.csv", "test": "测试.csv"}),
    ],
)
def test_splits(words: list[str], files: dict[str, str]) -> None:
    splits = of_files(words)
    assert {split: str(path) for split, path in splits.files.items()} == files
    assert set(splits.shares) == {"train", "dev", "test"} - files.keys()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["a.csv", "b.csv"],
            "a.csv: the name does not tell its split\n  say which is which: train=FILE dev=FILE test=FILE",
        ),
        (["a.test.csv"], "a.test.csv: the name says test, and no file is for training\n"),
        (["a.train.csv", "b.train.csv"], "b.train.csv: also train, as a.train.csv\n"),
        (["train_test.csv", "x.dev.csv"], "train_test.csv: the name does not tell its split\n"),
        (["1", "2", "3", "4"], "add-task: 4 files\n  give one to three: train=FILE dev=FILE test=FILE"),
    ],
)
def test_splits_that_are_not_clear(words: list[str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        of_files(words)
    assert str(caught.value).startswith(f"AB-216 {message}")


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("zh_ner.train.jsonl.gz", "zh_ner"),
        ("MRPC-train.TSV", "mrpc"),
        ("/data/sst-2/train.csv", "sst_2"),
        ("a b.csv", "a_b"),
    ],
)
def test_a_name(file: str, name: str) -> None:
    assert name_of(Path(file)) == name


def test_no_name() -> None:
    with pytest.raises(
        UserError, match=r"AB-216 /数据/训练\.csv: no name for the task can be made of this\n  choose one: --name"
    ):
        name_of(Path("/数据/训练.csv"))
