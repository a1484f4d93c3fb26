"""The sections `tokenizer`, `tokenize` and `measure`: vocabulary, documents, and the evaluation on held-out text."""

from typing import Annotated, Literal

from pydantic import Field

from adaptbert.config.schema.section import FromWeights, Section, Seed

WORDS = "data/sources/words.txt"


class Extension(Section):
    """Words to add to the vocabulary that a checkpoint brings."""

    corpora: Annotated[list[str], Field(min_length=1)]
    """Corpora whose words are candidates."""
    num_new_tokens: Annotated[int, Field(ge=1, le=1_000_000)]
    """Most tokens that are added."""
    min_frequency: Annotated[int, Field(ge=1, le=1_000_000_000)]
    """A word that occurs less often is no candidate."""


class Vocabulary(Section):
    """The section `tokenizer`: how the WordPiece vocabulary of random weights is trained; a checkpoint brings its
    own."""

    corpora: list[str] | None = None
    """Corpora whose text is read; left out: `general` and `domain`, where they exist, so that another corpus trains
    nothing again. For random weights."""
    vocabulary_size: Annotated[int, Field(ge=100, le=1_000_000)] = 12_000
    """Number of tokens of the vocabulary. For random weights. English BERT without capitals has 30,522; fewer suffice
    for small models."""
    lowercase: bool = True
    """Capital letters become small ones. For random weights."""
    strip_accents: bool | None = None
    """Strip accents and other marks (`ば` to `は`). Left out: as `lowercase` where fewer than one character in 200 has
    one (English), else false. For random weights."""
    min_frequency: Annotated[int, Field(ge=1, le=1_000_000_000)] = 2
    """Fewest occurrences of a subword token; rarer ones are dropped. For random weights."""
    extend: Extension | None = None
    """Words of the domain for the vocabulary of a checkpoint; `pretrain` grows the embeddings to match."""


class Segmentation(Section):
    """What a word is."""

    segmenter: Literal["none", "rjieba"] = "none"
    """none: what spaces and punctuation separate, and each Chinese character. rjieba: words of Chinese by a dictionary
    and a hidden Markov model."""
    dictionary: Annotated[str, Field(min_length=1)] = WORDS
    """A file of further words for the segmenter, one a line: `word`, `word frequency` or `word frequency tag`; a line
    that begins with `# ` says nothing. DVC watches it."""


class Tokenize(Section):
    """The section `tokenize`: how texts become documents."""

    max_length: Annotated[int, Field(ge=8, le=8_192)] = 128
    """Tokens of the longest document, special ones included; a longer text is cut into several, between words."""
    heldout_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.02
    """Share of the texts of a corpus that is held out, chosen by the hash of the id. Every checkpoint is measured on
    it."""
    words: Segmentation = Segmentation()


class Measure(Section):
    """How held-out text is masked and how much of it is read; the same for all checkpoints of a base."""

    probability: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """Masking probability of the evaluation on held-out text (Devlin et al. 2019, section 3.1)."""
    max_tokens: Annotated[int, Field(gt=0, le=100_000_000), FromWeights(random=20_000, trained=200_000)]
    """Tokens of each held-out set; the first documents are taken."""
    seed: Seed = 0
    """Seed of the evaluation masks."""
