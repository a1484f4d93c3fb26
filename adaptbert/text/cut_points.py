"""Cuts a long text into spans of a maximum number of tokens, at word starts."""

from collections.abc import Iterator, Sequence


def spans(begins: Sequence[bool], room: int) -> Iterator[tuple[int, int]]:
    """First token and last + 1 of each span; cuts are at word starts, unless a word fills half of a span."""
    start = 0
    while start < len(begins):
        end = min(start + room, len(begins))
        if end < len(begins):
            end = next((cut for cut in range(end, start + room // 2, -1) if begins[cut]), end)
        yield start, end
        start = end
