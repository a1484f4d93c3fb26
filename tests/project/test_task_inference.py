"""What `new` and `add-task` see in a file, and what they ask where two answers would do."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adaptbert.config.schema.sources import Task
from adaptbert.data.files import Files
from adaptbert.data.preview import Said, preview
from adaptbert.errors import UserError
from adaptbert.project import task_inference
from adaptbert.project.add_task import name_of
from adaptbert.project.task_inference import Inferred, is_chinese, of_corpus
from tests.support.markdown import Example, examples
from tests.support.own_project import WORDS

SUFFIXES = {"squad": "json", "doccano": "jsonl", "label_studio": "json"}
NOT_SEEN = ("range", "id", "group")
"""What a user adds: no file tells it."""


def seen(path: Path, content: str, encoding: str = "utf-8", **options: Any) -> Inferred:
    path.write_bytes(content.encode(encoding))
    return task_inference.of_files({"train": path}, task_inference.consistent(Said(**options)))


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def labelled(labels: Sequence[Any], column: str = "label") -> str:
    """A row for each label."""
    return lines(*({"text": f"{WORDS[number % 5]} {number}", column: label} for number, label in enumerate(labels)))


def of_one_text(*labels: Any, text: str = "one text") -> str:
    return lines(*({"text": text, "label": label} for label in labels))


def tagged(*tags: Any) -> str:
    return lines({"tokens": ["a", "b", "c"], "ner_tags": tags})


SEVERAL = lines(
    *({"text": f"{WORDS[n % 5]} {n}", "title": f"on {n}", "kind": n % 2, "stars": n % 5 / 2} for n in range(20))
)
"""More columns than a task has."""
BOTH = lines({"text": "a", "text_a": "b", "text_b": "c", "label": 1})
TWO = lines({"content": "a", "body": "b", "label": 1})
QUESTIONS = lines(
    *({"id": n, "question": f"What is it, {n}?", "sentence": f"The river {n}.", "label": n % 2} for n in range(9))
)
ABOUT = [{"who": f"Ann Lee{n}", "url": f"https://a.com/b?c={n}", "at": f"2020-01-0{n} 9 h"} for n in range(9)]
AUTHORS = lines(*({"text": f"房间 {n}", **about, "label": n % 2} for n, about in enumerate(ABOUT)))
"""Columns that are no second text."""
PAIRS = {"columns": {"text_a": "text", "text_b": "title"}}
PARTED = labelled(["a;b", "a"] * 10)


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.format + example.section["type"])
def test_the_files_of_the_guide(example: Example, tmp_path: Path) -> None:
    path = tmp_path / f"set.{SUFFIXES.get(example.format, example.suffix)}"
    if example.format in ("doccano", "label_studio"):
        with pytest.raises(UserError, match=r"AB-216 .*\n  write its block by hand, as in docs/how-to/labelled"):
            seen(path, example.text)
        return
    said = {"separator": ";"} if "separator" in example.section else {}
    concluded = seen(path, example.text, **said).values
    columns = {name: column for name, column in example.section.get("columns", {}).items() if name not in NOT_SEEN}
    expected = {key: value for key, value in example.section.items() if key not in (*NOT_SEEN, "columns")}
    if example.suffix == expected.get("format"):
        del expected["format"]
    assert concluded == {**expected, **({"columns": columns} if columns else {})}


CLASS, NUMBER, MULTI = {"type": "text-classification"}, {"type": "regression"}, {"type": "multi-label"}
TAGS = {"type": "token-classification", "columns": {"tags": "ner_tags"}}
SCORE = {"columns": {"value": "score"}}
PAIR, PAIRS_NAMED = {"type": "text-pair-classification"}, {"columns": {"text_a": "one", "text_b": "two"}}


@pytest.mark.parametrize(
    ("content", "said", "values"),
    [
        (labelled([0.0, 1.0, float("nan")] * 9), {}, {**CLASS, "map_labels": {"": None}}),
        (labelled(["0.0", "1.0"] * 9), {}, CLASS),
        (labelled([1.0, 2.0, 3.0] * 9), {"type": "text-classification"}, CLASS),
        (labelled([1, 2, 3] * 9, "score"), {"type": "regression"}, {**NUMBER, **SCORE}),
        (labelled([0.5, 1.5] * 10, "score"), {}, {**NUMBER, **SCORE}),
        (labelled(["0.5", "1"] * 10, "score"), {}, {**NUMBER, **SCORE}),
        (labelled([["a"], []] * 10, "labels"), {}, MULTI),
        (labelled(["['a', 'b']", "[]"] * 10), {}, {**MULTI, "columns": {"labels": "label"}}),
        (labelled(["{'a', 'b'}", "{'a'}", "set()"] * 10, "labels"), {}, MULTI),
        (labelled([[0, 1], [1]] * 10, "labels"), {}, MULTI),
        (PARTED, {"separator": ";"}, {**MULTI, "separator": ";", "columns": {"labels": "label"}}),
        (PARTED, {"type": "text-classification"}, CLASS),
        (labelled(["好", "坏"] * 10, "情感"), {}, {**CLASS, "columns": {"label": "情感"}}),
        (tagged("B-PER", "I-PER", "O"), {}, {**TAGS, "tag_scheme": "bio"}),
        (tagged("I-PER", "I-PER", "O"), {}, {**TAGS, "tag_scheme": "iob1"}),
        (tagged("B-PER", "E-PER", "S-LOC"), {}, {**TAGS, "tag_scheme": "iobes"}),
        (tagged("NOUN", "VERB", "DET"), {}, {**TAGS, "tag_scheme": "none"}),
        (tagged("PER", "O", "O"), {"tag_scheme": "io"}, {**TAGS, "tag_scheme": "io"}),
        (tagged("B-PER", "I-PER", "O"), {"tag_scheme": "none"}, {**TAGS, "tag_scheme": "none"}),
        (
            tagged("B_PER", "I_PER", "0"),
            {"tag_scheme": "bio"},
            {**TAGS, "tag_scheme": "bio", "map_labels": {"0": "O", "B_PER": "B-PER", "I_PER": "I-PER"}},
        ),
        (tagged("B", "I", "O"), {"tag_scheme": "none"}, {**TAGS, "tag_scheme": "none"}),
        (SEVERAL, {"columns": {"label": "kind"}}, {**CLASS, "columns": {"label": "kind"}}),
        (SEVERAL, {"columns": {"value": "kind"}}, {**NUMBER, "columns": {"value": "kind"}}),
        (
            SEVERAL,
            {"columns": {"text": "title", "group": "kind"}},
            {**NUMBER, "columns": {"text": "title", "value": "stars", "group": "kind"}},
        ),
        (SEVERAL, PAIRS, {**NUMBER, "pair": True, "columns": {**PAIRS["columns"], "value": "stars"}}),
        (BOTH, {"type": "text-pair-classification"}, {"type": "text-pair-classification"}),
        (BOTH, {"columns": {"text": "text"}}, CLASS),
        (TWO, {"columns": {"text": "body"}}, {**CLASS, "columns": {"text": "body"}}),
        (TWO.replace("body", "text"), {}, CLASS),
        (AUTHORS, {}, CLASS),
        (AUTHORS.replace('"text": "', '"said": "这家酒店的'), {}, {**CLASS, "columns": {"text": "said"}}),
        (QUESTIONS, {"columns": {"text": "sentence"}}, {**CLASS, "columns": {"text": "sentence"}}),
        (QUESTIONS, {"type": "text-classification"}, {**CLASS, "columns": {"text": "sentence"}}),
        *(  # the only column that is left, whatever it is called
            (
                lines(*({first: f"a {n}", **more, name: n % 2, "id": n} for n in range(9))),
                {},
                {**values, "columns": {"label": name}},
            )
            for first, more, values in (("text", {}, CLASS), ("text_a", {"text_b": "b"}, PAIR))
            for name in ("is_paraphrase", "情绪")
        ),
        (
            lines({"one": "a b", "two": "a c", "y": 1}),
            PAIRS_NAMED,
            {**PAIR, "columns": {**PAIRS_NAMED["columns"], "label": "y"}},
        ),
    ],
)
def test_what_the_rows_and_the_user_tell(
    content: str, said: dict[str, Any], values: dict[str, Any], tmp_path: Path
) -> None:
    """Where several columns would do, the user decides."""
    assert seen(tmp_path / "x.jsonl", content, **said).values == values


def test_one_question_without_an_answer(tmp_path: Path) -> None:
    answer = {"context": "Ada wrote.", "answers": {"text": ["Ada"], "answer_start": [0]}}
    rows = [{**answer, "question": f"Who is {number}?"} for number in range(3)]
    answered = seen(tmp_path / "x.jsonl", lines(*rows))
    assert (answered.values["no_answer"], answered.shown[-1]) == (False, "all 3 questions have an answer")
    rows.append({**rows[0], "question": "Why?", "answers": {"text": [], "answer_start": []}})
    one_not = seen(tmp_path / "x.jsonl", lines(*rows))
    assert (one_not.values["no_answer"], one_not.shown[-1]) == (True, "1 of 4 questions have no answer")


def test_spans_are_counted_and_not_their_tags(tmp_path: Path) -> None:
    content = tagged("B-ORG", "I-ORG", "I-ORG") + tagged("B-ORG", "B-ORG", "O").replace("a", "d", 1)
    content += tagged("O", "I-PER", "I-PER").replace('["a"', '["e"')
    shown = seen(tmp_path / "x.jsonl", content).shown[-1]
    assert shown.endswith("types of spans (2): ORG (3), PER (1); 2 of 3 rows are written as bio")


def test_what_is_shown(tmp_path: Path) -> None:
    content = lines(*({"id": n, "sentence": f"{'房间很干净' * 20}{n}", "label": n % 2, "group": 1} for n in range(4)))
    assert seen(tmp_path / "x.jsonl", content).shown == [
        f"train: {tmp_path}/x.jsonl (jsonl)",
        "dev: 10% of the rows of train, chosen by a hash of their text",
        "test: 20% of the rows of train, chosen by a hash of their text",
        "the first row:",
        f"  text (column sentence): {'房间很干净' * 12}... (101 characters)",
        "  label: 0",
        "columns that are not read: id, group (read if named: --columns id=id --columns group=group)",
        "labels of 4 rows: classes (2): 0 (2), 1 (2)",
    ]
    shown = seen(tmp_path / "x.jsonl", content, columns={"group": "group"}).shown
    assert "dev: 10% of the groups of train, chosen by a hash of their name, each whole" in shown


VALUE = {"columns": {"value": "label"}}
ITSELF = "; a label that is one is mapped to itself in map_labels"
REVIEWED = [{"text": f"a {n}", "label": n % 2, "answer": "reject" if n < 4 else "accept"} for n in range(9)]
UNSURE = labelled([*["no", "yes"] * 20, *["-"] * 3, None, ""])


@pytest.mark.parametrize(
    ("content", "said", "values", "counted"),
    [
        (UNSURE, {}, {**CLASS, "map_labels": {"-": None, "": None}}, [
            "labels of 40 rows: classes (2): no (20), yes (20)",
            f"notice: 5 of 45 rows are left out: label '-' (3), no label (2){ITSELF}",
        ]),
        (UNSURE.replace('"-"', '"nan"'), {}, {**CLASS, "map_labels": {"nan": None, "": None}}, None),
        (labelled(["no", "yes", None] * 9), {}, {**CLASS, "map_labels": {"": None}}, [
            "labels of 18 rows: classes (2): no (9), yes (9)", "notice: 9 of 27 rows are left out: no label (9)",
        ]),
        (labelled([*[1, 0, 2] * 9, -1, -1]), CLASS, {**CLASS, "map_labels": {"-1": None}}, [
            "labels of 27 rows: classes (3): 1 (9), 0 (9), 2 (9)",
            f"notice: 2 of 29 rows are left out: label '-1' (2){ITSELF}",
        ]),
        (labelled([*[1, 0, 2, -2] * 9, -1]), CLASS, CLASS, [
            "labels of 37 rows: classes (5): 1 (9), 0 (9), 2 (9), -2 (9), -1 (1)",
        ]),
        (labelled([*["x"] * 19, "-"]), {}, CLASS, ["labels of 20 rows: classes (2): x (19), - (1)"]),
        (labelled([1, 0, -1] * 9), CLASS, CLASS, ["labels of 27 rows: classes (3): 1 (9), 0 (9), -1 (9)"]),
        (labelled([1, 0, 2, -1] * 9), NUMBER, {**NUMBER, "columns": {"value": "label"}}, [
            "labels of 36 rows: numbers from -1 to 2",
        ]),
        (labelled(["+", "-"] * 9), {}, CLASS, ["labels of 18 rows: classes (2): + (9), - (9)"]),
        (labelled([["a"], [], []] * 9, "labels"), MULTI, {**MULTI, "map_labels": {"": ""}}, [
            "labels of 27 rows: labels (1): a (9); none in 18 rows",
        ]),
        (labelled([["a"], ["b"], []] * 9, "labels"), {}, MULTI, [
            "labels of 27 rows: labels (2): a (9), b (9); none in 9 rows",
        ]),
        (
            lines(*REVIEWED), {}, CLASS,
            ["labels of 5 rows: classes (2): 0 (3), 1 (2)",
             "notice: 4 of 9 rows are left out: 'reject' in column answer (4)"],
        ),
        (
            labelled(["x", "y"] * 10) + lines({"text": f"{WORDS[0]} 0", "label": "y"}), {}, CLASS,
            ["labels of 21 rows: classes (2): y (11), x (10)",
             "notice: 2 of 21 rows have a text that another row has with another label"],
        ),
        (of_one_text(1, 1.0), CLASS, CLASS, ["labels of 2 rows: classes (1): 1 (2)"]),
        (of_one_text("1", "1.0"), NUMBER, {**NUMBER, **VALUE}, ["labels of 2 rows: numbers from 1 to 1"]),
        (of_one_text(1.5, 2.5), {}, {**NUMBER, **VALUE}, [
            "labels of 2 rows: numbers from 1.5 to 2.5",
            "notice: 2 of 2 rows have a text that another row has with another label",
        ]),
        *(
            (of_one_text(*cells), said, {**MULTI, **said, "columns": {"labels": "label"}}, [
                "labels of 2 rows: labels (2): a (2), b (2)",
            ])
            for cells, said in (
                ((["a", "b"], ["b", "a"]), {}), (("['a', 'b']", '["b", "a"]'), {}),
                (("a; b", "b;a"), {"separator": ";"}),
            )
        ),
        (of_one_text("a", "b", text=" "), {}, CLASS, ["labels of 2 rows: classes (2): a (1), b (1)"]),
        (of_one_text("a", "a", None), {}, {**CLASS, "map_labels": {"": None}}, [
            "labels of 2 rows: classes (1): a (2)", "notice: 1 of 3 rows are left out: no label (1)",
        ]),
        (of_one_text("a", "b"), CLASS, CLASS, [
            "labels of 2 rows: classes (2): a (1), b (1)",
            "notice: 2 of 2 rows have a text that another row has with another label",
        ]),
    ],
)  # fmt: skip
def test_all_rows_are_counted_and_what_is_no_label_is_named(
    content: str, said: dict[str, Any], values: dict[str, Any], counted: list[str] | None, tmp_path: Path
) -> None:
    concluded = seen(tmp_path / "x.jsonl", content, **said)
    assert concluded.values == values
    assert counted is None or concluded.shown[concluded.shown.index(counted[0]) :] == counted
    task = Task.model_validate({**concluded.values, **dict.fromkeys(("train", "dev", "test"), "x.jsonl")})
    kept = sum(row.problem is None for row in Files(tmp_path / "x.jsonl", task).rows())
    assert any(f"labels of {kept} rows: " in line for line in concluded.shown), "as the stages read them"


KEYED = [{"text": f"{WORDS[n % 5]} {n}", "Cite key": f"c{n}", "at": n, "mood": "ab"[n % 2]} for n in range(60)]


def test_an_id_is_never_offered_as_the_label(tmp_path: Path) -> None:
    concluded = seen(tmp_path / "x.jsonl", lines(*KEYED))
    assert concluded.values == {**CLASS, "columns": {"label": "mood"}}
    marks = {"start": 3, "_hash": 1, "kinds": ["a"], "meta": {"a": 1}}
    several = lines(*({**row, **marks, "my kind": n % 3} for n, row in enumerate(KEYED)))
    with pytest.raises(UserError, match=r"may .*\n  choose: --columns label=mood, or --columns label='my kind'$"):
        seen(tmp_path / "x.jsonl", several)


def test_what_a_shell_reads_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(lines({"Text ": "a b", "label": 1}))
    with pytest.raises(UserError, match=r"mere text, say so: --text-column 'Text '$"):
        of_corpus(tmp_path / "x.jsonl", "--text", None, None)


ONE, INTS = {"type": "text-classification"}, labelled([1, 2, 3] * 9)
CONTEXT = {"context": "Ada wrote.", "question": "Who?"}
PAIR_LABELS, UNIQUE = {"type": "text-pair-classification"}, labelled([*map(chr, range(65, 125))])
EITHER = "choose: --type text-classification, or --type regression"
COLUMNS = "name them: --columns text=COLUMN --columns label=COLUMN; of a pair of texts: --columns text_a=COLUMN"
FIVE = lines({"one": "a b", "two": "a c", "y": 1, "z": 1})
KEPT = "write its block by hand, as in docs/how-to/labelled-sets.md: map_labels: {'%s': null} leaves these rows out, "
KEPT += "{'%s': '%s'} keeps it\n"
UNCLEAR: list[tuple[str, dict[str, Any], str, str]] = [
    (INTS, {}, "classes, or numbers?", EITHER),
    (labelled([1.0, 2.0, 3.0] * 9), {}, "classes, or numbers?", EITHER),
    (PARTED, {}, "or one label?", "choose: --type multi-label --separator ';', or --type text-classification"),
    (PARTED, {"type": "multi-label"}, "text where a list is expected; split on ';'?", "name the separator of"),
    (labelled(range(60)), PAIR_LABELS, "which columns are text_a and text_b and label?", "name them: --columns text_a"),
    (UNIQUE, {}, "is it the label?", "name another: --columns label=COLUMN\n"),
    (labelled([*map(chr, range(65, 125)), "A"]), {}, "is it the label?", "name another: --columns label=COLUMN; if it"),
    (labelled([0.5, 1] * 9), ONE, "is number, in 9 of 18 rows", "write labels as text or integers; numbers with a fra"),
    (labelled([[[0, 3, "P"]]] * 9), {}, "as doccano and Prodigy do", "write its block by hand, as in docs/"),
    (tagged("PER", "O", "O"), {}, "such as PER beside O: spans, or tags?", "choose: --tag-scheme io, or --tag-"),
    (tagged("B-X|B-Y", "I-X", "O"), {}, "X|B-Y, and most rows are of no scheme", "choose: --tag-scheme bio if only b"),
    (tagged(1, 0, 0), {}, "is not a list of text, in 1 of 1 rows", "write words as text, and tags by their names"),
    (lines({"x": "a b", "y": 1}), {}, "which columns are text and label?", COLUMNS),
    (FIVE, PAIRS_NAMED, "y and z may each be the label", "choose: --columns label=y, or --columns label=z"),
    (INTS, {"tag_scheme": "bio"}, "which columns are tokens and tags?", "name them: --columns tokens=COLUMN --column"),
    (TWO, {}, "content and body may each be the text", "choose: --columns text=content, or --columns text=body"),
    (BOTH, {}, "may be those of several tasks", "choose: --columns text_a=text_a --columns text_b=text_b, or --col"),
    ("a b\n", {"format": "txt"}, "text without labels, one document a line", "give rows with labels, or name their"),
]
PRODIGY = [{"text": "a", "tokens": [{"text": "a"}], "spans": [{"start": 0, "end": 1, "label": "X"}]}] * 9
CLUENER = [{"name": {"a": [[0, 1]]}}] * 9
UNCLEAR += [
    (labelled(["1,5", "2,25"] * 9, "score"), {}, "has numbers with a decimal comma", "write them with a point: pandas"),
    (labelled(CLUENER), {}, "'label' has mappings", "write the spans of CLUENER as lists [first, end"),
    (
        labelled([["a"], [], []] * 9, "labels"),
        {},
        "18 of 27 rows have no label: does none",
        "where none applies, say --ty",
    ),
    (
        lines(*PRODIGY),
        {},
        "column 'spans' marks characters, as doccano and",
        "write its block by hand, as in docs/how-",
    ),
    (
        lines(*({"text": "ab"[n % 2], "label": n % 4 // 2} for n in range(9))),
        {},
        "9 of 9 rows have",
        "several labels are of the type multi-label, a list in one row a text; of several annotators take one; where "
        "it is meant, say --type text-classification",
    ),
    *(
        (labelled(cells), said, f"'{odd}' labels 9 of {len(cells)} rows: a class, or no", KEPT % ((odd,) * 3))
        for cells, said, odd in (([1, 0, 2, -1] * 9, ONE, "-1"), (["x", "y", "-"] * 9, {}, "-"))
    ),
]
for cell in ("['a' 'b']", '{"a": 1}', "array(['a', 'b'], dtype=object)", "{a,b}", "frozenset({'a'})", "[0 1 0]"):
    UNCLEAR.append((labelled([cell] * 20), {}, "written as text that cannot be read", "write them as JSON, e.g. ["))
for cell in ('[{"name": "a"}]', '[["a"]]'):
    UNCLEAR.append((labelled([cell] * 20), {}, "written as text that cannot be read", "write them as JSON, e.g. ["))
for cell in ("[a]", "{a}", "['a' 'b']"):
    parted = labelled([cell, "a"] * 9)
    UNCLEAR.append((parted, {"type": "multi-label"}, "written as text that cannot be read", "write them as JSON, e."))
for cells in ([[0, 1, 0]], [[0.0, 1.0], [1.0, 0.0]], [[True, False, True], []], ["[0, 1, 0]"], ["0; 1; 0"]):
    parting = {"separator": ";"} if cells == ["0; 1; 0"] else {}
    UNCLEAR.append((labelled(cells * 9), parting, "a 0 or 1 for each label", "write the names of the labels that a"))
for row, column, named in (
    ({"tokens": "['Ada', 'x']", "tags": "['B-X' 'O']"}, "tokens", {}),
    ({"tokens": "['Ada', 'x']", "tags": "B-X O"}, "tokens", {"columns": {"tags": "tags"}}),
    ({**CONTEXT, "answers": "{'text': ['x']}"}, "answers", {}),
):
    UNCLEAR.append((lines(row), named, f"column '{column}': text where a list is expected", "use jsonl or parquet, of"))
for tags, shown in (
    (("B", "O", "I"), "I, perhaps for I-SPAN"),
    (("B_X", "O", "I_X"), "I_X, perhaps for I-X"),
    (("B-X", "I-X", "0"), "0, perhaps for O"),
    (("B-X", "I-X", "-"), "-, perhaps for O"),
    (("PER", "PER", "-"), "-, perhaps for O"),
    (("PER", "PER", "OTHER"), "OTHER, perhaps for O"),
    (("(X*", "*)", "O"), "(X* beside O"),
    (("(X*", "*)", "*"), "(X* beside *"),
):
    way = {"P": "--tag-scheme io", "(": "another column, --columns tags=COLUMN"}.get(tags[0][0], "--tag-scheme bio")
    UNCLEAR.append((tagged(*tags), {}, f"such as {shown}", f"choose: {way}, or --tag-scheme none"))
for asked in ("What is it", "这是什么河流"):
    ways = "choose: --columns text=sentence, or --columns text_a=question --columns text_b=sentence"
    pair = "question and sentence are both texts: one of them, or a pair?"
    UNCLEAR.append((QUESTIONS.replace("What is it", asked), {}, pair, ways))
for name, second in (
    ("question", "who?"),
    ("问题", "谁"),
    ("Cite it", "is it good here"),
    ("Aspect", "food"),
    ("asked", "is it good here"),
):
    content = lines(*({name: second, "text": f"{WORDS[n % 5]} {n}", "label": n % 2} for n in range(9)))
    first = f"text_a='{name}'" if name in ("问题", "Cite it") else f"text_a={name}"
    ways = f"choose: --columns text=text, or --columns {first} --columns text_b=text"
    UNCLEAR.append((content, {}, f"{name} and text are both texts: one of them, or a pair?", ways))


@pytest.mark.parametrize(("content", "said", "problem", "remedy"), UNCLEAR)
def test_what_is_not_clear_is_asked(
    content: str, said: dict[str, Any], problem: str, remedy: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as caught:
        seen(tmp_path / "x.jsonl", content, **said)
    first, second = str(caught.value).splitlines()
    assert (first.startswith(f"AB-216 {tmp_path / 'x.jsonl'}: "), problem in first) == (True, True), first
    assert f"{second}\n".startswith(f"  {remedy}")


def test_which_column_of_conll_u_has_the_tags_is_asked(tmp_path: Path) -> None:
    path, rest = tmp_path / "x.conllu", "\t_" * 6
    content = f"1\twe\t_\tPRON{rest}\n2\tgo\t_\tVERB{rest}\n\n" * 9
    with pytest.raises(UserError, match=r"and tags\?.*\n  name them: --columns tokens=COLUMN --columns tags=COLUMN$"):
        seen(path, content)
    values = seen(path, content, columns={"tags": "4"}, tag_scheme="none").values
    assert (values["format"], values["columns"]) == ("conll", {"tags": "4"})


def test_conll_is_of_one_type(tmp_path: Path) -> None:
    said = r"AB-216 .*x\.conll: CoNLL holds words with tags, and no rows of the type multi-label\n  leave --type out,"
    with pytest.raises(UserError, match=said):
        seen(tmp_path / "x.conll", "we O\ngo B-X\n\n" * 9, type="multi-label")


def test_a_time_that_python_does_not_have(tmp_path: Path) -> None:
    """Whether it is read or not, all columns are looked at."""
    columns = {
        "text": ["it is good", "it was bad"],
        "label": ["a", "b"],
        "until": pa.array([2**62] * 2, pa.timestamp("us")),
    }
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    said = r"AB-056 .*x\.parquet: column 'until' has a time before the year 1 or after 9999\n  write it as text, or"
    with pytest.raises(UserError, match=said):
        task_inference.of_files({"train": tmp_path / "x.parquet"}, Said())


def test_a_column_that_is_called_after_a_value(tmp_path: Path) -> None:
    table = "spam\n" + "".join(f"{WORDS[n % 5]} {n},{['spam', 'ham'][n % 2]}\n" for n in range(9))
    values = {**CLASS, "columns": {"label": "spam"}}
    assert seen(tmp_path / "x.csv", f"text,{table}").values == values
    with pytest.raises(UserError, match=r"AB-056 .*\n  put a line .*; where it has one, name the column of its text"):
        seen(tmp_path / "x.csv", f"sms,{table}")
    named = seen(tmp_path / "x.csv", f"sms,{table}", columns={"text": "sms"}).values
    assert named == {**CLASS, "columns": {"text": "sms", "label": "spam"}}


def test_a_table_without_a_header(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"are text and label\? There are 很好, 好\n.*no header, put one above it"):
        seen(tmp_path / "x.csv", "很好,好\n很差,坏\n")
    with pytest.raises(UserError, match=r"AB-216 .*x\.csv: this file seems to have no header\n  put a line with"):
        seen(tmp_path / "x.csv", "这家酒店的房间很好,好\n很差,坏\n")
    with pytest.raises(UserError, match=r"AB-099 --columns text: .* has no column 'x'\n  it has \(a text\), 好"):
        seen(tmp_path / "x.csv", "这家酒店的房间很好,好\n很差,坏\n", columns={"text": "x"})


POSTS = lines({"id": 1, "content": "a b", "likes": 3})
STORIES = lines(*({"who": f"Ann {n}", "at": f"2024-01-0{n} 9:20", "story": f"{WORDS[n % 5]} {n}"} for n in range(9)))
ONE_COLUMN, SPACED = "\n".join(WORDS), "text\tn\r\r\na\tb\r\r\nc\td\r\r\n"
STARRED, NO_TEXT = "content,stars\na b,3\n", lines({"id": "1", "likes": 3})


@pytest.mark.parametrize(
    ("name", "content", "column", "values"),
    [
        ("x.txt", "a b\n", None, {}),
        ("x.jsonl", lines({"title": "a", "text": "b", "body": "c"}), None, {}),
        ("x.jsonl", POSTS, None, {"columns": {"text": "content"}}),
        ("x.jsonl", STORIES, None, {"columns": {"text": "story"}}),
        ("x.jsonl", NO_TEXT, "id", {"columns": {"text": "id"}}),
        ("x.csv", STARRED, "content", {"columns": {"text": "content"}}),
        ("x.txt", "a\tO\nb\tO\n\nc\tO\n", "text", {}),
        ("x.txt", "a b\n\nc d\n\n", None, {}),
        ("x.tsv", SPACED, None, {}),
        ("x.tsv", SPACED.replace("\r\r", "\n"), None, {}),
        ("x.csv", "text,n\n\n" + "a b,1\n\n" * 9, None, {}),
        ("x.jsonl", TWO, None, "AB-216 {}: content and body may each be the text\n  choose: --text-column content"),
        ("x.jsonl", POSTS, "body", "AB-099 --text-column: {} has no column 'body'\n  it has id, content, likes"),
        ("x.jsonl", NO_TEXT, None, "AB-216 {}: which column is the text? There are id, likes\n  name it: --text-"),
        ("x.csv", STARRED, None, "AB-216 {}: its columns may be those of a labelled set: content, stars\n  give it"),
        ("x.csv", ONE_COLUMN, None, "AB-216 {}: this file seems to have no header\n  put a line with the names of its"),
        ("x.csv", ONE_COLUMN, WORDS[0], {"columns": {"text": WORDS[0]}}),
        ("x.txt", "a\tO\nb\tO\n\nc\tO\n", None, "AB-216 {}: CoNLL is a format of labelled sets\n  give text to --text"),
        ("x.csv", "", None, "AB-017 {}: file is empty\n"),
        ("x.log", "a b\n", None, "AB-216 {}: the name tells no known format\n  known: txt, csv,"),
    ],
)
def test_text_without_labels(
    name: str, content: str, column: str | None, values: dict[str, Any] | str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content)
    if isinstance(values, dict):
        assert of_corpus(path, "--text", column, None).values == values
        return
    with pytest.raises(UserError) as caught:
        of_corpus(path, "--text", column, None)
    assert str(caught.value).startswith(values.format(path))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("房间很干净，服务也不错", True),
        ("在 Amazon 买了 iPhone 15，很好", True),
        ("房間很乾淨", True),
        ("The room was clean. 谢谢", False),
        ("部屋はとてもきれいでした", False),
        ("방이 깨끗했다", False),
        ("123 !", False),
    ],
)
def test_which_text_is_chinese(text: str, expected: bool) -> None:
    assert is_chinese([text]) == expected


@pytest.mark.parametrize("name", ["x.tsv", "x.csv"])
def test_a_blank_line_behind_a_table_parts_no_sentences(tmp_path: Path, name: str) -> None:
    rows = "".join(f"good{n}\t{'ab'[n % 2]}\n" for n in range(20))
    content = f"text\tlabel\n{rows}\n" if name == "x.tsv" else f"text,label\n{rows}\n".replace("\t", " it,")
    assert seen(tmp_path / name, content).values == CLASS
    sentences = "Ann\tB-PER\nis\tO\n\n" * 2
    assert seen(tmp_path / name, sentences).values["format"] == "conll"


def test_an_encoding_is_an_option_here(tmp_path: Path) -> None:
    content = "文本,标签\n房间很干净,好\n服务很差,坏\n"
    for text in (content.replace("文本,标签", "text,label"), content):
        with pytest.raises(UserError, match=r"AB-001 .*byte 0x.. is not UTF-8\n  name the encoding: --encoding"):
            seen(tmp_path / "x.csv", text, "gb18030")
    train, test, posts = (tmp_path / f"{name}.csv" for name in ("x", "test", "posts"))
    said = Said(encoding="gb18030")
    values = task_inference.of_files({"train": train}, said).values
    assert (values["encoding"], values["columns"]) == ("gb18030", {"text": "文本", "label": "标签"})
    for path in (test, posts):
        path.write_text(content)
    assert of_corpus(posts, "--text", "文本", "gb18030").values == {"columns": {"text": "文本"}}  # it is UTF-8
    with pytest.raises(UserError, match=r"AB-216 .*test\.csv: UTF-8, while .*x\.csv is gb18030\n  write all"):
        task_inference.of_files({"train": train, "test": test}, said)


def test_one_round_tells_all_of_a_file_in_gb18030(tmp_path: Path) -> None:
    """Its columns may be unclear as well; Excel may part them with a semicolon."""
    rows = "".join(f"{n}号房间很干净,{'好坏'[n % 2]}\n" for n in range(9))
    with pytest.raises(UserError) as caught:
        seen(tmp_path / "x.csv", f"甲,乙,丙\n{rows.replace(',', ',早餐丰富，位置方便,')}", "gb18030")
    assert [error.code for error in caught.value.failures] == [1, 216]
    assert caught.value.failures[1].problem == "乙 and 丙 may each be the label"
    content = f"文本,标签\n{rows}".replace(",", ";")
    with pytest.raises(UserError) as caught:
        seen(tmp_path / "x.csv", content, "gb18030")
    assert [error.code for error in caught.value.failures] == [1]
    values = task_inference.of_files({"train": tmp_path / "x.csv"}, Said(encoding="gb18030")).values
    assert values == {**CLASS, "encoding": "gb18030", "columns": {"text": "文本", "label": "标签"}}


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("zh_ner.train.jsonl.gz", "zh_ner"),
        ("MRPC-train.TSV", "mrpc"),
        ("/data/sst-2/train.csv", "sst_2"),
        ("a b.csv", "a_b"),
        ("/data/ner/project/../train.conll", "ner"),
        ("/数据/训练.csv", "my_task"),
        ("data/own/train.csv", "my_task"),
    ],
)
def test_a_name(file: str, name: str) -> None:
    called, hint = name_of(Path(file))
    assert (called, hint != "") == (name, name in ("ner", "sst_2", "my_task"))


def test_a_byte_order_mark_hides_no_format(tmp_path: Path) -> None:
    path, answers = tmp_path / "a.json", [{"text": "one", "answer_start": 0}]
    questions = [{"id": "1", "question": "who?", "answers": answers}]
    paragraphs = [{"context": "one or two", "qas": questions}]
    path.write_text(json.dumps({"version": "1", "data": [{"paragraphs": paragraphs}]}), encoding="utf-8-sig")
    assert preview(path, Said()).format == "squad"
