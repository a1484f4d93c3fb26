"""Answers are parts of the context as it was written, from any window that contains them, or empty."""

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adaptbert.tasks.batches import batch_of
from adaptbert.tasks.examples import Examples
from adaptbert.tasks.heads import head_of
from adaptbert.tasks.question_answering import THRESHOLD, best_threshold
from tests.support import tiny, tiny_tasks

# What a tokenizer changes before it looks a word up: case, accents written in one or two ways, full-width forms,
# Hangul, what it drops, and special tokens as text.
ACCENTS = ["e\u0301tat", "état", "cafe\u0301", "İstanbul", "a\u0308\u0323b", "The"]
FORMS = ["MATRIX", "ＡＢＣ", "ﬁsh", "한국", "好的", "🙂", "\u200bx", "[SEP]", "walked-along", "axis=0,", "x" * 120]
PLAIN = ["The", "MATRIX", "ﬁsh", "好的", "walked-along", "axis=0,", "état"]
PERMISSIVE = {THRESHOLD: 0.0}


@st.composite
def marked(draw: st.DrawFn, words: list[str], most: int) -> tuple[str, int, str]:
    """A context, where a part of it begins, and the part: whole words between spaces."""
    chosen = draw(st.lists(st.sampled_from(words), min_size=1, max_size=most))
    first = draw(st.integers(0, len(chosen) - 1))
    part = chosen[first : first + draw(st.integers(1, 4))]
    return " ".join(chosen), sum(len(word) + 1 for word in chosen[:first]), " ".join(part)


def row(context: str, start: int = 0, text: str = "", question: str = "Which fish?") -> dict[str, Any]:
    answers = [{"text": text, "start": start}] if text else []
    return {"id": "a", "context": context, "question": question, "answers": answers}


def certain(head: Any, rows: list[dict[str, Any]], examples: Examples) -> np.ndarray:
    """Scores of a model that knows."""
    scores: np.ndarray = 50.0 * head.targets(rows, examples)
    return scores


@settings(max_examples=150, deadline=None)
@given(marked([*ACCENTS, *FORMS], 25), st.sampled_from([24, 40, 200]))
def test_an_answer_comes_back_as_it_stands_in_the_context(part: tuple[str, int, str], max_length: int) -> None:
    """Through normalisation, lower-casing and windows: the very same characters."""
    pieces, (context, _, text) = tiny.tokenizer(), part
    head, rows = tiny_tasks.head_of("extractive_answer", stride=4, max_question=3, max_answer=300), [row(*part)]
    examples = head.examples(rows, pieces, max_length)
    assert int(examples.lengths.max()) <= max_length
    assume(len(pieces.encode([text])[0].ids) <= max_length - 3 - 3 - 4 + 1)  # so that some window holds all of it
    assume(len(pieces.encode([text.split(" ")[0]])[0].ids) > 0)
    answers, confidence, _ = head.decode(rows, examples, certain(head, rows, examples), PERMISSIVE)
    assert answers[0].strip("\u200b") == text.strip("\u200b")
    assert answers[0] in context
    assert confidence[0] > 0.99


LONG = " ".join(["house"] * 10 + ["the", "values", "of", "the", "matrix"] + ["house"] * 9)
NARROW = {"stride": 4, "max_question": 3, "max_answer": 4}
"""With examples of 14 tokens: the windows are words 0 to 8, 4 to 12, 8 to 16 of the context and so on."""
TOO_WIDE = "house house the values of the matrix house house"
ACROSS = "values of the matrix house house"
TOO_LONG = "the values of the matrix"


def answered(*texts: str) -> dict[str, Any]:
    return {**row(LONG), "answers": [{"text": text, "start": LONG.index(text)} for text in texts]}


def test_unanswerable_rows_are_counted() -> None:
    """Whole in no window, or in some but too long to be answered; of several right ones the best counts."""
    unanswerable = [answered(TOO_WIDE), answered(ACROSS), answered(TOO_WIDE, TOO_LONG), answered(TOO_LONG)]
    rows = [*unanswerable, answered("values of"), answered(TOO_WIDE, TOO_LONG, "matrix"), row(LONG)]
    head, examples = tiny_tasks.encoded("extractive_answer", rows, 14, **NARROW)
    assert head.unanswerable(rows, examples) == {"answers_cut_away": 2, "answers_too_long": 2}
    scores = certain(head, rows, examples)
    has_answer = [answer != "" for answer in head.decode(rows, examples, scores, PERMISSIVE)[0]]
    assert has_answer[:2] + has_answer[4:5] == [False, False, True], "as one that knows answers"
    assert head.unanswerable(rows[-1:], head.examples(rows[-1:], tiny.tokenizer(), 14)) == dict.fromkeys(
        ["answers_cut_away", "answers_too_long"], 0
    )


@pytest.mark.parametrize("may_be_none", [False, True])
def test_no_window_is_trained_to_say_no_where_each_question_has_an_answer(may_be_none: bool) -> None:
    """A row whose answer no window holds; the windows of another that lack its answer point to [CLS] as ever."""
    task = tiny_tasks.described("extractive_answer", no_answer=may_be_none)
    head, rows = (
        head_of(task, tiny_tasks.options("extractive_answer", **NARROW)),
        [answered(ACROSS), answered("values")],
    )
    examples = head.examples(rows, tiny.tokenizer(), 14)
    targets = head.targets(rows, examples)
    batch = batch_of(examples.labelled(targets), 64)
    scores = torch.randn(len(targets), 2, generator=torch.manual_seed(0)).requires_grad_()
    head.loss(scores, batch).backward()
    assert scores.grad is not None
    learnt = scores.grad.abs().sum(1).numpy() > 0
    cut = examples.rows[examples.owners()] == 0
    assert learnt[~cut].all()
    assert learnt[cut].all() if may_be_none else not learnt[cut].any()
    assert targets.sum(0).tolist() == [10.0, 10.0] if may_be_none else [5.0, 5.0]


def test_a_context_of_several_questions_is_tokenised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces, head, seen = tiny.tokenizer(), tiny_tasks.head_of("extractive_answer"), list[str]()
    real = pieces.encode

    def encode(texts: Any) -> Any:
        seen.extend(texts)
        return real(texts)

    monkeypatch.setattr(pieces, "encode", encode)
    questions = [
        row(context, question=f"Which {thing}?") for context in ("the fish", "état") for thing in ("one", "two")
    ]
    examples = head.examples(questions, pieces, 64)
    assert sorted(seen) == sorted(["Which one?", "Which two?"] * 2 + ["the fish", "état"])
    assert examples.rows.tolist() == [0, 1, 2, 3]


@settings(max_examples=100, deadline=None)
@given(marked(PLAIN, 40), st.integers(3, 9))
def test_windows_and_targets_are_those_of_transformers_own_preparation(part: tuple[str, int, str], stride: int) -> None:
    """As its example of question answering asks its tokenizer for them; it names an overlap, we name a step."""
    pieces, (context, start, text), question, length = tiny.tokenizer(), part, "Which fish?", 24
    question_tokens = len(pieces.encode([question])[0].ids)
    head, rows = tiny_tasks.head_of("extractive_answer", stride=stride), [row(*part, question)]
    examples = head.examples(rows, pieces, length)
    theirs = deepcopy(pieces.hugging_face)(  # a call leaves its truncation in the tokenizer
        question,
        context,
        truncation="only_second",
        max_length=length,
        stride=length - 3 - question_tokens - stride,
        return_overflowing_tokens=True,
    )
    assert [part.tolist() for part in np.split(examples.ids, np.cumsum(examples.lengths)[:-1])] == theirs["input_ids"]
    assert examples.segments is not None
    assert examples.segments.tolist() == [kind for window in theirs["token_type_ids"] for kind in window]
    targets = np.split(head.targets(rows, examples), np.cumsum(examples.counts)[:-1])
    for window, marks in enumerate(targets):
        ends = [theirs.char_to_token(window, place, 1) for place in (start, start + len(text) - 1)]
        assert marks.argmax(0).tolist() == ([0, 0] if None in ends else ends)


def brute(spans: np.ndarray, scores: np.ndarray, longest: int) -> tuple[float, tuple[int, int]]:
    best: tuple[float, tuple[int, int]] = (-np.inf, (0, 0))
    inside = [place for place in range(len(spans)) if spans[place, 1] > spans[place, 0]]
    for number, first in enumerate(inside):
        for last in inside[number : number + longest]:
            score = scores[first, 0] + scores[last, 1]
            if score > best[0]:
                best = (score, (int(spans[first, 0]), int(spans[last, 1])))
    return best


@pytest.mark.parametrize("longest", [1, 3, 50])
def test_the_best_legal_span_over_all_windows(longest: int) -> None:
    """Start before end, not too long, inside the context: as trying every span finds it."""
    texts = [" ".join(tiny.sentences("domain", 3, seed)) for seed in range(6)]
    rows = [row(text) for text in texts]
    head, examples = tiny_tasks.encoded("extractive_answer", rows, 24, stride=7, max_answer=longest, max_question=3)
    scores = np.random.default_rng(0).normal(size=(len(examples.places), 2))
    answers, confidence, _ = head.decode(rows, examples, scores, {THRESHOLD: 1e9})
    ends = np.cumsum(examples.counts)
    for number, answer in enumerate(answers):
        candidates = [
            brute(examples.spans[end - count : end], scores[end - count : end], longest)
            for end, count, of in zip(ends, examples.counts, examples.rows, strict=True)
            if of == number
        ]
        assert len(candidates) > 2
        assert answer == texts[number][slice(*max(candidates)[1])]
    assert ((confidence > 0) & (confidence < 1)).all()


def test_no_answer_when_it_is_better_than_the_best_span_by_more_than_the_threshold() -> None:
    """Its score is the lowest of all windows: one that is sure to hold the answer is enough."""
    options = tiny_tasks.options("extractive_answer", stride=4, max_question=3)
    may, must = (head_of(tiny_tasks.described("extractive_answer", no_answer=none), options) for none in (True, False))
    rows = [row(" ".join(["house"] * 12))]
    examples = may.examples(rows, tiny.tokenizer(), 14)
    first, context = np.cumsum(examples.counts) - examples.counts, np.flatnonzero(examples.spans[:, 1] > 0)
    scores = np.zeros((len(examples.places), 2))
    scores[first], scores[context[1]] = 3.0, 1.0  # 2 against 6
    assert may.decode(rows, examples, scores, {THRESHOLD: 3.9}).answers == [""]
    assert may.decode(rows, examples, scores, {THRESHOLD: 4.1}).answers == ["house"]
    assert must.tune(rows, examples, scores) == {}
    assert must.decode(rows, examples, scores, {}).answers == ["house"], "a set in which every question has one"
    scores[first[1]] = -5.0
    assert may.decode(rows, examples, scores, PERMISSIVE).answers == ["house"]


def test_the_threshold_is_tuned_to_the_best_f1() -> None:
    """Rows without an answer have the larger margins but one: the best cut stands between."""
    rows = [row("the fish", 4, "fish") for _ in range(6)] + [row("the house") for _ in range(6)]
    head, examples = tiny_tasks.encoded("extractive_answer", rows, 20, stride=8, max_question=3)
    scores = np.zeros((len(examples.places), 2))
    first = np.cumsum(examples.counts) - examples.counts
    margins = [-3.0, -2.5, -2.0, -1.5, -1.0, 4.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    scores[first, 0] = margins
    span = np.flatnonzero(examples.spans[:, 1] > 0)[1::2]  # the last word of each row
    scores[span] = 1e-3
    tuned = head.tune(rows, examples, scores)
    assert -1.0 < tuned[THRESHOLD] < 0.5
    answers, _, _ = head.decode(rows, examples, scores, tuned)
    assert answers == ["fish"] * 5 + [""] * 7
    assert head.score(head.gold(rows), answers)["f1_answer"] == pytest.approx(11 / 12)


@given(st.lists(st.tuples(st.integers(-4, 4), st.floats(0, 1), st.booleans()), min_size=1, max_size=20))
def test_no_threshold_is_better(rows: list[tuple[int, float, bool]]) -> None:
    margin = np.array([float(m) for m, _, _ in rows])
    answered = np.array([0.0 if none else f1 for _, f1, none in rows])
    silent = np.array([float(none) for _, _, none in rows])

    def score(threshold: float) -> float:
        return float(np.where(margin > threshold, silent, answered).mean())

    assert score(best_threshold(margin, answered, silent)) == pytest.approx(max(map(score, np.arange(-5.5, 6))))


def test_a_context_that_nothing_can_be_seen_of() -> None:
    rows = [row("\u200b"), row("fish", 0, "fish")]
    head, examples = tiny_tasks.encoded("extractive_answer", rows, 20, stride=8, max_question=3)
    scores = certain(head, rows, examples)
    tuned = head.tune(rows, examples, scores)
    assert np.isfinite(tuned[THRESHOLD])
    assert head.decode(rows, examples, scores, tuned)[0] == ["", "fish"]
