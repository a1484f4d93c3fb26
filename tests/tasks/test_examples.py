"""Examples: some are what they would be alone; windows cover a text, and each place is answered with most context."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptbert.config.schema.task_types import TARGETS
from adaptbert.tasks.examples import ROW, Examples, gather, owned, windows
from adaptbert.tasks.metrics.scoring import are_alike
from tests.support import tiny, tiny_tasks
from tests.support.peak import peak

ragged = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(ragged, st.booleans(), st.data())
def test_take(ids: list[list[int]], paired: bool, data: st.DataObject) -> None:
    """Some of the examples are what they would be if they alone had been gathered."""
    places = [data.draw(st.lists(st.integers(0, len(row) - 1), max_size=4)) for row in ids]
    spans = [np.array(row, np.int64)[:, None] + [0, number] for number, row in enumerate(places)]
    segments = [[token % 2 for token in row] for row in ids] if paired else None
    rows = list(range(len(ids)))
    examples = gather(ids, places, spans, rows, 0, segments)
    examples = examples.labelled(np.arange(2 * len(examples.places)).reshape(-1, 2))
    chosen = data.draw(st.lists(st.integers(0, len(ids) - 1), min_size=1, max_size=8))
    taken = examples.take(np.array(chosen))
    parts: Any = ([values[i] for i in chosen] for values in (ids, places, spans, rows))
    expected = gather(*parts, 0, [segments[i] for i in chosen] if segments else None)
    for name in ("ids", "lengths", "places", "spans", "counts", "rows", "segments"):
        assert np.array_equal(getattr(taken, name), getattr(expected, name)), name
    assert taken.ids[taken.flat_places()].tolist() == [ids[i][place] for i in chosen for place in places[i]]
    assert taken.owners().tolist() == [n for n, i in enumerate(chosen) for _ in places[i]]
    assert taken.targets is not None
    assert examples.targets is not None
    of_each = np.split(examples.targets, np.cumsum(examples.counts)[:-1])
    assert taken.targets.tolist() == np.concatenate([of_each[i] for i in chosen]).tolist()


def test_the_cost_of_some_examples_does_not_depend_on_the_others() -> None:
    """A micro-batch is taken of a million examples as of a thousand: 2 ms went into where each of them begins."""
    count = 50_000
    one, rows = np.ones(count, np.int64), np.arange(count)
    many = Examples(rows, one, np.zeros(count, np.int64), np.zeros((count, 2), np.int64), one, rows, 0)
    assert many.take(np.array([3])).ids.tolist() == [3]
    assert peak(lambda: many.take(np.arange(40_000, 40_032))) < 8 * count / 10, "a tenth of one number an example"


@pytest.mark.parametrize(("kind", "target"), tiny_tasks.KINDS)
def test_rows_are_tokenised_some_at_a_time(kind: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into the very examples that they are at once; all encodings of a large set took 128 to 285 bytes a token."""
    head, rows = tiny_tasks.head_of(kind, target), tiny_tasks.labelled("domain", kind, 200, 1, target)
    pieces, seen = tiny.tokenizer(), list[int]()
    real = pieces.encode

    def encode(texts: Any) -> Any:
        seen.append(sum(map(len, texts)))
        return real(texts)

    monkeypatch.setattr(pieces, "encode", encode)
    at_once = 3_000
    monkeypatch.setattr("adaptbert.tasks.examples.AT_ONCE", at_once)
    examples = head.examples(rows, pieces, 40)
    assert max(seen) < at_once + ROW
    assert len(seen) > 5
    monkeypatch.setattr("adaptbert.tasks.examples.AT_ONCE", 10**9)
    for name, value in vars(head.examples(rows, pieces, 40)).items():
        assert np.array_equal(getattr(examples, name), value), name
    assert len(head.examples([], pieces, 40)) == 0


@pytest.mark.parametrize(("kind", "target"), tiny_tasks.KINDS)
def test_examples_do_not_read_labels_and_right_answers_score_full_marks(kind: str, target: str) -> None:
    """Rows without an answer make the same examples: prediction needs none, and none can leak."""
    head, rows = tiny_tasks.head_of(kind, target), tiny_tasks.labelled("domain", kind, 40, 1, target)
    column = TARGETS[target].column  # type: ignore[index]
    bare = [{key: value for key, value in row.items() if key != column} for row in rows]
    one, other = (head.examples(source, tiny.tokenizer(), 40) for source in (rows, bare))
    assert np.array_equal(one.ids, other.ids)
    assert np.array_equal(one.spans, other.spans)
    assert len(head.targets(rows, one)) == len(one.places)
    gold = head.gold(rows)
    answers = [right[0] if right else "" for right in gold] if target == "answer" else gold
    scores, names = head.score(gold, answers), TARGETS[target].metrics  # type: ignore[index]
    assert {*scores} == {*names} - {"f1_positive"}, "names of what is computed; that one where the task names a label"
    assert scores[head.metric] == pytest.approx(1)
    assert not are_alike(answers, target)
    assert are_alike([answers[0]] * 9 if target not in ("spans", "tags") else [["O", "O"]] * 9, target)


# Windows

words = st.lists(st.one_of(st.integers(1, 3), st.integers(1, 60)), min_size=1, max_size=40)


@given(words, st.integers(2, 30), st.data())
def test_each_word_begins_in_a_window_and_is_owned_by_that_with_most_context(
    pieces: list[int], room: int, data: st.DataObject
) -> None:
    """No window begins inside a word."""
    stride = data.draw(st.integers(1, room))
    starts = (np.cumsum(pieces) - pieces).tolist()
    ranges = windows(sum(pieces), room, stride, starts)
    assert all(begin in starts and 0 < end - begin <= room for begin, end in ranges)
    assert all(before < after for (before, _), (after, _) in pairwise(ranges))

    def context(place: int, window: int) -> int:
        begin, end = ranges[window]
        return min(place - begin, end - 1 - place)

    of_windows = owned(np.array(starts), ranges)
    assert [place for places in of_windows for place in places] == starts
    for window, places in enumerate(of_windows):
        for place in places:
            assert context(place, window) == max(context(place, other) for other in range(len(ranges)))
            assert context(place, window) >= 0, "it is inside"
