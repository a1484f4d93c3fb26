"""The sections `pretrain`, `domain_transfer` and `task_transfer`: masked-language modelling.

Defaults for random weights are those of small models and little text on a CPU (benchmarks/studies); for a checkpoint
those of Devlin et al. 2019, appendix A.2, and of Gururangan et al. 2020, appendix B.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from adaptbert.config.schema.section import Contradiction, FromWeights, Section
from adaptbert.config.schema.training import Fraction, Rate, Training

SentenceObjective = Literal["none", "nsp", "sop"]
Share = Annotated[float, Field(ge=0, le=1)]
Points = Annotated[int, Field(ge=1, le=1_000)]
MOST = 16_384  # tokens of a forward pass where none are written
BUDGET = ("tokens", "passes", "steps")
"""Keys of which one alone is in force: one that is written takes the place of another in a section below."""


class Ngram(Section):
    """The number of words in a run."""

    longest: Annotated[int, Field(ge=2, le=64)]
    """Unit ngram: words of the longest run, 3 after ERNIE (Sun et al. 2019), 10 in SpanBERT (Joshi et al. 2020)."""
    geometric: Fraction
    """Unit ngram: p of a geometric distribution of lengths that ends at `longest`, 0.2 in SpanBERT; 0: each length
    is equally likely."""


class Masking(Section):
    """How tokens are chosen and replaced."""

    unit: Literal["token", "word", "ngram"] = "token"
    """The unit that is drawn: single tokens, all tokens of a word together (whole-word masking), or runs of words. A
    run ends at a special token. `tokenize.words` defines what a word is."""
    ngram: Ngram | None = None
    probability: Annotated[float, Field(gt=0, lt=1), FromWeights(random=0.3, trained=0.15)]
    """Probability of each unit being chosen: 0.15 in BERT, more for small budgets (Wettig et al. 2023)."""
    decay_probability: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Probability while `wsd` lets the learning rate fall, lower than before: 0.15 in ModernBERT-bio (Touchent and de
    la Clergerie 2026), 0.05 in mmBERT (Marone et al. 2025). Left out: no other."""
    mask_share: Share = 0.8
    """Share of the chosen tokens that become the mask (Devlin et al. 2019, appendix A.1, as the other two)."""
    random_share: Share = 0.1
    """Share of the chosen tokens that become a random token."""
    keep_share: Share = 0.1
    """Share of the chosen tokens that stay unchanged."""

    def _agree(self) -> None:
        if (self.unit == "ngram") != (self.ngram is not None):
            state = "is missing" if self.ngram is None else "is given"
            raise Contradiction(f"unit is {self.unit} and ngram {state}; unit ngram needs it, and no other unit has it")
        total = self.mask_share + self.random_share + self.keep_share
        if abs(total - 1) > 1e-9:
            raise Contradiction(
                f"mask_share {self.mask_share} + random_share {self.random_share} + keep_share {self.keep_share}"
                f" is {total:g}, not 1"
            )


class MlmStep(Training):
    """A step of masked-language modelling."""

    usual_budget: ClassVar[FromWeights] = FromWeights(random=None, trained=None)
    """The budget where none is written."""

    masking: Masking
    tokens: Annotated[int, Field(ge=0, le=10**14)] | None = None
    """Budget: tokens trained on, special tokens included. One of `tokens`, `passes` and `steps` is the length."""
    passes: Annotated[float, Field(ge=0, le=10_000)] | None = None
    """Budget: passes over the text, of domain transfer with what is replayed; of the control on general text over that
    of `domain`, so that both are trained on as many tokens."""
    steps: Annotated[int, Field(ge=0, le=100_000_000)] | None = None
    """Budget: optimizer steps."""
    warmup_fraction: Fraction = 0.06
    betas: Annotated[list[Fraction], FromWeights(random=[0.9, 0.98], trained=[0.9, 0.999])]
    """Decay of the running means of the gradient and of its square; 0.98 for the second as in RoBERTa (Liu et al.
    2019)."""
    epsilon: Annotated[float, Field(gt=0, lt=1)] = 1e-6
    global_batch_tokens: Annotated[int, Field(gt=0, le=16_777_216), FromWeights(random=1024, trained=32_768)]
    """Tokens an optimizer step."""
    micro_batch_tokens: Annotated[int | None, Field(gt=0, le=16_777_216), FromWeights(random=1024, trained=None)]
    """Tokens a forward pass; it sets gradient accumulation. Left out, with a checkpoint: equal parts of 16,384 at most,
    or on one GPU of what half its memory holds (not seen on a device)."""
    head_warmup_steps: Annotated[int, Field(ge=0, le=100_000_000)] = 0
    """Optimizer steps before those of the budget that train the head only, for a checkpoint with a random head; 0 for
    none."""
    dropout: Annotated[Fraction, FromWeights(random=0.0, trained=0.1)]
    """Dropout of hidden states and attention. 0 learns most from few tokens (Geiping and Goldstein 2023, sec. 4.3)."""
    causal_share: Fraction = 0.0
    """Share of the steps, before the masked rest, in which each token is predicted from those before it (Touchent and
    de la Clergerie 2026: ten of eleven). Not with a base that runs padded."""
    sentence_objective: SentenceObjective = "none"
    """An objective beside masking, on the two halves of a document: none; whether the second follows the first or is
    from another document (nsp); whether they are in order (sop). Not for texts of one sentence."""
    measurements: Points = 4
    """Points on the curves of held-out text, at steps that grow by a constant factor; the last step is one."""

    @classmethod
    def filled(cls, values: Mapping[str, Any], *, random: bool) -> dict[str, Any]:
        usual = cls.usual_budget.random if random else cls.usual_budget.trained
        known = super().filled(values, random=random)
        return known if any(known.get(key) is not None for key in BUDGET) else known | (usual or {})

    @property
    def masking_rate(self) -> float:
        """The mean probability over the masked steps."""
        usual, last = self.masking.probability, self.masking.decay_probability
        return usual if last is None else usual + (last - usual) * self.decay_share / (1 - self.causal_share)

    @property
    def predicted_share(self) -> float:
        """About the share of the tokens that are predicted, over all steps."""
        return self.causal_share + (1 - self.causal_share) * self.masking_rate

    def micro_batch(self, most: int = MOST) -> int:
        """Tokens a forward pass: as written, or the largest equal part of a step with at most so many."""
        if self.micro_batch_tokens is not None:
            return self.micro_batch_tokens
        whole = self.global_batch_tokens
        return next(whole // parts for parts in range(-(-whole // most), whole + 1) if whole % parts == 0)

    def _agree(self) -> None:
        super()._agree()
        values = {name: value for name in BUDGET if (value := getattr(self, name)) is not None}
        if len(values) != 1:
            remedy = "keep one" if values else "write one, e.g. tokens: 6_000_000"
            raise Contradiction(f"give one of {', '.join(BUDGET)}, found {values or 'none'}", remedy)
        if self.causal_share and self.sentence_objective != "none":
            raise Contradiction(f"causal_share {self.causal_share} and sentence_objective {self.sentence_objective}")
        if self.causal_share + self.decay_share > 1 + 1e-9:
            problem = f"causal_share {self.causal_share} + decay_fraction {self.decay_share} is above 1"
            raise Contradiction(problem, "the learning rate falls in masked steps: lower one of them")
        if self.masking.decay_probability is not None and not self.decay_share:
            problem = (
                f"masking.decay_probability {self.masking.decay_probability}, and the learning rate has no decay phase"
            )
            raise Contradiction(problem, "write schedule: wsd")
        if self.micro_batch_tokens is not None:
            self.check_batches("tokens")
        micro_batch, whole = self.micro_batch(), self.global_batch_tokens
        if self.micro_batch_tokens is None and micro_batch < self.block_size <= MOST < whole:
            problem = f"global_batch_tokens {whole} has no equal parts from block_size {self.block_size} to {MOST}"
            raise Contradiction(problem, f"write global_batch_tokens: {round(whole / MOST) * MOST}")
        if self.block_size > micro_batch:
            problem = f"block_size {self.block_size} is larger than micro_batch_tokens {micro_batch}"
            raise Contradiction(problem, f"write block_size: {micro_batch}, or less")


class Pretrain(MlmStep):
    """General pre-training; a checkpoint is taken as it is unless a budget is written. Without a corpus `general` all
    weights are."""

    usual_budget: ClassVar[FromWeights] = FromWeights(random=None, trained={"tokens": 0})

    learning_rate: Annotated[Rate, FromWeights(random=1e-3, trained=1e-4)]


class DomainTransfer(MlmStep):
    """DAPT: on domain text; on general text, with an equal budget, it is the control."""

    usual_budget: ClassVar[FromWeights] = FromWeights(random={"passes": 1.0}, trained={"passes": 1.0})
    """One pass over the domain text (Gururangan et al. 2020, section 3)."""

    learning_rate: Annotated[Rate, FromWeights(random=1e-3, trained=5e-5)]
    measurements: Points = 5
    replay_fraction: Fraction = 0.05
    """Share of general text among the tokens, against forgetting; left out without a corpus `general`: 0."""


class TaskTransfer(MlmStep):
    """TAPT: on the training text of the task, without labels."""

    usual_budget: ClassVar[FromWeights] = FromWeights(random={"passes": 50.0}, trained={"passes": 50.0})
    """Many passes with fresh masks; 100 in Gururangan et al. 2020, section 4."""

    learning_rate: Annotated[Rate, FromWeights(random=2e-4, trained=1e-4)]
    measurements: Points = 3
