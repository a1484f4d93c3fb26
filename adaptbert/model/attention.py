"""Attention over documents of any length: how each device wants their tokens to lie, and what it does with them.

A token lies in a cell. Queries, keys and values of all cells in, (cells, 3 * heads * size); what each one has mixed
from the tokens of its own document out, (cells, heads * size). Scaled dot products of all heads (Vaswani et al. 2017,
section 3.2).

cpu     cells are rows of one size, some empty; a bias and two batched products: in bfloat16 several times faster than
        the fused operator
cuda    cells are tokens, none is empty; torch's kernel for documents of any length (`varlen_attn`, FlashAttention-2)
either  rows and the fused operator with a mask: where that kernel cannot be used, for it knows no dropout, no float32
"""

from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional

from adaptbert.model.dropout import kept, scale
from adaptbert.model.packing import Rows

FAR = -1e4  # added to the scores of tokens of other documents: their weights are 0 in every type
FLASH_TYPES = (torch.bfloat16, torch.float16)
FLASH_CAPABILITY = (8, 0)


class Attention:
    """Attention within the documents of one batch; what all layers share is made once.

    Args:
        rows: where the tokens lie when they are laid out in rows.
        device: of the tokens.
        heads: of every layer.
        size: of a head.
        dtype: of the products.
        rate: of dropout, the highest of all layers.
    """

    def __init__(
        self, rows: Rows, device: torch.device, heads: int, size: int, dtype: torch.dtype, rate: float
    ) -> None:
        self._rows, self._device, self._heads, self._size, self._dtype = rows, device, heads, size, dtype
        self._is_flat = flash_fits(device, dtype, size, rate)

    def lay(self, values: Tensor) -> Tensor:
        """What is known of each token, (tokens, ...), cell by cell; 0 in empty cells."""
        if self._is_flat:
            return values
        cells = self._same.shape[0] * self._same.shape[1]
        return values.new_zeros(cells, *values.shape[1:]).index_copy_(0, self._place, values)

    def cells(self, tokens: Tensor | None) -> Tensor | None:
        """Where these tokens lie, or all; None where that is every cell in its order."""
        if self._is_flat:
            return tokens
        return self._place if tokens is None else self._place[tokens]

    def mix(self, projected: Tensor, rate: float, wanted: Tensor | None = None) -> Tensor:
        """What cells mix from their documents.

        Args:
            projected: queries, keys and values of all heads, (cells, 3 * heads * size).
            rate: of dropout, of the weights.
            wanted: the cells that are asked for, (wanted,); all if None.

        Returns:
            (wanted or cells, heads * size).
        """
        if self._is_flat:
            mixed = self._flat(projected.view(-1, 3, self._heads, self._size))
        else:
            parts = projected.view(*self._same.shape[:2], 3, self._heads, self._size).permute(2, 0, 3, 1, 4)
            mix = self._by_products if self._device.type == "cpu" else self._fused
            query, key, value = parts.unbind(0)
            mixed = mix(query, key, value, rate).transpose(1, 2).reshape(len(projected), -1)
        return mixed if wanted is None else mixed.index_select(0, wanted)

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
        weights = torch.softmax(scores, -1)
        if rate:
            # Values are fewer than weights: what is kept is scaled up there.
            weights = weights * kept(weights, rate)
            value = value * scale(rate)
        return torch.bmm(weights, value).view(rows, heads, block, size)

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
