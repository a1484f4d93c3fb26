"""Evaluation of every rung on the same held-out text with the same masks."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.codes import Code
from adaptbert.config.schema.mlm import Masking
from adaptbert.config.schema.text import Measure
from adaptbert.errors import BadData
from adaptbert.mlm.masking import Masker
from adaptbert.mlm.rung_metrics import HeldOutMeasures, RungMeasures
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.evaluation import evaluating
from adaptbert.model.packing import pack
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.training.stability import Diverged

if TYPE_CHECKING:
    from transformers import BertForMaskedLM

BATCH_DOCUMENTS = 128
ROW = 128
"""Tokens of a packed row of a rung that is only measured; it affects only the speed."""


def sets_in(folder: Path) -> list[Path]:
    """The folders of all held-out sets of a start."""
    return sorted(path for path in folder.iterdir() if path.is_dir())


class HeldOut:
    """Held-out sets by name; their masks never change.

    Args:
        folders: of the sets, each a tokenised corpus with the name of the set.
        block_size: of the rows; it affects only the speed.
    """

    def __init__(self, folders: Iterable[Path], config: Measure, tokenizer: Tokenizer, block_size: int) -> None:
        self.config, self.tokenizer, self.block_size = config, tokenizer, block_size
        self.sets = {path.name: TokenizedCorpus.load(path) for path in folders}
        masking = Masking(
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
            return {name: (known or {}).get(name) or self._measure(model, name) for name in self.sets}

    def _measure(self, model: Any, name: str) -> dict[str, float]:
        import torch

        from adaptbert.model.encoder import Tokens, encode

        corpus = self.sets[name]
        batches = first_documents(corpus.lengths, self.config.max_tokens)
        taken = sum(map(len, batches))
        block = max(self.block_size, int(corpus.lengths[:taken].max()))
        loss, text_tokens, chosen_tokens, right = 0.0, 0, 0, 0
        for documents in batches:
            flat = corpus.read(documents)
            passes = np.zeros(len(documents), np.int64)
            ids, chosen = self._masker.mask(flat.ids, flat.word_starts, flat.lengths, documents, passes)
            text_tokens += len(ids) - 2 * len(flat.lengths)
            if len(chosen) == 0:
                continue
            places, hidden_ids = (torch.as_tensor(values, device=model.device) for values in (chosen, ids))
            hidden = encode(model.bert, pack(flat.lengths, block), Tokens(hidden_ids), places)
            logits = model.cls.predictions(hidden).float()
            expected = torch.as_tensor(flat.ids[chosen], device=model.device)
            loss += float(torch.nn.functional.cross_entropy(logits, expected, reduction="sum"))
            chosen_tokens += len(chosen)
            right += int((logits.argmax(-1) == expected).sum())
        if chosen_tokens == 0:
            problem = f"none of its {text_tokens:,} tokens is masked"
            remedy = "hold out more text: raise tokenize.heldout_fraction"
            raise BadData(Code.NOTHING_LEFT, f"heldout/{name}", problem, remedy)
        mean = loss / chosen_tokens
        if not math.isfinite(mean):
            raise Diverged(Code.DIVERGED, f"heldout/{name}", f"the loss is {mean}", "lower learning_rate")
        return {
            "bits_per_char": bits_per_char(mean, text_tokens, int(corpus.characters[:taken].sum())),
            "mlm_loss": mean,
            "masked_accuracy": right / chosen_tokens,
        }


def first_documents(lengths: NDArray[np.int64], tokens: int) -> list[NDArray[np.int64]]:
    """The numbers of the first documents, which have so many tokens at most, in batches."""
    taken = max(1, int(np.searchsorted(np.cumsum(lengths), tokens, side="right")))
    return np.split(np.arange(taken), range(BATCH_DOCUMENTS, taken, BATCH_DOCUMENTS))


def measure_rung(rung: Checkpoint, folders: Sequence[Path], config: Measure, seed: int) -> RungMeasures:
    """A trained rung on all held-out text, in the precision that it was trained in.

    What was measured while it was trained is not measured again.

    Args:
        folders: of the held-out sets.
        seed: of random weights.

    Raises:
        BadData: a set was made with another tokenizer, or is too small for a single mask.
    """
    from transformers import BertForMaskedLM

    heldout = HeldOut(folders, config, rung.tokenizer, ROW)
    for name, corpus in heldout.sets.items():
        rung.check_tokenizer(corpus.fingerprint, f"heldout/{name}")
    precision = str((rung.card.params if rung.card else {}).get("precision", "32-true"))
    measured = heldout.measure(rung.model(BertForMaskedLM, seed), precision, known=rung.measured)
    texts = {name: HeldOutMeasures.model_validate(values) for name, values in measured.items()}
    return RungMeasures(rung=rung.name, texts=texts)


def bits_per_char(mlm_loss: float, tokens: int, characters: int) -> float:
    """Masked-LM loss as bits per character, which survives a change of vocabulary.

    The mean loss (nats a token, over the masked tokens) is taken for every token of the text: a pseudo-likelihood
    (Salazar et al. 2020), not a compression rate.

    Args:
        tokens: of the text, special tokens not counted.
        characters: of the text.
    """
    return mlm_loss * tokens / characters / math.log(2)


def named(measured: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """`{"general": {"mlm_loss": 6.1}}` as `{"general/mlm_loss": 6.1}`."""
    return {f"{text}/{metric}": value for text, values in measured.items() for metric, value in values.items()}


def unnamed(values: Mapping[str, float], texts: Iterable[str]) -> dict[str, dict[str, float]]:
    """The inverse of `named` for these texts; other values are left out."""
    return {
        text: {name.removeprefix(f"{text}/"): value for name, value in values.items() if name.startswith(f"{text}/")}
        for text in texts
    }
