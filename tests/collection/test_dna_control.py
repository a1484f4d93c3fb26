"""The DNA control: its labels follow from its rule, half of each, and its words say nothing."""

from collections import Counter
from pathlib import Path

import pytest

from adaptbert.collection.dna_control import LABELS, LENGTH, LETTERS, MOTIF, DnaControl, chosen
from adaptbert.collection.readers.records import Row
from adaptbert.comparison.evaluation.baselines import baseline_scores
from adaptbert.errors import BadData
from adaptbert.rows.task_description import TaskDescription
from adaptbert.runtime.params import params_file as params
from tests.support.imports import ROOT
from tests.support.rules import errors

CAPS = {"train": 600, "dev": 100, "test": 400}
WORDS = ROOT / "data/sources/dna_words.txt"
TASK = {"source": "dna", "shape": "single_sentence", "target": "class", "rows": CAPS}
TASK |= dict.fromkeys(("train", "dev", "test"), "data/sources/dna_words.txt")


@pytest.fixture(scope="module")
def made() -> DnaControl:
    return DnaControl(WORDS, CAPS)


def letters(made: DnaControl, row: Row) -> str:
    letter_of = {word: letter for letter, word in made.words.items()}
    return "".join(letter_of[word] for word in row.values["text"].split(" "))


@pytest.mark.parametrize("split", CAPS)
def test_labels_follow_the_rule_and_the_majority_is_half(made: DnaControl, split: str) -> None:
    rows = list(made.rows(split))
    assert Counter(row.values["label"] for row in rows) == dict.fromkeys(LABELS, CAPS[split] // 2)
    for row in rows:
        sequence = letters(made, row)
        assert len(sequence) == LENGTH
        assert row.values["label"] == ("motif" if MOTIF in sequence else "none")


def test_no_sequence_is_twice_there(made: DnaControl) -> None:
    texts = [row.values["text"] for split in CAPS for row in made.rows(split)]
    assert len(set(texts)) == len(texts)


def test_counts_of_letters_do_not_decide(made: DnaControl) -> None:
    """A linear model on single words answers two rows of three; the best possible accuracy is 1."""
    from sklearn.linear_model import LogisticRegression

    def counts(split: str) -> tuple[list[list[int]], list[str]]:
        rows = list(made.rows(split))
        sequences = [letters(made, row) for row in rows]
        return [[one.count(letter) for letter in LETTERS] for one in sequences], [row.values["label"] for row in rows]

    model = LogisticRegression().fit(*counts("train"))
    assert 0.6 < model.score(*counts("test")) < 0.7


def test_its_baselines_lie_between_chance_and_the_rule(made: DnaControl) -> None:
    task = TaskDescription(task_type="single_sentence", target="class", labels=LABELS)
    train, dev, test = ([{"id": row.id, **row.values} for row in made.rows(split)] for split in CAPS)
    scores = baseline_scores(task, train, dev, test, seed=1)
    assert scores["majority"]["accuracy"] == 0.5
    assert 0.6 < scores["tfidf_logistic"]["accuracy"] < 0.9, "pairs of words see a part of the motif"


def test_rows_are_the_same_every_time_and_other_caps_change_none(made: DnaControl) -> None:
    again = DnaControl(WORDS, {**CAPS, "train": 10})
    assert [row.values for row in again.rows("train")] == [row.values for row in made.rows("train")][:10]


def test_words_are_those_of_the_list(tmp_path: Path, made: DnaControl) -> None:
    other = tmp_path / "words.txt"
    other.write_text("# 四个\n水\n火\n山\n木\n", encoding="utf-8")
    chinese = DnaControl(other, CAPS)
    assert set(chinese.words.values()) == {"水", "火", "山", "木"}
    assert letters(chinese, next(chinese.rows("test"))) == letters(made, next(made.rows("test")))
    assert "synthetic" in chinese.provenance()
    other.write_text("水\n火\n火\n", encoding="utf-8")
    with pytest.raises(BadData, match="2 words, and DNA has 4 letters"):
        chosen(other)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"collect_task.dna": {**TASK, "shape": "sentence_pair"}}, "source 'dna' has no set of shape 'sentence_pair'"),
        ({"collect_task.dna": {**TASK, "rows": None}}, "source 'dna' needs 'rows'"),
        ({"collect_task.dna": {**TASK, "dev": "other.txt"}}, "source 'dna' makes its splits from one list"),
        ({"collect_task.dna": {**TASK, "labels": ["yes"]}}, "source 'dna' has labels of its own"),
        ({"collect.dna": {"source": "dna", "path": "words.txt"}}, "source 'dna' is a labelled set, not a corpus"),
    ],
)
def test_what_it_is_not(changes: dict[str, object], expected: str) -> None:
    assert any(expected in error for error in errors(**changes))


def test_it_is_a_task_like_others_in_a_recipe() -> None:
    options = {"single_sentence": {"long_text": "head"}}
    arms = {"ladder.tasks": {"dna": {"arms": ["scratch", "general"]}}}
    assert errors(**{"collect_task.dna": TASK, "finetune.dna": options}, **arms) == []


def test_the_preset_trains_the_two_arms_that_it_compares() -> None:
    document = params.read(ROOT / "presets/dna-control.yaml")
    assert list(document["ladder"]["arms"]) == ["scratch", "general"]
    assert document["compare"]["primary"] == ["pretrain"]
    assert [task["source"] for task in document["collect_task"].values()] == ["dna"]
