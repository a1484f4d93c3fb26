"""Attention over documents that lie flat: what each device does with it, behind one call.

Queries, keys and values of all tokens in, (tokens, 3 * heads * size); what each token has mixed from the tokens of its
own document out, (tokens, heads * size). Scaled dot products of all heads (Vaswani et al. 2017, section 3.2).

cpu     rows, a bias and two batched products: in bfloat16 several times faster than the fused operator
cuda    torch's kernel for documents of any length (`varlen_attn`, FlashAttention-2): no row, no mask, no padding
either  rows and the fused operator with a mask: where that kernel cannot be used, for it knows no dropout, no float32
"""

from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from adaptbert.packing import Rows

FAR = -1e4  # added to the scores of tokens of other documents: their weights are 0 in every type
FLASH_TYPES = (torch.bfloat16, torch.float16)
FLASH_CAPABILITY = (8, 0)


class Attention:
    """Attention within the documents of one batch; what all layers share is made once.

    Args:
        rows: where the tokens lie when they are laid out in rows.
        device: of the tokens.
        heads: of every layer.
        dtype: of the products.
    """

    def __init__(self, rows: Rows, device: torch.device, heads: int, dtype: torch.dtype) -> None:
        self._rows, self._device, self._heads, self._dtype = rows, device, heads, dtype

    def mix(self, projected: Tensor, rate: float, wanted: Tensor | None = None) -> Tensor:
        """What tokens mix from their documents.

        Args:
            projected: queries, keys and values of all heads, (tokens, 3 * heads * size).
            rate: of dropout, of the weights.
            wanted: the tokens that are asked for, (wanted,); all if None.

        Returns:
            (wanted or tokens, heads * size).
        """
        size = projected.shape[1] // (3 * self._heads)
        if flash_fits(self._device, projected.dtype, size, rate):
            mixed = self._flat(projected.view(-1, 3, self._heads, size))
            return mixed if wanted is None else mixed.index_select(0, wanted)
        laid: Tensor = _Lay.apply(projected, self._place, self._same.shape[0] * self._same.shape[1])  # type: ignore[no-untyped-call]
        query, key, value = laid.view(*self._same.shape[:2], 3, self._heads, size).permute(2, 0, 3, 1, 4).unbind(0)
        mix = self._by_products if self._device.type == "cpu" else self._fused
        together = mix(query, key, value, rate).transpose(1, 2).reshape(len(laid), -1)
        taken: Tensor = _Take.apply(together, self._place if wanted is None else self._place[wanted])  # type: ignore[no-untyped-call]
        return taken

    def _flat(self, parts: Tensor) -> Tensor:
        from torch.nn.attention.varlen import varlen_attn

        query, key, value = parts.unbind(1)
        bounds, longest = self._bounds, self._rows.longest
        found = varlen_attn(query, key, value, bounds, bounds, longest, longest)
        assert isinstance(found, Tensor), "nothing but the mixture was asked for"
        return found.reshape(len(parts), -1)

    def _by_products(self, query: Tensor, key: Tensor, value: Tensor, rate: float) -> Tensor:
        rows, heads, block, size = query.shape
        query, key, value = (part.reshape(rows * heads, block, size) for part in (query, key, value))
        scores = torch.baddbmm(self._bias, query, key.transpose(1, 2), alpha=size**-0.5)
        return torch.bmm(thin(torch.softmax(scores, -1), rate), value).view(rows, heads, block, size)

    def _fused(self, query: Tensor, key: Tensor, value: Tensor, rate: float) -> Tensor:
        return functional.scaled_dot_product_attention(query, key, value, self._same[:, None], rate)

    @cached_property
    def _place(self) -> Tensor:
        return torch.as_tensor(self._rows.place, device=self._device)

    @cached_property
    def _bounds(self) -> Tensor:
        return torch.as_tensor(self._rows.bounds, device=self._device)

    @cached_property
    def _same(self) -> Tensor:
        """Which cells of a row may look at which, (rows, block, block)."""
        documents = torch.as_tensor(self._rows.documents, device=self._device)
        return documents[:, :, None] == documents[:, None, :]

    @cached_property
    def _bias(self) -> Tensor:
        """To be added to the scores of all heads, (rows * heads, block, block)."""
        bias = torch.zeros_like(self._same, dtype=self._dtype).masked_fill_(~self._same, FAR)
        return bias.repeat_interleave(self._heads, 0)


def flash_fits(device: torch.device, dtype: torch.dtype, size: int, rate: float) -> bool:
    """Whether torch's kernel for flat documents can be used: an Ampere device or a later one, no dropout."""
    return (
        device.type == "cuda"
        and rate == 0
        and dtype in FLASH_TYPES
        and size % 8 == 0
        and size <= 256
        and torch.cuda.get_device_capability(device) >= FLASH_CAPABILITY
    )


class _Lay(Function):
    """Flat tokens, (tokens, size), into cells, (cells, size); `place` names each cell once, so nothing is summed."""

    @staticmethod
    def forward(ctx: Any, flat: Tensor, place: Tensor, cells: int) -> Tensor:
        ctx.save_for_backward(place)
        return flat.new_zeros(cells, flat.shape[1]).index_copy_(0, place, flat)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (place,) = ctx.saved_tensors
        return gradients[0].index_select(0, place), None, None


class _Take(Function):
    """The inverse of `_Lay`; a cell that is asked for twice gets both gradients."""

    @staticmethod
    def forward(ctx: Any, laid: Tensor, wanted: Tensor) -> Tensor:
        ctx.save_for_backward(wanted)
        ctx.cells = laid.shape[0]
        return laid.index_select(0, wanted)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (wanted,) = ctx.saved_tensors
        return gradients[0].new_zeros(ctx.cells, gradients[0].shape[1]).index_add_(0, wanted, gradients[0]), None


def thin(values: Tensor, p: float) -> Tensor:
    """Dropout (Srivastava et al. 2014) with probability `p`.

    On a CPU four elements share a draw of 64 random bits, a quarter of the price; `p` is rounded to 1/65536, and
    elements stay independent.
    """
    if p == 0:
        return values
    if values.device.type != "cpu":
        return functional.dropout(values, p)
    dropped = round(p * 65536)
    bits = torch.empty((values.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    kept = bits.view(torch.int16)[: values.numel()].view(values.shape) >= dropped - 32768
    return values * (kept.to(values.dtype) * (65536 / (65536 - dropped)))
