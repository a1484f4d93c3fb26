"""The tokenizer: validated corpora -> a WordPiece vocabulary, or that of the checkpoint with or without more words."""

from collections.abc import Iterator
from pathlib import Path

from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.text import Vocabulary
from adaptbert.core.files import atomic_write, write_json
from adaptbert.data.parquet import texts
from adaptbert.runtime.mlflow import Run
from adaptbert.stage import run_stage
from adaptbert.text.tokenizer import Tokenizer, folding
from adaptbert.text.vocabulary_extension import extend_vocabulary


def tokenizer(
    params: Vocabulary, *, base: str, weights: Base, corpora: Path, out: Path, metrics: Path, run: Run
) -> None:
    def read(names: list[str]) -> Iterator[str]:
        for corpus in names:
            yield from (text for _, text in texts(corpora / f"{corpus}.parquet"))

    extension: dict[str, float] = {}
    names = params.corpora or []
    if weights.is_random:
        megabytes = sum(len(text.encode()) for text in read(names)) / 1e6
        size = f"at most {params.vocabulary_size:,} subword tokens"
        print(f"  {size} are learned from {megabytes:,.1f} MB of text, about a second for each MB ...", flush=True)
        vocabulary = Tokenizer.train(lambda: read(names), params)
    else:
        vocabulary = Tokenizer.of(weights)
        if params.extend is not None:
            vocabulary, extension = extend_vocabulary(vocabulary, read(params.extend.corpora), params.extend)
            print(
                f"extended by {extension['new_tokens']:,} words: {extension['tokens_saved']:.1%} fewer tokens on this"
                f" text, unknown {extension['unknown_rate_before']:.2%} -> {extension['unknown_rate_after']:.2%}"
            )
    with atomic_write(out) as part:
        part.mkdir()
        vocabulary.save(part)
    write_json(metrics, {"vocabulary": vocabulary.size, "fingerprint": vocabulary.fingerprint, **extension})
    run.set_tags({"tokenizer": vocabulary.fingerprint})
    run.log_metrics({f"tokenizer/{name}": v for name, v in {"vocabulary": vocabulary.size, **extension}.items()})
    print(*folding(vocabulary.backend.normalizer), sep="\n")
    print(f"tokenizer: {vocabulary.size:,} subword tokens from {weights.checkpoint or ', '.join(names)}")


if __name__ == "__main__":
    run_stage(tokenizer)
