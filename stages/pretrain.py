"""General pre-training: random weights or a public checkpoint + general text -> the `pretrain` rung, and `scratch`.

`scratch` is the same architecture and tokenizer without weights: the rung of an arm that skips pre-training.
"""

from pathlib import Path

from pydantic import model_validator

from adaptbert.base.config import contradiction
from adaptbert.base.files import atomic_write
from adaptbert.model.architecture import EncoderConfig
from adaptbert.pretraining.heldout_evaluation import MeasureConfig
from adaptbert.pretraining.rung_config import RungConfig
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run
from adaptbert.training.resume import Work

SCRATCH = "scratch"


class PretrainParams(RungConfig):
    """The first rung."""

    init: str
    """`scratch`; a Hugging Face folder, such as models/init; or the name of a model on the hub."""
    revision: str | None = None
    """Of a model on the hub; required there."""
    encoder: EncoderConfig | None = None
    """The shape of a BERT from scratch; a checkpoint brings its own."""

    @model_validator(mode="after")
    def _start(self) -> "PretrainParams":
        if (self.init == SCRATCH) != (self.encoder is not None):
            problem = f"init is {self.init} and encoder is {'given' if self.encoder else 'missing'}"
            sizes = "layers: 2, hidden_size: 256, heads: 4, intermediate_size: 1024, max_positions: 512"
            add = f"add `encoder: {{{sizes}}}`, or other sizes"
            raise contradiction(problem, "take encoder out: a checkpoint brings its own" if self.encoder else add)
        return self


def pretrain(
    params: PretrainParams,
    *,
    seed: int,
    measure: MeasureConfig,
    init: Path,
    tokenizer: Path,
    text: Path,
    heldout: Path,
    scratch: Path,
    out: Path,
    metrics: Path,
    work: Work,
    run: Run,
) -> None:
    """Train the general rung, or use a public checkpoint without training."""
    from adaptbert.model import checkpoint
    from adaptbert.model.card import Provenance
    from adaptbert.model.checkpoint import Checkpoint
    from adaptbert.pretraining.rung import RungRun, train_rung
    from adaptbert.pretraining.rung_outputs import RungPaths, keep_rung
    from adaptbert.tokenization.store.tokenized_corpus import TokenizedCorpus
    from adaptbert.tokenization.store.tokenizer import Tokenizer

    corpus = TokenizedCorpus.load(text)
    if params.encoder is not None:
        vocabulary = Tokenizer.load(tokenizer)
        config = params.encoder.hugging_face(vocabulary.size, vocabulary.pad)
    else:
        source = Path(params.init)
        if source.is_dir():
            start = Checkpoint.load(source)
            if source.resolve() != init.resolve():
                print(f"note: DVC cannot see changes in {source}; it watches {init}")
        else:
            start = Checkpoint.from_hub(params.init, params.revision or "main")
        start = start.extended(Tokenizer.load(tokenizer), tokenizer)
        if start.base:
            print(f"vocabulary: {start.base.size:,} -> {start.tokenizer.size:,} tokens; the embeddings grow to match")
        vocabulary, config = start.tokenizer, start.config()
    untrained = Provenance(stage="pretrain", rung=SCRATCH, params={}, init=None)
    with atomic_write(scratch) as part:  # written together with the rung that starts from it
        checkpoint.save(part, config, vocabulary, untrained)
        if params.encoder is not None:
            start = Checkpoint.load(part)
        rung = RungRun("pretrain", "pretrain", start, corpus, params, measure, seed, heldout)
        keep_rung(train_rung(rung, work, run), RungPaths(out, metrics), work, run)


STAGE = Stage(
    pretrain,
    code=(
        "adaptbert/base",
        "adaptbert/tokenization/store",
        "adaptbert/model",
        "adaptbert/training",
        "adaptbert/pretraining",
        "stages/pretrain.py",
    ),
)

if __name__ == "__main__":
    STAGE.run()
