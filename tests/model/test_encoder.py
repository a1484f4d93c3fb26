"""Packed rows give what the stock model gives for each document by itself, and no document sees another.

Torch's kernel for flat documents runs on CUDA alone: here `by_document` takes its place, and `meta` tells its rules of
shapes.
"""

import inspect
from unittest import mock

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM

from adaptbert.model import attention, encoder
from adaptbert.model.encoder import Tokens, encode
from adaptbert.model.packing import pack

VOCABULARY = 60
LENGTHS = [7, 16, 3, 12, 1, 9]


def model(dropout: float = 0.0) -> BertForMaskedLM:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=40,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    return BertForMaskedLM(config)


def documents(lengths: list[int]) -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    return [generator.integers(5, VOCABULARY, length) for length in lengths]


def packed(
    bert: torch.nn.Module, texts: list[np.ndarray], block: int, needed: torch.Tensor | None = None
) -> torch.Tensor:
    rows = pack(np.array([len(text) for text in texts]), block)
    return encode(bert, rows, Tokens(torch.as_tensor(np.concatenate(texts))), needed)


def by_document(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cum_seq_q: Tensor,
    cum_seq_k: Tensor,
    max_q: int,
    max_k: int,
    dropout_p: float,
    is_causal: bool,
    return_debug_mask: bool,
    *,
    scale: float,
    window_size_left: int | None,
    window_size_right: int | None,
) -> tuple[Tensor, ...]:
    """In the kernel's place: each document by itself, its scores scaled by the root of the size. It takes empty
    documents, and any upper bound of their lengths."""
    assert query.shape[0] == key.shape[0]
    assert key.shape == value.shape
    assert query.stride(-1) == key.stride(-1) == value.stride(-1) == 1
    assert (dropout_p, is_causal, return_debug_mask) == (0.0, False, False)
    for bounds, longest in ((cum_seq_q, max_q), (cum_seq_k, max_k)):
        assert bounds.dtype == torch.int32
        assert bounds.is_contiguous()
        assert (int(bounds[0]), int(bounds[-1])) == (0, len(query))
        assert int(bounds.diff().max()) <= longest
    mixed = []
    for first, last in zip(cum_seq_q[:-1].tolist(), cum_seq_q[1:].tolist(), strict=True):
        q, k, v = (part[first:last].transpose(0, 1) for part in (query, key, value))
        k, v = (part.repeat_interleave(len(q) // len(part), 0) for part in (k, v))
        scores = q @ k.transpose(1, 2) * scale
        place = torch.arange(q.shape[1])
        for ahead, side in ((place[:, None] - place, window_size_left), (place - place[:, None], window_size_right)):
            scores = scores if side is None else scores.masked_fill(ahead > side, float("-inf"))
        mixed.append((torch.softmax(scores, -1) @ v).transpose(0, 1))
    return torch.cat(mixed), torch.empty(0)


@pytest.fixture(params=["products", "kernel", "fused"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The way of a processor; of a CUDA device, its kernel replaced; and of one whose kernel cannot be used."""
    if request.param == "kernel":
        monkeypatch.setattr(encoder, "flash_fits", lambda *_: True)
        monkeypatch.setattr(torch.ops.aten, "_flash_attention_forward", by_document)
    elif request.param == "fused":
        monkeypatch.setattr(attention.Attention, "_by_products", attention.Attention._fused)
    return str(request.param)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("block", [16, 24, 40])
def test_hidden_states_and_gradients_equal_the_stock_model(block: int) -> None:
    texts = documents(LENGTHS)
    stock, ours = model(), model()

    expected = torch.cat([stock.bert(input_ids=torch.as_tensor(text)[None]).last_hidden_state[0] for text in texts])
    actual = packed(ours.bert, texts, block)
    torch.testing.assert_close(actual, expected, atol=2e-6, rtol=0)

    expected.pow(2).mean().backward()
    actual.pow(2).mean().backward()
    for (name, theirs), mine in zip(stock.bert.named_parameters(), ours.bert.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-6, rtol=0, msg=name)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("needed", [[0], [47, 3, 3, 20], list(range(48))])
def test_needed_positions_and_their_gradients_equal_those_of_all_positions(needed: list[int]) -> None:
    texts = documents(LENGTHS)
    whole, part = model(), model()
    expected = packed(whole.bert, texts, 24)[torch.tensor(needed)]
    actual = packed(part.bert, texts, 24, torch.tensor(needed))
    torch.testing.assert_close(actual, expected, atol=2e-6, rtol=0)
    for states in (expected, actual):
        states.pow(2).mean().backward()
    for (name, theirs), mine in zip(whole.bert.named_parameters(), part.bert.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-6, rtol=0, msg=name)


def test_dropout_is_on_in_training_and_off_otherwise(way: str) -> None:
    """In every place where the stock model has one: each alone makes two passes differ."""
    if way == "kernel":
        pytest.skip("the operator with a rate runs on CUDA alone")
    texts = documents([10])
    still = model(dropout=0.0).train()
    assert torch.equal(packed(still.bert, texts, 16), packed(still.bert, texts, 16))
    names = [name for name, module in still.bert.named_modules() if isinstance(module, torch.nn.Dropout)]
    assert len(names) == 1 + 3 * 2
    for name in names:
        module = still.bert.get_submodule(name)
        assert isinstance(module, torch.nn.Dropout)
        module.p = 0.5
        assert not torch.equal(packed(still.bert, texts, 16), packed(still.bert, texts, 16)), name
        still.eval()
        assert torch.equal(packed(still.bert, texts, 16), packed(still.bert, texts, 16)), name
        still.train()
        module.p = 0.0


@pytest.mark.usefixtures("way")
def test_under_autocast_it_is_close_and_gradients_are_float32() -> None:
    texts = documents(LENGTHS)
    exact, rounded = model(), model()
    expected = packed(exact.bert, texts, 24)
    with torch.autocast("cpu", torch.bfloat16):
        actual = packed(rounded.bert, texts, 24)
    assert actual.dtype == torch.float32
    assert not torch.equal(actual, expected), "it was rounded"
    torch.testing.assert_close(actual, expected, atol=0.05, rtol=0)
    actual.pow(2).mean().backward()
    used = [parameter for name, parameter in rounded.bert.named_parameters() if "pooler" not in name]
    assert all(parameter.grad is not None and parameter.grad.dtype == torch.float32 for parameter in used)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("lengths", "window", "keys"),
    [([100, 30, 3, 50], 5, 20), ([130], 31, 124), ([130], 33, 130), ([17], 1, 4), ([9, 9], 0, 34)],
)
@pytest.mark.parametrize("operator", ["_by_products", "_fused"])
def test_a_window_in_rows_of_any_length(
    lengths: list[int], window: int, keys: int, causal: bool, operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outputs and gradients of each document alone; of a long row a part at a time, beside what its window reaches."""
    monkeypatch.setattr(attention.Attention, "_by_products", getattr(attention.Attention, operator))
    rows, double = pack(np.array(lengths), max(130, lengths[0])), torch.float64
    ours = attention.Attention(rows, torch.device("cpu"), double, False, causal)
    assert ours._mask(window).shape[2] == keys
    torch.manual_seed(0)
    tokens = [torch.randn(sum(lengths), 2, 4, dtype=double, requires_grad=True) for _ in range(3)]
    laid_out = [ours.to_layout(each).view(*ours.shape, 2, 4).transpose(1, 2) for each in tokens]
    actual = ours.mix(*laid_out, 0.0, 0.5, window).flatten(0, 1)[ours.layout_positions(None)]

    bounds = torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int32)
    sides = {"window_size_left": window, "window_size_right": 0 if causal else window}
    expected, _ = by_document(*tokens, bounds, bounds, 130, 130, 0.0, False, False, scale=0.5, **sides)
    torch.testing.assert_close(actual, expected)
    weights = torch.randn_like(expected)
    gradients = (torch.autograd.grad((each * weights).sum(), tokens) for each in (actual, expected))
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize(
    ("device", "dtype", "size", "capability", "fits"),
    [
        ("cuda", torch.bfloat16, 64, (8, 0), True),
        ("cuda", torch.float16, 256, (9, 0), True),
        ("cpu", torch.bfloat16, 64, (8, 0), False),
        ("cuda", torch.float32, 64, (8, 0), False),
        ("cuda", torch.bfloat16, 60, (8, 0), False),
        ("cuda", torch.bfloat16, 264, (8, 0), False),
        ("cuda", torch.bfloat16, 64, (7, 5), False),
    ],
)
def test_when_the_kernel_is_used(
    device: str, dtype: torch.dtype, size: int, capability: tuple[int, int], fits: bool
) -> None:
    with mock.patch("torch.cuda.get_device_capability", return_value=capability):
        assert attention.flash_fits(torch.device(device), dtype, size) is fits


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_the_installed_kernel_accepts_our_arguments(rate: float, causal: bool) -> None:
    """By its signature; and by its implementation for tensors without numbers, forward and backward."""
    names = [argument.name for argument in torch.ops.aten._flash_attention_forward.default._schema.arguments]
    ours = list(inspect.signature(by_document).parameters)
    assert names[:10] == ours[:10]
    assert set(ours) <= set(names)
    meta = torch.device("meta")
    projected = torch.empty(sum(LENGTHS), 3 * 4 * 8, dtype=torch.bfloat16, device=meta, requires_grad=True)
    rows = pack(np.array(LENGTHS), 24).to(meta)
    mixed = attention.Attention(rows, meta, torch.bfloat16, True, causal).attend(projected, 4, rate)
    assert mixed.shape == (sum(LENGTHS), 4 * 8)
    mixed.sum().backward()
    assert projected.grad is not None
    assert projected.grad.shape == projected.shape
