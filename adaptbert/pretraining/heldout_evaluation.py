"""Evaluation of every rung on the same held-out text with the same masks."""

import math
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adaptbert.base import bounds
from adaptbert.base.config import Config
from adaptbert.codes import Code
from adaptbert.errors import BadData
from adaptbert.model.evaluation import evaluating
from adaptbert.model.packing import pack
from adaptbert.pretraining.masking import Masker, MaskingConfig
from adaptbert.pretraining.metrics.heldout_measures import bits_per_char
from adaptbert.tokenization.store.tokenized_corpus import Flat, TokenizedCorpus
from adaptbert.tokenization.store.tokenizer import Tokenizer
from adaptbert.training.stability import Diverged

if TYPE_CHECKING:
    from transformers import BertForMaskedLM

BATCH_DOCUMENTS = 128


class MeasureConfig(Config):
    """How held-out text is masked and how much of it is read."""

    probability: Annotated[float, Field(gt=0, lt=1)]
    max_tokens: Annotated[int, Field(gt=0, le=bounds.HELD_OUT_TOKENS)]
    """Of each held-out set; the first documents are taken."""
    seed: Annotated[int, Field(ge=0, lt=2**64)]


def sets_in(folder: Path) -> list[Path]:
    """The folders of all held-out sets of a start."""
    return sorted(path for path in folder.iterdir() if path.is_dir())


@dataclass(frozen=True)
class MaskedDocuments:
    """Some documents of a held-out set with their masks.

    Attributes:
        flat: before masking.
        ids: after it, (tokens,).
        chosen: positions to predict, (chosen,).
    """

    flat: Flat
    ids: NDArray[np.int64]
    chosen: NDArray[np.int64]


class HeldOut:
    """Held-out sets by name; their masks never change.

    Args:
        folders: of the sets, each a tokenised corpus with the name of the set.
        block_size: of the rows; it affects only the speed.
    """

    def __init__(self, folders: Iterable[Path], config: MeasureConfig, tokenizer: Tokenizer, block_size: int) -> None:
        self.config, self.tokenizer, self.block_size = config, tokenizer, block_size
        self.sets = {path.name: TokenizedCorpus.load(path) for path in folders}
        masking = MaskingConfig(
            unit="token", probability=config.probability, mask_share=0.8, random_share=0.1, keep_share=0.1
        )
        self._masker = Masker(masking, config.seed, tokenizer)

    @property
    def digests(self) -> dict[str, str]:
        """Of the text of each set."""
        return {name: str(corpus.texts[0]["digest"]) for name, corpus in self.sets.items()}

    def measure(
        self, model: "BertForMaskedLM", precision: str, known: Mapping[str, dict[str, float]] | None = None
    ) -> dict[str, dict[str, float]]:
        """Per set: `mlm_loss` (nats a masked token), `bits_per_char` and `masked_accuracy`.

        The model's mode and the global random state are as before.

        Args:
            known: measures that these weights have already, by set.

        Raises:
            BadData: a set is too small for a single mask.
            Diverged: the loss is not finite.
        """
        with evaluating(model, precision):
            return {name: (known or {}).get(name) or self._measure(model, name)[0] for name in self.sets}

    def measure_tokens(
        self, model: "BertForMaskedLM", precision: str
    ) -> tuple[dict[str, dict[str, float]], dict[str, NDArray[np.bool_]]]:
        """What `measure` returns, and per set whether each masked token was answered right, (chosen,).

        The masked tokens are in the order of `masked`.
        """
        with evaluating(model, precision):
            measured = {name: self._measure(model, name) for name in self.sets}
        return {name: of_set[0] for name, of_set in measured.items()}, {
            name: of_set[1] for name, of_set in measured.items()
        }

    def of(self, sets: Mapping[str, TokenizedCorpus]) -> "HeldOut":
        """Other texts, masked and measured alike."""
        other = copy(self)
        other.sets = dict(sets)
        return other

    def masked(self, name: str) -> Iterator[MaskedDocuments]:
        """The documents of a set that are measured, in batches; their masks are always the same."""
        corpus, taken = self.sets[name], self._taken(name)
        for first in range(0, taken, BATCH_DOCUMENTS):
            documents = np.arange(first, min(first + BATCH_DOCUMENTS, taken))
            flat = corpus.read(documents)
            passes = np.zeros(len(documents), np.int64)
            yield MaskedDocuments(flat, *self._masker.mask(flat.ids, flat.word_starts, flat.lengths, documents, passes))

    def _taken(self, name: str) -> int:
        """How many documents of a set are measured, from its first on."""
        ends = np.cumsum(self.sets[name].lengths)
        return max(1, int(np.searchsorted(ends, self.config.max_tokens, side="right")))

    def _measure(self, model: Any, name: str) -> tuple[dict[str, float], NDArray[np.bool_]]:
        import torch

        from adaptbert.model.encoder import Tokens, encode

        corpus, taken = self.sets[name], self._taken(name)
        block = max(self.block_size, int(corpus.lengths[:taken].max()))
        loss = text_tokens = 0.0
        right = [np.zeros(0, np.bool_)]
        for batch in self.masked(name):
            flat, chosen = batch.flat, batch.chosen
            text_tokens += int(len(batch.ids) - 2 * len(flat.lengths))
            if len(chosen) == 0:
                continue
            places, hidden_ids = (torch.as_tensor(values, device=model.device) for values in (chosen, batch.ids))
            hidden = encode(model.bert, pack(flat.lengths, block), Tokens(hidden_ids), places)
            logits = model.cls.predictions(hidden).float()
            expected = torch.as_tensor(flat.ids[chosen], device=model.device)
            loss += float(torch.nn.functional.cross_entropy(logits, expected, reduction="sum"))
            right.append((logits.argmax(-1) == expected).cpu().numpy())
        answers = np.concatenate(right)
        chosen_tokens = len(answers)
        if chosen_tokens == 0:
            problem = f"none of its {int(text_tokens):,} tokens is masked"
            remedy = "hold out more text: raise tokenize.heldout_fraction"
            raise BadData(Code.NOTHING_LEFT, f"heldout/{name}", problem, remedy)
        mean = loss / chosen_tokens
        if not math.isfinite(mean):
            raise Diverged(Code.DIVERGED, f"heldout/{name}", f"the loss is {mean}", "lower optim.learning_rate")
        measures = {
            "bits_per_char": bits_per_char(mean, int(text_tokens), int(corpus.characters[:taken].sum())),
            "mlm_loss": mean,
            "masked_accuracy": int(answers.sum()) / chosen_tokens,
        }
        return measures, answers
