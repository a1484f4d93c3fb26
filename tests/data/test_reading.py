"""Files of every format, good and bad: what is read of them, what is put aside, and what stops the stage."""

import csv
import gzip
import io
import json
import math
import re
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adaptbert.data.files import Files
from adaptbert.data.formats import FORMATS
from adaptbert.data.layout import CORPUS, Layout
from adaptbert.data.read_text import MAX_LINE
from adaptbert.errors import UserError
from tests.support.peak import peak
from tests.support.reading import ANSWER, CLASS, LABELS, MANY, NUMBER, PAIR_NUMBER, SPANS, TAGS, config, read, write


def content_of(content: Any) -> bytes:
    """Bytes and text as they are; a table as Parquet; tuples of rows as JSON lines; the rest as JSON."""
    if isinstance(content, pa.Table):
        stream = io.BytesIO()
        pq.write_table(content, stream)
        return stream.getvalue()
    if isinstance(content, tuple):
        content = "".join(json.dumps(row) + "\n" for row in content)
    if not isinstance(content, str | bytes):
        content = json.dumps(content, ensure_ascii=False)
    return content.encode() if isinstance(content, str) else content


def studio(*results: dict[str, Any], **task: Any) -> dict[str, Any]:
    return {"id": 7, "data": {"text": "Ann 😀 Paris"}, "annotations": [{"result": list(results)}], **task}


def result(name: str, **value: Any) -> dict[str, Any]:
    return {"from_name": name, "to_name": "text", "value": value}


def two_controls(**data: str) -> list[dict[str, Any]]:
    """Spans under `label` and `term`, choices under `mood`."""
    spans = [result(name, start=0, end=3, labels=[name.upper()]) for name in ("label", "term")]
    return [{"id": 7, "data": data, "annotations": [{"result": [*spans, result("mood", choices=["pos"])]}]}]


def written(*rows: list[str], **dialect: Any) -> str:
    """A TSV by the csv module of Python."""
    stream = io.StringIO()
    csv.writer(stream, delimiter="\t", lineterminator="\n", **dialect).writerows(rows)
    return stream.getvalue()


def squad(*questions: dict[str, Any]) -> dict[str, Any]:
    return {"version": "v2.0", "data": [{"title": "T", "paragraphs": [{"context": "The cat sat", "qas": questions}]}]}


def texts(*values: str) -> list[dict[str, str]]:
    return [{"text": value} for value in values]


# --- what is read, and what is put aside: (line, code)

CONLL_U = "# a\n" + "".join(f"{n}\t{word}\t_\t{tag}\t_\t_\t0\t_\t_\t_\n" for n, word, tag in (
    ("1-2", "Dogo", "_"), ("1", "Do", "AUX"), ("2", "go", "VERB"),
))  # fmt: skip
FOUR = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

-DOCSTART- -X- -X- O

Peter NNP B-NP B-PER


Paris NNP B-NP
Rome NNP B-NP B-LOC
"""
ONE, TWO = result("mood", choices=["pos"]), result("mood", choices=["pos", "glad"])
SEVERAL = [{"result": [ONE], "was_cancelled": True}, {"result": [ONE]}, {"result": [TWO]}]
STUDIO = [studio(ONE), studio(TWO), studio(), studio(annotations=[]), studio(annotations=SEVERAL)]
SMALL = [{"id": 7, "text": "x", "mood": "pos", "stars": 4}, {"text": "y", "mood": {"choices": ["a", "b"]}, "stars": 2}]
DOCCANO = ({"text": "a", "label": ["x"]}, {"text": "a", "label": ["y", "x"]}, {"text": "a", "label": []})
FLAT = [{"context_id": "D", "context_text": "猫坐猫", "qas": [
    {"query_id": "D-0", "query_text": "谁", "answers": ["猫", "猫"]},
    {"query_id": "D-1", "query_text": "何", "answers": ["狗"]}]}]  # fmt: skip
CAT = [{"context": "猫坐猫", "question": "谁", "answers": [{"text": "猫", "start": 0}]}]
SQUAD = squad(
    {"id": "q1", "question": "who?", "answers": [{"text": "The cat", "answer_start": 0}], "is_impossible": False},
    {"id": "q2", "question": "why?", "answers": [], "plausible_answers": [], "is_impossible": True},
    {"id": "q3", "question": "how?"},
)
ANSWERED = {"context": "The cat sat", "question": "?"}
SAT_CAT = [{"text": "sat", "start": 8}, {"text": "cat", "start": 4}]
PAIR_CSV = "one,two,score,by\nA,B,2.5,x\nC,,1,x\nD,E,high,y\nF,G,nan,y\nH,I,1_000,y\n"
PAIRS = {"columns": {"text_a": "one", "text_b": "two", "value": "score"}}
CELLS = [
    "['food', 'it''s']".replace("''", "\\'"), '[""food"", ""it\'s""]', "['food' , ]", "[]", "{'food'}", "set()",
    "[0, 1, 0]", "array(['food'], dtype=object)", "{food,staff}", '[{""name"": ""food""}]',
    "['food' 'staff']", "[food, staff]", "['food', ['staff']]", "{'food': 1}", '{""food"": true}',
]  # fmt: skip
LONG = pa.array(["a" * 100_000])
LONG_LINES = "\n".join(["so; good," * 10] * 7000)
QUOTED_ROWS = [
    ["text", "label"], ['so "fine"', "x"], ["one\n\ntwo\nthree", "y"], ["a\tb", "x"], ["plain", "y"], ['"', "x"],
]  # fmt: skip
IN_CELLS = [["food", "it's"], ["food", "it's"], ["food"], [], ["food"], []]
TWO_MEMBERS = gzip.compress(b"one\n") + gzip.compress(b"two\n")
INSIDE = "a\u2028b\u2029c\x85d\x0be\x0cf"
NO_ANSWERS: list[Any] = [
    {"text": ["a"], "answer_start": []}, [["a", 1]], [{"text": "a"}], [{"text": "a", "start": "1"}], 7, "a",
]  # fmt: skip
MOOD = {"columns": {"label": "mood"}}
MOODS = {"columns": {"labels": "mood"}}
NER = {"columns": {"tags": "ner"}}
STARS = {"columns": {"value": "stars"}}
READ: dict[str, dict[str, tuple[Any, Layout, dict[str, Any], list[dict[str, Any]], list[tuple[int, int]]]]] = {
    "a.txt": {
        "only LF, CR and CRLF end a line": (
            f"one\r\ntwo\rthree\n{INSIDE}\r\n\r\nlast", CORPUS, {}, texts("one", "two", "three", INSIDE, "last"), [],
        ),
        "a byte that is not UTF-8": (b"good\ncaf\xe9 au\nalso\n", CORPUS, {}, texts("good", "also"), [(2, 1)]),
        "a character cut at the end": ("good\n三".encode()[:-1], CORPUS, {}, texts("good"), [(2, 1)]),
        "gzip of two members, by its content": (TWO_MEMBERS, CORPUS, {}, texts("one", "two"), []),
    },
    "a.txt.gz": {"gzip of two members": (TWO_MEMBERS, CORPUS, {}, texts("one", "two"), [])},
    "a.csv": {
        "a bad byte takes its record": (b'text,n\n"one\nb\xffd",1\ntwo,2\n', CORPUS, {}, texts("two"), [(2, 1)]),
        "other widths": ("text,n\none\na,b\n1,2,3\n", CORPUS, {}, texts("a"), [(2, 44), (4, 44)]),
        "a header with the name of a value, and one above each part": (
            "text,label\ntext,x\ntext,label\na,y\ntext,label\n", CLASS, {},
            [{"text": "text", "label": "x"}, {"text": "a", "label": "y"}], [],
        ),
        "files with byte-order marks, joined": (
            '\ufeff"text", label\na,x\n\ufeff"text", label\nb,y\n', CLASS, {},
            [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}], [],
        ),
        "blanks around cells, and rows of empty cells": (
            "text, label\n,\na, x \n\n , \nb,y\n,\n,\n", CLASS, {},
            [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}], [],
        ),
        "lists as text": (
            "text,labels,tokens,tags,context,question,answers\na,x;y,a,O,a,b,c\n", LABELS, {}, [], [(2, 65)],
        ),
        **{  # by pandas of lists, of arrays, and by JSON; with a separator or without
            f"labels as a list in a cell, separator {separator}": (
                "text,labels\n" + "".join(f'{number},"{cell}"\n' for number, cell in enumerate([*CELLS, "[a]"])),
                LABELS, {} if separator is None else {"separator": separator},
                [{"text": f"{number}", "labels": labels} for number, labels in enumerate(IN_CELLS)],
                [(line, 65) for line in range(8, 18)],
            )
            for separator in (None, ",")
        },
        "a column that is called after a value": (
            "Text,spam\na,spam\nb,ham\nc,spam\n", CLASS, {"columns": {"text": "Text", "label": "spam"}},
            [{"text": text, "label": label} for text, label in (("a", "spam"), ("b", "ham"), ("c", "spam"))], [],
        ),
        "labels in one text: as of a list, none in an empty cell, each once": (
            "text,labels\n" + "".join(f"{n},{cell}\n" for n, cell in enumerate(["y; x", "x", "", "x;;y;x", " ; "])),
            LABELS, {"separator": ";"},
            [{"text": f"{n}", "labels": labels} for n, labels in enumerate((["x", "y"], ["x"], [], ["x", "y"], []))],
            [],
        ),
        "0 and 1 for all labels there are": (
            "text,labels\na,0; 1; 0\nb,0;1\nc,2;2\n", LABELS, {"separator": ";"},
            [{"text": "b", "labels": ["0", "1"]}, {"text": "c", "labels": ["2"]}], [(2, 65)],
        ),
        "a list or mapping where one label is due": (
            "text,label\n" + "".join(f'a,"{cell}"\n' for cell in [*CELLS, "(a)", "[a]"]), CLASS, {},
            [{"text": "a", "label": "(a)"}, {"text": "a", "label": "[a]"}], [(line, 65) for line in range(2, 17)],
        ),
        **{
            f"columns that {name} parts, as the header says, in {encoding}": (
                '文本;label\n"好; 很好";x\n\n不, 不;y\n'.replace(";", sign).encode(encoding), CLASS,
                {"columns": {"text": "文本"}, "encoding": encoding},
                [{"text": f"好{sign} 很好", "label": "x"}, {"text": "不, 不", "label": "y"}], [],
            )
            for name, sign in (("a semicolon", ";"), ("a tab", "\t")) for encoding in ("utf-8", "gb18030")
        },
        "a semicolon parts the columns, and a row has one too many": (
            'text;label\n"a";x\nb, c;y;z\nd;y\ne;x\n', CLASS, {},
            [{"text": text, "label": label} for text, label in ("ax", "dy", "ex")], [(3, 44)],
        ),
        "a semicolon parts the columns, and a name in quotes has a comma": (
            '"text, clean";label\n"a, b";x\n', CLASS, {"columns": {"text": "text, clean"}},
            [{"text": "a, b", "label": "x"}], [],
        ),
        "a semicolon parts the columns of long texts over several lines": (
            "text;label\n" + f'"{LONG_LINES}";x\n' * 3, CLASS, {}, [{"text": LONG_LINES, "label": "x"}] * 3, [],
        ),
        "a pair and a number": (
            PAIR_CSV, PAIR_NUMBER, PAIRS, [{"text_a": "A", "text_b": "B", "value": 2.5}],
            [(3, 41), (4, 65), (5, 62), (6, 65)],
        ),
    },
    "a.tsv": {
        **{
            f"quoted by a program, {quoting}": (
                written(*QUOTED_ROWS, quoting=quoting), CLASS, {},
                [dict(zip(QUOTED_ROWS[0], row, strict=True)) for row in QUOTED_ROWS[1:]], [],
            )
            for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
        },
        "quotes that are needed, and no line that ends in them": (
            'text\tlabel\n"so ""fine"""\tx\n', CLASS, {}, [{"text": 'so "fine"', "label": "x"}], [],
        ),
        **{  # as they stand: a text over two rows, one that is quoted as a whole, and quotes within it
            f"quotes of a text: {first}": (
                f"text\tlabel\n{first}\tx\nbroken\n{second}\ty\n", CLASS, {},
                [{"text": first, "label": "x"}, {"text": second, "label": "y"}], [(3, 44)],
            )
            for first, second in (('"I am here.', 'And you know."'), ('"Good."', '""Good""'), ('say "it"', '"a" b"'))
        },
    },
    "a.jsonl": {
        "one row, of words": (
            json.dumps({"tokens": ["New York City", "is"], "tags": ["B-LOC", "O"]}), SPANS, {},
            [{"tokens": ["New York City", "is"], "tags": ["B-LOC", "O"]}], [],
        ),
        "lone surrogates": (
            '{"text": "ok"}\n{"text": "x\\ud800"}\n{"text": "\\ud83d\\ude00"}\n', CORPUS, {},
            texts("ok", "😀"), [(2, 44)],
        ),
        "half a character in id and group": (
            ({"text": "a", "nr": "x\ud800", "by": "y"}, {"text": "b", "nr": 1, "by": "\udc00"}), CLASS,
            {"columns": {"label": "text", "id": "nr", "group": "by"}}, [], [(1, 44), (2, 44)],
        ),
        "a last line that is cut": (
            '{"text": "a"}\nnonsense\n3\n{"text": "b', CORPUS, {}, texts("a"), [(2, 44), (3, 44), (4, 44)],
        ),
        "deep JSON": ('{"text": "a"}\n{"text": ' + "[" * 100_000 + "\n", CORPUS, {}, texts("a"), [(2, 44)]),
        "what annotators have refused": (
            tuple({"text": answer, "label": "x", "answer": answer} for answer in ("accept", "reject", "ignore", "no")),
            CLASS, {}, [{"text": answer, "label": "x"} for answer in ("accept", "no")], [(2, 229), (3, 229)],
        ),
        "what annotators have refused, as the label itself": (
            ({"text": "a", "answer": "reject"},), CLASS, {"columns": {"label": "answer"}},
            [{"text": "a", "label": "reject"}], [],
        ),
        "what annotators have refused, of a corpus": (({"text": "a", "answer": "reject"},), CORPUS, {}, texts("a"), []),
        **{  # a label that is none, and none at all: left out, kept, or another label
            f"{values} as {names}": (
                tuple({"text": "a", layout.outputs[0]: value} for value in values), layout, {"map_labels": names},
                [{"text": "a", layout.outputs[0]: label} for label in kept], bad,
            )
            for layout, values, names, kept, bad in (
                (CLASS, ("-", -1, "x"), {"-": None, "-1": None}, ["x"], [(1, 229), (2, 229)]),
                (CLASS, ("-", None), {"-": "-"}, ["-"], [(2, 62)]),
                (CLASS, ("", None, math.nan, "x"), {"": None}, ["x"], [(1, 229), (2, 229), (3, 229)]),
                (CLASS, (None, 1), {"": "none"}, ["none", "1"], []),
                (LABELS, ([], None, ["x"]), {"": None}, [["x"]], [(1, 229), (2, 229)]),
                (LABELS, ([], ["x"]), {"": "none"}, [["none"], ["x"]], []),
                (LABELS, ([], ["x", "-"]), {"": "", "-": None}, [[]], [(2, 229)]),
            )
        },
        **{
            f"spans as {names}": (
                tuple({"tokens": ["a", "b"], "tags": tags} for tags in (["B-X", "I-X"], ["O", "O"], ["B-Y", "O"])),
                SPANS, {"map_labels": names, "tag_scheme": "bio"},
                [{"tokens": ["a", "b"], "tags": tags} for tags in kept], bad,
            )
            for names, kept, bad in (
                ({"": None}, [["B-X", "I-X"], ["B-Y", "O"]], [(2, 229)]),
                ({"X": None, "": ""}, [["O", "O"], ["B-Y", "O"]], [(1, 229)]),
            )
        },
        "labels are text or whole numbers": (
            tuple({"text": "a", "label": label} for label in ("007", 1, "NA", 1.0, 0, None, math.nan, 1.5, [1])),
            CLASS, {}, [{"text": "a", "label": label} for label in ("007", "1", "NA", "1", "0")],
            [(6, 62), (7, 62), (8, 65), (9, 65)],
        ),
        **{  # of spans their types, of tags the tags as they stand
            f"renamed {layout.outputs[0]} of {layout.target}": (
                {layout.inputs[0]: cell, layout.outputs[0]: given}, layout,
                {"map_labels": {"Neg": "neg"}} | ({"tag_scheme": "bio"} if layout == SPANS else {}),
                [{layout.inputs[0]: cell, layout.outputs[0]: expected}], [],
            )
            for layout, cell, given, expected in (
                (CLASS, "a", "Neg", "neg"), (LABELS, "a", ["Neg", "pos", "neg"], ["neg", "pos"]),
                (TAGS, ["a", "b"], ["Neg", "B-Neg"], ["neg", "B-Neg"]),
                (SPANS, ["a", "b"], ["B-Neg", "I-Neg"], ["B-neg", "I-neg"]),
            )
        },
        "tokens and tags": (
            (
                {"tokens": ["a", "b"], "tags": ["O", "B-X"]},
                {"tokens": ["a", "b"], "tags": ["O"]},
                {"tokens": ["a", 1], "tags": ["O", "O"]},
                {"tokens": "a", "tags": "O"},
                {"tokens": None, "tags": []},
            ),
            SPANS, {}, [{"tokens": ["a", "b"], "tags": ["O", "B-X"]}], [(2, 89), (3, 65), (4, 65), (5, 41)],
        ),
        "tags under another name": (
            {"tokens": ["a"], "upos": ["DET"]}, TAGS, {"columns": {"tags": "upos"}},
            [{"tokens": ["a"], "tags": ["DET"]}], [],
        ),
        "several labels are sorted, each once": (
            tuple({"text": "a", "labels": labels} for labels in (["y", "x", "y"], [], None, 7)), LABELS, {},
            [{"text": "a", "labels": ["x", "y"]}, {"text": "a", "labels": []}], [(3, 62), (4, 65)],
        ),
        "answers as columns and as a list": (
            tuple({**ANSWERED, "answers": answers} for answers in (
                {"text": ["sat", "sat", "cat"], "answer_start": [8, 8, 4]},
                [{"text": "sat", "answer_start": 8}, {"text": "cat", "start": 4}],
            )), ANSWER, {}, [{**ANSWERED, "answers": SAT_CAT}] * 2, [],
        ),
        "answers of another form": (
            tuple({**ANSWERED, "answers": each} for each in [*NO_ANSWERS, None]), ANSWER, {}, [],
            [*((line, 65) for line in range(1, 7)), (7, 62)],
        ),
    },
    "a.parquet": {
        "a column twice that is not read": (
            pa.Table.from_arrays([pa.array([cell]) for cell in "abc"], ["n", "text", "n"]), CORPUS, {}, texts("b"), [],
        ),
        "a null": (pa.table({"text": ["a", None, "b"]}), CORPUS, {}, texts("a", "b"), [(2, 41)]),
        "bytes": (pa.table({"text": [b"bytes"]}), CORPUS, {}, [], [(1, 56)]),
        "a missing label made a column of integers one of floats": (
            pa.table({"text": [*"abc"], "label": [1.0, None, 0.0]}), CLASS, {},
            [{"text": "a", "label": "1"}, {"text": "c", "label": "0"}], [(2, 62)],
        ),
    },
    "a.conll": {
        "four columns": (
            FOUR, SPANS, {"columns": {"group": "document"}},
            [{"tokens": ["EU", "rejects"], "tags": ["B-ORG", "O"]}, {"tokens": ["Peter"], "tags": ["B-PER"]}],
            [(11, 44)],
        ),
        "a sentence right after the head of a document": (
            "-DOCSTART- O\nEU B-X\n", SPANS, {}, [{"tokens": ["EU"], "tags": ["B-X"]}], [],
        ),
        "another column": (
            FOUR, TAGS, {"columns": {"tags": "2"}},
            [{"tokens": ["EU", "rejects"], "tags": ["NNP", "VBZ"]}, {"tokens": ["Peter"], "tags": ["NNP"]}],
            [(11, 44)],
        ),
        "tabs: blanks part nothing": (
            "New York\tB-LOC\r\nis\tO\r\n\r\nbig O\r\n\r\n#\tO", SPANS, {},
            [{"tokens": ["New York", "is"], "tags": ["B-LOC", "O"]}, {"tokens": ["#"], "tags": ["O"]}], [(4, 44)],
        ),
        "tags that are mostly empty": (
            "The\tDT\t\ncat\tNN\t\n\n" * 9 + "Ann\tNNP\tB-PER\n", SPANS, {},
            [{"tokens": ["The", "cat"], "tags": ["", ""]}] * 9 + [{"tokens": ["Ann"], "tags": ["B-PER"]}], [],
        ),
        "tabs behind the tags": (
            "EU\tB-ORG\t\nis\tO\t\n\nbig\tO\nor\tO\n\nbad\t\t\n", SPANS, {},
            [{"tokens": ["EU", "is"], "tags": ["B-ORG", "O"]}, {"tokens": ["big", "or"], "tags": ["O", "O"]},
             {"tokens": ["bad"], "tags": [""]}], [],
        ),
        **{
            f"blank tokens before {sign!r}": (
                f"EU{sign}B-X\n {sign}O\n\u3000{sign}O\n\nis{sign}O\n\n{sign}O\n", SPANS, {},
                [{"tokens": ["EU", " ", "\u3000"], "tags": ["B-X", "O", "O"]}, {"tokens": ["is"], "tags": ["O"]},
                 *lost], bad,
            )
            for sign, lost, bad in ((" ", [], [(7, 44)]), ("\t", [{"tokens": [""], "tags": ["O"]}], []))
        },
        **{
            f"another separator: {other!r}": (
                f"EU{sign}B-X\n\nis{other}O\n", SPANS, {}, [{"tokens": ["EU"], "tags": ["B-X"]}], [(3, 44)],
            )
            for sign, other in ("\t ", " \t")
        },
        **{  # every sentence begins with a comment, also where it has as many columns as a token
            f"comments above the sentences: {comment}": (
                f"{comment}\nEU _ B-ORG\n\n{comment}\n# _ O\n", SPANS, {},
                [{"tokens": ["EU"], "tags": ["B-ORG"]}, {"tokens": ["#"], "tags": ["O"]}], [],
            )
            for comment in ("# id 1\tdomain=en", "# sent_id = 1", "# id 1")
        },
        **{
            f"comments that begin with {comment!r}, and blanks after a tag": (
                f"{comment}7\n#EU\tB-ORG \nis\tO\n\n" * 2, SPANS, {},
                [{"tokens": ["#EU", "is"], "tags": ["B-ORG", "O"]}] * 2, [],
            )
            for comment in ("#\t", "#id=")
        },
        "CoNLL-U": (
            "# newdoc\n# text = Don't #\n1-2\tDon't\t_\t_\n1\tDo\tAUX\t_\n2\tn't\tPART\t_\n2.1\tgo\tVERB\t_\n"
            "\n# text = # 1\n1\t#\tSYM\t_\n", TAGS, {"columns": {"tags": "3"}},
            [{"tokens": ["Do", "n't"], "tags": ["AUX", "PART"]}, {"tokens": ["#"], "tags": ["SYM"]}], [],
        ),
        "CoNLL-U with all its columns": (
            CONLL_U, TAGS, {"columns": {"tags": "4"}}, [{"tokens": ["Do", "go"], "tags": ["AUX", "VERB"]}], [],
        ),
    },
    "squad": {
        "the second version": (
            SQUAD, ANSWER, {},
            [
                {"context": "The cat sat", "question": "who?", "answers": [{"text": "The cat", "start": 0}]},
                {"context": "The cat sat", "question": "why?", "answers": []},
            ],
            [(3, 62)],
        ),
        "flat CMRC, which has no offsets": (FLAT, ANSWER, {}, CAT, [(2, 81)]),
        **{
            f"broken inside: {broken}": (broken, ANSWER, {}, [], [(1, 56)])
            for broken in ([3], [{"paragraphs": 3}], [{"qas": [None]}], [{"paragraphs": [{"qas": "x"}]}])
        },
    },
    "doccano": {
        "one label": (DOCCANO, CLASS, {}, [{"text": "a", "label": "x"}], [(2, 65), (3, 62)]),
        "several labels": (
            (*DOCCANO, {"text": "b"}), LABELS, {},
            [{"text": "a", "labels": labels} for labels in (["x"], ["x", "y"], [])], [(4, 62)],
        ),
        "no spans": ({"text": "a", "label": [["X"]]}, SPANS, {}, [], [(1, 56)]),
        "spans of Prodigy": (
            ({"text": "Ann went", "tokens": [{"text": "Ann"}], "spans": [{"start": 0, "end": 3, "label": "P"}]},
             {"text": "Bob", "answer": "ignore"}),
            SPANS, {"columns": {"tags": "spans"}}, [{"tokens": ["Ann", "went"], "tags": ["B-P", "O"]}], [(2, 229)],
        ),
        "text of another name": (
            {"content": "Ann went", "x": [[0, 3, "TERM"]]}, SPANS, {"columns": {"text": "content", "tags": "x"}},
            [{"tokens": ["Ann", "went"], "tags": ["B-TERM", "O"]}], [],
        ),
    },
    "label_studio": {
        "lines keep their ends": (
            '[{"text": "a\r\nb", "label": "x", "id": 1}]', CLASS, {}, [{"text": "a\r\nb", "label": "x"}], [],
        ),
        "choices": (
            STUDIO, CLASS, MOOD, [{"text": "Ann 😀 Paris", "label": "pos"}] * 2, [(2, 65), (3, 62), (4, 229)],
        ),
        "the truth among several annotators": (
            [studio(annotations=[{"result": [TWO]}, {"result": [ONE], "ground_truth": True}])], CLASS, MOOD,
            [{"text": "Ann 😀 Paris", "label": "pos"}], [],
        ),
        "several choices": (
            STUDIO, LABELS, MOODS,
            [{"text": "Ann 😀 Paris", "labels": labels} for labels in (["pos"], ["glad", "pos"], [], ["pos"])],
            [(4, 229)],
        ),
        "choices of JSON-MIN": (
            SMALL, LABELS, MOODS, [{"text": "x", "labels": ["pos"]}, {"text": "y", "labels": ["a", "b"]}], [],
        ),
        "numbers of JSON-MIN": (
            SMALL, NUMBER, STARS, [{"text": "x", "value": 4.0}, {"text": "y", "value": 2.0}], [],
        ),
        "ratings": ([studio(result("stars", rating=3))], NUMBER, STARS, [{"text": "Ann 😀 Paris", "value": 3.0}], []),
        "the only control needs no name": (
            two_controls(text="Ann"), CLASS, {}, [{"text": "Ann", "label": "pos"}], [],
        ),
        "the only control of JSON-MIN": (
            [{"text": "Ann", "mood": "pos", "id": 1}], CLASS, {}, [{"text": "Ann", "label": "pos"}], [],
        ),
        "text of another name": (
            two_controls(content="Ann went"), SPANS, {"columns": {"text": "content", "tags": "term"}},
            [{"tokens": ["Ann", "went"], "tags": ["B-TERM", "O"]}], [],
        ),
        **{  # one unit for all spans of a text: the second may lie where it should by chance
            f"{name} as one": (
                [{"text": f"{start}Ha{end}Ha Ha", "ner": [
                    {"start": first, "end": first + 2, "text": "Ha", "labels": ["X"]} for first in firsts]}],
                SPANS, NER,
                [{"tokens": [*odd, "Ha", "Ha", "Ha"], "tags": ["O"] * len(odd) + ["B-X", "B-X", "O"]}], [],
            )
            for name, start, end, firsts, odd in (
                ("CRLF", "\r\n", "\r\n", (1, 4), []), ("CRLF beside UTF-16", "😀\r\n", "\r\n", (3, 6), ["😀"]),
                ("nothing", "\r\n", "\r\n", (2, 6), []),
            )
        },
        "marks in HTML": (
            [studio(result("ner", start="/p[1]/text()[1]", end="/p[1]/text()[1]", hypertextlabels=["X"]))],
            SPANS, NER, [], [(1, 56)],
        ),
        **{
            f"a span that does not fit: {odd}": ([{"text": "Ann", "label": [odd]}], SPANS, {}, [], [(1, code)])
            for odd, code in (
                ({"start": 0, "end": 3, "text": "Bob", "labels": ["X"]}, 81),
                ({"start": -1, "end": 3, "labels": ["X"]}, 81),
                ({"start": 0, "end": 3, "labels": ["X", "Y"]}, 56),
                ({"start": 0, "end": 2, "labels": ["X"]}, 81),
                (3, 56),
            )
        },
    },
}  # fmt: skip


def file_of(folder: Path, kind: str, content: Any, options: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    """A file, and how it is declared: by its name, or by its format."""
    if kind not in FORMATS:
        return write(folder / kind, content_of(content)), options
    return write(folder / "a.json", content_of(content)), {"format": kind, **options}


@pytest.mark.parametrize(("kind", "case"), [(kind, case) for kind, cases in READ.items() for case in cases])
def test_what_is_read(tmp_path: Path, kind: str, case: str) -> None:
    content, layout, options, kept, bad = READ[kind][case]
    path, declared = file_of(tmp_path, kind, content, options)
    rows, unreadable, _ = read(path, layout, "" if layout == CORPUS else "train", **declared)
    assert [row.values for row in rows] == kept
    assert [(row.line, row.problem.code) for row in unreadable if row.problem] == bad


REPEATED = "headers that stand again below the first, as where files were joined, not read"
QUOTED = "TSV files with cells in quotes, which stay as they are (written by Excel or pandas? then save them as CSV)"


@pytest.mark.parametrize(
    ("kind", "content", "layout", "options", "warning", "count"),
    [
        ("a.txt", "\ufeff" + "x" * 300 + "\0", CORPUS, {}, "byte-order marks removed", 1),
        ("a.jsonl", json.dumps({"text": "x" * 300}) + "\0", CORPUS, {}, "NUL bytes removed", 1),
        ("a.csv", f"text\n{'x' * 300}\0\n", CORPUS, {}, "NUL bytes removed", 1),
        ("a.csv", "text\na\ntext\nb\ntext\n", CORPUS, {}, REPEATED, 2),
        ("a.tsv", 'text\n"say ""a"""\n"b"\nc"d\n', CORPUS, {}, QUOTED, 1),
        ("a.tsv", 'text\n"say" it\n"b"\nc"d\n', CORPUS, {}, QUOTED, 0),
        ("squad", FLAT, ANSWER, {}, "answers without an offset, taken at their first place", 3),
        ("label_studio", STUDIO, CLASS, MOOD, "annotations beyond the first of a task, not read", 1),
        (
            "label_studio", [studio(result("ner", start=0, end=3, labels=["X"]), {"type": "relation"})], SPANS, NER,
            "results without a value (relations), not read", 1,
        ),
    ],
)  # fmt: skip
def test_what_is_counted(
    tmp_path: Path, kind: str, content: Any, layout: Layout, options: dict[str, Any], warning: str, count: int
) -> None:
    path, declared = file_of(tmp_path, kind, content, options)
    rows, _, files = read(path, layout, "train", **declared)
    assert files.warnings[warning] == count
    assert "\0" not in str(rows)
    assert "\ufeff" not in str(rows)


# --- what stops the stage


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
DECLARE = "declare the `encoding` that all files of the set have"


def zipped(name: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, "text")
    return stream.getvalue()


PACKED = gzip.compress(MANY, mtime=0)
WRONG_SUM = PACKED[:-8] + bytes([PACKED[-8] ^ 1]) + PACKED[-7:]
CUT = content_of(pa.table({"text": ["some text"] * 100}))[:-20]
ROWS = content_of(pa.table({"text": [f"row {n}" for n in range(1000)]}))
TWICE = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["text", "text"])
LATE = "text\tlabel\n" + f"{'word ' * 20}\tx\n" * 11_000
SMALL_MARK = {"start": 0, "end": 3, "labels": ["X"]}
SMALL_CONTROLS = [{"text": "Ann", "label": [SMALL_MARK], "term": [SMALL_MARK], "mood": "pos", "annotator": 1}]
NO_TERM = r"no control 'termx' for tags; found label, term \(did you mean 'term'\?\)"
NO_TAGS = r"no control 'tags' for tags; found label, term\n  name one of them, e.g. `columns: {tags: label}`"
NO_MOOD = r"no control 'moody' for label; found .*mood.* \(did you mean 'mood'\?\)"
CORPUS_ERRORS = [
    *(
        ("a.txt", "text".encode(name), 1, f"file is {name.upper()}\n  {DECLARE}: {name}")
        for name in ("utf-16", "utf-32")
    ),
    ("a.txt", "plain text".encode("utf-16-le"), 10, "where every second byte is NUL"),
    ("a.txt", b"some text\0\0\0 and more", 10, "binary file"),
    ("a.txt", bytes(4096), 10, "its content was lost"),
    ("a.csv", ",".join(f"c{n}" for n in range(1000)).encode(), 56, "c48, c49 and 950 more"),
    ("a.txt", b"\n\r\n\n", 17, "0 documents in 3 lines"),
    ("a.txt", b"", 17, "file is empty"),
    ("a.csv", b"\n\n", 17, "0 documents in 2 lines"),
    ("a.txt.gz", gzip.compress(b"", mtime=0), 17, "file is empty"),
    ("a.jsonl", b"\n \n", 17, "0 documents"),
    ("a.txt.gz", PACKED[: len(PACKED) // 2], 38, "gzip is damaged, or ends early"),
    ("a.txt.gz", WRONG_SUM, 38, "damaged"),
    ("a.txt.gz", PACKED + b"rubbish", 38, "damaged"),
    ("a.txt", zipped("a.txt"), 37, "zip, not text\n  unpack it first"),
    *(
        ("a.csv", content, 37, "a file of Excel or another office program, not text\n  open it there and save")
        for content in (zipped("[Content_Types].xml"), zipped("xl/workbook.xml"), b"\xd0\xcf\x11\xe0" + bytes(99))
    ),
    *(
        (name, POINTER, 37, f"a pointer of Git LFS, not {kind}\n  run `git lfs pull`")
        for name, kind in (("a.txt", "text"), ("a.csv.gz", "text"), ("a.parquet", "Parquet"))
    ),
    ("a.parquet", b"text,label\na,x\n", 38, "or of another format?\n  copy or write the file again, or name it after"),
    ("a.parquet", b"PAR1 cut", 38, "footer missing"),
    ("a.parquet", CUT, 38, "footer missing"),
    ("a.parquet", ROWS[:4] + bytes(36) + ROWS[40:], 38, "damaged after row 0 ("),
    ("a.parquet", pa.table({"text": pa.array([b"b\xff"], pa.binary()).view(pa.string())}), 38, "(UnicodeDecodeError)"),
    ("a.parquet", pa.table({"text": pa.array([], pa.string())}), 18, "0 documents in the file"),
    ("a.parquet", TWICE, 56, "column 'text' twice\n  rename one of the two"),
    ("a.jsonl", b'[{"text": "a"}]', 37, "one object per line\n  name its format if it is squad or label_studio; a"),
    ("a.jsonl", b"{\n}", 37, "an object over several lines"),
    *(
        ("a.json", json.dumps(content).encode(), 37, words)
        for content, words in (
            (
                {"text": {"0": "it was so good", "1": "bad"}, "n": {"0": 1, "1": 2}},
                "one object of columns; expected one",
            ),
            ({"text": ["it was so good", "bad"], "n": [1, 2]}, "one object of columns; expected one object per line\n"),
            (
                {"v": "1", "data": [{"text": "a"}]},
                """below 'data'\n  name its format if it is squad; else: jq -c '.["data"][]'""",
            ),
            (
                {"val": [["a", "b"]]},
                """below 'val', as pairs\n  name its format if it is squad; else: jq -c '.["val"][] | {text: .[0],""",
            ),
        )
    ),
    ("a.jsonl", b'{"text": "a"}\n{"text": "a", "text": "b"}', 56, "2: key 'text' twice"),
    ("a.csv", b"text,text\na,b\n", 56, "column 'text' twice"),
    ("a.docx", b"x", 50, "no known format"),
    ("a.csv", b"Text,label\na,b\n", 56, "found Text, label (did you mean 'Text'?)"),
    ("a.jsonl", b'{"txt": "a"}', 56, "did you mean 'txt'?"),
    *(  # a label that comes again, a number among numbers, a text; and no text of a row in the message
        ("a.csv", rows.encode(), 56, "a.csv:1: this file seems to have no header\n  put a line with the names of its")
        for rows in (
            "good,pos\nbad,neg\nfine,pos\nso,pos\n",
            "good,1.5\nbad,2\n",
            "It was good of them to come\nbad\n",
            "这家酒店的房间很好,好\n很差,坏\n",
            '"Good.","Good."\n',
        )
    ),
    *(
        ("a.csv", f"{title}\ntext,label\na,x\n".encode(), 56, "a.csv:1: one cell, and 2 in each line below it: a tit")
        for title in ("sep=,", "Survey of all rooms 2024", "Survey 2024,\n,")
    ),
    ("a.csv", b'{"text": "a", "label": "x"}\n', 37, "JSON lines, not a table\n  name it .jsonl"),
    ("a.csv", b"0,1\nx,1\ny,1\n", 56, "column 'text' missing; found 0, 1"),
    ("a.csv", b'text\n"a\nb\n', 37, "quote opened in line 2 never closes"),
    ("a.csv", b'text\n"a"b\n', 37, "not CSV"),
    ("a.tsv", f'{written(*QUOTED_ROWS)}{LATE}x\t"y\n'.encode(), 37, "quote opened in line 11011 never closes"),
    *(  # a row without the columns of the header, and two signs in it
        ("a.csv", content, 37, "delimiter ';'?\n  give each row the columns that ';' gives the header, or write commas")
        for content in (b"text;label\na;b\nc;d;e\n", b"text;label\nc\n", b"text;la\tbel\na;b\n")
    ),
    ("a.csv", b"text\n" + b"x" * (MAX_LINE + 1), 22, "longer than"),
    ("a.csv", b'text\n"' + (b"x" * 999 + b"\n") * (MAX_LINE // 1000 + 1), 22, "larger than"),
]
SET_ERRORS: list[tuple[str, Any, Layout, dict[str, Any], int, str]] = [
    ("a.conll", "a\nb\n\n", SPANS, {}, 44, "a.conll:1: one column found"),
    ("a.conll", "a O\n", SPANS, {"columns": {"tags": "5"}}, 56, "'5' missing; found 1, 2, document, tokens, tags"),
    (
        "a.conll", CONLL_U, TAGS, {}, 56,
        r'a.conll:3: CoNLL-U has several columns of tags\n  map one: `columns: \{tags: "4"\}` ',
    ),
    (
        "a.conll", "EU B-ORG\n\nis O\n\nbig O\n\n\n\n" * 5, SPANS, {}, 44,
        "a.conll:1: a blank line after every line\n  write one only where a sentence ends",
    ),
    ("a.conll", "-DOCSTART- O\n\n\n", SPANS, {}, 17, "0 sentences"),
    *(
        ("squad", content, ANSWER, {}, code, words)
        for content, code, words in (
            ('{"data": 3}', 56, "no list of articles"), ("7", 56, "no list of articles"), ("[]", 17, "0 questions"),
            ("{", 44, "not JSON"), ("[" * 100_000, 44, "too deep"), ('{"data": [], "data": []}', 56, "'data' twice"),
        )
    ),
    *(
        ("squad", squad({"id": "q1", "question": "who?", "answers": []}), ANSWER, {"columns": columns}, 56,
         "missing; found title, context, id, question, answers")
        for columns in ({"question": "q"}, {"id": "nr"})
    ),
    *(
        ("doccano", {"text": "a", "label": []}, layout, {"columns": {layout.outputs[0]: "lable"}}, 56,
         "column 'lable' missing; found text, label")
        for layout in (CLASS, SPANS)
    ),
    ("doccano", {"body": "a", "x": []}, SPANS, {"columns": {"tags": "x"}}, 56, "'text' missing"),
    *(("label_studio", content, CLASS, {}, 56, "not a list of tasks") for content in ("{}", "[]", "[3]")),
    (
        "label_studio", two_controls(content="Ann"), SPANS, {"columns": {"tags": "term"}}, 56,
        "column 'text' missing; found content",
    ),
    *(  # no other control is read instead: the model would learn another task
        ("label_studio", tasks, layout, {"columns": columns}, 56, words)
        for tasks in (two_controls(text="Ann"), SMALL_CONTROLS)
        for layout, columns, words in (
            (SPANS, {"tags": "termx"}, NO_TERM), (SPANS, {}, NO_TAGS), (CLASS, {"label": "moody"}, NO_MOOD),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "content", "layout", "options", "code", "words"),
    [*((name, content, CORPUS, {}, code, re.escape(words)) for name, content, code, words in CORPUS_ERRORS),
     *SET_ERRORS],
)  # fmt: skip
def test_what_stops_the_stage(
    tmp_path: Path, kind: str, content: Any, layout: Layout, options: dict[str, Any], code: int, words: str
) -> None:
    path, declared = file_of(tmp_path, kind, content, options)
    with pytest.raises(UserError, match=words) as raised:
        read(path, layout, "" if layout == CORPUS else "train", **declared)
    assert (raised.value.code, raised.value.exit_code) == (code, 65)
    assert str(raised.value).startswith(f"AB-{code:03d} {path}")
    assert str(raised.value).count("\n") == 1


@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize("rows", [500, 1_500])
def test_a_long_value_that_a_parquet_file_has_once(tmp_path: Path, rows: int, *, is_list: bool) -> None:
    """Many rows of it take little memory; and a file of a few bytes that would unpack to gigabytes is refused."""
    column: Any = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), LONG)
    tokens = pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), column)
    tags = pa.array([["O"]] * rows)
    table = {"tokens": tokens, "tags": tags} if is_list else {"text": column}
    path = write(tmp_path / "a.parquet", content_of(pa.table(table)))
    files = Files(path, config(SPANS if is_list else CORPUS), "train" if is_list else "")

    def reading() -> None:
        if rows == 500:
            assert sum(1 for _ in files.rows()) == rows
            return
        with pytest.raises(UserError, match=r"AB-022 .*: more than 100,000,000 characters of text in [0-9,]+ bytes\n"):
            list(map(len, files.rows()))

    assert path.stat().st_size < 100_000
    assert peak(reading) < 20_000_000
