"""Masked-LM training against the stock trainer: real tokens a second, as ratios.

The peer is transformers' Trainer with DataCollatorForLanguageModeling, wired as its run_mlm example wires them for one
document a line: once at its defaults, once with the flags that a careful user finds (the faster precision and
attention, batches of similar lengths, scores at masks alone where the class can). All train the same architecture on
the same documents, with as many documents a step, 15 % masks and dropout 0.1. Ours runs in both precisions: the one
that `auto` chooses here, and the other.

    python -m benchmarks.masked_lm                 # tiny, mini and small on a CPU
    python -m benchmarks.masked_lm --set encoders  # RoBERTa and ModernBERT, documents of 28 to 8,192 tokens
    python -m benchmarks.masked_lm --profile       # where our time goes
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForMaskedLM, DataCollatorForLanguageModeling

from adaptbert.config.schema.mlm import Masking
from adaptbert.mlm.masked_lm import LOSS_NAME, MaskedBatches, MaskedLM
from adaptbert.mlm.masking import Masker
from adaptbert.model.device import BF16, chosen
from adaptbert.model.flops import training_flop
from adaptbert.model.optimizer import Optimization
from adaptbert.model.proof import prepare
from adaptbert.text.token_store import Documents as Corpus
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.training.document_stream import DocumentStream
from adaptbert.training.padding import Padding
from benchmarks.machine import matmul_peak
from benchmarks.peer import Flags, beside, documents_of, peers, timed
from benchmarks.profile import profiled
from benchmarks.rounds import OURS, Budget, Made, Results, Speed, Tell, command, ignore
from benchmarks.workload import OPTIM, USUAL, Documents, Setting, means, tokenizer

MASKING = Masking(unit="token", probability=0.15, mask_share=0.8, random_share=0.1, keep_share=0.1)


def batches_of(corpus: Corpus, pieces: Tokenizer, setting: Setting, seed: int) -> MaskedBatches:
    """Batches as a step makes them; the documents of a setting are the mean of a batch."""
    tokens = max(setting.block, round(float(corpus.lengths.mean()) * setting.documents))
    stream = DocumentStream(corpus.lengths, seed, tokens)
    return MaskedBatches(corpus, stream, Masker(MASKING, seed, pieces), setting.block)


def made(setting: Setting, documents: Documents, steps: int, seed: int, graphs: bool = False) -> Made:
    """What is trained; with `graphs` in batches of few shapes."""
    model = AutoModelForMaskedLM.from_config(setting.config())
    prepare(model)
    batches = batches_of(documents, Tokenizer(tokenizer(setting)), setting, seed)
    if graphs:
        batches = replace(batches, padding=Padding.of_stream(batches.stream))
    return MaskedLM(model, Optimization(OPTIM, steps)), batches, LOSS_NAME


def stock_rows(documents: Sequence[NDArray[np.int64]], has_segments: bool = True) -> Any:
    """Rows as run_mlm's tokenising leaves them, and the length of each."""
    import datasets

    datasets.disable_progress_bars()
    return datasets.Dataset.from_list(
        [
            {
                "input_ids": ids.tolist(),
                **({"token_type_ids": [0] * len(ids)} if has_segments else {}),
                "attention_mask": [1] * len(ids),
                "special_tokens_mask": [1, *[0] * (len(ids) - 2), 1],
                "length": len(ids),
            }
            for ids in documents
        ]
    )


def stock(setting: Setting, documents: Documents, budget: Budget, flags: Flags, seed: int) -> Speed:
    """The Trainer's run of a round."""
    rows = stock_rows(documents.documents, has_segments=setting.kind == "bert")
    torch.manual_seed(seed)
    collate = DataCollatorForLanguageModeling(
        tokenizer=tokenizer(setting), mlm_probability=MASKING.probability, pad_to_multiple_of=flags.multiple
    )
    config = setting.config(flags.attention)
    if flags.at_masks and hasattr(config, "sparse_prediction"):
        config.sparse_prediction = True
    model = AutoModelForMaskedLM.from_config(config)
    return timed(model, rows, collate, setting.documents, budget, seed, flags)


def flop_per_token(setting: Setting, documents: Documents) -> float:
    """Operations of training, with the masks of this benchmark: what we and the peer have to compute.

    Attention within documents, whatever rows or padding somebody computes it in.
    """
    mean, within = means(documents)
    masked = round(MASKING.probability * (mean - 2) / mean * 1e6)
    return training_flop(setting.config(), 10**6, within, masked, masked) / 1e6


def measure(setting: Setting, budget: Budget, peers: Mapping[str, Flags], tell: Tell = ignore) -> Results:
    """All contenders, and our share of what the machine can do."""
    speeds = beside(peers, made, stock, setting, budget, ("tokens",), tell)
    flop = flop_per_token(setting, documents_of(setting, budget))
    peak = matmul_peak(torch.bfloat16 if chosen("auto") == BF16 else torch.float32)
    return {
        **speeds,
        "flop_per_token": round(flop),
        "peak_tflop_per_second": round(peak / 1e12, 3),
        "share_of_peak": round(speeds["tokens_per_second"][OURS] * flop / peak, 3),
        "share_of_peak_of_peers": {
            name: round(rate * flop / peak, 3) for name, rate in speeds["tokens_per_second"].items() if name in peers
        },
    }


def main() -> None:
    command(
        "masked_lm",
        __doc__,
        USUAL,
        lambda setting, budget: measure(setting, budget, peers(setting.length)),
        partial(profiled, made),
    )


if __name__ == "__main__":
    main()
