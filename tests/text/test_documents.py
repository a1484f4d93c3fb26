"""Documents are what a loop over single tokens makes of a text, written out here in the plainest way."""

import random
from typing import Any

import numpy as np
import pytest

from adaptbert.text.documents import Cutter
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.text.words import Segmenter
from tests.support import tiny


def plainly(text: str, pieces: Tokenizer, max_length: int) -> list[dict[str, Any]]:
    """One text, token by token."""
    encoding = pieces.encode([text])[0]
    ids, words, offsets = encoding.ids, encoding.word_ids, encoding.offsets
    begins = [number == 0 or words[number] != words[number - 1] for number in range(len(ids))]
    room, start, documents = max_length - 2, 0, []
    while start < len(ids):
        end = min(start + room, len(ids))
        if end < len(ids):
            between = [cut for cut in range(start + room // 2 + 1, end + 1) if begins[cut]]
            end = between[-1] if between else end
        documents.append(
            {
                "ids": [pieces.cls, *ids[start:end], pieces.sep],
                "word_starts": [True, *begins[start:end], True],
                "characters": offsets[end - 1][1] - offsets[start][0],
            }
        )
        start = end
    return documents


def texts(count: int, seed: int) -> list[str]:
    """Sentences, long texts, endless words, Chinese, what no vocabulary knows, and nothing at all."""
    draw = random.Random(seed)
    sentences = tiny.sentences("domain", 40, seed)
    drawn = []
    for _ in range(count):
        parts = [
            draw.choice(sentences),
            " ".join(draw.choices(sentences, k=draw.randint(2, 12))),
            "".join(draw.choices("abcdefghij", k=draw.randint(1, 90))),
            "天气很好，今天。" * draw.randint(1, 9),
            draw.choice(["", "   ", "\u200b", "\n"]),
            draw.choice(["[MASK] [CLS]", "É́e\u0301 ﬁ ①", "🙂🙂", "ⴰⵎⴰ", "1999.5-a_b"]),
        ]
        drawn.append(" ".join(draw.sample(parts, draw.randint(1, 3))))
    return drawn


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("max_length", [8, 9, 17, 64])
def test_documents_are_those_of_the_plain_way(max_length: int, lowercase: bool) -> None:
    tokenizer = tiny.tokenizer(lowercase)
    cutter = Cutter.of(tokenizer, max_length, Segmenter())
    for count in (0, 1, 2, 150):
        batch = texts(count, seed=max_length + count)
        expected = [document for text in batch for document in plainly(text, tokenizer, max_length)]
        documents = cutter(batch)
        assert documents.ids.dtype == np.uint16
        assert documents.ids.tolist() == [token for document in expected for token in document["ids"]]
        assert documents.word_starts.tolist() == [start for document in expected for start in document["word_starts"]]
        assert documents.lengths.tolist() == [len(document["ids"]) for document in expected]
        assert documents.characters.tolist() == [document["characters"] for document in expected]
        assert documents.unknown == documents.ids.tolist().count(tokenizer.unknown)
    assert max_length == 64 or len(expected) > 150, "some are cut"
