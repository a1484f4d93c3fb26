"""Sets without splits of their own: cut by a hash, groups whole, and stable when rows are added."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adaptbert.codes import Code
from adaptbert.config.schema.sources import Source
from adaptbert.data.hash_split import cut, split_of
from adaptbert.data.labelled_source import LabelledSource
from adaptbert.data.layout import Layout
from adaptbert.data.readers.records import Problem, Row
from adaptbert.errors import BadData
from tests.support.labelled_files import ANSWER, CLASS

PAIR = Layout("sentence_pair", "class")
SHARES = {"test": 0.2, "dev": 0.1}


def texts(count: int, **fields: Any) -> list[Row]:
    return [Row(f"r{n}", "f", n, {"text": f"text {n}", "label": "x"}, **fields) for n in range(count)]


def placed(rows: list[Row], layout: Layout = CLASS, shares: dict[str, float] = SHARES) -> dict[str, str]:
    """Id -> split."""
    return {row.id: split for split, of_split in cut(rows, layout, shares).items() for row in of_split}


def test_the_shares_of_rows_are_those_of_the_config() -> None:
    draws = Counter(split_of(f"key {number}", SHARES) for number in range(20_000))
    for split, share in {"train": 0.7, **SHARES}.items():
        assert draws[split] / 20_000 == pytest.approx(share, abs=0.012)  # four standard errors


def test_every_row_once_and_rows_added_move_none() -> None:
    before, after = placed(texts(300)), placed(texts(600)[::-1])
    assert set(before) == {f"r{n}" for n in range(300)}
    assert {name: after[name] for name in before} == before


def test_a_larger_share_only_adds() -> None:
    """Test rows stay test rows when dev is cut as well."""
    alone, both = placed(texts(500), shares={"test": 0.2}), placed(texts(500))
    assert {n for n, split in alone.items() if split == "test"} == {n for n, split in both.items() if split == "test"}


SPELLINGS = ("Text {}", "text, {}!", "TEXT {}")
TOGETHER: dict[str, tuple[Layout, Callable[[int, int], dict[str, Any]]]] = {
    "groups": (CLASS, lambda n, m: {"values": {"text": f"text {n} {m}", "label": "x"}, "group": f"g{n}"}),
    "copies": (CLASS, lambda n, m: {"values": {"text": SPELLINGS[m].format(n), "label": "x"}}),
    "contexts": (ANSWER, lambda n, m: {"values": {"context": f"context {n}", "question": f"{m}?", "answers": []}}),
}


@pytest.mark.parametrize("kind", TOGETHER)
def test_groups_copies_and_contexts_stay_together(kind: str) -> None:
    layout, fields = TOGETHER[kind]
    rows: list[Row] = [Row(f"{n}-{m}", "f", n, **fields(n, m)) for n in range(60) for m in range(3)]
    split_of_row = placed(rows, layout)
    assert all(len({split_of_row[f"{n}-{m}"] for m in range(3)}) == 1 for n in range(60))
    assert {*split_of_row.values()} == {"train", "dev", "test"}


def test_pairs_that_share_a_text_do_not() -> None:
    pairs: list[Row] = [
        Row(f"{n}", "f", n, {"text_a": "the same", "text_b": f"other {n}", "label": "x"}) for n in range(60)
    ]
    assert {*placed(pairs, PAIR).values()} == {"train", "dev", "test"}


def test_unreadable_rows_stay_with_train_and_nothing_is_read_twice() -> None:
    bad = Row("bad", "f", 1, {}, problem=Problem(Code.LABEL_MISSING, "label missing"))
    assert placed([bad, *texts(200)])["bad"] == "train"


def write(path: Path, rows: list[str]) -> Path:
    path.write_text("text,label,author\n" + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def test_dev_is_cut_and_test_has_a_file_of_its_own(tmp_path: Path) -> None:
    train = write(tmp_path / "train.csv", [f"text {n},x,a{n}" for n in range(100)])
    test = write(tmp_path / "test.csv", ["other,x,z"])
    config = Source.model_validate({"source": "files", "columns": {"group": "author"}})
    source = LabelledSource({"train": train, "dev": train, "test": test}, CLASS, config, {"dev": 0.3})
    counts = {split: len(list(source.rows(split))) for split in ("train", "dev", "test")}
    assert counts["train"] + counts["dev"] == 100
    assert counts["dev"] > 10
    assert counts["test"] == 1
    assert source.cut() == {"dev": 0.3, "by_hash_of": "author"}
    assert list(source.provenance()["files"]) == ["train", "test"]


def test_too_few_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "all.csv", ["a,x,a", "b,x,b"])
    source = LabelledSource(dict.fromkeys(("train", "dev"), path), CLASS, Source(source="files"), {"dev": 1e-9})
    with pytest.raises(BadData, match=r"AB-019 .*2 rows cannot be split: none falls to dev"):
        list(source.rows("dev"))


def test_a_group_in_two_files_is_refused(tmp_path: Path) -> None:
    paths = {split: write(tmp_path / f"{split}.csv", [f"{split},x,ann"]) for split in ("train", "dev", "test")}
    config = Source.model_validate({"source": "files", "columns": {"group": "author"}})
    source = LabelledSource(paths, CLASS, config, {})
    assert len(list(source.rows("train"))) == 1
    with pytest.raises(BadData, match=r"AB-072 dev.csv:2: the group of row 'dev-2' is in train, too") as raised:
        list(source.rows("dev"))
    assert "ann" not in str(raised.value)
