"""Word vectors know which words are used alike, and a baseline on them answers by words that no label was seen with."""

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adaptbert.comparison.evaluation import word_vectors
from adaptbert.comparison.evaluation.baselines import baseline_scores, on_the_labels_of
from adaptbert.comparison.evaluation.word_vectors import WordVectors, documents, words_of
from adaptbert.finetuning.metrics.targets import COMPARED_BY
from adaptbert.rows.task_description import TaskDescription
from tests.support import tiny, tiny_tasks

SENTENCES = TaskDescription(task_type="single_sentence", target="class", labels=[])
PAIRS = SENTENCES.model_copy(update={"task_type": "sentence_pair"})
ALIKE = {"glad": ["joyful", "merry", "happy", "cheerful"], "grim": ["bleak", "dreary", "gloomy", "sombre"]}
BESIDE = {mood: [f"{mood}{number}" for number in range(40)] for mood in ALIKE}
OTHERS = [f"other{number}" for number in range(400)]


def corpus(count: int = 6000, seed: int = 1) -> list[list[str]]:
    """Words that are alike stand beside the same words; the others say nothing."""
    draw = random.Random(seed)
    texts = []
    for _ in range(count):
        mood = draw.choice(list(ALIKE))
        words = [draw.choice(ALIKE[mood]), *draw.sample(BESIDE[mood], 4), *draw.sample(OTHERS, 4)]
        texts.append(draw.sample(words, len(words)))
    return texts


def labelled(count: int, which: slice, seed: int) -> list[dict[str, str]]:
    """Rows of these words of each mood alone."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        mood = draw.choice(list(ALIKE))
        rows.append({"id": str(number), "text": f"A {draw.choice(ALIKE[mood][which])} guest!", "label": mood})
    return rows


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    return WordVectors.trained_on(corpus(), seed=1)


def closeness(vectors: WordVectors, one: str, other: str) -> float:
    first, second = vectors.mean([one, other])
    return float(first @ second)


def test_words_that_are_used_alike_are_close(vectors: WordVectors) -> None:
    alike = [closeness(vectors, words[0], word) for words in ALIKE.values() for word in words[1:]]
    others = [closeness(vectors, one, other) for one in ALIKE["glad"] for other in ALIKE["grim"]]
    assert min(alike) > max(others)


def test_a_synonym_is_answered_and_tfidf_cannot(vectors: WordVectors) -> None:
    """The test rows have none of the words that the labels were seen with."""
    train, dev = labelled(120, slice(0, 2), 1), labelled(40, slice(0, 2), 2)
    scores = baseline_scores(SENTENCES, train, dev, labelled(120, slice(2, 4), 3), seed=1, vectors=vectors)
    assert list(scores) == ["majority", "tfidf_logistic", "vectors_logistic"]
    assert scores["vectors_logistic"]["accuracy"] > 0.95
    assert scores["tfidf_logistic"]["accuracy"] < 0.7
    assert scores["majority"]["accuracy"] < 0.7


def test_a_pair_is_answered_by_what_its_texts_share(vectors: WordVectors) -> None:
    """Same mood or not: no text alone determines it."""
    draw = random.Random(4)
    rows = []
    for number in range(500):
        one, other = draw.choice(list(ALIKE)), draw.choice(list(ALIKE))
        first, second = (draw.choice(ALIKE[mood]) for mood in (one, other))
        rows.append({"id": str(number), "text_a": first, "text_b": second, "label": str(one == other)})
    scores = baseline_scores(PAIRS, rows[:300], rows[300:400], rows[400:], seed=1, vectors=vectors)
    assert scores["vectors_logistic"]["accuracy"] > 0.95


@pytest.mark.parametrize(("shape", "target"), tiny_tasks.KINDS)
def test_every_kind_of_text_has_the_baseline(shape: str, target: str) -> None:
    """Tagged words and questions have none."""
    rows = [tiny_tasks.labelled("domain", shape, count, seed, target) for count, seed in ((400, 1), (60, 2), (80, 3))]
    words = sorted({word.lower() for known in tiny.WORDS.values() for word in known})
    vectors = WordVectors(words, np.random.default_rng(1).normal(size=(len(words), 50)).astype(np.float32))
    scores = baseline_scores(tiny_tasks.described(shape, target), *rows, seed=1, vectors=vectors)
    of_texts = shape in ("single_sentence", "sentence_pair")
    own = [name for name in scores if name.startswith("vectors_")]
    assert own == ([f"vectors_{'ridge' if target == 'number' else 'logistic'}"] if of_texts else [])
    for name in own:
        assert scores[name][COMPARED_BY[target]] > scores["majority"][COMPARED_BY[target]]


def test_it_is_fitted_for_each_seed_with_its_labels(tmp_path: Path) -> None:
    folder = tiny_tasks.task(tmp_path / "task", "single_sentence", (60, 12, 24))
    vectors = WordVectors(["values", "the", "array", "is"], np.eye(4, dtype=np.float32))
    task = TaskDescription.read(folder)
    answers = on_the_labels_of(task, folder, 12, [1, 2, 3], 1, vectors).answers["vectors_logistic"]
    assert list(answers) == [1, 2, 3]
    assert len({tuple(each) for each in answers.values()}) > 1


def test_texts_without_a_known_word_have_no_such_baseline() -> None:
    none = WordVectors(["zebra"], np.ones((1, 3), np.float32))
    rows = labelled(40, slice(0, 2), 1)
    assert list(baseline_scores(SENTENCES, rows, rows, rows, seed=1, vectors=none)) == ["majority", "tfidf_logistic"]
    assert none.mean(["a zebra", "no word"]).tolist() == pytest.approx(np.array([[3**-0.5] * 3, [0.0] * 3]))


def test_what_is_written_is_read(vectors: WordVectors, tmp_path: Path) -> None:
    path = tmp_path / "vectors.parquet"
    vectors.write(path)
    again = WordVectors.read(path)
    texts = ["the merry guest", "other1 glad2", "unknown"]
    assert len(again) == len(vectors) == 8 + 80 + 400
    assert again.mean(texts).tolist() == vectors.mean(texts).tolist()


def test_a_word_that_is_rare_has_no_vector_and_rare_words_alone_none(tmp_path: Path) -> None:
    few = WordVectors.trained_on([["once", "upon"], ["a", "time"]], seed=1)
    assert len(few) == 0
    few.write(tmp_path / "none.parquet")
    assert WordVectors.read(tmp_path / "none.parquet").mean(["once"]).any() == np.False_


def test_equal_seeds_give_equal_bytes_in_another_process(tmp_path: Path) -> None:
    """Also where Python's hashes of texts differ."""
    program = (
        "import sys; from tests.comparison.evaluation.test_word_vectors import corpus, WordVectors; "
        "from pathlib import Path; WordVectors.trained_on(corpus(300), int(sys.argv[1])).write(Path(sys.argv[2]))"
    )
    for name, seed, hashes in (("one", 1, "1"), ("again", 1, "2"), ("other", 2, "1")):
        command = [sys.executable, "-c", program, str(seed), str(tmp_path / name)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": hashes, "OMP_NUM_THREADS": "1"})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "again").read_bytes()
    assert (tmp_path / "one").read_bytes() != (tmp_path / "other").read_bytes()


def test_chinese_is_read_by_characters_and_words_by_letters() -> None:
    assert words_of("The Array, x_1: 今天 OK！") == ["the", "array", "x_1", "今", "天", "ok"]


def test_a_document_longer_than_gensim_reads_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vectors, "LONGEST", 10)
    end = ["late"] * 5
    assert WordVectors.trained_on([["early"] * 20 + end], seed=1).mean(["late"]).any()


def test_corpora_have_equal_shares_from_all_over_each(tmp_path: Path) -> None:
    sizes = {"general": 100, "domain": 4}
    for name, groups in sizes.items():
        rows = [{"id": f"{number}", "text": f"{name} number{number}"} for number in range(groups * 10)]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{name}.parquet", row_group_size=10)
    paths = [tmp_path / f"{name}.parquet" for name in sizes]
    texts = documents(paths, 400, seed=1)
    words = {name: [words for words in texts if words[0] == name] for name in sizes}
    assert sum(map(len, words["general"])) == 200
    assert len(words["domain"]) == 40, "a short corpus as a whole"
    numbers = sorted(int(words[1].removeprefix("number")) for words in words["general"])
    assert numbers[-1] > 300, "not its beginning alone"
    assert documents(paths, 400, seed=1) == texts != documents(paths, 400, seed=2)
    assert documents([], 400, seed=1) == []
