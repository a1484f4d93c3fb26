"""Single sentences (sentiment, topic, a score): [CLS] text [SEP]."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import contradiction
from adaptbert.tasks.examples import Examples, whole
from adaptbert.tasks.task_options import SentenceOptions
from adaptbert.tasks.windows import head_tail, windows
from adaptbert.text.tokenizer import Tokenizer


class SingleSentenceConfig(SentenceOptions):
    """How single sentences are encoded."""

    long_text: Literal["head", "head_tail", "windows"]
    """Of a text longer than `max_length`: its beginning; the first quarter and the rest from the end; or all of it in
    windows, whose scores are averaged."""
    stride: Annotated[int, Field(gt=0, le=bounds.POSITIONS)] | None = None
    """Tokens by which a window begins after the one before it. For `windows`."""

    @model_validator(mode="after")
    def _agree(self) -> "SingleSentenceConfig":
        if (self.stride is not None) != (self.long_text == "windows"):
            raise contradiction(f"long_text '{self.long_text}' and stride {self.stride}: windows need one, others none")
        return self

    def check_room(self, max_length: int) -> None:
        if self.stride is not None and self.stride > max_length - 2:
            problem = f"stride {self.stride} leaves out tokens: max_length {max_length} holds two less"
            raise contradiction(problem, f"write a stride of at most {max_length - 2}")


def encode(
    config: SingleSentenceConfig, rows: Sequence[Mapping[str, Any]], tokenizer: Tokenizer, max_length: int
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
