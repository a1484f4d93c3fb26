"""Tokenizers of every family, each trained by that family's own rules on a few hundred sentences.

The stock class of transformers says what the rules are, where it has them; the three that are published as plain rules
(ModernBERT, mmBERT, EuroBERT with those of Llama 3) are written down here as other readers of their tokenizer.json
describe it. Training takes some hundredths of a second. Ids may differ between two processes: compare what one saved.
"""

import string
from functools import cache
from typing import Any

import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

from tests.support import tiny

SIZE = 500
LATIN = 400
TEXTS = [
    *tiny.sentences("general", LATIN // 2),
    *tiny.sentences("domain", LATIN // 2),
    *[
        "The patient was given insulin, and the patient's glucose fell to 4.2 mmol/l.",
        "今天天气很好，我们去公园散步。",
        "微博上的人们说：好的！",
        "Naïve cafés don't serve   masked pieces",
    ]
    * 20,
]
STANDS_IN = {"esm": "bert", "roc_bert": "bert", "roformer": "bert", "xlm-roberta-xl": "xlm-roberta"}
"""Types whose tokenizer is code (for proteins, for pronunciations, with a segmenter) or has no class of its own, and
the type whose rules they get."""
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
LLAMA_3 = "|".join(
    [
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
        r"[^\r\n\p{L}\p{N}]?\p{L}+",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)


@cache
def family_tokenizer(model_type: str) -> Any:
    """The tokenizer, as `AutoTokenizer` would load it, of a model type, of `mmbert` (a `modernbert`) or of `gemma`."""
    own = {"modernbert": _modernbert, "mmbert": _mmbert, "gemma": _gemma, "eurobert": _eurobert}
    if model_type in own:
        return own[model_type]()
    kind = getattr(transformers, str(TOKENIZER_MAPPING_NAMES[STANDS_IN.get(model_type, model_type)]))
    first = {} if kind is not transformers.RobertaTokenizer else {"vocab": {each: n for n, each in enumerate(ROBERTA)}}
    # Characters are learned from the text, so that a character that is not in it is unknown, as in the real ones.
    return kind(**first).train_new_from_iterator(TEXTS, SIZE, show_progress=False)


def _trained(rules: Tokenizer, **options: Any) -> Tokenizer:
    rules.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=SIZE, show_progress=False, **options))
    return rules


def _template(rules: Tokenizer, first: str, last: str) -> Any:
    return processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first}:0 $A:0 {last}:0 $B:1 {last}:1",
        special_tokens=[(token, rules.token_to_id(token)) for token in (first, last)],
    )


def _wrapped(rules: Tokenizer, **roles: str) -> Any:
    """The general class, which gives no segments."""
    inputs = ["input_ids", "attention_mask"]
    return transformers.PreTrainedTokenizerFast(tokenizer_object=rules, model_input_names=inputs, **roles)


def _modernbert() -> Any:
    """Byte-level BPE; runs of spaces are added tokens, special tokens come after the vocabulary, unused ones last."""
    rules = Tokenizer(models.BPE())
    rules.normalizer = normalizers.NFC()
    rules.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    rules.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    _trained(rules, initial_alphabet=alphabet, special_tokens=["|||IP_ADDRESS|||", "<|padding|>"])
    rules.add_tokens([AddedToken(" " * count, normalized=True) for count in range(24, 1, -1)])
    rules.add_special_tokens(["[UNK]", "[CLS]", "[SEP]", "[PAD]", AddedToken("[MASK]", lstrip=True, special=True)])
    rules.add_tokens([AddedToken(f"[unused{number}]", normalized=True) for number in range(8)])
    rules.post_processor = _template(rules, "[CLS]", "[SEP]")
    roles = {f"{role}_token": f"[{role.upper()}]" for role in ("unk", "cls", "sep", "pad")}
    return _wrapped(rules, **roles, mask_token=AddedToken("[MASK]", lstrip=True, special=True))


def _mmbert() -> Any:
    """Gemma's pieces in words, each of which begins with ▁, the first too."""
    return _gemma(pre_tokenizers.Metaspace())


def _gemma(cut: Any = None) -> Any:
    """BPE on the whole text, in which spaces are ▁; bytes where a character is unknown.

    Args:
        cut: what cuts the text before; None: as Gemma, at spaces, of which none is left.
    """
    special, unused = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"], [f"<unused{number}>" for number in range(8)]
    learned = Tokenizer(models.BPE())
    learned.normalizer = normalizers.Replace(" ", "▁")
    learned.pre_tokenizer = pre_tokenizers.Split(
        "▁", "merged_with_next"
    )  # sentencepiece learns no piece beyond a space
    bytes_ = [f"<0x{number:02X}>" for number in range(256)]
    known = sorted({"▁", "'", *string.printable.strip(), *"".join(TEXTS[:LATIN])})  # other characters become bytes
    first, size = [*special, *unused, *bytes_], SIZE + 256
    options: Any = {"initial_alphabet": known, "limit_alphabet": len(known), "show_progress": False}
    learned.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=size, special_tokens=first, **options))
    model = learned.model
    model.unk_token, model.fuse_unk, model.byte_fallback = "<unk>", True, True
    rules = Tokenizer(model)
    rules.normalizer = normalizers.Replace(" ", "▁")
    rules.pre_tokenizer = cut or pre_tokenizers.Split(" ", "merged_with_previous")
    rules.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    mask = AddedToken("<mask>", lstrip=True, special=True)
    rules.add_special_tokens([*special[:-1], mask])
    rules.add_tokens([AddedToken(token, normalized=False) for token in (*unused, "\n\n", "<table>")])
    rules.post_processor = _template(rules, "<bos>", "<eos>")
    roles = {"unk_token": "<unk>", "bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>"}
    return _wrapped(rules, **roles, mask_token=mask)


def _eurobert() -> Any:
    """Llama 3's: bytes, split by its regular expression; no unknown token, and padding is the end of a text."""
    rules = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(LLAMA_3), "isolated")
    rules.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    rules.decoder = decoders.ByteLevel()
    _trained(rules, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    reserved = [f"<|reserved_special_token_{number}|>" for number in range(8)]
    mask = AddedToken("<|mask|>", lstrip=True, special=True)
    rules.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>", mask, *reserved])
    template = _template(rules, "<|begin_of_text|>", "<|end_of_text|>")
    rules.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    roles = {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>", "pad_token": "<|end_of_text|>"}
    return _wrapped(rules, **roles, mask_token=mask)
