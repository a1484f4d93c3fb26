"""Rows of every task type by the tokenizers of all families: as the stock ones read them, and back to the text."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer

from adaptbert.tasks.examples import Examples
from adaptbert.text.tokenizer import Tokenizer
from tests.support import tiny_tasks
from tests.support.checkpoint_edits import edit
from tests.support.family_tokenizers import family_tokenizer

FAMILIES = ["bert", "mpnet", "roberta", "modernbert", "eurobert", "xlm-roberta", "deberta-v2", "mmbert"]
PERMISSIVE = {"no_answer_threshold": 0.0}
LONG = "  the house stood by a river: 今天天气很好， and walked\n\nalong its bank 🙂 the patient's café 气气 4.2 mmol"


def split(examples: Examples, values: Any) -> list[list[int]]:
    return [part.tolist() for part in np.split(values, np.cumsum(examples.lengths)[:-1])]


@pytest.mark.parametrize("family", FAMILIES)
def test_pairs_lose_what_they_lose_in_transformers(family: str) -> None:
    pieces, stock = Tokenizer(family_tokenizer(family)), family_tokenizer(family)
    head = tiny_tasks.head_of("sentence_pair")
    texts = [LONG, "by a river", LONG[:60], "好"]
    rows = [{"id": "a", "text_a": a, "text_b": b, "label": "code"} for a in texts for b in texts]
    for length in (11, 24, 300):
        examples = head.examples(rows, pieces, length)
        expected = [stock(row["text_a"], row["text_b"], truncation="longest_first", max_length=length) for row in rows]
        pieces.backend.no_truncation()
        assert split(examples, examples.ids) == [each["input_ids"] for each in expected]
        assert (examples.segments is not None) == ("token_type_ids" in expected[0])
        if examples.segments is not None:
            assert split(examples, examples.segments) == [each["token_type_ids"] for each in expected]


@pytest.mark.parametrize("family", FAMILIES)
def test_windows_have_room_for_the_special_tokens_of_the_family(family: str) -> None:
    pieces = Tokenizer(family_tokenizer(family))
    head = tiny_tasks.head_of("single_sentence", long_text="windows", stride=8)
    examples = head.examples([{"id": "a", "text": LONG}], pieces, 10)
    covered = [ids[len(pieces.one.before) : len(ids) - len(pieces.one.after)] for ids in split(examples, examples.ids)]
    assert [number for part in covered for number in part] == pieces.encode([LONG])[0].ids
    assert int(examples.lengths.max()) == 10


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_tokenizer_cuts_where_ours_does(family: str, tmp_path: Path) -> None:
    """Also one that was published to cut at the left, and to pad."""
    family_tokenizer(family).save_pretrained(tmp_path)
    cut = {"direction": "Left", "max_length": 6, "strategy": "LongestFirst", "stride": 0}
    edit(tmp_path, "tokenizer.json", truncation=cut)
    edit(tmp_path, "tokenizer_config.json", truncation_side="left")
    pieces = Tokenizer.load(tmp_path)
    pieces.save(tmp_path / "saved", 10)
    stock, head = AutoTokenizer.from_pretrained(tmp_path / "saved"), tiny_tasks.head_of("single_sentence")
    examples = head.examples([{"id": "a", "text": LONG.strip()}], pieces, 10)
    assert stock(LONG.strip(), truncation=True)["input_ids"] == examples.ids.tolist()
    assert json.loads((tmp_path / "saved/tokenizer.json").read_text())["truncation"] is None


CONTEXT = "  Naïve cafés stood\n by the river,  and “the patient's insulin” fell：今天天气很好。 🙂 4.2 mmol/l "
ANSWERS = ["Naïve", "cafés", "the river", "the patient's insulin", "insulin", "天气", "很好", "🙂", "4.2 mmol/l"]


@pytest.mark.parametrize("length", [32, 200])
@pytest.mark.parametrize("family", FAMILIES)
def test_an_answer_comes_back_without_white_space_around_it(family: str, length: int) -> None:
    """A token may begin with a space, be one, or be some bytes of a character."""
    pieces = Tokenizer(family_tokenizer(family))
    head = tiny_tasks.head_of("extractive_answer", stride=4, max_question=3, max_answer=60)
    rows: list[dict[str, Any]] = [
        {
            "id": text,
            "context": CONTEXT,
            "question": "What fell?",
            "answers": [{"text": text, "start": CONTEXT.index(text)}],
        }
        for text in ANSWERS
    ]
    examples = head.examples(rows, pieces, length)
    assert int(examples.lengths.max()) <= length
    assert (examples.segments is not None) == pieces.has_segments
    if length == 32:
        assert len(examples) > len(rows)
    answers, _, _ = head.decode(rows, examples, 50.0 * head.targets(rows, examples), PERMISSIVE)
    for text, answer in zip(ANSWERS, answers, strict=True):
        assert text in answer
        assert answer == answer.strip()
    for begin, end in examples.spans:
        assert CONTEXT[begin:end] == CONTEXT[begin:end].strip()
    if length == 200:
        texts = "".join(
            CONTEXT[b:e] for b, e in sorted({(int(b), int(e)) for b, e in examples.spans[examples.owners() == 0]})
        )
        assert {*CONTEXT} - {*texts} <= {" ", "\n"}


SENTENCES = [
    ["The", "patient's", "insulin", "fell", "."],
    ["今", "天", "天", "气", "很", "好"],
    ["🙂", "café", "", "ⴰ", "walked-along", "x" * 40, "4.2", "mmol/l"],
    ["the"] * 30,
]


@pytest.mark.parametrize("family", FAMILIES)
def test_each_word_has_the_place_of_its_first_token_that_is_no_space(family: str) -> None:
    pieces, head = Tokenizer(family_tokenizer(family)), tiny_tasks.head_of("sequence_labelling", stride=3)
    rows = [{"id": "a", "tokens": words, "tags": ["O"] * len(words)} for words in SENTENCES]
    examples = head.examples(rows, pieces, 16)
    answered = list(zip(examples.rows[examples.owners()].tolist(), examples.spans[:, 0].tolist(), strict=True))
    expected = [(row, word) for row, words in enumerate(SENTENCES) for word, text in enumerate(words) if text]
    assert answered == expected, "every word once"
    flat = examples.ids[examples.flat_places()]
    for number, words in enumerate(SENTENCES):
        text = " ".join(words)
        (encoding,) = pieces.encode([text])
        begin = 0
        for word_number, word in enumerate(words):
            tokens = [
                token
                for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
                if text[start:end].strip() and begin <= start + len(text[start:end]) - len(text[start:end].lstrip())
            ]
            if word:
                assert flat[answered.index((number, word_number))] == tokens[0]
            begin += len(word) + 1
    answers, _, _ = head.decode(rows, examples, 50.0 * np.eye(len(head.classes))[head.targets(rows, examples)], {})
    assert answers == [row["tags"] for row in rows]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_stride_longer_than_a_window_leaves_nothing_out(family: str) -> None:
    """Options count two special tokens around a text and three in a pair; RoBERTa has four there."""
    pieces = Tokenizer(family_tokenizer(family))
    head = tiny_tasks.head_of("extractive_answer", stride=13, max_question=4, max_answer=4)
    context = " ".join(["the house"] * 20)
    row = {"id": "a", "context": context, "question": "a b c d e", "answers": []}
    examples = head.examples([row], pieces, 20)
    covered = {character for begin, end in examples.spans for character in range(begin, end)}
    assert covered >= {n for n, character in enumerate(context) if character != " "}


@pytest.mark.parametrize("shape", tiny_tasks.USUAL)
def test_a_text_of_which_nothing_is_left_has_a_token_nevertheless(shape: str, tmp_path: Path) -> None:
    """By rules that delete characters and set no special tokens: it would be answered by the vector of the next one."""
    family_tokenizer("modernbert").save_pretrained(tmp_path)
    letters = {"type": "Replace", "pattern": {"Regex": "[^a-z]"}, "content": ""}
    edit(tmp_path, "tokenizer.json", post_processor=None, normalizer=letters)
    pieces, head = Tokenizer.load(tmp_path), tiny_tasks.head_of(shape)
    columns = ("text", "text_a", "text_b", "question", "context")
    rows = [{"id": text, "tokens": [text], **dict.fromkeys(columns, text)} for text in ("the", "🙂", "the")]
    assert head.examples(rows, pieces, 16).lengths[1] == 1
