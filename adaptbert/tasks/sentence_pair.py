"""Pairs of sentences (similar? entails?): [CLS] a [SEP] b [SEP], segments 0 and 1."""

from collections.abc import Mapping, Sequence
from typing import Any

from adaptbert.config.schema.finetuning import SentencePairOptions
from adaptbert.tasks.examples import Examples, whole
from adaptbert.tasks.windows import head_tail
from adaptbert.text.tokenizer import Tokenizer


def encode(
    config: SentencePairOptions, rows: Sequence[Mapping[str, Any]], tokenizer: Tokenizer, max_length: int
) -> Examples:
    """Examples of at most `max_length` tokens."""
    firsts = [encoding.ids for encoding in tokenizer.encode([row["text_a"] for row in rows])]
    seconds = [encoding.ids for encoding in tokenizer.encode([row["text_b"] for row in rows])]
    ids, segments, cut = [], [], 0
    for a, b in zip(firsts, seconds, strict=True):
        room_a, room_b = rooms(len(a), len(b), max_length - 3)
        cut += room_a < len(a) or room_b < len(b)
        if config.long_text == "head":
            first, second = a[:room_a], b[:room_b]
        else:
            first, second = list(head_tail(a, room_a)), list(head_tail(b, room_b))
        ids.append([tokenizer.cls, *first, tokenizer.sep, *second, tokenizer.sep])
        segments.append([0] * (len(first) + 2) + [1] * (len(second) + 1))
    return whole(ids, range(len(rows)), cut, segments)


def rooms(a: int, b: int, room: int) -> tuple[int, int]:
    """Tokens of two texts after the longer one is cut first, like `longest_first` of Hugging Face."""
    if a + b <= room:
        return a, b
    half = room // 2
    if a <= half:
        return a, room - a
    if b <= half:
        return room - b, b
    return (room - half, half) if a > b else (half, room - half)
