"""The chain equals brute force over all paths (sum, likelihood, gradients, best path) and decodes no illegal one."""

from collections.abc import Iterator, Sequence
from itertools import product

import pytest
import torch
from torch import Tensor

from adaptbert.tasks.crf import CRF, best_legal

BIO = ["O", "B-X", "I-X", "B-Y", "I-Y"]
COUNTS = torch.tensor([3, 1, 0, 4, 2])
WHOLE = (torch.ones(5), torch.ones(5), 4)
KINDS = [(BIO, True), (["N", "V", "B"], False)]


def is_legal(tags: Sequence[str], are_spans: bool = True) -> bool:
    """By walking along the row, without a table of transitions."""
    inside = ""
    for tag in tags if are_spans else ():
        if tag[:1] == "I" and inside != tag[2:]:
            return False
        inside = tag[2:]
    return True


def crf_of(tags: Sequence[str], are_spans: bool, seed: int = 0) -> CRF:
    made = CRF(tags, are_spans).double()
    torch.manual_seed(seed)
    with torch.no_grad():
        for scores in made.parameters():
            scores.normal_()
    return made


def inputs(tags: Sequence[str], counts: Tensor = COUNTS, seed: int = 1) -> Tensor:
    torch.manual_seed(seed)
    return torch.randn(int(counts.sum()), len(tags), dtype=torch.double, requires_grad=True)


def paths(crf: CRF, tags: Sequence[str], are_spans: bool, logits: Tensor) -> Iterator[tuple[tuple[int, ...], Tensor]]:
    """Every legal path of one sequence and its score, place by place."""
    for path in product(range(len(tags)), repeat=len(logits)):
        if is_legal([tags[number] for number in path], are_spans):
            score = crf.start[path[0]] + crf.end[path[-1]]
            for place, number in enumerate(path):
                score = score + logits[place, number]
                if place:
                    score = score + crf.between[path[place - 1], number]
            yield path, score


@pytest.mark.parametrize(("tags", "are_spans"), KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_likelihood_gradients_marginals_and_best_path_equal_brute_force(
    tags: list[str], are_spans: bool, seed: int
) -> None:
    """The likelihood of some legal path of each sequence: the one in the middle of the list."""
    crf, logits = crf_of(tags, are_spans, seed), inputs(tags, seed=seed + 10)
    brute, targets, best, shares = [], list[int](), list[int](), torch.zeros_like(logits)
    for part, marginals in zip(logits.split(COUNTS.tolist()), shares.split(COUNTS.tolist()), strict=True):
        scores = dict(paths(crf, tags, are_spans, part)) if len(part) else {(): torch.zeros((), dtype=torch.double)}
        of_paths = torch.stack(list(scores.values()))
        path = list(scores)[len(scores) // 2]
        targets += path
        best += max(scores, key=lambda each: scores[each].item())
        brute.append(scores[path] - torch.logsumexp(of_paths, 0))
        for each, share in zip(scores, torch.softmax(of_paths, 0).tolist(), strict=True):
            for place, number in enumerate(each):
                marginals[place, number] += share
    expected = torch.stack(brute)
    likelihoods = crf.log_likelihood(logits, COUNTS, torch.tensor(targets), *WHOLE)
    torch.testing.assert_close(likelihoods, expected)
    assert likelihoods[2] == 0, "a sequence without places"
    weights = torch.tensor([1.0, -2.0, 5.0, 0.5, 3.0], dtype=torch.double)
    by_us = torch.autograd.grad((likelihoods * weights).sum(), [logits, *crf.parameters()])
    by_force = torch.autograd.grad((expected * weights).sum(), [logits, *crf.parameters()])
    torch.testing.assert_close(by_us, by_force)
    torch.testing.assert_close(crf.marginals(logits, COUNTS), shares)
    assert crf.decode(logits, COUNTS).tolist() == best


def test_no_illegal_path_is_decoded_however_much_the_logits_want_it() -> None:
    """Without a CRF the best tags are those of one whose scores are 0."""
    counts = torch.randint(0, 9, (300,), generator=torch.Generator().manual_seed(3))
    logits = 1e5 * inputs(BIO, counts).detach()
    trained, untrained = (crf.decode(logits, counts) for crf in (crf_of(BIO, True), CRF(BIO, True).double()))
    for numbers in (trained, untrained):
        assert all(is_legal([BIO[number] for number in part]) for part in numbers.split(counts.tolist()))
    for scores in (logits, logits.log_softmax(-1)):
        assert best_legal(scores.numpy(), counts.numpy(), BIO).tolist() == untrained.tolist()
    one_by_one = logits.argmax(-1).split(counts.tolist())
    assert sum(not is_legal([BIO[number] for number in part]) for part in one_by_one) > 100, "else this shows nothing"


def test_nothing_but_empty_sequences() -> None:
    crf, nothing, counts = CRF(BIO, True), torch.zeros(0, len(BIO)), torch.tensor([0, 0])
    none = torch.zeros(0, dtype=torch.int64)
    assert crf.log_likelihood(nothing, counts, none, torch.ones(2), torch.ones(2), 0).tolist() == [0, 0]
    assert crf.decode(nothing, counts).tolist() == []


def test_autocast_does_not_reach_the_sums() -> None:
    crf = CRF(BIO, True)
    counts, whole = torch.tensor([120]), (torch.ones(1), torch.ones(1), 120)
    logits = torch.randn(120, 5, generator=torch.Generator().manual_seed(0)).bfloat16()
    targets = crf.decode(logits, counts)
    plain = crf.log_likelihood(logits.float(), counts, targets, *whole)
    with torch.autocast("cpu", torch.bfloat16):
        cast = crf.log_likelihood(logits, counts, targets, *whole)
    assert cast.dtype == torch.float32
    assert cast.item() == plain.item()


@pytest.mark.parametrize("ends", [True, False])
def test_a_window_within_a_row_begins_with_any_tag(ends: bool) -> None:
    """No rule of the start applies to it and no score; against all paths that could stand after a B of their type."""
    crf, logits = crf_of(BIO, True), inputs(BIO, torch.tensor([3]))
    scores = {}
    for path in product(range(len(BIO)), repeat=3):
        names = [BIO[number] for number in path]
        if is_legal(["B" + names[0][1:], *names] if names[0][0] == "I" else names):
            steps = crf.between[path[0], path[1]] + crf.between[path[1], path[2]] + ends * crf.end[path[2]]
            scores[path] = logits[torch.arange(3), torch.tensor(path)].sum() + steps
    chosen = (2, 2, 0)  # I-X I-X O
    expected = scores[chosen] - torch.logsumexp(torch.stack(list(scores.values())), 0)
    arguments = (torch.tensor([3]), torch.tensor(chosen), torch.tensor([0.0]), torch.tensor([float(ends)]), 3)
    torch.testing.assert_close(crf.log_likelihood(logits, *arguments), expected[None], check_dtype=False)
