"""The proof of sameness notices a change of one bit, row, number or message, and its table says no more than is so."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from adaptbert.codes import Code
from adaptbert.errors import BadData
from benchmarks import machine
from benchmarks.same_results import __main__, comparing, messages, outputs, record, tiny_sets
from tests.support.imports import ROOT

WEIGHTS, TOKENS = "models/pretrain/small/model.safetensors", "data/tokenized/small/corpora/general/ids.bin"
KEPT, REJECTED = "data/validated/corpora/general.parquet", "data/rejected/corpora/general.parquet"
PREDICTED, TABLE, STEP = "predictions/mood.parquet", "metrics/comparison.json", "metrics/pretrain/small.json"
VOCABULARY = "data/tokenizer/small/tokenizer.json"


BIAS, ONES = np.arange(3, dtype=np.float32), np.ones((2, 2), np.float32)
PROJECT: dict[str, Any] = {
    WEIGHTS: {"bias": BIAS, "weight": ONES},
    TOKENS: b"\x01\x00\x02\x00",
    VOCABULARY: {"model": {"vocab": {"[PAD]": 0, "a": 1}}},
    KEPT: {"id": ["1", "2"], "text": ["a text", "another"]},
    REJECTED: {"id": ["3"], "code": [74], "reason": ["text is empty"]},
    PREDICTED: {"seed": [1, 1], "predicted": ["warm", "cold"], "confidence": [0.5, float("nan")]},
    TABLE: {"mood": {"small": {"domain": {"f1_macro": 0.5, "runs": [[1, 0.25]]}}}, "worth": 0.01},
    STEP: {"tokens": 100, "curve": [{"loss": 1.5}], "nothing": []},
}
"""The smallest folder with every kind of output."""


def project(root: Path, **changes: Any) -> Path:
    """As a folder.

    Args:
        changes: file -> what it holds instead; None: it is missing.
    """
    for name, content in (PROJECT | changes).items():
        if content is None:
            continue
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match path.suffix:
            case ".safetensors":
                save_file(content, path)
            case ".parquet":
                pq.write_table(pa.table(content), path)
            case ".json":
                path.write_text(json.dumps(content), encoding="utf-8")
            case _:
                path.write_bytes(content)
    return root


def kinds(root: Path) -> comparing.Kinds:
    refused = messages.parsed(65, f"error: {BadData(Code.TEXT_MISSING, 'a.csv:1', 'too short', 'write more')}\n")
    return {**outputs.read(root), "messages": {f"short:{key}": value for key, value in refused.items()}}


SAID: comparing.Kinds = {"messages": {"short:exit": 65}}


def compared(old: comparing.Kinds, new: comparing.Kinds, *entries: comparing.Entry) -> comparing.Comparison:
    return comparing.compared(old, new, list(entries))


def test_equal_folders_are_the_same(tmp_path: Path) -> None:
    """Whatever the bytes of a table."""
    old, new = project(tmp_path / "old"), project(tmp_path / "new")
    pq.write_table(pq.read_table(new / KEPT), new / KEPT, compression="none", row_group_size=1)
    comparison = compared(kinds(old), kinds(new))
    assert comparison.is_same
    assert set(comparison.counts) == {*outputs.KINDS, "messages"}
    assert all(counts["equal"] == counts["compared"] > 0 for counts in comparison.counts.values())
    assert not compared({}, {}).is_same, "nothing was compared"
    assert not compared({**kinds(old), "messages": {}}, {**kinds(new), "messages": {}}).is_same, "no message was"


ONE_BIT = (BIAS.view(np.uint32) ^ np.array([0, 1, 0], np.uint32)).view(np.float32)
DIGIT, NAN = 0.5000000000000001, float("nan")
# name -> (file, what of it is another or gone, or all of it, kind, the line about it)
CHANGES: dict[str, tuple[str, Any, str, str]] = {
    "bit": (WEIGHTS, {"bias": ONE_BIT}, "tensors", f"different {WEIGHTS}:bias: "),
    "type": (WEIGHTS, {"bias": np.arange(3.0)}, "tensors", f"different {WEIGHTS}:bias: 'F32 "),
    "tensor": (WEIGHTS, {"bias": None}, "tensors", f"missing {WEIGHTS}:bias: "),
    "token": (TOKENS, b"\x01\x00\x03\x00", "tokens", f"different {TOKENS}: "),
    "vocabulary": (VOCABULARY, {"model": {"vocab": {"b": 1}}}, "tokens", f"different {VOCABULARY}:model: "),
    "row": (KEPT, {"text": ["a text", "other"]}, "rows kept", f"different {KEPT}:text[1]: 'another' -> 'other'"),
    "order": (KEPT, {"id": ["2", "1"]}, "rows kept", f"different {KEPT}:id[0]: '1' -> '2'"),
    "reason": (REJECTED, {"code": [41]}, "rows rejected", f"different {REJECTED}:code[0]: 74 -> 41"),
    "last digit": (PREDICTED, {"confidence": [DIGIT, NAN]}, "predictions", f"different {PREDICTED}:confidence[0]"),
    "number": (TABLE, {"worth": 0.02}, "comparison", f"different {TABLE}:worth: 0.01 -> 0.02"),
    "kind of number": (STEP, {"tokens": 100.0}, "metrics of steps", f"different {STEP}:tokens: 100 -> 100.0"),
    "further number": (STEP, {"nothing": [1]}, "metrics of steps", f"missing {STEP}:nothing: '[]'"),
    "file": (PREDICTED, None, "predictions", f"missing {PREDICTED}:rows: 2"),
}


@pytest.mark.parametrize(("number", "is_same"), [(0.1234564, True), (0.1234575, False), (1, False)])
def test_a_number_that_was_rounded_may_have_more_digits_and_no_others(number: float, is_same: bool) -> None:
    rounded = comparing.Entry("rounded", "score", "all digits", digits=6)
    old, new = ({"comparison": {"a:score": score}} for score in (0.123456, number))
    assert compared(old, new, rounded).is_same is is_same


def test_objects_of_a_list_are_found_by_their_names() -> None:
    one, other = [{"name": "a", "runs": [{"score": 1}]}, {"name": "b", "runs": []}], {"name": "c", "runs": []}
    old, new = ({"comparison": dict(outputs.flat({"arms": arms}, "f:"))} for arms in (one, [other, *one]))
    comparison = compared(old, new, comparing.Entry("new", r"arms\.c\.", "one more arm"))
    assert comparison.is_same
    assert comparison.counts["comparison"]["equal"] == 4


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_noticed(change: str, tmp_path: Path) -> None:
    name, content, kind, line = CHANGES[change]
    if isinstance(content, dict):
        content = {key: value for key, value in (PROJECT[name] | content).items() if value is not None}
    old, new = project(tmp_path / "old"), project(tmp_path / "new", **{name: content})
    comparison = compared(kinds(old), kinds(new))
    assert not comparison.is_same
    assert comparison.unexplained[kind][0].startswith(line)
    assert [other for other, found in comparison.unexplained.items() if found] == [kind]
    assert any(line in shown for shown in comparison.lines())


def test_of_a_message_all_is_compared(tmp_path: Path) -> None:
    """Exit code, error code, place with the problem, remedy."""
    assert kinds(project(tmp_path))["messages"] == {
        "short:exit": 65, "short:0.code": "AB-041", "short:0.said": "a.csv:1: too short", "short:0.remedy": "write more"
    }  # fmt: skip


def test_the_table_excuses_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    old, new = kinds(project(tmp_path)), kinds(tmp_path)
    scores = new["comparison"]
    scores[f"{TABLE}:mood.bert.domain.f1_macro"] = scores.pop(f"{TABLE}:mood.small.domain.f1_macro")
    del scores[f"{TABLE}:worth"]
    scores[f"{TABLE}:min_gain"] = 0.01
    scores[f"{TABLE}:mood.small.domain.runs.0.1"] = 0.75
    new["messages"]["short:0.code"] = "AB-001"
    entries = [
        comparing.Entry("renamed", r"\.small\.domain\.f1", "a base has another name", "comparison", ".bert.domain.f1"),
        comparing.Entry("reworded", "AB-041", "codes are counted anew", "messages", "AB-001", r"\.code$"),
        comparing.Entry("gone", ":worth", "called min_gain, and counted otherwise"),
        comparing.Entry("new", ":min_gain", "new"),
        comparing.Entry("changed", r"runs\.0\.1", "a fault was mended"),
    ]
    comparison = compared(old, new, *entries)
    assert comparison.is_same
    assert [entry.values for entry in entries] == [1] * 5
    assert comparison.counts["comparison"] == {
        "compared": 3, "equal": 1, "mapped": 1, "gone": 1, "new": 1, "changed": 1
    }  # fmt: skip
    assert comparison.counts["messages"] == {"compared": 4, "equal": 3, "mapped": 1}
    for left_out in entries:
        others = [comparing.Entry(**{**vars(entry), "values": 0}) for entry in entries if entry is not left_out]
        assert not compared(old, new, *others).is_same, left_out


@pytest.mark.parametrize("section", ["renamed", "reworded", "gone", "new", "changed"])
def test_an_entry_that_excuses_nothing_is_an_error(section: str, tmp_path: Path) -> None:
    """Also one for values that are there in both and equal."""
    values = kinds(project(tmp_path))
    pattern = "vectors" if section in ("renamed", "reworded") else "worth"
    comparison = compared(values, values, comparing.Entry(section, pattern, "no longer true"))
    assert not any(comparison.unexplained.values())
    assert not comparison.is_same
    assert any("excuses nothing" in line for line in comparison.lines())


def test_two_values_under_one_name_are_an_error(tmp_path: Path) -> None:
    values = kinds(project(tmp_path))
    entry = comparing.Entry("renamed", r"\[\d\]", "a bad pattern", "rows kept", "")
    assert any("two values of OLD" in line for line in compared(values, values, entry).unexplained["rows kept"])


def test_the_table_of_this_project_can_be_read() -> None:
    entries = comparing.table()
    assert all(entry.why and entry.kind in ("", "messages", *outputs.KINDS) for entry in entries)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("gone: [", "while parsing"),
        ("gonne: []", "found gonne"),
        ("gone: [{patern: a, why: b}]", "unexpected keyword argument 'patern'"),
        ("gone: [{pattern: (, why: b}]", "gone: (: missing ), unterminated subpattern"),
        ("renamed: [{pattern: a, to: '\\1', why: b}]", "renamed: a: invalid group reference 1"),
    ],
)
def test_a_bad_table_is_refused_before_anything_is_run(
    content: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "names.yaml").write_text(content)
    monkeypatch.delattr(record, "record")
    with pytest.raises(SystemExit, match=r"error: .*names\.yaml") as ended:
        command(monkeypatch, "HEAD", "HEAD~1", "--table", str(tmp_path / "names.yaml"))
    assert words in str(ended.value)


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["same_results", *arguments])
    return __main__.main()


@pytest.mark.parametrize("is_dirty", [False, True])
def test_equal_commits(
    is_dirty: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing may differ, so no entry of the table is idle; the result is kept only on demand."""
    recorded = {"values": kinds(project(tmp_path / "project")), "seconds": {}}
    monkeypatch.setattr(record, "commit", lambda revision: f"sha of {revision}")
    monkeypatch.setattr(record, "record", lambda *_, **__: recorded)
    monkeypatch.setattr(record, "is_dirty", lambda: is_dirty)
    monkeypatch.setattr(machine, "RESULTS", tmp_path / "results")
    assert command(monkeypatch, "one", "one") == 0
    said = capsys.readouterr().out
    assert ("what is not committed here is not run" in said) == is_dirty
    assert " changed unexplained\n" in said
    assert not (tmp_path / "results").exists()
    assert command(monkeypatch, "one", "one", "--keep") == 0
    assert (tmp_path / "results/same_results.json").is_file()
    (tmp_path / "names.yaml").write_text("gone: [{pattern: nothing, why: idle}]")
    assert command(monkeypatch, "one", "one", "--table", str(tmp_path / "names.yaml")) == 0
    assert command(monkeypatch, "one", "another", "--table", str(tmp_path / "names.yaml")) == 1


def test_a_commit_of_a_schema_that_nobody_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "_git", lambda *_: "sections: {}\n")
    with pytest.raises(record.Failed, match=r"^sha: presets/smoke\.yaml: no file in .*: add one for its schema"):
        record.record("sha", tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_tiny_sets_and_the_recipe_do_not_change_by_themselves(tmp_path: Path) -> None:
    """Two processes with other hash seeds write the same bytes."""
    code = (
        "import sys; from pathlib import Path; from benchmarks.same_results import recipes, tiny_sets;"
        "root = Path(sys.argv[1]); tiny_sets.write(root); preset = recipes.load(Path('presets/smoke.yaml'));"
        "recipes.make_four_types(preset, recipes.schema_of(preset)); recipes.dump(preset, root / 'params.yaml')"
    )
    for seed in ("1", "2"):
        command = [sys.executable, "-c", code, str(tmp_path / seed)]
        subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}, check=True)
    one, other = ({file.name: file.read_bytes() for file in (tmp_path / seed).iterdir()} for seed in ("1", "2"))
    assert one == other
    assert len(one) == 1 + 2 + 4 * len(tiny_sets.SIZES)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_smoke_recipe_of_a_commit_gives_the_same_results_twice(tmp_path: Path) -> None:
    """Two clones of HEAD, on one thread, by its own commands."""
    one, other = ({**record.smoke(record.clone(record.commit("HEAD"), tmp_path, name)), **SAID} for name in ("a", "b"))
    comparison = compared(one, other)
    assert comparison.is_same, "\n".join(comparison.lines())
