"""A checkpoint: a Hugging Face folder (safetensors only) with a card that records its provenance.

`weights` of the card is the sha256 of model.safetensors, which identifies the checkpoint in the MLflow tags `init` and
`checkpoint`.
"""

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from adaptbert.codes import Code
from adaptbert.config.schema.bases import Base
from adaptbert.core.files import atomic_write, file_digest, write_json
from adaptbert.errors import BadData
from adaptbert.model import checkpoint_files as files
from adaptbert.model.checkpoint_files import CARD, CONFIG, WEIGHTS, Card, Provenance, damaged, hugging_face_config
from adaptbert.model.classes import TASK_HEADS, Head, class_of, longest, names_of_head, set_dropout, uncounted
from adaptbert.model.proof import prepare
from adaptbert.text.tokenizer import Tokenizer

UNFIT = (ValueError, TypeError, LookupError, AttributeError, ImportError, RuntimeError, AssertionError, ArithmeticError)
"""What classes of transformers raise for values of config.json that they cannot use."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder, or the name of a model on the hub, that passed all checks.

    Attributes:
        source: the folder, or the name.
        revision: of a model on the hub.
        tokenizer: the one that belongs to the weights.
        card: None for a checkpoint that this project did not write.
        unextended: the tokenizer that the stored weights belong to, where `tokenizer` extends it (`extended`).
    """

    source: str
    tokenizer: Tokenizer
    card: Card | None
    revision: str | None = None
    unextended: Tokenizer | None = None

    @classmethod
    def load(cls, folder: str | Path) -> "Checkpoint":
        """Check a folder, and refuse what would fail silently later.

        Raises:
            BadData: no encoder of transformers, damaged weights, a pickle, or a tokenizer that does not belong to it.
        """
        folder = Path(folder)
        config_file, weights = folder / CONFIG, folder / WEIGHTS
        files.check_folder(folder)
        hugging_face_config(files.read_object(config_file), config_file)
        if not weights.is_file() and any(folder.glob("*.bin")):
            remedy = "move them elsewhere: `adaptbert import FOLDER` converts them safely"
            raise BadData(Code.UNSAFE_WEIGHTS, folder, "only pickled weights (*.bin)", remedy)
        tokenizer, card = Tokenizer.load(folder), files.read_card(folder / CARD)
        checkpoint = cls(str(folder), tokenizer, card)
        checkpoint.check_vocabulary()
        if card:
            files.check_digests(card, folder, tokenizer.fingerprint)
        elif not weights.is_file():
            raise damaged(weights, "file is missing", "copy the whole checkpoint")
        if checkpoint.has_weights:
            checkpoint._check_tensors(weights)
        return checkpoint

    @classmethod
    def of(cls, base: Base) -> "Checkpoint":
        """What a base with trained weights names: a folder, or a model on the hub."""
        assert base.checkpoint is not None
        if base.is_folder:
            return cls.load(Path(base.checkpoint))
        return cls.from_hub(base.checkpoint, base.revision or "main")

    @classmethod
    def from_hub(cls, name: str, revision: str) -> "Checkpoint":
        """Check a model of the hub by its name; transformers caches what it downloads.

        Raises:
            BadData: it cannot be downloaded, or fails the checks of a folder.
        """
        hugging_face_config(files.written_config(name, revision), name)
        checkpoint = cls(name, Tokenizer.load(name, revision), None, revision)
        checkpoint.check_vocabulary()
        # Without the file transformers looks for shards, or for a conversion.
        if weights := files.downloaded(name, revision, WEIGHTS, required=False):
            checkpoint._check_tensors(weights)
        return checkpoint

    def _check_tensors(self, weights: Path) -> None:
        with quiet(), self.readable():
            files.check_tensors(weights, self.config(), self.source)

    def check_vocabulary(self) -> None:
        config, tokenizer, problem = self.config(), self.tokenizer, ""
        if tokenizer.size > config.vocab_size:
            problem = f"tokenizer {tokenizer.size} tokens, embeddings {config.vocab_size}"
        with self.readable():
            left_out = uncounted(config)
        if left_out not in (None, tokenizer.pad) or left_out in (*tokenizer.one.before, *tokenizer.one.after):
            problem = problem or f"positions are counted without token {left_out}, which is not that of padding alone"
        if problem:
            raise BadData(Code.TOKENIZER, self.source, problem, "take the tokenizer that belongs to the weights")

    @property
    def name(self) -> str:
        """Folder of the checkpoint below models/; the source for a checkpoint that this project did not write."""
        return self.card.checkpoint if self.card else self.source

    @property
    def digest(self) -> str:
        """Digest of the weights; for a checkpoint without weights the name, for one of the hub with the revision."""
        if self.card:
            return self.card.weights or self.name
        return f"{self.source}@{self.revision}" if self.revision else file_digest(Path(self.source) / WEIGHTS)

    @property
    def texts(self) -> list[dict[str, Any]]:
        """The ledger: all text that the weights have seen as far as this project knows, oldest first."""
        return list(self.card.texts or []) if self.card else []

    @property
    def measured(self) -> dict[str, dict[str, float]]:
        """Measures of the weights on each held-out text; empty when the vocabulary has changed since."""
        return dict(self.card.measured or {}) if self.card and not self.unextended else {}

    @property
    def has_weights(self) -> bool:
        """False for `scratch`: an architecture and a tokenizer, whose weights the caller draws."""
        return self.card is None or self.card.weights is not None

    def config(self) -> Any:
        """The architecture as Hugging Face writes it, of a fine-tuned checkpoint with its labels."""
        config = self._config(labels=self.card is not None and self.card.task is not None)
        if self.unextended:
            config.vocab_size = max(config.vocab_size, self.tokenizer.size)
        return config

    @property
    def longest(self) -> int:
        """The most tokens of a text."""
        return longest(self.config())

    def _config(self, **overrides: Any) -> Any:
        with self.readable():
            written = files.written_config(self.source, self.revision)
            return hugging_face_config(written, f"{self.source}/{CONFIG}", **overrides)

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Turn errors of transformers into one line: a config can be unusable although its sizes and tensors agree."""
        try:
            yield
        except OSError as error:
            if self.revision is None:
                raise
            raise files.not_on_the_hub(self.source, error) from None
        except UNFIT as error:
            reason = (str(error).splitlines() or [""])[0]
            raise damaged(self.source, f"{CONFIG} cannot be used: {type(error).__name__}: {reason}") from None

    def extended(self, tokenizer: Tokenizer, place: str | Path) -> "Checkpoint":
        """The same weights with the tokenizer at `place`, which may have more words; `model` grows the embeddings.

        Raises:
            BadData: it is not the tokenizer of the checkpoint with words added.
        """
        if not tokenizer.extends(self.tokenizer):
            self.check_tokenizer(tokenizer.fingerprint, place)
            return self
        return replace(self, tokenizer=tokenizer, unextended=self.tokenizer)

    def check_tokenizer(self, fingerprint: str, place: str | Path) -> None:
        """Refuse text that was made with another tokenizer: the most likely silent bug of a pipeline of checkpoints."""
        if fingerprint != self.tokenizer.fingerprint:
            own = self.tokenizer.fingerprint
            problem = f"made with tokenizer {fingerprint[:12]}, the checkpoint {self.name} has {own[:12]}"
            remedy = "run `dvc repro`, which tokenises all text with the tokenizer of its base"
            raise BadData(Code.TOKENIZER, place, problem, remedy)

    def encoder(self) -> Any:
        """The encoder as Hugging Face's `AutoModel`, without dropout, in float32; a pooler that it lacks is random."""
        import torch

        with torch.random.fork_rng(devices=[]):
            return self.model("none", 0).eval()

    def model(self, head: Head, seed: int, **overrides: Any) -> Any:
        """See `model_and_drawn`; the head of a task is drawn in any case: the steps before it keep none."""
        model, drawn = self.model_and_drawn(head, seed, **overrides)
        if head in TASK_HEADS and self.has_weights:
            own = names_of_head(model.config, head) - names_of_head(model.config, "masked_lm") - drawn
            old = {name for name in own if ".pooler." not in name}
            for name in old:
                model.get_parameter(name)._is_hf_initialized = False
            for module in sorted({name.rpartition(".")[0] for name in old}):
                model._init_weights(model.get_submodule(module))
        return model

    def model_and_drawn(
        self, head: Head, seed: int, dropout: float | None = None, **overrides: Any
    ) -> tuple[Any, frozenset[str]]:
        """The model of Hugging Face with this head; what the checkpoint lacks is drawn with `seed`.

        Args:
            dropout: rate in the encoder, and in the head of a task; None: those of config.json.
            overrides: of the config, e.g. `num_labels`.

        Returns:
            The model, and the names of the weights that were drawn; none for an architecture without weights.

        Raises:
            BadData: damaged weights; weights of the encoder are missing, left over or of another shape.
        """
        import torch

        torch.manual_seed(seed)
        config = self._config(**overrides)
        if dropout is not None:
            set_dropout(config, head, dropout)
        hugging_face_class = class_of(config, head)
        if not self.has_weights:
            config.vocab_size = self.config().vocab_size
            with self.readable():
                model = hugging_face_class(config)
            prepare(model)
            return model, frozenset()
        with quiet(), self.readable():
            options: dict[str, Any] = {"revision": self.revision or "main", "use_safetensors": True}
            options["dtype"] = torch.float32
            model, info = files.loaded(hugging_face_class, self.source, config, self.source, **options)
        broken = [name for name, tensor in model.named_parameters() if not bool(torch.isfinite(tensor).all())]
        if broken:
            raise damaged(self.source, f"{broken[0]} holds NaN or Inf", "take an older checkpoint")
        if self.unextended:
            grow(model, self.unextended, self.tokenizer)
        prepare(model)
        return model, frozenset((*info["missing_keys"], *map(itemgetter(0), info["mismatched_keys"])))

    def hand_on_pooler(self, model: Any) -> None:
        """Give a model that has no pooler the one of the checkpoint, if there is one that fine-tuning starts from.

        Masked-language modelling does not use the pooler, and Hugging Face's class for it has none; fine-tuning of a
        BERT starts from it (Devlin et al. 2019, section 4.1). So a step that does not train the pooler copies it
        unchanged.
        """
        if getattr(model.base_model, "pooler", None) is not None or not self.has_weights:
            return
        if not any(".pooler." in name for name in names_of_head(model.config, "sequence")):
            return
        encoder, drawn = self.model_and_drawn("none", 0)
        if not any(name.startswith("pooler.") for name in drawn):
            model.base_model.pooler = encoder.pooler.to(model.device)


def grow(model: Any, base: Tokenizer, tokenizer: Tokenizer) -> None:
    """Extend the embeddings of a model from the tokens of `base` to those of `tokenizer`; tied weights stay tied.

    A new row is the mean of the rows of its old subword tokens, as is the bias of the decoder.

    Args:
        model: of Hugging Face, with or without the head of masked-language modelling, changed in place.
    """
    import torch

    rows = model.get_input_embeddings().weight.shape[0]
    model.resize_token_embeddings(max(rows, tokenizer.size), mean_resizing=False)
    tables = [model.get_input_embeddings().weight]
    output = model.get_output_embeddings()
    if output is not None:
        tables += [] if output.weight is tables[0] else [output.weight]
        tables += [] if output.bias is None else [output.bias]
    encodings = base.encode(tokenizer.tokens[base.size :])
    with torch.no_grad():
        for number, encoding in enumerate(encodings, start=base.size):
            for table in tables:
                table[number] = table[encoding.ids].mean(0)


def save(folder: Path, model: Any, tokenizer: Tokenizer, provenance: Provenance) -> Card:
    """Write a checkpoint atomically; returns its card, with the digests of the written files.

    Args:
        model: a Hugging Face model; or a config, for an architecture without weights.
    """
    with atomic_write(folder) as part, quiet():
        model.save_pretrained(str(part))
        (part / "generation_config.json").unlink(missing_ok=True)
        sizes = getattr(model, "config", model)
        limit = provenance.task.max_length if provenance.task else longest(sizes)
        tokenizer.save(part, limit, segments=getattr(sizes, "type_vocab_size", 1) > 1)
        weights = None
        if (part / WEIGHTS).is_file():
            shutil.copymode(part / CONFIG, part / WEIGHTS)  # safetensors writes it readable by its owner only
            weights = file_digest(part / WEIGHTS)
        config = file_digest(part / CONFIG)
        card = Card(**dict(provenance), weights=weights, config=config, tokenizer=tokenizer.fingerprint)
        write_json(part / CARD, card.as_json())
    return card


@contextmanager
def quiet() -> Iterator[None]:
    """Hides the progress bars and load reports of transformers: this module checks what they warn of."""
    from transformers.utils import logging as hugging_face_logging

    level = hugging_face_logging.get_verbosity()
    hugging_face_logging.set_verbosity(logging.ERROR)
    hugging_face_logging.disable_progress_bar()
    try:
        yield
    finally:
        hugging_face_logging.set_verbosity(level)


def random_weights(base: Base, vocabulary_size: int, pad: int) -> Any:
    """The sizes of a base as a Hugging Face config."""
    from transformers import AutoConfig

    return AutoConfig.for_model(
        "bert",
        vocab_size=vocabulary_size,
        hidden_size=base.hidden_size,
        num_hidden_layers=base.layers,
        num_attention_heads=base.heads,
        intermediate_size=base.intermediate_size,
        max_position_embeddings=base.max_positions,
        pad_token_id=pad,
    )
