"""Evaluation of every checkpoint on the same held-out text, with the same masks and the same pairs of sentences."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from adaptbert.codes import Code
from adaptbert.config.schema.mlm import Masking, SentenceObjective
from adaptbert.config.schema.text import Measure
from adaptbert.errors import BadData
from adaptbert.mlm.masking import Masker
from adaptbert.mlm.records import CheckpointMeasures, HeldOutMeasures
from adaptbert.mlm.sentence_pairs import SentencePairs, can_pair
from adaptbert.mlm.token_loss import parts
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.device import evaluating
from adaptbert.model.encoder import Tokens, encode, pair_scores, token_scores
from adaptbert.model.packing import pack
from adaptbert.text.token_store import Int64, TokenizedCorpus
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.training.stability import Diverged

BATCH_DOCUMENTS = 128
BATCH_TOKENS = 65_536
"""About the most tokens of a forward pass: so many documents of 512 tokens; of 8,192 there are eight."""
ROW = 128
"""Tokens of a packed row of a checkpoint that is only measured; it affects only the speed."""

Measures = dict[str, dict[str, float]]
"""Held-out text -> `mlm_loss` (nats a masked token), `bits_per_char` and `masked_accuracy`."""


def sets_in(folder: Path) -> list[Path]:
    """The folders of all held-out sets of a base."""
    return sorted(path for path in folder.iterdir() if path.is_dir())


class HeldOut:
    """Held-out sets by name; their masks never change, and their pairs of sentences neither.

    Args:
        folders: of the sets, each a tokenised corpus with the name of the set.
        block_size: of the rows; it affects only the speed.
        objective: by which pairs are made, unmasked, of the sets whose documents are long enough to be cut.
        longest: most tokens of a pair.
    """

    def __init__(
        self,
        folders: Iterable[Path],
        config: Measure,
        tokenizer: Tokenizer,
        block_size: int,
        objective: SentenceObjective = "none",
        longest: int = 0,
    ) -> None:
        self._config, self._block_size = config, block_size
        self.sets = {path.name: TokenizedCorpus.load(path) for path in folders}
        self._masker = Masker(Masking(probability=config.probability), config.seed, tokenizer)
        self._special_tokens = tokenizer.extra(1)
        self._pairs = {
            name: SentencePairs(corpus, objective, config.seed, longest)
            for name, corpus in self.sets.items()
            if objective != "none" and can_pair(corpus.lengths)
        }

    @property
    def digests(self) -> dict[str, str]:
        """Digest of the text of each set."""
        return {name: str(corpus.texts[0]["digest"]) for name, corpus in self.sets.items()}

    def measure(self, model: Any, precision: str, known: Mapping[str, dict[str, float]] | None = None) -> Measures:
        """The measures of a model with the head `masked_lm` or `pretraining`, whose mode is as before. Sets whose
        measures are `known` are not measured again.

        Raises:
            BadData: a set is too small for a single mask.
            Diverged: the loss is not finite.
        """
        with evaluating(model, precision):
            return {name: (known or {}).get(name) or self._measure(model, name) for name in self.sets}

    def _measure(self, model: Any, name: str) -> dict[str, float]:
        corpus = self.sets[name]
        batches = first_documents(corpus.lengths, self._config.max_tokens)
        taken = sum(map(len, batches))
        block = max(self._block_size, int(corpus.lengths[:taken].max()))
        loss, text_tokens, chosen_tokens, right = 0.0, 0, 0, 0
        for documents in batches:
            flat = corpus.read(documents)
            ids, chosen, _ = self._masker.mask(flat, documents, np.zeros_like(documents))
            text_tokens += len(ids) - self._special_tokens * len(flat.lengths)
            if len(chosen) == 0:
                continue
            places, hidden_ids = (torch.as_tensor(values, device=model.device) for values in (chosen, ids))
            hidden = encode(model.base_model, pack(flat.lengths, block), Tokens(hidden_ids), places)
            chosen_tokens += len(chosen)
            for vectors, expected in parts(model, hidden, torch.as_tensor(flat.ids[chosen], device=model.device)):
                logits = token_scores(model, vectors).float()
                loss += float(cross_entropy(logits, expected, reduction="sum"))
                right += int((logits.argmax(-1) == expected).sum())
        if chosen_tokens == 0:
            problem = f"none of its {text_tokens:,} tokens is masked"
            remedy = "hold out more text: raise tokenize.heldout_fraction"
            raise BadData(Code.NOTHING_LEFT, f"heldout/{name}", problem, remedy)
        mean = loss / chosen_tokens
        if not math.isfinite(mean):
            raise Diverged(f"heldout/{name}", f"the loss is {mean}")
        return {
            "bits_per_char": bits_per_char(mean, text_tokens, int(corpus.characters[:taken].sum())),
            "mlm_loss": mean,
            "masked_accuracy": right / chosen_tokens,
        }

    def measure_pairs(self, model: Any, precision: str) -> dict[str, float]:
        """`sentence_loss/<set>` (nats a pair) and `sentence_accuracy/<set>` of a model with the head `pretraining`."""
        with evaluating(model, precision):
            measured = {name: self._measure_pairs(model, pairs) for name, pairs in self._pairs.items()}
        return {f"{metric}/{name}": value for name, values in measured.items() for metric, value in values.items()}

    def _measure_pairs(self, model: Any, of_set: SentencePairs) -> dict[str, float]:
        scores, labels = [], []
        for documents in first_documents(of_set.lengths, self._config.max_tokens):
            flat, pairs = of_set.read(documents, np.zeros_like(documents))
            rows = pack(flat.lengths, max(self._block_size, int(flat.lengths.max())))
            there = pairs.to(model.device)
            tokens = Tokens(torch.as_tensor(flat.ids, device=model.device), there.segments)
            hidden = encode(model.base_model, rows, tokens, there.first)
            scores.append(pair_scores(model, hidden).float().cpu())
            labels.append(pairs.labels)
        logits, expected = torch.cat(scores), torch.cat(labels)
        if len(expected) == 0:  # long documents of a single word
            return {}
        right = (logits.argmax(-1) == expected).float().mean()
        return {"sentence_loss": float(cross_entropy(logits, expected)), "sentence_accuracy": float(right)}


def first_documents(lengths: Int64, tokens: int) -> list[Int64]:
    """The numbers of the first documents, which have so many tokens at most, in batches."""
    taken = max(1, int(np.searchsorted(np.cumsum(lengths), tokens, side="right")))
    batches: list[Int64] = []
    for documents in np.split(np.arange(taken), range(BATCH_DOCUMENTS, taken, BATCH_DOCUMENTS)):
        full = (np.cumsum(lengths[documents]) - 1) // BATCH_TOKENS
        batches += np.split(documents, np.flatnonzero(np.diff(full)) + 1)
    return batches


def measure_checkpoint(checkpoint: Checkpoint, folder: Path, config: Measure, seed: int) -> CheckpointMeasures:
    """A checkpoint on all held-out text, in the precision that it was trained in.

    What was measured while it was trained is not measured again.

    Args:
        folder: of the held-out sets.
        seed: of random weights.

    Raises:
        BadData: a set was made with another tokenizer, or is too small for a single mask.
    """
    heldout = HeldOut(sets_in(folder), config, checkpoint.tokenizer, ROW)
    for name, corpus in heldout.sets.items():
        checkpoint.check_tokenizer(corpus.fingerprint, f"heldout/{name}")
    precision = str((checkpoint.card.params if checkpoint.card else {}).get("precision", "32-true"))
    measured = heldout.measure(checkpoint.model("masked_lm", seed), precision, known=checkpoint.measured)
    return CheckpointMeasures(checkpoint=checkpoint.name, texts=as_records(measured))


def as_records(measured: Measures) -> dict[str, HeldOutMeasures]:
    """Measures for a metrics file."""
    return {name: HeldOutMeasures.model_validate(values) for name, values in measured.items()}


def bits_per_char(mlm_loss: float, tokens: int, characters: int) -> float:
    """Masked-LM loss as bits per character, which survives a change of vocabulary.

    The mean loss (nats a token, over the masked tokens) is taken for every token of the text: a pseudo-likelihood
    (Salazar et al. 2020), not a compression rate.

    Args:
        tokens: of the text, special tokens not counted.
        characters: of the text.
    """
    return mlm_loss * tokens / characters / math.log(2)
