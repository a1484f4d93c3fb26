"""Facts about texts, against values that were computed by hand."""

from collections import Counter
from pathlib import Path

import pytest

from adaptbert.base.files import write_json
from adaptbert.project.forecast import texts
from adaptbert.project.forecast.texts import count_words, facts_of, overlap
from adaptbert.tokenization.corpus_writer import write
from adaptbert.tokenization.store.tokenized_corpus import TokenizedCorpus
from adaptbert.tokenization.store.tokenizer import Tokenizer, VocabularyConfig

ONE, TWO, THREE, FOUR, FIVE = ((number,) for number in range(1, 6))


def test_overlap_is_of_equally_many_words(monkeypatch: pytest.MonkeyPatch) -> None:
    general = Counter({ONE: 9, TWO: 8, THREE: 7, FOUR: 1})
    domain = Counter({TWO: 5, FIVE: 4, ONE: 3})
    shared = overlap("general", general, "domain", domain)
    assert (shared.texts, shared.words) == (["general", "domain"], 3), "as many as the smaller vocabulary has"
    assert shared.share == pytest.approx(2 / 3), "one and two, of one, two, three and of two, five, one"

    monkeypatch.setattr(texts, "MOST_WORDS", 2)
    shared = overlap("general", general, "domain", domain)
    assert (shared.words, shared.share) == (2, 0.5), "two, of one, two and of two, five"


def test_equally_frequent_words_are_taken_in_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MOST_WORDS", 2)
    one, other = Counter({THREE: 1, ONE: 1, TWO: 1}), Counter({TWO: 1, THREE: 1, ONE: 1})
    assert overlap("a", one, "b", other).share == 1.0


def test_words_are_those_of_whole_word_masking(tmp_path: Path) -> None:
    """`rivers` is two tokens and one word; punctuation and what the vocabulary does not know are none."""
    vocabulary = Tokenizer.train(
        lambda: ["a river . , !", "xs"] * 9, VocabularyConfig(vocabulary_size=100, lowercase=True, min_frequency=9)
    )
    write(tmp_path / "text", [("1", "A river . rivers , a river !"), ("2", "a river \u4e00")], vocabulary, 16)
    counted = count_words(TokenizedCorpus.load(tmp_path / "text"), vocabulary)
    words = {"".join(vocabulary.tokens[token].removeprefix("##") for token in word): n for word, n in counted.items()}
    assert {len(word) for word in counted} == {1, 2}
    assert words == {"a": 3, "river": 3, "rivers": 1}


def test_facts_are_those_of_the_stages(tmp_path: Path) -> None:
    counts = {"tokens": 1_000, "documents": 50, "characters": 3_600, "unknown_rate": 0.02}
    rows = {"rows_in": 200, "kept": 150, "rejected": {"duplicate": 20, "too_short": 30}}
    for kind in ("corpora", "tasks"):
        write_json(tmp_path / kind / "one/corpus.json", counts)
    validation = {"corpora": {"one": rows}, "tasks": {"one": {"train": {**rows, "kept": 200, "rejected": {}}}}}
    corpus = facts_of("one", tmp_path / "corpora/one", validation)
    assert (corpus.kind, corpus.tokens, corpus.unknown_rate) == ("corpus", 1_000, 0.02)
    assert corpus.characters_per_token == 4.0, "3,600 characters in 900 tokens between [CLS] and [SEP]"
    assert (corpus.rejected, corpus.duplicates) == (0.25, 0.1)
    task = facts_of("one", tmp_path / "tasks/one", validation)
    assert (task.kind, task.rejected, task.duplicates) == ("task", 0.0, 0.0)
