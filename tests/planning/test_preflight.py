"""adaptbert check opens the files: all that is wrong with all of them at once, and nothing that the stages accept.

Of a large file it reads the first rows, and many more where something is wrong with these.
"""

import csv
import gzip
import io
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from adaptbert.config import recipe as recipes
from adaptbert.data.collect import collect_task
from adaptbert.data.validate_set import validate_labelled_set
from adaptbert.errors import failures_of
from adaptbert.planning import preflight
from tests.support.checked_files import SEEDS, check_errors, good, lines, mood, words, write
from tests.support.commands import run
from tests.support.project import wait_until


def test_six_files_with_six_faults_are_reported_in_one_run(own: Path) -> None:
    (own / "gbk.txt").write_bytes("天气很好，我们出去玩。\n".encode("gbk") * 3)
    people = {
        split: lines(f"{split}.json", *({"tokens": [f"Lee{n + seed}", "left"], "tags": [tag, "O"]} for n in range(4)))
        for (split, seed), tag in zip(SEEDS.items(), ("I-PER", "B-PER", "B-PER"), strict=True)
    }
    qa = lines("qa.jsonl", *[{"context": "Ann left", "question": "Who?", "answers": [{"text": "Bob", "start": 0}]}] * 9)
    odd = lines("odd.jsonl", {"text": "so so", "label": "neutral"}, {"text": "fine", "label": "a"})
    cut = {"split": {"dev": 0.2, "test": 0.2}, "dev": qa, "test": qa}
    grades = {split: lines(f"{split}.tsv", "text\tvalue", f"{split} b\tgood", "c d\tbad") for split in SEEDS}
    write(
        {"general": lines("posts.csv", "content,id", "hello,1"), "domain": "data/own/gbk.txt"},
        mood=mood(dev=odd),
        grade=mood(**grades, type="regression"),
        people=mood(**people, format="jsonl", type="token-classification", tag_scheme="bio"),
        answers=mood(train=qa, **cut, type="question-answering", no_answer=False),
    )
    messages = check_errors()
    for start in (
        "AB-056 data/own/posts.csv:1: column 'text' missing; found content, id\n  rename it or map it in corpora.g",
        "AB-018 data/own/gbk.txt: 0 of 3 documents left: 3 x byte 0xCC is not UTF-8: gb18030?",
        "AB-060 params.yaml: tasks.mood: labels of dev that train never shows: 1 x 'neutral', first in odd.",
        "AB-018 data/own/train.tsv: 0 of 2 documents left: 2 x value is not a number\n  mend them",
        "AB-018 data/own/dev.tsv: 0 of 2 documents left",
        "AB-089 data/own/train.json: 4 of 4 rows are not bio; they look like io\n  write tag_scheme: io",
        "AB-019 params.yaml: tasks: 9 rows cannot be split: none falls to dev",
    ):
        assert sum(line.startswith(start) for line in messages) == 1, (start, messages)
    assert not any("/tmp" in line for line in messages), "the folder that is thrown away"
    assert sorted(path.name for path in Path("data").iterdir()) == ["demo", "own", "smoke", "sources"]


def test_what_is_right_passes(own: Path) -> None:
    news, posts = (lines(f"{name}.txt", *map(words, range(300))) for name in ("news", "posts"))
    write({"general": news, "domain": posts}, {"class_weights": {"a": 1.0, "b": 2.0}}, mood=mood())
    assert check_errors() == []


def test_csv_that_excel_parts_otherwise_passes(own: Path) -> None:
    """`check` and the stages read it alike; a row of other columns names the remedy."""
    files = {
        split: lines(f"{split}.csv", "text;label", *(f"{words(n + seed)};{'ab'[n % 2]}" for n in range(20)))
        for split, seed in SEEDS.items()
    }
    write(None, {"labels": 0}, mood=mood(**files))
    assert check_errors() == []
    lines("dev.csv", "text;label", "a;b;c")
    assert check_errors()[0].startswith("AB-037 data/own/dev.csv:1: one column found; delimiter ';'?\n  give each row")


ROWS = [
    {"text": "fine words here", "label": "a"}, {"text": "other words there", "label": "b"},
    {"text": "", "label": "a"}, {"text": "no label"}, {"text": None, "label": "a"}, {"text": "x", "label": ["a"]},
    {"text": "odd", "label": "c"}, {"text": "odd", "label": " A"}, {"text": 3, "label": "a"}, "{", "",
]  # fmt: skip


def test_check_and_the_stages_agree_on_small_files(own: Path, tmp_path: Path) -> None:
    """What check accepts, collect and validate accept, and the reverse; of a set that is read whole nothing is left
    open."""
    draw = random.Random(0)
    for number in range(24):
        paths = {}
        for split, seed in SEEDS.items():
            rows = [ROWS[draw.choice((0, 1))] for _ in range(draw.randint(2, 9))]
            rows = [{**row, "text": f"{row['text']} {words(n + seed)}"} for n, row in enumerate(rows)]
            paths[split] = Path(
                lines(f"{split}.jsonl", *rows, *(draw.choice(ROWS) for _ in range(draw.random() < 0.3)))
            )
        write(None, {"labels": 0}, mood=mood(**{split: str(path) for split, path in paths.items()}))
        recipe, folder = recipes.read(), tmp_path / str(number)
        (folder / "raw").mkdir(parents=True)
        raw, kept, rejected = folder / "raw", folder / "kept", folder / "out.parquet"
        expected = failures_of(collect_task, recipe.tasks["mood"], paths, raw)
        expected = expected or validate_labelled_set(raw, kept, rejected, recipe.limits).errors
        seen = preflight.check(recipe, task=recipe.tasks["mood"])
        assert (expected != [], [], []) == (seen.errors != [], seen.unopened, seen.notices)
        assert {error.code for error in expected} <= {error.code for error in seen.errors}


def test_a_label_of_another_name_is_a_missing_column_in_every_split(own: Path) -> None:
    rows = [{"id": n, "text": words(n), "mood": "ab"[n % 2]} for n in range(20)]
    write(None, None, mood=mood(**{split: lines(f"{split}.jsonl", *rows[n:]) for n, split in enumerate(SEEDS)}))
    remedy = "rename it or map it in tasks.mood.columns"
    assert check_errors() == [
        f"AB-056 data/own/{split}.jsonl:1: column 'label' missing; found id, text, mood\n  {remedy}" for split in SEEDS
    ]
    write(None, None, mood=mood(test=lines("test.jsonl", *({"id": n, "text": words(n)} for n in range(20)))))
    assert [line.splitlines()[0] for line in check_errors()] == [
        "AB-056 data/own/test.jsonl:1: column 'label' missing; found id, text"
    ]


def test_every_bad_file_of_a_folder_is_reported(own: Path) -> None:
    (own / "parts").mkdir()
    names = [lines(f"parts/{number:02d}.csv", "content", f"x{number}") for number in range(15)]
    write({"domain": "data/own/parts"})
    assert [line.partition(":1: ")[0] for line in check_errors()] == [f"AB-056 {name}" for name in names]


def test_a_recipe_is_checked_without_torch(own: Path) -> None:
    code = """
import sys
from adaptbert.cli import app
try:
    app(["check"])
except SystemExit as ended:
    print(ended.code, *({"torch", "transformers", "mlflow", "datasets"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *_, summary, status = done.stdout.splitlines()
    assert (summary.startswith("params.yaml: "), status) == (True, "0"), done.stdout


@pytest.mark.parametrize(("labels", "is_reported"), [(0, False), (20, False), (21, True)])
def test_more_labels_than_there_are_rows_and_class_weights_of_others(own: Path, labels: int, is_reported: bool) -> None:
    write(None, {"labels": labels, "class_weights": {"a": 1.0, "c": 2.0}}, mood=mood())
    done = run("check")
    few = f"{labels:,}, but train of mood has 20 rows that are kept: all of them are used"
    assert (f"notice: params.yaml: overrides.mood.finetune.labels: {few}" in done.stdout) == is_reported, done.output
    place = "AB-111 params.yaml: overrides.mood.finetune.class_weights: class_weights"
    assert f"{place} of 'a', 'c', but the labels are 'a', 'b'\n  give `balanced`, or each" in done.stderr


def test_what_has_no_end_is_not_opened(own: Path) -> None:
    for name in ("pipe.txt", "pipe.jsonl"):
        os.mkfifo(own / name)
    write({"general": "data/own/pipe.txt"}, None, mood=mood(train="data/own/pipe.jsonl"))
    assert [line.splitlines()[0] for line in check_errors()] == [
        f"AB-050 data/own/{name}: not a readable regular file" for name in ("pipe.txt", "pipe.jsonl")
    ]


# --- large files

LONG = {"text": "x" * 1_200_000, "label": "a"}
MANY = [{"text": words(n), "label": "ab"[n % 2]} for n in range(30_000)]


EMPTY = {"text": "", "label": "a"}


@pytest.mark.parametrize(
    ("first", "error"),
    [
        ([], None),
        (["not json"] * 250, None),
        ([EMPTY] * 3, None),
        ([LONG], None),
        (["not json"] * 400, "409 of 30409 rows cannot be read or are not valid (not a JSON object: 409)"),
        ([EMPTY] * 400, "409 of 30409 rows cannot be read or are not valid (text is empty: 400, not a JSON object: 9)"),
    ],
)
def test_what_is_above_the_limit_in_a_large_file_is_an_error(own: Path, first: list[Any], error: str | None) -> None:
    """Where it is so in the first rows, many more are read, which may make up for them; with too few texts or other
    labels nothing is said."""
    train = lines("train.jsonl", *first, *MANY, *["not json"] * 9)
    write(None, None, mood=mood(train=train, dev=lines("dev.jsonl", {"text": "late", "label": "c"}, *MANY[:9])))
    found = check_errors()
    assert [line.partition(" at train.jsonl:")[0].partition(": ")[2] for line in found] == ([error] if error else [])
    if error:
        remedy = "of the first 100,000 rows of a file\n  mend them, or raise validate.max_bad_fraction (0.01)"
        assert found[0].endswith(remedy)


def test_what_is_wrong_with_a_large_file_as_a_whole_is_an_error(own: Path) -> None:
    posts = lines("posts.csv", "content", *(words(n) for n in range(30_000)))
    write({"general": posts}, mood=mood(train=posts))
    assert [line.partition("; found")[0] for line in check_errors()] == [
        f"AB-056 {posts}:1: column 'text' missing",
        *(f"AB-056 {posts}:1: column '{name}' missing" for name in ("text", "label")),
    ]


def test_a_long_first_row_of_a_set_that_is_cut(own: Path) -> None:
    """One row cannot be cut, ten thousand can."""
    path = lines("set.jsonl", LONG, *MANY)
    write(None, None, mood=mood(train=path, dev=path, split={"dev": 0.3}))
    done = run("check")
    assert (done.exit_code, done.stderr) == (0, ""), done.output


def test_what_was_not_opened_is_reported_beside_errors(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "SECONDS", -1.0)
    rest, finish = "corpora.domain, tasks.section, tasks.mention, tasks.mood", "; `dvc repro validate` reads all rows"
    for first, skipped, status in (("data/own/nowhere.txt", rest, 65), (good("a", 9), f"corpora.general, {rest}", 0)):
        write({"general": first}, mood=mood())
        done = run("check")
        assert f"incomplete: after -1 seconds these were not opened: {skipped}{finish}" in done.stdout
        assert (done.exit_code, "AB-050 params.yaml: corpora.general.path: " in done.stderr) == (status, status == 65)
    assert done.stdout.endswith("all valid; the check of the files that it names is incomplete, see above\n")


@pytest.mark.skipif(sys.platform != "linux", reason="the system counts there what a process reads")
def test_many_large_files_are_read_once_at_most(own: Path) -> None:
    """A quarter of a gigabyte costs a second, and memory that does not grow with it."""
    assert check_errors() == []  # of another recipe: modules are loaded by it
    huge = own / "huge.txt"
    huge.write_text("\n".join(map(words, range(30_000))) + "\n", encoding="utf-8")
    with huge.open("ab") as file:
        file.truncate(1 << 28)
    parts = own / "parts"
    parts.mkdir()
    for number in range(200):
        (parts / f"{number:03d}.txt.gz").write_bytes(gzip.compress(f"{words(number)}\n".encode() * 300))
    write({"general": str(huge), "domain": str(parts)}, mood=mood(train=good("large.jsonl", 9_000, 5_000)))
    before = psutil.Process().io_counters().read_chars
    assert check_errors() == []
    assert psutil.Process().io_counters().read_chars - before < 3 << 27


# --- what is alike in rows that fail


def conll(sign: str, tag: str = "O", numbers: range = range(60)) -> str:
    return "".join(f"Ann{n}{sign}B-PER\nleft{sign}{tag}\n\n" for n in numbers)


ODD = {
    "a tab behind the tags": (conll("\t").replace("\n", "\t\n").replace("\n\t\n", "\n\n"), None),
    "U+3000 and blanks are tokens": (conll(" ").replace("left O", "left O\n  O\n\u3000 O"), None),
    "two separators": (
        conll("\t", numbers=range(20)) + conll(" ", numbers=range(20, 60)),
        "AB-044 data/own/train.conll: 40 of 60 rows cannot be read or are not valid (columns parted by blanks, and "
        "those of the first line by tabs: 40) at train.conll:61, train.conll:64, train.conll:67, train.conll:70, "
        "train.conll:73 and 35 more\n  part the columns of every line by tabs",
    ),
    "a letter of Cyrillic": (
        conll(" ", "\u041e"),
        "AB-089 data/own/train.conll: the file writes 'O' as '\u041e' (CYRILLIC CAPITAL LETTER O), first in "
        "train.conll:1\n  write map_labels: {'\u041e': 'O'} below tasks.people",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_alike_is_read_or_named(own: Path, name: str) -> None:
    """No limit is offered where most rows fail."""
    content, error = ODD[name]
    paths = {"train": lines("train.conll", content)}
    paths |= {s: lines(f"{s}.conll", conll(" ", numbers=range(b, b + 9))) for s, b in (("dev", 100), ("test", 200))}
    write(None, None, people=mood(**paths, type="token-classification", tag_scheme="bio"))
    assert check_errors() == ([error] if error else [])


def test_a_tsv_of_a_program_that_quotes(own: Path) -> None:
    for quoted in (True, False):
        rows = [[f'He said "{words(n)}"\nand left', "ab"[n % 2]] for n in range(60)]
        stream = io.StringIO()
        csv.writer(stream, delimiter="\t").writerows([["text", "label"], *rows])
        text = stream.getvalue() if quoted else stream.getvalue().replace('""', "'").replace('"', "")
        write(None, None, mood=mood(train=lines("train.tsv", text)))
        remedy = "give each row all columns; a cell with a line break in it needs quotes, best in CSV"
        assert [line.partition("\n  ")[2] for line in check_errors()] == ([] if quoted else [remedy])


def test_a_split_that_is_cut_says_what_stays_in_train(own: Path) -> None:
    path = lines(
        "set.jsonl", *({"text": words(n), "label": f"c{n // 2}" if n < 40 else "ab"[n % 2]} for n in range(90))
    )
    write(None, None, mood=mood(**dict.fromkeys(SEEDS, path), split={"dev": 0.1, "test": 0.2}))
    done = run("check")
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    assert re.search(
        r"notice: tasks.mood: \d rows that stay in train, which has no other row of their label\n", done.stdout
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_check_that_is_ended_leaves_nothing(own: Path, tmp_path: Path, number: signal.Signals) -> None:
    write(None, None, mood=mood(train=lines("train.jsonl", *["not json"] * 99, *MANY, *MANY)))
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-c", "from adaptbert.cli import app; app(['check'])"]
    process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")}, stderr=subprocess.PIPE)
    wait_until(lambda: any((tmp_path / "tmp").glob("*/200/mood")), 60)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr.decode()) == (75, f"stopped by {number.name}; run the command again\n")
    assert [*(tmp_path / "tmp").iterdir()] == []


def test_rows_that_annotators_refused_are_counted(own: Path) -> None:
    rows = ({"text": words(n), "label": "ab"[n % 2], "answer": ["reject", "accept"][n > 4]} for n in range(20))
    write(mood=mood(train=lines("train.jsonl", *rows)))
    assert "notice: tasks.mood.train: 15 of 20 rows kept, left out 5\n" in run("check").stdout


def test_counts_are_those_of_the_last_look(own: Path) -> None:
    """Where first rows are not enough, the set is looked at twice."""
    rows = [{"text": words(n), "label": "ab"[n % 2], "answer": ["reject", "accept"][n > 4]} for n in range(20)]
    write(mood=mood(train=lines("train.jsonl", *rows, *["not json"] * 99, *MANY, *MANY)))
    notices = [line for line in run("check").stdout.splitlines() if line.startswith("notice: tasks.mood.train: ")]
    assert [line.rpartition("; ")[2] for line in notices] == ["of the first 100,000 rows of a file"]
