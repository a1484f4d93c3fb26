"""The labelled rows that a seed trains on."""

from collections import Counter
from itertools import chain, pairwise

from adaptbert.data import labelled_set as labelled


def test_a_subset_of_the_labels_is_a_prefix_of_every_larger_one_of_its_seed() -> None:
    rows = [{"id": f"r{number}", "label": "ab"[number % 2]} for number in range(400)]
    ten, hundred = labelled.subset(rows, 10, 1), labelled.subset(rows, 100, 1)
    assert hundred[:10] == ten
    assert labelled.subset(rows[::-1], 10, 1) == ten, "whatever the order of the rows"
    for labels in (0, 400, 999):
        assert labelled.subset(rows, labels, 1) == rows
        assert labelled.used(rows, labels) == 400


def test_subsets_of_seeds_are_independent_draws() -> None:
    """Each row is as often in the subset of a seed as another, and two subsets share what chance makes them share."""
    rows = [{"id": f"r{number}", "label": "ab"[number % 2]} for number in range(400)]
    subsets = [{row["id"] for row in labelled.subset(rows, 100, seed)} for seed in range(200)]
    times = Counter(chain.from_iterable(subsets))
    assert len(times) == 400
    # 200 draws with probability 1/4: mean 50, sd 6.1; five of them are no accident.
    assert max(abs(count - 50) for count in times.values()) < 5 * 6.1
    shared = [len(one & other) for one, other in pairwise(subsets)]
    # Hypergeometric: mean 25, sd 3.8, so the mean of 199 has an sd of 0.27.
    assert abs(sum(shared) / len(shared) - 25) < 5 * 0.27
    labels = [sum(row["label"] == "a" for row in labelled.subset(rows, 100, seed)) for seed in range(200)]
    assert abs(sum(labels) / len(labels) - 50) < 5 * 0.31
