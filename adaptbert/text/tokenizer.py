"""The tokenizer: text to ids, the special tokens around it, and the fingerprint that all checkpoints of a base share.

WordPiece, trained on the user's text (Wu et al. 2016 as BERT uses it), or that of a checkpoint, with any rules that the
tokenizers library runs. Nothing here depends on the names of special tokens: their roles and their places around one or
two texts are those of the Hugging Face tokenizer. Special tokens that occur literally in a text are text: `[MASK]` in a
post does not become the id of [MASK].
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from hashlib import sha256
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptbert.codes import Code
from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.text import Vocabulary
from adaptbert.data import scripts
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
"""A text with a character that no vocabulary has, so that the unknown token is exercised as well."""
RULES = "tokenizer.json"
"""The file with the whole of it: rules and vocabulary."""
ABOUT = "tokenizer_config.json"
VOCABULARIES = ("spm.model", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model", "vocab.json", "merges.txt")
"""Vocabularies from which transformers makes tokenizer.json; the first four are of sentencepiece."""
FILES = (RULES, "vocab.txt", *VOCABULARIES)
ROLES = ("pad", "unk", "cls", "sep", "mask", "bos", "eos")
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
"""The special tokens of a vocabulary that is trained here, those of BERT."""
UNSPACED = re.compile(f"[{scripts.THAI_LAO}{scripts.MYANMAR_KHMER}{scripts.KANA}{scripts.CHINESE}]")
"""Characters of scripts that set no spaces between words."""
UNUSED = re.compile(r"\[unused.*|[\[<]\|?(unused|reserved)\w*\|?[\]>]")
"""Tokens that no text has, kept for later use: [unused12], <unused3>, <|reserved_special_token_4|>."""


class Template(NamedTuple):
    """The special tokens around one text or two.

    Attributes:
        before, between, after: their ids before the first text, between two, and after the last.
        segments: of these three parts and of the texts, in the order of a pair.
    """

    before: list[int]
    between: list[int]
    after: list[int]
    segments: list[int]

    @classmethod
    def of(cls, probe: "Encoding", texts: int) -> "Template":
        """Template of an encoding of one text or two.

        Raises:
            ValueError: a text has no token, or the texts are not there in their order, each once.
        """
        owners = probe.sequence_ids
        if [owner for owner, _ in groupby(owners) if owner is not None] != [*range(texts)]:
            raise ValueError("its rules leave nothing of a Latin letter, or lose a text of a pair")
        last = texts - 1
        begin, end = owners.index(0), len(owners) - owners[::-1].index(last)
        first_end, second = len(owners) - owners[::-1].index(0), owners.index(last)
        parts = [slice(begin), slice(begin, first_end), slice(first_end, second), slice(second, end), slice(end, None)]
        before, _, between, _, after = (probe.ids[part] for part in parts)
        return cls(before, between, after, [next(iter(probe.type_ids[part]), 0) for part in parts])


class Tokenizer:
    """A Hugging Face tokenizer with the properties that masking and validation need.

    Attributes:
        pad, mask: ids of special tokens.
        unknown: likewise; None where every character has tokens, those of its bytes.
        one, two: the special tokens around one text and around a pair.
        is_general: whether its class has no rules, and all are those of the file.
        has_segments: whether the tokens of a pair have segments.
        splits_words: whether its own words are those of BERT's rule; see adaptbert.text.words.
    """

    def __init__(self, hugging_face: Any) -> None:
        from tokenizers.models import Unigram
        from tokenizers.pre_tokenizers import BertPreTokenizer
        from transformers import PreTrainedTokenizerFast

        self.hugging_face = hugging_face
        self.pad, self.unknown, self.mask = (
            getattr(hugging_face, f"{role}_token_id") for role in ("pad", "unk", "mask")
        )
        rules = hugging_face.backend_tokenizer
        rules.no_truncation()
        rules.no_padding()
        self.backend = _unnamed(rules, self.specials) if isinstance(rules.model, Unigram) else rules
        self.backend.encode_special_tokens = True
        self.one, self.two = Template.of(self.backend.encode("a"), 1), Template.of(self.backend.encode("a", "a"), 2)
        self.is_general = type(hugging_face) is PreTrainedTokenizerFast
        # The general class names no segments, though those of a WordPiece may have some.
        named = "token_type_ids" in hugging_face.model_input_names
        self.has_segments = named or (self.is_general and self.is_word_piece and any(self.two.segments))
        self.splits_words = isinstance(self.backend.pre_tokenizer, BertPreTokenizer)

    @classmethod
    def of(cls, base: Base) -> "Tokenizer":
        """Tokenizer of the checkpoint of a base: a folder, or a model on the hub."""
        assert base.checkpoint is not None
        return cls.load(Path(base.checkpoint) if base.is_folder else base.checkpoint, base.revision)

    @classmethod
    def load(cls, source: str | Path, revision: str | None = None) -> "Tokenizer":
        """Loads from a folder, or by name from the hub.

        Raises:
            BadData: no tokenizer there, or one without a padding, separator or mask token.
        """
        from transformers import PreTrainedTokenizerFast

        if isinstance(source, Path) and not any((source / name).is_file() for name in FILES):
            problem = "no tokenizer in this folder"
            raise BadData(Code.NOT_A_CHECKPOINT, source, problem, "copy tokenizer.json or vocab.txt beside the weights")
        with _loading(source):
            read = partial(_read, source, revision or "main")
            kind = _kind(source, read)
            loaded = kind.from_pretrained(str(source), revision=revision or "main", trust_remote_code=False)
            if not isinstance(loaded, PreTrainedTokenizerFast):
                raise _is_code(source, type(loaded).__name__)
            for role, token in zip(("pad", "unk", "cls", "sep", "mask"), SPECIALS, strict=True):
                # Of a general class without roles the names are those of BERT, if its vocabulary has them.
                if getattr(loaded, f"{role}_token") is None and token in loaded.backend_tokenizer.get_vocab():
                    setattr(loaded, f"{role}_token", token)
            loaded = _with_rules_of_file(loaded, cached(source, revision or "main", RULES))
            if missing := _missing(loaded, read):
                problem = f"the tokenizer has no token for: {', '.join(missing)}"
                remedy = "take a checkpoint that was trained with masked tokens, and all files of its tokenizer"
                if not any(cached(source, revision or "main", file) for file in (RULES, "vocab.txt")):
                    remedy = (
                        "`adaptbert import FOLDER` converts its vocabulary (a hub's: hf download NAME --local-dir DIR)"
                    )
                raise BadData(Code.TOKENIZER, source, problem, remedy)
            backend = loaded.backend_tokenizer
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

    def save(self, folder: Path, longest: int | None = None, *, segments: bool | None = None) -> None:
        """Write the files that `AutoTokenizer.from_pretrained(folder)` loads.

        Args:
            longest: tokens of the longest input of the model, to which transformers truncates where it is asked to.
            segments: whether the model knows the segments of a pair, which transformers gives it then; None: as it did.
        """
        names = self.hugging_face.model_input_names
        if segments is not None and (segments and self.has_segments) != ("token_type_ids" in names):
            names = [*names, "token_type_ids"] if segments else [name for name in names if name != "token_type_ids"]
            self.hugging_face.model_input_names = self.hugging_face.init_kwargs["model_input_names"] = names
        self.backend.encode_special_tokens = False
        if longest is not None:
            self.hugging_face.model_max_length = longest
            self.hugging_face.truncation_side = "right"  # as every text is cut here
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
        """A digest that is equal where every text gets equal ids: of the vocabulary and the rules of normalisation, and
        of all other rules, merges and scores too where it is not WordPiece."""
        digest = sha256("\n".join(self.tokens).encode())
        digest.update(repr(self.backend.normalizer).encode())
        if not self.is_word_piece:
            digest.update(self.backend.to_str().encode())
        return digest.hexdigest()

    @property
    def is_word_piece(self) -> bool:
        from tokenizers.models import WordPiece

        return isinstance(self.backend.model, WordPiece)

    def extends(self, base: "Tokenizer") -> bool:
        """Whether every token of `base` has the same id here, among others, and both normalise text alike."""
        return (
            self.is_word_piece
            and self.size > base.size
            and self.tokens[: base.size] == base.tokens
            and repr(self.backend.normalizer) == repr(base.backend.normalizer)
        )

    @cached_property
    def specials(self) -> list[int]:
        """Ids of all special tokens, rising."""
        added = self.hugging_face.added_tokens_decoder.items()
        return sorted({*self.hugging_face.all_special_ids, *(number for number, token in added if token.special)})

    @cached_property
    def maskable(self) -> NDArray[np.bool_]:
        """Whether a token may be masked, by id: all but the special ones, (vocabulary,)."""
        maskable = np.ones(self.size, np.bool_)
        maskable[self.specials] = False
        return maskable

    @cached_property
    def replacements(self) -> NDArray[np.int64]:
        """Ids that may replace a masked token: not special, added, or without a text."""
        ordinary = np.array([token != "" and not UNUSED.fullmatch(token) for token in self.tokens])
        ordinary[list(self.hugging_face.added_tokens_decoder)] = False
        return np.flatnonzero(self.maskable & ordinary)

    @cached_property
    def forms(self) -> list[tuple[bool, str]]:
        """Whether each token by its id continues a word by its form, and the text that it stands for.

        WordPiece marks what continues a word. Other rules mark a space before a token: one of letters or digits without
        it continues a word, but in scripts without spaces. Nothing is known of a token that is a part of a character.
        """
        if self.is_word_piece:
            prefix = self.backend.model.continuing_subword_prefix
            inside = [token.startswith(prefix) and len(token) > len(prefix) for token in self.tokens]
            return [(each, token[len(prefix) * each :]) for each, token in zip(inside, self.tokens, strict=True)]
        decoder = self.backend.decoder
        texts = [decoder.decode(["a", token])[1:] if decoder else token for token in self.tokens]
        return [(text[:1].isalnum() and not UNSPACED.match(text), text.strip()) for text in texts]

    def encode(self, texts: Sequence[str]) -> "list[Encoding]":
        """Encodings of the texts without special tokens, with offsets (in characters) and word ids."""
        encodings: list[Encoding] = self.backend.encode_batch(list(texts), add_special_tokens=False)
        return encodings

    def single(self, ids: Sequence[int]) -> list[int]:
        """The ids of a text and the special tokens around it; a mask where there are none of both."""
        return [*self.one.before, *ids, *self.one.after] or [self.mask]

    def pair(self, first: Sequence[int], second: Sequence[int]) -> tuple[list[int], list[int]]:
        """The ids of two texts and the special tokens around them, and their segments; see `single`."""
        parts = [self.two.before, first, self.two.between, second, self.two.after]
        kinds = ([kind] * len(part) for kind, part in zip(self.two.segments, parts, strict=True))
        return [*chain.from_iterable(parts)] or [self.mask], [*chain.from_iterable(kinds)] or [0]

    def extra(self, texts: int) -> int:
        """The number of special tokens around one text or two."""
        before, between, after, _ = self.one if texts == 1 else self.two
        return len(before) + len(between) + len(after)


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


def _with_rules_of_file(loaded: Any, file: Path | None) -> Any:
    """The tokenizer with the rules of its tokenizer.json, where these are others than those of its class, with which
    transformers 5 replaces them: it becomes one of the general class, which has none of its own."""
    from tokenizers import Tokenizer as Backend
    from tokenizers.normalizers import BertNormalizer
    from transformers import PreTrainedTokenizerFast

    if file is None or type(loaded) is PreTrainedTokenizerFast:
        return loaded
    rules, of_class = Backend.from_file(str(file)), loaded.backend_tokenizer
    if isinstance(rules.normalizer, BertNormalizer) and isinstance(of_class.normalizer, BertNormalizer):
        for name in ("lowercase", "strip_accents", "handle_chinese_chars"):  # tokenizer_config.json decides on these
            setattr(rules.normalizer, name, getattr(of_class.normalizer, name))
    if _written(rules) == _written(of_class):
        return loaded
    roles = {f"{role}_token": getattr(loaded, f"{role}_token") for role in ROLES}
    return PreTrainedTokenizerFast(tokenizer_object=rules, model_input_names=loaded.model_input_names, **roles)


@contextmanager
def _loading(source: str | Path) -> Iterator[None]:
    """Converts any error of loading: tokenizers raises plain `Exception`, or a panic, which is none of these."""
    try:
        yield
    except BadData:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        of_hub = "check the name, or the network; from a folder: `adaptbert import FOLDER --base NAME`"
        remedy = "copy the whole checkpoint again" if isinstance(source, Path) else of_hub
        raise BadData(Code.NOT_A_CHECKPOINT, source, f"tokenizer cannot be loaded: {reason}", remedy) from None


def _written(rules: "Backend") -> list[Any]:
    """How a text becomes tokens, but for the vocabulary."""
    steps = [step and step.__getstate__() for step in (rules.normalizer, rules.pre_tokenizer)]
    return [*steps, getattr(rules.model, "max_input_chars_per_word", None)]


def cached(source: str | Path, revision: str, name: str, *, required: bool = False) -> Path | None:
    """A file of a folder or of a model on the hub, if there is one; OSError where it is `required` and missing."""
    from transformers.utils.hub import cached_file

    path = cached_file(str(source), name, revision=revision, _raise_exceptions_for_missing_entries=required)
    return Path(path) if path else None


def _read(source: str | Path, revision: str, name: str) -> Any:
    """The content of a JSON file beside the vocabulary; empty where there is none."""
    path = cached(source, revision, name)
    return json.loads(path.read_text(encoding="utf-8")) if path else {}


def _kind(source: str | Path, read: Callable[[str], Any]) -> Any:
    """The class that loads a tokenizer. AutoTokenizer determines it, but imports torch: 130 MB, a second.

    A folder without a model whose configuration names a class of rules, as `save` writes it, is loaded without that. A
    class that is more than rules, as that of Japanese, which looks words up, raises BadData; the general base class
    says nothing, and tokenizer.json all.
    """
    import transformers

    about, config = read(ABOUT), read("config.json")
    named = about.get("tokenizer_class") or config.get("tokenizer_class")
    known = getattr(transformers, named, None) if named else transformers.PreTrainedTokenizerFast
    of_rules = known and issubclass(known, transformers.PreTrainedTokenizerFast)
    has_rules = of_rules or (known in (None, transformers.PreTrainedTokenizer) and read(RULES))
    if not has_rules or about.get("auto_map"):
        raise _is_code(source, "auto_map" if about.get("auto_map") else named)
    return known if named and of_rules and not config else transformers.AutoTokenizer


def _is_code(source: str | Path, code: str) -> BadData:
    problem = f"text is split by code ({code}), and only rules in vocab.txt or tokenizer.json are read"
    return BadData(Code.TOKENIZER, source, problem, "take a checkpoint whose tokenizer is rules, without code")


def _missing(loaded: Any, read: Callable[[str], Any]) -> list[str]:
    """The roles that have no token, or one that is in no file: transformers adds such tokens with new ids."""
    tokens = {
        "padding": loaded.pad_token,
        "unknown": loaded.unk_token,
        "first": loaded.cls_token or loaded.bos_token,
        "separator": loaded.sep_token or loaded.eos_token,
        "mask": loaded.mask_token,
    }
    known = loaded.backend_tokenizer.get_vocab(with_added_tokens=False).keys()
    if not known >= {token for token in tokens.values() if token}:
        added = read(RULES).get("added_tokens", []), read(ABOUT).get("added_tokens_decoder", {}).values()
        known |= {*read("added_tokens.json"), *(token["content"] for token in chain(*added))}
    needed = {role: token for role, token in tokens.items() if token or role not in ("unknown", "first")}
    return [f"{role} ({token})" if token else role for role, token in needed.items() if token not in known]


def _unnamed(backend: "Backend", specials: Sequence[int]) -> "Backend":
    """The same Unigram rules, by which a special token that occurs literally in a text is none.

    Unigram takes any token of its vocabulary for a text, so that one with spaces, which its rules leave in no text, has
    to stand in the place of each special one; `encode_special_tokens` is about added tokens alone.
    """
    from tokenizers import Tokenizer as Backend

    rules = json.loads(backend.to_str())
    for token in rules["added_tokens"]:
        token["content"] = f" {token['content']} " if token["id"] in specials else token["content"]
    for number in specials:
        if number < len(vocabulary := rules["model"]["vocab"]):
            vocabulary[number][0] = f" {vocabulary[number][0]} "
    return Backend.from_str(json.dumps(rules))


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
