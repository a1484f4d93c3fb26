"""Attention over documents of any length: the token layout of each device, and its attention operator.

Input: queries, keys and values at all layout positions, (positions, 3 * heads * size). Output: for each position the
weighted values of the tokens of its own document, (positions, heads * size). Scaled dot products of all heads (Vaswani
et al. 2017, section 3.2).

cpu     the layout is rows of one size, some positions are empty; a bias and two batched products: in bfloat16 several
        times faster than the fused operator
cuda    the layout is the flat tokens, no position is empty; torch's kernel for documents of any length
        (FlashAttention-2), by the operator that `varlen_attn` calls as well, because that has no rate of dropout
either  rows and the fused operator with a mask, where that kernel cannot be used: it has no float32

In rows longer than the window of a layer each part of a row meets its neighbourhood only: of 8,192 tokens with a window
of 64 that are a thirtieth of the scores.
"""

from typing import TypeGuard

import torch
from torch import Tensor
from torch.nn import functional

from adaptbert.model.dropout import keep_mask, keep_scale
from adaptbert.model.packing import Rows

FAR = -1e4  # added to the scores between documents: their softmax weights are 0 in every type
MOST_BY_PRODUCTS = 512
"""Keys of the longest row whose scores are all kept: those of longer ones would not fit the memory."""
PART = 2
"""Windows in a part of a row: smaller products are slower, larger ones have more scores beyond the window."""
FLASH_TYPES = (torch.bfloat16, torch.float16)
FLASH_CAPABILITY = (8, 0)


class Attention:
    """Attention within the documents of one batch; indices and masks are built once and shared by all layers.

    Args:
        rows: the packed layout of the tokens.
        device: of the tokens.
        dtype: of the products.
        is_flat: whether torch's kernel for documents of any length is used (`flash_fits`).
        causal: whether a token attends to those before it and itself only.

    Attributes:
        shape: of the layout, rows and positions of each; one row where no position is empty.
    """

    def __init__(
        self, rows: Rows, device: torch.device, dtype: torch.dtype, is_flat: bool, causal: bool = False
    ) -> None:
        self._device, self._dtype, self._is_flat, self._causal = device, dtype, is_flat, causal
        if is_flat:
            self._bounds, self._longest = torch.as_tensor(rows.bounds, device=device), rows.longest
            self.shape = torch.Size((1, len(rows.positions)))
            return
        self._place = torch.as_tensor(rows.place, device=device)
        self._documents = documents = torch.as_tensor(rows.documents, device=device)
        self.same = documents[:, :, None] == documents[:, None, :]
        self.same = self.same.tril() if causal else self.same
        """Which positions of a row may attend to which, (rows, block, block)."""
        self.shape = documents.shape
        self._masks: dict[int | None, Tensor] = {None: self.same}
        self._biases: dict[tuple[int, int | None], Tensor] = {}

    def to_layout(self, values: Tensor) -> Tensor:
        """Values of the tokens, (tokens, ...), moved to their layout positions, (positions, ...); 0 at empty ones."""
        if self._is_flat:
            return values
        size = self.shape[0] * self.shape[1]
        return values.new_zeros(size, *values.shape[1:]).index_copy_(0, self._place, values)

    def layout_positions(self, tokens: Tensor | None) -> Tensor | None:
        """The layout positions of these tokens, or of all; None where these are all positions in their order."""
        if self._is_flat:
            return tokens
        return self._place if tokens is None else self._place[tokens]

    def attend(self, projected: Tensor, heads: int, rate: float, selected: Tensor | None = None) -> Tensor:
        """Attention outputs.

        Args:
            projected: queries, keys and values of all heads, (positions, 3 * heads * size).
            rate: of dropout, of the weights.
            selected: the layout positions whose outputs are returned, (selected,); all if None.

        Returns:
            (selected or positions, heads * size).
        """
        size = projected.shape[1] // (3 * heads)
        query, key, value = projected.view(*self.shape, 3, heads, size).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = self.mix(query, key, value, rate).reshape(len(projected), -1)
        return mixed if selected is None else mixed.index_select(0, selected)

    def mix(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        rate: float,
        scale: float | None = None,
        window: int | None = None,
    ) -> Tensor:
        """The weighted values of each position.

        Args:
            query: (rows, heads, block, size).
            key, value: the same, or a number of heads that divides it: each serves several queries (Ainslie et al.
                2023).
            rate: of dropout, of the weights.
            scale: of the products; None: one by the root of the size.
            window: the farthest position on either side to which one attends; None: all of the document.

        Returns:
            (rows, block, heads, size).
        """
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        if self._is_flat:
            query, key, value = (part[0].transpose(0, 1) for part in (query, key, value))
            return self._flat(query, key, value, rate, scale, window)[None]
        if groups := query.shape[1] // key.shape[1] - 1:
            key, value = (part.repeat_interleave(1 + groups, 1) for part in (key, value))
        block = self.shape[1]
        if is_in_parts := self._is_in_parts(window):
            query, key, value = (_parts(query, window), _parts(key, window, window), _parts(value, window, window))
        is_small = key.shape[2] <= MOST_BY_PRODUCTS or rate
        operator = self._by_products if self._device.type == "cpu" and is_small else self._fused
        mixed = operator(query, key, value, rate, scale, window).transpose(1, 2)
        if is_in_parts:
            mixed = mixed.reshape(self.shape[0], -1, *mixed.shape[2:])[:, :block]
        return mixed

    def _flat(self, query: Tensor, key: Tensor, value: Tensor, rate: float, scale: float, window: int | None) -> Tensor:
        bounds, longest, after = self._bounds, self._longest, 0 if self._causal else window
        mixed, *_ = torch.ops.aten._flash_attention_forward(
            query, key, value, bounds, bounds, longest, longest, rate, False, False,
            scale=scale, window_size_left=window, window_size_right=after,
        )  # fmt: skip
        assert isinstance(mixed, Tensor)
        return mixed

    def _by_products(
        self, query: Tensor, key: Tensor, value: Tensor, rate: float, scale: float, window: int | None
    ) -> Tensor:
        rows, heads, block, size = query.shape
        query, key, value = (part.reshape(rows * heads, -1, size) for part in (query, key, value))
        scores = torch.baddbmm(self._bias(heads, window), query, key.transpose(1, 2), alpha=scale)
        weights = torch.softmax(scores, -1)
        if rate:
            # The values are scaled, not the mask: there are fewer of them than weights.
            weights = weights * keep_mask(weights, rate)
            value = value * keep_scale(rate)
        return torch.bmm(weights, value).view(rows, heads, block, size)

    def _fused(
        self, query: Tensor, key: Tensor, value: Tensor, rate: float, scale: float, window: int | None
    ) -> Tensor:
        mask = self._mask(window)[:, None]
        return functional.scaled_dot_product_attention(query, key, value, mask, rate, scale=scale)

    def _is_in_parts(self, window: int | None) -> TypeGuard[int]:
        """Whether each part of a row meets its neighbourhood only, which has fewer positions than the row."""
        return window is not None and self.shape[1] > (PART + 2) * window > 0

    def _mask(self, window: int | None) -> Tensor:
        """Which positions of a row, or of a part of it, may attend to which, (rows or parts, queries, keys)."""
        if window is not None and window not in self._masks:
            if self._is_in_parts(window):
                documents = self._documents[:, None, :, None] + 1  # 0: none, also beyond the ends of the row
                same = _parts(documents, window)[:, 0] == _parts(documents, window, window)[:, 0].transpose(1, 2)
                first = -window
            else:
                same, first = self.same, 0
            queries, keys = (torch.arange(size, device=self._device) for size in same.shape[1:])
            ahead = keys + first - queries[:, None]
            self._masks[window] = same & (ahead >= -window) & (ahead <= (0 if self._causal else window))
        return self._masks[window]

    def _bias(self, heads: int, window: int | None) -> Tensor:
        """Numbers added to the scores of all heads, (rows or parts * heads, queries, keys)."""
        if (heads, window) not in self._biases:
            mask = self._mask(window)
            bias = torch.zeros_like(mask, dtype=self._dtype).masked_fill_(~mask, FAR)
            self._biases[heads, window] = bias.repeat_interleave(heads, 0)
        return self._biases[heads, window]


def _parts(values: Tensor, window: int, beside: int = 0) -> Tensor:
    """Parts of each row as rows of their own, with so many positions before and after; 0 beyond the ends.

    Args:
        values: (rows, heads, block, size).

    Returns:
        (rows * parts, heads, part and what is beside, size).
    """
    part = PART * window
    padded = functional.pad(values, (0, 0, beside, beside - values.shape[2] % -part))
    return padded.unfold(2, part + 2 * beside, part).permute(0, 2, 1, 4, 3).flatten(0, 1)


def flash_fits(device: torch.device, dtype: torch.dtype, size: int) -> bool:
    """Whether torch's kernel for flat documents can be used: an Ampere device or a later one."""
    return (
        device.type == "cuda"
        and dtype in FLASH_TYPES
        and size % 8 == 0
        and size <= 256
        and torch.cuda.get_device_capability(device) >= FLASH_CAPABILITY
    )
