"""General pre-training: random weights or a public checkpoint + general text -> the `pretrain` rung, and `scratch`.

`scratch` is the same architecture and tokenizer without weights: the rung of an arm that skips pre-training.
"""

from pathlib import Path

from adaptbert.base.ladder import GENERAL
from adaptbert.base.start import StartConfig
from adaptbert.core.files import atomic_write
from adaptbert.mlm.heldout_evaluation import MeasureConfig
from adaptbert.mlm.rung_config import RungConfig
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run
from adaptbert.training.resume import Work


class PretrainParams(RungConfig):
    """The first rung; a public checkpoint usually has a budget of 0, and is taken as it is."""


def pretrain(
    params: PretrainParams,
    *,
    start: str,
    weights: StartConfig,
    seed: int,
    measure: MeasureConfig,
    tokenizer: Path,
    text: Path,
    heldout: Path,
    scratch: Path,
    out: Path,
    metrics: Path,
    work: Work,
    run: Run,
) -> None:
    """Train the general rung of a start, or use a public checkpoint without training."""
    from adaptbert.mlm.rung import RungRun, train_rung
    from adaptbert.mlm.rung_outputs import keep_rung
    from adaptbert.model import checkpoint
    from adaptbert.model.card import Provenance
    from adaptbert.model.checkpoint import Checkpoint
    from adaptbert.text.token_store import TokenizedCorpus
    from adaptbert.text.tokenizer import Tokenizer

    corpus = TokenizedCorpus.load(text)
    if weights.encoder is not None:
        vocabulary = Tokenizer.load(tokenizer)
        config = weights.encoder.hugging_face(vocabulary.size, vocabulary.pad)
    else:
        public = (
            Checkpoint.load(Path(weights.init))
            if weights.is_folder
            else Checkpoint.from_hub(weights.init, weights.hub_revision)
        )
        public = public.extended(Tokenizer.load(tokenizer), tokenizer)
        if public.base:
            sizes = f"{public.base.size:,} -> {public.tokenizer.size:,} tokens"
            print(f"vocabulary: {sizes}; the embeddings grow to match")
        vocabulary, config = public.tokenizer, public.config()
    untrained = Provenance(stage="pretrain", rung=f"scratch/{start}", params={}, init=None)
    with atomic_write(scratch) as part:  # written together with the rung that starts from it
        checkpoint.save(part, config, vocabulary, untrained)
        first = Checkpoint.load(part) if weights.encoder is not None else public
        rung = RungRun("pretrain", f"pretrain/{start}", first, corpus, params, measure, seed, [heldout / GENERAL])
        keep_rung(train_rung(rung, work, run), out, metrics, work, run)


STAGE = Stage(pretrain, blocks=("start",), at={"weights": "ladder.starts.{start}"})

if __name__ == "__main__":
    STAGE.run()
