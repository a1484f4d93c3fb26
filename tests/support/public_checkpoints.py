"""Stand-ins for public checkpoints with their oddities, and the command `adaptbert import` on them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import BertForMaskedLM, BertForPreTraining, BertModel
from typer.testing import CliRunner, Result

from adaptbert.cli import app
from tests.support import tiny
from tests.support.messages import messages_in

State = dict[str, Any]
BASES = Path("models/init")
BASE = "source"
INIT = BASES / BASE
"""Where `run` imports to."""
README = "what lies here"
BIN, CONFIG, VOCABULARY = "source/pytorch_model.bin", "source/config.json", "source/vocab.txt"
DECODER, EMBEDDINGS = "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"
IDS = torch.tensor([[2, 17, 9, 33, 101, 3], [2, 8, 8, 120, 44, 3]])


def random_model() -> Any:
    """No weight is as it was born, so that none can be mixed up with another, or be drawn anew unseen."""
    torch.manual_seed(7)
    model = BertForPreTraining(tiny.config()).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    return model


MODEL = random_model()


def state() -> State:
    return {name: tensor.clone() for name, tensor in MODEL.state_dict().items() if name != DECODER}


def tied(weights: State) -> State:
    """The decoder is the embedding matrix itself, as in a model in memory."""
    return {**weights, DECODER: weights[EMBEDDINGS]}


def of_2019(weights: State) -> State:
    return {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in weights.items()
    }


def encoder_alone(weights: State) -> State:
    return {name.removeprefix("bert."): tensor for name, tensor in weights.items() if name.startswith("bert.")}


def without(*beginnings: str) -> Callable[[State], State]:
    return lambda weights: {name: value for name, value in weights.items() if not name.startswith(beginnings)}


def with_buffers(weights: State) -> State:
    return {**weights, "bert.embeddings.position_ids": torch.arange(tiny.POSITIONS)[None]}


def with_other_heads(weights: State) -> State:
    return {**weights, "classifier.weight": torch.ones(3, 32), "classifier.bias": torch.ones(3)}


def bias_of_the_decoder(weights: State) -> State:
    return {name.replace("predictions.bias", "predictions.decoder.bias"): value for name, value in weights.items()}


def save_source(folder: Path) -> Path:
    """A folder as the hub has them: config.json, pytorch_model.bin, vocab.txt."""
    folder.mkdir(parents=True)
    MODEL.config.save_pretrained(str(folder))
    (folder / "vocab.txt").write_text("\n".join(tiny.tokenizer().tokens) + "\n", encoding="utf-8")
    torch.save(whole(), folder / "pytorch_model.bin")
    return folder


def run(*arguments: str) -> Result:
    """The command, into INIT where nothing else is said."""
    place = [] if "--base" in arguments else ["--base", BASE]
    return CliRunner().invoke(app, ["import", *arguments, *place])


def brought(*arguments: str) -> str:
    """What the command says where all is well."""
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    assert not [path for path in Path("models").iterdir() if path.name != "init"]
    return done.output


def hidden(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(IDS).last_hidden_state


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(IDS).logits


def same_encoder(pooler: bool = True) -> bool:
    model = BertModel.from_pretrained(str(INIT), dtype=torch.float32).eval()
    with torch.no_grad():
        ours, theirs = model(IDS), MODEL.bert(IDS)
    assert not pooler or torch.equal(ours.pooler_output, theirs.pooler_output)
    return torch.equal(ours.last_hidden_state, theirs.last_hidden_state)


def same_head() -> bool:
    original = MODEL(IDS).prediction_logits.detach()
    return torch.equal(logits(BertForMaskedLM.from_pretrained(str(INIT)).eval()), original)


def whole() -> State:
    """As a pickle usually has it."""
    return tied(state())


def refused(*arguments: str, code: int = 65) -> str:
    """The one message; nothing was written."""
    done = run(*(arguments or ("source",)))
    assert done.exit_code == code, done.output
    assert not isinstance(done.exception, Exception) or isinstance(done.exception, SystemExit)
    (message,) = messages_in(done.output)
    assert message.count("\n") == 1, "a place and a problem, a remedy"
    assert [path.name for path in BASES.iterdir()] == ["README.md"]
    return message.removeprefix("error: ")


class Runs:
    """A pickle of it makes the file `ran` when Python's own unpickler opens it."""

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, ("touch ran",)
