"""The tokenizer: text to WordPiece ids, and the fingerprint that all checkpoints of a base share.

Trained on the user's text (Wu et al. 2016 as BERT uses it), or loaded from a checkpoint. Special tokens that occur
literally in a text are text: `[MASK]` in a post does not become the id of [MASK].
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adaptbert.codes import Code
from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.text import Vocabulary
from adaptbert.errors import BadData

if TYPE_CHECKING:
    from tokenizers import Encoding
    from tokenizers import Tokenizer as Backend

RARE = 0.005
"""Share of characters with a mark: English and Chinese corpora have at most a tenth of it, Italian and Russian text has
twice, German three times as much."""
MAX_VOCABULARY = 10_000_000
"""Most ids; a list of all tokens is kept in memory."""
_PROBE = "a1, \u4e00 \ue000"
"""A text with a character that no vocabulary has, so that [UNK] is exercised as well."""
RULES = "tokenizer.json"
"""The file with the whole of it: rules and vocabulary."""
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


class Tokenizer:
    """A Hugging Face BERT tokenizer with the properties that masking and validation need."""

    def __init__(self, hugging_face: Any) -> None:
        self.hugging_face = hugging_face
        self.backend = hugging_face.backend_tokenizer
        self.backend.encode_special_tokens = True
        self.backend.no_truncation()
        self.backend.no_padding()
        self.pad, self.unknown, self.cls, self.sep, self.mask = (
            hugging_face.convert_tokens_to_ids(token) for token in SPECIALS
        )

    @classmethod
    def of(cls, base: Base) -> "Tokenizer":
        """Tokenizer of the checkpoint of a base: a folder, or a model on the hub."""
        assert base.checkpoint is not None
        return cls.load(Path(base.checkpoint) if base.is_folder else base.checkpoint, base.revision)

    @classmethod
    def load(cls, source: str | Path, revision: str | None = None) -> "Tokenizer":
        """Loads from a folder, or by name from the hub.

        Raises:
            BadData: no tokenizer there, or one without the five special tokens of BERT.
        """
        if isinstance(source, Path) and not any((source / name).is_file() for name in (RULES, "vocab.txt")):
            problem = "no tokenizer in this folder"
            raise BadData(Code.NOT_A_CHECKPOINT, source, problem, "copy tokenizer.json or vocab.txt beside the weights")
        with _loading(source):
            kind = _kind(source, revision or "main")
            loaded = kind.from_pretrained(str(source), revision=revision or "main", trust_remote_code=False)
            backend = loaded.backend_tokenizer
            # Of the files alone: transformers adds missing special tokens with new ids.
            vocabulary = backend.get_vocab(with_added_tokens=False)
            if missing := [token for token in SPECIALS if token not in vocabulary]:
                problem = f"the vocabulary has no {', '.join(missing)}"
                raise BadData(Code.TOKENIZER, source, problem, "take a tokenizer made for BERT")
            if (highest := max(backend.get_vocab().values())) >= MAX_VOCABULARY:
                problem = f"tokenizer cannot be loaded: a token has the id {highest:,}"
                raise BadData(Code.NOT_A_CHECKPOINT, source, problem, f"ids end below {MAX_VOCABULARY:,}")
            backend.encode(_PROBE)
        return cls(loaded)

    @classmethod
    def train(cls, texts: Callable[[], Iterable[str]], config: Vocabulary) -> "Tokenizer":
        """A WordPiece vocabulary of at most `config.vocabulary_size` subword tokens, the same for the same texts.

        Args:
            texts: called for each pass over the texts, three or four times.
        """
        from transformers import BertTokenizer

        # The trainer numbers the characters inside a word (##a) in the order of a hash map, and breaks ties by number;
        # so a first pass collects all characters, and passes them to the trainer in sorted order.
        normalizer = normalizer_of(config, texts())
        base_vocabulary = _word_pieces(texts(), normalizer, SPECIALS, 0, config.min_frequency)
        characters = sorted(token for token in base_vocabulary if len(token) == 1)
        # Half of the vocabulary bounds the characters: thousands of rare Chinese ones would displace longer tokens.
        room = config.vocabulary_size // 2
        if len(characters) > room:
            counts = Counter(character for text in texts() for character in normalizer.normalize_str(text))
            characters = sorted(sorted(characters, key=lambda character: (-counts[character], character))[:room])
        continuing = [f"##{character}" for character in characters if f"##{character}" in base_vocabulary]
        vocabulary = _word_pieces(
            texts(),
            normalizer,
            [*SPECIALS, *continuing],
            config.vocabulary_size,
            config.min_frequency,
            initial_alphabet=characters,
            limit_alphabet=len(characters),
        )
        strip = normalizer.strip_accents
        return cls(BertTokenizer(vocab=vocabulary, do_lower_case=config.lowercase, strip_accents=strip))

    def save(self, folder: Path, longest: int | None = None) -> None:
        """Write the files that `AutoTokenizer.from_pretrained(folder)` loads.

        Args:
            longest: tokens of the longest input of the model, to which transformers truncates where it is asked to.
        """
        self.backend.encode_special_tokens = False
        if longest is not None:
            self.hugging_face.model_max_length = longest
        self.hugging_face.save_pretrained(str(folder))
        self.backend.encode_special_tokens = True

    @cached_property
    def tokens(self) -> list[str]:
        """Every token by its id."""
        vocabulary = self.hugging_face.get_vocab()
        tokens = [""] * (max(vocabulary.values()) + 1)
        for token, number in vocabulary.items():
            tokens[number] = token
        return tokens

    @property
    def size(self) -> int:
        return len(self.tokens)

    @cached_property
    def fingerprint(self) -> str:
        """A digest that is equal where every text gets equal ids: of the vocabulary and the rules of normalisation."""
        digest = sha256("\n".join(self.tokens).encode())
        digest.update(repr(self.backend.normalizer).encode())
        return digest.hexdigest()

    def extends(self, base: "Tokenizer") -> bool:
        """Whether every token of `base` has the same id here, among others, and both normalise text alike."""
        return (
            self.size > base.size
            and self.tokens[: base.size] == base.tokens
            and repr(self.backend.normalizer) == repr(base.backend.normalizer)
        )

    def unlike(self, file: Path) -> "tuple[Backend, list[str]]":
        """A tokenizer.json, and in which of its rules it differs: transformers 5 replaces them by those of BERT, unless
        tokenizer_config.json names a class without rules of its own."""
        from tokenizers import Tokenizer as Backend
        from tokenizers.normalizers import BertNormalizer

        theirs = Backend.from_file(str(file))
        if isinstance(theirs.normalizer, BertNormalizer):  # tokenizer_config.json decides on these, as it always did
            for name in ("lowercase", "strip_accents", "handle_chinese_chars"):
                setattr(theirs.normalizer, name, getattr(self.backend.normalizer, name))
        ours, own = _rules(self.backend), _rules(theirs)
        return theirs, [part for part in own if own[part] != ours[part]]

    @cached_property
    def maskable(self) -> NDArray[np.bool_]:
        """Whether a token may be masked, by id: all but the special ones, (vocabulary,)."""
        maskable = np.ones(self.size, np.bool_)
        maskable[[self.pad, self.unknown, self.cls, self.sep, self.mask]] = False
        return maskable

    @cached_property
    def replacements(self) -> NDArray[np.int64]:
        """Ids that may replace a masked token: no special token and no [unused] one."""
        unused = np.array([token.startswith("[unused") for token in self.tokens])
        return np.flatnonzero(self.maskable & ~unused)

    def encode(self, texts: Sequence[str]) -> "list[Encoding]":
        """Encodings of the texts without [CLS] and [SEP], with offsets (in characters) and word ids."""
        encodings: list[Encoding] = self.backend.encode_batch(list(texts), add_special_tokens=False)
        return encodings

    def encode_words(self, sentences: Sequence[Sequence[str]]) -> "list[Encoding]":
        """Encodings of sentences that are lists of words; `word_ids` index these words."""
        encodings: list[Encoding] = self.backend.encode_batch(
            [list(words) for words in sentences], is_pretokenized=True, add_special_tokens=False
        )
        return encodings


def normalizer_of(config: Vocabulary, texts: Iterable[str]) -> Any:
    """What is done with a text before it is split, by a vocabulary that is trained on these texts."""
    from tokenizers.normalizers import BertNormalizer

    strip = config.strip_accents
    if strip is None and config.lowercase and marked(texts)[0] > RARE:
        strip = False  # None is BERT's own rule: with lower-casing
    return BertNormalizer(lowercase=config.lowercase, strip_accents=strip)


def marked(texts: Iterable[str]) -> tuple[float, str]:
    """The share of characters that stripping changes, also vowel signs and Korean syllables, and the most frequent."""
    from tokenizers.normalizers import BertNormalizer

    counts = Counter(chain.from_iterable(texts))
    rules = BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    others = {each: n for each, n in counts.items() if not "\ufe00" <= each <= "\ufe0f"}  # how an emoji is drawn
    changed = Counter({each: n for each, n in others.items() if rules.normalize_str(each) != each})
    return changed.total() / max(1, counts.total()), max(changed, key=lambda each: changed[each], default="")


def folding(normalizer: Any, texts: Iterable[str] = ()) -> Iterator[str]:
    """What a tokenizer makes of capital letters and of marks, and a notice where these texts have many marks."""

    def folded(text: str) -> str:
        return text if normalizer is None else str(normalizer.normalize_str(text))

    yield f"capital letters: {'are kept' if folded('A') == 'A' else 'become small ones (the tokenizer lower-cases)'}"
    yield f"accents and other marks: {'are kept' if folded('é') == 'é' else 'are stripped (é becomes e)'}"
    share, letter = marked(texts)
    if share > RARE and folded(letter) != letter.lower():
        changed = f"{share:.1%} of the characters of these texts, most often {letter} to {folded(letter)}"
        remedy = "a cased base keeps marks, as does `tokenizer: {strip_accents: false}` where weights are random"
        yield f"notice: stripping changes {changed}, so that words become alike; {remedy}"


def _rules(tokenizer: "Backend") -> dict[str, Any]:
    """How a text becomes tokens, but for the vocabulary."""
    parts = json.loads(tokenizer.to_str())
    return {
        "normalizer": parts["normalizer"],
        "pre_tokenizer": parts["pre_tokenizer"],
        "longest word": parts["model"].get("max_input_chars_per_word"),
    }


@contextmanager
def _loading(source: str | Path) -> Iterator[None]:
    """Converts any error of loading: the parser of tokenizer.json raises plain `Exception`."""
    try:
        yield
    except BadData:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        of_hub = "check the name, or the network; from a folder: `adaptbert import FOLDER --base NAME`"
        remedy = "copy the whole checkpoint again" if isinstance(source, Path) else of_hub
        raise BadData(Code.NOT_A_CHECKPOINT, source, f"tokenizer cannot be loaded: {reason}", remedy) from None


def _kind(source: str | Path, revision: str) -> Any:
    """The class that loads a tokenizer. AutoTokenizer determines it, but imports torch: 130 MB, a second.

    A folder without a model whose configuration names BertTokenizer, as `save` writes it, is loaded without that.
    A class that is more than rules, as that of Japanese, which looks words up, raises BadData; the general base class
    says nothing, and tokenizer.json all.
    """
    import transformers
    from transformers.utils.hub import cached_file

    def read(name: str) -> Any:
        path = cached_file(str(source), name, revision=revision, _raise_exceptions_for_missing_entries=False)
        return json.loads(Path(path).read_text(encoding="utf-8")) if path else {}

    about, config = read("tokenizer_config.json"), read("config.json")
    named = about.get("tokenizer_class") or config.get("tokenizer_class")
    known = getattr(transformers, named, None) if named else transformers.BertTokenizer
    of_rules = known and issubclass(known, transformers.PreTrainedTokenizerFast)
    has_rules = of_rules or (known in (None, transformers.PreTrainedTokenizer) and read(RULES))
    if not has_rules or about.get("auto_map"):
        code = "auto_map" if about.get("auto_map") else named
        problem = f"text is split by code ({code}), and only rules in vocab.txt or tokenizer.json are read"
        raise BadData(Code.TOKENIZER, source, problem, "take a checkpoint with the tokenizer of BERT, BertTokenizer")
    return transformers.BertTokenizer if named == "BertTokenizer" and not config else transformers.AutoTokenizer


def _word_pieces(
    texts: Iterable[str], normalizer: Any, first: list[str], size: int, min_frequency: int, **alphabet: Any
) -> dict[str, int]:
    """The vocabulary of one training: the tokens `first`, every character, then subword tokens up to `size`."""
    import tokenizers
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.trainers import WordPieceTrainer

    trained = tokenizers.Tokenizer(WordPiece(unk_token="[UNK]"))
    trained.normalizer = normalizer
    trained.pre_tokenizer = BertPreTokenizer()
    trainer = WordPieceTrainer(
        vocab_size=size, min_frequency=min_frequency, special_tokens=first, show_progress=False, **alphabet
    )
    trained.train_from_iterator(texts, trainer)
    vocabulary: dict[str, int] = trained.get_vocab()
    return vocabulary
