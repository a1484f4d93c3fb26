"""Facts about the texts of a start that cost no training: their size, how the vocabulary fits them, shared words."""

from collections import Counter
from collections.abc import Mapping
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from adaptbert.base.files import read_json
from adaptbert.base.ladder import GENERAL
from adaptbert.base.seeds import seed_of
from adaptbert.comparison.forecasts import Overlap, TextFacts
from adaptbert.project.one_start import METRICS, OneStart
from adaptbert.tokenization.store.tokenized_corpus import TokenizedCorpus
from adaptbert.tokenization.store.tokenizer import Tokenizer

MOST_WORDS = 10_000
"""Words of a text that are compared (Gururangan et al. 2020, section 3.1, without their list of stop words)."""
SAMPLE_TOKENS = 1_000_000
"""Of a text, in documents drawn at random: the most frequent words of more are about the same."""
DUPLICATE = "duplicate"
"""Reason in metrics/validate.json."""

Words = Counter[tuple[int, ...]]
"""A word as the ids of its tokens -> how often it occurs."""


def names_of(inputs: OneStart) -> dict[str, Path]:
    """General text, the further corpora that rungs of the start are trained on, and its tasks -> tokenised text."""
    texts = {GENERAL: inputs.tokenized / "corpora" / GENERAL}
    for rung in inputs.rungs():
        texts.setdefault(inputs.text(rung).name, inputs.text(rung))
    return texts | {task: inputs.tokenized / "tasks" / task for task in inputs.tasks()}


def facts_of(name: str, folder: Path, validation: Mapping[str, Any]) -> TextFacts:
    """What was counted when the text was validated and tokenised.

    Args:
        folder: of the tokenised text, below `corpora` or `tasks`.
        validation: metrics/validate.json.
    """
    counted = read_json(folder / "corpus.json")
    is_task = folder.parent.name == "tasks"
    rows = validation["tasks"][name]["train"] if is_task else validation["corpora"][name]
    read = max(1, rows["rows_in"])
    return TextFacts(
        kind="task" if is_task else "corpus",
        tokens=counted["tokens"],
        characters_per_token=counted["characters"] / (counted["tokens"] - 2 * counted["documents"]),
        unknown_rate=counted["unknown_rate"],
        rejected=(rows["rows_in"] - rows["kept"]) / read,
        duplicates=rows["rejected"].get(DUPLICATE, 0) / read,
    )


def overlap(name: str, words: Words, other_name: str, other: Words) -> Overlap:
    """The share of the most frequent words that two texts have in common.

    Both have equally many words: `MOST_WORDS`, or as many as the smaller vocabulary has. Words that are equally
    frequent are taken in the order of their ids.
    """
    count = min(MOST_WORDS, len(words), len(other))
    common = _most_frequent(words, count) & _most_frequent(other, count)
    return Overlap(texts=[name, other_name], share=len(common) / max(1, count), words=count)


def overlaps(texts: Mapping[str, Path], tokenizer: Tokenizer) -> list[Overlap]:
    """Of every two of the texts, general text first.

    Args:
        texts: name -> folder of the tokenised text.
        tokenizer: of all of them.
    """
    counted = {name: count_words(TokenizedCorpus.load(folder), tokenizer) for name, folder in texts.items()}
    return [overlap(one, counted[one], other, counted[other]) for one, other in combinations(counted, 2)]


def count_words(corpus: TokenizedCorpus, tokenizer: Tokenizer) -> Words:
    """The words of a text as whole-word masking sees them: from one word start to the next.

    Without punctuation, and without words of which the vocabulary does not know a part: they would all look alike.
    """
    flat = corpus.read(_sample(corpus.lengths))
    starts = [*np.flatnonzero(flat.word_starts).tolist(), len(flat.ids)]
    ids = flat.ids.tolist()
    words = Counter(tuple(ids[first:end]) for first, end in pairwise(starts))
    text = {number for number, token in enumerate(tokenizer.tokens) if any(map(str.isalnum, token))}
    specials = set(np.flatnonzero(~tokenizer.maskable).tolist())
    return Counter({word: n for word, n in words.items() if not text.isdisjoint(word) and specials.isdisjoint(word)})


def _sample(lengths: Any) -> Any:
    """Documents of at most `SAMPLE_TOKENS` tokens together, the same for the same text; at least one, (documents,)."""
    order = np.random.Generator(np.random.Philox(seed_of(0, "words"))).permutation(len(lengths))
    taken = int(np.searchsorted(np.cumsum(lengths[order]), SAMPLE_TOKENS, side="right"))
    return np.sort(order[: max(1, taken)])


def _most_frequent(words: Words, count: int) -> set[tuple[int, ...]]:
    return set(sorted(words, key=lambda word: (-words[word], word))[:count])


def text_facts(texts: Mapping[str, Path]) -> dict[str, TextFacts]:
    """Of every text.

    Args:
        texts: name -> folder of the tokenised text.
    """
    validation = read_json(METRICS / "validate.json")
    return {name: facts_of(name, folder, validation) for name, folder in texts.items()}
