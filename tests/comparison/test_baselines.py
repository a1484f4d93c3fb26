"""The baselines learn what a linear model can learn, and nothing else."""

import random
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction import DictVectorizer

from adaptbert.comparison.baselines import STRENGTHS, baselines_of, fitted_on
from adaptbert.comparison.questions import BASELINES
from adaptbert.comparison.scores import ResampledRows
from adaptbert.data.labelled_set import split, subset
from adaptbert.data.task_description import TaskDescription
from adaptbert.linear.fitting import _logistic
from adaptbert.linear.model import _windows, few_spaces
from adaptbert.tasks.metrics.scoring import COMPARED_BY, SCORING, right_answers
from tests.support import simulated, tiny_tasks
from tests.support.tiny_tasks import baseline_answers, baseline_scores

SENTENCES = TaskDescription(type="text-classification", labels=[])
WORDS = TaskDescription(type="token-classification", labels=[])
PAIRS = SENTENCES.model_copy(update={"type": "text-pair-classification"})


def sentences(count: int, seed: int, informative: bool = True) -> list[dict[str, str]]:
    draw = random.Random(seed)
    words = {"warm": ["sun", "beach", "heat"], "cold": ["snow", "ice", "frost"]}
    rows = []
    for _ in range(count):
        label = draw.choice(["warm", "warm", "cold"])
        word = draw.choice(words[label] if informative else ["rain", "wind"])
        rows.append({"text": f"the {word} of day {draw.randrange(9)} is here", "label": label})
    return rows


def test_texts_without_a_word_and_one_class_leave_the_majority_alone() -> None:
    alike = [{"text": "a b", "label": "x"}] * 4
    assert list(baseline_scores(SENTENCES, alike, alike, alike, seed=1)) == ["majority"]
    rows = [{"text": "🙂 🙂 !", "label": "glad"}, {"text": "🙁 . 🙁", "label": "sad"}, {"text": "🙁 ?", "label": "sad"}]
    assert list(baseline_scores(SENTENCES, rows, rows, rows, seed=1)) == ["majority"]
    pairs = [{"text_a": row["text"], "text_b": "…", "label": row["label"]} for row in rows]
    assert list(baseline_scores(PAIRS, pairs, pairs, pairs, seed=1)) == ["majority"]


def test_large_sets_are_fitted_on_their_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, words = sentences(50, 1), tagged(50, 1)
    assert fitted_on(SENTENCES, rows) == rows
    assert fitted_on(WORDS, words) == words
    monkeypatch.setattr("adaptbert.comparison.baselines.MOST_CHARACTERS", sum(len(row["text"]) for row in rows[:20]))
    monkeypatch.setattr("adaptbert.comparison.baselines.MOST_WORDS", 5 * 12 + 4)
    assert fitted_on(SENTENCES, rows) == rows[:20]
    assert fitted_on(WORDS, words) == words[:12]
    pairs = [{"text_a": row["text"], "text_b": row["text"]} for row in rows]
    assert fitted_on(PAIRS, pairs) == pairs[:10]
    questions = [{"context": row["text"], "question": "?"} for row in rows]
    assert fitted_on(tiny_tasks.described("extractive_answer"), questions) == questions, "nothing is fitted on them"
    monkeypatch.setattr("adaptbert.comparison.baselines.MOST_CHARACTERS", 3)
    assert fitted_on(SENTENCES, rows) == rows[:1]


def test_a_subset_of_one_class_counts_as_the_most_frequent_answer(tmp_path: Path) -> None:
    """Else the mean would be that of the seeds in which a model could be fitted."""
    folder = tiny_tasks.task(tmp_path / "task", "single_sentence", (40, 12, 24))
    task, train = TaskDescription.read(folder), split(folder, "train")
    dev, test = split(folder, "dev"), split(folder, "test")
    seeds = range(1, 30)
    classes = {seed: len({row["label"] for row in subset(train, 2, seed)}) for seed in seeds}
    one, two = (next(seed for seed in seeds if classes[seed] == count) for count in (1, 2))
    alone = {seed: baseline_answers(task, subset(train, 2, seed), dev, test, 1) for seed in (one, two)}
    assert "tfidf_logistic" not in alone[one]
    rows = ResampledRows(folder, {})
    fitted = baselines_of(rows, 2, (one, two), 1)["tfidf_logistic"]
    assert fitted.rows == 2
    answers = [alone[one]["majority"], alone[two]["tfidf_logistic"]]
    gold = right_answers(test, "class")
    assert list(fitted.scores.values()) == [SCORING["class"].score(gold, own, task)["f1_macro"] for own in answers]
    assert fitted.resampled == pytest.approx(np.mean([rows.resampled(own) for own in answers], 0))


def test_seeds_that_have_all_labels_share_one_model(tmp_path: Path) -> None:
    folder = tiny_tasks.task(tmp_path / "task", "single_sentence", (40, 12, 24))
    for fitted in baselines_of(ResampledRows(folder, {}), 40, (3, 5, 8), 1).values():
        assert (fitted.rows, list(fitted.scores), len(set(fitted.scores.values()))) == (40, [3, 5, 8], 1)


def test_without_an_informative_word_it_stays_near_the_majority() -> None:
    train, dev, test = (sentences(300, seed, informative=False) for seed in (3, 9, 4))
    scores = baseline_scores(SENTENCES, train, dev, test, seed=1)
    assert scores["tfidf_logistic"]["accuracy"] < scores["majority"]["accuracy"] + 0.05


def test_chinese_text_is_read_by_characters() -> None:
    draw = random.Random(5)
    rows = []
    for _ in range(120):
        label = draw.choice(["好", "坏"])
        word = draw.choice(["开心", "高兴"] if label == "好" else ["难过", "生气"])
        rows.append({"text": f"今天{draw.choice('我你他她')}很{word}因为{draw.choice('天气工作朋友')}", "label": label})
    assert few_spaces([row["text"] for row in rows])
    assert not few_spaces([row["text"] for row in sentences(10, 6)])
    assert baseline_scores(SENTENCES, rows[:60], rows[60:80], rows[80:], seed=1)["tfidf_logistic"]["f1_macro"] == 1.0


def tagged(count: int, seed: int) -> list[dict[str, list[str]]]:
    """A name is a tool after "use" and a person after "ask": only the neighbour determines it."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        name = draw.choice(["Ada", "Cole", "Perl"])
        verb, tag = draw.choice([("use", "B-TOOL"), ("ask", "B-PERSON")])
        rows.append({"tokens": ["please", verb, name, "Kit", "now"], "tags": ["O", "O", tag, f"I{tag[1:]}", "O"]})
    return rows


def test_the_window_reads_the_neighbour_and_the_lexicon_cannot() -> None:
    scores = baseline_scores(WORDS, tagged(100, 7), tagged(30, 9), tagged(100, 8), seed=1)
    assert scores["window_logistic"]["f1_span"] == 1.0
    assert 0.2 < scores["word_majority"]["f1_span"] < 0.8


def test_a_new_word_is_outside() -> None:
    train = [{"tokens": ["Ada", "sings"], "tags": ["B-PERSON", "O"]}]
    test = [{"tokens": ["Bert", "sings"], "tags": ["B-PERSON", "O"]}, {"tokens": ["Ada"], "tags": ["B-PERSON"]}]
    assert baseline_scores(WORDS, train, train, test, seed=1)["word_majority"] == {
        "f1_span": pytest.approx(2 / 3),
        "precision_span": 1.0,
        "recall_span": 0.5,
    }


def test_dev_chooses_the_strength_and_test_is_not_considered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dev rows of one label favour the strongest regularisation, and so it is taken, whatever test would prefer."""
    draw = random.Random(11)
    rows = [
        {"text": f"seen{n} word{draw.randrange(3)}", "label": "rare" if n % 5 == 0 else "common"} for n in range(60)
    ]
    alone = {}
    for strength in (0.01, 100.0):
        monkeypatch.setattr("adaptbert.comparison.baselines.STRENGTHS", (strength,))
        alone[strength] = baseline_scores(SENTENCES, rows, rows, rows, seed=1)["tfidf_logistic"]
    assert alone[0.01]["accuracy"] < alone[100.0]["accuracy"] == 1.0

    common = [{"text": row["text"], "label": "common"} for row in rows]
    monkeypatch.setattr("adaptbert.comparison.baselines.STRENGTHS", (0.01, 100.0))
    assert baseline_scores(SENTENCES, rows, rows, rows, seed=1)["tfidf_logistic"] == alone[100.0]
    assert baseline_scores(SENTENCES, rows, common, rows, seed=1)["tfidf_logistic"] == alone[0.01]


@pytest.mark.parametrize(("shape", "target"), tiny_tasks.KINDS)
def test_every_kind_of_task_has_baselines_that_learn(shape: str, target: str) -> None:
    """What can be learnt linearly is learnt, and beats the answer that is always the same."""
    rows = [tiny_tasks.labelled("domain", shape, count, seed, target) for count, seed in ((400, 1), (60, 2), (80, 3))]
    scores = baseline_scores(tiny_tasks.described(shape, target), *rows, seed=1)
    assert set(scores) <= set(BASELINES), "adaptbert/comparison/questions.py"
    always, linear = scores
    assert always in ("majority", "word_majority")
    metric = COMPARED_BY[target]
    if shape != "extractive_answer":  # its baseline knows nothing of the training rows
        assert scores[linear][metric] >= scores[always][metric]
        assert scores[linear][metric] > 0.65


def test_the_overlap_baseline_takes_the_sentence_of_the_question() -> None:
    row = {
        "context": "It rained. The mill by the river was built in 1820. Nobody came.",
        "question": "When was the mill built?",
        "answers": [{"text": "1820", "start": 44}],
    }
    task = tiny_tasks.described("extractive_answer")
    scores = baseline_scores(task, [row], [row], [row], seed=1)
    assert scores["majority"] == {"f1_answer": 0.0, "exact_match": 0.0}
    assert scores["question_overlap"]["f1_answer"] == 2 * 1 / (1 + 7), "articles do not count"
    assert "majority" not in baseline_scores(
        tiny_tasks.described("extractive_answer", no_answer=False), [row], [row], [row], seed=1
    )


def test_a_pair_needs_both_of_its_texts_and_what_they_share() -> None:
    """The label says whether both texts name the same thing: no text alone determines it."""
    draw = random.Random(3)
    rows = []
    for number in range(400):
        same = draw.random() < 0.5
        first, other = draw.sample([f"thing{n}" for n in range(30)], 2)
        pair = {"text_a": f"here is {first}", "text_b": f"we saw {first if same else other}"}
        rows.append({**pair, "label": "same" if same else "other", "id": str(number)})
    task = PAIRS.model_copy(update={"labels": ["other", "same"]})
    assert baseline_scores(task, rows[:200], rows[200:300], rows[300:], seed=1)["tfidf_logistic"]["f1_macro"] > 0.95


def test_the_last_bit_of_a_feature_hardly_moves_a_score() -> None:
    """Processors differ in that bit, and with it a model that stopped early gave rows other answers."""
    dice, noise = random.Random(1), np.random.default_rng(1)
    rows = [simulated.tagged(f"train-{place}", dice) for place in range(250)]
    tags = [tag for row in rows for tag in row["tags"]]
    features = DictVectorizer().fit_transform([word for row in rows for word in _windows(row["tokens"])])
    other = features.copy()
    other.data = other.data * (1 + 1e-15 * noise.standard_normal(other.data.shape))
    scores = [_logistic(each, tags, max(STRENGTHS), 1).decision_function(features) for each in (features, other)]
    assert np.abs(scores[0] - scores[1]).max() < simulated.CLEARLY
