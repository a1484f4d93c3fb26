"""Every benchmark runs from end to end on something tiny, and its peer is counted and fed fairly."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from adaptbert.mlm.masked_lm import MaskedBatches
from adaptbert.mlm.token_loss import NO_ANSWER
from adaptbert.training.document_stream import DocumentStream
from benchmarks import finetuning, gpu_check, machine, masked_lm, peer, quality, table
from benchmarks.gpu_parts import PARTS
from benchmarks.peer import peers
from benchmarks.profile import REST, profiled
from benchmarks.rounds import OTHER_PRECISION, Budget
from benchmarks.workload import Documents, Setting
from tests.support import tiny, tiny_params

SHORT = Setting(1, 16, 2, 64, 0, 4)
PACKED = Setting(1, 16, 2, 64, 16, 2)
MODERN = Setting(1, 16, 2, 64, 0, 4, kind="modernbert")
BUDGET = Budget(rounds=1, warm=1, steps=2, ours=2, apart=False)
CPU = peers("cpu")
GPU = {name: flags for name, flags in peers("gpu").items() if not flags.arguments.get("torch_compile")}
"""Peers of a GPU but for the compiled one, which takes a minute."""


@pytest.mark.parametrize(
    ("benchmark_", "setting", "contenders", "unit"),
    [
        (masked_lm, SHORT, CPU, "tokens"),
        (masked_lm, PACKED, GPU, "tokens"),
        (masked_lm, MODERN, CPU, "tokens"),
        (finetuning, SHORT, CPU, "examples"),
    ],
    ids=["masked LM", "masked LM, peers of a GPU", "masked LM, ModernBERT", "fine-tuning"],
)
def test_beside_the_peers(
    benchmark_: Any, setting: Setting, contenders: Any, unit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the page shows it, with the machine."""
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    result = benchmark_.measure(setting, BUDGET, contenders)
    assert list(result[f"ratio_{unit}"]) == [OTHER_PRECISION, *contenders]
    assert set(result[f"{unit}_per_second"]) == {"ours", OTHER_PRECISION, *contenders}
    assert min(result[f"{unit}_per_second"].values()) > 0
    machine.keep(benchmark_.__name__.rpartition(".")[2], {"rounds": 1, "settings": {"tiny": result}})
    text = table.tables(tmp_path)
    assert f"| tiny | {result[f'{unit}_per_second']['ours']:,} |" in text
    assert "threads; torch " in text


@pytest.mark.parametrize("benchmark_", [masked_lm, finetuning])
def test_profile(benchmark_: Any) -> None:
    shares = profiled(benchmark_.made, SHORT, BUDGET)["share"]
    assert sum(shares.values()) == pytest.approx(1, abs=0.02)
    for kind in ("data (order, masks, packing)", "matrix products", "dropout", "optimizer", REST):
        assert shares[kind] > 0, kind


def test_quality(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file of lines; the file that is written after the last seed has all of them."""
    monkeypatch.setattr(machine, "RESULTS", tmp_path / "results")
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(tiny.sentences("domain", 200)), encoding="utf-8")
    prepared = quality.prepare(quality.read(lines, 150), tmp_path, 150, 500)
    setting = Setting(1, 16, 2, prepared.tokenizer.size, 0, 8)
    course = quality.Course(prepared, setting, tiny_params.optim(), steps=6, points=3)
    quality.run(course, 2, list(quality.PEERS), "x")
    results = json.loads((tmp_path / "results/quality.json").read_text("utf-8"))
    assert results["seeds"] == len(results["curves"]) == 2
    for runs in results["curves"].values():
        starts = [curve[0]["loss"] for curve in runs.values()]
        assert starts == [starts[0]] * 3, "the same weights, measured on the same masks"
        assert runs["ours"][-1]["loss"] == pytest.approx(runs["paired"][-1]["loss"], abs=0.01)
    assert all(f"| {name} |" in table.tables(tmp_path / "results") for name in quality.PEERS)


def test_paired_batches_are_ours_padded(tmp_path: Path) -> None:
    """Read back from the rows they are the same tokens, masks and targets."""
    corpus = tiny.corpus(tmp_path / "text", "domain", 40)
    batch = MaskedBatches(corpus, DocumentStream(corpus.lengths, 0, 200), tiny_params.masker(), 64)(3)
    rows = quality.padded(batch, tiny.tokenizer().pad)
    there = rows["attention_mask"].bool()
    assert torch.equal(rows["input_ids"][there], batch.ids)
    labelled = batch.expected != NO_ANSWER
    assert torch.equal((rows["labels"][there] != NO_ANSWER).nonzero().flatten(), batch.chosen[labelled])
    assert torch.equal(rows["labels"][rows["labels"] != NO_ANSWER], batch.expected[labelled])
    assert (rows["input_ids"][~there] == tiny.tokenizer().pad).all()


def test_tokens_of_a_peer_are_those_that_it_collates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it groups them, they are counted by their order: other processes may collate them."""
    collators: list[peer.Counted] = []

    class Kept(peer.Counted):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            collators.append(self)

    monkeypatch.setattr(peer, "Counted", Kept)
    documents = Documents(SHORT, 80)
    for grouped in (False, True):
        speed = masked_lm.stock(SHORT, documents, BUDGET, peer.Flags("sdpa", grouped, 8), 0)
        assert speed.tokens == sum(collators[-1].tokens[BUDGET.warm : BUDGET.warm + BUDGET.steps])


# ---- the check of a GPU, every part tiny on a processor


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_part_of_the_check_of_a_gpu_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["gpu_check", "--out", str(tmp_path), "--smoke"])
    with pytest.raises(SystemExit) as ended:
        gpu_check.main()
    text = (tmp_path / "summary.md").read_text("utf-8")
    assert ended.value.code == 0, text
    assert "**Failed.**" not in text
    assert "Not run." not in text
    assert {path.stem for path in tmp_path.glob("*.json")} == set(PARTS)


def test_bits_are_equal_and_a_difference_is_noticed(tmp_path: Path) -> None:
    gpu_check.run("right", tmp_path, ["--smoke"])  # a process of its own, for its environment
    checked = gpu_check.read(tmp_path, "right")
    assert checked is not None
    assert checked["right"] == {"tiny: two runs are equal": True, "tiny: a resumed run is equal": True}
    assert gpu_check.UNFINISHED not in checked
    assert not gpu_check.wrong(checked)
    assert gpu_check.wrong({"right": {"two runs are equal": False}})
    assert gpu_check.wrong({"failed": ["no device"]})
    assert not gpu_check.wrong(None)
