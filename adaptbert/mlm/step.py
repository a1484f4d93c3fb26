"""A step of masked-language modelling: from a checkpoint and a text to the next checkpoint, measured before and after.

pretrain, domain_transfer and task_transfer are this operation with three sets of values.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from adaptbert.codes import Code
from adaptbert.config.plan import seed_of_replicate
from adaptbert.config.schema.bases import Base
from adaptbert.config.schema.mlm import MlmStep
from adaptbert.core.files import atomic_write, write_json
from adaptbert.core.record import CurvePoint, flat, grouped
from adaptbert.errors import BadData
from adaptbert.mlm.arguments import StepArguments
from adaptbert.mlm.heldout_evaluation import HeldOut, Measures, as_records
from adaptbert.mlm.masked_lm import LOSS_NAME, PAIR_PARTS, MaskedBatches, MaskedLM, causal_steps
from adaptbert.mlm.masking import audit_metrics
from adaptbert.mlm.micro_batch import division, micro_batch
from adaptbert.mlm.records import MaskingMetrics, SentenceCounts, StepMetrics, VocabularyGrowth
from adaptbert.model import checkpoint
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.model.checkpoint_files import CARD, Provenance, old_use, written_config
from adaptbert.model.classes import names_of_head
from adaptbert.model.encoder import PADDED, WORDS, way_of
from adaptbert.model.flops import training_flop
from adaptbert.model.optimizer import Optimization
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.text.tokenizer import Tokenizer
from adaptbert.training import graphs
from adaptbert.training.arguments import Fitted, TrainingArguments
from adaptbert.training.document_stream import steps_of
from adaptbert.training.loop import fit

NEAR_CHANCE = 0.8
"""Share of ln V, the loss of a random head: a head with a higher loss on every held-out text was never trained.

V is the size of the vocabulary. A model of token frequencies alone gives the entropy of single tokens: 0.66 to 0.70
ln V with BERT's vocabularies on encyclopaedic and biomedical English, mixed Chinese and Weibo posts.
"""
RANDOM_HEAD = "the head of masked-language modelling in {name} was never trained"
MEANINGLESS = "bits per character of this checkpoint mean nothing, and no comparison with it does"
WARM_UP = "; set head_warmup_steps (some hundreds) to train the head alone first"


@contextmanager
def opened_base(base: Base, tokenizer: Path, scratch: Path) -> Iterator[Checkpoint]:
    """Random weights or a public checkpoint, with the tokenizer of the base.

    Args:
        scratch: gets the architecture without weights, for an arm that skips pre-training, when the block ends without
            an error.
    """
    vocabulary, public = Tokenizer.load(tokenizer), None
    if base.is_random:
        config = checkpoint.random_weights(base, vocabulary.size, vocabulary.pad)
    else:
        public = Checkpoint.of(base).extended(vocabulary, tokenizer)
        for notice in old_use(written_config(public.source, public.revision)):
            print(notice)
        if public.unextended:
            sizes = f"{public.unextended.size:,} -> {public.tokenizer.size:,} tokens"
            print(f"vocabulary: {sizes}; the embeddings grow to match")
        vocabulary, config = public.tokenizer, public.config()
    untrained = Provenance(stage="pretrain", checkpoint=f"scratch/{scratch.name}", params={}, init=None)
    with atomic_write(scratch) as part:
        checkpoint.save(part, config, vocabulary, untrained)
        yield public or Checkpoint.load(part)


class Mixed(NamedTuple):
    """Another text of domain transfer: general text that is replayed, or that of the domain beside the control.

    Attributes:
        share: of general text among the tokens of both.
        is_control: whether the step is trained on general text alone, on as many tokens as the domain's would be.
    """

    other: Path
    share: float
    is_control: bool

    def read(self, text: Path, seed: int) -> tuple[TokenizedCorpus, int]:
        """What is trained on, and the tokens of a pass."""
        corpus = TokenizedCorpus.load(text)
        if self.other == text:
            return corpus, corpus.tokens
        other = TokenizedCorpus.load(self.other)
        if self.is_control:
            return corpus, other.mixed_with(corpus, self.share, seed).tokens
        both = corpus.mixed_with(other, self.share, seed)
        return both, both.tokens


def take_step(
    name: str,
    init: Checkpoint,
    params: MlmStep,
    texts: Iterable[str],
    replicate: int = 1,
    mixed: Mixed | None = None,
    **common: Unpack[StepArguments],
) -> None:
    """The stages pretrain, domain_transfer and task_transfer; resumed where an earlier process stopped.

    Args:
        name: of the stage.
        init: the checkpoint that it begins from.
        texts: names of the held-out sets that it is measured on while it is trained.
        mixed: the other text of domain transfer.
        common: seed of the first replicate, folder of the text (a file where there is none, and nothing is trained),
            folder of the held-out sets; `metrics` is written last.

    Raises:
        BadData: the corpus was made with another tokenizer, or its documents do not fit rows or positions.
    """
    out, work, run = common["out"], common["work"], common["run"]
    checkpoint_name, seed, text = f"{name}/{out.name}", seed_of_replicate(common["seed"], replicate), common["text"]
    if mixed is not None:
        corpus, pass_tokens = mixed.read(text, seed)
    else:
        corpus = TokenizedCorpus.empty() if text.is_file() else TokenizedCorpus.load(text)
        pass_tokens = corpus.tokens
    if corpus.texts:
        _check(corpus, init, params, name)

    objective, longest = params.sentence_objective, min(params.block_size, init.longest)
    model, drawn = init.model_and_drawn(
        "masked_lm" if objective == "none" else "pretraining",
        seed,
        dropout=params.dropout,
    )
    if params.causal_share and way_of(model.base_model) == "padded":
        problem = f"causal_share {params.causal_share}, and {init.name} runs padded, where each token sees all others"
        raise BadData(Code.CONTRADICTION, f"params.yaml: {name}", problem, "take causal_share out for this base")
    params = params.model_copy(update={"micro_batch_tokens": micro_batch(params, model.config)})
    body_steps = optimizer_steps(params, pass_tokens)
    steps = params.head_warmup_steps + body_steps
    optimization = Optimization(params, body_steps, params.head_warmup_steps)
    heldout_folders = [common["heldout"] / text_name for text_name in texts]
    heldout = HeldOut(heldout_folders, common["measure"], init.tokenizer, params.block_size, objective, longest)
    old = init.unextended
    devices, micro_batches = division(params, params.micro_batch())

    def key(precision: str) -> dict[str, Any]:
        """Everything that decides the result except code and machine."""
        return {
            "params": {**params.model_dump(), "precision": precision},
            "seed": seed,
            "devices": devices,
            "measure": common["measure"].model_dump(),
            "init": [init.digest, init.tokenizer.fingerprint, old.fingerprint if old else None],
            "texts": [*corpus.texts, len(corpus.lengths), *corpus.segmentation],
            "pass_tokens": pass_tokens,
            "heldout": heldout.digests,
        }

    precision = work.begin(f"{name}.precision", params.precision, key)
    static = graphs.are_possible(model.base_model, precision)
    batches = (
        MaskedBatches.of(params, corpus, init.tokenizer, longest, seed, optimization, micro_batches, static)
        if steps
        else None
    )
    run.go_on(work.run)

    # What a base from elsewhere was measured to be is of other texts of the same names.
    before = heldout.measure(model, precision, {} if name == "pretrain" else init.measured)
    if init.card and (init.card.random_head or init.card.measured):
        began_untrained = bool(init.card.random_head)
    else:
        began_untrained = init.has_weights and is_random(model, drawn, before, init.tokenizer.size)
    run.log_metrics(flat(before), step=0)
    if began_untrained:
        warmed = f"{params.head_warmup_steps:,} steps train it alone first"
        if not params.head_warmup_steps:  # a step that trains nothing leaves it to the next one
            warmed = f"{MEANINGLESS}{WARM_UP if steps else ''}"
        print(f"  warning: {RANDOM_HEAD.format(name=init.name)}: {warmed}")
    for each in corpus.texts:
        run.log_input(str(each["name"]), str(each["digest"]), "training")
    run.set_tags({"checkpoint": checkpoint_name, "init": init.digest, "precision": precision})

    tokens, of_head = (count * params.global_batch_tokens for count in (body_steps, params.head_warmup_steps))
    documents = WORDS[way_of(model.base_model)]
    if documents == "padded":
        print(f"  {PADDED}")
    print(
        f"{checkpoint_name}: {corpus.tokens:,} tokens of text, {steps:,} steps of {params.global_batch_tokens:,} tokens"
    )

    if first := causal_steps(params, body_steps):
        print(f"  each token is predicted from those before it in the first {first:,} steps, then masked again")

    def measure(_step: int) -> dict[str, float]:
        return {**flat(heldout.measure(model, precision)), **heldout.measure_pairs(model, precision)}

    fitted = Fitted([], {}, 0)
    if batches:
        loss_name, parts = (LOSS_NAME, ()) if objective == "none" else ("train/loss", PAIR_PARTS)
        loss_name = "train/loss" if params.causal_share else loss_name
        arguments = TrainingArguments(steps, micro_batches, params.clip_norm, precision, seed, loss_name, parts)
        module = MaskedLM(model, optimization)
        measure_at = dict.fromkeys(measured_steps(steps, params.measurements), measure)
        fitted = fit(module, batches, arguments, run, measure_at, work.savepoints())
    after, counts = grouped(fitted.curve[-1], heldout.sets) if fitted.curve else before, fitted.counts

    chosen, paired = counts.get("chosen", 0) + counts.get("predicted", 0), counts.get("pairs", 0)
    of_pairs = SentenceCounts(objective=objective, pairs=paired, unpaired=counts.get("unpaired", 0))
    measured = StepMetrics(
        checkpoint=checkpoint_name,
        init=init.name,
        tokens=tokens,
        steps=steps,
        tflop=round(
            training_flop(model.config, tokens + of_head, params.block_size, chosen + paired, chosen) / 1e12, 3
        ),
        parameters=model.num_parameters(),
        sentence=None if objective == "none" else of_pairs,
        vocabulary=VocabularyGrowth(init=old.fingerprint, new_tokens=init.tokenizer.size - old.size) if old else None,
        random_head=(steps == 0 or is_random(model, (), after, init.tokenizer.size)) if began_untrained else None,
        documents=documents if documents != WORDS["packed"] else None,
        before=as_records(before),
        after=as_records(after),
        curve=[CurvePoint.model_validate(point) for point in fitted.curve],
        masking=MaskingMetrics.model_validate(
            {"unit": params.masking.unit, "probability": params.masking_rate, **audit_metrics(counts)}
        ),
    )
    provenance = Provenance(
        stage=name,
        checkpoint=checkpoint_name,
        params={**params.model_dump(), "precision": precision, "seed": seed},
        init=init.digest,
        texts=[*init.texts, *({**each, "trained_tokens": tokens} for each in corpus.texts if steps)],
        measured=after,
        vocabulary=measured.vocabulary.as_json() if measured.vocabulary else None,
        random_head=measured.random_head,
        padded=documents == "padded" or None,
    )

    init.hand_on_pooler(model)
    card = checkpoint.save(out, model, init.tokenizer, provenance)
    if measured.sentence:
        print(f"  {of_pairs.pairs:,} pairs, {of_pairs.unpaired:,} documents too short for one")
    write_json(common["metrics"], measured.as_json())
    work.finish(common["metrics"])
    warmed_up = {None: {}, True: {"random_head": "yes"}, False: {"random_head": "warmed up"}}[measured.random_head]
    run.set_tags({**warmed_up, "checkpoint": str(card.weights)})
    masked = {f"mask/{audit}": value for audit, value in measured.masking.measures.items()}
    run.log_metrics({"cost/tokens": tokens, "cost/tflop": measured.tflop, **masked})
    run.log_artifact(out / CARD)
    run.log_artifact(common["metrics"])
    bits = [f"{each} {before[each]['bits_per_char']:.3f} -> {now['bits_per_char']:.3f}" for each, now in after.items()]
    if bits:
        print(f"  bits per character: {', '.join(bits)}")


def _check(corpus: TokenizedCorpus, init: Checkpoint, params: MlmStep, section: str) -> None:
    """Refuse a corpus with another tokenizer or too long documents."""
    init.check_tokenizer(corpus.fingerprint, corpus.texts[0]["name"])
    longest = int(corpus.lengths.max())
    for limit, name in ((params.block_size, "block_size"), (init.longest, "max_positions")):
        if longest > limit:
            problem = f"a document has {longest} tokens, {name} is {limit}"
            remedy = f"lower tokenize.max_length or raise {name}"
            raise BadData(Code.CONTRADICTION, f"params.yaml: {section}", problem, remedy)


def optimizer_steps(config: MlmStep, corpus_tokens: int) -> int:
    """Optimizer steps of a budget, for a corpus of so many tokens a pass."""
    if config.steps is not None:
        return config.steps
    tokens = config.tokens if config.tokens is not None else (config.passes or 0) * corpus_tokens
    return steps_of(tokens, config.global_batch_tokens)


def is_random(model: Any, drawn: Iterable[str], measured: Measures, vocabulary: int) -> bool:
    """Whether the head of masked-language modelling was never trained: some public checkpoints come without it, or with
    a random one. Nothing fails then, but all measures are at chance level.

    Args:
        drawn: names of the weights that the checkpoint lacks.
        vocabulary: number of tokens of the decoder.
    """
    lowest = min((metrics["mlm_loss"] for metrics in measured.values()), default=0.0)  # nothing measured: not known
    is_near_chance = lowest > NEAR_CHANCE * math.log(vocabulary)
    return is_near_chance or not names_of_head(model.config, "masked_lm").isdisjoint(drawn)


def measured_steps(steps: int, count: int) -> list[int]:
    """Steps, at most `count`, that grow by a constant factor up to the last one, from a tenth of the run on."""
    if steps == 0:
        return []
    if count == 1:
        return [steps]
    first = math.log(max(1.0, steps / 10))
    last = math.log(steps)
    return sorted({round(math.exp(first + (last - first) * i / (count - 1))) for i in range(count)})
