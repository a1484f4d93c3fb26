"""adaptbert check opens the files: all that is wrong with all of them at once, and nothing that the stages accept.

Of a large file it reads the first rows, which are notices.
"""

import gzip
import os
import random
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
from adaptbert.project import preflight
from tests.support.checked_files import SEEDS, check_errors, good, lines, mood, words, write
from tests.support.commands import run


def test_six_files_with_six_faults_are_reported_in_one_run(own: Path) -> None:
    (own / "gbk.txt").write_bytes("天气很好，我们出去玩。\n".encode("gbk") * 3)
    people = {
        split: lines(f"{split}.json", *({"tokens": [f"Lee{n + seed}", "left"], "tags": [tag, "O"]} for n in range(4)))
        for (split, seed), tag in zip(SEEDS.items(), ("I-PER", "B-PER", "B-PER"), strict=True)
    }
    qa = lines("qa.jsonl", *[{"context": "Ann left", "question": "Who?", "answers": [{"text": "Bob", "start": 0}]}] * 9)
    odd = lines("odd.jsonl", {"text": "so so", "label": "neutral"}, {"text": "fine", "label": "a"})
    cut = {"split": {"dev": 0.2, "test": 0.2}, "dev": qa, "test": qa}
    grades = {split: lines(f"{split}.tsv", "text\tvalue", "a b\tgood", "c d\tbad") for split in SEEDS}
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


@pytest.mark.parametrize(
    ("first", "notice"),
    [
        ([], None),
        (["not json"] * 2, None),
        (["not json"] * 3, "3 of 200 rows cannot be read or are not valid (not a JSON object: 3)"),
        (["not json"] * 250, "0 of 200 documents left: 200 x not a JSON object"),
        ([{"text": "", "label": "a"}] * 3, "3 of 200 rows cannot be read or are not valid (text is empty: 3)"),
        ([LONG], "0 of 1 rows left (too_long: 1)"),
    ],
)
def test_the_first_rows_of_a_large_file_are_a_notice(own: Path, first: list[Any], notice: str | None) -> None:
    """The rest, which is not read, may make up for them; with too few texts or other labels nothing is said."""
    train = lines("train.jsonl", *first, *MANY, *["not json"] * 9)
    write(None, None, mood=mood(train=train, dev=lines("dev.jsonl", {"text": "late", "label": "c"}, *MANY[:9])))
    done = run("check")
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    assert ("notice: tasks.mood: " in done.stdout) == (notice is not None), done.stdout
    if notice is not None:
        assert f"notice: tasks.mood: {train}: {notice}" in done.stdout
        assert "of the first 200 rows of a file\n" in done.stdout
        assert "all valid; the files that it names are readable, but see the notices above" in done.stdout


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
    """A gigabyte of text costs seconds, and memory that does not grow with it."""
    assert check_errors() == []  # of another recipe: modules are loaded by it
    huge = own / "huge.txt"
    huge.write_text("\n".join(map(words, range(30_000))) + "\n", encoding="utf-8")
    with huge.open("ab") as file:
        file.truncate(1 << 30)
    parts = own / "parts"
    parts.mkdir()
    for number in range(200):
        (parts / f"{number:03d}.txt.gz").write_bytes(gzip.compress(f"{words(number)}\n".encode() * 300))
    write({"general": str(huge), "domain": str(parts)}, mood=mood(train=good("large.jsonl", 9_000, 5_000)))
    before = psutil.Process().io_counters().read_chars
    assert check_errors() == []
    assert psutil.Process().io_counters().read_chars - before < 3 << 29
