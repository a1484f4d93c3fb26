"""Single sentences (sentiment, topic, a score): [CLS] text [SEP]."""

from collections.abc import Mapping, Sequence
from typing import Any

from adaptbert.config.schema.finetuning import SingleSentenceOptions
from adaptbert.tasks.examples import Examples, whole
from adaptbert.tasks.windows import head_tail, windows
from adaptbert.text.tokenizer import Tokenizer


def encode(
    config: SingleSentenceOptions, rows: Sequence[Mapping[str, Any]], tokenizer: Tokenizer, max_length: int
) -> Examples:
    """Examples of at most `max_length` tokens."""
    texts = [encoding.ids for encoding in tokenizer.encode([row["text"] for row in rows])]
    room = max_length - 2
    parts: list[tuple[int, Sequence[int]]]
    if config.stride is not None:
        numbered = enumerate(texts)
        parts = [(row, ids[a:b]) for row, ids in numbered for a, b in windows(len(ids), room, config.stride)]
        cut = 0
    else:
        parts = [
            (row, ids[:room] if config.long_text == "head" else head_tail(ids, room)) for row, ids in enumerate(texts)
        ]
        cut = sum(len(ids) > room for ids in texts)
    return whole([[tokenizer.cls, *ids, tokenizer.sep] for _, ids in parts], [row for row, _ in parts], cut)
