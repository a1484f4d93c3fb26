"""Words, pieces, windows and tags: each word finds back to its own tag, however long the row."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.data import tag_schemes
from adaptbert.tasks.batches import batch_of
from adaptbert.tasks.crf import GROUP_ROWS, groups
from adaptbert.tasks.examples import Examples
from adaptbert.tasks.module import FineTuning
from tests.support import tiny, tiny_params, tiny_tasks
from tests.support.peak import peak
from tests.support.short_runs import STEPS, first_batch, model_of

CLASSES = ["O", "B-ATTR", "I-ATTR", "B-OBJ", "I-OBJ"]
NOTHING: dict[str, float] = {}

# Words as users have them: of many pieces, one, or none (what cannot be seen is dropped), and literal special tokens.
words = st.sampled_from(
    ["the", "estimator", "Matrix", "walked-along", "axis=0", "好的", "🙂", "\u200b", "\u00ad\u200b", "[SEP]", "x" * 130]
)
sentence = st.lists(words, min_size=1, max_size=14)


def tagged(sentences: list[list[str]], seed: int) -> list[dict[str, Any]]:
    draw = np.random.default_rng(seed)
    return [
        {"id": str(i), "tokens": tokens, "tags": tag_schemes.legal([CLASSES[draw.integers(5)] for _ in tokens], "bio")}
        for i, tokens in enumerate(sentences)
    ]


def certain(head: Any, rows: list[dict[str, Any]], examples: Examples) -> np.ndarray:
    """Scores of a model that knows."""
    return 50.0 * np.eye(len(head.classes))[head.targets(rows, examples)]


def seen(word: str) -> bool:
    return bool(tiny.tokenizer().encode([word])[0].ids)


@settings(max_examples=40, deadline=None)
@given(
    sentences=st.lists(sentence, min_size=1, max_size=5),
    seed=st.integers(0, 99),
    max_length=st.sampled_from([10, 512]),
)
def test_each_word_finds_its_own_tag(sentences: list[list[str]], seed: int, max_length: int) -> None:
    """A model that is always right gives each word with a piece its tag, through windows too; a word without is O."""
    rows = [
        {**row, "tags": [tag if seen(word) else "O" for word, tag in zip(row["tokens"], row["tags"], strict=True)]}
        for row in tagged(sentences, seed)
    ]
    rows = [{**row, "tags": tag_schemes.legal(row["tags"], "bio")} for row in rows]
    head, examples = tiny_tasks.encoded("sequence_labelling", rows, max_length, stride=4)
    assert int(examples.lengths.max()) <= max_length
    answers, confidence, _ = head.decode(rows, examples, certain(head, rows, examples), NOTHING)
    assert (confidence > 0.99).all()
    assert answers == [row["tags"] for row in rows]


@settings(max_examples=60, deadline=None)
@given(st.lists(sentence, min_size=1, max_size=6), st.integers(8, 30))
def test_every_word_with_a_piece_is_answered_once(sentences: list[list[str]], max_length: int) -> None:
    pieces, head = tiny.tokenizer(), tiny_tasks.head_of("sequence_labelling", stride=3)
    examples = head.examples(tagged(sentences, 0), pieces, max_length)
    assert examples.cut == 0
    answered = list(zip(examples.rows[examples.owners()], examples.spans[:, 0], strict=True))
    expected = [(row, word) for row, tokens in enumerate(sentences) for word, token in enumerate(tokens) if seen(token)]
    assert answered == expected
    first = [pieces.encode([sentences[row][word]])[0].ids[0] for row, word in answered]
    assert examples.ids[examples.flat_places()].tolist() == first, "the head looks at the first piece of the word"


def test_decoding_prefers_the_best_legal_row_to_the_best_tags() -> None:
    """I-OBJ is likeliest word by word, but nothing began; the best legal row begins it, or leaves it, by its score."""
    row = {"id": "a", "tokens": ["the", "house"], "tags": ["O", "O"]}
    head, examples = tiny_tasks.encoded("sequence_labelling", [row], 16)

    def answer(first: list[float], second: list[float]) -> list[str]:
        answers, _, _ = head.decode([row], examples, np.log(np.array([first, second])), NOTHING)
        return answers[0]

    inside = [0.1, 0.05, 0.05, 0.2, 0.6]
    assert answer([0.9, 0.02, 0.02, 0.04, 0.02], inside) == ["O", "B-OBJ"]
    assert answer([0.5, 0.02, 0.02, 0.44, 0.02], inside) == ["B-OBJ", "I-OBJ"], "mending afterwards would not see it"


def test_whatever_the_scores_spans_are_legal() -> None:
    rows = tagged([["the", "house", "of", "\u200b", "values", "is"][: 1 + n % 6] for n in range(600)], 1)
    head, examples = tiny_tasks.encoded("sequence_labelling", rows, 16)
    scores = np.random.default_rng(0).normal(size=(len(examples.places), len(head.classes)))
    answers, confidence, _ = head.decode(rows, examples, scores, NOTHING)
    assert all(tag_schemes.fits(answer, "bio") for answer in answers)
    assert ((confidence > 0) & (confidence <= 1)).all()
    assert sum(tag != "O" for answer in answers for tag in answer) > 500
    parts = np.split(scores, np.cumsum(examples.counts)[:-1])
    for number in (0, 7, 300, 599):
        one = head.examples([rows[number]], tiny.tokenizer(), 16)
        assert head.decode([rows[number]], one, parts[number], NOTHING)[0] == [answers[number]], "not its neighbours"


def test_a_group_is_of_rows_of_similar_length_and_its_cost_does_not_depend_on_the_set() -> None:
    """The whole set looked through for each group took 37 s for 200,000 rows."""
    counts = np.arange(100_000) * 7 % 19
    made, seen = groups(counts, np.arange(2 * GROUP_ROWS)), list[Any]()
    (first, _), cost = next(made), peak(lambda: seen.append(next(made)))
    assert cost < 19 * 8 * 10 * GROUP_ROWS, "some arrays of the words of the group"
    assert len(first) == GROUP_ROWS
    assert counts[first].max() <= counts[seen[0][0]].min()


def test_tags_are_taken_as_they_are_and_an_unseen_word_gets_the_commonest() -> None:
    head = tiny_tasks.head_of("sequence_labelling", "tags")
    assert head.classes == ["DET", "NOUN", "X"]
    row = {"id": "a", "tokens": ["the", "\u200b", "house"], "tags": ["DET", "X", "NOUN"]}
    many = [row, {"id": "b", "tokens": ["of", "a"], "tags": ["NOUN", "DET"]}, {**row, "tags": ["NOUN", "X", "NOUN"]}]
    examples = head.examples([row], tiny.tokenizer(), 16)
    tuned = head.tune(many, examples, np.zeros(0))
    assert tuned == {"commonest_tag": 1.0}
    scores = 50 * np.eye(3)[[0, 2]]
    assert head.decode([row], examples, scores, tuned)[0] == [["DET", "NOUN", "X"]]


def test_an_answer_is_as_sure_as_its_least_sure_tag() -> None:
    rows = [
        {"id": "a", "tokens": ["the", "house"], "tags": ["O", "O"]},
        {"id": "b", "tokens": ["\u200b"], "tags": ["O"]},
    ]
    head, examples = tiny_tasks.encoded("sequence_labelling", rows, 16)
    with np.errstate(divide="ignore"):
        scores = np.log(np.array([[0.9, 0.1, 0, 0, 0], [0.2, 0.6, 0.1, 0.1, 0]]))
    answers, confidence, _ = head.decode(rows, examples, scores, NOTHING)
    assert answers == [["O", "B-ATTR"], ["O"]]
    assert confidence.tolist() == pytest.approx([0.6, 1.0])


def test_a_crf_is_trained_on_windows_as_well() -> None:
    """A window that begins within a span is no mistake of the span: its loss stays that of a few words."""
    head = tiny_tasks.head_of("sequence_labelling", "spans", stride=4, decoder="crf")
    rows = [{"id": "a", "tokens": ["estimator"] + ["matrix"] * 30, "tags": ["B-OBJ"] + ["I-OBJ"] * 30}]
    model = model_of(head, 0.0)
    head = head.extend(model)
    examples = head.examples(rows, tiny.tokenizer(), 12)
    targets = head.targets(rows, examples)
    assert len(examples) > 3
    assert targets[:, 1].tolist() == [1] + [0] * 29 + [2]
    module = FineTuning(model, head, tiny_params.optim(), STEPS)
    assert 0 < float(module.training_step(batch_of(examples.labelled(targets), 64), 0).detach()) < 3


def test_another_process_gets_one_crf_and_not_two() -> None:
    """What the loss uses is what is trained there."""
    head = tiny_tasks.head_of("sequence_labelling", "spans", decoder="crf")
    model = model_of(head)
    module = FineTuning(model, head.extend(model), tiny_params.optim(), STEPS)
    sent: Any = pickle.loads(pickle.dumps(module))  # noqa: S301 - as ranks do
    sent.training_step(first_batch(head.extend(model_of(head)), "sequence_labelling", target="spans"), 0).backward()
    assert sent.model.crf.between.grad.abs().sum() > 0
