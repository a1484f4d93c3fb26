"""adaptbert check opens the files: all that is wrong with all of them at once, and nothing that the stages accept."""

import gzip
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from adaptbert import first_rows, params
from adaptbert.cli import app
from adaptbert.corpora import replacing
from adaptbert.errors import UserError
from adaptbert.gate.labelled import pass_task
from adaptbert.gate.limits import Limits
from adaptbert.layout import SHAPES
from stages.collect_task import CollectTaskParams, read_into
from tests import tiny
from tests.import_closure import ROOT

BLOCKS: dict[str, Any] = {
    "single_sentence": {"long_text": "head"},
    "sentence_pair": {"long_text": "head"},
    "sequence_labelling": {"stride": 32, "tag_scheme": "bio"},
    "extractive_answer": {"max_question": 16, "stride": 16, "max_answer": 16},
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("stages", "presets"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("own", "tokenizer"):
        (tmp_path / "data" / name).mkdir(parents=True)
    (tmp_path / "data/sources").symlink_to(ROOT / "data/sources")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(name: str, *rows: Any) -> str:
    """Writes JSON lines below data/own, or text as it is, and gives their path."""
    path = Path("data/own") / name
    written = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(written) + "\n", encoding="utf-8")
    return str(path)


def words(seed: int, count: int = 8) -> str:
    draw = random.Random(seed)
    return " ".join("".join(draw.choices("abcdefghijklmnop", k=5)) for _ in range(count))


def good(name: str, count: int, seed: int = 0) -> str:
    """A split of a set of two classes."""
    return lines(name, *({"text": words(seed + n), "label": "ab"[n % 2]} for n in range(count)))


def mood(**changes: Any) -> dict[str, Any]:
    """A labelled set of files that are all right but for what a test changes."""
    values = {"source": "files", "shape": "single_sentence", "target": "class"}
    splits = {split: changes.pop(split, None) or good(f"{split}.jsonl", 20, seed) for split, seed in SEEDS.items()}
    return {**values, **splits, **changes}


SEEDS = {"train": 0, "dev": 1000, "test": 2000}


def write(collect: Mapping[str, Any] | None = None, options: Mapping[str, Any] | None = None, **tasks: Any) -> None:
    """A params.yaml with these sets beside those of the smoke recipe, and cells without rungs of their own."""
    document = params.read(ROOT / "presets/smoke.yaml")
    for name, values in (collect or {}).items():
        document["collect"][name] = {"source": "files", "path": values}
    base = {k: v for k, v in document["finetune"]["section"].items() if k not in SHAPES}
    for name, values in tasks.items():
        document["collect_task"][name] = values
        document["ladder"]["finetune"][f"{name}-x"] = {"task": name, "arm": "x", "from": "pretrain"}
        shape = values["shape"]
        document["finetune"][name] = {**base, shape: BLOCKS[shape], **(options or {})}
    Path("params.yaml").write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


def told() -> list[str]:
    done = CliRunner().invoke(app, ["check"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code in ((65, 78) if done.stderr else (0,)), done.output
    return done.stderr.removeprefix("error: ").splitlines()


def test_six_files_with_six_faults_are_told_in_one_run(project: Path) -> None:
    (project / "data/own/gbk.txt").write_bytes("天气很好，我们出去玩。\n".encode("gbk") * 3)
    ner = [{"tokens": ["Ann", "Lee", "left"], "tags": ["I-PER", "I-PER", "O"]} for _ in range(4)]
    qa = lines("qa.jsonl", *[{"context": "Ann left", "question": "Who?", "answers": [{"text": "Bob", "start": 0}]}] * 9)
    odd = lines("odd.jsonl", {"text": "so so", "label": "neutral"}, {"text": "fine", "label": "a"})
    cut = {"split": {"dev": 0.2, "test": 0.2}, "dev": qa, "test": qa}
    grades = {split: lines(f"{split}.tsv", "text\tvalue", "a b\tgood", "c d\tbad") for split in SEEDS}
    write(
        {"general": lines("posts.csv", "content,id", "hello,1"), "domain": "data/own/gbk.txt"},
        mood=mood(dev=odd),
        grade=mood(**grades, target="number"),
        people=mood(train=lines("ner.jsonl", *ner), shape="sequence_labelling", target="spans", tag_scheme="bio"),
        answers=mood(train=qa, shape="extractive_answer", target="answer", no_answer=False, **cut),
    )
    found = told()
    for start in (
        "AB-056 data/own/posts.csv:1: column 'text' missing; found content, id; rename it or map it in collect.g",
        "AB-018 data/own/gbk.txt: 0 of 3 documents left: 3 x byte 0xCC is not UTF-8: Chinese in GBK?; declare encoding",
        "AB-060 params.yaml: collect_task.mood: labels of dev that train never shows: 1 x 'neutral', first in odd.",
        "AB-018 data/own/train.tsv: 0 of 2 documents left: 2 x value is not a number; mend them",
        "AB-018 data/own/dev.tsv: 0 of 2 documents left",
        "AB-090 data/own/ner.jsonl: 4 of 4 rows are not bio; they look like io; write tag_scheme: io",
        "AB-056 data/own/test.jsonl:1: column 'tokens' missing; found text, label; rename it or map it in c",
        "AB-019 params.yaml: collect_task: 9 rows cannot be split: none falls to dev",
        "AB-081 data/own/qa.jsonl: 9 of 9 rows cannot be read or are not valid (an answer is not at its offset: 9)",
    ):
        assert sum(line.startswith(start) for line in found) == 1, (start, found)
    assert not any("/tmp" in line for line in found), "the folder that is thrown away"
    assert sorted(path.name for path in Path("data").iterdir()) == ["own", "sources", "tokenizer"]


def test_values_rules_and_files_are_told_in_one_run(project: Path) -> None:
    """A wrong section hides neither rules between others nor files of others, and nothing follows from it."""
    qa = lines("qa.jsonl", {"context": "Ann left", "question": "Who?", "answers": []})
    write(
        {"general": lines("posts.csv", "content", "hello"), "domain": "data/own/nowhere.txt"},
        mood=mood(dev=lines("dev.csv", "texts,label", "a,b")),
        broken=mood(train=qa, form="csv"),
    )
    document = params.read(Path("params.yaml"))
    document["optim"] = {}
    document["collect"]["third"] = {"source": "file", "path": "data/own/nothing.txt"}
    document["tokenize"]["max_length"] = 100_000_000
    document["ladder"]["finetune"]["mood-y"] = {"task": "mood", "arm": "y", "from": "pretrain"}
    Path("params.yaml").write_text(json.dumps(document), encoding="utf-8")
    done = CliRunner().invoke(app, ["check"])
    found = done.stderr.removeprefix("error: ").splitlines()
    assert (done.exit_code, len(found)) == (78, 8), found
    for start in (
        "AB-100 params.yaml: collect.third.source: ",
        "AB-099 params.yaml: collect_task.broken.form: unknown key 'form'",
        "AB-099 params.yaml: optim: unknown section",
        "AB-109 params.yaml: tokenize.max_length: ",
        "AB-186 params.yaml: ladder.finetune.mood-y: ",
        "AB-050 params.yaml: collect.domain.path: data/own/nowhere.txt: no such file",
        "AB-056 data/own/posts.csv:1: column 'text' missing",
        "AB-056 data/own/dev.csv:1: column 'text' missing",
    ):
        assert sum(line.startswith(start) for line in found) == 1, (start, found)


@pytest.mark.parametrize(
    "section", ["validate", "tokenize", "tokenizer", "pretrain", "collect", "collect_task", "ladder"]
)
@pytest.mark.parametrize("wrong", [None, [], {"unheard": 1}, "absent"])
def test_a_section_that_is_wrong_as_a_whole(project: Path, section: str, wrong: object) -> None:
    """It is told, with the files of the other sections, and no error follows from it."""
    write({"general": lines("posts.csv", "content", "hello")}, mood=mood(test=lines("test.csv", "texts,label", "a,b")))
    document = params.read(Path("params.yaml"))
    document[section] = wrong
    if wrong == "absent":
        del document[section]
    Path("params.yaml").write_text(json.dumps(document), encoding="utf-8")
    found = told()
    of_section = [line for line in found if f"params.yaml: {section}" in line]
    of_files = [line for line in found if line.startswith("AB-056 data/own/")]
    expected = {"validate": 0, "collect": 1, "collect_task": 1}.get(section, 2)
    assert (len(of_section) > 0, len(of_files)) == (True, expected), found
    assert sorted(found) == sorted([*of_section, *of_files])


def test_what_is_right_passes(project: Path) -> None:
    corpus = lines("posts.txt", *map(words, range(300)))
    write({"general": corpus, "domain": corpus}, {"class_weights": {"a": 1.0, "b": 2.0}}, mood=mood())
    assert told() == []


def test_class_weights_of_other_labels(project: Path) -> None:
    write(None, {"class_weights": {"a": 1.0, "c": 2.0}}, mood=mood())
    assert told() == [
        "AB-111 params.yaml: finetune.mood.class_weights: class_weights of 'a', 'c', but the labels are 'a', 'b'; "
        "give `balanced`, or each label its weight"
    ]


ROWS = [
    {"text": "fine words here", "label": "a"}, {"text": "other words there", "label": "b"},
    {"text": "", "label": "a"}, {"text": "no label"}, {"text": None, "label": "a"}, {"text": "x", "label": ["a"]},
    {"text": "odd", "label": "c"}, {"text": "odd", "label": " A"}, {"text": 3, "label": "a"}, "{", "",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(24))
def test_check_and_the_stages_agree_on_small_files(project: Path, seed: int) -> None:
    """What check lets pass, collect and the gate let pass, and the reverse."""
    draw = random.Random(seed)
    paths = {}
    for split in SEEDS:
        rows = [ROWS[draw.choice((0, 1))] for _ in range(draw.randint(2, 9))]
        rows = [{**row, "text": f"{row['text']} {words(n + SEEDS[split])}"} for n, row in enumerate(rows)]
        faulty = [draw.choice(ROWS) for _ in range(draw.choice((0, 0, 1)))]
        paths[split] = lines(f"{split}.jsonl", *rows, *faulty)
    values = mood(**paths)
    write(None, {"labels": 0}, mood=values)
    document = params.read(Path("params.yaml"))
    config = params.parse(CollectTaskParams, values, "collect_task.mood", Path("params.yaml"))
    limits = params.parse(Limits, document["validate"], "validate", Path("params.yaml"))
    (project / "raw").mkdir()
    expected: list[UserError] = []
    try:
        read_into(project / "raw", config, {split: Path(path) for split, path in paths.items()})
        expected = pass_task(project / "raw", project / "kept", project / "rejected.parquet", limits).errors
    except UserError as error:
        expected = [error]
    found = first_rows.check(document, Path("params.yaml"))
    assert ([error.code for error in expected] != [], found.unopened) == (found.errors != [], [])
    assert {error.code for error in expected} <= {error.code for error in found.errors}
    assert found.notices == [], "of a set that is read whole nothing is left open"


def test_of_a_large_file_the_first_rows_are_read(project: Path) -> None:
    """And nothing is said that the others could mend: here the label of dev comes late in train."""
    late = [{"text": words(n), "label": "ab"[n > 8000]} for n in range(10_000)]
    dev = lines("dev.jsonl", *({"text": words(n + 20_000), "label": "b"} for n in range(20)))
    write(None, None, mood=mood(train=lines("train.jsonl", *late), dev=dev, test=good("test.jsonl", 20, 30_000)))
    assert told() == []
    write(None, None, mood=mood(train=lines("train.jsonl", *("not json" for _ in range(300)), *late), dev=dev))
    assert told() == ["AB-018 data/own/train.jsonl: 0 of 200 documents left: 200 x not a JSON object; mend them"]


def with_limits(bad: int, limit: float, own: float | None) -> str:
    """A corpus of 10,000 rows of whose first 200 some, from the third on, are no JSON; what check prints of it."""
    rows = [{"text": words(n)} for n in range(10_000)]
    path = lines("posts.jsonl", *rows[:2], *["not json"] * bad, *rows[2:])
    write({"general": path})
    document = params.read(Path("params.yaml"))
    document["validate"]["max_bad_fraction"] = limit
    if own is not None:
        document["collect"]["general"]["max_bad_fraction"] = own
    Path("params.yaml").write_text(json.dumps(document), encoding="utf-8")
    done = CliRunner().invoke(app, ["check"])
    lines_of = (done.stdout + done.stderr).splitlines(keepends=True)
    return "".join(line for line in lines_of if not line.startswith("notice: params.yaml: "))


GENERAL = "general.max_bad_fraction"


@pytest.mark.parametrize(
    ("bad", "limit", "own", "stops"),
    [
        (2, 0.01, None, None),
        (3, 0.01, None, "validate.max_bad_fraction is 0.01"),
        (36, 0.01, None, "validate.max_bad_fraction is 0.01"),
        (100, 0.3, 0.05, f"collect.{GENERAL} is 0.05 and validate.max_bad_fraction is 0.3"),
        (36, 0.3, 0.05, f"collect.{GENERAL} is 0.05"),
        (36, 0.3, 0.2, None),
        (36, 0.0, 1.0, "validate.max_bad_fraction is 0"),
    ],
)
def test_bad_first_rows_of_a_large_file_are_told(
    project: Path, bad: int, limit: float, own: float | None, stops: str | None
) -> None:
    """More than the limit is a notice with the limit that params.yaml has: the rest of the file may make up."""
    found = with_limits(bad, limit, own)
    assert ("notice:" in found, "error" in found) == (stops is not None, False), found
    if stops is not None:
        assert (
            f"notice: collect.general: data/own/posts.jsonl: {bad} of the first 200 rows cannot be read or are not "
            f"valid (not a JSON object: {bad}), the first at posts.jsonl:3: not a JSON object; if as many of all rows "
            f"are, the set is refused before training: {stops}\n"
        ) in found
        assert "all right; the files that it names can be read, but see above" in found


@pytest.mark.parametrize(
    ("bad", "limit", "own", "keys"),
    [
        (150, 0.01, None, "validate.max_bad_fraction (0.01)"),
        (150, 0.01, 0.1, f"collect.{GENERAL} (0.1) and validate.max_bad_fraction (0.01)"),
        (150, 0.8, 0.6, f"collect.{GENERAL} (0.6)"),
    ],
)
def test_a_large_file_most_of_whose_first_rows_are_bad_is_refused(
    project: Path, bad: int, limit: float, own: float | None, keys: str
) -> None:
    found = with_limits(bad, limit, own)
    assert found == (
        f"error: AB-044 data/own/posts.jsonl: {bad} of the first 200 rows cannot be read or are not valid (not a JSON "
        f"object: {bad}), the first at posts.jsonl:3: not a JSON object; mend them, or raise {keys}\n"
    )


def test_a_label_of_another_name_is_a_missing_column_in_every_split(project: Path) -> None:
    """A split without labels is one that has nothing else that they could be."""
    rows = [{"id": n, "text": words(n), "mood": "ab"[n % 2]} for n in range(20)]
    write(None, None, mood=mood(**{split: lines(f"{split}.jsonl", *rows[n:]) for n, split in enumerate(SEEDS)}))
    remedy = "rename it or map it in collect_task.mood.columns"
    assert told() == [
        f"AB-056 data/own/{split}.jsonl:1: column 'label' missing; found id, text, mood; {remedy}" for split in SEEDS
    ]
    write(None, None, mood=mood(test=lines("test.jsonl", *({"id": n, "text": words(n)} for n in range(20)))))
    assert [line.split(";")[0] for line in told()] == ["AB-098 data/own/test.jsonl:1: test has no labels"]


def test_bad_first_rows_of_a_large_labelled_set(project: Path) -> None:
    """Rows that the gate refuses count beside those that cannot be read; a split cut off train shares its file."""
    rows = [{"text": words(n), "label": "ab"[n % 2]} for n in range(10_000)]
    train = lines("train.jsonl", *rows[:20], "{", *rows[20:])
    write(None, None, mood=mood(train=train, dev=train, split={"dev": 0.3}))
    done = CliRunner().invoke(app, ["check"])
    assert (
        "notice: collect_task.mood: data/own/train.jsonl: 1 of the first 200 rows cannot be read or are not valid"
    ) not in done.stdout, "half a percent"
    rows[30]["text"] = ""
    del rows[40]["label"]
    train = lines("train.jsonl", *rows[:20], "{", *rows[20:])
    done = CliRunner().invoke(app, ["check"])
    assert done.exit_code == 0, done.output
    assert "data/own/train.jsonl: 3 of the first 200 rows cannot be read or are not valid (" in done.stdout
    assert "the first at train.jsonl:21: not a JSON object; if as many" in done.stdout
    Path("data/own/dev.jsonl").write_text("{}\n", encoding="utf-8")
    write(None, None, mood=mood(train=train, dev="data/own/dev.jsonl"))
    done = CliRunner().invoke(app, ["check"])
    assert "data/own/train.jsonl: 3 of the first 200 rows" in done.stdout, "beside errors of another split"
    assert "AB-056 data/own/dev.jsonl:1: column 'text' missing" in done.stderr


def test_patterns_that_never_end_have_one_time_for_all_files(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with one are told as long as there is time, then what the patterns did not come to."""
    monkeypatch.setattr(replacing, "SECONDS", 0.4)
    monkeypatch.setattr(first_rows, "PATTERN_SECONDS", 1.0)
    endless = {"source": "files", "replace": [["(a|a)*$", ""]]}
    texts = lines("posts.txt", "short", *["a" * 40 + "!"] * 20)
    (project / "data/own/parts").mkdir()
    for number in range(40):
        lines(f"parts/{number}.txt", f"{number}{'a' * 40}!")
    row = f"{'a' * 40}!\ta"
    tasks = {
        f"task{number}": mood(**{split: lines(f"{split}{number}.tsv", "text\tlabel", row) for split in SEEDS})
        for number in range(3)
    }
    write({"general": texts, "domain": "data/own/parts"}, **{name: {**v, **endless} for name, v in tasks.items()})
    document = params.read(Path("params.yaml"))
    for corpus in ("general", "domain"):
        document["collect"][corpus] |= endless
    Path("params.yaml").write_text(json.dumps(document), encoding="utf-8")
    begin = time.process_time()
    found = first_rows.check(document, Path("params.yaml"))
    assert time.process_time() - begin < 4, "each of 50 files holds a text that takes 0.4 s"
    codes = [(error.code, error.place) for error in found.errors]
    assert codes == [(191, "data/own/posts.txt:2"), (191, "data/own/parts/0.txt:1")]
    assert found.notices == [
        f"collect_task.task{number}: the patterns of `replace` took 1 seconds; what comes of them was not looked at"
        for number in range(3)
    ]


def test_what_was_not_opened_is_told_beside_errors(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_rows, "SECONDS", -1.0)
    write({"general": "data/own/nowhere.txt"}, mood=mood())
    done = CliRunner().invoke(app, ["check"])
    assert "AB-050 params.yaml: collect.general.path: " in done.stderr
    assert "not opened, for it would take long: collect_task.mood\n" in done.stdout


def test_many_large_files_cost_seconds(project: Path) -> None:
    """And memory that does not grow with them: a gigabyte of text, of which no more than the beginning is read."""
    huge = project / "data/own/huge.txt"
    huge.write_text("\n".join(map(words, range(30_000))) + "\n", encoding="utf-8")
    with huge.open("ab") as file:
        file.truncate(1 << 30)
    parts = project / "data/own/parts"
    parts.mkdir()
    for number in range(200):
        (parts / f"{number:03d}.txt.gz").write_bytes(gzip.compress(f"{words(number)}\n".encode() * 300))
    write({"general": str(huge), "domain": str(parts)})
    begin = time.process_time()
    assert told() == []
    assert time.process_time() - begin < 5


def test_every_bad_file_of_a_folder_is_told_up_to_ten(project: Path) -> None:
    parts = project / "data/own/parts"
    parts.mkdir()
    for number in range(15):
        (parts / f"{number:02d}.csv").write_text(f"content\nx{number}\n", encoding="utf-8")
    write({"domain": str(parts)})
    found = told()
    codes = ["AB-056", *["AB-040"] * 9]
    assert [line.split(":")[0] for line in found[:10]] == [f"{c} {parts}/{n:02d}.csv" for n, c in enumerate(codes)]
    assert found[10:] == ["AB-040 collect.domain: and 5 more errors; mend these first, then check again"]


def test_a_name_in_a_folder_that_is_not_utf8(project: Path) -> None:
    """It would become the id of rows, which Parquet and JSON cannot hold."""
    parts = project / "data/own/parts"
    parts.mkdir()
    (parts / os.fsdecode(b"caf\xe9.txt")).write_text("a text\nanother\n", encoding="utf-8")
    write({"domain": "data/own/parts"})
    assert told() == [r"AB-192 data/own/parts/caf\xe9.txt: the name is not UTF-8; rename it"]


def test_parquet_with_a_binary_column(project: Path) -> None:
    pq.write_table(pa.table({"text": [b"a", b"b"]}), project / "data/own/x.parquet")
    write({"domain": "data/own/x.parquet"})
    assert told() == ["AB-042 data/own/x.parquet: column 'text' is binary, expected string; decode it first"]


def test_a_list_of_packages_and_a_dictionary(project: Path) -> None:
    (project / "data/own/packages.txt").write_text("numpyy\n", encoding="utf-8")
    (project / "data/own/words.txt").write_text("word x\n", encoding="utf-8")
    document = params.read(ROOT / "presets/smoke.yaml")
    document["collect"]["domain"]["path"] = "data/own/packages.txt"
    document["tokenize"]["words"] = {"segmenter": "rjieba", "dictionary": "data/own/words.txt"}
    Path("params.yaml").write_text(json.dumps(document), encoding="utf-8")
    assert [line[:60] for line in told()] == [
        "AB-154 data/own/packages.txt: package 'numpyy' is not instal",
        "AB-165 data/own/words.txt:1: 2 parts, of which the second is",
    ]


@pytest.mark.parametrize("source", ["init", "train"])
def test_a_vocabulary_that_does_not_know_the_text(project: Path, source: str) -> None:
    """One that is taken as it is; or that of an earlier run, while it fits the corpora that it is trained on anew."""
    folder = Path("models/init" if source == "init" else "data/tokenizer")
    folder.mkdir(parents=True, exist_ok=True)
    tiny.tokenizer().save(folder)
    known, other = (
        lines(f"{name}.txt", *texts)
        for name, texts in (
            ("known", tiny.sentences("domain", 80)),
            ("other", (f"天气很好，我们出去玩，第{number}天" for number in range(80))),
        )
    )
    posts = {
        split: lines(f"{split}.tsv", "text\tlabel", *(f"天空{seed + n}\t{'ab'[n % 2]}" for n in range(20)))
        for split, seed in SEEDS.items()
    }
    write({"general": known, "domain": known if source == "train" else other}, mood=mood(**posts))
    document = params.read(Path("params.yaml"))
    if source == "init":
        (folder / "config.json").touch()  # which nobody reads here
        document["pretrain"] |= {"init": "models/init"}
        del document["pretrain"]["encoder"]
        document["tokenizer"] = {"source": "init"}
        Path("params.yaml").write_text(json.dumps(document), encoding="utf-8")
    told_of = [line.split(":")[0] for line in told()]
    splits = [f"AB-025 {posts[split]}" for split in SEEDS]
    assert sorted(told_of) == sorted(([f"AB-025 {other}"] if source == "init" else []) + splits)
    if source == "train":
        write({"general": other, "domain": other}, mood=mood(**posts))
        assert told() == [], "it will be trained anew, on other text than the last time"


def test_the_default_recipe_is_checked_in_a_second_without_torch() -> None:
    code = """
import sys, time
from adaptbert.cli import app
try:
    app(["check"])
except SystemExit as ended:
    print(ended.code, time.process_time(), *({"torch", "transformers", "mlflow", "datasets"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    told, figures = done.stdout.splitlines()
    assert told.startswith("params.yaml: "), done.stdout
    status, seconds, *heavy = figures.split()
    assert (status, heavy, float(seconds) < 3) == ("0", [], True), figures


LONG = {"text": "x" * 1_200_000}


def test_a_long_first_row_refuses_no_corpus(project: Path) -> None:
    """It ends the look, and the recipe drops it: one row says nothing of the thousands behind it."""
    write({"general": lines("long.jsonl", LONG, *({"text": words(n)} for n in range(5_000)))})
    done = CliRunner().invoke(app, ["check"])
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    assert (
        "notice: collect.general: data/own/long.jsonl: 0 of 1 documents left (too_long: 1); "
        "if all rows are like this one, the set is refused\n"
    ) in done.stdout


def test_a_long_first_row_refuses_no_labelled_set(project: Path) -> None:
    rows = [{"text": words(n), "label": "ab"[n % 2]} for n in range(5_000)]
    train = lines("train.jsonl", {**LONG, "label": "a"}, *rows)
    write(None, None, mood=mood(train=train))
    done = CliRunner().invoke(app, ["check"])
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    assert (
        "notice: collect_task.mood: data/own/train.jsonl: 0 of 1 rows left (too_long: 1); "
        "if all rows are like this one, the set is refused\n"
    ) in done.stdout
    write(None, None, mood=mood(train=train, dev=train, split={"dev": 0.3}))
    done = CliRunner().invoke(app, ["check"])
    assert (done.exit_code, done.stderr) == (0, ""), "one row cannot be cut, five thousand can"


@pytest.mark.parametrize("wrong", [{"label": None}, {"label": " "}])
def test_a_long_first_row_that_is_bad_refuses_no_labelled_set(project: Path, wrong: dict[str, Any]) -> None:
    rows = [{"text": words(n), "label": "ab"[n % 2]} for n in range(5_000)]
    write(None, None, mood=mood(train=lines("train.jsonl", {**LONG, **wrong}, *rows)))
    done = CliRunner().invoke(app, ["check"])
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    assert "notice: collect_task.mood: data/own/train.jsonl: " in done.stdout


def test_first_rows_that_are_all_too_short_refuse_no_corpus(project: Path) -> None:
    """However many they are: what is dropped for its length was read as it is meant."""
    rows = [*({"text": f"{n}"} for n in range(300)), *({"text": words(n)} for n in range(10_000))]
    write({"general": lines("posts.jsonl", *rows)})
    document = params.read(Path("params.yaml"))
    document["validate"]["min_characters"] = 10
    Path("params.yaml").write_text(json.dumps(document), encoding="utf-8")
    done = CliRunner().invoke(app, ["check"])
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    assert "0 of 200 documents left (too_short: 200); if all rows are like these 200, the set" in done.stdout


def test_a_few_rows_of_a_file_that_has_no_others_refuse_it(project: Path) -> None:
    write({"general": lines("long.jsonl", LONG)})
    assert told() == ["AB-018 data/own/long.jsonl: 0 of 1 documents left (too_long: 1); give more text"]


@pytest.mark.parametrize(("labels", "is_told"), [(0, False), (20, False), (21, True), (6_000, True)])
def test_more_labels_than_there_are_rows(project: Path, labels: int, is_told: bool) -> None:
    write(None, {"labels": labels}, mood=mood())
    done = CliRunner().invoke(app, ["check"])
    notice = f"params.yaml: finetune.mood.labels: {labels:,}, but train has 20 rows that are kept: all of them are used"
    assert (done.exit_code, notice in done.stdout) == (0, is_told), done.output


def test_links_in_a_circle_inside_a_folder(project: Path) -> None:
    """To themselves, and to one another; what leads to them by name alone is not there."""
    parts = project / "data/own/parts"
    parts.mkdir()
    lines("parts/a.txt", *map(words, range(30)))
    for name, target in (("b.txt", "b.txt"), ("c.txt", "d.txt"), ("d.txt", "c.txt")):
        (parts / name).symlink_to(target)
    (parts / "self").symlink_to(".")
    write({"domain": "data/own/parts", "general": "data/own/parts/c.txt"})
    problem = "cannot be read: Too many levels of symbolic links; check the path and its permissions"
    assert told() == [
        "AB-050 params.yaml: collect.general.path: data/own/parts/c.txt: no such file; put it there, "
        "or write where it is",
        *(f"AB-049 data/own/parts/{name}.txt: {problem}" for name in "bcd"),
    ]
