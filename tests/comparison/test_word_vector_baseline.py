"""Word vectors of the corpora, in a whole comparison: a row of the table, an interval, the difference to the arm."""

from pathlib import Path

import numpy as np

from adaptbert.comparison.evaluation.word_vectors import WordVectors, words_of
from adaptbert.comparison.report.page import render
from adaptbert.comparison.tables.headlines import headlines
from adaptbert.comparison.tables.metrics_json import summary
from adaptbert.comparison.tables.text_table import comparison_table
from adaptbert.rows.labelled_set import split
from tests.support.simulated import compared, simulate

NAME = "mean word vector + logistic regression"
NOTE = "Static word vectors (CBOW) were trained on all corpora"


def test_it_stands_beside_the_arms_with_an_interval_of_rows_and_labels(tmp_path: Path) -> None:
    made = simulate(tmp_path, test_rows=100)
    without = render(compared(made))
    assert NAME not in without
    assert NOTE not in without

    texts = [row["text"] for row in split(made.outputs.data / "section", "train")]
    words = sorted({word for text in texts for word in words_of(text)})
    vectors = np.random.default_rng(1).normal(size=(len(words), 20)).astype(np.float32)
    WordVectors(words, vectors).write(made.outputs.word_vectors)
    comparison = compared(made)
    section, mention = comparison.tasks
    assert list(section.baselines) == ["majority", "tfidf_logistic", "vectors_logistic"]
    assert list(mention.baselines) == ["word_majority", "window_logistic"]
    assert set(section.baselines["vectors_logistic"].sources) == {"rows", "seeds"}

    values = summary(comparison)
    own = values["section"]["small"]["vectors_logistic"]
    assert own["low"] < own["f1_macro"] < own["high"]
    assert len(own["chosen_arm_minus_it"]) == 3
    assert headlines(values)["section"]["small"]["vectors_logistic"] == round(100 * own["f1_macro"], 2)
    (row,) = [line for line in comparison_table(values).splitlines() if line.startswith("vectors_logistic")]
    assert f"{100 * own['f1_macro']:.1f}" in row
    page = render(comparison)
    assert NAME in page
    assert NOTE in page
