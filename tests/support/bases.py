"""A checkpoint as the baseline on input embeddings reads it: a tokenizer of whole words, and a vector for each."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace

from adaptbert.comparison.baselines import WEIGHTS


def write_base(folder: Path, vectors: Mapping[str, Sequence[float]]) -> Path:
    """Write it.

    Args:
        vectors: word, in small letters, -> its vector; other words have that of `[UNK]`, which is among them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(vectors)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file({WEIGHTS: np.array(list(vectors.values()), np.float32)}, folder / "model.safetensors")
    return folder
