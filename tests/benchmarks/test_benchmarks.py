"""Every benchmark runs from end to end on something tiny and finds what it promises; no time is asserted."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adaptbert.model.flops import training_flop
from adaptbert.model.precision import chosen
from adaptbert.pretraining.masked_lm import NO_ANSWER, MaskedBatches
from adaptbert.training.document_stream import DocumentStream
from benchmarks import busy, finetuning, machine, masked_lm, peer, quality, real_text, table
from benchmarks.peer import peers, sample_of_groups
from benchmarks.profile import REST
from benchmarks.rounds import OTHER_PRECISION, Budget, Speed, compared
from benchmarks.workload import SETTINGS, Documents, Setting
from tests.support import tiny, tiny_params

SHORT = Setting(1, 16, 2, 64, 0, 4)
PACKED = Setting(1, 16, 2, 64, 16, 2)
BUDGET = Budget(rounds=1, warm=1, steps=2, ours=2, apart=False)
CLOCKS = {"wall", "cpu"}


def check_ratios(result: dict, unit: str, peers: list[str]) -> None:
    assert list(result[f"ratio_{unit}"]) == peers
    for clocks in result[f"ratio_{unit}"].values():
        assert set(clocks) == CLOCKS
        for ratio in clocks.values():
            assert 0 <= ratio["lowest"] <= ratio["median"] <= ratio["highest"]
    assert set(result[f"{unit}_per_second"]) == {"ours", *peers}
    assert min(result[f"{unit}_per_second"].values()) > 0


@pytest.mark.parametrize("setting", [SHORT, PACKED])
def test_masked_lm(setting: Setting) -> None:
    result = masked_lm.measure(setting, BUDGET, peers("cpu"))
    check_ratios(result, "tokens", [OTHER_PRECISION, *peers("cpu")])
    assert result["roofline"].keys() == {"tokens_per_second", "ratio", "share_of_peak"}
    assert 0 < result["roofline"]["share_of_peak"] <= 1
    assert result["precision"] == chosen("auto")
    assert result["share_of_peak"] >= 0
    assert result["flop_per_token"] > 0


def test_masked_lm_with_the_peers_of_a_gpu() -> None:
    """All but the compiled one, which takes a minute."""
    quick = {name: flags for name, flags in peers("gpu").items() if not flags.arguments.get("torch_compile")}
    assert len(quick) == 2
    check_ratios(masked_lm.measure(SHORT, BUDGET, quick), "tokens", [OTHER_PRECISION, *quick])


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


def test_attention_is_counted_within_documents() -> None:
    """For short texts less than in rows of a block, whoever computes more."""
    assert masked_lm.flop_per_token(PACKED, Documents(PACKED, 10)) == pytest.approx(
        training_flop(PACKED.config(), 10**6, 16, 131250, 131250) / 1e6
    )
    short, documents = replace(SHORT, hidden=64, vocabulary=8), Documents(SHORT, 1000)
    mean, spread = float(documents.lengths.mean()), float(documents.lengths.var())
    masked = round(0.15 * (mean - 2) / mean * 1e6)
    expected = training_flop(short.config(), 10**6, mean + spread / mean, masked, masked) / 1e6
    assert masked_lm.flop_per_token(short, documents) == pytest.approx(expected)


def test_finetuning() -> None:
    result = finetuning.measure(SHORT, BUDGET, peers("cpu"))
    for unit in ("examples", "tokens"):
        check_ratios(result, unit, [OTHER_PRECISION, *peers("cpu")])


def test_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ways to wait, on the smallest setting."""
    ways = dict(list(busy.WAYS.items())[-2:])
    monkeypatch.setattr(busy, "WAYS", ways)
    measured = busy.measure("tiny-short-8k", 1, 2)
    assert list(measured) == list(ways)
    for places in measured.values():
        assert list(places) == ["alone", "beside one process"]
        assert all(place["lowest"] == place["median"] == place["highest"] > 0 for place in places.values())
    rendered = table.busy({"setting": "tiny-short-8k", "rounds": 1, "ways": measured})
    assert all(f"| {way} |" in rendered for way in ways)


@pytest.mark.parametrize("benchmark", [masked_lm, finetuning])
def test_profile(benchmark: Any) -> None:
    profiled = benchmark.profile(SHORT, BUDGET)
    assert profiled["milliseconds_per_step"] > 0
    assert sum(profiled["share"].values()) == pytest.approx(1, abs=0.02)
    for kind in ("data (order, masks, packing)", "matrix products", "dropout", "optimizer", REST):
        assert profiled["share"][kind] > 0, kind


def test_quality(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file of lines; the file that is written after the last seed has all of them."""
    monkeypatch.setattr(machine, "RESULTS", tmp_path / "results")
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(tiny.sentences("domain", 200)), encoding="utf-8")
    rows = real_text.read(lines, 150)
    assert len(rows) == 150
    prepared = real_text.prepare(rows, tmp_path, 150, 500)
    setting = Setting(1, 16, 2, prepared.tokenizer.size, 0, 8)
    course = quality.Course(setting, tiny_params.optim(), steps=6, points=3)
    quality.run(course, prepared, 2, list(quality.PEERS), "lines")
    results = json.loads((tmp_path / "results/quality.json").read_text("utf-8"))
    assert results["seeds"] == len(results["curves"]) == 2
    for runs in results["curves"].values():
        assert list(runs) == ["ours", *quality.PEERS]
        assert [[point["step"] for point in curve] for curve in runs.values()] == [[0, 2, 4, 6]] * 3
        starts = [curve[0]["loss"] for curve in runs.values()]
        assert starts == [starts[0]] * 3, "the same weights, measured on the same masks"
        assert runs["ours"][-1]["loss"] == pytest.approx(runs["paired"][-1]["loss"], abs=0.01)
        assert runs["ours"][-1]["loss"] != runs["paired"][-1]["loss"]
    for compared_with in results["comparison"].values():
        assert compared_with["difference"]["n"] == 2
        assert compared_with["difference"]["low"] is compared_with["difference"]["high"] is None, (
            "an interval needs three seeds"
        )
        assert compared_with["time_to_same_loss"]["median"] > 0
    assert all(f"| {peer} |" in table.tables(tmp_path / "results") for peer in quality.PEERS)


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
    assert (rows["input_ids"][:, 0] == tiny.tokenizer().cls).all()
    assert (rows["input_ids"][~there] == tiny.tokenizer().pad).all()


def test_the_time_to_the_same_loss() -> None:
    """To the lowest loss that both reach, on straight lines between the points."""
    ours = [quality.Point(0, 0.0, 8.0), quality.Point(5, 1.0, 6.0), quality.Point(10, 2.0, 4.0)]
    peer = [quality.Point(0, 0.0, 8.0), quality.Point(5, 6.0, 5.0), quality.Point(10, 9.0, 5.5)]
    assert quality.time_ratio(ours, peer) == pytest.approx(6 / 1.5)
    assert quality.time_ratio(peer, ours) == pytest.approx(1.5 / 6)
    assert quality.time_ratio(ours, ours) == 1


def test_ratios_are_taken_within_a_round() -> None:
    """A machine that is slow in one round is slow for both."""
    seconds = {"ours": [1.0, 10.0, 2.0], "peer": [4.0, 40.0, 6.0]}
    contenders = {
        name: lambda number, times=times: Speed(10, 300, times[number], 2 * times[number], 0)
        for name, times in seconds.items()
    }
    result = compared(contenders, Budget(3, 0, 1, 1, apart=False), ("examples", "tokens"))
    assert result["ratio_tokens"] == {"peer": {clock: {"median": 4, "lowest": 3, "highest": 4} for clock in CLOCKS}}
    assert result["tokens_per_second"] == {"ours": 150, "peer": 50}
    assert result["examples_per_second"] == {"ours": 5, "peer": 2}


def test_batches_grouped_by_length_are_an_even_sample() -> None:
    """Within a batch lengths are alike, over the batches that count they are those of all documents."""
    documents = Documents(SETTINGS["cpu"]["mini-short-30k"], 50 * 32)
    budget = Budget(1, 3, 10, 1)
    rows = sample_of_groups(documents.lengths, 32, budget, 0)
    lengths = documents.lengths[rows].reshape(-1, 32)
    assert len(lengths) == budget.warm + budget.steps
    counted = lengths[budget.warm :]
    assert counted.mean() == pytest.approx(documents.lengths.mean(), rel=0.1)
    assert counted.std(axis=1).mean() < 0.2 * documents.lengths.std()
    assert documents.lengths.mean() == pytest.approx(28, abs=1)


def test_results_say_on_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "RESULTS", tmp_path / "results")
    machine.keep("something", {"figure": 1})
    results = json.loads((tmp_path / "results/something.json").read_text("utf-8"))
    assert results["figure"] == 1
    assert {"processor", "cores", "threads", "device", "python", "torch", "transformers"} <= set(results["machine"])


def test_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of results as they are written."""
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    assert "No results" in table.tables(tmp_path)
    ratio = {"median": 3.5, "lowest": 3.25, "highest": 4.0}
    ratios = {"stock defaults": dict.fromkeys(("wall", "cpu"), ratio)}
    speed = {"tokens_per_second": {"ours": 12345}, "ratio_tokens": ratios, "share_of_peak": 0.424}
    machine.keep("masked_lm", {"rounds": 3, "settings": {"mini": speed}})
    machine.keep("masked_lm-profile", {"settings": {"mini": {"milliseconds_per_step": 7.5, "share": {"loss": 0.125}}}})
    less = {"stock to ours": {"seconds": ratio}}
    machine.keep("tokenising", {"lines": 10, "processes": 1, "rounds": 1, "tokenising": less, "masking": {}})
    step = {"seconds": 1.25, "peak_resident_mb": 300.4}
    machine.keep("scale", {"lines": {"10000": {"tokenise": step, "read": step, "microseconds_per_line": 12.5}}})
    text = table.tables(tmp_path)
    assert "| tokenising, seconds | 3.50 (3.25 to 4.00) |" in text
    assert "| 10,000 | 1.2 | 12.5 |  | 300 | 300 |" in text
    assert "| mini | 12,345 | 3.50 (3.25 to 4.00) | 3.50 (3.25 to 4.00) | 42% |" in text
    assert "| loss | 12.5% |" in text
    assert "torch " in text
    for lines in text.split("\n\n"):
        if lines.startswith("|"):
            assert len({line.count("|") for line in lines.splitlines()}) == 1
    machine.keep("unheard_of", {})
    with pytest.raises(ValueError, match="unheard_of"):
        table.tables(tmp_path)


def test_settings_fit_the_architectures() -> None:
    for settings in SETTINGS.values():
        for setting in settings.values():
            config = setting.config()
            assert config.hidden_size % config.num_attention_heads == 0
            assert np.all(Documents(setting, 3).lengths <= min(setting.block, config.max_position_embeddings))
