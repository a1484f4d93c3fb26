"""The tokenizer: validated corpora -> a WordPiece vocabulary, or that of the checkpoint with or without more words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from adaptbert.base import bounds
from adaptbert.base.config import Config, contradiction
from adaptbert.base.files import atomic_write, write_json
from adaptbert.rows.parquet import texts
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run
from adaptbert.tokenization.store.tokenizer import Tokenizer, VocabularyConfig
from adaptbert.tokenization.vocabulary_extension import ExtensionConfig, extend_vocabulary


class TokenizerParams(Config):
    """Where the vocabulary comes from."""

    source: str
    """`train`; `init`, the tokenizer in models/init; or the name of a model on the hub."""
    revision: str | None = None
    """Of a model on the hub; required there."""
    corpora: list[str] = Field(default_factory=list)
    """To train: the corpora whose text is read."""
    vocabulary_size: Annotated[int, Field(ge=100, le=bounds.VOCABULARY)] | None = None
    lowercase: bool | None = None
    min_frequency: Annotated[int, Field(ge=1, le=bounds.ROWS)] | None = None
    extend: ExtensionConfig | None = None
    """Words of the domain for a vocabulary that is not trained here; `pretrain` grows the embeddings to match."""

    @model_validator(mode="after")
    def _complete(self) -> "TokenizerParams":
        required = {"corpora", "vocabulary_size", "lowercase", "min_frequency"}
        present = {name for name in required if getattr(self, name) not in (None, [])}
        if self.source == "train" and present != required:
            raise contradiction(f"source train needs {', '.join(sorted(required - present))}", "add it")
        if self.source != "train" and present:
            raise contradiction(f"source {self.source} brings its vocabulary", f"remove {', '.join(sorted(present))}")
        if self.source == "train" and self.extend is not None:
            raise contradiction(
                "source train makes a vocabulary of its own and extend is given", "raise vocabulary_size"
            )
        if self.source not in ("train", "init") and self.revision is None:
            raise contradiction(f"source {self.source} is a name on the hub and needs a revision", "add it")
        return self


def tokenizer(params: TokenizerParams, *, corpora: Path, init: Path, out: Path, metrics: Path, run: Run) -> None:
    """Train or take the tokenizer of the ladder."""

    def read(names: list[str]) -> Iterator[str]:
        for corpus in names:
            yield from (text for _, text in texts(corpora / f"{corpus}.parquet"))

    if params.source == "train":
        assert params.vocabulary_size
        assert params.min_frequency
        assert params.lowercase is not None
        config = VocabularyConfig(
            vocabulary_size=params.vocabulary_size, lowercase=params.lowercase, min_frequency=params.min_frequency
        )
        vocabulary = Tokenizer.train(lambda: read(params.corpora), config)
    elif params.source == "init":
        vocabulary = Tokenizer.load(init)
    else:
        vocabulary = Tokenizer.load(params.source, params.revision)

    extension: dict[str, float] = {}
    if params.extend is not None:
        extended = extend_vocabulary(vocabulary, read(params.extend.corpora), params.extend)
        vocabulary, extension = extended.tokenizer, extended.metrics()
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
    print(f"tokenizer: {vocabulary.size:,} subword tokens from {', '.join(params.corpora) or params.source}")


STAGE = Stage(tokenizer)

if __name__ == "__main__":
    STAGE.run()
