"""A checkpoint: an ordinary Hugging Face folder (safetensors only) with a card that says how it came to be.

card.json holds no run id and no time, so that an equal result has an equal hash. Its `weights` is the sha256 of
model.safetensors: the name by which a checkpoint is known in the MLflow tags `init` and `checkpoint`.
"""

import json
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adaptbert.errors import BadData, nearest
from adaptbert.outputs import file_digest, whole, write_json
from adaptbert.tokenization import Tokenizer
from adaptbert.vocabulary import extends, grow

CARD = "card.json"
WEIGHTS = "model.safetensors"
OURS = {"weights", "tokenizer"}
HEADS = ("cls.", "classifier.", "bert.pooler.", "pooler.", "qa_outputs.", "layer_mix.", "crf.")
"""What names of weights above the encoder begin with; the last two are not of Hugging Face."""
POOLER = "pooler."
"""What the names of its weights begin with in a BertModel."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder, or the name of a model on the hub, that was looked at and found usable.

    Attributes:
        source: the folder, or the name.
        revision: of a model on the hub.
        tokenizer: the one that belongs to the weights.
        card: empty for a checkpoint that this project did not write.
        base: the tokenizer of the weights as they lie there, where `tokenizer` extends it (`extended`).
    """

    source: str
    tokenizer: Tokenizer
    card: dict[str, Any]
    revision: str | None = None
    base: Tokenizer | None = None

    @classmethod
    def load(cls, folder: Path) -> "Checkpoint":
        """Look at a folder and refuse what would go wrong silently later.

        Raises:
            BadData: not a BERT, damaged weights, a pickle, or a tokenizer that does not belong to it.
        """
        config_file = folder / "config.json"
        if folder.is_file():
            raise BadData(128, folder, "is a file, and a checkpoint is a folder", f"name its folder: {folder.parent}")
        if not folder.is_dir():
            beside = sorted(other.name for other in folder.parent.glob("*/"))
            known = f"there are {', '.join(beside)}" if beside else "name the folder of a checkpoint"
            raise BadData(128, folder, f"no such folder{nearest(folder.name, beside)}", known)
        if not config_file.is_file():
            raise BadData(128, folder, "no config.json: not a Hugging Face folder", "name the folder of a checkpoint")
        _check_architecture(_read_object(config_file), config_file)
        weights = folder / WEIGHTS
        if not weights.is_file() and any(folder.glob("*.bin")):
            raise BadData(
                119, folder, "only pickled weights (*.bin)", "convert them to safetensors, which cannot run code"
            )
        tokenizer = Tokenizer.load(folder)
        card = _read_object(folder / CARD) if (folder / CARD).is_file() else {}
        if not card.keys() >= OURS:  # of another project, or none
            card = {}
        found = cls(str(folder), tokenizer, card)
        embeddings = found.config().vocab_size
        if tokenizer.size > embeddings:
            problem = f"tokenizer {tokenizer.size} tokens, embeddings {embeddings}"
            raise BadData(127, folder, problem, "take the tokenizer that belongs to the weights")
        if card:
            _check_card(card, folder, tokenizer)
        elif not weights.is_file():
            raise BadData(137, weights, "file is missing", "copy the whole checkpoint")
        return found

    @classmethod
    def from_hub(cls, name: str, revision: str) -> "Checkpoint":
        """Look at a model of the hub by its name; transformers keeps what it downloads."""
        from transformers import AutoConfig

        try:
            config = AutoConfig.from_pretrained(name, revision=revision, trust_remote_code=False)
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            remedy = "check the spelling, or the network (HF_HUB_OFFLINE=1 allows only what was downloaded before)"
            raise BadData(128, name, f"cannot be loaded from the hub: {reason}", remedy) from None
        _check_architecture(config.to_dict(), name)
        return cls(name, Tokenizer.load(name, revision), {}, revision)

    @property
    def name(self) -> str:
        """The rung; the source for a checkpoint that this project did not write."""
        return str(self.card.get("rung") or self.source)

    @property
    def digest(self) -> str:
        """Of the weights; the name for a checkpoint without weights, and the revision with it for one of the hub."""
        if self.card:
            return str(self.card["weights"] or self.name)
        return f"{self.source}@{self.revision}" if self.revision else file_digest(Path(self.source) / WEIGHTS)

    @property
    def texts(self) -> list[dict[str, Any]]:
        """The ledger: all text that the weights have seen as far as this project knows, oldest first."""
        return list(self.card.get("texts", []))

    @property
    def measured(self) -> dict[str, dict[str, float]]:
        """How the weights do on each held-out text; nothing when the vocabulary has changed since."""
        return {} if self.base else dict(self.card.get("measured", {}))

    @property
    def has_random_head(self) -> bool:
        """Whether the rung is marked as one whose head of masked-language modelling was never trained."""
        return bool(self.card.get("random_head", False))

    @property
    def has_weights(self) -> bool:
        """False for `scratch`: an architecture and a tokenizer; the weights are drawn by who asks."""
        return not self.card or self.card["weights"] is not None

    def config(self) -> Any:
        """The architecture as Hugging Face writes it."""
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(self.source, revision=self.revision or "main")
        if self.base:
            config.vocab_size = max(config.vocab_size, self.tokenizer.size)
        return config

    def extended(self, tokenizer: Tokenizer, place: str | Path) -> "Checkpoint":
        """The same weights under the tokenizer at `place`, which may have more words; `model` grows the embeddings.

        Raises:
            BadData: it is not the tokenizer of the checkpoint with words added.
        """
        if not extends(tokenizer, self.tokenizer):
            self.check_tokenizer(tokenizer.fingerprint, place)
            return self
        return replace(self, tokenizer=tokenizer, base=self.tokenizer)

    def check_tokenizer(self, fingerprint: str, place: str | Path) -> None:
        """Refuse text that another tokenizer made: the likeliest silent bug of a ladder."""
        if fingerprint != self.tokenizer.fingerprint:
            own = self.tokenizer.fingerprint
            problem = f"made with tokenizer {fingerprint[:12]}, the checkpoint {self.name} has {own[:12]}"
            raise BadData(129, place, problem, "set tokenizer.source to the tokenizer of the checkpoint and run again")

    def model(self, hugging_face_class: Any, seed: int, **overrides: Any) -> Any:
        """The weights with the head of `hugging_face_class`, see `model_and_drawn`."""
        return self.model_and_drawn(hugging_face_class, seed, **overrides)[0]

    def model_and_drawn(self, hugging_face_class: Any, seed: int, **overrides: Any) -> tuple[Any, frozenset[str]]:
        """The weights with the head of `hugging_face_class`; what the checkpoint lacks is drawn with `seed`.

        Args:
            overrides: of the config, e.g. `num_labels`.

        Returns:
            The model, and the names of the weights that were drawn; none for an architecture without weights.

        Raises:
            BadData: damaged weights; weights of the encoder are missing, left over or of another shape.
        """
        import torch
        from safetensors import SafetensorError
        from transformers import AutoConfig

        torch.manual_seed(seed)
        config = AutoConfig.from_pretrained(self.source, revision=self.revision or "main", **overrides)
        if not self.has_weights:
            config.vocab_size = self.config().vocab_size
            return hugging_face_class(config), frozenset()
        try:
            with _quiet():
                model, info = hugging_face_class.from_pretrained(
                    self.source,
                    revision=self.revision or "main",
                    config=config,
                    use_safetensors=True,
                    ignore_mismatched_sizes=True,  # they are told below, together with all else that does not fit
                    dtype=torch.float32,
                    output_loading_info=True,
                )
        except SafetensorError as error:
            raise BadData(
                123, self.source, f"bad safetensors file: {error}", "copy the whole checkpoint again"
            ) from None
        stray = sorted(
            key
            for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")
            for key in map(_key_name, info.get(kind, ()))
            if not key.startswith(HEADS)
        )
        if stray:
            listed = ", ".join(stray[:3]) + (f" and {len(stray) - 3} more" if len(stray) > 3 else "")
            raise BadData(133, self.source, f"weights and config.json disagree: {listed}", "copy the whole checkpoint")
        broken = [name for name, tensor in model.named_parameters() if not bool(torch.isfinite(tensor).all())]
        if broken:
            raise BadData(125, self.source, f"{broken[0]} holds NaN or Inf", "take an older checkpoint")
        if self.base:
            grow(model, self.base, self.tokenizer)
        return model, frozenset(map(_key_name, (*info["missing_keys"], *info["mismatched_keys"])))

    def hand_on_pooler(self, model: Any) -> None:
        """Give a model that has no pooler the one of the checkpoint, if there is one.

        Masked-language modelling does not use it, and Hugging Face's class for it leaves it out; fine-tuning begins
        with it (Devlin et al. 2019, section 4.1). So a rung that does not train it passes it on as it is.
        """
        from transformers import BertModel

        if model.bert.pooler is not None or not self.has_weights:
            return
        encoder, drawn = self.model_and_drawn(BertModel, 0)
        if not any(name.startswith(POOLER) for name in drawn):
            model.bert.pooler = encoder.pooler.to(model.device)


def save(
    folder: Path,
    model: Any,
    tokenizer: Tokenizer,
    card: Mapping[str, Any],
    write_more: Callable[[Path], None] | None = None,
) -> dict[str, Any]:
    """Write a checkpoint whole or not at all; returns its card.

    Args:
        model: a Hugging Face model; or a config, for an architecture without weights.
        card: stage, rung, params, texts, measured ...; the digests are added here.
    """
    with whole(folder) as part, _quiet():
        model.save_pretrained(str(part))
        (part / "generation_config.json").unlink(missing_ok=True)
        tokenizer.save(part)
        weights = None
        if (part / WEIGHTS).is_file():
            shutil.copymode(part / "config.json", part / WEIGHTS)  # safetensors shuts everybody else out
            weights = file_digest(part / WEIGHTS)
        complete = {**card, "weights": weights, "tokenizer": tokenizer.fingerprint}
        write_json(part / CARD, complete)
        if write_more is not None:
            write_more(part)
    return complete


def _read_object(file: Path) -> dict[str, Any]:
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:  # not JSON, or not UTF-8
        values = None
    if not isinstance(values, dict):
        raise BadData(122, file, "not a JSON object", "copy the whole checkpoint again")
    return values


def _check_architecture(config: Mapping[str, Any], place: str | Path) -> None:
    kind = config.get("model_type")
    if kind != "bert":
        raise BadData(132, place, f"model_type {kind}, expected bert", "name a checkpoint of the BERT architecture")
    refused = [key for key in ("auto_map", "_attn_implementation_internal") if config.get(key)]
    if refused:
        raise BadData(122, place, f"config key {refused[0]} not allowed: it could run code", "remove the key")


def _check_card(card: Mapping[str, Any], folder: Path, tokenizer: Tokenizer) -> None:
    weights = folder / WEIGHTS
    if card["weights"] is not None:
        if not weights.is_file():
            raise BadData(137, weights, "file is missing", "copy the whole checkpoint, or run its stage again")
        found = file_digest(weights)
        if found != card["weights"]:
            problem = f"sha256 mismatch: card {card['weights'][:12]}, file {found[:12]}"
            raise BadData(124, weights, problem, "the file is damaged: restore it with `dvc checkout --force`")
    if card["tokenizer"] != tokenizer.fingerprint:
        problem = f"tokenizer {tokenizer.fingerprint[:12]}, card says {card['tokenizer'][:12]}"
        raise BadData(129, folder, problem, "restore the folder with `dvc checkout --force`")


def _key_name(key: Any) -> str:
    return str(key[0] if isinstance(key, tuple) else key)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' bars and tables: what they warn of is checked here."""
    from transformers.utils import logging as hugging_face_logging

    level = hugging_face_logging.get_verbosity()
    hugging_face_logging.set_verbosity(logging.ERROR)
    hugging_face_logging.disable_progress_bar()
    try:
        yield
    finally:
        hugging_face_logging.set_verbosity(level)
