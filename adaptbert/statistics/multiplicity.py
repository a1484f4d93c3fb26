"""p-values of several questions or several tasks together."""

from collections.abc import Sequence

ADJUSTMENT = "Holm"
"""Whose method `adjusted_p` is, for tables and sentences."""


def adjusted_p(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for several tests, in the order of the argument.

    Holm (1979), "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6(2): the k-th smallest
    of m is multiplied by m - k + 1, and an adjusted value is never below that of a smaller p-value.
    """
    m = len(p_values)
    adjusted = [0.0] * m
    largest = 0.0
    for rank, index in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (m - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def tasks_with_effect(p_values: Sequence[float], level: float) -> int:
    """In how many of the tasks, at least, there is an effect, at this level for the whole statement.

    Partial conjunction: the hypothesis "fewer than u of k" is rejected where (k - u + 1) times the u-th smallest
    p-value is at most `level`. Benjamini & Heller (2008), Biometrics 64(4); for comparisons over data sets Dror et al.
    (2017), "Replicability Analysis for Natural Language Processing", TACL 5. It holds however the tasks depend on each
    other; here they share their rungs.
    """
    k, most = len(p_values), 0
    largest = 0.0
    for u, p in enumerate(sorted(p_values), 1):
        largest = max(largest, (k - u + 1) * p)
        if largest > level:
            break
        most = u
    return most
