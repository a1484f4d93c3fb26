"""The tokenizer: validated corpora -> a WordPiece vocabulary, or that of the checkpoint with or without more words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from adaptbert.base import bounds
from adaptbert.base.config import Config
from adaptbert.base.start import StartConfig
from adaptbert.core.files import atomic_write, write_json
from adaptbert.data.parquet import texts
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run
from adaptbert.text.tokenizer import Tokenizer, VocabularyConfig
from adaptbert.text.vocabulary_extension import ExtensionConfig, extend_vocabulary


class TokenizerParams(Config):
    """How a vocabulary is trained, for starts with random weights; a checkpoint brings its own."""

    corpora: list[str] = Field(default_factory=list)
    """Whose text is read. For starts with random weights."""
    vocabulary_size: Annotated[int, Field(ge=100, le=bounds.VOCABULARY)] | None = None
    lowercase: bool | None = None
    min_frequency: Annotated[int, Field(ge=1, le=bounds.ROWS)] | None = None
    extend: ExtensionConfig | None = None
    """Words of the domain for the vocabulary of a checkpoint; `pretrain` grows the embeddings to match."""


def tokenizer(
    params: TokenizerParams,
    *,
    start: str,
    weights: StartConfig,
    corpora: Path,
    out: Path,
    metrics: Path,
    run: Run,
) -> None:
    """Train the vocabulary of a start, or take that of its checkpoint."""

    def read(names: list[str]) -> Iterator[str]:
        for corpus in names:
            yield from (text for _, text in texts(corpora / f"{corpus}.parquet"))

    if weights.is_random:
        assert params.vocabulary_size
        assert params.min_frequency
        assert params.lowercase is not None
        config = VocabularyConfig(
            vocabulary_size=params.vocabulary_size, lowercase=params.lowercase, min_frequency=params.min_frequency
        )
        vocabulary = Tokenizer.train(lambda: read(params.corpora), config)
    elif weights.is_folder:
        vocabulary = Tokenizer.load(Path(weights.init))
    else:
        vocabulary = Tokenizer.load(weights.init, weights.hub_revision)

    extension: dict[str, float] = {}
    if params.extend is not None and not weights.is_random:
        extended = extend_vocabulary(vocabulary, read(params.extend.corpora), params.extend)
        vocabulary, extension = extended.tokenizer, extended.metrics
        print(
            f"extended by {len(extended.words):,} words: {extension['tokens_saved']:.1%} fewer tokens on this text,"
            f" unknown {extension['unknown_rate_before']:.2%} -> {extension['unknown_rate_after']:.2%}"
        )
    with atomic_write(out) as part:
        part.mkdir()
        vocabulary.save(part)
    write_json(metrics, {"vocabulary": vocabulary.size, "fingerprint": vocabulary.fingerprint, **extension})
    run.set_tags({"tokenizer": vocabulary.fingerprint})
    run.log_metrics(
        {"tokenizer/vocabulary": vocabulary.size, **{f"tokenizer/{name}": v for name, v in extension.items()}}
    )
    source = ", ".join(params.corpora) if weights.is_random else weights.init
    print(f"tokenizer: {vocabulary.size:,} subword tokens from {source}")


STAGE = Stage(tokenizer, blocks=("start",), at={"weights": "ladder.starts.{start}"})

if __name__ == "__main__":
    STAGE.run()
