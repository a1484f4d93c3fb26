"""A head that was never trained is detected by missing weights and by its loss; its warm-up does not change the
encoder."""

import json
import math
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertForMaskedLM

from adaptbert.core.files import read_json
from adaptbert.mlm.batch_schedule import ScheduledBatches
from adaptbert.mlm.heldout_evaluation import sets_in
from adaptbert.mlm.masked_lm import MaskedLM
from adaptbert.mlm.rung import RungRun, is_random, keep_rung, train_rung
from adaptbert.model import checkpoint, optimizer
from adaptbert.model.checkpoint import Checkpoint
from adaptbert.text.token_store import TokenizedCorpus
from adaptbert.training.arguments import TrainingArguments
from adaptbert.training.loop import fit
from adaptbert.training.savepoints import Savepoints
from tests.support import tiny, tiny_params
from tests.support.short_runs import Stop, changed, masked_batches, until, weights

HEAD = 4


def module(steps: int) -> MaskedLM:
    torch.manual_seed(0)
    return MaskedLM(BertForMaskedLM(tiny.config()), tiny_params.optim(), steps, HEAD)


def train(corpus: TokenizedCorpus, steps: int, folder: Path | None = None, stop: int | None = None) -> MaskedLM:
    """`HEAD` steps of warm-up and `steps` more, two micro-batches each; cut off after `stop` unless that is None."""
    made, batches = module(steps), ScheduledBatches(masked_batches(corpus, 150), head_count=2 * HEAD)
    plan = TrainingArguments(HEAD + steps, 2, 1.0, "32-true", 0, "train/mlm_loss")
    end = None if stop is None else 2 * stop
    with suppress(Stop):
        fit(made, until(batches, end), plan, tiny.no_record(), {}, folder and Savepoints(folder))
    return made


def test_the_warm_up_trains_nothing_but_the_head(corpus: TokenizedCorpus) -> None:
    before, after = weights(module(0)), weights(train(corpus, 0))
    assert changed(before, after) == {name for name in before if name.startswith("cls.predictions.")}
    assert changed(before, weights(train(corpus, 3))) == before.keys(), "then all is trained"


@pytest.mark.usefixtures("save_every_step")
@pytest.mark.parametrize("stop", [HEAD - 2, HEAD, HEAD + 2])
def test_resumed_within_at_the_end_of_and_after_the_warm_up(corpus: TokenizedCorpus, stop: int, tmp_path: Path) -> None:
    """Optimizer means of the encoder are not there yet, or just begin; the bits are those of an unbroken run."""
    whole = weights(train(corpus, 4))
    train(corpus, 4, tmp_path, stop)
    savepoint = Savepoints(tmp_path).latest()
    assert savepoint is not None
    assert savepoint.step == stop
    assert not changed(whole, weights(train(corpus, 4, tmp_path)))


def test_the_encoder_gets_a_schedule_of_its_own() -> None:
    made = MaskedLM(BertForMaskedLM(tiny.config()), tiny_params.optim(warmup_fraction=0.2), 10, HEAD)
    rate = made.configure_optimizers()["lr_scheduler"]["scheduler"].lr_lambdas[0]
    plain = tiny_params.optim(warmup_fraction=0.2)
    assert [rate(step) for step in range(HEAD)] == [optimizer.rate(plain, step, HEAD) for step in range(HEAD)]
    assert [rate(HEAD + step) for step in range(10)] == [optimizer.rate(plain, step, 10) for step in range(10)]


@pytest.mark.parametrize(
    ("drawn", "losses", "untrained"),
    [
        ([], [0.99, 0.97], True),
        ([], [0.99, 0.7], False),
        ([], [0.3, 0.2], False),
        (["cls.predictions.bias"], [0.3], True),
        (["bert.pooler.dense.weight", "cls.seq_relationship.bias"], [0.3], False),
    ],
)
def test_signs(drawn: list[str], losses: list[float], untrained: bool) -> None:
    measured = {str(number): {"mlm_loss": loss * math.log(21_128)} for number, loss in enumerate(losses)}
    assert is_random(drawn, measured, 21_128) is untrained


class Public:
    """A checkpoint of somebody else, and the rung on it."""

    def __init__(self, root: Path, trained: bool) -> None:
        self.root = root
        self.text = tiny.corpus(root / "general", "general", 120)
        tiny.heldout(root / "heldout")
        start = tiny.scratch(root / "scratch")
        self.train(start, "trained" if trained else "drawn", steps=60 if trained else 0)
        (self.folder("trained" if trained else "drawn") / checkpoint.CARD).unlink()

    def folder(self, name: str) -> Path:
        return self.root / "models" / name

    def train(self, start: Checkpoint, name: str, steps: int, **changes: object) -> dict[str, object]:
        params = tiny_params.rung(steps=steps, learning_rate=1e-2, **changes)
        rung = RungRun(
            "pretrain", name, start, self.text, params, tiny_params.MEASURE, 1, sets_in(self.root / "heldout")
        )
        work, run = tiny.work(self.root), tiny.no_record()
        keep_rung(train_rung(rung, work, run), self.folder(name), self.root / f"{name}.json", work, run)
        return read_json(self.root / f"{name}.json")


def test_a_trained_head_is_not_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = Public(tmp_path, trained=True)
    metrics = public.train(Checkpoint.load(public.folder("trained")), "rung", 0)
    assert "random_head" not in metrics
    assert "warning" not in capsys.readouterr().out


@pytest.mark.parametrize("how", ["missing", "drawn"])
def test_a_random_head_is_reported_recorded_and_warmed_up(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    public = Public(tmp_path, trained=how == "missing")
    folder = public.folder("trained" if how == "missing" else "drawn")
    if how == "missing":
        file = folder / checkpoint.WEIGHTS
        encoder = {name: value for name, value in load_file(file).items() if not name.startswith("cls.")}
        save_file(encoder, file, {"format": "pt"})
    start = Checkpoint.load(folder)
    capsys.readouterr()
    metrics = public.train(start, "rung", 0)
    assert metrics["random_head"] is True
    assert "was never trained" in capsys.readouterr().out
    rung = Checkpoint.load(public.folder("rung"))
    assert rung.has_random_head
    assert public.train(rung, "above", 0)["random_head"] is True, "it is not forgotten"
    assert "was never trained" in capsys.readouterr().out
    if how == "missing":
        warmed = public.train(start, "warmed", 0, head_warmup_steps=60)
        assert warmed["random_head"] is False
        assert warmed["steps"] == 60
        assert not Checkpoint.load(public.folder("warmed")).has_random_head
        before, after = (load_file(path / checkpoint.WEIGHTS) for path in (folder, public.folder("warmed")))
        assert all(torch.equal(before[name], after[name]) for name in before)
        assert json.loads((public.folder("warmed") / "card.json").read_text())["random_head"] is False
