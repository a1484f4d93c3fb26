"""Compiled layers: few graphs for batches of any shape, the same numbers, and only where they are switched on.

Without a GPU the graphs are made and run without a compiler (`aot_eager`), those of the flat kernel on tensors without
numbers. What a compiler makes of them has to be seen on a GPU.
"""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch._dynamo.utils import counters
from torch.nn.attention import varlen

from adaptbert.errors import BadParams
from adaptbert.model import attention, compiled, encoder
from adaptbert.model.attention import Attention
from adaptbert.model.compiled import VARIABLE
from adaptbert.model.encoder import Tokens, encode
from adaptbert.model.packing import pack
from adaptbert.model.to_device import to
from adaptbert.training.resume import _environment
from tests.model.test_encoder import by_document, documents, model

BATCHES = 8
# Torch hides this one of its own, but not from a filter that makes it an error.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
HEADS, SIZE = 4, 8


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[CompileCounterWithBackend]:
    """Counts the graphs that are made."""
    counter = CompileCounterWithBackend("aot_eager")
    monkeypatch.setattr(compiled, "BACKEND", counter)
    torch._dynamo.reset()
    counters.clear()
    compiled._compiled.cache_clear()
    with torch._dynamo.config.patch(specialize_float=False):
        yield counter
    compiled._compiled.cache_clear()
    torch._dynamo.reset()


def ragged(batches: int = BATCHES) -> list[list[int]]:
    """Lengths of documents, other ones in each batch."""
    draw = np.random.default_rng(0)
    return [draw.integers(3, 20, draw.integers(5, 12)).tolist() for _ in range(batches)]


def deep(dropout: float = 0.0) -> torch.nn.Module:
    """Four layers."""
    ours = model(dropout).train()
    ours.bert.encoder.layer.extend(model(dropout).train().bert.encoder.layer)
    return ours


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_two_graphs_for_all_layers_and_batches_on_the_way_of_a_cuda_device(
    graphs: CompileCounterWithBackend, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forward and backward, with the kernel of flat documents: one graph for whole layers and one for the last. Their
    inputs are the sizes of a batch: a compiler can count on heads, rates and epsilons."""
    monkeypatch.setattr(attention, "flash_fits", lambda *_: True)
    meta = torch.device("meta")
    *layers, last = deep(rate).to(meta).bert.encoder.layer  # type: ignore[operator, union-attr, misc]
    layer_of = compiled.compiled(encoder._layer, "layers")
    for number, lengths in enumerate(ragged()):
        made = Attention(to(pack(np.array(lengths), 24), meta), meta, HEADS, SIZE, torch.bfloat16)
        hidden = torch.empty(sum(lengths), HEADS * SIZE, device=meta, requires_grad=True)
        selected = torch.empty(10 + number, dtype=torch.int64, device=meta)
        for layer in layers:
            hidden = layer_of(layer, made, torch.bfloat16, hidden)
        layer_of(last, made, torch.bfloat16, hidden, selected, hidden.index_select(0, selected)).sum().backward()
    assert graphs.frame_count == 2
    assert dict(counters["graph_break"]) == {}
    inputs = [node.name for node in graphs.graphs[0].graph.nodes if node.op == "placeholder"]
    values = [name for name in inputs if "parameters" not in name and not name.startswith("s")]
    assert sorted(values) == ["l_attention_bounds", "l_attention_longest", "l_hidden_"]


@pytest.mark.usefixtures("graphs")
def test_hidden_states_and_gradients_are_those_without(
    graphs: CompileCounterWithBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here on the rows of a processor, without dropout, whose mask on a processor no graph can hold."""
    plain, ours = deep(), deep()
    for lengths in ragged():
        results = []
        for each, kind in ((plain, "off"), (ours, "layers")):
            monkeypatch.setattr(encoder, "mode", lambda kind=kind: kind)
            tokens = Tokens(torch.as_tensor(np.concatenate(documents(lengths))))
            hidden = encode(each.bert, pack(np.array(lengths), 24), tokens, torch.arange(0, sum(lengths), 3))
            hidden.pow(2).mean().backward()
            results.append(hidden)
        torch.testing.assert_close(*results, atol=1e-6, rtol=0)
    for one, other in zip(plain.parameters(), ours.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-6, rtol=0)
    assert graphs.frame_count >= 2, "something was compiled"


def test_evaluation_is_not_compiled(graphs: CompileCounterWithBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "mode", lambda: "layers")
    with torch.no_grad():
        encode(model().bert, pack(np.array([5, 9]), 24), Tokens(torch.ones(14, dtype=torch.int64)))
    assert graphs.frame_count == 0


def test_it_is_off_unless_it_is_switched_on_where_there_is_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a device")
    for there in (True, False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        for value in ("", "layers", "graphs"):
            monkeypatch.setenv(VARIABLE, value)
            expected = value if there and value else "off"
            assert compiled.mode() == _environment()["compile"] == expected, "other bits, another run"
    monkeypatch.setenv(VARIABLE, "true")
    with pytest.raises(BadParams, match="ADAPTBERT_COMPILE: expected one of off, layers, graphs, found 'true'"):
        compiled.mode()


@pytest.mark.parametrize("needed", [None, [40, 3, 3, 20]])
def test_spare_positions_change_nothing(needed: list[int] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "flash_fits", lambda *_: True)
    monkeypatch.setattr(varlen, "varlen_attn", by_document)
    monkeypatch.setattr(encoder, "compiled", lambda layer, _: layer)
    lengths = [7, 16, 3, 12, 1, 12]
    texts, results = documents(lengths), []
    ids, segments = torch.as_tensor(np.concatenate(texts)), torch.arange(sum(lengths)) % 2
    for kind in ("off", "graphs"):
        monkeypatch.setattr(encoder, "mode", lambda kind=kind: kind)
        ours = deep()
        selected = None if needed is None else torch.tensor(needed)
        hidden = encode(ours.bert, pack(np.array(lengths), 24), Tokens(ids, segments), selected)
        hidden.pow(2).mean().backward()
        results.append((hidden, [parameter.grad for parameter in ours.bert.parameters()]))
    (plain, gradients), (spare, others) = results
    torch.testing.assert_close(spare, plain, atol=1e-6, rtol=0)
    for one, other in zip(gradients, others, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)


def short_texts(batches: int) -> list[np.ndarray]:
    """32 lengths each, like those of short posts: mean about 28, at most 128."""
    draw = np.random.default_rng(1)
    return [np.clip(draw.lognormal(3.13, 0.62, 32).round().astype(np.int64), 4, 128) for _ in range(batches)]


def test_a_batch_of_short_texts_has_one_of_few_shapes_and_little_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "flash_fits", lambda *_: True)
    meta, shapes, spare, tokens = torch.device("meta"), set(), 0, 0
    for lengths in short_texts(400):
        made = Attention(to(pack(lengths, 128), meta), meta, HEADS, SIZE, torch.bfloat16, bucketed=True)
        positions = len(made.to_layout(torch.empty(lengths.sum(), device=meta)))
        shapes.add((positions, len(made._bounds), made._longest))
        spare, tokens = spare + positions - int(lengths.sum()), tokens + int(lengths.sum())
    assert len({int(lengths.sum()) for lengths in short_texts(400)}) > 200
    assert len(shapes) <= 8
    assert spare / tokens < 0.05


# On a CUDA device: python -m pytest -m gpu


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["layers", "graphs"])
def test_on_cuda_compiled_layers_give_what_eager_ones_do(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over several batches, so that recordings are replayed."""
    cuda, modules = torch.device("cuda"), {each: deep().to("cuda") for each in ("off", kind)}
    for lengths in [*ragged(), *ragged()]:
        ids, rows = torch.as_tensor(np.concatenate(documents(lengths))), to(pack(np.array(lengths), 24), cuda)
        hidden = {}
        for each, module in modules.items():
            monkeypatch.setenv(VARIABLE, each)
            module.zero_grad()
            with torch.autocast("cuda", torch.bfloat16):
                hidden[each] = encode(module.bert, rows, Tokens(ids.to(cuda)))
            hidden[each].pow(2).mean().backward()
        torch.testing.assert_close(hidden[kind], hidden["off"], atol=0.05, rtol=0)
        for one, other in zip(modules[kind].parameters(), modules["off"].parameters(), strict=True):
            torch.testing.assert_close(one.grad, other.grad, atol=0.05, rtol=0)
