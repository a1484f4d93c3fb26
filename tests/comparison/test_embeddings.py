"""A baseline on input embeddings answers by words that no label was seen with, where the checkpoint has them alike."""

import random
from pathlib import Path

import numpy as np
import pytest

from adaptbert.comparison.baselines import Embeddings
from adaptbert.data.labelled_set import split
from adaptbert.data.task_description import TaskDescription
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.report.page import render
from tests.support import tiny
from tests.support.bases import write_base
from tests.support.simulated import compared, simulate
from tests.support.tiny_tasks import baseline_scores

SENTENCES = TaskDescription(type="text-classification", labels=[])
PAIRS = SENTENCES.model_copy(update={"type": "text-pair-classification"})
ALIKE = {"glad": ["joyful", "merry", "happy", "cheerful"], "grim": ["bleak", "dreary", "gloomy", "sombre"]}


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    """Words of one mood lie close together."""
    draw = np.random.default_rng(1)
    centres = {mood: draw.normal(size=20) for mood in ALIKE}
    vectors = {word: centres[mood] + 0.2 * draw.normal(size=20) for mood, words in ALIKE.items() for word in words}
    return Embeddings(write_base(tmp_path_factory.mktemp("base"), {"[UNK]": np.zeros(20), **vectors}))


def labelled(count: int, which: slice, seed: int) -> list[dict[str, str]]:
    """Rows of these words of each mood alone."""
    draw = random.Random(seed)
    moods = [draw.choice(list(ALIKE)) for _ in range(count)]
    return [{"text": f"A {draw.choice(ALIKE[mood][which])} guest!", "label": mood} for mood in moods]


def test_a_synonym_is_answered_and_tfidf_cannot(embeddings: Embeddings) -> None:
    """The test rows have none of the words that the labels were seen with."""
    train, dev = labelled(120, slice(0, 2), 1), labelled(40, slice(0, 2), 2)
    scores = baseline_scores(SENTENCES, train, dev, labelled(120, slice(2, 4), 3), seed=1, embeddings=embeddings)
    assert list(scores) == ["majority", "tfidf_logistic", "embeddings_logistic"]
    assert scores["embeddings_logistic"]["accuracy"] > 0.95
    assert scores["tfidf_logistic"]["accuracy"] < 0.7


def test_a_pair_is_answered_by_what_its_texts_share(embeddings: Embeddings) -> None:
    """Same mood or not: no text alone determines it."""
    draw = random.Random(4)
    rows = []
    for _ in range(500):
        one, other = draw.choice(list(ALIKE)), draw.choice(list(ALIKE))
        first, second = (draw.choice(ALIKE[mood]) for mood in (one, other))
        rows.append({"text_a": first, "text_b": second, "label": str(one == other)})
    scores = baseline_scores(PAIRS, rows[:300], rows[300:400], rows[400:], seed=1, embeddings=embeddings)
    assert scores["embeddings_logistic"]["accuracy"] > 0.95


def test_of_a_checkpoint_that_this_project_wrote(tmp_path: Path) -> None:
    """The vectors of its tokens, special ones left out; a text without a token has no direction."""
    tiny.pretrained(tmp_path)
    checkpoint = Checkpoint.load(tmp_path)
    weights = checkpoint.model("none", 0).embeddings.word_embeddings.weight.detach().numpy()
    text = "the values of [MASK] the array"
    mean = weights[checkpoint.tokenizer.backend.encode(text, add_special_tokens=False).ids].mean(0)
    means = Embeddings(tmp_path).mean([text, ""])
    assert means[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    assert not means[1].any()


def test_in_a_comparison_it_stands_beside_the_arms(tmp_path: Path) -> None:
    """A row of the table, an interval of rows and labels, the difference to the arm."""
    name = "mean input embedding + logistic regression"
    made = simulate(tmp_path, test_rows=100)
    without = render(compared(made))
    assert name not in without

    texts = [row["text"] for row in split(made.outputs.data / "section", "train")]
    words = sorted({"[UNK]", *(word for text in texts for word in text.lower().split())})
    vectors = dict(zip(words, np.random.default_rng(1).normal(size=(len(words), 20)), strict=True))
    write_base(made.outputs.bases / "small", vectors)
    comparison = compared(made)
    section, mention = comparison.tasks
    assert list(section.baselines) == ["majority", "tfidf_logistic", "embeddings_logistic"]
    assert list(mention.baselines) == ["word_majority", "window_logistic"]
    assert set(section.baselines["embeddings_logistic"].sources) == {"rows", "seeds"}

    page = render(comparison)
    assert name in page
