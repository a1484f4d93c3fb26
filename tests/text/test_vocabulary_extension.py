"""An extended vocabulary keeps the old ids and cuts no input into more pieces; embeddings grow with it."""

import random
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from transformers import AutoModel, AutoTokenizer, BertForMaskedLM, BertForPreTraining, BertTokenizer

from adaptbert.config.schema.text import Extension
from adaptbert.model.checkpoint import grow
from adaptbert.text.tokenizer import SPECIALS, Tokenizer
from adaptbert.text.vocabulary_extension import WordPieces, extend_vocabulary, with_words
from tests.support import tiny
from tests.support.encoders import NAMED

LETTERS = "abc"


class Extended(NamedTuple):
    tokenizer: Tokenizer
    words: list[str]
    metrics: dict[str, float]


def wordpiece(tokens: list[str]) -> Tokenizer:
    return Tokenizer(BertTokenizer(vocab={t: i for i, t in enumerate([*SPECIALS, *tokens])}, do_lower_case=True))


@cache
def crowded(seed: int) -> Tokenizer:
    """Few letters and many pieces, so that pieces reach across every border; `c` may not go on a word."""
    draw = random.Random(seed)
    letters = [*LETTERS, *(f"##{letter}" for letter in LETTERS if letter != "c" or seed % 2)]
    longer = {"".join(draw.choice(LETTERS) for _ in range(draw.randint(2, 4))) for _ in range(12)}
    return wordpiece([*letters, *sorted(draw.choice(["", "##"]) + piece for piece in sorted(longer))])


def extension(tokenizer: Tokenizer, texts: list[str], count: int = 30, min_frequency: int = 1) -> Extended:
    """The new tokenizer, the words that it has more, and the metrics."""
    config = Extension(corpora=["domain"], num_new_tokens=count, min_frequency=min_frequency)
    new, metrics = extend_vocabulary(tokenizer, texts, config)
    return Extended(new, new.tokens[tokenizer.size :], metrics)


def cost(tokenizer: Tokenizer, text: str) -> int:
    """Pieces, an unknown word as one more than its characters: by the tokenizer itself."""
    encoding = tokenizer.encode([text])[0]
    return sum(
        1 if number != tokenizer.unknown else end - start + 1
        for number, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
    )


words = st.text(LETTERS, min_size=1, max_size=14)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 30), st.lists(words, min_size=1, max_size=8), st.lists(words, min_size=1, max_size=30))
def test_no_input_is_cut_into_more_pieces(seed: int, domain: list[str], inputs: list[str]) -> None:
    old = crowded(seed)
    new = extension(old, domain).tokenizer
    stems = [word + rest for word in new.tokens[old.size :] for rest in inputs[:5]]
    for text in [*inputs, *stems, " ".join(inputs)]:
        assert cost(new, text) <= cost(old, text), text
        unknown = [tokenizer.encode([text])[0].ids.count(tokenizer.unknown) for tokenizer in (old, new)]
        assert unknown[1] <= unknown[0], text
        if not unknown[0]:
            assert len(new.encode([text])[0].ids) <= len(old.encode([text])[0].ids)


def test_without_its_family_a_word_would_spoil_longer_ones() -> None:
    """The example of the module: the guard is needed, and is what keeps the promise."""
    old = wordpiece(["glu", "##co", "##cose", "##s", "##e", "##o", "##c", "g"])
    alone = with_words(old, ["gluco"])
    assert len(old.encode(["glucose"])[0].ids) == 2
    assert len(alone.encode(["glucose"])[0].ids) == 3
    assert WordPieces(old).family("gluco") == ["gluco", "glucose"]
    assert extension(old, ["gluco gluco"]).words == ["gluco", "glucose"]
    assert extension(old, ["gluco gluco"], count=1).words == [], "no room for both"


@settings(deadline=None)
@given(st.integers(0, 30), words)
@example(0, "cc")
def test_pieces_are_the_tokenizers(seed: int, word: str) -> None:
    tokenizer = crowded(seed)
    assert WordPieces(tokenizer).cost(word) == cost(tokenizer, word)


def test_old_tokens_keep_their_ids_and_the_rest_is_plain_vocabulary(tmp_path: Path) -> None:
    old, text = tiny.tokenizer(), ["tokenization tokenizations retokenized"] * 3
    extended = extension(old, text, count=200)
    new = extended.tokenizer
    assert extended.words
    assert new.tokens[: old.size] == old.tokens
    assert new.extends(old)
    assert not old.extends(new)
    assert not new.extends(tiny.tokenizer(lowercase=False))
    new.save(tmp_path)
    again = AutoTokenizer.from_pretrained(str(tmp_path))
    assert isinstance(again, BertTokenizer)
    assert set(again.get_added_vocab()) == set(SPECIALS), "no added tokens"
    assert Tokenizer.load(tmp_path).fingerprint == new.fingerprint != old.fingerprint
    assert [len(e.ids) for e in new.encode(["Tokenization", "tokenizations"])] == [1, 1]


def test_metrics_count_the_savings() -> None:
    old, texts = tiny.tokenizer(), ["Reestimated shape.", "reestimated 🙂🙂 axis"] * 5
    extended = extension(old, texts, count=100, min_frequency=5)
    before, after = ([len(e.ids) for e in tokenizer.encode(texts)] for tokenizer in (old, extended.tokenizer))
    metrics = extended.metrics
    assert metrics["tokens_per_character_before"] == pytest.approx(sum(before) / sum(map(len, texts)))
    assert metrics["tokens_saved"] == pytest.approx(1 - sum(after) / sum(before))
    assert metrics["tokens_saved"] > 0.2, extended.words
    assert (metrics["unknown_rate_before"] > 0, metrics["unknown_rate_after"]) == (True, 0), "an unknown word is learnt"
    assert extension(old, texts, min_frequency=11).words == []
    assert extension(old, texts, count=100, min_frequency=5).words == extended.words


def test_the_most_frequent_words_come_first() -> None:
    old = wordpiece([*"abcdefg", *(f"##{letter}" for letter in "abcdefg")])
    texts = ["abcd"] * 3 + ["efg"] * 9 + ["ga"] * 4 + ["be"]
    assert extension(old, texts, count=2, min_frequency=2).words == ["efg", "abcd"], "9 x 2, 3 x 3, 4 x 1"
    assert extension(old, texts, min_frequency=2).words == ["efg", "abcd", "ga"]


@pytest.mark.parametrize("kind", [BertForMaskedLM, BertForPreTraining])
@pytest.mark.parametrize("padding", [0, 20])
def test_embeddings_and_bias_grow_by_the_means_of_the_pieces(kind: type, padding: int, tmp_path: Path) -> None:
    """Also where the embeddings have more rows than the old tokenizer has tokens."""
    old = tiny.tokenizer()
    new = extension(old, ["retokenized estimators 🙂🙂"], count=60).tokenizer
    config = tiny.config()
    config.vocab_size += padding
    torch.manual_seed(0)
    model = kind(config)
    with torch.no_grad():
        model.cls.predictions.bias.normal_()
    rows, bias = (
        value.detach().clone() for value in (model.bert.embeddings.word_embeddings.weight, model.cls.predictions.bias)
    )
    grow(model, old, new)

    grown = model.bert.embeddings.word_embeddings.weight
    assert len(grown) == len(model.cls.predictions.bias) == model.config.vocab_size == max(len(rows), new.size)
    assert model.cls.predictions.decoder.weight is grown, "tied"
    assert model.cls.predictions.decoder.bias is model.cls.predictions.bias
    assert torch.equal(grown[: old.size], rows[: old.size])
    assert torch.equal(model.cls.predictions.bias[: old.size], bias[: old.size])
    for number in range(old.size, new.size):
        ids = old.encode([new.tokens[number]])[0].ids
        assert len(ids) > 1 or ids == [old.unknown]
        torch.testing.assert_close(grown[number], rows[ids].mean(0))
        torch.testing.assert_close(model.cls.predictions.bias[number], bias[ids].mean())
    model.save_pretrained(str(tmp_path))
    loaded = AutoModel.from_pretrained(str(tmp_path))
    assert np.array_equal(loaded.embeddings.word_embeddings.weight.detach(), grown.detach())


def test_a_decoder_without_a_bias_grows_as_well() -> None:
    old = tiny.tokenizer()
    new = extension(old, ["retokenized estimators"], count=60).tokenizer
    model = NAMED["modernbert"].model(decoder_bias=False)
    rows = model.get_input_embeddings().weight.detach().clone()
    grow(model, old, new)
    ids = old.encode([new.tokens[old.size]])[0].ids
    torch.testing.assert_close(model.get_output_embeddings().weight[old.size], rows[ids].mean(0))
