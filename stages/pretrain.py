"""General pre-training: random weights or a public checkpoint + general text -> the `pretrain` rung, and `scratch`.

`scratch` is the same architecture and tokenizer without weights: the rung of an arm that skips pre-training.
"""

from pathlib import Path

from adaptbert.config.schema.bases import GENERAL, Base
from adaptbert.config.schema.mlm import Pretrain
from adaptbert.config.schema.text import Measure
from adaptbert.core.files import atomic_write
from adaptbert.runtime.stage import Stage
from adaptbert.runtime.tracking.run import Run
from adaptbert.training.resume import Work


def pretrain(
    params: Pretrain,
    *,
    base: str,
    weights: Base,
    seed: int,
    measure: Measure,
    tokenizer: Path,
    text: Path,
    heldout: Path,
    scratch: Path,
    out: Path,
    metrics: Path,
    work: Work,
    run: Run,
) -> None:
    """Train the general checkpoint of a base, or use a public checkpoint without training."""
    from adaptbert.mlm.rung import RungRun, train_rung
    from adaptbert.mlm.rung_outputs import keep_rung
    from adaptbert.model import checkpoint
    from adaptbert.model.card import Provenance
    from adaptbert.model.checkpoint import Checkpoint, random_weights
    from adaptbert.text.token_store import TokenizedCorpus
    from adaptbert.text.tokenizer import Tokenizer

    corpus = TokenizedCorpus.load(text)
    if weights.is_random:
        vocabulary = Tokenizer.load(tokenizer)
        config = random_weights(weights, vocabulary.size, vocabulary.pad)
    else:
        public = Checkpoint.of(weights).extended(Tokenizer.load(tokenizer), tokenizer)
        if public.base:
            sizes = f"{public.base.size:,} -> {public.tokenizer.size:,} tokens"
            print(f"vocabulary: {sizes}; the embeddings grow to match")
        vocabulary, config = public.tokenizer, public.config()
    untrained = Provenance(stage="pretrain", rung=f"scratch/{base}", params={}, init=None)
    with atomic_write(scratch) as part:  # written together with the rung that starts from it
        checkpoint.save(part, config, vocabulary, untrained)
        first = Checkpoint.load(part) if weights.is_random else public
        rung = RungRun("pretrain", f"pretrain/{base}", first, corpus, params, measure, seed, [heldout / GENERAL])
        keep_rung(train_rung(rung, work, run), out, metrics, work, run)


STAGE = Stage(pretrain)

if __name__ == "__main__":
    STAGE.run()
