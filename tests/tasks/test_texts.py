"""Texts and pairs: which tokens, how much each label counts, and what labels and numbers are made of the scores."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from adaptbert.tasks import class_weights, heads
from adaptbert.tasks.batches import batch_of
from adaptbert.tasks.head import TaskHead
from adaptbert.tasks.outputs import outputs
from adaptbert.training.micro_batches import MicroBatch
from tests.support import tiny, tiny_tasks
from tests.support.short_runs import model_of

LONG = " ".join(f"{word} matrix" for word in ("the", "house", "of", "values", "that", "axis", "shape", "is", "by", "a"))
NOTHING: dict[str, float] = {}


def tokens(head: TaskHead, rows: list[dict[str, Any]], max_length: int) -> list[list[str]]:
    pieces = tiny.tokenizer()
    examples = head.examples(rows, pieces, max_length)
    names = [pieces.tokens[number] for number in examples.ids]
    return [part.tolist() for part in np.split(np.array(names), np.cumsum(examples.lengths)[:-1])]


def test_single_sentences() -> None:
    pieces, head = tiny.tokenizer(), tiny_tasks.head_of("single_sentence")
    texts = {"the house": "prose", "": "code", " ".join(["matrix"] * 50): "code"}
    rows = [{"id": text, "text": text, "label": label} for text, label in texts.items()]
    examples = head.examples(rows, pieces, 12)
    assert (examples.lengths.tolist(), examples.cut) == ([4, 2, 12], 1)
    assert (examples.ids[examples.flat_places()] == pieces.one.before[0]).all(), "the head looks at [CLS]"
    assert head.targets(rows, examples).tolist() == [1, 0, 0]
    answers, confidence, _ = head.decode(rows, examples, np.log([[0.3, 0.7], [0.6, 0.4], [0.5, 0.5]]), NOTHING)
    assert answers == head.gold(rows) == ["prose", "code", "code"]
    assert confidence.tolist() == pytest.approx([0.7, 0.6, 0.5])


@pytest.mark.parametrize(
    ("options", "indices", "cut"),
    [
        ({"long_text": "head"}, [range(8)], 1),
        ({"long_text": "head_tail"}, [[0, 1, 14, 15, 16, 17, 18, 19]], 1),
        ({"long_text": "windows", "stride": 8}, [range(8), range(8, 16), range(16, 20)], 0),
        ({"long_text": "windows", "stride": 6}, [range(8), range(6, 14), range(12, 20)], 0),
    ],
)
def test_long_texts(options: dict[str, Any], indices: list[Any], cut: int) -> None:
    """There is room for eight of twenty tokens."""
    head = tiny_tasks.head_of("single_sentence", **options)
    rows = [{"id": "a", "text": LONG, "label": "code"}, {"id": "b", "text": "by a", "label": "prose"}]
    whole = LONG.split()
    encoded = tokens(head, rows, 10)
    assert encoded[:-1] == [["[CLS]", *(whole[i] for i in numbers), "[SEP]"] for numbers in indices]
    examples = head.examples(rows, tiny.tokenizer(), 10)
    assert examples.cut == cut
    assert examples.rows.tolist() == [0] * len(indices) + [1]
    assert head.targets(rows, examples).tolist() == [0] * len(indices) + [1], "each window has the label of its row"


def test_the_scores_of_windows_are_averaged() -> None:
    rows = [{"id": "b", "text": "by a"}, {"id": "a", "text": LONG}]
    head, examples = tiny_tasks.encoded("single_sentence", rows, 10, long_text="windows", stride=8)
    answers, sure, _ = head.decode(rows, examples, np.array([[0.0, 1], [9, 0], [0, 2], [0, 4]]), NOTHING)
    assert answers == ["prose", "code"], "two of three windows say prose; their mean says code"
    assert sure[1] == pytest.approx(1 / (1 + np.exp(-1)))


words = st.lists(
    st.sampled_from(["the", "house", "estimator", "walked-along", "好的", "[SEP]"]), min_size=1, max_size=12
)


@settings(max_examples=60, deadline=None)
@given(words, words, st.integers(8, 30))
def test_pairs_are_what_hugging_face_makes_of_them(first: list[str], second: list[str], max_length: int) -> None:
    """Tokens, segments, and which text loses how much."""
    pieces, head = tiny.tokenizer(), tiny_tasks.head_of("sentence_pair")
    row = {"id": "a", "text_a": " ".join(first), "text_b": " ".join(second), "label": "code"}
    examples = head.examples([row], pieces, max_length)
    whole = pieces.hugging_face(row["text_a"], row["text_b"])
    try:
        stock = pieces.hugging_face(row["text_a"], row["text_b"], truncation="longest_first", max_length=max_length)
    finally:
        pieces.backend.no_truncation()
    assert examples.ids.tolist() == stock["input_ids"]
    assert examples.segments is not None
    assert examples.segments.tolist() == stock["token_type_ids"]
    assert examples.cut == (len(whole["input_ids"]) > max_length)


def test_a_pair_may_keep_both_ends_of_its_texts() -> None:
    row = {"id": "a", "text_a": LONG, "text_b": "by a", "label": "code"}
    whole = LONG.split()
    for long_text, kept in (("head", whole[:13]), ("head_tail", whole[:3] + whole[-10:])):
        (encoded,) = tokens(tiny_tasks.head_of("sentence_pair", long_text=long_text), [row], 18)
        assert encoded == ["[CLS]", *kept, "[SEP]", "by", "a", "[SEP]"]


def test_several_labels_are_those_more_probable_than_not() -> None:
    rows = tiny_tasks.labelled("domain", "single_sentence", 4, 1, "labels")
    head, examples = tiny_tasks.encoded("single_sentence", rows, 64, "labels")
    scores = np.array([[2.0, -2.0], [-1.0, -3.0], [0.1, 0.2], [-0.1, 5.0]])
    answers, confidence, _ = head.decode(rows, examples, scores, NOTHING)
    assert answers == [["attribute"], [], ["attribute", "object"], ["object"]]
    assert confidence.tolist() == pytest.approx((1 / (1 + np.exp(-np.abs(scores)))).min(1))
    assert head.targets(rows, examples).tolist() == [
        [float(label in row["labels"]) for label in ("attribute", "object")] for row in rows
    ]


def test_a_folded_regression_head_predicts_in_the_unit_of_the_targets() -> None:
    """Before, the head learns in the unit of the range; afterwards the weights know it, and answers are the same."""
    head = tiny_tasks.head_of("single_sentence", "number")
    rows = tiny_tasks.labelled("domain", "single_sentence", 8, 1, "number")
    model = model_of(head)
    examples = head.examples(rows, tiny.tokenizer(), 64)
    scores = outputs(model, head.logits, examples, 64, "32-true")
    before, _, _ = head.decode(rows, examples, scores, NOTHING)
    assert all(130 < value < 140 for value in before), "an untrained head is near the middle of the range"
    batch = batch_of(examples.labelled(head.targets(rows, examples)), 64)
    errors = [(value - row["value"]) / 35 for value, row in zip(before, rows, strict=True)]  # half of 100 to 170
    assert float(head.loss(torch.from_numpy(scores), batch)) == pytest.approx(np.square(errors).mean())
    folded = head.fold_scale(model)
    after, _, _ = folded.decode(rows, examples, outputs(model, folded.logits, examples, 64, "32-true"), NOTHING)
    assert after == pytest.approx(before, abs=1e-4)
    text = tiny.tokenizer().hugging_face(rows[0]["text"], return_tensors="pt")
    assert model.eval()(**text).logits.item() == pytest.approx(before[0], abs=1e-4), "the stock model says so, too"


def test_balanced_weights() -> None:
    targets = np.array([0, 0, 0, 1])
    assert class_weights.weights("balanced", ["a", "b"], targets) == pytest.approx([4 / 6, 2.0])
    several = np.array([[1, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 1]], np.float32)
    assert class_weights.weights("balanced", ["a", "b", "c"], several) == [3.0, 1.0, 1.0]
    assert class_weights.weights({"b": 5.0, "a": 1.0}, ["a", "b"], targets) == [1.0, 5.0]


def test_the_loss_is_weighted() -> None:
    def loss(target: str, weights: list[float], scores: torch.Tensor, targets: torch.Tensor) -> float:
        task, options = tiny_tasks.described("single_sentence", target), tiny_tasks.options("single_sentence")
        batch: Any = SimpleNamespace(targets=targets, mean=MicroBatch(counts={"places": len(targets)}).mean)
        return float(heads.head_of(task, options, weights).loss(scores, batch))

    scores = torch.tensor([[1.0, -1.0], [0.5, 2.0], [0.0, 0.3]])
    each = functional.cross_entropy(scores, torch.tensor([0, 1, 0]), reduction="none")
    weighted = loss("class", [1.0, 3.0], scores, torch.tensor([0, 1, 0]))
    assert weighted == pytest.approx(float((each[0] + 3 * each[1] + each[2]) / 3))
    yes = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    logs = yes * torch.tensor([2.0, 5.0]) * functional.logsigmoid(scores) + (1 - yes) * functional.logsigmoid(-scores)
    assert loss("labels", [2.0, 5.0], scores, yes) == pytest.approx(float(-logs.mean()))
