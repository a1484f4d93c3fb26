"""Classes of the tokens of a text, for the fill-in curve of a rung; a token can be in several of them.

They belong to the text and not to a model, so that all rungs that are measured on a text have the same.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adaptbert.pretraining.metrics.token_classes import CLASSES, token_classes

Mask = NDArray[np.bool_]

FILL_IN_CLASSES = (
    "all",
    "frequent",
    "middle",
    "rare",
    "function_word",
    "continuation",
    "digit",
    "punctuation",
    "emoji",
    "bracketed",
    "hashtag",
    "latin_in_chinese",
    "domain_term",
)
FREQUENT, RARE = 0.5, 0.9
"""Share of the text up to which its most frequent tokens are `frequent`, and from which on they are `rare`."""
TERM_RATIO, TERM_LEAST = 5, 5
"""A domain term is so many times as frequent as in general text, and occurs at least so often."""
MOST_BRACKETED, MOST_HASHTAG = 8, 24
"""Tokens between two brackets, and between two hash signs."""
EMOJI = ((0x203C, 0x203C), (0x2049, 0x2049), (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1F000, 0x1FAFF))
"""Unicode blocks of emoji: symbols, dingbats, arrows and stars, pictographs."""

ENGLISH = """
a an the this that these those each every either neither some any no such other another both all few more most i you he
she it we they me him her us them my your his its our their mine yours hers ours theirs myself himself herself itself
themselves who whom whose which what am is are was were be been being have has had having do does did will would shall
should can could may might must of in on at by for with from to into onto upon about as than over under between through
during before after against among within without toward towards per via and or but nor if because while although though
unless until since so not when where why how whether there here then thus also only very too
"""
CHINESE = (
    "的了着过地得之吗呢吧啊呀嘛我你您他她它们咱自己这那哪谁什么怎某每各是在有和与或及而但且并若因为所以虽"
    "被把让给对从向于由以将就都也又还才只很太更最不没别"
)
"""Closed classes, as grammars list them: articles, pronouns, auxiliaries, prepositions, conjunctions, particles. In
Chinese text they are characters, some of which also occur inside of other words."""
FUNCTION_WORDS = frozenset([*ENGLISH.split(), *CHINESE])


class FillInClasses:
    """The classes of the tokens of one text.

    Args:
        tokens: the text of each token, by id.
        maskable: by id, whether it may be masked, (vocabulary,).
        counts: of each token in the text, (vocabulary,).
        general: of each token in general text, (vocabulary,); None: the text is general and has no domain terms.
    """

    def __init__(
        self, tokens: Sequence[str], maskable: Mask, counts: NDArray[np.int64], general: NDArray[np.int64] | None
    ) -> None:
        self._kinds, self._maskable = token_classes(tokens), maskable
        ids = {token: number for number, token in enumerate(tokens)}
        self._open, self._close, self._hash = (ids.get(mark, -1) for mark in "[]#")
        self._by_id = {
            "all": maskable,
            **_bands(np.where(maskable, counts, 0)),
            "function_word": np.array([token.lower() in FUNCTION_WORDS for token in tokens]),
            **{kind: self._is(self._kinds, kind) for kind in ("continuation", "digit", "punctuation")},
            "emoji": np.array([_is_emoji(token.removeprefix("##")) for token in tokens]),
        }
        if general is not None:
            letters = self._is(self._kinds, "chinese", "latin", "continuation")
            self._by_id["domain_term"] = letters & _terms(np.where(maskable, counts, 0), np.where(maskable, general, 0))

    def of(self, ids: NDArray[np.int64], lengths: NDArray[np.int64]) -> dict[str, Mask]:
        """Whether each token of concatenated documents is in a class: class -> (tokens,). Special tokens are in none.

        Args:
            ids: before masking, (tokens,).
            lengths: tokens of each document, (documents,).
        """
        kinds = self._kinds[ids]
        document = np.repeat(np.arange(len(lengths)), lengths)
        latin, chinese = self._is(kinds, "latin"), self._is(kinds, "chinese")
        counted = [np.bincount(document, weights=kind, minlength=len(lengths)) for kind in (chinese, latin)]
        in_chinese = (counted[0] > counted[1])[document]
        members = {
            **{name: member[ids] for name, member in self._by_id.items()},
            "bracketed": self._bracketed(ids, kinds, document),
            "hashtag": self._hashtags(ids, kinds, document, in_chinese),
            "latin_in_chinese": latin & in_chinese,
        }
        return {name: member & self._maskable[ids] for name, member in members.items()}

    def _bracketed(self, ids: NDArray[np.int64], kinds: NDArray[np.int64], document: NDArray[np.int64]) -> Mask:
        """Between two brackets in one document, [like this], with a letter among them: [1] is a reference."""
        marks = np.flatnonzero((ids == self._open) | (ids == self._close))
        first, last = marks[:-1], marks[1:]
        letters = np.cumsum(self._is(kinds, "chinese", "latin", "continuation"))
        pairs = (ids[first] == self._open) & (ids[last] == self._close) & (document[first] == document[last])
        pairs &= (last - first <= MOST_BRACKETED + 1) & (letters[last] > letters[first])
        return _between(first[pairs], last[pairs], len(ids))

    def _hashtags(
        self, ids: NDArray[np.int64], kinds: NDArray[np.int64], document: NDArray[np.int64], in_chinese: Mask
    ) -> Mask:
        """Between two hash signs, as in a Chinese post; in other text the word after one."""
        marks = np.flatnonzero(ids == self._hash)
        first, last = marks[:-1], marks[1:]
        # The first and the second of a document are a pair, the third and the fourth, and so on.
        place = np.arange(len(marks)) - np.searchsorted(document[marks], document[marks])
        pairs = (place[:-1] % 2 == 0) & (document[first] == document[last]) & (last - first <= MOST_HASHTAG + 1)
        paired = _between(first[pairs & in_chinese[first]], last[pairs & in_chinese[first]], len(ids))
        begins = ~self._is(kinds, "continuation")
        word = np.cumsum(begins) - 1
        tagged = np.zeros(len(ids), np.bool_)
        tagged[1:] = (ids[:-1] == self._hash) & (document[1:] == document[:-1])
        first_of_word = np.flatnonzero(begins)
        named = self._is(kinds, "latin", "other", "continuation")
        return np.asarray(paired | (tagged[first_of_word][word] & named & ~in_chinese))

    @staticmethod
    def _is(kinds: NDArray[np.int64], *names: str) -> Mask:
        return np.asarray(np.isin(kinds, [CLASSES.index(name) for name in names]))


def _bands(counts: NDArray[np.int64]) -> dict[str, Mask]:
    """By how much of the text the more frequent tokens make up, (vocabulary,) each."""
    order = np.argsort(-counts, kind="stable")
    before = np.empty(len(counts))
    before[order] = (np.cumsum(counts[order]) - counts[order]) / max(1, counts.sum())
    return {
        "frequent": before < FREQUENT,
        "middle": (before >= FREQUENT) & (before < RARE),
        "rare": before >= RARE,
    }


def _terms(counts: NDArray[np.int64], general: NDArray[np.int64]) -> Mask:
    """One occurrence is added in general text, so that a token that it lacks has a rate there."""
    rate, rate_general = counts / max(1, counts.sum()), (general + 1) / (general.sum() + 1)
    return np.asarray((counts >= TERM_LEAST) & (rate >= TERM_RATIO * rate_general))


def _between(first: NDArray[np.int64], last: NDArray[np.int64], length: int) -> Mask:
    """Whether a position lies between two others, which are not included, (length,)."""
    change = np.zeros(length + 1, np.int64)
    np.add.at(change, first + 1, 1)
    np.add.at(change, last, -1)
    return np.asarray(np.cumsum(change)[:length] > 0)


def _is_emoji(token: str) -> bool:
    return any(low <= ord(token[0]) <= high for low, high in EMOJI) if token else False
