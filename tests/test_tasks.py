"""Examples of both shapes: tokens, places and answers find back to the words they belong to."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.metrics import legal
from adaptbert.tasks import labelled
from adaptbert.tasks.examples import Examples, gather
from adaptbert.tasks.sequence_labelling import SequenceLabelling
from adaptbert.tasks.shapes import SHAPES, shape_of
from adaptbert.tasks.single_sentence import SingleSentence
from tests import tiny

TYPES = ["OBJ", "PER"]
CLASSES = ["O", "B-OBJ", "I-OBJ", "B-PER", "I-PER"]

# Words as users have them: of many pieces, one, or none (what cannot be seen is dropped), and literal special tokens.
words = st.sampled_from(
    ["the", "estimator", "Matrix", "walked-along", "axis=0", "好的", "🙂", "\u200b", "\u00ad\u200b", "[SEP]", "x" * 130]
)
sentence = st.lists(words, min_size=1, max_size=14)


def tagged(found: list[list[str]], draw: np.random.Generator) -> list[dict]:
    return [
        {"id": str(i), "tokens": tokens, "tags": legal([CLASSES[draw.integers(5)] for _ in tokens])}
        for i, tokens in enumerate(found)
    ]


def certain(examples: Examples, classes: int) -> np.ndarray:
    """A model that knows: all probability on the right label of each place."""
    return np.eye(classes)[examples.targets]


@settings(max_examples=80, deadline=None)
@given(st.lists(sentence, min_size=1, max_size=6), st.integers(0, 99))
def test_each_word_finds_its_own_tag(found: list[list[str]], seed: int) -> None:
    """A model that is always right gives each word that has a piece its tag; a word without one is O."""
    pieces, shape = tiny.tokenizer(), SequenceLabelling(TYPES)
    rows = tagged(found, np.random.default_rng(seed))
    examples = shape.examples(rows, pieces, 512)
    assert examples.cut == 0
    answers, confidence = shape.answers(rows, examples, certain(examples, 5))
    assert (confidence == 1).all()
    for row, answer in zip(rows, answers, strict=True):
        seen = [bool(pieces.encode_words([[word]])[0].ids) for word in row["tokens"]]
        assert answer == legal([tag if there else "O" for tag, there in zip(row["tags"], seen, strict=True)])


@settings(max_examples=80, deadline=None)
@given(st.lists(sentence, min_size=1, max_size=6), st.integers(8, 30))
def test_places_are_the_first_pieces_of_words(found: list[list[str]], max_length: int) -> None:
    pieces, shape = tiny.tokenizer(), SequenceLabelling(TYPES)
    examples = shape.examples(tagged(found, np.random.default_rng(0)), pieces, max_length)
    assert int(examples.lengths.max()) <= max_length
    ends, place_ends = np.cumsum(examples.lengths), np.cumsum(examples.counts)
    for i, tokens in enumerate(found):
        ids = examples.ids[ends[i] - examples.lengths[i] : ends[i]]
        places = examples.places[place_ends[i] - examples.counts[i] : place_ends[i]]
        by_word = [encoding.ids for encoding in pieces.encode_words([[word] for word in tokens])]
        expected = [token for part in by_word for token in part][: max_length - 2]
        assert ids.tolist() == [pieces.cls, *expected, pieces.sep]
        starts = [sum(map(len, by_word[:n])) for n, part in enumerate(by_word) if part]
        assert places.tolist() == [1 + start for start in starts if start < max_length - 2]


def test_words_beyond_the_end_are_tagged_o() -> None:
    shape = SequenceLabelling(TYPES)
    row = {"id": "a", "tokens": ["the"] * 20, "tags": ["B-OBJ"] * 20}
    examples = shape.examples([row, row], tiny.tokenizer(), 10)
    assert examples.cut == 2
    answers, _ = shape.answers([row, row], examples, certain(examples, 5))
    assert answers == [["B-OBJ"] * 8 + ["O"] * 12] * 2


def test_an_answer_is_as_sure_as_its_least_sure_tag() -> None:
    shape = SequenceLabelling(TYPES)
    rows = [
        {"id": "a", "tokens": ["the", "house"], "tags": ["O", "O"]},
        {"id": "b", "tokens": ["\u200b"], "tags": ["O"]},
    ]
    examples = shape.examples(rows, tiny.tokenizer(), 16)
    probabilities = np.array([[0.9, 0.1, 0, 0, 0], [0.2, 0.1, 0.6, 0.1, 0]])
    answers, confidence = shape.answers(rows, examples, probabilities)
    assert answers == [["O", "B-OBJ"], ["O"]], "an I- that continues nothing begins a span"
    assert confidence.tolist() == [0.6, 1.0]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(CLASSES), max_size=12))
def test_legal(tags: list[str]) -> None:
    mended = legal(tags)
    previous = "O"
    for old, new in zip(tags, mended, strict=True):
        assert new[1:] == old[1:], "the type stays"
        if new.startswith("I-"):
            assert previous[2:] == new[2:]
        previous = new
    assert legal(mended) == mended
    if all(not tag.startswith("I-") for tag in tags):
        assert mended == tags


def test_single_sentences(tmp_path: Path) -> None:
    pieces, shape = tiny.tokenizer(), SingleSentence(["a", "b", "c"])
    rows = [
        {"id": "1", "text": "the house", "label": "c"},
        {"id": "2", "text": "", "label": "a"},
        {"id": "3", "text": " ".join(["matrix"] * 50), "label": "b"},
    ]
    examples = shape.examples(rows, pieces, 12)
    assert examples.lengths.tolist() == [4, 2, 12]
    assert examples.cut == 1
    assert (examples.ids[examples.flat_places()] == pieces.cls).all(), "the head looks at [CLS]"
    assert examples.targets.tolist() == [2, 0, 1]
    probabilities = np.array([[0.1, 0.2, 0.7], [0.5, 0.4, 0.1], [0.3, 0.4, 0.3]])
    answers, confidence = shape.answers(rows, examples, probabilities)
    assert answers == shape.gold(rows) == ["c", "a", "b"]
    assert confidence.tolist() == [0.7, 0.5, 0.4]
    assert shape.score(answers, answers) == {"f1_macro": 1.0, "accuracy": 1.0}


@pytest.mark.parametrize(
    ("shape", "predicted", "degenerate"),
    [
        (SingleSentence(["a", "b"]), ["a", "a", "a"], True),
        (SingleSentence(["a", "b"]), ["a", "b", "a"], False),
        (SequenceLabelling(TYPES), [["O", "O"], ["O"]], True),
        (SequenceLabelling(TYPES), [["O", "O"], ["B-PER"]], False),
    ],
)
def test_degenerate(shape: SingleSentence | SequenceLabelling, predicted: list, degenerate: bool) -> None:
    assert shape.is_degenerate(predicted) is degenerate


ragged = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(ragged, st.data())
def test_take(ids: list[list[int]], data: st.DataObject) -> None:
    """Some of the examples are what they would be if they alone had been gathered."""
    places = [data.draw(st.lists(st.integers(0, len(row) - 1), max_size=4)) for row in ids]
    words = [[place // 2 for place in row] for row in places]
    targets = [[number * 10 + place for place in row] for number, row in enumerate(places)]
    chosen = data.draw(st.lists(st.integers(0, len(ids) - 1), min_size=1, max_size=8))
    examples = gather(ids, places, words, targets, cut=0)
    assert len(examples) == len(ids)
    taken = examples.take(np.array(chosen))
    expected = gather(*([values[i] for i in chosen] for values in (ids, places, words, targets)), cut=0)
    for name in ("ids", "lengths", "places", "words", "counts", "targets"):
        assert np.array_equal(getattr(taken, name), getattr(expected, name)), name
    looked_at = [ids[i][place] for i in chosen for place in places[i]]
    assert taken.ids[taken.flat_places()].tolist() == looked_at


def test_shapes_by_name() -> None:
    assert {name: type(shape_of(name, ["a", "b"])) for name in SHAPES} == SHAPES


def test_a_subset_of_the_labels_is_a_prefix_of_every_larger_one() -> None:
    rows = [{"id": f"r{number}", "label": "ab"[number % 2]} for number in range(400)]
    ten, hundred = labelled.subset(rows, 10), labelled.subset(rows, 100)
    assert hundred[:10] == ten
    assert labelled.subset(rows[::-1], 10) == ten, "whatever the order of the rows"
    assert labelled.subset(rows, 0) == labelled.subset(rows, 400) == labelled.subset(rows, 999) == rows
    assert 30 < sum(row["label"] == "a" for row in hundred) < 70, "the hash of the id knows nothing of the label"


@pytest.mark.parametrize("shape", list(SHAPES))
def test_a_set_is_read_as_it_was_written(tmp_path: Path, shape: str) -> None:
    folder = tiny.task(tmp_path / "set", shape)
    assert labelled.description(folder)["shape"] == shape
    assert labelled.split(folder, "dev") == tiny.labelled("domain", shape, 24, 11)
