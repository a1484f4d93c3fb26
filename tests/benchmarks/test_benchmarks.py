"""Every benchmark runs from end to end on something tiny, and its peer is counted and fed fairly."""

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from adaptbert.mlm.masked_lm import MaskedBatches
from adaptbert.mlm.token_loss import NO_ANSWER
from adaptbert.runtime.variables import GRAPHS
from adaptbert.training.document_stream import DocumentStream
from adaptbert.training.graphs import ReplayedStep
from benchmarks import finetuning, gpu_check, machine, masked_lm, peer, profile, quality, rounds, table
from benchmarks.gpu_parts import PARTS
from benchmarks.peer import peers, peers_on_a_device
from benchmarks.profile import IDLE, REST, kind_of, of_kernels, of_operators, profiled
from benchmarks.rounds import OTHER_PRECISION, Budget, Speed, compared
from benchmarks.workload import ROW, Documents, Setting
from tests.support import tiny, tiny_params

SHORT = Setting(1, 16, 2, 64, 0, 4)
PACKED = Setting(1, 16, 2, 64, 16, 2)
MODERN = Setting(1, 16, 2, 64, 0, 4, kind="modernbert")
BUDGET = Budget(rounds=1, warm=1, steps=2, ours=2, apart=False)
CPU = peers()
IN_PROCESS = {"dataloader_num_workers": 0, "dataloader_persistent_workers": False}


def plain(flags: peer.Flags) -> peer.Flags:
    """Without compiling."""
    return replace(flags, arguments={key: value for key, value in flags.arguments.items() if "compile" not in key})


GPU = {name: plain(flags) for name, flags in peers_on_a_device().items()}
GPU_ROWS = {name: plain(flags) for name, flags in peers_on_a_device(PACKED.length).items()}
"""Peers of a GPU, of which some are compiled there, which takes a minute."""


@pytest.mark.parametrize(
    ("benchmark_", "setting", "contenders", "unit"),
    [
        (masked_lm, SHORT, CPU, "tokens"),
        (masked_lm, PACKED, GPU_ROWS, "tokens"),
        (masked_lm, MODERN, CPU, "tokens"),
        (finetuning, SHORT, GPU, "examples"),
    ],
    ids=["masked LM", "masked LM, peers of a GPU", "masked LM, ModernBERT", "fine-tuning, peers of a GPU"],
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


@pytest.mark.parametrize("name", GPU)
def test_tokens_of_a_peer_are_those_that_it_collates(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted by their order, because other processes may collate them."""
    tokens, shapes, train = [], set(), peer.train_stock

    def trained(model: Any, rows: Any, collate: Any, *arguments: Any, **options: Any) -> None:
        def counted(examples: list[Any]) -> Any:
            batch = collate(examples)
            tokens.append(int(batch["attention_mask"].sum()))
            shapes.add(batch["input_ids"].shape[1])
            return batch

        train(model, rows, counted, *arguments, **options | IN_PROCESS)

    monkeypatch.setattr(peer, "train_stock", trained)
    for benchmark_ in (masked_lm, finetuning):
        tokens.clear()
        shapes.clear()
        speed = benchmark_.stock(SHORT, Documents(SHORT, 80), BUDGET, GPU[name], 0)
        assert speed.tokens == sum(tokens[BUDGET.warm : BUDGET.warm + BUDGET.steps])
        if name == peer.STATIC_PEER:
            assert shapes == {ROW}
        if name == peer.FEW_SHAPES_PEER:
            assert {shape % 32 for shape in shapes} == {0}


def test_where_no_text_is_padded_a_peer_of_a_device_gets_no_mask() -> None:
    assert {name for name, flags in GPU_ROWS.items() if flags.unmasked} == {*GPU_ROWS} - {"stock defaults"}
    assert not any(flags.unmasked for flags in GPU.values())
    batch = {"input_ids": torch.ones(2, 3), "attention_mask": torch.ones(2, 3)}
    assert set(peer.unmasked(lambda examples: dict(batch))([])) == {"input_ids"}


def test_before_what_counts_the_groups_have_every_shape() -> None:
    """Of short texts, whose longest fill few groups; and what counts is spread over all groups."""
    documents, budget = Documents(replace(SHORT, documents=32), 50 * 32), Budget(1, 20, 40, 1)
    rows = documents.lengths[peer.sample_of_groups(documents.lengths, 32, budget, 0)].reshape(-1, 32)
    shapes = -(-rows.max(1) // 32)
    assert all(np.sum(shapes[:20] == shape) >= 3 for shape in set(shapes))
    assert rows[20:].mean() == pytest.approx(documents.lengths.mean(), rel=0.05)


def test_graphs_are_compared_with_the_same_shapes_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the mode between, batches have few shapes and nothing is recorded. On a device, here a pretended one."""
    seen: list[Any] = []

    def make(setting: Setting, documents: Documents, steps: int, seed: int, graphs: bool) -> Any:
        seen.append(graphs)
        return None, None, "loss"

    def fit(*_: Any) -> Any:
        seen.append((os.environ[GRAPHS], ReplayedStep._record is record))
        return SimpleNamespace(curve=[])

    record = ReplayedStep._record
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(rounds, "chosen", lambda precision: precision)
    monkeypatch.setattr(rounds, "fit", fit)
    for mode in (rounds.EAGER, rounds.STATIC, rounds.GRAPH):
        rounds.train(make, SHORT, Documents(SHORT, 4), 1, 0, {}, mode=mode)
    assert seen == [False, ("false", False), True, ("true", False), True, ("true", True)]
    assert GRAPHS not in os.environ


def test_a_peer_that_fails_is_out_and_the_others_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    partial_results: list[dict[str, Any]] = []

    def failing(number: int) -> Speed:
        raise RuntimeError("no compiler")

    runs = {"ours": lambda _: Speed(2, 2, 1.0, 1.0, 1), "bad": failing, "peer": lambda _: Speed(1, 1, 1.0, 1.0, 1)}
    results = compared(runs, replace(BUDGET, rounds=2), ("tokens",), partial_results.append)
    assert results["failed"] == {"bad": "RuntimeError: no compiler"}
    assert results["ratio_tokens"] == {"peer": {"wall": same(2.0), "cpu": same(2.0)}}
    assert [len(each["tokens_per_second"]) for each in partial_results] == [1, 2, 2, 2]
    assert capsys.readouterr().out.count("failed") == 1
    with pytest.raises(RuntimeError):
        compared({"ours": failing}, BUDGET, ("tokens",))


def same(ratio: float) -> dict[str, float]:
    return dict.fromkeys(("median", "lowest", "highest"), ratio)


# ---- where the time of a step goes, by a made-up trace


def event(name: str, begin: float, end: float, device: str = "CUDA", is_user_annotation: bool = False) -> Any:
    """Times in seconds; what torch's profiler tells of a kernel, or of the operator that started it."""
    return SimpleNamespace(
        name=name,
        device_type=getattr(torch.autograd.DeviceType, device),
        time_range=SimpleNamespace(start=1e6 * begin, end=1e6 * end),
        is_user_annotation=is_user_annotation,
    )


KERNELS = [event("sm90_xmma_gemm_bf16", 0, 3), event("vectorized_layer_norm_kernel", 4, 5)]


def test_a_kernel_is_counted_once_and_the_idle_time_is_told() -> None:
    """Not also the operator that started it, nor the range of a step."""
    others = [event("aten::mm", 0, 3, "CPU"), event("Optimizer.step", 0, 8, is_user_annotation=True)]
    figures = of_kernels([*others, *KERNELS], seconds=8, steps=1)
    used = {kind: share for kind, share in figures["share"].items() if share}
    assert used == {"matrix products": 0.375, "LayerNorm, GELU": 0.125, IDLE: 0.5}
    assert figures["device_operations"] == 2
    assert figures["device_ms"] == 4000
    assert "notes" not in figures


def test_kernels_side_by_side_do_not_hide_idle_time() -> None:
    figures = of_kernels([*KERNELS, event("nvjet_tst", 1, 3)], seconds=8, steps=1)
    assert figures["share"][IDLE] == 0.5
    assert sum(figures["share"].values()) == pytest.approx(1, abs=0.002)
    assert "1.50 times the busy time" in figures["notes"][0]


def test_counting_twice_would_be_noticed() -> None:
    assert "recorded nothing" in of_kernels([event("aten::mm", 0, 3, "CPU")], 8, 1)["notes"][0]
    twice = [event("aten::mm", 0, 3), event("aten::native_layer_norm", 4, 5)]
    assert "2.00 times the busy time" in of_kernels([*KERNELS, *twice], 8, 1)["notes"][0]
    too_much = [SimpleNamespace(key="aten::mm", self_cpu_time_total=9e6)]
    assert "1.12 times the clock's time" in of_operators(too_much, 8)["notes"][0]
    assert of_operators(too_much, 8)["share"][REST] < 0


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT", "matrix products"),
        ("void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<...>", "matrix products"),
        ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>", "optimizer"),
        ("Memcpy HtoD (Pinned -> Device)", "casts and copies"),
        ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<...>", "casts and copies"),
        ("void at::native::vectorized_elementwise_kernel<8, GeluBackwardCUDAKernelImpl(...)>", "LayerNorm, GELU"),
        ("void at::native::fused_dropout_kernel_vec<...>", "dropout"),
        ("void cunn_SoftMaxForward<8, float>", "loss"),
        ("triton_poi_fused_add_0", "other elementwise"),
        ("something_else", profile.OTHER),
    ],
)
def test_kinds_of_kernels(name: str, kind: str) -> None:
    assert kind_of(name) == kind


# ---- the check of a GPU, every part tiny on a processor


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_every_part_of_the_check_of_a_gpu_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["gpu_check", "--out", str(tmp_path), "--smoke"])
    with pytest.raises(SystemExit) as ended:
        gpu_check.main()
    text = (tmp_path / "summary.md").read_text("utf-8")
    assert ended.value.code == 0, text
    assert "**Failed.**" not in text
    assert "Not run." not in text
    assert set(gpu_check.read(tmp_path)) == {"machine", *PARTS}


def test_bits_are_equal_and_a_difference_is_noticed(tmp_path: Path) -> None:
    gpu_check.run("bits", tmp_path, ["--smoke"])  # a process of its own, for its environment
    checked = gpu_check.read(tmp_path)["bits"]
    assert gpu_check.UNFINISHED not in checked
    assert set(checked["right"].values()) == {True}
    assert len(checked["right"]) == 8, "two works, eager and graphs, run twice and resumed"
    assert len(checked["times as long with the same bits"]) == 2
    assert not gpu_check.wrong(checked)
    assert gpu_check.wrong({"right": {"two runs are equal": False}})
    assert gpu_check.wrong({"failed": ["no device"]})
    assert not gpu_check.wrong({})


def test_a_part_that_takes_too_long_keeps_its_figures_and_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again after all others."""
    gpu_check.keep(tmp_path, "env", {"name": "cpu", gpu_check.UNFINISHED: True})
    gpu_check.run("env", tmp_path, ["--smoke"], limit=0.2)
    part = gpu_check.read(tmp_path)["env"]
    assert part["name"] == "cpu"
    assert part["failed"][-1] == "it took more than 0 seconds"
    gpu_check.write_summary(tmp_path)
    text = (tmp_path / "summary.md").read_text("utf-8")
    assert "**Failed.**" in text
    assert text.count("Not run.") == len(PARTS) - 1
    ran: list[str] = []
    monkeypatch.setattr(gpu_check, "run", lambda name, *_: ran.append(name))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("sys.argv", ["gpu_check", "--out", str(tmp_path), "--minutes", "8"])
    with pytest.raises(SystemExit):
        gpu_check.main()
    assert set(ran) == set(PARTS), "nothing took time"
    assert ran[-1] == "env"


def test_a_part_that_goes_on_keeps_the_figures_of_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = {"works": {"a": 1, "b": 1}, gpu_check.UNFINISHED: True, gpu_check.FAILED: ["too long"]}
    gpu_check.keep(tmp_path, "graphs", ended)
    monkeypatch.setitem(PARTS, "graphs", (lambda _, tell: tell({"works": {"b": 2}, "name": "cpu"}), 1))
    monkeypatch.setattr("sys.argv", ["gpu_check", "--out", str(tmp_path), "--part", "graphs"])
    gpu_check.main()
    assert gpu_check.read(tmp_path)["graphs"] == {"works": {"a": 1, "b": 2}, "name": "cpu"}


def test_the_table_of_goals_says_what_was_not_run() -> None:
    rates = {"ours": 900, "ours, CUDA graphs": 3000, "stock defaults": 500, peer.STATIC_PEER: 2000}
    measured = {"examples_per_second": rates, "failed": {peer.DYNAMIC_PEER: "no compiler"}}
    eager = {"examples_per_second": 1000, "share_of_peak": 0.02}
    text = table.targets(
        {"graphs": {"works": {table.TUNED: {"eager": eager}}}, "peers": {"works": {table.TUNED: measured}}}
    )
    rows_and_head, _, sentences = text.split("\n\n")
    head, _, *rows = rows_and_head.splitlines()
    assert [line.partition(":")[0] for line in sentences.splitlines()] == [f"- {name}" for name in table.GOALS]
    assert [name for name in head.split(" | ") if "stock" in name] == ["stock defaults", peer.STATIC_PEER]
    assert f"| {table.TUNED} | 1,000 | not run | 2% | 500 | 2,000 | 1.50 |" in rows[-1]
    assert all(row.count("not run") == 6 for row in rows[:-1])
